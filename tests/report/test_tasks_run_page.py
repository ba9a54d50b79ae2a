"""The page of a task set that ran: its windows, margins and responses."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import Costs, Schedulability, Task, TaskCheck, TaskSet, Work
from rtstone.documents.tasks_run import (
    Interval,
    Job,
    Section,
    Spread,
    TaskRun,
    TasksRun,
    Window,
)
from rtstone.report.parts.model import Bars, Boxes, Charts
from rtstone.report.tasks import run_page
from rtstone.report.tasks.run_page import compose
from tests.conftest import Cli
from tests.report.test_html import Reader

# Control waits from 200 to 300 us for what log holds, and the system has the CPU at the end.
WINDOW = Window(
    task="control", number=3, reason="largest", from_ns=1_000_000, to_ns=2_000_000,
    jobs=[
        Job(task="control", number=3, arrival_ns=1_000_000, work_ns=800_000, start_ns=1_000_000,
            end_ns=2_000_000,
            sections=[Section(resource="bus", requested_ns=1_200_000, taken_ns=1_300_000,
                              released_ns=1_400_000)]),
        Job(task="log", number=0, arrival_ns=900_000, work_ns=500_000, start_ns=900_000),
    ],
    running=[
        Interval(task="control", from_ns=1_000_000, to_ns=1_200_000),
        Interval(task="log", from_ns=1_200_000, to_ns=1_300_000),
        Interval(task="control", from_ns=1_300_000, to_ns=1_900_000),
        Interval(task="", from_ns=1_900_000, to_ns=1_950_000),
        Interval(task="control", from_ns=1_950_000, to_ns=2_000_000),
    ],
    sentence="job 3 of control took 1 ms",
)  # fmt: skip


def ran(name: str, deadline_ns: int | None, longest: int, missed: int = 0) -> TaskRun:
    spread = Spread(n=10, min_ns=5, mean_ns=6.0, p50_ns=longest // 2, max_ns=longest)
    return TaskRun(
        task=name, jobs=10, missed=missed, lost=0, deadline_ns=deadline_ns, outcome="holds",
        start=spread, response=spread, histogram=[(longest // 2, longest // 2 + 10, 10)],
    )  # fmt: skip


def task(name: str) -> Task:
    return Task(
        name=name, arrival="periodic", period_ns=10_000_000, work=Work(least_ns=1, most_ns=1)
    )


SET = TaskSet(title="two", quantum_ns=1, tasks=[task("control"), task("log")])
DOCUMENT = TasksRun(
    version="0", file="tasks.toml", run_id="r", target="sim", load="none", set=SET,
    duration_ns=10**9, seed=1, outcome="holds", sentence="All needs held",
    tasks=[ran("control", 800_000, 1_000_000, 1), ran("log", None, 400_000)], windows=[WINDOW],
)  # fmt: skip
ANALYSIS = Schedulability(
    version="0", file="tasks.toml", set=SET, costs=Costs(), verdict="holds", factor=1.0,
    tasks=[
        TaskCheck(task="control", cpus=[0], verdict="holds", method="", response_ns=600_000),
        TaskCheck(task="log", cpus=[0], verdict="holds", method=""),
    ],
)  # fmt: skip


def strip(window: Window) -> Boxes:
    (section,) = run_page._windows(replace(DOCUMENT, windows=[window]))
    block = section.blocks[0]
    assert isinstance(block, Boxes)
    return block


def test_a_strip_has_who_ran_and_who_waited_for_what() -> None:
    boxes = strip(WINDOW).boxes
    assert [(box.row, box.left, box.width, box.look) for box in boxes] == [
        (0, 0, 20, "k-handler"), (0, 20, 10, "k-blocking"), (0, 30, 60, "k-handler"),
        (0, 90, 5, "k-task"), (0, 95, 5, "k-handler"),
        (1, 0, 20, "k-task"), (1, 20, 10, "k-handler"), (1, 30, 70, "k-task"),
        (2, 90, 5, "k-irq"),
    ]  # fmt: skip
    assert boxes[1].title == "control, job 3 waited for bus for 100 µs"
    assert strip(WINDOW).title == "control, job 3: 1 ms, due after 800 µs"


def test_a_job_is_ready_until_it_asks_for_a_resource() -> None:
    """It is preempted at 100 us, and its wait is counted from 150 us on."""
    first, *rest = WINDOW.running
    running = [replace(first, to_ns=1_100_000), *rest]
    section = replace(WINDOW.jobs[0].sections[0], requested_ns=1_150_000)
    job = replace(WINDOW.jobs[0], sections=[section])
    boxes = strip(replace(WINDOW, jobs=[job], running=running)).boxes
    assert [(box.left, box.width, box.look) for box in boxes[:4]] == [
        (0, 10, "k-handler"), (10, 5, "k-task"), (15, 15, "k-blocking"), (30, 60, "k-handler"),
    ]  # fmt: skip


def test_of_several_cpus_it_has_start_and_end() -> None:
    late = replace(WINDOW.jobs[0], start_ns=1_400_000)
    boxes = strip(replace(WINDOW, jobs=[late], running=[])).boxes
    assert [(box.left, box.width, box.look) for box in boxes] == [
        (0, 40, "k-task"), (40, 60, "k-switch"),
    ]  # fmt: skip


def test_the_worst_window_is_that_with_most_of_its_deadline() -> None:
    shorter = replace(WINDOW, number=9, to_ns=1_500_000)
    loose = replace(WINDOW, task="log", number=7, to_ns=9_000_000)  # log has no deadline
    (section,) = run_page._windows(replace(DOCUMENT, windows=[loose, shorter, WINDOW]))
    first = section.blocks[0]
    assert isinstance(first, Boxes) and first.title.startswith("control, job 3")


def test_margins_stand_beside_the_analysis() -> None:
    (section,) = run_page._margins(DOCUMENT, ANALYSIS)
    (bars,) = section.blocks
    assert isinstance(bars, Bars)
    ((name, (measured, bound)),) = bars.groups  # log has no deadline
    assert name == "control"
    assert (measured.text, measured.share) == ("1 ms, 200 µs above", 100)
    assert (bound.text, bound.share) == ("600 µs, 200 µs below", 75)


@pytest.mark.parametrize(
    ("analysis", "names"),
    [(ANALYSIS, ["p50", "max", "analysis", "deadline"]), (None, ["p50", "max", "deadline"])],
)
def test_responses_are_marked(analysis: Schedulability | None, names: list[str]) -> None:
    (section,) = run_page._responses(DOCUMENT, analysis)
    (charts,) = section.blocks
    assert isinstance(charts, Charts)
    control, log = charts.charts
    assert [name for name, _ in control.data["marks"]] == names
    assert [name for name, _ in log.data["marks"]] == ["p50", "max"]
    assert control.caption == "control: 1 of 10 jobs missed"


def test_the_page_begins_with_the_answer() -> None:
    text = "".join(Reader(compose(DOCUMENT, ANALYSIS, "last")).words)
    _, _, rest = text.partition("All needs held.")
    assert 0 < rest.index("Worst window") < rest.index("Margins") < rest.index("Responses")


def test_a_run_writes_it(cli: Cli, tmp_path: Path) -> None:
    tasks, page = tmp_path / "set.toml", tmp_path / "page.html"
    tasks.write_text('[[task]]\nname = "x"\nperiod = "10ms"\nwork = "2ms"\npriority = 9\n')
    done = cli("tasks", "run", tasks, "--target", "sim:exact", "--time", "100ms", "-o", page)
    assert done.status == 0, done.err
    text = "".join(Reader(page.read_text()).words)
    assert "2 ms, 8 ms below" in text.replace("\u202f", " ").replace("\xa0", " ")
