"""The figures of a Hartstone experiment, from its table."""

from __future__ import annotations

from rtstone.documents.run import Result
from rtstone.report.parts.hartstone import curves
from rtstone.wire.records import TextTable

COLUMNS = ["test", "parameter", "utilisation %", "task", "met", "missed", "skipped",
           "average late us"]  # fmt: skip
ROWS = [
    ["1", "4 Hz", "10.00", "1", "20", "0", "0", "0.0"],
    ["2", "8 Hz", "20.00", "1", "20", "0", "0", "0.0"],
    ["3", "9 Hz", "30.00", "1", "20", "0", "0", "0.0"],
    ["3", "9 Hz", "30.00", "2", "40", "0", "0", "0.0"],
    ["4", "12 Hz", "60.00", "1", "5", "10", "5", "2.5"],
    ["4", "12 Hz", "60.00", "2", "40", "0", "0", "0.0"],
    ["4", "12 Hz", "60.00", "3 sporadic", "3", "1", "0", "7.0"],
    ["5", "16 Hz", "70.00", "1", "20", "0", "0", "0.0"],
]


def result(bench: str, rows: list[list[str]]) -> Result:
    table = TextTable(title="tests", columns=COLUMNS, rows=rows)
    return Result(case=1, bench=bench, params={}, load="none", status="ok", tables=[table])


def test_missed_and_skipped_are_a_share_of_all_and_lateness_is_summed() -> None:
    """Taken from the last two tests before the first miss."""
    drawn = curves(result("hart.PH.1", ROWS))
    assert [(s["name"], s["points"]) for s in drawn["deadlines"]["series"]] == [
        ("task 1", [[20.0, 0.0], [30.0, 0.0], [60.0, 75.0], [70.0, 0.0]]),
        ("task 2", [[20.0, None], [30.0, 0.0], [60.0, 0.0], [70.0, None]]),
        ("task 3 sporadic", [[20.0, None], [30.0, None], [60.0, 25.0], [70.0, None]]),
    ]
    (sums,) = drawn["lateness"]["series"]
    assert sums["points"] == [[20.0, 0.0], [30.0, 0.0], [60.0, 10 * 2500.0 + 7000.0], [70.0, 0.0]]
    above = [[20.0, "8 Hz"], [30.0, "9 Hz"], [60.0, "12 Hz"], [70.0, "16 Hz"]]
    assert drawn["lateness"]["above"] == drawn["deadlines"]["above"] == above


def test_without_a_miss_or_with_a_damaged_table_there_are_none() -> None:
    assert curves(result("hart.PH.1", ROWS[:4])) == {}
    assert curves(result("hart.PH.1", [*ROWS, [*ROWS[0][:5], "none", "0", "0.0"]])) == {}
    assert curves(result("posix.options", ROWS)) == {}
