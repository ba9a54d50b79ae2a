"""Which part of a load causes a worst case: the design of the measurement, and its verdicts.

A part runs alone, and is left out of the whole load; every such arrangement is measured once in
each of several blocks, in an order drawn anew for each, so that drift does not decide.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.wire.records import Natural, Number, Positive, Value

Verdict = Literal[
    "causes it alone",
    "causes it alone, not without it",
    "not without it",
    "in company only",
    "not its cause",
    "undetermined",
]

Statistic = Literal["max", "p999"]


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times larger a statistic is in one arrangement than in another, with an interval.

    ``low``, ``high``: all intervals of a case hold together with 95%; None with too few blocks.
    """

    value: Number
    low: Number | None
    high: Number | None


class PartEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a part of the load does.

    ``alone``: with this part alone, over without load.  ``needed``: with all parts, over with all
    but this one.  None: not measured.
    """

    part: str
    verdict: Verdict
    alone: Ratio | None
    needed: Ratio | None


class AttributedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A statistic of a case by the parts of the load.

    ``case``: number of its first result.  ``none``, ``all``: medians over the blocks, without load
    and with all its parts, in ``unit``.  ``whole``: all over none.  ``lost``: measurements without
    a valid result.  ``reason``: why all parts are undetermined, empty if they need not be.
    """

    case: Natural
    bench: str
    params: dict[str, Value]
    series: str
    statistic: Statistic
    unit: str
    none: Number | None = None
    all: Number | None = None
    whole: Ratio | None = None
    parts: list[PartEffect]
    lost: Natural = 0
    reason: str = ""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The design, and what it showed.

    ``load``: as requested, with all parts.  ``alone``, ``without``: by part, the load as it is
    written with that part alone, and with all but that one.  ``order``: the loads of each block in
    the order in which they ran, drawn from ``seed``.  ``cases``: empty in a plan.
    """

    load: str
    parts: list[str]
    alone: dict[str, str]
    without: dict[str, str]
    blocks: Positive
    seed: Natural
    order: list[list[str]]
    cases: list[AttributedCase] = []
