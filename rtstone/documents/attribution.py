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

    ``low``, ``high``: all intervals of a case hold together with 95%; None with too few blocks.  Of
    an exact case ``value`` is the ratio of the largest values of the blocks, and these are the
    least and the largest ratio of any two blocks.
    """

    value: Number
    low: Number | None
    high: Number | None


class PartEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a part of the load does.

    ``alone``: with this part alone, over without load.  ``needed``: with all parts, over with all
    but this one.  None: not measured.  ``largest_alone``, ``largest_without``: the largest value of
    the blocks with this part alone, and with all but it; None also in older documents.
    """

    part: str
    verdict: Verdict
    alone: Ratio | None
    needed: Ratio | None
    largest_alone: Number | None = None
    largest_without: Number | None = None


class AttributedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A statistic of a case by the parts of the load.

    ``case``: number of its first result.  ``exact``: its values are counts that repeat, so that a
    verdict is what holds whichever blocks are compared.  ``none``, ``all``: without load and with
    all its parts, in ``unit``, the medians over the blocks, or the largest if exact.  ``whole``:
    all over none.  ``lost``: measurements without a valid result.  ``reason``: why all parts are
    undetermined, empty if they need not be.
    """

    case: Natural
    bench: str
    params: dict[str, Value]
    series: str
    statistic: Statistic
    unit: str
    exact: bool = False
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
