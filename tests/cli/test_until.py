"""`rtstone run --until` on a system with a known distribution."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import msgspec
import pytest

from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run
from rtstone.results.assembly import Assembly, gather
from rtstone.results.estimates import estimate
from rtstone.results.rounds import width
from rtstone.store.index import find
from rtstone.store.layout import runs
from rtstone.store.rundir import load
from tests.conftest import Cli, Fake
from tests.lab.boards import needs

# A post takes 1 to 3 us, uniformly: its median is 2 us, its 99th percentile 2.98 us.
NOISE = """
title = "Noise"
label = "uniform"
seed = 7
[cost]
read = "10ns"
sem_give = { fixed = "1us", random = [[0, 0], [1, "2us"]] }
sem_take = "100ns"
"""
POST = ("sem.post.nowait", "-p", "samples=200", "-p", "batch=1")


@pytest.fixture
def noise(tmp_path: Path) -> str:
    path = tmp_path / "noise.toml"
    path.write_text(NOISE)
    return f"sim:{path}"


def only(run: Run) -> Result:
    (result,) = run.results
    return result


def rounds_of(path: Path) -> list[Result]:
    """Return the rounds of the run's only case from its log."""
    plan = msgspec.json.decode((path / "plan.json").read_bytes(), type=Plan)
    return [results[0] for results in gather(plan, (path / "wire.log").read_bytes()).rounds()[1]]


@pytest.mark.parametrize(
    ("wanted", "share", "statistic"),
    [("5%", 0.05, "p50"), ("1%", 0.01, "p50"), ("0.5%", 0.005, "p50"), ("1%,p99", 0.01, "p99")],
)
def test_it_ends_when_it_is_known_and_not_before(
    cli: Cli, noise: str, wanted: str, share: float, statistic: str
) -> None:
    truth = {"p50": 2000, "p99": 2980}[statistic]
    done = cli("run", *POST, "--target", noise, "--until", f"ci={wanted}")
    assert done.status == 0
    result = only(load(find("last")))
    assert result.until
    until = result.until
    assert (result.ended, until.statistic, until.asked) == ("ci", statistic, share)
    *before, last = until.rounds
    assert all(r.width is None or r.width > share for r in before)
    assert last.width == until.width
    assert until.width is not None
    assert until.width <= share
    assert len(before) > 0
    assert (sum(r.n for r in until.rounds), until.rounds[0].n) == (result.n, 200)
    ends = result.ci95[statistic]
    assert ends
    assert max(ends[1] - truth, truth - ends[0]) < 3 * share * truth
    reached = f"{until.width:.2%}" if until.width >= 0.004 else "0.4% or less"
    assert f"{statistic} ± {reached} (95%) after {len(until.rounds)} rounds" in done.out


def test_it_is_the_pool_of_its_rounds(cli: Cli, noise: str) -> None:
    cli("run", *POST, "--target", noise, "--until", "ci=1%")
    path = find("last")
    result = only(load(path))
    (path / "run.json").unlink()
    assert only(load(path)) == result
    parts = rounds_of(path)
    assert result.until
    assert [part.n for part in parts] == [r.n for r in result.until.rounds]
    counts: dict[float, int] = {}
    for part in parts:
        for value, count in part.histogram:
            counts[value] = counts.get(value, 0) + count
    assert dict(result.histogram) == counts
    assert result.max == max(part.max or 0 for part in parts)
    assert result.warmup == sum(part.warmup for part in parts)
    interval = estimate(parts, "p50")
    assert interval
    assert result.until.width == pytest.approx(width(interval), abs=1e-6)
    # Rounds have different random numbers: the same samples again would add no information.
    assert len({part.mean for part in parts}) == len(parts)


def test_the_time_is_up(cli: Cli, noise: str) -> None:
    done = cli("run", *POST, "--target", noise, "--until", "ci=0.5%,time=10ms")
    assert done.status == 0
    result = only(load(find("last")))
    assert (result.ended, result.flags) == ("time", ["wide"])
    assert result.until
    assert 0.0099 < sum(r.section_s or 0 for r in result.until.rounds) < 0.0101
    assert result.until.width is not None
    assert result.until.width > 0.005
    assert "; stopped after 10.0 ms, 0.5% was not reached" in done.out
    note = "until the 95% interval of its p50 was within 0.5% of it, for at most 0.01 s"
    assert note in cli("show", "last").out


def test_what_is_known_at_once_takes_one_round(cli: Cli) -> None:
    plain = cli("run", "sem.wait.free", "-p", "samples=500", "--target", "sim", "--json").document
    until = cli(
        "run", "sem.wait.free", "-p", "samples=500", "--target", "sim", "--until", "ci=2%", "--json"
    ).document
    before, after = plain["results"][0], until["results"][0]
    assert (after["ended"], len(after["until"]["rounds"])) == ("ci", 1)
    same = set(after) - {"ended", "until", "ci95"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_a_case_without_samples_runs_once(cli: Cli, fake: Fake) -> None:
    fake(extra={"n": 0, "sum": 0, "min": None, "max": None, "hist": [], "worst": [],
                "trace": None, "blocks": None, "ended": None})  # fmt: skip
    assert cli("run", "null", "--until", "ci=2%").status == 0
    result = only(load(find("last")))
    assert (result.status, result.until, result.ended) == ("ok", None, None)


def test_several_cases_each_in_its_rounds(cli: Cli, fake: Fake) -> None:
    fake()
    done = cli("run", "ctx.ballast", "-p", "ballast=0,1,33", "--until", "ci=1%")
    assert done.status == 0
    run = load(find("last"))
    assert [result.case for result in run.results] == [1, 2, 3]
    assert all(r.until and r.ended == "ci" and r.n == 1000 * len(r.until.rounds) > 1000
               for r in run.results)  # fmt: skip
    assert run.slopes[0].slope == pytest.approx(2)
    lines = [line for line in done.err.splitlines() if "ctx.ballast" in line]
    assert [line[:3] for line in lines] == ["1/3", "2/3", "3/3"]


# ---- failures -----------------------------------------------------------------------------------

GRID = ("run", "ctx.ballast", "-p", "ballast=0,1", "--until", "ci=1%")


def ids(log: Path) -> list[int]:
    return [int(line.split(b'"id": ')[1].split(b",")[0]) for line in log.read_bytes().splitlines()
            if b'"t": "case"' in line]  # fmt: skip


@pytest.mark.parametrize("fate", ["kill", "fail"])
@pytest.mark.parametrize("third", [1_000_003, 2_000_003, 2_000_001])
def test_the_rounds_had_are_kept_and_gone_on_with(
    cli: Cli, fake: Fake, fate: str, third: int
) -> None:
    fake()
    cli(*GRID)
    whole = load(find("last"))
    fake(at=third, fate=fate)
    assert cli(*GRID).status == 4
    path = find("last")
    case, number = divmod(third, 1_000_000)
    before = load(path)
    cut = before.results[case - 1]
    assert cut.status == "incomplete"
    if number > 1:
        assert (cut.n, cut.reason) == (1000 * (number - 1), f"round {number}: did not end")
        assert cut.until
        assert len(cut.until.rounds) == number - 1
    (path / "run.json").unlink()
    results = load(path).results
    assert [(r.n, r.until, r.status) for r in results] == [
        (r.n, r.until, r.status) for r in before.results
    ]
    fake()
    assert cli("run", "--resume", "last").status == 0
    after = load(path)
    assert [(r.status, r.n, r.ci95, r.until) for r in after.results] == [
        (r.status, r.n, r.ci95, r.until) for r in whole.results
    ]
    assert ids(path / "wire-2.log")[0] == third
    run = load(path)
    (path / "run.json").unlink()
    assert load(path).results == run.results


def test_an_interrupt_keeps_the_rounds_had(cli: Cli, fake_process: Fake) -> None:
    fake_process(at=1_000_003, fate="hang")

    def interrupt() -> None:
        while not any(b'"id": 1000003' in log.read_bytes() for log in runs().glob("*/wire.log")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert cli(*GRID).status == 130
    thread.join()
    first, second = load(find("last")).results
    assert (first.n, first.status, first.reason) == (3000, "ok", None)
    assert (first.ended, first.flags) == ("stopped", ["interrupted"])
    assert first.until
    assert [part.n for part in first.until.rounds] == [1000] * 3
    assert (second.n, second.status) == (0, "incomplete")


def test_a_load_that_fails_ends_the_rounds(cli: Cli, fake: Fake) -> None:
    fake(rates={"alive": False, "why": "killed"})
    assert cli(*GRID, "--load", "heavy").status == 3
    result = load(find("last")).results[0]
    assert (result.status, result.until) == ("incomplete", None)
    assert result.reason == "load heavy: disk ended, killed"


@pytest.mark.parametrize("harm", ["damage", "lose"])
def test_a_damaged_round_costs_its_case_alone(cli: Cli, fake: Fake, harm: str) -> None:
    fake(wire={"result 1000002": harm}, forgets=True)
    assert cli(*GRID).status == 3
    run = load(find("last"))
    first, second = run.results
    assert (first.status, first.n) == ("incomplete", 1000)
    assert first.reason is not None
    assert first.reason.startswith("round 2: wire: ")
    assert (second.status, second.ended) == ("ok", "ci")
    assert next(note for note in run.notes if note.startswith("wire:")).endswith("costs case 1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--until", "ci=2"], "write 0.5% to 50%"),
        (["--until", "ci=2%", "--time", "5"], "write --until ci=2%,time=5"),
        pytest.param(
            ["--until", "ci=2%", "--target", "qemu:freertos-a64"],
            "takes all commands at its start",
            marks=needs("freertos-a64"),
        ),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, fake: Fake, options: list[str], message: str) -> None:
    fake()
    done = cli("run", "null", *options)
    assert done.status == 2
    assert message in done.says


def test_plans_without_it_stay_as_they_were(plan: Plan) -> None:
    assert Assembly(plan).due == plan.cases
