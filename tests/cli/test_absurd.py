"""Run documents that are well typed but nonsense cause no traceback in any command."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

from rtstone.cli.main import DEFECT
from rtstone.documents.attribution import AttributedCase, Attribution
from rtstone.documents.run import Result, Run
from rtstone.formats.registry import WRITERS
from tests.conftest import Cli
from tests.documents.absurd import FLOATS, RUNS, mutated, uniform
from tests.report import synthetic

BUDGET = """
[[case]]
bench = "*"
p50 = ["1us", "+10%"]
p99 = "1us"
mean = "+10%"
max = "1us"
[[case]]
bench = "*"
missed = 0
[[case]]
bench = "*"
bound = "1ms"
exceedance_per_hour = 0.1
[[case]]
bench = "*"
slope = "1ns"
[[case]]
bench = "*"
figures = { "breakdown utilisation" = ">= 10%" }
"""
DRAWN = ("histogram", "percentiles")
COMMANDS = [
    ["show", "odd"], ["show", "odd", "--json"], ["show", "odd", "--worst-case"], ["list", "runs"],
    ["report", "odd", "-o", "OUT"], ["report", "odd,sound", "-o", "OUT"], ["guarantee", "odd"],
    ["compare", "odd", "sound"], ["compare", "sound", "odd"], ["compare", "odd,sound", "sound,odd"],
    ["check", "odd", "--budget", "B0"], ["check", "odd", "--budget", "B1"],
    ["check", "odd", "--budget", "B2"], ["check", "odd", "--budget", "B3"],
    ["check", "odd", "--budget", "B4"],
    ["check", "odd", "--budget", "B0", "--baseline", "sound"],
    ["check", "sound", "--budget", "B0", "--baseline", "odd", "--markdown", "OUT"],
    ["check", "odd", "--write-budget", "OUT"],
    *(["export", "odd", "--format", form, "-o", "OUT"] for form in WRITERS),
    *(["plot", "odd", "--bench", "null", "--kind", k, "-o", "FIGURE"] for k in DRAWN),
]  # fmt: skip


@cache
def sound() -> Run:
    """Return a valid run in which every member of a result occurs, and little more."""
    whole = synthetic.run()
    rich = [r for r in whole.results if r.trace or r.blocks or r.corrected or r.tables or r.worst]
    rest = [r for r in whole.results if r.figures or r.load_rates or r.status != "ok"]
    results = [short(r) for r in [*rich[:4], *rest[:4]]]
    return structs.replace(whole, results=results)


def short(result: Result) -> Result:
    """Return the same with few rows."""
    trace = result.trace and structs.replace(result.trace, rows=result.trace.rows[:10])
    blocks = result.blocks and structs.replace(result.blocks, max=result.blocks.max[:120])
    return structs.replace(result, trace=trace, blocks=blocks)


ORDINARY = {0.5, 999.9, 1e6}  # like 1.0 and 1e15


def put(home: Path, name: str, document: Any) -> None:
    path = home / "runs" / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_bytes(msgspec.json.encode(document))
    (path / "plan.json").touch()


@given(
    odd=st.deferred(lambda: mutated(sound())) | RUNS,
    commands=st.lists(st.sampled_from(COMMANDS), min_size=4),
)
@settings(
    max_examples=60, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
)  # fmt: skip
def test_no_document_ends_in_a_traceback(
    cli: Cli, home: Path, tmp_path: Path, odd: Any, commands: list[list[str]]
) -> None:
    read(cli, home, tmp_path, odd, commands[:4])


@pytest.mark.parametrize("number", [*(n for n in FLOATS if n not in ORDINARY), 1e60, -1e60])
def test_no_number_ends_in_a_traceback(cli: Cli, home: Path, tmp_path: Path, number: float) -> None:
    read(cli, home, tmp_path, uniform(sound(), number), COMMANDS)


def test_a_parameter_that_is_a_list_of_lists_is_no_defect(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    """Which the wire allows, and keys of dictionaries do not."""
    results = [structs.replace(r, params={"x": [[], "%"]}) for r in sound().results]
    lacking = Result(case=9, bench="null", params={"x": [[], "%"]}, load="none",
                     status="unsupported")  # fmt: skip
    odd = structs.replace(sound(), run_id="odd", results=[*results, lacking])
    read(cli, home, tmp_path, odd, COMMANDS)


def test_a_design_without_its_blocks_is_refused(cli: Cli, home: Path, tmp_path: Path) -> None:
    design = Attribution(
        load="heavy", parts=["cpu"], alone={}, without={}, blocks=3, seed=1, order=[],
        cases=[AttributedCase(case=1, bench="null", params={}, series="", statistic="max",
                              unit="ns", parts=[])],
    )  # fmt: skip
    odd = structs.replace(sound(), run_id="odd", attribution=design)
    read(cli, home, tmp_path, odd, COMMANDS)
    done = cli("show", "odd")
    assert done.status == 2
    assert "not the blocks and parts of its design - at `$.attribution`" in done.err


def read(cli: Cli, home: Path, tmp_path: Path, odd: Any, commands: list[list[str]]) -> None:
    """Let commands read the document; fail with the traceback if there is one."""
    put(home, "odd", odd)
    put(home, "sound", sound())
    places = {"OUT": tmp_path / "out", "FIGURE": tmp_path / "out.svg"}
    for number, entry in enumerate(BUDGET.split("[[case]]")[1:]):
        places[f"B{number}"] = tmp_path / f"budget{number}.toml"
        places[f"B{number}"].write_text(f"[[case]]{entry}")
    for words in commands:
        places["OUT"].unlink(missing_ok=True)
        done = cli(*(places.get(word, word) for word in words))
        if done.status == DEFECT:
            (path,) = home.glob("defect-*")
            text = path.read_text()
            path.unlink()
            pytest.fail(f"{words}\n{text}")
        assert done.status in {0, 1, 2, 3}


@pytest.mark.parametrize(
    "members",
    [
        {"n": 0, "histogram": [], "corrected": None},
        {"blocks": {"samples": 64, "max": []}, "trace": {"width_s": 1, "rows": []},
         "batches": {"n": [], "mean": [], "above": {}}},
        {"min": None, "max": None, "n": 2**63 - 1, "overflow": 2**63 - 1},
        {"histogram": [[5.0, 0]], "min": None, "max": None},
        {"n": 10, "batches": {"n": [1] * 10, "mean": [0.0] * 10, "above": {"p50": [5] * 10}}},
    ],
)  # fmt: skip
def test_no_contradiction_ends_in_a_traceback(
    cli: Cli, home: Path, tmp_path: Path, members: dict[str, Any]
) -> None:
    odd = msgspec.json.decode(msgspec.json.encode(sound()))
    odd["results"] = [result | members for result in odd["results"]]
    read(cli, home, tmp_path, odd, COMMANDS)


def test_an_index_or_a_run_that_tells_no_time_or_nothing(cli: Cli, home: Path) -> None:
    put(home, "sound", sound())
    for column in ("created", "target", "status", "benches"):
        cli("list", "runs")
        with closing(sqlite3.connect(home / "catalogue.db")) as database:
            database.execute(f"UPDATE runs SET {column} = NULL")
            database.commit()
        done = cli("list", "runs")
        assert (done.status, "sound" in done.out, "2026-11-21" in done.out) == (0, True, True)
    put(home, "odd", msgspec.to_builtins(sound()) | {"created": "now"})
    done = cli("list", "runs", "--since", "2020-01-01")
    assert (done.status, "sound" in done.out, "odd" in done.out) == (0, True, False)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (["created"], "now", "not a time with its offset from UTC - at `$.created`"),
        (["created"], "2026-11-21T03:15:00", "not a time with its offset"),
        (["created"], "0001-01-01T00:00:00+00:00", "not a time with its offset"),
        (["results", 0, "histogram"], [[1.0, 10**6]], "more samples in the histogram"),
        (["results", 0, "blocks", "samples"], 0, "`int` >= 1"),
        (["results", 0, "trace", "width_s"], 0.0, "`float` > 0"),
        (["results", 0, "batch"], 0, "`int` >= 1"),
        (["results", 0, "n"], -1, "`int` >= 0"),
        (["results", 0, "p50"], 1e61, "`float` <= 1e+60"),
        (["results", 0, "params"], {"a": {"b": 1}}, "got `object`"),
        (["results", 0, "batches"], {"n": [1], "mean": [], "above": {}}, "differ in length"),
        (["conditions"], {"a": [{}]}, "got `object`"),
        (["clock", "hz"], 0, "`int` >= 1"),
    ],
)
def test_a_document_that_cannot_be_is_refused_on_reading(
    cli: Cli, home: Path, place: list[Any], value: Any, says: str
) -> None:
    odd = msgspec.json.decode(msgspec.json.encode(sound()))
    at = odd
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    put(home, "odd", odd)
    done = cli("show", "odd")
    assert (done.status, done.out) == (2, "")
    assert says in done.says
