"""`rtstone trend` and `check --trend`, from stored runs to the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.run import Run
from rtstone.store.index import find
from rtstone.store.layout import runs
from rtstone.store.rundir import load
from tests.conftest import Cli

SIM = ("run", "dk.periodic", "--target", "sim", "-p", "samples=1000")
HOSTILE = "x\x1b[2J</script><img src=x>"


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Run:
    """A run of the simulated system, from which others are derived."""
    from rtstone.api import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(request.getfixturevalue("tmp_path_factory").mktemp("h")))
        return run("dk.periodic", target="sim", samples=1000).run


def store(real: Run, values: list[float], change: int | None = None) -> None:
    """Store a run of a machine for each value of p50."""
    clock = structs.replace(real.clock, source="tsc") if real.clock else None
    for place, value in enumerate(values):
        words = f"quiet {HOSTILE}" if change is not None and place >= change else "quiet"
        p99 = round(2 * value, 1)
        n = real.results[0].n
        result = structs.replace(
            real.results[0], p50=value, p99=p99, max=p99, min=value, p999=None, p9999=None,
            histogram=[(value, n - 20), (p99, 20)], missed=0, corrected=None, ci95={},
        )  # fmt: skip
        run = structs.replace(
            real, run_id=f"run-{place:04}", created=f"2026-01-01T00:{place:02}:00+00:00",
            target=structs.replace(real.target, name="ssh:board", detail={"machine": "m"}),
            conditions={"kernel.cmdline": words}, results=[result], clock=clock, slopes=[],
        )  # fmt: skip
        path = runs() / run.run_id
        path.mkdir(parents=True)
        (path / "plan.json").write_text(json.dumps({"arrival": place + 1}))
        (path / "run.json").write_bytes(msgspec.json.encode(run))


def noisy(shift_at: int | None = None, n: int = 40) -> list[float]:
    values = 10_000 * np.exp(0.01 * np.random.default_rng(1).normal(size=n))
    if shift_at is not None:
        values[shift_at:] *= 1.1
    return [round(float(value), 1) for value in values]


def test_a_change_is_told_with_its_word_and_drawn(cli: Cli, real: Run) -> None:
    store(real, noisy(30), 30)
    done = cli("trend", "dk.periodic")
    assert done.status == 0
    assert "1. worse since 2026-01-01 00:30 (run run-0030): " in done.out
    assert "kernel command line: + x?[2J</script><img  + src=x>" in done.out
    assert "p50: 40 runs, 2026-01-01, " in done.out
    assert done.out.splitlines()[-1] == "3 series: 2 changes, 2 for the worse"
    axis = next(line for line in done.out.splitlines() if " +--" in line)
    assert axis.index("1", axis.index("+")) - axis.index("+") - 1 == 30


def test_the_document_and_the_page(cli: Cli, real: Run, tmp_path: Path) -> None:
    store(real, noisy(30), 30)
    page = tmp_path / "trend.html"
    done = cli("trend", "dk", "--metric", "p99", "--json", "-o", str(page))
    assert done.document["schema"] == "rtstone.trend/1"
    (series,) = done.document["series"]
    (change,) = series["changes"]
    assert change["after"] == "run-0030"
    assert len(series["places"]) == 40
    text = page.read_text()
    assert "1 change in 1 series, 1 for the worse" in text
    assert "<img src=x>" not in text


def test_the_gate_fails_at_the_change_and_not_before(cli: Cli, real: Run) -> None:
    store(real, noisy(36), 36)
    assert cli("check", "run-0034", "--trend", "5").status == 0
    done = cli("check", "run-0039", "--trend", "5", "--json")
    assert done.status == 1
    assert done.document["trend"] == 5
    assert cli("check", "run-0004", "--trend", "5").status == 3
    shown = cli("check", "run-0039", "--trend", "5").out.splitlines()
    assert shown[0].endswith("run run-0039 on ssh:board, trend of 5 runs")


def test_runs_of_a_simulated_system_repeat_exactly(cli: Cli) -> None:
    for _ in range(3):
        assert cli(*SIM).status == 0
    (series, *_) = cli("trend", "dk.periodic", "--json").document["series"]
    assert (series["exact"], series["runs"], series["changes"]) == (True, 3, [])
    assert cli("check", "last", "--trend", "1").status == 0


def test_a_breakdown_that_falls_is_a_change_and_fails_the_gate(cli: Cli, tmp_path: Path) -> None:
    """A switch of the model takes 10 us, then 500."""
    model = tmp_path / "m.toml"
    words = ("hart.PH.1", "--target", f"sim:{model}", "-p", "duration=1s")
    for switch in ("10us", "10us", "500us", "500us"):
        costs = f'read = "10ns"\ntime = "10ns"\nswitch = "{switch}"\nkwi = {{ amount = "100us" }}'
        model.write_text(f'title = "Planted"\nlabel = "a test\'s own"\n[cost]\n{costs}\n')
        assert cli("run", *words, "-q").status == 0
        if switch == "10us":
            assert cli("check", "last", "--trend", "2").status in {0, 3}
    followed = cli("trend", "hart").out
    title = f"hart.PH.1 duration=1s, on sim:{model}: breakdown utilisation: 4 runs"
    assert " ".join(followed.split()).startswith(title)
    assert "1. worse since" in followed
    gate = cli("check", "last", "--trend", "2")
    assert gate.status == 1
    assert "breakdown utilisation" in gate.out
    assert "n 0" not in gate.out


def test_a_run_elsewhere_is_followed_while_it_is_in_the_store(cli: Cli, tmp_path: Path) -> None:
    assert cli(*SIM, "--out", str(tmp_path / "out")).status == 0
    assert find("last").exists()
    assert cli("trend", "dk.periodic").status == 0
    load(tmp_path / "out")
    wrong = cli("check", str(tmp_path / "out"), "--trend", "3")
    assert wrong.status == 2
    assert "not among the stored runs" in wrong.says


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("trend", "dk.periodicc"), "unknown bench 'dk.periodicc', of the stored runs; did you"),
        (("trend", "dk.periodic", "--target", "smi"), "unknown target 'smi', of the stored runs"),
        (("check", "last", "--trend", "3", "--budget", "b.toml"), "leave out --budget"),
        (("check", "last", "--trend", "3", "--explain"), "--explain applies only with --budget"),
        (("check", "last"), "no limit to check"),
        (("check", "last", "last~1", "--trend", "2"), "only one run can be checked at a time"),
        (("trend", "dk.periodic", "-o", "/nowhere/x.html"), "cannot write /nowhere/x.html, in -o"),
    ],
)
def test_errors_are_one_line(cli: Cli, words: tuple[str, ...], says: str) -> None:
    assert cli(*SIM).status == 0
    done = cli(*words)
    assert done.status == 2
    assert says in done.says


def test_without_runs_or_samples(cli: Cli) -> None:
    assert "no runs are stored" in cli("trend", "dk.periodic").says
