"""The gate on trends: no change for the worse in the last runs.

All series of a run are judged together, as a gate acts on any of them: of runs of a system that
does not change, at most 5% fail.  A series passes only if a change would have failed, and the check
has the least one that would: stats/trend/joint.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import exp, expm1, log

import numpy as np
from msgspec import structs

from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.comparison import Effect
from rtstone.documents.observation import Observation
from rtstone.documents.run import NO_REASON, Run
from rtstone.documents.trend import Change, Series
from rtstone.errors import UsageError
from rtstone.stats.cases import Case, label
from rtstone.stats.comparison.effects import UNKNOWN, scale
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST
from rtstone.stats.trend.differences import NEAR, differences
from rtstone.stats.trend.joint import MOST_RUNS, Finding, History, Joint, Judged
from rtstone.stats.trend.series import Full, Line, coarseness, lines, off, usual
from rtstone.stats.trend.trend import PARTS, TrendRequest, better, follow
from rtstone.units import relative_change

COARSEST = UNKNOWN  # a series passes if a rise by this share of its level, or a lesser one, fails
COARSEST_MISSED = 10.0  # ... of missed activations: by so many in a hundred of those due

Judgement = tuple[Verdict, str | None, float | None]  # third: the least rise that fails


def gate(run: Run, observations: Sequence[Observation], last: int, full: Full) -> Gate:
    """Return whether any series that ends with a run became worse in its last runs.

    ``observations``: results of stored runs up to this one, in their order.  ``last``: how many
    runs.  Raises UsageError if the run has no results with samples or a figure to follow.
    """
    own = [line for line in lines(observations) if line.runs[-1][0].run.run_id == run.run_id]
    if not own:
        raise UsageError(f"no results to follow, in run {run.run_id}; name another")
    level = LEVEL / sum(len(usual(line)) for line in own)
    trend = follow(own, TrendRequest(level=level), full)
    several = iter(trend.series)
    pairs = [(line, next(several)) for line in own for _ in usual(line)]
    checks = [
        Check(
            bench=r.bench, params=line.params, series=r.series, load=r.load, what="trend",
            limit="no change for the worse", verdict="not measured",
            reason=f"{r.status}: {r.reason or NO_REASON}", flags=r.flags,
        )
        for line in own
        for r in (observation.result for observation in line.runs[-1])
        if r.status != "ok"
    ]  # fmt: skip
    checks += _checks([(line, series) for line, series in pairs if series.runs], run, last)
    cases = [Case(line.key.case.bench, line.params, "", "", []) for line in own]
    tables = {table.id: table for table in trend.benches}
    for place, check in enumerate(checks):
        case = Case(check.bench, check.params, "", "", [])
        text = label(case, tables.get(case.bench), cases)
        checks[place] = structs.replace(check, label=text)
    return Gate(
        run_id=run.run_id, target=run.target.name, created=run.created, budget="", trend=last,
        title=f"No change for the worse in the last {last} runs", policy="inconclusive",
        verdict=overall(checks, "inconclusive"), remarks=trend.remarks, checks=checks,
        name=run.name,
    )  # fmt: skip


def _checks(pairs: Sequence[tuple[Line, Series]], run: Run, last: int) -> list[Check]:
    """Return the check of each series, which are judged together."""
    missing = [series for _, series in pairs if series.places[-1].label != run.run_id]
    recent = [_Recent(line, series, last) for line, series in pairs if series not in missing]
    # Those that have the same runs are tested together; each test has its part of the level.
    judged = [_alone(history.series, len(history.runs), last) for history in recent]
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, history in enumerate(recent):
        if judged[number] is None:
            groups[history.runs].append(number)
    for numbers in groups.values():
        joint = Joint([recent[n].history for n in numbers], last, LEVEL / len(groups))
        for place, number in enumerate(numbers):
            judged[number] = _jointly(recent[number], joint, place)
    checks = [
        _check(history.series, last, *judgement)
        for history, judgement in zip(recent, judged, strict=True)
        if judgement is not None
    ]
    valid = {id(line): line.runs[-1][0].result.status == "ok" for line, _ in pairs}
    for line, series in pairs:
        if series in missing and valid[id(line)]:
            why = "; ".join(series.without) or NO_REASON
            checks.append(_check(series, last, "inconclusive", f"this run has none: {why}", None))
    return checks


def _check(
    series: Series, last: int, verdict: Verdict, reason: str | None, detectable: float | None
) -> Check:
    here = series.places[-1].pooled
    return Check(
        bench=series.bench, params=series.params, series=series.series, load=series.load,
        what=series.figure or series.metric, limit=f"no change for the worse in {last} runs",
        verdict=verdict, reason=reason, unit=series.unit, observed=here.value, n=here.n or None,
        corrected=series.corrected, detectable=detectable,
    )  # fmt: skip


class _Recent:
    """A series since the last change that lies before its last runs.

    ``runs``: ids of its runs.  ``history``: what is judged: logarithms or, if ``ratio`` is false,
    the values.
    """

    def __init__(self, line: Line, series: Series, last: int) -> None:
        self._line, self.series = line, series
        begin = max((c.at for c in series.changes if c.at < series.runs - last), default=0)
        self._places = series.places[begin:]
        self.runs = tuple(place.label for place in self._places)
        values = [place.pooled.value or 0.0 for place in self._places]
        self.ratio = series.metric != "missed" and scale(values)
        self._sign = -(better(series) or 0)
        results = [observation.result for run in line.runs for observation in run]
        if series.metric == "missed":
            step = 100 / min(place.pooled.n + 1 for place in self._places)
        else:
            least = min(map(abs, values))
            share = 2 * (off(results, least) or 2.0**-8)
            step = max(share * least, coarseness(results)) / (least if self.ratio else 1)
        level = [log(value) for value in values] if self.ratio else values
        self.history = History(self._sign * np.array(level, np.float64), step)
        self._level = abs(float(np.mean(values)))

    @property
    def coarsest(self) -> float:
        """The rise that has to fail, in the scale of the history."""
        if self.series.metric == "missed":
            return COARSEST_MISSED
        return log(1 + COARSEST) if self.ratio else COARSEST * self._level

    def share(self, rise: float) -> float | None:
        """Return a rise as a share: of the level, of missed activations of those due."""
        if self.series.metric == "missed":
            return rise / 100
        if self.ratio:
            return abs(expm1(self._sign * rise))
        return rise / self._level if self._level else None

    def words(self, judged: Judged) -> str:
        """Return how much worse the series is since which run, with what differs first."""
        at = len(self._places) - judged.after
        rise = self._sign * judged.rise
        whole = {run[0].run.run_id: run[0].whole for run in self._line.runs}
        before, after = (
            [whole[name] for name in side]
            for side in (self.runs[max(0, at - NEAR) : at], self.runs[at : at + NEAR])
        )
        metric = self.series.metric
        effect = Effect(
            part=PARTS.get(metric, "tail"), statistic=metric, column="", verdict="worse",
            ratio=exp(rise) if self.ratio else None, difference=None if self.ratio else rise,
        )  # fmt: skip
        return _words(Change(
            at=at, before=before[-1].run_id, after=after[0].run_id, created=after[0].created,
            p=None, effect=effect, differences=differences(before, after),
        ))  # fmt: skip


def _alone(series: Series, runs: int, last: int) -> Judgement | None:
    """Return the judgement of a series that needs no test, or allows none; None of others."""
    if better(series) is None:
        return "inconclusive", f"neither more nor less {series.unit} is better", None
    least = 2 if series.exact else 2 * SHORTEST
    if series.runs < least:
        return "inconclusive", f"runs of this case: {series.runs}; a trend needs {least}", None
    if series.exact:
        recent = [change for change in series.changes if change.at >= series.runs - last]
        worse = [change for change in recent if change.effect.verdict == "worse"]
        return ("failed", _words(worse[-1]), 0.0) if worse else ("passed", None, 0.0)
    if last < SHORTEST:
        return "inconclusive", f"a change shows after {SHORTEST} runs; ask for as many", None
    if runs < least:
        why = f"runs of this case since it changed: {runs}; a trend needs {least}"
        return "inconclusive", why, None
    return None


def _jointly(recent: _Recent, joint: Joint, place: int) -> Judgement:
    """Return the judgement of a series by the joint test, in which it has this place."""
    judged = joint.judge(place)
    rise = joint.least_rise(place)
    least = None if rise is None else recent.share(rise)
    match judged.finding:
        case Finding.WORSE:
            return "failed", recent.words(judged), least
        case Finding.WANDERS:
            why = (
                f"{recent.words(judged)}; but runs are like those beside them (correlation up to "
                f"{judged.correlated:.2f}), and such runs may wander as far"
            )
            return "inconclusive", why, least
        case Finding.EARLIER:
            return "inconclusive", f"{recent.words(judged)}; but it rose before these runs", least
    if rise is not None and rise <= recent.coarsest:
        return "passed", None, least
    runs = joint.runs_for(place, recent.coarsest)
    seen = len(recent.runs)
    if not joint.reachable:
        why = f"no change can be told from chance with {seen} runs"
    else:
        share = recent.share(recent.coarsest)
        size = "its own size" if share is None else f"{100 * share:.3g}%"
        why = f"{seen} runs scatter too much to show a change of {size}"
    needs = f"it takes about {runs}" if runs else f"nor would {MOST_RUNS}: take longer ones"
    return "inconclusive", f"{why}; {needs}", least


def _words(change: Change) -> str:
    effect = change.effect
    size = f"{effect.difference or 0:+.3g}"
    if effect.ratio is not None:
        size = relative_change(effect.ratio)
    first = change.differences[:1]
    texts = [
        f"; first difference: {switch.aspect} {' '.join(switch.come or [switch.after])}"
        for switch in first
    ]
    return f"{size} since run {change.after}{''.join(texts)}"
