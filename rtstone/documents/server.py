"""The documents of the results server: its views as JSON.

Points in time are in ISO 8601, UTC; spans in s.  Unknown is ``None``.  A release may add members; a
change of meaning changes the number of the schema.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.case_name import CaseName
from rtstone.documents.plan import NONE
from rtstone.documents.run import Result, Run, Value
from rtstone.documents.trend import Metric, Switch
from rtstone.documents.trend import Series as Followed

Grade = Literal["bad", "note", "good", "info"]


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list.

    ``ok``: number of its ``results`` that are valid.  ``grade``, ``verdict``: what its page says
    first.  ``label``: what a person calls the run.
    """

    run_id: str
    created: str
    target: str
    kernel: str | None
    suite: str | None
    label: str | None
    status: str
    ok: int
    results: int
    grade: Grade
    verdict: str


class SeriesHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a series is of.

    ``key``: its name in addresses.  ``target``, ``identity``, ``params``, ``exact``: as in a trend.
    ``label``: its parameters that are no defaults, its series and its load, in words.
    """

    key: str
    target: str
    identity: dict[str, str]
    bench: str
    label: str
    params: dict[str, Value]
    series: str
    load: str
    unit: str
    exact: bool

    @property
    def title(self) -> str:
        """The name of the case."""
        case = self.label.removesuffix(f"load={self.load}").rstrip()  # as the label spells it
        return str(CaseName(self.bench, case, "", self.load, usual=self.load == NONE))


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a series.

    ``since``: when its first run began; ``at_run``, ``before_run``: that run and the one before it.
    ``before``, ``after``: the levels.  ``differences``: of conditions, most telling first.
    """

    series: SeriesHead
    metric: Metric
    unit: str
    verdict: str
    since: str
    at_run: str
    before_run: str
    before: float | None
    after: float | None
    differences: list[Switch] = []


class MainCase(msgspec.Struct, frozen=True, kw_only=True):
    """The case by which a target is judged at a glance, and its newest valid result.

    It is the wake-up of a periodic task, dk.periodic, where there is one, under the load under
    which it is worst: first by the share of missed activations, then by its tail.  ``n`` to
    ``missed``: of that result, in the unit of the series.  ``recent``: of its results of the last
    days the begin and the ``metric``, oldest first.
    """

    series: SeriesHead
    run_id: str
    created: str
    n: int
    p50: float | None
    p99: float | None
    p999: float | None
    max: float | None
    missed: int | None
    metric: Metric
    recent: list[tuple[str, float]]


class TargetState(msgspec.Struct, frozen=True, kw_only=True):
    """A target and its latest run.

    ``usual_gap_s``: the median of the times between its runs.  ``silent_s``: for how long it has
    not reported although it usually does, None if it is not late.  ``main``: None if none of its
    latest runs has a valid result with samples.  ``judged``: the run of ``main``, or
    the latest one if its verdict is worse.  ``analysed``: of its series that
    with the most runs beyond the number that it takes to find a change, ``needed``; both are None
    before its runs are analysed.
    """

    name: str
    runs: int
    last: ListedRun
    usual_gap_s: float | None
    silent_s: float | None
    worse: int
    main: MainCase | None = None
    judged: ListedRun
    analysed: int | None = None
    needed: int | None = None

    @property
    def lacking(self) -> bool:
        """Whether it has too few runs for a change to be found."""
        return self.analysed is None or self.needed is None or self.analysed < self.needed


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a project.

    ``targets``: the silent ones first, then the worst ones.
    ``worse``: changes for the worse of the last ``days`` days, newest first, at most ``most`` of
    them; ``worse_total``: how many there are.  ``pending``: targets with runs that have not been
    analysed yet.
    """

    schema: str = "rtstone.server-overview/1"
    project: str
    made: str
    days: int
    runs: int
    targets: list[TargetState]
    worse: list[Seen]
    worse_total: int
    most: int
    pending: int


class TargetLatencies(msgspec.Struct, frozen=True, kw_only=True):
    """The newest histograms of a target's main case: ``results`` has one for each series of it."""

    target: str
    main: MainCase
    results: list[Result]


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """The main cases of the targets of a project, in the order of the overview.

    ``created``: when the answer was.  ``total``: the number of targets.
    """

    schema: str = "rtstone.server-latencies/1"
    project: str
    created: str
    targets: list[TargetLatencies]
    total: int


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project in the list of all."""

    name: str
    runs: int
    targets: int
    worse: int
    last: str | None


class Projects(msgspec.Struct, frozen=True, kw_only=True):
    """The projects of a server that who asks may read."""

    schema: str = "rtstone.server-projects/1"
    projects: list[Project]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A result of a series, with its run.  Values have the unit of the series."""

    run_id: str
    created: str
    place: int
    status: str
    n: int
    p50: float | None
    p99: float | None
    p999: float | None
    max: float | None
    missed: int | None


class SeriesView(msgspec.Struct, frozen=True, kw_only=True):
    """A series: its newest results, and its changes.

    ``trends``: for each metric the newest runs, analysed.  ``earlier``: changes before these.
    ``points``: the newest results, oldest first; ``of``: how many there are.
    """

    schema: str = "rtstone.server-series/1"
    project: str
    series: SeriesHead
    trends: list[Followed]
    earlier: list[Seen]
    points: list[Point]
    of: int


class SeriesList(msgspec.Struct, frozen=True, kw_only=True):
    """The series of a target, first those that are worse than they were, by how much.

    ``changes``: by key, changes for the worse of all its time.  ``worse``: by key, the largest
    change for the worse after which none for the better has come.  ``lacking``: by key of those
    with too few runs for a change to be found, how many were analysed, and how many it takes.
    """

    schema: str = "rtstone.server-series-list/1"
    project: str
    target: str
    series: list[SeriesHead]
    changes: dict[str, int]
    worse: dict[str, Seen] = {}
    lacking: dict[str, tuple[int, int]] = {}


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that match, newest first.  ``after``: what to ask with for those that follow."""

    schema: str = "rtstone.server-search/1"
    project: str
    asked: dict[str, str]
    runs: list[ListedRun]
    after: str | None = None


class ListedCampaign(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign.  ``jobs``: as who carries it out told last, None if nobody did."""

    name: str
    title: str
    runs: int
    jobs: int | None
    told: str | None
    last: str | None


class Campaigns(msgspec.Struct, frozen=True, kw_only=True):
    """The campaigns of a project, the newest first."""

    schema: str = "rtstone.server-campaigns/1"
    project: str
    campaigns: list[ListedCampaign]


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The head of results that are sent: how many runs follow, how many older ones do not.

    ``followed``: how many series the server follows of each target, which share the level.
    """

    schema: str = "rtstone.server-observations/1"
    runs: int
    left: int
    followed: dict[str, int] = {}


class ObservedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with some of its results.

    ``damaged``: why it could not be read.
    """

    run_id: str
    run: Run | None = None
    damaged: str | None = None
