"""`run --limit`, `run --stop-above` and `check --limit`, on a system whose latencies are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.plan import Plan, Trace
from rtstone.measure.agent_session import script
from rtstone.store.index import find
from rtstone.store.rundir import logs
from tests.conftest import Cli, Fake
from tests.report.explained import SENTENCE, explained_run, in_place, small

# Wakes up after a few µs, but in 8 ms of each 100 nothing runs.
STALLED = """
title = "Stalled"
label = "a test's own"
seed = 7
tick = "1us"
stalls = [{ first = "50.5ms", length = "8ms", period = "100ms" }]
[cost]
read = "10ns"
time = "10ns"
switch = "400ns"
interrupt = "500ns"
"""
PERIODIC = ["run", "dk.periodic"]


@pytest.fixture
def stalled(tmp_path: Path) -> list[str]:
    file = tmp_path / "stalled.toml"
    file.write_text(STALLED)
    return ["--target", f"sim:{file}"]


def first_line(out: str) -> str:
    return out.partition("\n")[0]


def test_a_requirement_that_is_met(cli: Cli) -> None:
    done = cli(*PERIODIC, "--target", "sim", "--limit", "100us", "--time", "12")
    assert done.status == 0
    assert first_line(done.out) == (
        "100 µs met, in the model, seen for 12.0 s: none of 12 000 activations later."
    )
    assert first_line(cli("show", "last").out) == first_line(done.out)
    document = cli("show", "last", "--json").document
    assert document["requirement"] == {
        "latency": 100_000, "stop_above": None, "unit": "ns",
    }  # fmt: skip
    checked = cli("check", "last")
    assert (checked.status, "+ passed" in checked.out) == (0, True)


def test_less_than_ten_seconds_or_ten_thousand_activations_is_so_far(cli: Cli) -> None:
    for time, period, seen in (
        ("9.9", "100us", "so far"),
        ("10", "100us", "seen for 10.0 s"),
        ("30", "10ms", "so far"),
        ("100", "10ms", "seen for 100 s"),
    ):
        words = [*PERIODIC, "--target", "sim", "-p", f"period={period}", "--time", time, "-q"]
        required = cli(*words, "--limit", "90us")
        assert f"90 µs met, in the model, {seen}: none of" in required.out, (time, period)
        fit = cli(*words)
        assert f", in the model, {seen}: none of" in fit.out
        assert fit.out.startswith("Fit for a period of ")


def test_what_is_late_and_what_never_comes_is_counted(cli: Cli, stalled: list[str]) -> None:
    """Each stall from 50.5 to 58.5 ms makes one wake-up late by 7.5 ms and hides seven."""
    done = cli(*PERIODIC, *stalled, "--limit", "100us", "--time", "1")
    assert done.status == 1
    assert first_line(done.out).startswith(
        "100 µs not met: in the model, 80 of 1 000 activations missed: 10 later, 70 never; 7.50 ms "
        "at worst, without load"
    )
    (result,) = cli("show", "last", "--json").document["results"]
    assert (result["missed"], result["n"]) == (70, 930)
    misses = result["misses"]
    assert {k: misses[k] for k in ("limit", "n", "late", "squares")} == {
        "limit": 100_000, "n": 80, "late": 10, "squares": 10 * 8**2,
    }  # fmt: skip
    expected = [k + 100 * ((k - 1) // 8) - 8 * ((k - 1) // 8) for k in range(1, 33)]
    assert misses["windows"] == expected
    longer = cli(*PERIODIC, *stalled, "--limit", "20ms", "--time", "1", "-q")
    assert longer.out.startswith(
        "20 ms not met: in the model, 70 of 1 000 activations never came; 7.50 ms at worst, "
    )
    checked = cli("check", "last~1")
    assert checked.status == 1
    assert "missed 80 activations, n 930, 1.00 s, limit <= 0; 10 later than 100 µs, 70 never" in (
        checked.out
    )


def test_the_page_and_the_verdict_alone_say_it(
    cli: Cli, stalled: list[str], tmp_path: Path
) -> None:
    assert cli(*PERIODIC, *stalled, "--limit", "100us", "--time", "0.2", "-q").out.startswith(
        "100 µs not met: "
    )
    page = tmp_path / "page.html"
    assert cli("report", "last", "-o", str(page)).status == 0
    assert "100 µs not met: " in page.read_text().replace("\u202f", " ").replace("\xa0", " ")


def test_the_run_ends_above_a_latency(cli: Cli, stalled: list[str]) -> None:
    words = ["run", "dk.periodic", "sched.yield", *stalled, "--stop-above", "1ms"]
    done = cli(*words, "--time", "1")
    assert done.status == 1
    first = "8 of 47 activations missed: 1 later, 7 never; 7.50 ms at worst, without load; "
    assert f"{first}the run ended" in first_line(done.out)
    assert (
        "INCOMPLETE: ended by a sample above the latency of --stop-above; 1 of 2 cases measured"
        in (done.out)
    )
    assert "rtstone: " not in done.err
    document = cli("show", "last", "--json").document
    periodic, never = document["results"]
    assert (periodic["ended"], periodic["n"], periodic["missed"]) == ("limit", 40, 7)
    assert never["status"] == "incomplete"
    _, (log,) = logs(find("last"))
    assert b"limit 1000000 1000000" in log
    assert b"case 2" not in log  # nothing more was asked of the agent


def test_a_run_that_is_never_above_it_runs_to_its_end(cli: Cli, stalled: list[str]) -> None:
    done = cli(
        *PERIODIC, *stalled, "--limit", "1ms", "--stop-above", "8ms", "--time", "0.3", "--json"
    )
    assert done.status == 1
    (result,) = done.document["results"]
    assert (result["ended"], result["misses"]["late"]) == ("time", 3)


def test_only_wake_ups_are_limited_if_there_are_some(cli: Cli) -> None:
    assert (
        cli("run", "dk.periodic", "sched.yield", "--target", "sim", "--limit", "100us").status == 0
    )
    plan, _ = logs(find("last"))
    said = [line for line in script(plan, plan.cases) if line.startswith(("limit", "case"))]
    assert [line.partition(" samples")[0] for line in said] == [
        "limit 100000 0", "case 1 dk.periodic", "limit 0 0", "case 2 sched.yield",
    ]  # fmt: skip
    results = cli("show", "last", "--json").document["results"]
    limits = {r["bench"]: (r["misses"] or {}).get("limit") for r in results}
    assert limits == {"dk.periodic": 100_000, "sched.yield": None}


def test_without_wake_ups_every_sample_is_limited(cli: Cli) -> None:
    done = cli("run", "sem.try.free", "--target", "sim", "--limit", "1ns", "-p", "samples=100")
    assert done.status == 1
    assert first_line(done.out).startswith("1 ns not met: in the model, 100 of 100 samples later")


def test_a_requirement_on_what_was_measured_badly_has_no_verdict(fake: Fake, cli: Cli) -> None:
    misses: dict[str, Any] = {"limit_ns": 100_000, "n": 0, "late": 0, "squares": 0, "room": 32}
    for sched, status, verdict in (
        ("fifo", 0, "100 µs met, so far"),
        (
            "other",
            3,
            "None of 1 000 activations later than 100 µs, without load; no verdict, as it "
            "was measured without real-time privileges.",
        ),
    ):
        fake(sched=sched, extra={"misses": misses})
        done = cli("run", "dk.periodic", "--limit", "100us")
        assert done.status == status
        assert first_line(done.out).startswith(verdict)
        assert cli("check", "last").status == status
    missing = {**misses, "n": 3, "late": 3, "squares": 5, "windows": [1, 2, 900]}
    fake(sched="other", extra={"misses": missing})
    done = cli("run", "dk.periodic", "--limit", "100us")
    assert done.status == cli("check", "last").status == 1
    assert first_line(done.out).startswith(
        "100 µs not met as it was run (without real-time privileges): 3 of 1 000 activations later"
    )


def test_what_ended_a_traced_run_is_explained_at_once(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained = explained_run()
    questions = in_place(
        monkeypatch,
        lambda r: structs.replace(small(explained), case=r.case, bench=r.bench, load=r.load),
    )
    misses: dict[str, Any] = {
        "limit_ns": 50, "n": 1, "late": 1, "squares": 1, "room": 32, "windows": [1],
    }  # fmt: skip
    for traced, ended in ((True, "limit"), (True, "samples"), (False, "limit")):
        evidence = {"snapshots": 1} if traced else {}
        fake(extra={"misses": misses, "ended": ended}, evidence=evidence)
        words = ["--trace", "worst"] if traced else []
        done = cli("run", "dk.periodic", "--stop-above", "50ns", *words)
        assert done.status == 1
        why = f"why dk.periodic, load none: sample 1 733, {SENTENCE}"
        assert (why in " ".join(done.out.split())) == (traced and ended == "limit")
        assert ("; the run ended there." in first_line(done.out)) == (ended == "limit")
    assert [(result.ended, sample) for _, result, sample, _ in questions] == [("limit", "worst")]
    plan, _ = logs(find("last~2"))
    assert plan.trace == Trace(above_ns=50, keep=1)


def test_an_agent_without_room_for_misses_measures_nothing(fake: Fake, cli: Cli) -> None:
    fake(roomless=True)
    done = cli("run", "dk.periodic", "--limit", "100us")
    assert done.status == 4
    assert "has no memory to count misses of a limit; leave out --limit" in done.says


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--limit", "5"], "no unit, in --limit 5"),
        (["--until", "ci=2%", "--stop-above", "1ms"], "leave out --until"),
        (["--resume", "last", "--limit", "1ms"], "leave out --limit"),
    ],
)
def test_what_is_refused(fake: Fake, cli: Cli, options: list[str], says: str) -> None:
    assert cli("run", "null").status == 0
    done = cli("run", *([] if "--resume" in options else ["null"]), *options)
    assert done.status == 2
    assert says in done.says


def test_limits_without_a_file(cli: Cli, stalled: list[str]) -> None:
    assert cli(*PERIODIC, *stalled, "--time", "1").status == 0
    for limits, status in (
        (["dk.periodic min<=100us"], 0),
        (["dk.periodic max<=8ms", "dk.periodic min<=1ns"], 1),
        (["dk.periodic missed<=7 in 100"], 0),
        (["dk.periodic missed<=6 in 100"], 1),
        (["dk.* missed <= 70"], 0),
        (["dk.periodic missed<=69"], 1),
        (["dk.periodic jitter<=8ms"], 0),
        (["dk.periodic jitter<=7ms"], 1),
        (["dk.periodic p99.99<=100us"], 1),  # ten stalls of 8 ms are beyond it
        (["dk.periodic p99.99<=9ms"], 3),
    ):
        words = [word for limit in limits for word in ("--limit", limit)]
        done = cli("check", "last", *words, "--json")
        assert done.status == status, limits
        gate = json.loads(done.out)
        assert (gate["budget"], gate["title"]) == ("", ", ".join(limits))
        assert len(gate["checks"]) == len(limits)
    assert "n is too small for p99.99; " in gate["checks"][0]["reason"] + "; "


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("dk.periodic", "no limit, in --limit 'dk.periodic'; write one such as"),
        ("dk.periodic p99<5us", "a limit itself is allowed, so write '<=': 'dk.periodic p99<=5us'"),
        ("wakeup max =5us", "write '<=': 'wakeup max <=5us'"),
        ("wakeup p99 ≥ 5us", "write '>=': 'wakeup p99 >= 5us'"),
        ("sections critical<300", "write '<=': 'sections critical<=300'"),
        ("dk.periodc p99<=5us", "did you mean 'dk.periodic'?"),
        ("dk.periodic p98<=5us", "unknown figure 'p98'"),
        ("dk.periodic p99<=fast", "bad limit '<=fast' of p99"),
        ("dk.periodic p99>=5us", "'p99' can have an upper limit only"),
        ("dk.periodic missed<=9 in 9", "allows each activation to be missed"),
        ("dk.periodic jitter<=+10%", "is relative, but there is no baseline"),
    ],
)
def test_a_limit_that_is_none(cli: Cli, limit: str, says: str) -> None:
    assert cli(*PERIODIC, "--target", "sim", "-p", "samples=50").status == 0
    done = cli("check", "last", "--limit", limit)
    assert done.status == 2
    assert says in done.says


def test_a_check_has_the_name_by_which_its_limit_names_the_bench(cli: Cli) -> None:
    assert cli(*PERIODIC, "--target", "sim", "-p", "samples=50").status == 0
    for called, name in (("wakeup", "wakeup (dk.periodic)"), ("dk.periodic", "dk.periodic")):
        done = cli("check", "last", "--limit", f"{called} max<=1s")
        assert done.out.splitlines()[1].startswith(f"+ passed        {name}, load none: max ")


def test_a_run_without_a_requirement_has_no_limit_to_check(cli: Cli) -> None:
    assert cli(*PERIODIC, "--target", "sim", "-p", "samples=50").status == 0
    done = cli("check", "last")
    assert done.status == 2
    assert "no limit to check; write --limit 'BENCH p999<=100us', --budget FILE" in done.says


def test_a_scripted_target_ends_one_case_only(cli: Cli) -> None:
    assert cli(*PERIODIC, "--target", "sim", "--limit", "1ms", "-p", "samples=50").status == 0
    plan, _ = logs(find("last"))
    assert isinstance(plan, Plan)
    lone = structs.replace(plan, requirement=None)
    assert not any(line.startswith("limit") for line in script(lone, lone.cases))
