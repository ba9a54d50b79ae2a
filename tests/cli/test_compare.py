from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.measure.interleave import order
from rtstone.measure.start import execute
from rtstone.store.layout import runs as home
from rtstone.store.rundir import load
from tests.conftest import Cli, Fake
from tests.stats.lab import lab, result, study


def store_run(run: Run) -> str:
    """Store a document like a run does; return its id."""
    place = home() / run.run_id
    place.mkdir(parents=True)
    (place / "run.json").write_bytes(msgspec.json.encode(run))
    (place / "plan.json").write_text("{}")
    return run.run_id


@pytest.fixture
def lab_runs(cli: Cli) -> list[str]:
    return [store_run(run) for run in study(seeds=(1, 2), samples=30)]


def test_a_table_of_systems(cli: Cli, lab_runs: list[str]) -> None:
    done = cli("compare", *lab_runs, "--all")
    assert done.status == 0
    for part in ("freertos-a64", "linux-6.1-rt", "not in time", "unsupported [1]", "seeds 1, 2"):
        assert part in done.out


def test_one_document(cli: Cli, lab_runs: list[str]) -> None:
    done = cli("compare", *lab_runs, "--json")
    assert done.status == 0
    assert done.document["schema"] == "rtstone.comparison/1"
    assert [column["seeds"] for column in done.document["columns"]] == [[1, 2]] * 3
    lacking = next(r for r in done.document["rows"] if r["bench"] == "proc.create")["cells"][0]
    assert (lacking["status"], lacking["reason"]) == ("unsupported", "no user processes")


def test_simulated_systems(cli: Cli) -> None:
    for model in ("rtai-22.2.4", "lynxos-3.0.1"):
        assert cli("run", "null", "sched.yield", "--target", f"sim:{model}").status == 0
    done = cli("compare", "last~1", "last", "--json")
    assert done.status == 0
    assert [c["label"] for c in done.document["columns"]] == ["sim:rtai-22.2.4", "sim:lynxos-3.0.1"]
    assert [row["bench"] for row in done.document["rows"]] == ["null", "sched.yield"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "Missing argument 'RUN...'"),
        (("0",), "one run has nothing to compare with; name two or more"),
        (("0", "0"), "named twice"),
        (("0", "1"), "only one system, freertos-a64,"),
        (("0", "nowhere"), "no run 'nowhere'"),
        (("0", "other"), "no bench in common, in freertos-a64, b"),
        (("0", "time"), "instructions and time cannot be compared"),
    ],
)
def test_bad_input_is_one_line(
    cli: Cli, lab_runs: list[str], names: tuple[str, ...], says: str
) -> None:
    store_run(lab("b", [result("clk.overhead", [1.0])], run_id="other"))
    store_run(lab("c", [result("null", [1.0], unit="ns")], unit="ns", run_id="time"))
    done = cli("compare", *(lab_runs[int(name)] if name.isdigit() else name for name in names))
    assert done.status == 2
    assert done.out == ""
    (line,) = done.says.splitlines()
    assert line.startswith("rtstone: ")
    assert says in line


def test_a_report_holds_the_comparison(cli: Cli, lab_runs: list[str], tmp_path: Path) -> None:
    frame = pytest.importorskip("rtstone.report.parts.frame")
    if not frame.BUNDLE.exists():
        pytest.skip("no charts.js; run: make charts")
    page = tmp_path / "page.html"
    assert cli("report", *lab_runs, "-o", page).status == 0
    assert 'id="compared-table"' in page.read_text()


# ---- measured alternately -----------------------------------------------------------------------


def test_two_targets_measured_in_turn(cli: Cli) -> None:
    models = ("sim:rtai-22.2.4", "sim:lynxos-3.0.1")
    done = cli("compare", "--run", *models, "null", "sched.yield", "--pairs", 2, "--json")
    assert done.status == 0
    assert [c["label"] for c in done.document["columns"]] == list(models)
    ids = [run for column in done.document["columns"] for run in column["runs"]]
    assert [run[-4:] for run in ids] == ["001A", "004A", "002B", "003B"]
    (verdict,) = {
        (effect["verdict"], effect["basis"])
        for row in done.document["rows"] if row["bench"] == "sched.yield"
        for effect in row["effects"] if effect["part"] == "median"
    }  # fmt: skip
    assert verdict[1] == "exact"
    session = ids[0].removesuffix("-001A")
    for name in (session, "last", ids[1]):
        again = cli("compare", name, "--json")
        assert again.status == 0
        assert again.document == done.document


def test_how_long_pairs_take_is_told_before_the_first(fake: Fake, cli: Cli) -> None:
    """By what one run takes: 0.1 s of a period of 1 ms, and what starts and ends it."""
    words = ("dk.periodic", "-p", "samples=100", "--pairs", 2)
    first, second, *_ = [
        line
        for line in cli("compare", "--run", "local", "local", *words).err.splitlines()
        if line.startswith("run ")
    ]
    assert first == "run 1 of 4: pair 1, A, local, about 2 s left"
    assert second.startswith("run 2 of 4: pair 1, B, local, about ")


def test_the_same_target_twice_is_told_apart_by_side(cli: Cli, tmp_path: Path) -> None:
    done = cli("compare", "--run", "local", "local", "clk.overhead", "-p", "samples=1000",
               "--pairs", 2, "--json")  # fmt: skip
    assert done.status == 0
    assert [c["label"] for c in done.document["columns"]] == ["local (A)", "local (B)"]
    rules = done.document["rules"]
    assert [pair["number"] for pair in rules["pairs"]] == [1, 2]
    first, other = done.document["columns"]
    assert [pair["runs"] for pair in rules["pairs"]] == [
        list(pair) for pair in zip(sorted(first["runs"]), sorted(other["runs"]), strict=True)
    ]
    assert rules["floor"] == "from 2 pairs of runs taken in turn"
    assert {e["basis"] for row in done.document["rows"] for e in row["effects"]} == {"pairs"}
    text = cli("compare", "last").out
    # which of them says that it is no different, or that it is, two pairs decide by chance
    assert "local (B)" in text.splitlines()[0]
    assert "local (A)" in text
    assert "Noise floor from 2 pairs" in text
    assert cli("report", "last", "-o", tmp_path / "x.html").status == 0
    page = " ".join((tmp_path / "x.html").read_text(encoding="utf-8").split())
    assert "Noise floor from 2 pairs" in page


@pytest.mark.machine
def test_runs_joined_by_commas_are_one_column(cli: Cli, tmp_path: Path) -> None:
    for _ in range(4):
        assert cli("run", "clk.overhead", "-p", "samples=1000").status == 0
    done = cli("compare", "last~3,last~2", "last~1,last", "--json")
    assert done.status == 0
    assert [len(column["runs"]) for column in done.document["columns"]] == [2, 2]
    (remark,) = done.document["rules"]["remarks"]
    assert "a drift of the machine looks like a difference" in remark
    page = tmp_path / "x.html"
    assert cli("report", "last~3,last~2", "last~1,last", "-o", page).status == 0
    assert page.read_text(encoding="utf-8").count("a drift of the machine looks like") == 1
    beside = cli("compare", "last~1", "last", "--floor", "last~3,last~2", "--json")
    assert "from 2 further runs" in beside.document["rules"]["floor"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--pairs", 3, "a", "b"), "when measuring; name two targets with --run A B"),
        (("--load", "none", "a", "b"), "--load applies only when measuring"),
        (("--run", "local", "nowhere", "null"), "unknown target 'nowhere'"),
        (("--run", "local", "local", "nul"), "did you mean 'null'"),
        (("--run", "local", "local", "--floor", "last"), "pairs measure their own noise"),
        (("0", "2", "--floor", "1"), "one run shows no scatter, in --floor"),
        (("0", "2", "--floor", "1,3"), "not runs of one system, in --floor"),
        (("0,2", "4"), "not one system"),
    ],
)
def test_what_cannot_be_measured_or_joined_is_one_line(
    cli: Cli, lab_runs: list[str], arguments: tuple[str | int, ...], says: str
) -> None:
    def named(word: str | int) -> str | int:
        if isinstance(word, int):
            return word
        parts = word.split(",")
        return ",".join(lab_runs[int(p)] if p.isdigit() else p for p in parts)

    done = cli("compare", *map(named, arguments))
    assert (done.status, done.out) == (2, "")
    (line,) = done.says.splitlines()
    assert says in line


def test_an_interrupt_keeps_the_pairs_there_are(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth run, the second of A, is not measured, so the third has no counterpart."""
    begun: list[str] = []

    def measured(plan: Plan, *arguments: Any, **named: Any) -> Any:
        begun.append(plan.run_id)
        if len(begun) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return execute(plan, *arguments, **named)

    monkeypatch.setattr("rtstone.measure.interleave.execute", measured)
    done = cli("compare", "--run", "local", "local", "ctx.ballast", "--pairs", 3, "--json")
    assert done.status == 130
    assert len(begun) == 4
    assert [column["runs"] for column in done.document["columns"]] == [begun[:1], begun[1:2]]
    assert [load(home() / name).turn for name in begun] == order(begun[0][:-5], 3)[:4]
    assert cli("compare", "last", "--json").document == done.document


def test_without_a_pair_there_is_nothing_to_compare(fake: Fake, cli: Cli) -> None:
    fake(at=1, fate="kill")
    done = cli("compare", "--run", "local", "local", "ctx.ballast", "--pairs", 2)
    assert (done.status, done.out) == (4, "")
