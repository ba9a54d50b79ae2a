"""How long a run takes is said beforehand, and one of hours has to be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.documents.run import Target
from rtstone.measure.extent import announcement, expected_s, extent
from rtstone.store.durations import Past
from rtstone.store.index import entries
from rtstone.units import NS_PER_S, roughly
from tests.conftest import Cli, Fake


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"), (37.2, "38 s"), (60, "1 min"), (78, "1 min 20 s"), (599, "10 min"),
        (3600, "60 min"), (7100, "118 min"), (100_003, "28 h"), (300_000, "3 days"),
    ],
)  # fmt: skip
def test_a_duration_as_one_would_say_it(seconds: float, text: str) -> None:
    assert roughly(seconds) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["null"], "1 case, about 1 s"),
        (["null", "--time", "30"], "1 case, about 31 s"),
        (["ctx.ballast", "-p", "ballast=0,1,33", "--time", "20"], "3 cases, about 1 min"),
        (["null", "--time", "30", "--load", "none", "--load", "heavy"], "2 cases, about 1 min"),
        (["dk.periodic", "-p", "period=10ms"], "1 case, about 11 s"),  # 1000 of them
        (["null", "--until", "ci=5%,time=10min"], "1 case, at most 10 min"),
    ],
)
def test_the_first_line_says_how_long(fake: Fake, cli: Cli, words: list[str], text: str) -> None:
    done = cli("run", *words)
    assert done.err.splitlines()[0].startswith(text)
    assert cli("run", *words, "--json").err == ""


@pytest.mark.parametrize(
    ("took_s", "text"),
    [(None, ""), (28.0, ""), (36.0, ""), (55.0, "; the last such run took 55 s")],
)
def test_where_the_last_such_run_took_longer_that_is_said(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, took_s: float | None, text: str
) -> None:
    monkeypatch.setattr(Past, "took_s", lambda _, plan: took_s)
    done = cli("run", "null", "--time", "30")
    assert done.err.splitlines()[0] == f"1 case, about 31 s{text}"


@pytest.mark.parametrize(("took_s", "expected"), [(None, None), (0.1, None), (500.0, 500.0)])
def test_pairs_are_expected_to_take_what_the_last_such_run_took(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, took_s: float | None, expected: float | None
) -> None:
    monkeypatch.setattr(Past, "took_s", lambda _, plan: took_s)
    length = extent(plan)
    assert length
    assert expected_s(plan) == (expected or length.seconds)
    board = Target(name="qemu:board", detail={"instructions_per_s": 62_500_000})
    assert expected_s(structs.replace(plan, target=board)) == took_s


def test_what_has_a_time_of_its_own_is_not_timed(cli: Cli) -> None:
    done = cli("run", "null", "-p", "samples=10", "--target", "sim")
    assert done.err.splitlines()[0] == "1 case"


def test_an_emulated_machine_says_its_own_time_and_what_the_last_such_run_took(
    plan: Plan, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Target(name="qemu:board", detail={"instructions_per_s": 62_500_000})
    cases = [
        structs.replace(case, params={"time": NS_PER_S // 2, "samples": 0}) for case in plan.cases
    ]
    plan = structs.replace(plan, target=board, cases=cases)
    assert announcement(plan) == (
        "3 cases, 1.5 s of emulated time; how fast that passes depends on this host"
    )
    without = structs.replace(cases[0], params={"time": 0, "samples": 10})
    assert announcement(structs.replace(plan, cases=[without])) == "1 case"
    partly = structs.replace(plan, cases=[without, cases[1]])
    assert announcement(partly).startswith("2 cases, at least 500 ms of emulated time; ")
    by_samples = structs.replace(cases[0], params={"time": 60 * NS_PER_S, "samples": 15})
    assert announcement(structs.replace(plan, cases=[by_samples] * 338)) == "338 cases"
    partly = structs.replace(plan, cases=[by_samples, cases[1]])
    assert announcement(partly).startswith("2 cases, at least 500 ms of emulated time; ")
    each_10ms = {"time": 60 * NS_PER_S, "samples": 15, "period": NS_PER_S // 100}
    periodic = structs.replace(cases[0], params=each_10ms)
    assert announcement(structs.replace(plan, cases=[periodic])).startswith(
        "1 case, 150 ms of emulated time; "
    )
    monkeypatch.setattr(Past, "took_s", lambda _, plan: 6.8)
    assert announcement(plan) == (
        "3 cases, 1.5 s of emulated time, about 7 s here: the last such run took as long"
    )


HOURS = ["dk.periodic", "-p", "period=10"]  # 1000 samples, of 10 s each


def test_hours_are_refused(fake: Fake, cli: Cli) -> None:
    trace = fake()
    done = cli("run", *HOURS)
    assert done.status == 2
    assert done.says == (
        "rtstone: would take about 3 h (1 case of 1 000 samples at 10 s): give --time, "
        "-p samples=N, or --yes"
    )
    assert "period=10 is 10 s, as a time without a unit is in seconds; the default is 1ms" in (
        done.err.splitlines()
    )
    assert trace.read_text() == "--list\n"  # nothing was started, or stored
    assert not entries()


@pytest.mark.parametrize(
    "options", [["--yes"], ["--time", "1h"], ["-p", "samples=400"], ["-p", "time=59min"]]
)
def test_hours_that_were_asked_for(fake: Fake, cli: Cli, options: list[str]) -> None:
    assert cli("run", *HOURS, *options).status == 0


def test_a_suite_knows_how_long_it_takes(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    suite = tmp_path / "long.toml"
    suite.write_text('[[case]]\nbench = "dk.periodic"\nparams = { period = "10s" }\n')
    assert cli("run", suite).status == 0
    done = cli("run", suite, "-p", "period=9s")  # which is not how the suite was written
    assert (done.status, "--yes" in done.says) == (2, True)


@pytest.mark.parametrize(
    ("param", "text"),
    [
        ("period=1", "period=1 is 1 s,"), ("period=1,2ms", "period=1 is 1 s,"),
        ("period=0.001", ""), ("period=1s", ""), ("period=10ms", ""),
    ],
)  # fmt: skip
def test_the_unit_that_is_assumed_is_said_where_it_matters(
    fake: Fake, cli: Cli, param: str, text: str
) -> None:
    done = cli("run", "dk.periodic", "-p", param, "--yes")
    assert done.status == 0
    assert done.err.startswith(text)
    assert ("without a unit" in done.err) == bool(text)
