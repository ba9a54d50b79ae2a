from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rtstone.cli import run
from rtstone.errors import Inconclusive
from rtstone.units import file_size
from tests.conftest import Cli

SIM = ["golatowski", "--target", "sim:rmos3-pc1", "--time", "0.2"]


def test_a_target_is_measured_and_becomes_a_column(cli: Cli) -> None:
    done = cli("reproduce", *SIM, "--json")
    assert done.status == 0, done.err
    document = done.document
    assert document["schema"] == "rtstone.reproduction/1"
    (column,) = document["columns"]
    assert (column["label"], column["kind"]) == ("sim:rmos3-pc1", "model")
    table = document["tables"][0]
    ours = [s["label"] for s in table["systems"]].index("sim:rmos3-pc1, sampled")
    (shown,) = table["items"][0]["cells"][ours]["here"]["values"]
    assert shown == {"value": 10.1, "most": None, "unit": "us"}
    assert "10.1" in cli("show", column["runs"][0]).out  # the run is kept


def test_targets_and_stored_runs_stand_side_by_side(cli: Cli, tmp_path: Path) -> None:
    cli("run", "rheal.ts", "--target", "sim:sorix", "--name", "stored")
    page = tmp_path / "page.md"
    done = cli("reproduce", "golatowski", "stored", "--target", "sim:rmos3-pc1", "--target",
               "sim:lynx-486", "--time", "0.2", "-o", page)  # fmt: skip
    assert done.status == 0, done.err
    for text in (done.out, page.read_text()):
        for label in ("stored", "sim:rmos3-pc1", "sim:lynx-486"):
            assert f"{label}, sampled" in text
    assert f"{page}: {file_size(page.stat().st_size)}" in done.out


def test_a_target_that_fails_costs_its_own_column_only(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTSTONE_AGENT", "/nonexistent/agent")
    done = cli("reproduce", *SIM, "--target", "local", "--json")
    assert done.status == 4
    assert "/nonexistent/agent" in done.says
    assert [column["label"] for column in done.document["columns"]] == ["sim:rmos3-pc1"]


def test_an_empty_run_among_others_costs_its_own_column_and_is_said(cli: Cli) -> None:
    cli("run", "posix.options", "--target", "sim", "--name", "empty")
    for words in (["empty", *SIM[1:]], ["empty", "stored"]):
        done = cli("reproduce", "golatowski", *words, "--json")
        assert done.status == 3
        assert done.says.startswith("rtstone: nothing was measured in empty: needs calls of POSIX")
        assert len(done.document["columns"]) == 2
        cli("run", "rheal.ts", "--target", "sim:sorix", "--name", "stored")


def test_what_is_inconclusive_is_laid_out_and_said(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = run.carry_out

    def doubtful(*arguments: Any) -> Any:
        return *carry_out(*arguments)[:2], Inconclusive("1 of 16 results is invalid")

    monkeypatch.setattr(run, "carry_out", doubtful)
    done = cli("reproduce", *SIM, "--json")
    assert (done.status, len(done.document["columns"])) == (3, 1)
    assert done.says == "rtstone: 1 of 16 results is invalid"


def test_a_load_with_options_fills_its_row(cli: Cli) -> None:
    """The others stay as in the suite, and a note says how the load was started."""
    done = cli("reproduce", "gutsalov", "--target", "sim:rtai-24.1.8", "--time", "0.2", "--load",
               "driver:every=50us", "-p", "samples=0", "--json")  # fmt: skip
    assert done.status == 0, done.err
    tables = {table["title"]: table for table in done.document["tables"]}
    first, second = tables["Maximum interrupt latency"], tables["Mean time of a context switch"]
    rows = {item["label"]: item["cells"][-1] for item in first["items"]}
    loads = {label: cell["here"]["load"] for label, cell in rows.items()}
    assert loads == {"minimal": "min", "Linux drivers": "driver:every=50us", "RT tasks": "rt200"}
    assert {cell["here"]["status"] for cell in rows.values()} == {"ok"}
    assert [first["footnotes"][n - 1] for n in rows["Linux drivers"]["notes"]] == [
        "under load driver:every=50us"
    ]
    assert rows["minimal"]["notes"] == []
    assert second["items"][0]["cells"][-1]["here"]["load"] == "none"


def test_a_page(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cli("reproduce", *SIM, "-o", page)
    assert done.status == 0, done.err
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gutsalow"], "did you mean 'gutsalov'"),
        (["gutsalov", "--target", "sim:nothing"], "nothing"),
        (["gutsalov", "-o", "page.pdf"], "in -o; write a name that ends in .html or .md"),
        (["gutsalov", "-o", "no/where/page.md"], "cannot write no/where/page.md, in -o"),
        (["gutsalov", "nothing"], "nothing"),
        (["gutsalov", "last", "--time", "1"], "not to stored runs"),
        (["gutsalov", "last", "--load", "min"], "--load applies only when measuring"),
        (["gutsalov", "last", "-p", "samples=5"], "-p applies only when measuring"),
        (["gutsalov", "--load", "heavy"], "unknown load of the publication's suite 'heavy'"),
        (["gutsalov", "--load", "min", "--load", "min"], "load 'min' is given twice"),
        (["gutsalov", "--target", "sim", "-p", "balast=3"], "did you mean 'ballast'"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(cli: Cli, words: list[str], message: str) -> None:
    done = cli("reproduce", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.says
