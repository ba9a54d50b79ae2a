from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rtstone.model.documents import Run
from rtstone.store.rundir import runs as home
from tests.conftest import Cli
from tests.stats.lab import lab, result, study


def kept(run: Run) -> str:
    """Stores a document as a run leaves it; its id."""
    place = home() / run.run_id
    place.mkdir(parents=True)
    (place / "run.json").write_bytes(msgspec.json.encode(run))
    (place / "plan.json").write_text("{}")
    return run.run_id


@pytest.fixture
def lab_runs(cli: Cli) -> list[str]:
    return [kept(run) for run in study(seeds=(1, 2), samples=30)]


def test_a_table_of_systems(cli: Cli, lab_runs: list[str]) -> None:
    done = cli("compare", *lab_runs)
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
    kept(lab("b", [result("clk.overhead", [1.0])], run_id="other"))
    kept(lab("c", [result("null", [1.0], unit="ns")], unit="ns", run_id="time"))
    done = cli("compare", *(lab_runs[int(name)] if name.isdigit() else name for name in names))
    assert done.status == 2
    assert done.out == ""
    (told,) = done.says.splitlines()
    assert told.startswith("rtstone: ")
    assert says in told


def test_a_report_holds_the_comparison(cli: Cli, lab_runs: list[str], tmp_path: Path) -> None:
    html = pytest.importorskip("rtstone.report.html")
    if not html.BUNDLE.exists():
        pytest.skip("no charts.js; run: make charts")
    page = tmp_path / "page.html"
    assert cli("report", *lab_runs, "-o", page).status == 0
    assert 'id="compared-table"' in page.read_text()
