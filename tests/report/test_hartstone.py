"""The figures of a Hartstone experiment, from the table that it tells."""

from __future__ import annotations

from rtstone.model.documents import Result
from rtstone.report.hartstone import curves
from rtstone.wire.records import Facts

COLUMNS = ["test", "utilisation %", "task", "met", "missed", "skipped", "average late us"]
ROWS = [
    ["1", "20.00", "1", "20", "0", "0", "0.0"],
    ["1", "20.00", "2", "40", "0", "0", "0.0"],
    ["2", "60.00", "1", "5", "10", "5", "2.5"],
    ["2", "60.00", "2", "40", "0", "0", "0.0"],
    ["2", "60.00", "3 sporadic", "3", "1", "0", "7.0"],
]


def result(bench: str) -> Result:
    table = Facts(title="tests", columns=COLUMNS, rows=ROWS)
    return Result(case=1, bench=bench, params={}, load="none", status="ok", tables=[table])


def test_missed_and_skipped_are_a_share_of_all_and_lateness_is_summed() -> None:
    found = curves(result("hart.PH.1"))
    assert [(s["name"], s["points"]) for s in found["deadlines"]["series"]] == [
        ("task 1", [[20.0, 0.0], [60.0, 75.0]]),
        ("task 2", [[20.0, 0.0], [60.0, 0.0]]),
        ("task 3 sporadic", [[20.0, None], [60.0, 25.0]]),
    ]
    (sums,) = found["lateness"]["series"]
    assert sums["points"] == [[20.0, 0.0], [60.0, 10 * 2500.0 + 7000.0]]


def test_other_benches_have_no_such_figures() -> None:
    assert curves(result("posix.options")) == {}
