"""Find the results whose worst sample exceeded a limit of a gate."""

from __future__ import annotations

import math
from typing import NamedTuple

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.check import Check, Gate
from rtstone.documents.run import Result, Run
from rtstone.stats.cases import Case, cases
from rtstone.summary import PERCENTILES

OF_SAMPLES = frozenset({"max", *PERCENTILES})  # what single samples exceed


class Exceeded(NamedTuple):
    """A check that failed, and the result of its case that has the largest sample."""

    check: Check
    result: Result


def exceeded(run: Run, gate: Gate) -> list[Exceeded]:
    """Return each case that failed a limit of single samples once, most exceeded first.

    What is later than the limit of a run is one of them.
    """
    names = OF_SAMPLES | ({"missed"} if run.requirement else frozenset[str]())
    worst: dict[CaseKey, Check] = {}
    for check in gate.checks:
        if check.verdict == "failed" and check.what in names:
            before = worst.setdefault(_key(check), check)
            worst[_key(check)] = min(before, check, key=_margin)
    by_key = {_key(case): case for case in cases(run)}
    return [
        Exceeded(check, max(by_key[key].results, key=lambda result: result.max or 0.0))
        for key, check in sorted(worst.items(), key=lambda item: _margin(item[1]))
    ]


def _key(case: Check | Case) -> CaseKey:
    return case_key(case.bench, case.params, case.series, case.load)


def _margin(check: Check) -> float:
    """Return what remains of a limit, negative if it is exceeded; a limit of 0 by any distance."""
    return -math.inf if check.margin is None else check.margin
