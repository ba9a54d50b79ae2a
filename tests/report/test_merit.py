from __future__ import annotations

from typing import Any

from rtstone.documents.run import Figure, Result
from rtstone.report.parts.model import Section
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
    table, note = tables(hartstone(run(results=results, slopes=[]), "r0"))
    assert [(row[0].text, row[0].link) for row in table.rows] == [
        ("hart.PH.1", "r0-0"), ("hart.SA.1", "r0-1"), ("hart.SA.2", "r0-2"),
    ]  # fmt: skip
    assert [(row[1].text, row[1].share) for row in table.rows] == [
        ("75.0 %", 50.0), ("none up to 14.6 %", None), ("none reached", None),
    ]  # fmt: skip
    assert [row[-1] for row in table.rows] == ["", "cut_short", ""]
    assert note.texts == ["2 of 3 did not break down within its tests: hart.SA.1; hart.SA.2."]
    table, note = tables(hartstone(run(results=results[1:], slopes=[]), "r0"))
    assert note.texts == ["No experiment broke down within its tests: hart.SA.1; hart.SA.2."]


def tables(section: Section | None) -> list[Any]:
    """Return the blocks of a section that is there."""
    assert section
    return list(section.blocks)


def test_numbers_of_rhealstone_stand_by_form_and_say_what_is_partial() -> None:
    results = [
        figured("rheal.rate", {"sum of rates": (2.5e6, "1/s"), "components": (6, "of 6")},
             params={"form": "sampled"}),
        figured("rheal.sum_time", {"sum": (3.5, "us")}, params={"form": "sampled"}),
        figured("rheal.rate", {"sum of rates": (1e6, "1/s")}, params={"form": "classic"},
             flags=["partial"]),
        figured("rheal.ts", {}, params={"form": "sampled"}, n=5),
    ]  # fmt: skip
    (table,) = tables(rhealstone(run(results=results, slopes=[]), "r0"))
    cells = {
        name.text: [text.replace("\u202f", " ") for text in texts] for name, *texts in table.rows
    }
    assert cells == {
        "form=sampled": ["3.5 us", "", "2 500 000 1/s", "", ""],
        "form=classic": ["", "", "1 000 000 1/s (partial)", "", ""],
    }


def test_a_run_of_neither_has_no_such_table() -> None:
    assert rhealstone(run(20), "r0") is None
    assert hartstone(run(20), "r0") is None
