"""How bad one case can get: a bound with its exceedance rate, or why there is none."""

from __future__ import annotations

from typing import Literal

import msgspec

Method = Literal["pot", "block maxima"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that the estimate rests on; ``passed`` is None where it was not tested."""

    name: str
    passed: bool | None
    detail: str


class WorstCase(msgspec.Struct, frozen=True, kw_only=True):
    """The worst-case estimate of one case from one or several pooled results.

    ``bound`` is exceeded at most ``exceedance_per_hour`` times per hour of the load that was
    measured under, with a confidence of ``confidence``; None unless ``verdict`` is "bound", which
    needs every check to have passed.  ``reason`` says why there is none, ``more_s`` how much longer
    to measure, None if longer would not help.
    ``observed_max`` was seen among ``n`` samples in ``section_s`` seconds.
    """

    verdict: Literal["bound", "inconclusive"]
    bound: float | None
    unit: str
    exceedance_per_hour: float
    confidence: float
    method: Method | None
    reason: str | None
    more_s: float | None
    observed_max: float | None
    n: int
    section_s: float | None
    checks: list[Check]
