"""Worst-case estimates of cases, and the guarantee of a system.

A release may add members; a change of meaning changes the schema.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Agent, Value
from rtstone.wire.records import Natural

SCHEMA = "rtstone.worstcase/1"
GUARANTEE = "rtstone.guarantee/1"

Method = Literal["pot", "block maxima"]
Nature = Literal["machine", "emulated", "model"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that the estimate depends on; ``passed`` is None if it was not tested."""

    name: str
    passed: bool | None
    detail: str


class WorstCase(msgspec.Struct, frozen=True, kw_only=True):
    """The worst-case estimate of one case from one or several pooled results.

    ``bound``: exceeded at most ``exceedance_per_hour`` times per hour under the measured load, with
    confidence ``confidence``; None unless ``verdict`` is "bound", which requires every check to
    pass.  ``reason``: why there is no bound.  ``more_s``: how much longer to measure, in s; None if
    that would not help.  ``observed_max``: the largest of ``n`` samples in ``section_s`` seconds.
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


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """A bound that was composed of what ran (``rtstone sections``), in instructions.

    ``longest``: of the time from when a wake-up was due until the first switch to its task;
    ``seen``: the longest such time of a sample.  ``most_of_it``: the function that begins the
    largest part; empty if that has none.
    """

    longest: Natural
    seen: Natural | None = None
    most_of_it: str = ""


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """The estimate of one case under one load, with what identifies the case.

    ``missed``: activations that never happened because the one before was too late.  ``composed``:
    the largest of its composed bounds, None without any.
    """

    bench: str
    params: dict[str, Value]
    series: str
    load: str
    missed: int | None = None
    worst_case: WorstCase
    composed: Composed | None = None


class WorstCases(msgspec.Struct, frozen=True, kw_only=True):
    """The estimates of a run, one for each result that has samples."""

    schema: str = SCHEMA
    run_id: str
    cases: list[Estimated]


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """A load under which a guarantee was tested: its settings, its parts and the tested time.

    ``hours``: measured time of the statement's cases under it, None if not recorded.
    """

    load: str
    settings: dict[str, Value] = {}
    parts: list[str] = []
    hours: float | None
    n: int


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """The statement of a guaranteed latency (Dankwardt), or why there is none.

    ``bound``: the largest bound of the cases; None unless every case has one and there is no other
    objection.  ``drivers``, ``modules``: None if not recorded.
    """

    schema: str = GUARANTEE
    verdict: Literal["bound", "inconclusive"]
    reasons: list[str]
    bound: float | None
    unit: str
    exceedance_per_hour: float
    confidence: float
    runs: list[str]
    target: str
    nature: Nature
    system: str | None
    agent: Agent | None
    kernel: dict[str, Value]
    hardware: dict[str, Value]
    drivers: str | None
    modules: str | None
    application: list[str]
    loads: list[Tested]
    cases: list[Estimated]
    excluded: list[str]
    violation: str
    unproven: list[str]
