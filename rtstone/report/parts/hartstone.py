"""Golatowski's figures 2 and 3, from the table of tests of a Hartstone experiment."""

from __future__ import annotations

from typing import Any

from rtstone.documents.hartstone import around_breakdown, task_tests
from rtstone.documents.run import Result

TASKS = 7  # as many as can be distinguished; further ones are like one of these


def curves(r: Result) -> dict[str, dict[str, Any]]:
    """Return chart data by kind, empty for other benches or if nothing was missed.

    ``deadlines``: missed and skipped per task in % of all (Golatowski, figure 2); ``lateness``:
    summed over all tasks, in ns (figure 3).  Both over the utilisation (below) and the parameter
    that the experiment varies (above).
    """
    rows = around_breakdown(task_tests(r))
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
