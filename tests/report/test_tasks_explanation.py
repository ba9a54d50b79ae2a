"""The explanation of a task set in words: the answer in all its forms."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from rtstone.documents.tasks_explanation import (
    PartCost,
    PartShare,
    TaskExplanation,
    TasksExplanation,
)
from rtstone.report.parts import frame
from rtstone.report.tasks.explanation import answer, compose, explanation_lines


def task(name: str, measured: int, *shares: tuple[Any, int], **members: Any) -> TaskExplanation:
    members = {"bound_ns": 200_000, "free_ns": 200_000, "sure": True} | members
    rest = measured - members["free_ns"] - sum(ns for _, ns in shares)
    return TaskExplanation(
        task=name, jobs=100, measured_ns=measured, unexplained_ns=rest, least_ns=1, most_ns=2,
        shares=[PartShare(part=part, ns=ns, alone_ns=ns) for part, ns in shares], **members,
    )  # fmt: skip


def explanation(*tasks: TaskExplanation) -> TasksExplanation:
    parts = [
        PartCost(part="ticks", measured=True, mean_ns=1500.5, max_ns=20_000, source="det.bintime"),
        PartCost(part="late timers", measured=True, mean_ns=9000.0, max_ns=61_000, source="wakeup"),
        PartCost(part="stalls", measured=False, source="not measured"),
    ]
    return TasksExplanation(
        version="1", run_id="r", costs_run_id="c", title="set", target="local", load="none",
        drawings=19, seed=1, parts=parts, tasks=list(tasks),
    )  # fmt: skip


CONTROL = task("control", 294_000, ("ticks", 20_000), ("late timers", 61_000))


@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ([CONTROL, task("log", 210_000, ("ticks", 10_000), ("late timers", 0))],
         "control's worst response is 94 µs above the analysis': 61 µs late timers, 20 µs ticks, "
         "13 µs unexplained"),
        ([task("log", 220_000, ("ticks", 20_000), ("late timers", 0))],
         "log's worst response is 20 µs above the analysis': 20 µs ticks, nothing unexplained"),
        ([task("log", 220_000, ("ticks", 25_000), sure=False)],
         "log's worst response is 20 µs above the analysis': 25 µs ticks, -5 µs unexplained, "
         "within chance"),
        ([task("log", 220_000, ("ticks", 30_000), free_ns=150_000)],
         "log's worst response is 20 µs above the analysis': 30 µs ticks, -50 µs as the worst "
         "phase did not come, 40 µs unexplained"),
        ([task("log", 190_000), task("control", 195_000)],
         "no task's worst response is above the analysis'; control's is closest, 5 µs below"),
        ([task("log", 200_000)],
         "no task's worst response is above the analysis'; log's is closest, equal to it"),
        ([task("log", 230_000, ("ticks", 10_000), bound_ns=None)],
         "no task has a bound; log's worst response is 30 µs above the simulation without costs: "
         "10 µs ticks, 20 µs unexplained"),
        ([TaskExplanation(task="log", jobs=3, reason="1 of its 3 jobs never ended")],
         "nothing can be explained: of log, 1 of its 3 jobs never ended"),
    ],
)  # fmt: skip
def test_the_answer(tasks: list[TaskExplanation], text: str) -> None:
    assert answer(explanation(*tasks)) == text


def test_the_parts_of_each_task_and_what_they_rest_on() -> None:
    lost = TaskExplanation(task="lost", jobs=3, bound_ns=5000, reason="1 of its 3 jobs never ended")
    screen = Console(width=80, record=True, file=None, force_terminal=False)
    with screen.capture() as capture:
        screen.print(*explanation_lines(explanation(CONTROL, lost), 80), sep="\n")
    text = capture.get()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "Not measured, and so in what is unexplained: stalls." in lines
    words = " ".join(lines)
    assert (
        "control: 200 µs by analysis, 294 µs measured: 61 µs late timers, 20 µs ticks, 13 µs "
        "unexplained lost: 5 µs by analysis; 1 of its 3 jobs never ended"
    ) in words
    assert "ticks: 1.5 µs on average, 20 µs at most; det.bintime" in words
    free = task("free", 230_000, ("ticks", 10_000), bound_ns=None)
    with screen.capture() as capture:
        screen.print(*explanation_lines(explanation(free), 80), sep="\n")
    words = " ".join(capture.get().split())
    assert "free: no bound, 200 µs without costs, 230 µs measured: 10 µs ticks" in words


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_the_page() -> None:
    text = " ".join(compose(explanation(CONTROL)).split())
    for part in ("control's worst response is 94 µs above", "Unexplained", "Shapley"):
        assert part.replace("'", "&#39;") in text or part in text
