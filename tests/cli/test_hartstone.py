"""One disturbance in a Hartstone experiment: everywhere the same interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rtstone.documents.breakdown import Breakdown, breakdown
from rtstone.documents.case_name import result_names
from rtstone.documents.run import Run
from rtstone.plot.data import breakdowns
from rtstone.report.parts.hartstone import curves
from rtstone.store.index import find
from rtstone.store.rundir import load
from tests.conftest import Cli

# Raw speed is 100 000 KWIPS.  A test takes 5 + 2 s, and the stall is in the middle of the fourth.
MODEL = """
title = "Disturbed"
label = "a test's own"
stalls = [{ first = "27s", length = "50ms" }]
[cost]
read = "1ns"
kwi = { amount = [[0, 0], [1, "10us"]] }
"""


@pytest.fixture
def disturbed(cli: Cli, tmp_path: Path) -> Run:
    model = tmp_path / "disturbed.toml"
    model.write_text(MODEL)
    result = cli(
        "run", "hart.PH.3", "-p", "duration=2s", "-p", "speed=100000", "--time", "0",
        "--target", f"sim:{model}", "--json",
    )  # fmt: skip
    assert result.status == 0, result.err
    return load(find("last"))


def gate(cli: Cli, tmp_path: Path, limit: str) -> Any:
    budget = tmp_path / "budget.toml"
    figures = f'figures = {{ "breakdown utilisation" = "{limit}" }}'
    budget.write_text(f'[[case]]\nbench = "hart.PH.3"\n{figures}\n')
    return cli("check", "last", "--budget", budget, "--json")


def test_a_disturbance_leaves_the_same_interval_everywhere(
    cli: Cli, disturbed: Run, tmp_path: Path
) -> None:
    (result,) = disturbed.results
    at = breakdown(result)
    assert at is not None and at.missed is not None and at.again is not None
    assert at.broke and at.held < at.missed < at.again
    assert "not_monotone" in result.flags
    low, high = f"{at.held:.1f}", f"{at.again:.1f}"

    text = cli("show", "last").out
    verdict = text.splitlines()[0]
    assert f"Deadlines held up to {low} % of raw speed" in verdict
    assert f"It missed some at {at.missed:.1f} % and held again at {high} %" in " ".join(
        text.split()
    )
    assert f"{low} to {high} %" in text

    page = tmp_path / "page.html"
    assert cli("report", "last", "-o", page).status == 0
    html = page.read_text()
    assert f"{low} to {high}" in html

    ticks = [point[0] for point in curves(result)["lateness"]["above"]]
    assert ticks[1] == pytest.approx(at.held, abs=0.01)  # the second is the figure of merit
    assert ticks[2] == pytest.approx(at.missed, abs=0.01)
    (drawn,) = breakdowns(list(zip(disturbed.results, result_names(disturbed), strict=True)))
    assert drawn.at == at

    below = gate(cli, tmp_path, f">= {at.held - 0.5:.1f}%")
    assert (below.status, below.document["verdict"]) == (0, "passed")
    between = gate(cli, tmp_path, f">= {at.held + 0.5:.1f}%")
    assert (between.status, between.document["verdict"]) == (1, "failed")
    (check,) = between.document["checks"]
    assert check["observed"] == pytest.approx(at.held)
    assert "held again at" in check["reason"]


def test_documents_of_versions_that_told_the_last_clean_test_are_read_alike(disturbed: Run) -> None:
    """They had the last test without a miss as the breakdown, wherever it was."""
    import msgspec

    (result,) = disturbed.results
    at = breakdown(result)
    assert at is not None and at.again is not None
    figures = {name: f for name, f in result.figures.items() if name != "held again at"}
    last = msgspec.structs.replace(figures["breakdown utilisation"], value=at.again)
    figures["breakdown utilisation"] = last
    old = msgspec.structs.replace(result, figures=figures)
    earlier = breakdown(old)
    assert isinstance(earlier, Breakdown)
    assert (earlier.missed, earlier.again, earlier.broke) == (at.missed, at.again, True)
    assert earlier.held == pytest.approx(at.held, abs=0.006)  # from the table of tests
    figures["no breakdown up to"] = figures.pop("breakdown utilisation")
    unbroken = breakdown(msgspec.structs.replace(old, figures=figures))
    assert unbroken == earlier  # a last test without a miss is no "no deadline was missed"
    bare = msgspec.structs.replace(old, tables=[])
    assert breakdown(bare) is None  # it held up to what is not known
