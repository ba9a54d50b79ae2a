"""Ctrl-C gives a shorter valid result, and `--resume` goes on with it: no sample is lost.

The truth comes from the simulated system, where a case with as many samples as one that was
interrupted is the same to the tick, and from the agent's own records.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rtstone
from rtstone.documents.plan import ROUNDS, Case
from rtstone.documents.run import Result, Run
from rtstone.interrupt import Interrupt
from rtstone.measure import agent_session
from rtstone.measure.listener import Listener
from rtstone.measure.planner import build_plan
from rtstone.measure.request import Request
from rtstone.results.flags import LASTING
from rtstone.store.index import find, latest
from rtstone.store.rundir import load
from rtstone.wire import records
from rtstone.wire.reader import Reader, Record
from tests.conftest import Cli, Fake
from tests.lab.boards import needs

# Wakes up late by more than a period now and then: activations are missed.
MODEL = """
title = "Late"
label = "a test's own"
seed = 7
[cost]
read = "10ns"
time = "10ns"
switch = { fixed = "1us", random = [[0, 0], [0.99, "20us"], [1, "500us"]] }
"""
SAMPLES = 1_500_000  # takes a second, in which a busy machine must see the first progress
ASKED = ("dk.periodic", "-p", "period=100us")
LONG = ("-p", f"samples={SAMPLES}")


@pytest.fixture
def late(tmp_path: Path) -> str:
    model = tmp_path / "late.toml"
    model.write_text(MODEL)
    return f"sim:{model}"


class Strikes:
    """Ctrl-C, at the first progress of a case, so in the midst of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
        self.left, self.number, self.least = 1, number, 1000
        monkeypatch.setattr(Listener, "progress", self.progress)
        monkeypatch.setattr(agent_session, "HEARTBEAT_MS", 10)
        monkeypatch.setattr(agent_session, "POLL_S", 0.01)

    def progress(self, case: Case, record: records.Progress, unit: str) -> None:
        if self.left and case.params.get("period") == 100_000 and record.n > self.least:
            self.left -= 1
            os.kill(os.getpid(), self.number)


@pytest.fixture
def strikes(monkeypatch: pytest.MonkeyPatch) -> Strikes:
    return Strikes(monkeypatch, signal.SIGINT)


def measured(*logs: Path) -> Iterator[records.Result]:
    """The results in these logs, as the agents sent them."""
    for log in logs:
        reader = Reader()
        for line in log.read_bytes().splitlines(keepends=True):
            for event in reader.feed(line):
                if isinstance(event, Record) and isinstance(event.body, records.Result):
                    yield event.body


def counts(result: Result) -> Counter[float]:
    return Counter({value: n for value, n in result.histogram if n})


def statuses(run: Run) -> list[str]:
    return [result.status for result in run.results]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_case_is_the_same_as_a_shorter_one(
    cli: Cli, late: str, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    Strikes(monkeypatch, number)
    done = cli("run", *ASKED, *LONG, "--target", late)
    assert done.status == 130
    assert "interrupted; 1 of 1 cases measured" in done.says
    run = load(find("last"))
    (cut,) = run.results
    assert (run.status, cut.status, cut.reason) == ("complete", "ok", None)
    assert 1000 < cut.n < SAMPLES
    flags = [flag for flag in cut.flags if flag != "lasting"]  # as its length makes it
    assert (cut.ended, flags) == ("stopped", ["interrupted", "missed"])
    assert cut.missed
    monkeypatch.undo()
    whole = cli("run", *ASKED, "-p", f"samples={cut.n}", "--target", late, "--json")
    (same,) = whole.document["results"]
    for name in ("n", "min", "mean", "sd", "max", "p50", "p99", "p999", "missed", "warmup"):
        assert getattr(cut, name) == same[name], name
    assert [list(pair) for pair in cut.histogram] == same["histogram"]
    assert cut.corrected
    assert cut.corrected.n == cut.n + cut.missed == same["corrected"]["n"]
    assert [list(pair) for pair in cut.corrected.histogram] == same["corrected"]["histogram"]


@pytest.mark.parametrize("again", [0, 1])
def test_resumed_it_has_all_samples_and_none_twice(
    cli: Cli, late: str, strikes: Strikes, again: int
) -> None:
    """Also if it is interrupted again; and the cases that were not begun follow."""
    words = ("run", "null", "dk.periodic", "-p", "period=100us,150us", *LONG, "--target", late)
    assert cli(*words).status == 130
    # What is left may be done before a second progress, so that the first is struck at.
    path, strikes.left, strikes.least = find("last"), again, -1
    first = load(path).results[1]
    if again:
        assert cli("run", "--resume", path).status == 130
    assert cli("run", "--resume", path).status == 0
    run = load(path)
    assert (run.status, statuses(run)) == ("complete", ["ok"] * 3)
    result = run.results[1]
    matches = measured(path / "wire.log", *sorted(path.glob("wire-*.log")))
    rounds = [r for r in matches if r.id == 2 or r.id // ROUNDS == 2]
    assert 2 <= len(rounds) <= 2 + again  # it may be done when it is struck again
    assert result.n == sum(r.n for r in rounds) == SAMPLES
    assert result.missed == sum(r.missed or 0 for r in rounds) > (first.missed or 0) > 0
    assert sum(counts(result).values()) == SAMPLES
    assert result.corrected
    assert result.corrected.n == SAMPLES + result.missed
    assert result.mean == pytest.approx(sum(r.sum for r in rounds) / SAMPLES, abs=1e-3)
    assert result.max == max(r.max or 0 for r in rounds)
    assert not counts(first) - counts(result)
    assert result.ended == "samples"
    assert {"missed"} <= set(result.flags) <= {"missed", "lasting"}
    assert len({tuple(r.worst) for r in rounds}) == len(rounds)  # other random numbers each time
    (path / "run.json").unlink()
    assert load(path).results == run.results  # the logs are enough


def test_with_a_time_limit_the_time_that_is_left_is_measured(
    cli: Cli, late: str, strikes: Strikes
) -> None:
    words = ("dk.periodic", "--time", "100s", "-p", "period=100us", "--target", late)
    assert cli("run", *words).status == 130
    first = load(find("last")).results[0]
    assert first.section_s
    assert cli("run", "--resume", "last").status == 0
    (result,) = load(find("last")).results
    assert result.section_s == pytest.approx(100, abs=0.01)
    assert result.missed is not None
    assert (result.n + result.missed) * 100e-6 == pytest.approx(100, abs=0.02)
    assert (result.ended, "interrupted" in result.flags) == ("time", False)


def stop_at(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, *words: str, **scenario: Any
) -> int:
    """A run that is interrupted in its first case, which has what the scenario says."""
    fake(at=1, fate="hang", exact=True, **scenario)
    monkeypatch.setattr("rtstone.targets.process.STOP_S", 60.0)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    with monkeypatch.context() as struck:
        struck.setattr(Listener, "case_started", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        return cli("run", *words).status


def cases_in(log: Path) -> list[tuple[int, int]]:
    matches = re.findall(rb'"t": "case", "id": (\d+), .*?"samples": (\d+)', log.read_bytes())
    return [(int(case), int(samples)) for case, samples in matches]


def test_the_samples_that_are_missing_are_asked_for(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = ("ctx.ballast", "-p", "ballast=0,1,33")
    assert stop_at(fake_process, cli, monkeypatch, *grid, had=300) == 130
    run = load(find("last"))
    assert run.reason == "interrupted; 1 of 3 cases measured"
    assert [r.reason for r in run.results] == [None, *["not run: interrupted"] * 2]
    shown = cli("show", "last").out
    assert "Interrupted; 1 of 3 cases measured" in shown
    assert "not begun" in shown
    assert not {"INCOMPLETE", "incomplete", "failed"} & set(shown.split())
    fake_process(exact=True)
    assert cli("run", "--resume", "last").status == 0
    path = find("last")
    assert cases_in(path / "wire-2.log") == [(1_000_002, 700), (2_000_001, 1000), (3_000_001, 1000)]
    run = load(path)
    assert [r.n for r in run.results] == [1000] * 3
    assert [r.case for r in run.results] == [1, 2, 3]
    assert run.slopes[0].slope == pytest.approx(2)
    assert "case 1 was interrupted and goes on: its samples so far are kept" in run.notes
    assert "nothing to resume" in cli("run", "--resume", "last").says


def test_a_case_without_a_sample_begins_anew(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    none: dict[str, Any] = dict.fromkeys(("min", "max", "blocks", "trace"))
    none |= {"n": 0, "sum": 0, "worst": []}
    assert stop_at(fake_process, cli, monkeypatch, "null", had=0, extra=none) == 130
    path = latest()
    assert path
    run = load(path)
    assert (run.status, run.reason) == ("incomplete", "interrupted; 0 of 1 cases measured")
    assert (run.results[0].status, run.results[0].reason) == ("incomplete", "interrupted")
    fake_process(exact=True)
    assert cli("run", "--resume", path).status == 0
    assert cases_in(path / "wire-2.log") == [(1, 1000)]
    assert load(path).results[0].n == 1000


def test_what_dies_while_it_goes_on_keeps_what_it_had(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stop_at(fake_process, cli, monkeypatch, "null", had=300) == 130
    fake_process(exact=True, at=1_000_002, fate="kill")
    path = find("last")
    assert cli("run", "--resume", path).status == 4
    (result,) = load(path).results
    assert (result.status, result.reason, result.n) == ("incomplete", "round 2: did not end", 300)
    fake_process(exact=True)
    assert cli("run", "--resume", path).status == 0
    assert cases_in(path / "wire-3.log") == [(1_000_002, 700)]
    assert [(r.status, r.n) for r in load(path).results] == [("ok", 1000)]


def test_a_second_ctrl_c_does_not_wait(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not stop is killed at once, however long it would be given."""
    trace = fake_process(at=1, fate="deaf")
    monkeypatch.setattr("rtstone.targets.process.STOP_S", 600.0)
    monkeypatch.setattr("rtstone.interrupt.APART_S", 0.0)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    before = agent_session.AgentSession._keep_going

    def twice(self: agent_session.AgentSession) -> None:
        if self.began:
            os.kill(os.getpid(), signal.SIGINT)
        before(self)

    monkeypatch.setattr(agent_session.AgentSession, "_keep_going", twice)
    done = cli("run", "null", "--json")
    assert done.status == 130
    assert done.document["results"][0]["reason"] == "did not end"
    assert trace.read_text().splitlines()[-1] == "--sweep"


def test_one_ctrl_c_that_comes_twice_is_one() -> None:
    """A program that passes signals on has the terminal's reach rtstone as well."""
    with Interrupt() as interrupt:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        assert (interrupt.requested, interrupt.insisted) == (True, False)
        interrupt._since = time.monotonic() - 1
        os.kill(os.getpid(), signal.SIGTERM)
        assert not interrupt.insisted
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.insisted


# ---- without an end -----------------------------------------------------------------------------


def test_time_0_measures_until_it_is_stopped(cli: Cli, late: str, strikes: Strikes) -> None:
    """Which is how it ends: complete, without a flag.  It can be continued all the same."""
    done = cli("run", *ASKED, "--time", "0", "--target", late)
    assert done.status == 0, done.err
    assert done.err.startswith("1 case, until it is stopped")
    path = find("last")
    first = load(path)
    assert (first.status, first.reason, statuses(first)) == ("complete", None, ["ok"])
    assert first.results[0].n > 1000
    assert first.results[0].ended == "stopped"
    assert set(first.results[0].flags) - {LASTING} == {"missed"}  # on a busy machine it lasts
    strikes.left = 1
    assert cli("run", "--resume", path).status == 0
    (result,) = load(path).results
    rounds = list(measured(path / "wire.log", path / "wire-2.log"))
    assert result.n == sum(part.n for part in rounds) > first.results[0].n
    assert result.missed == sum(part.missed or 0 for part in rounds)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["quick"], "this run has 45 cases"),
        (["null", "sem.try.free"], "this run has 2 cases"),
        (["null", "--load", "none", "--load", "heavy"], "this run has 2 cases"),
        pytest.param(
            ["null", "--target", "qemu:freertos-a64"],
            "cannot be stopped while it measures",
            marks=needs("freertos-a64"),
        ),
        (["null", "-p", "raw=1"], "raw=1 keeps every sample"),
    ],
)
def test_one_case_alone_is_measured_without_an_end(cli: Cli, words: list[str], why: str) -> None:
    done = cli("run", *words, "--time", "0")
    assert done.status in {2, 4}
    assert why in done.says or "qemu" in done.says
    assert latest() is None


def test_time_0_lifts_the_limit_of_a_publications_suite(cli: Cli) -> None:
    """There it has meant so since before; none of its cases lacks an end of its own."""
    with Interrupt() as interrupt:
        _, plan = build_plan(Request(names=["golatowski"], time="0"), interrupt)
    assert len(plan.cases) > 1
    assert not plan.endless


def test_single_samples_go_on_where_they_ended(cli: Cli, late: str, strikes: Strikes) -> None:
    words = ("run", *ASKED, "-p", "raw=1", "-p", "samples=1000000", "--target", late)
    assert cli(*words).status == 130
    path = find("last")
    before = rtstone.load(path).samples()
    assert cli("run", "--resume", path).status == 0
    after = rtstone.load(path).samples()
    assert len(after) == 1_000_000
    assert (after[: len(before)] == before).all()
    assert cli(*words).status == 0
    assert (rtstone.load("last").samples()[: len(before)] == before).all()
