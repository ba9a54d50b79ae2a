"""The tests of a Hartstone experiment, from the table of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.run import HARTSTONE, Result

_CLEAN = 2  # tests before the first miss that Golatowski's figures show


class TaskTest(NamedTuple):
    """A task in a test; ``late``: its summed lateness in ns."""

    test: int
    parameter: str
    utilisation: float
    task: str
    met: int
    missed: int
    skipped: int
    late: float

    @property
    def share(self) -> float:
        """Deadlines missed or skipped, in % of all."""
        due = self.met + self.missed + self.skipped
        return round(100 * (self.missed + self.skipped) / due, 2) if due else 0.0


def task_tests(result: Result) -> list[TaskTest]:
    """Return each task of each test in order; none if the result is of no experiment."""
    table = next((table for table in result.tables if table.title == "tests"), None)
    if not result.bench.startswith(HARTSTONE) or table is None:
        return []
    try:
        return [_task_test(dict(zip(table.columns, row, strict=True))) for row in table.rows]
    except (KeyError, ValueError):  # not in the bench's form
        return []


def around_breakdown(tests: Sequence[TaskTest]) -> list[TaskTest]:
    """Return the tests of Golatowski's figures 2 and 3, none if no deadline was missed.

    They begin with the last two before the first miss, so that the second is the highest
    utilisation reached without one.
    """
    misses = [test.test for test in tests if test.missed + test.skipped]
    return [test for test in tests if misses and test.test >= misses[0] - _CLEAN]


def _task_test(row: dict[str, str]) -> TaskTest:
    missed = int(row["missed"])
    late = float(row["average late us"]) * missed * 1000
    return TaskTest(int(row["test"]), row["parameter"], float(row["utilisation %"]), row["task"],
                    int(row["met"]), missed, int(row["skipped"]), late)  # fmt: skip
