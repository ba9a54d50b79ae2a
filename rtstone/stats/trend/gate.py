"""The gate on trends: no change for the worse in the last runs.

All series of a run are judged together (Bonferroni), as a gate acts on any of them: of runs of a
system that does not change, at most 5% fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from rtstone.documents.case_key import differing
from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.observation import Observation
from rtstone.documents.run import NO_REASON, Run, Value
from rtstone.documents.trend import Change, Metric, Series
from rtstone.errors import UsageError
from rtstone.stats.comparison.conditions import value
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST
from rtstone.stats.trend.series import Full, Line, lines
from rtstone.stats.trend.trend import Asked, follow
from rtstone.units import relative_change
from rtstone.wire.records import Bench

METRICS: tuple[Metric, ...] = ("p50", "p99", "missed")


def gate(run: Run, observations: Sequence[Observation], last: int, full: Full) -> Gate:
    """Return whether any series that ends with a run became worse in its last runs.

    ``observations``: results of stored runs up to this one, in their order.  ``last``: how many
    runs.  Raises UsageError if the run has no results with samples.
    """
    there = [one for one in observations if one.result.n or one.result.status != "ok"]
    found = [line for line in lines(there) if line.runs[-1][0].run.run_id == run.run_id]
    if not found:
        raise UsageError(f"no results with samples, in run {run.run_id}; name another")
    level = LEVEL / (len(found) * len(METRICS))
    made = follow(found, Asked(METRICS, level=level), full)
    checks = [check for line in found for check in _unmeasured(line)]
    checks += [check for series in made.series for check in _checks(series, run, last)]
    labels = case_labels(((line.key.case.bench, line.params) for line in found), made.benches)
    checks = [structs.replace(one, label=labels(one.bench, one.params)) for one in checks]
    return Gate(
        run_id=run.run_id, target=run.target.name, created=run.created, budget="", trend=last,
        title=f"No change for the worse in the last {last} runs", policy="inconclusive",
        verdict=overall(checks, "inconclusive"), remarks=made.remarks, checks=checks,
        name=run.name,
    )  # fmt: skip


def case_labels(
    cases: Iterable[tuple[str, Mapping[str, Value]]], tables: Sequence[Bench]
) -> Callable[[str, Mapping[str, Value]], str]:
    """Return what tells a case, by bench and parameters, from others of its bench."""
    telling = differing(cases)
    known = {table.id: table for table in tables}

    def label(bench: str, params: Mapping[str, Value]) -> str:
        table = known.get(bench)
        names = [name for name in params if (bench, name) in telling]
        told = [(name, table.param(name) if table else None) for name in names]
        return " ".join(f"{name}={value(param, params[name])}" for name, param in told)

    return label


def _unmeasured(line: Line) -> Iterator[Check]:
    """Yield the check of a case that the run has no valid result of."""
    for one in line.runs[-1]:
        r = one.result
        if r.status != "ok":
            yield Check(
                bench=r.bench, params=line.params, series=r.series, load=r.load, what="trend",
                limit="no change for the worse", verdict="not measured",
                reason=f"{r.status}: {r.reason or NO_REASON}", flags=r.flags,
            )  # fmt: skip


def _checks(series: Series, run: Run, last: int) -> Iterator[Check]:
    """Yield the check of a series; none where this run has no value."""
    if not series.places or series.places[-1].label != run.run_id:
        return
    verdict, reason = _judged(series, last)
    yield Check(
        bench=series.bench, params=series.params, series=series.series, load=series.load,
        what=series.metric, limit=f"no change for the worse in {last} runs", verdict=verdict,
        reason=reason, unit=series.unit, observed=series.segments[-1].value,
        n=series.segments[-1].n,
    )  # fmt: skip


def _judged(series: Series, last: int) -> tuple[Verdict, str | None]:
    recent = [change for change in series.changes if change.at >= series.runs - last]
    if worse := [change for change in recent if change.effect.verdict == "worse"]:
        return "failed", _words(worse[-1])
    least = 2 if series.exact else 2 * SHORTEST
    if series.runs < least:
        return "inconclusive", f"runs of this case: {series.runs}; a trend needs {least}"
    if not series.exact and last < SHORTEST:
        return "inconclusive", f"a change shows after {SHORTEST} runs; ask for as many"
    return "passed", None


def _words(change: Change) -> str:
    effect = change.effect
    size = f"{effect.difference or 0:+.3g}"
    if effect.ratio is not None:
        size = relative_change(effect.ratio)
    first = change.differences[:1]
    told = [
        f"; first difference: {one.aspect} {' '.join(one.come or [one.after])}" for one in first
    ]
    return f"{size} since run {change.after}{''.join(told)}"
