"""Golatowski's figures 2 and 3, from the table of tests of a Hartstone experiment.

Both start with the last two tests before the first miss, so that the second tick is the highest
utilisation reached without a miss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rtstone.documents.run import HARTSTONE, Result

TASKS = 7  # as many as can be distinguished; further ones are like one of these
CLEAN = 2  # tests shown before the first miss


class _TaskTest(NamedTuple):
    """A task in a test; times in ns."""

    test: int
    parameter: str
    utilisation: float
    task: str
    met: int
    missed: int
    skipped: int
    late: float

    @classmethod
    def read(cls, row: dict[str, str]) -> _TaskTest:
        missed = int(row["missed"])
        late = float(row["average late us"]) * missed * 1000
        return cls(int(row["test"]), row["parameter"], float(row["utilisation %"]), row["task"],
                   int(row["met"]), missed, int(row["skipped"]), late)  # fmt: skip

    @property
    def share(self) -> float:
        """Deadlines missed or skipped, in % of all."""
        due = self.met + self.missed + self.skipped
        return round(100 * (self.missed + self.skipped) / due, 2) if due else 0.0


def curves(r: Result) -> dict[str, dict[str, Any]]:
    """Return chart data by kind, empty for other benches or if nothing was missed.

    ``deadlines``: missed and skipped per task in % of all (Golatowski, figure 2); ``lateness``:
    summed over all tasks, in ns (figure 3).  Both over the utilisation (below) and the parameter
    that the experiment varies (above).
    """
    table = next((t for t in r.tables if t.title == "tests"), None)
    if not r.bench.startswith(HARTSTONE) or table is None:
        return {}
    try:
        tests = [_TaskTest.read(dict(zip(table.columns, row, strict=True))) for row in table.rows]
    except (KeyError, ValueError):  # not in the bench's form
        return {}
    misses = [test.test for test in tests if test.missed + test.skipped]
    rows = [test for test in tests if misses and test.test >= misses[0] - CLEAN]
    if not rows:
        return {}
    at = {row.test: row.utilisation for row in rows}
    late = dict.fromkeys(at, 0.0)
    shares: dict[str, dict[int, float]] = {}
    for row in rows:
        late[row.test] += row.late
        shares.setdefault(row.task, {})[row.test] = row.share
    missed = [
        {"name": f"task {name}", "points": [[at[test], by_test.get(test)] for test in at]}
        for name, by_test in list(shares.items())[:TASKS]
    ]
    above = list({row.test: [row.utilisation, row.parameter] for row in rows}.values())
    common = {"over": "utilisation %", "above": above, "log": False, "most": None}
    lateness = [{"name": "all tasks", "points": [[at[test], late[test]] for test in at]}]
    return {
        "deadlines": {**common, "axis": "deadlines", "unit": "%", "series": missed},
        "lateness": {**common, "axis": "time", "unit": "ns", "series": lateness},
    }
