"""Trends through stored runs: their changes, found in two ways that have to agree.

A change is where E-divisive means split a series *and* the comparison of the runs on both sides
calls them different.  Where runs repeat exactly, any difference is a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np
from msgspec import structs

from rtstone.documents.comparison import Effect, Part
from rtstone.documents.observation import Observation
from rtstone.documents.run import Distribution
from rtstone.documents.trend import By, Change, Doubt, Metric, Place, Pooled, Series, Trend
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.stats.comparison.direction import SMALLER, direction
from rtstone.stats.comparison.effects import scale
from rtstone.stats.comparison.judgement import tick
from rtstone.stats.comparison.verdicts import judged_alone
from rtstone.stats.trend.changepoints import (
    LEVEL,
    SHORTEST,
    Split,
    change_points,
    fewest_runs,
    steps,
)
from rtstone.stats.trend.differences import NEAR, differences
from rtstone.stats.trend.serial import CHANCE, at_most, correlation, wander
from rtstone.stats.trend.series import (
    Full,
    Line,
    Point,
    coarseness,
    corrected,
    label,
    lines,
    merits,
    off,
    points,
    usual,
    value_of,
)
from rtstone.stats.worstcase.extremes import worst_case

PARTS: dict[Metric, Part] = {"p50": "median", "max": "maximum"}  # the others are of the tail
_TOGETHER = "the runs after it"


# Merged samples by the results that they are of: run and place.
Merged = dict[tuple[tuple[str, int], ...], Distribution]


class TrendRequest(NamedTuple):
    """What to follow: these metrics, over time or over kernels or commits.

    ``metrics``: if none, those that are usual for each case.  ``level``: the share of series
    without a change in which one is reported.  ``sharing``: by target, how many series share that
    level, of which others may not be among those that are followed here.
    """

    metrics: Sequence[Metric] = ()
    by: By = "time"
    level: float = LEVEL
    sharing: Mapping[str, int] = {}

    def level_of(self, target: str) -> float:
        """Return the level of a series of a target."""
        return self.level / max(1, self.sharing.get(target, 1))


def trend(observations: Sequence[Observation], request: TrendRequest, full: Full) -> Trend:
    """Return the series that these results form, in the order of the runs, and their changes.

    ``full``: returns a result with its histogram and, for bounds, all else of its document.
    """
    return follow(lines(observations), request, full)


def follow(through: Sequence[Line], request: TrendRequest, full: Full) -> Trend:
    """Return the series of these lines, and their changes."""
    followed = []
    for line in through:
        merged: Merged = {}  # the metrics of a line share most merged histograms
        for metric in _metrics(line, request):
            followed.append(_series(line, metric, request, full, merged))
    observations = (observation for line in through for run in line.runs for observation in run)
    tables = {
        observation.table.id: observation.table for observation in observations if observation.table
    }
    unsure = sorted({f"{s.bench}, whose unit is {s.unit}" for s in followed if better(s) is None})
    remarks = [
        f"neither more nor less is better, of {bench}: no changes are sought" for bench in unsure
    ]
    for target in dict.fromkeys(s.target for s in followed if not s.exact):
        if (sharing := request.sharing.get(target, 1)) > 1:
            remarks.append(
                f"{sharing} series of {target} share the level of {100 * request.level:g}%, as on "
                "the server's pages: alone, a series shows lesser changes"
            )
    return Trend(
        by=request.by, level=request.level, shortest=SHORTEST, series=followed, remarks=remarks,
        benches=list(tables.values()),
    )  # fmt: skip


def _metrics(line: Line, request: TrendRequest) -> list[Metric]:
    """Return the metrics to follow; a figure and statistics of samples exclude each other."""
    own = usual(line)
    figure = "figure" in own
    return [metric for metric in request.metrics or own if (metric == "figure") is figure]


def better(series: Series) -> int | None:
    """Return which direction is better, None if neither is."""
    return SMALLER if series.metric == "missed" else direction(series.figure, series.unit)


def _series(
    line: Line, metric: Metric, request: TrendRequest, full: Full, merged: Merged
) -> Series:
    members, left = points(line, metric, request.by, full)
    level = request.level_of(line.key.target)
    key, figure = line.key, next(merits(line), None)
    bare = Series(
        target=key.target, identity=dict(key.identity), bench=key.case.bench, params=line.params,
        series=key.case.series, load=key.case.load, metric=metric, exact=line.exact,
        unit="%" if metric == "missed" else figure.unit if figure else key.unit,
        runs=len(members), without=left, corrected=corrected(line, metric),
        figure=figure and figure.name,
        least=2 if line.exact else fewest_runs(level),
    )  # fmt: skip
    changes, doubts, correlated = _changes(bare, members, level)
    pool = _Pool(members, metric, full, merged)
    ends = [0, *(change.at for change in changes), len(members)]
    # The points to draw: each run, or what is known together of its kernel or commit.
    names = [label(point.run, request.by) or "" for point in members]
    begins = [n for n, name in enumerate(names) if n == 0 or name != names[n - 1]]
    places = []
    for begin, end in pairwise([*begins, len(members)]):
        run = members[begin].run
        name = run.name if request.by == "time" else None
        places.append(
            Place(label=names[begin], created=run.created, first=begin, name=name,
                  pooled=pool(begin, end))
        )  # fmt: skip
    segments = [pool(*part) for part in pairwise(ends)] if members else []
    return structs.replace(
        bare, places=places, segments=segments, changes=changes, doubts=doubts,
        correlated=correlated,
    )  # fmt: skip


# ---- samples taken together ---------------------------------------------------------------------


class _Pool:
    """Merges the samples of successive points."""

    def __init__(self, points: Sequence[Point], metric: Metric, full: Full, merged: Merged) -> None:
        self._points, self._metric, self._full = points, metric, full
        self._merged = merged

    def __call__(self, begin: int, end: int) -> Pooled:
        """Return the samples of the points from ``begin`` to before ``end`` together."""
        here = self._points[begin:end]
        observations = [observation for point in here for observation in point.observations]
        results = [observation.result for observation in observations]
        n = sum(result.n for result in results)
        if len(here) == 1:
            value: float | None = here[0].value
        elif self._metric == "figure":
            value = median(point.value for point in here)
        elif self._metric == "bound":
            value = worst_case([self._full(observation) for observation in observations]).bound
        else:
            key = tuple((observation.run.run_id, observation.place) for observation in observations)
            if key not in self._merged:
                self._merged[key] = pooled([whole(self._full(o)) for o in observations])
            value = value_of(self._merged[key], results, self._metric)
        counted = self._metric in ("missed", "bound", "max", "figure")
        return Pooled(
            runs=len(here), n=n, value=value, off=None if counted else off(results, value)
        )


# ---- changes ------------------------------------------------------------------------------------


def _changes(
    series: Series, members: Sequence[Point], level: float
) -> tuple[list[Change], list[Doubt], float | None]:
    """Return the changes that both methods find, those that the comparison does not confirm.

    Third is the correlation of neighbouring runs between changes, None if it may be chance.
    """
    sign = better(series)
    values = [point.value for point in members]
    if sign is None or len(values) < 2:
        return [], [], None
    judge = _Judge(series, members, sign)
    if series.exact:
        return [judge.change(s, s.at - 1, s.at + 1) for s in steps(values)], [], None
    splits = change_points(judge.scaled.tolist(), level)
    doubts = []
    while doubtful := list(judge.doubtful(splits, level)):
        weakest = min(doubtful, key=lambda doubt: doubt[1])
        splits.remove(weakest[0])
        doubts.append(weakest[2])
    ends = [0, *(split.at for split in splits), len(values)]
    parts = zip(splits, ends, ends[2:], strict=False)
    doubts.sort(key=lambda doubt: doubt.at)
    correlated = judge.correlated(splits)
    return [judge.change(split, begin, end) for split, begin, end in parts], doubts, correlated


class _Judge:
    """Compares the runs on both sides of a change, with the rules of `rtstone compare`."""

    def __init__(self, series: Series, members: Sequence[Point], better: int) -> None:
        self._series, self._points, self._better = series, members, better
        self._values = [point.value for point in members]
        logarithms = [log(v) for v in self._values] if scale(self._values) else self._values
        self.scaled = np.array(logarithms, np.float64)
        batch = max(point.observations[0].result.batch for point in members)
        ticks = max(tick(point.observations[0].run) for point in members)
        if series.metric == "figure":
            self._tick = coarseness(o.result for point in members for o in point.observations)
        else:
            self._tick = 0.0 if series.metric in ("missed", "bound") else ticks / batch

    def effect(self, at: int, begin: int, end: int) -> Effect:
        """Return the effect of the runs from ``at`` to ``end`` against those from ``begin`` on."""
        metric = self._series.metric
        part = PARTS.get(metric, "tail")
        bare = Effect(part=part, statistic=metric, column=_TOGETHER, verdict="inconclusive")
        sides = self._values[begin:at], self._values[at:end]
        return judged_alone(sides, bare, self._better, tick=self._tick, exact=self._series.exact)

    def correlated(self, splits: Sequence[Split]) -> float | None:
        """Return the correlation of neighbours between the splits, None if it may be chance."""
        ends = [0, *(split.at for split in splits), len(self._values)]
        seen = correlation([self.scaled[begin:end] for begin, end in pairwise(ends)])
        return seen if seen > CHANCE / sqrt(len(self._values)) else None

    def doubtful(
        self, splits: Sequence[Split], level: float
    ) -> Iterator[tuple[Split, float, Doubt]]:
        """Yield the splits that the comparison does not confirm, with their size."""
        ends = [0, *(split.at for split in splits), len(self._values)]
        alike = self.correlated(splits)
        for split, begin, end in zip(splits, ends, ends[2:], strict=False):
            effect = self.effect(split.at, begin, end)
            reason = effect.reason or effect.verdict
            if effect.verdict in ("better", "worse"):
                sides = self.scaled[begin : split.at], self.scaled[split.at : end]
                most = None if alike is None else at_most(alike, len(self._values))
                if most is None or not wander(*sides, most, level):
                    continue
                reason = (
                    f"runs are like those beside them (correlation {alike:.2f}), and such runs "
                    "wander as far without a change"
                )
            size = abs(effect.difference or 0.0) if effect.ratio is None else abs(log(effect.ratio))
            after = self._points[split.at].run.run_id
            yield split, size, Doubt(at=split.at, after=after, reason=reason)

    def change(self, split: Split, begin: int, end: int) -> Change:
        """Return a change, with what differs between the runs near it on both sides."""
        at, runs = split.at, self._points
        before = [point.whole for point in runs[max(begin, at - NEAR) : at]]
        after = [point.whole for point in runs[at : min(end, at + NEAR)]]
        return Change(
            at=at, before=before[-1].run_id, after=after[0].run_id, created=after[0].created,
            p=None if self._series.exact else split.p, effect=self.effect(at, begin, end),
            differences=differences(before, after),
        )  # fmt: skip
