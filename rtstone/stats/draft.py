"""Draft a budget from runs: predict the most that one more run will show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import BREAKDOWN, Run, Slope
from rtstone.errors import UsageError
from rtstone.results.omitted import FEWEST, interval, missed
from rtstone.stats.cases import Case, cases, figure
from rtstone.stats.comparison.conditions import counted, mixed
from rtstone.stats.gate import CENSORED, Baseline, along, point
from rtstone.stats.prediction import WIDEST, Observed, Rules
from rtstone.summary import DRAFTED, MEDIAN, least_n

_AMPLE = 5  # a statistic is limited only with this many times the samples it needs
_SURE = 0.999  # with stalls, it must also have an interval at this level
_SHORTER = 2  # the next run may have this many times fewer samples
_HIGHEST, *_TAILS = DRAFTED  # the highest of the tails that n allows is limited


class DraftedLimit(NamedTuple):
    """A number, its value in each run, and the limit for the next run."""

    statistic: str
    values: Sequence[float]
    top: float  # the limit without the margin; for a breakdown utilisation the minimum, with margin


class DraftedMisses(NamedTuple):
    """Missed activations: omitted and due in all runs, and the limit as a share."""

    omitted: int
    due: int
    share: float | None  # None: ``omitted`` is the limit


class DraftedCase(NamedTuple):
    """A case in each run, and its limits."""

    case: Case
    runs: list[Case]
    lack: str | None  # why nothing can be limited
    predicted_for_n: int | None = None
    unlimited: Sequence[Observed] = ()  # statistics for which no limit would hold
    limits: Sequence[DraftedLimit] = ()
    missed: DraftedMisses | None = None
    largest: float | None = None  # of a periodic case
    breakdown: DraftedLimit | None = None

    @property
    def flags(self) -> list[str]:
        """The flags of all runs, without repetition."""
        return list(dict.fromkeys(flag for case in self.runs for flag in case.flags))

    @property
    def limited(self) -> bool:
        """True if it has any limit."""
        return bool(self.limits or self.missed or self.breakdown)

    @property
    def no_latency(self) -> str | None:
        """Why a case with samples has no limit of a latency, None if it has one."""
        if self.lack or self.limits or not self.case.n:
            return None
        if any(seen.kind != "max" for seen in self.unlimited):
            return f"the runs differ too much for a limit of less than {WIDEST:g} times the value"
        if any(result.missed for run in self.runs for result in run.results):
            return "activations were omitted in too few stalls to predict any statistic of a run"
        return "too few samples in each run"


class DraftedSlope(NamedTuple):
    """A slope, and its limit for the next run."""

    slope: Slope
    points: list[Case]
    lack: str | None  # why it is not limited
    top: float

    @property
    def flags(self) -> list[str]:
        """The flags of all points."""
        return [flag for point in self.points for flag in point.flags]


class Draft(NamedTuple):
    """Limits that one more run of the same system keeps."""

    runs: Sequence[Run]
    margin: float  # as a share of a limit on time
    least: float  # least margin: a step of the clock
    counted: bool  # True for instructions, which repeat exactly
    cases: list[DraftedCase]
    slopes: list[DraftedSlope]


def draft(runs: Sequence[Run], margin: float) -> Draft:
    """Return the limits that one more run of the same system keeps.

    Raises UsageError if there is nothing to limit, or if the runs are not of one system.
    """
    if len({run.run_id for run in runs}) < len(runs):
        raise UsageError("a run is named twice; name runs that differ")
    if len(runs) > 1 and (why := mixed(runs)):
        raise UsageError(f"not runs of one system: {why}; draft a budget from runs that are")
    run, first_cases = runs[0], cases(runs[0])
    baselines = [Baseline(run, [other]) for other in runs[1:]]
    drafts = []
    for case in first_cases:
        same = [case, *(c for baseline in baselines for c in baseline.cases(case))]
        lack = next((other.status for other in same if other.status), None)
        if lack is None and len(same) < len(runs):
            lack = f"in {len(same)} of {len(runs)} runs only"
        drafts.append(DraftedCase(case, same, lack))
    drafter = _Drafter(runs, drafts, margin)
    drafted = [drafter.limited(case) for case in drafts]
    if not any(case.limited for case in drafted):
        raise UsageError(f"nothing to limit, run {run.run_id} has no valid result")
    every = [[slope, *(s for o in baselines for s in o.slopes(slope))] for slope in run.slopes]
    return Draft(
        runs=runs,
        margin=margin,
        least=run.clock.resolution_ns if run.clock else 0.0,
        counted=counted(run),
        cases=drafted,
        slopes=[drafter.slope(slopes, first_cases) for slopes in every if len(slopes) == len(runs)],
    )


class _Drafter:
    """Computes the limits of all cases together."""

    def __init__(self, runs: Sequence[Run], drafts: Sequence[DraftedCase], margin: float) -> None:
        self._number = len(runs)
        self._counted = counted(runs[0])
        self._exact = self._counted and len(runs) == 1
        self._margin = margin
        valid = [case for case in drafts if case.lack is None]
        self._shown = {id(case): _shown(case) for case in valid}
        observed = [seen for shown in self._shown.values() for seen in shown.values()]
        most = sum(3 * bool(shown) for shown in self._shown.values())
        most += sum(draft.case.missed is not None for draft in valid)
        most += sum(_breakdown(draft.case) is not None for draft in valid) + len(runs[0].slopes)
        self._rules = Rules(observed, most)

    def limited(self, draft: DraftedCase) -> DraftedCase:
        """Return a case with its limits; it has none without a valid result."""
        if draft.lack:
            return draft
        largest = [_largest(case) for case in draft.runs]
        tops = [top for top in largest if top is not None]
        periodic = draft.case.missed is not None and len(tops) == len(largest)
        limited = self._statistics(draft)
        predicted = any(limit.statistic != "max" for limit in limited.limits)
        misses = None
        losses = [loss for case in draft.runs if (loss := missed(case.results))]
        if len(losses) == self._number:
            omitted, due = sum(m.omitted for m in losses), sum(m.due for m in losses)
            share = None  # if numbers repeat exactly: the count is the limit
            if not (self._exact or (self._counted and not omitted)):
                alone = self._number == 1
                share = WIDEST * losses[0].interval[1] if alone else self._rules.rate(losses)
                predicted = True
            misses = DraftedMisses(omitted, due, share)
        broken = None
        reached = [r for case in draft.runs if (r := _breakdown(case)) is not None]
        if len(reached) == self._number:
            factor = self._factor(Observed("breakdown", [1 / r for r in reached if r > 0]), "p50")
            lowest = _middle(reached) / factor / (1 + self._margin)
            broken = DraftedLimit(BREAKDOWN, reached, lowest)
        n = max(min(case.n for case in draft.runs) // _SHORTER, 1)
        return limited._replace(
            predicted_for_n=n if predicted else None,
            missed=misses,
            largest=max(tops) if periodic else None,
            breakdown=broken,
        )

    def _statistics(self, draft: DraftedCase) -> DraftedCase:
        """Limit the median, the highest percentile that the runs repeat well enough, and p99.9.

        A tail that something else decides, a tick for example, does not show a slower median.
        """
        shown = self._shown[id(draft)]
        factors = {name: self._factor(seen, name) for name, seen in shown.items()}
        names = [name for name in factors if factors[name] < math.inf]
        tail = next((name for name in (*_TAILS, "mean", "max") if name in names), None)
        limited = list(dict.fromkeys(n for n in (MEDIAN, tail, _HIGHEST) if n in names))
        limits = []
        for name in limited:
            middle = _middle(shown[name].values)
            # A tool that rounds does not distinguish a value from the next bucket.
            step = bucket_ns(result for case in draft.runs for result in case.results)
            top = middle + max((factors[name] - 1) * abs(middle), step)
            # No limit is below zero: times that are, are within the step of the clock.
            limits.append(DraftedLimit(name, shown[name].values, max(top, 0.0)))
        return draft._replace(
            unlimited=[
                seen
                for name, seen in shown.items()
                if name not in names
                and name != "mean"
                and (tail is None or name > tail or name == MEDIAN)
            ],
            limits=limits,
        )

    def _factor(self, seen: Observed, name: str) -> float:
        if self._exact:
            return 1.0
        if name == "max" and not self._counted:  # the next one can be of any size
            return math.inf
        if self._number > 1:
            same = len(set(seen.values)) == 1
            return 1.0 if same and min(seen.values) <= 0 else self._rules.factor(seen)
        return WIDEST if name in ("p50", "mean") else math.inf

    def slope(self, slopes: Sequence[Slope], cases: Sequence[Case]) -> DraftedSlope:
        """Limit a slope by the upper ends of its intervals."""
        points = [case for case in cases if along(slopes[0], case)]
        lost = next((case.status for case in points if case.status), None)
        if lost:
            return DraftedSlope(slopes[0], points, lost, 0.0)
        ends = [slope.ci95[1] for slope in slopes]
        top = max(ends) if self._number == 1 else self._rules.above(ends)
        wide = self._margin if self._exact or self._number > 1 else WIDEST - 1
        return DraftedSlope(slopes[0], points, None, max(0.0, top + wide * abs(top)))


def _shown(draft: DraftedCase) -> dict[str, Observed]:
    """Return the values in each run by statistic, highest first; the maximum if there is no other.

    The scatter of values between runs includes the uncertainty of each.  A statistic needs data
    that the next run will have too.  With omitted activations that depends on stalls, a few of
    which occur in a run by chance.
    """
    observed: dict[str, Observed] = {}
    for name in (*DRAFTED, "mean"):
        points = [
            point(case, name)
            for case in draft.runs
            if case.n >= _AMPLE * least_n(name)
            and (
                not any(result.missed for result in case.results)
                or interval(name, case.results, _SURE, 2 * FEWEST) is not None
            )
        ]
        values = [value for value in points if value is not None]
        if len(values) == len(draft.runs):
            observed[name] = Observed(name, values)
    largest = [top for case in draft.runs if (top := _largest(case)) is not None]
    if not observed and len(largest) == len(draft.runs):
        observed["max"] = Observed("max", largest)
    return observed


def _middle(values: Sequence[float]) -> float:
    """Return the geometric mean, or the largest value if some are not above zero."""
    if min(values) <= 0:
        return max(values)
    return math.exp(fmean(map(math.log, values)))


def _breakdown(case: Case) -> float | None:
    """Return the utilisation that was reached, with or without a breakdown."""
    for name, upto in CENSORED.items():
        reached = figure(case, name) or figure(case, upto)
        if reached:
            return reached[0]
    return None


def _largest(case: Case) -> float | None:
    return max((r.max for r in case.results if r.max is not None), default=None)
