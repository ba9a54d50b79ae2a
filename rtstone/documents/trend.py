"""The trend document: series of runs, where they change, and what changed with them.

Values have the unit of their series; unknown is ``None``.  A release may add members; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from rtstone.documents.comparison import Effect
from rtstone.documents.run import Value
from rtstone.wire.records import Bench

SCHEMA = "rtstone.trend/1"

Metric = Literal["p50", "p99", "p999", "max", "missed", "bound", "figure"]
METRICS: tuple[Metric, ...] = get_args(Metric)
By = Literal["time", "kernel", "commit"]
BYS: tuple[By, ...] = get_args(By)


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of several runs taken together.

    ``runs``, ``n``: number of runs and of their samples.  ``value``: of the merged histograms, by
    the rule of single runs; None if n does not allow it.  ``off``: the share of it by which it may
    be off, as samples are known to their bucket; merging moves none, the coarsest run decides.
    """

    runs: int
    n: int
    value: float | None
    off: float | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A point of a series.

    ``label``: the run's id; with --by kernel or commit, the kernel or the commit.  ``created``: of
    its first run, in ISO 8601.  ``first``: the place of its first run in the series, from 0.
    ``name``: what a person calls the run.  ``pooled``: its samples.
    """

    label: str
    created: str
    first: int
    name: str | None = None
    pooled: Pooled


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that differs between the runs before and after a change.

    ``aspect``: "kernel command line", say.  ``before``, ``after``: its values next to the change;
    ``gone``, ``come``: of a list of words, those that only one side has.  ``stays``: every run near
    the change has the value of its side.
    """

    aspect: str
    before: str
    after: str
    gone: list[str] = []
    come: list[str] = []
    stays: bool


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a series that both methods found.

    ``at``: the place of the first run after it, from 0.  ``before``, ``after``: ids of the last run
    before it and of the first after it; ``created``: when the latter began.  ``p``: the share of
    orders of the runs in which a change as large is found; None where runs repeat exactly.
    ``effect``: the runs after it against those before it, as `rtstone compare` judges them.
    ``differences``: of conditions, most telling first.
    """

    at: int
    before: str
    after: str
    created: str
    p: float | None
    effect: Effect
    differences: list[Switch]


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """A change that only the order of the runs speaks for: comparing them does not confirm it.

    ``at``, ``after``: as of a change.  ``reason``: what the comparison says.
    """

    at: int
    after: str
    reason: str


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case on one target.

    ``target``: its name without seed and words of a kernel; ``identity``: what else tells it from
    others.  ``params``: those that identify the case.  ``exact``: its runs repeat exactly, so that
    any difference is a change.  ``runs``: number of runs with a value; ``without``: by reason, how
    many have none.  ``segments``: what lies between changes.  ``label``: distinguishes the case
    from others of this bench.  ``corrected``: omitted activations are included, in the percentiles
    of some runs.  ``figure``: which one the metric "figure" is: a breakdown, or a number of
    Rhealstone; several runs have the median of theirs.  ``least``: with fewer runs no change can be
    found, at the level of the trend.  ``correlated``: the correlation of neighbouring runs between
    changes, None if it may be chance; what levels of such runs differ by without a change is no
    change.
    """

    target: str
    identity: dict[str, str]
    bench: str
    params: dict[str, Value]
    label: str = ""
    series: str = ""
    load: str
    metric: Metric
    unit: str
    exact: bool
    runs: int
    without: dict[str, int] = {}
    places: list[Place] = []
    segments: list[Pooled] = []
    changes: list[Change] = []
    doubts: list[Doubt] = []
    corrected: bool = False
    figure: str | None = None
    least: int = 0
    correlated: float | None = None


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """Series of stored runs, and their changes.

    ``schema``: name and version of the document.
    ``by``: what a point is: a run, or all runs of a kernel or of a commit.
    ``level``: a series that does not change is said to at most so often.
    ``shortest``: least number of runs between changes where runs do not repeat exactly.
    ``series``: one for each target, case and metric.
    ``remarks``: what to know before reading any number.
    ``benches``: descriptions of the benches that occur.
    """

    schema: str = SCHEMA
    by: By
    level: float
    shortest: int
    series: list[Series]
    remarks: list[str] = []
    benches: list[Bench] = []
