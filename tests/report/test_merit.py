from __future__ import annotations

from typing import Any

from rtstone.documents.run import Figure, Result
from rtstone.report.run.merit import hartstone, rhealstone
from tests.report.synthetic import run


def figured(bench: str, figures: dict[str, tuple[float, str]], **members: Any) -> Result:
    members = {"params": {}, "load": "none", "status": "ok", **members}
    values = {name: Figure(value=value, unit=unit) for name, (value, unit) in figures.items()}
    return Result(case=0, bench=bench, figures=values, **members)


def test_experiments_of_hartstone_stand_with_what_broke_them() -> None:
    results = [
        figured("hart.PH.1", {"breakdown utilisation": (75.0, "%"), "final test at": (90.0, "%")}),
        figured(
            "hart.SA.1",
            {"final test at": (14.6, "%"), "no breakdown up to": (14.6, "%")},
            flags=["cut_short"],
        ),
        figured("hart.SA.2", {"final test at": (20.0, "%")}),
        figured("hart.raw", {"raw speed": (1e6, "KWIPS")}),
    ]
    table = hartstone(run(results=results, slopes=[]))
    assert table
    assert [(row.name, row.place) for row in table.rows] == [
        ("hart.PH.1", 0), ("hart.SA.1", 1), ("hart.SA.2", 2),
    ]  # fmt: skip
    assert [(row.cells[0].text, row.cells[0].share) for row in table.rows] == [
        ("75.0 %", 50.0), ("none up to 14.6 %", None), ("none reached", None),
    ]  # fmt: skip
    assert [row.flags for row in table.rows] == [[], ["cut_short"], []]
    assert table.note == "2 of 3 did not break down within its tests: hart.SA.1; hart.SA.2."
    only = hartstone(run(results=results[1:], slopes=[]))
    assert only
    assert only.note == "No experiment broke down within its tests: hart.SA.1; hart.SA.2."


def test_numbers_of_rhealstone_stand_by_form_and_say_what_is_partial() -> None:
    results = [
        figured("rheal.rate", {"sum of rates": (2.5e6, "1/s"), "components": (6, "of 6")},
             params={"form": "sampled"}),
        figured("rheal.sum_time", {"sum": (3.5, "us")}, params={"form": "sampled"}),
        figured("rheal.rate", {"sum of rates": (1e6, "1/s")}, params={"form": "classic"},
             flags=["partial"]),
        figured("rheal.ts", {}, params={"form": "sampled"}, n=5),
    ]  # fmt: skip
    (table,) = rhealstone(run(results=results, slopes=[]))
    cells = {row.name: [cell.text.replace("\u202f", " ") for cell in row.cells]
             for row in table.rows}  # fmt: skip
    assert cells == {
        "form=sampled": ["3.5 us", "", "2 500 000 1/s", "", ""],
        "form=classic": ["", "", "1 000 000 1/s (partial)", "", ""],
    }


def test_a_run_of_neither_has_no_such_table() -> None:
    assert rhealstone(run(20)) == []
    assert hartstone(run(20)) is None
