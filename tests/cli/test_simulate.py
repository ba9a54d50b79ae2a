"""The command `simulate`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rtstone.documents.run import Figure, Result, Run, Target
from rtstone.report.parts import frame
from rtstone.store.layout import RUN
from tests.conftest import Cli
from tests.report.test_html import Reader

SMALL = ("--sets", "6", "--tasks", "3,5", "--utilisation", "0.5,1.3", "--time", "2s",
         "--workers", "1")  # fmt: skip


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Measure a switch and a Hartstone experiment in one run."""
    results = [
        Result(case=1, bench="ctx.ballast", params={"ballast": 0}, load="none", status="ok",
               n=1000, p50=2000.0),
        Result(case=2, bench="hart.PH.1", params={"set": "sei", "policy": "rm"}, load="none",
               status="ok", figures={
                   "breakdown utilisation": Figure(value=90.5, unit="%"),
                   "first miss at": Figure(value=91.5, unit="%"),
                   "raw speed": Figure(value=3200.0, unit="KWIPS")}),
    ]  # fmt: skip
    run = Run(
        run_id="r1", created="2026-11-21T03:15:00+00:00", status="complete",
        target=Target(name="local"), results=results,
    )  # fmt: skip
    path = tmp_path / "run"
    path.mkdir()
    (path / RUN).write_bytes(msgspec.json.encode(run))
    return path


def test_the_document(cli: Cli) -> None:
    done = cli("simulate", *SMALL, "--policy", "rm,edf", "--json")
    assert (done.status, done.err) == (0, "")
    document = done.document
    assert document["schema"] == "rtstone.simulation/1"
    assert len(document["points"]) == 2 * 2 * 2
    assert len(document["breakdown"]) == 2 * 2
    assert {p["schedulable"] for p in document["points"] if p["utilisation"] == 0.5} == {1.0}
    again = cli("simulate", *SMALL, "--policy", "rm", "--policy", "edf", "--json", "--workers", "2")
    assert again.out == done.out


@pytest.mark.parametrize("exact", [False, True])
def test_a_chart_beyond_the_breakdown_says_why(cli: Cli, tmp_path: Path, exact: bool) -> None:
    """Jobs that take half of what is declared hold where the breakdown, of whole ones, is left."""
    if not frame.BUNDLE.exists():
        pytest.skip("needs the charts, `make charts`")
    file = tmp_path / "a.html"
    assert cli("simulate", *SMALL, *(["--exact"] if exact else []), "-o", file).status == 0
    page = " ".join(file.read_text().split())
    assert ("on average, if no job takes less than declared." in page) is not exact
    note = "Here jobs take less than declared (execution times nominal times uniform(0.5, 1)), so"
    assert (note in page) is not exact


def test_the_table(cli: Cli) -> None:
    done = cli("simulate", *SMALL, "--server", "sporadic", "--protocol", "ceiling", "--tick", "1ms",
               "--tick-cost", "2us", "--switch-cost", "1us")  # fmt: skip
    assert (done.status, done.err) == (0, "")
    for part in ("sporadic, 2 ms of every 10 ms", "protocol ceiling", "Switch: 1 µs",
                 "Tick: 2 µs every 1 ms", "3 tasks: share of sets", "value ratio"):  # fmt: skip
        assert part in done.out


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_the_page(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    done = cli("simulate", *SMALL, "-o", page, "--json")
    assert (done.status, done.document["schema"]) == (0, "rtstone.simulation/1")
    assert str(page) in done.err
    read = Reader(page.read_text())
    assert read.attributes("src") == []
    first, *charts = read.attributes("data-chart")
    assert len(charts) == len(set(charts)) == 2 * 4
    assert first in charts
    data = read.data
    assert set(data["charts"]) == set(charts)
    assert [s["name"] for s in data["charts"]["n3-misses"]["series"]][:2] == ["fifo", "rr"]
    ids = read.attributes("id")
    links = {link[1:] for link in read.attributes("href") if link.startswith("#")}
    assert links <= set(ids)


def test_costs_of_a_run(cli: Cli, measured: Path) -> None:
    costs = cli("simulate", *SMALL, "--costs-from", measured, "--json").document["request"]["costs"]
    assert (costs["switch_ns"], costs["from_run"]) == (2000, "r1")
    done = cli("simulate", *SMALL, "--costs-from", measured, "--switch-cost", "3us", "--json")
    assert done.document["request"]["costs"]["switch_ns"] == 3000


def test_hartstone_beside_a_run(cli: Cli, measured: Path) -> None:
    words = ("simulate", "hartstone", "--costs-from", measured)
    document = cli(*words, "--json").document
    beside = [e for e in document["experiments"] if e["measured"] is not None]
    (experiment,) = beside
    assert experiment["experiment"] == "PH.1"
    assert (experiment["set"], experiment["policy"]) == ("sei", "rm")
    assert experiment["raw_kwips"] == 3200
    assert experiment["gap"] == pytest.approx(experiment["breakdown"] - 90.5)
    assert experiment["breakdown"] < experiment["breakdown_free"] == 100
    assert len(document["experiments"]) == 20
    out = cli(*words, "ph.1").out
    assert "gap: the OS" in out
    assert "90.5" in out


FREE = """
title = "Free"
label = "a test's: nothing costs anything"
[cost]
read = "1ns"
kwi = { amount = "62500ns" }
"""


def test_a_system_without_costs_has_no_gap(cli: Cli, tmp_path: Path) -> None:
    """The simulation has the form, stop rule, duration and raw speed of the measurement."""
    model, run = tmp_path / "free.toml", tmp_path / "run"
    model.write_text(FREE)
    cases = ("hart.AH.3", "hart.SH.3", "hart.SA.3", "-p", "stop=first", "-p", "form=server",
             "-p", "duration=1s", "--target", f"sim:{model}")  # fmt: skip
    assert cli("run", *cases, "--out", run).status == 0
    refused = cli("simulate", "hartstone", "--costs-from", run)
    assert (refused.status, refused.out) == (2, "")
    assert "no cost of a switch in run" in refused.says
    assert "or write --switch-cost" in refused.says
    words = ("simulate", "hartstone", "--costs-from", run, "--switch-cost", "0")
    document = cli(*words, "--json").document
    assert document["costs"]["switch_ns"] == 0
    assert "switch: given" in document["costs"]["sources"]
    beside = {e["experiment"]: e for e in document["experiments"] if e["measured"] is not None}
    assert list(beside) == ["AH.3", "SH.3", "SA.3"]
    for experiment in beside.values():
        assert experiment["gap"] == 0
        first_miss = pytest.approx(experiment["first_miss"], abs=1e-3)
        assert experiment["measured_first_miss"] == first_miss
        assert (experiment["duration_ns"], experiment["stop_misses"]) == (1_000_000_000, 1)
        assert experiment["raw_kwips"] == 16_000
    assert [experiment["form"] for experiment in beside.values()] == [None, "server", "server"]
    assert {e["raw_kwips"] for e in document["experiments"]} == {16_000}
    out = cli(*words, "ah.3", "ah.1").out
    assert "+0.0" in out
    assert "not measured" in out


def test_hartstone_alone(cli: Cli) -> None:
    done = cli("simulate", "hartstone", "hart.PH.1", "--policy", "edf")
    assert done.status == 0
    assert "100.0" in done.out
    assert "nothing measured beside it" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "emf"], "did you mean 'edf'"),
        (["--tasks", "0"], "in --tasks"),
        (["--tasks", "5;10"], "in --tasks"),
        (["--utilisation", "0.5:1"], "in --utilisation"),
        (["--utilisation", "1:0.5:0.1"], "in --utilisation"),
        (["--utilisation", "0.1:1:0"], "in --utilisation"),
        (["--utilisation", "0"], "in --utilisation"),
        (["--utilisation", "nan"], "in --utilisation"),
        (["--sets", "0"], "--sets"),
        (["--seed", "-1"], "--seed"),
        (["--workers", "0"], "--workers"),
        (["--time", "1"], "in --time"),
        (["--time", "5x"], "in --time"),
        (["--quantum", "1ns"], "in --quantum"),
        (["--server", "poling"], "did you mean 'polling'"),
        (["--server", "polling=5ms"], "in --server"),
        (["--server", "polling=5ms/1ms"], "in --server"),
        (["--server", "background=1ms/2ms"], "in --server"),
        (["--switch-cost", "-1us"], "in --switch-cost"),
        (["--tick-cost", "1us"], "in --tick-cost"),
        (["--tick", "1us", "--tick-cost", "1us"], "in --tick"),
        (["--costs-from", "nothing"], "no run 'nothing'"),
        (["-o", "no/such/x.html"], "in -o"),
        (["-o", ""], "in -o"),
        (["hartstne"], "hartstne"),
        (["--sets", "5", "hartstone"], "an option before 'hartstone'"),
        (["hartstone", "PX.1"], "unknown experiment 'PX.1'"),
        (["hartstone", "--policy", "fifo"], "unknown policy 'fifo'"),
        (["hartstone", "--raw", "0"], "--raw"),
        (["hartstone", "PN.1", "--set", "golatowski"], "no set 'golatowski'"),
        (["hartstone", "--form", "server", "--policy", "edf"], "not simulated under edf"),
    ],
)
def test_bad_requests(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("simulate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.says
    assert len(done.err.splitlines()) == 1


def test_an_engine_that_is_not_built(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from rtstone.simulate import engine

    engine.library.cache_clear()
    monkeypatch.setenv("RTSTONE_ENGINE", "/nowhere/engine.so")
    done = cli("simulate", *SMALL)
    engine.library.cache_clear()
    assert done.status == 2
    assert "run: make engine" in done.says
