"""Where a task set breaks down, schema rtstone.breakdown/1.

A release may add members; a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.wire.records import Natural, Number

SCHEMA = "rtstone.breakdown/1"

# What may miss: a job its deadline, or a test its needs, where these are not deadlines alone.
Counted = Literal["jobs", "tests"]


class BreakTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test: of so many ``due`` so many ``missed``; ``names``: the tasks that did.

    ``run``: that of it.  ``utilisation``: what was demanded, as a share of one CPU.
    """

    seed: Natural
    missed: Natural
    due: Natural
    utilisation: Number
    names: list[str] = []
    run: str = ""


class BreakPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a level.

    ``factor``: times what the set demands; of a Hartstone experiment the number of its test.
    ``share``: missed of what was due, of the rising curve that is nearest to all tests.  ``low``,
    ``high``: its bounds, all of which hold together with a confidence of 95%.
    """

    factor: Number
    utilisation: Number
    share: Number
    low: Number
    high: Number
    tests: list[BreakTest]


class Breakpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A factor, and the utilisation that it means."""

    factor: Number
    utilisation: Number


class AnalysedBreakdown(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis' own: all needs hold up to ``at``, and ``first`` fails beyond; None: at none."""

    at: Breakpoint | None
    first: list[str] = []


class BreakdownCurve(msgspec.Struct, frozen=True, kw_only=True):
    """The share that misses over what is demanded, and where it exceeds a limit.

    ``scale``: work, rates, or the task whose work was scaled; empty of a Hartstone experiment.
    ``exact``: each test has one outcome, and the limit is 0: all needs hold at ``low``, and at
    ``high`` the tasks ``first`` miss.  Otherwise the share exceeds the limit about ``at``, surely
    not at ``low`` and surely at ``high``.  None: no level that was tested shows it.
    ``linear_tests``: that steps of ``resolution`` up to ``high`` take, each level as often as here
    on average.  ``early``: why the search ended before its end.
    """

    schema: str = SCHEMA
    version: str
    file: str
    title: str
    target: str
    load: str
    scale: str
    counted: Counted
    limit: Number
    exact: bool
    duration_ns: Natural
    resolution: Number
    at: Breakpoint | None = None
    low: Breakpoint | None = None
    high: Breakpoint | None = None
    first: list[str] = []
    points: list[BreakPoint]
    tests: Natural
    linear_tests: Natural
    analysed: AnalysedBreakdown | None = None
    early: str = ""
