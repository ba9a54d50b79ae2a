"""A check as lines of results, as test definitions of LAVA and KernelCI read them.

A line is ``NAME RESULT VALUE UNIT``, the last two only where something was observed; RESULT is
pass, fail or unknown, which stands for what is inconclusive or was not measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rtstone.documents.check import Check, Gate, Verdict
from rtstone.report.check.text import check_names, key_of
from rtstone.wire.records import Bench

_RESULTS: dict[Verdict, str] = {"passed": "pass", "failed": "fail"}
_NO_NAME = re.compile(r"[^A-Za-z0-9._]+")  # what no name of a result has
_NO_UNIT = re.compile(r"[^A-Za-z.]+")


def results(gate: Gate, tables: Sequence[Bench]) -> str:
    """Return the lines, one for each check; ``tables``: of the benches of the run."""
    names = check_names(gate, tables)
    used: Counter[str] = Counter()
    lines = []
    for check in gate.checks:
        name = _NO_NAME.sub("-", f"{names[key_of(check)].with_load} {check.what}").strip("-")
        used[name] += 1
        number = f"-{used[name]}" if used[name] > 1 else ""
        words = [name + number, _RESULTS.get(check.verdict, "unknown"), *_observed(check)]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _observed(check: Check) -> list[str]:
    """Return the observed value with its unit, nothing without one."""
    if check.observed is None:
        return []
    unit = check.unit.replace("%", "percent").replace(" per ", "/")
    parts = [_NO_UNIT.sub("", part) for part in unit.split("/")]
    return [f"{check.observed:.10g}", "/".join(filter(None, parts)) or "count"]
