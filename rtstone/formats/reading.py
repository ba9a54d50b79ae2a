"""Check the content of another tool's file for consistency, and turn it into a run.

The tools count in buckets of whole units.  A bucket has the value that the tool printed, which is
its lower edge, as the tools truncate instead of rounding.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import gcd, sqrt
from typing import Any, NamedTuple, Never

import msgspec

from rtstone import printable
from rtstone.documents.imported import FILE, MISSED_MOST, NO_LOAD_KNOWN, PLACE, TOOL
from rtstone.documents.plan import Case, Plan, run_id
from rtstone.documents.run import Distribution, Figure, Result, Run, Target, Value
from rtstone.formats.source import HIGHEST, Source
from rtstone.results.pool import percentiles
from rtstone.wire.records import Bench

LOAD = NO_LOAD_KNOWN
US, NS = 1000, 1  # units in ns
_MOST_COMPUTED = 1_000_000  # activations whose lateness follows from that of others


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One distribution as a tool recorded it, in its own units.

    ``n`` includes ``overflow``, the samples beyond the histogram.  ``counts``: by value; empty (and
    ``overflow`` 0) if the tool kept no histogram.  ``unit_ns``: the unit in ns.  ``width``: of a
    bucket, in units.  ``mean_within``: how far the printed mean may lie below and above the true
    one.  ``uncounted``: an unknown number of samples may be missing in ``n``.  ``approximate``:
    values are accurate to 1 part in 256, as in rtstone's own histograms.  ``line``: of the file,
    named in errors about the series.
    """

    name: str
    n: int
    counts: Mapping[int, int]
    unit_ns: int = US
    width: int = 1
    overflow: int = 0
    min: int | None = None
    max: int | None = None
    mean: float | None = None
    mean_within: tuple[float, float] = (0.005, 0.005)
    uncounted: bool = False
    approximate: bool = False
    line: int | None = None


class Corrected(NamedTuple):
    """The activations that late wake-ups skipped, and the distribution that includes them.

    ``counts``: of all activations within the histogram by lateness in ns, None if it is not known
    how late the skipped ones would have been.  ``mean``: of all, in ns.
    """

    missed: int
    counts: Mapping[int, int] | None = None
    mean: float | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file.

    ``tool``: its name, with the version if known.  ``command``: the tool's command line.
    ``measured``: when its measurement began, in ISO 8601, or else as the tool wrote it.
    """

    tool: str
    results: list[Result]
    benches: list[Bench]
    command: str | None = None
    measured: str | None = None
    conditions: dict[str, Value] = {}
    notes: list[str] = []
    duration_s: float | None = None


# ---- series -------------------------------------------------------------------------------------


def result(
    source: Source,
    bench: str,
    series: Series,
    *,
    flags: Sequence[str] = (),
    params: Mapping[str, Value] | None = None,
    evidence: Mapping[str, Value] | None = None,
    load: str = LOAD,
    period_ns: int | None = None,
    corrected: Corrected | None = None,
    gaps: bool = False,
    **members: Any,
) -> Result:
    """Return the result of a series.  Raises UsageError if the series contradicts itself.

    What a tool prints as minimum, mean and maximum of no samples is left out.
    ``period_ns``: samples are the lateness of a task that sleeps until absolute times this far
    apart.  ``corrected``: with what it omitted, if that was counted and need not follow from them.
    ``gaps``: samples are disturbances, so that no sample is a valid result; of other tools
    it means that the task never ran.
    """
    if not series.n:
        series = msgspec.structs.replace(series, min=None, mean=None, max=None)
    _check(source, series)
    ns, total = series.unit_ns, _sum(series)
    complete = bool(series.counts) and not series.overflow and not series.uncounted
    exact = complete and series.width == 1 and not series.approximate
    mean, sd = series.mean, None
    if exact:  # a printed mean is rounded
        mean = total / series.n if series.n else None
    if complete and series.n > 1:
        squares = sum(n * (value - total / series.n) ** 2 for value, n in series.counts.items())
        sd = sqrt(squares / (series.n - 1))
    occasions = {
        "buckets": bool(series.counts) and series.width * ns > NS,
        "beyond": series.overflow > 0 or series.uncounted,
        "statistics_only": not series.counts and not series.overflow,
    }
    points = [(float(value * ns), count) for value, count in sorted(series.counts.items()) if count]
    missed = corrected.missed if corrected else missed_activations(series, period_ns)
    if missed is not None:  # it is known what late wake-ups hid
        flags = [flag for flag in flags if flag != "omission"] + ["missed"] * (missed > 0)
    most: dict[str, Value] = {}
    if missed is None and (number := _missed_between(series, period_ns)[1]) is not None:
        most = {MISSED_MOST: number}
    bare = Result(
        case=1, bench=bench, params=dict(params or {}), load=load, series=series.name, status="ok",
        n=series.n, overflow=series.overflow, histogram=points,
        min=_ns(series.min, ns), mean=_ns(mean, ns), max=_ns(series.max, ns),
        sd=_ns(sd, ns), ci95={"p50": None, "p99": None},
        missed=missed,
        flags=["imported", *(flag for flag, holds in occasions.items() if holds), *flags],
        evidence={"bucket_ns": series.width * ns if points else None, **most, **(evidence or {})},
    )  # fmt: skip
    if not (series.n or gaps):
        members |= {"status": "incomplete", "reason": "no sample: the task never ran"}
    quantiles: dict[str, float | None] = {}
    if points and not series.uncounted:
        quantiles = percentiles(points, series.n, series.overflow)
        if missed and not corrected and missed <= _MOST_COMPUTED and period_ns:
            corrected = _computed(series, total, missed, period_ns)
        if missed and corrected and corrected.counts:
            members |= {"corrected": _distribution(bare, corrected)}
    return msgspec.structs.replace(bare, **quantiles, **members)


def figures_result(
    bench: Bench, params: Mapping[str, Value], figures: dict[str, Figure], **members: Any
) -> Result:
    """Return a result of figures alone, as tools print that count no samples."""
    bare = Result(
        case=1, bench=bench.id, params=dict(params), load=LOAD, status="ok", figures=figures,
        flags=["imported", "statistics_only"],
    )  # fmt: skip
    return msgspec.structs.replace(bare, **members)


def missed_activations(series: Series, period_ns: int | None) -> int | None:
    """Return how many activations late wake-ups skipped, None if that is unknown.

    A task that is late by k whole periods goes on with the activation after the k that it missed.
    """
    least, most = _missed_between(series, period_ns)
    return least if least == most else None


def _missed_between(series: Series, period_ns: int | None) -> tuple[int, int | None]:
    """Return how many activations late wake-ups skipped at least and at most, None if unknown."""
    if not period_ns or not series.n or series.max is None:
        return 0, None
    period, highest = period_ns / series.unit_ns, series.max
    if highest < period:
        return 0, 0
    if series.uncounted:
        return 0, None
    edges = [(value, value + series.width - 1, n) for value, n in series.counts.items()]
    beyond = series.overflow if series.counts else series.n  # statistics say nothing of each
    if beyond:
        lowest = highest if beyond == 1 else max(series.counts, default=0) + series.width
        edges.append((lowest, highest, beyond))
    least = sum(int(low // period) * n for low, _, n in edges)
    return least, sum(int(min(high, highest) // period) * n for _, high, n in edges)


def _computed(series: Series, total: int, missed: int, period_ns: int) -> Corrected:
    """Return a series with the activations that its late wake-ups skipped, as many as ``missed``.

    The k activations that a task late by k whole periods missed would have been late by one to k
    periods less.  ``total``: of the samples within the histogram, in the tool's unit.
    """
    own = Counter({value * series.unit_ns: n for value, n in series.counts.items()})
    late, total = Counter(own), total * series.unit_ns
    if series.overflow == 1 and series.max is not None:  # the one beyond the histogram is known
        late[series.max * series.unit_ns] += 1
        total += series.max * series.unit_ns
    for value, n in late.items():
        for less in range(period_ns, value + 1, period_ns):
            own[value - less] += n
            total += (value - less) * n
    return Corrected(missed, own, total / (series.n + missed))


def _distribution(result: Result, corrected: Corrected) -> Distribution:
    """Return the distribution of a result that includes omitted activations."""
    points = sorted((float(v), count) for v, count in (corrected.counts or {}).items() if count)
    n, sd = result.n + corrected.missed, None
    if not result.overflow:
        middle = sum(value * count for value, count in points) / n
        sd = sqrt(sum(count * (value - middle) ** 2 for value, count in points) / (n - 1))
    return Distribution(
        n=n, min=min(points[0][0], points[0][0] if result.min is None else result.min),
        mean=_ns(corrected.mean, NS), sd=_ns(sd, NS), max=result.max, histogram=points,
        **percentiles(points, n, result.overflow),
    )  # fmt: skip


def _ns(value: float | None, ns: int) -> float | None:
    return None if value is None else round(value * ns, 4)


def _sum(series: Series) -> int:
    return sum(value * count for value, count in series.counts.items())


def _check(source: Source, series: Series) -> None:
    """Refuse a series that contradicts itself."""

    def refuse(reason: str) -> Never:
        name = f"{series.name}: " if series.name else ""
        source.refuse(f"{name}{reason}", series.line)

    within = sum(series.counts.values())
    if series.counts and within + series.overflow != series.n:
        refuse(
            f"{within} samples in the histogram and {series.overflow} beyond it are not the "
            f"{series.n} that were counted"
        )
    if min([series.n, series.overflow, *series.counts, *series.counts.values()]) < 0:
        refuse("a number is negative")
    low, high = series.min, series.max
    for value in (low, high, series.mean):
        if value is not None and not 0 <= value * series.unit_ns < HIGHEST:
            refuse(f"{value} cannot be a time")
    if low is not None and high is not None and low > high:
        refuse(f"the minimum {low} is larger than the maximum {high}")
    if wrong := _extremes(series) or _mean_wrong(series):
        refuse(wrong)


def _extremes(series: Series) -> str | None:
    """Return how minimum or maximum contradict the histogram, None if they do not."""
    values = [value for value, count in series.counts.items() if count]
    if not values or series.min is None or series.max is None:
        return None
    first, last = min(values), max(values)
    if not first <= series.min < first + series.width:
        return f"the minimum {series.min} is not in the lowest bucket, {first}"
    if series.overflow or series.uncounted:
        beyond = series.max >= last + series.width
        return None if beyond else f"the maximum {series.max} is not beyond the histogram"
    fits = last <= series.max < last + series.width
    return None if fits else f"the maximum {series.max} is not in the highest bucket, {last}"


def _mean_wrong(series: Series) -> str | None:
    """Return how the mean contradicts the rest, None if it does not as far as can be checked."""
    mean, (below, above) = series.mean, series.mean_within
    if mean is None or series.min is None or series.max is None:
        return None
    slack = 1 + abs(mean) / 128 if series.approximate else 1e-9 * (1 + abs(mean))
    if not series.min - below - slack <= mean <= series.max + slack:
        return f"the mean {mean:g} is not between the minimum and the maximum"
    if not series.counts or series.uncounted or not series.n:
        return None
    # Samples beyond the histogram are above its last bucket, and at most the maximum.
    beyond = series.overflow * (max(series.counts) + series.width), series.overflow * series.max
    least, most = ((_sum(series) + rest) / series.n for rest in beyond)
    if not least - below - slack <= mean <= most + above + series.width - 1 + slack:
        means = f"{least:g}" if not series.overflow else f"from {least:g} to {most:g}"
        return f"the mean {mean:g} is not that of the histogram, {means}"
    return None


def clock_s(*parts: str) -> int:
    """Return a time on a clock in s: days, hours, minutes, seconds, or the last of these."""
    total = 0
    for part, factor in zip(parts, (1, 24, 60, 60)[-len(parts) :], strict=True):
        total = total * factor + int(part)
    return total


def step(values: Sequence[int]) -> int:
    """Return the largest bucket width that these edges allow, for tools that do not state it."""
    return gcd(*values) or 1


# ---- the run ------------------------------------------------------------------------------------


def document(reading: Reading, source: Source, form: str, command: list[str]) -> tuple[Plan, Run]:
    """Return the plan and the run document of a reading, to be stored."""
    now = datetime.now(UTC)
    moment, notes = _moment(reading.measured, now)
    created = moment or now
    measured = moment.isoformat(timespec="seconds") if moment else reading.measured
    name = reading.tool.partition(" ")[0]
    target = Target(
        name=PLACE + name,
        detail={
            TOOL: printable.line(reading.tool), "format": form,
            FILE: source.name.rpartition("/")[2],
            "sha256": hashlib.sha256(source.data).hexdigest(),
        },
    )  # fmt: skip
    # Series with equal bench and parameters are one case.
    own = {(result.bench, str(result.params)): result.params for result in reading.results}
    numbers = {key: number for number, key in enumerate(own, 1)}
    plan = Plan(
        run_id=run_id(now, name), created=created.isoformat(timespec="seconds"),
        command=command, suite=None, target=target, keep_idle=False,
        cases=[
            Case(numbers[bench, text], bench, dict(params))
            for (bench, text), params in own.items()
        ],
        benches={bench.id: bench for bench in reading.benches},
    )  # fmt: skip
    origin = {"tool.command": reading.command, "tool.measured": measured}
    conditions = {k: v for k, v in (reading.conditions | origin).items() if v is not None}
    run = Run(
        run_id=plan.run_id, created=plan.created, status="complete", command=command,
        target=target,
        conditions={k: printable.line(v) if isinstance(v, str) else v
                    for k, v in conditions.items()},
        results=[
            msgspec.structs.replace(r, case=numbers[r.bench, str(r.params)])
            for r in reading.results
        ],
        benches=reading.benches, notes=[*map(printable.line, reading.notes), *notes],
        duration_s=reading.duration_s,
    )  # fmt: skip
    return printable.document(plan), printable.document(run)


def _moment(measured: str | None, now: datetime) -> tuple[datetime | None, list[str]]:
    """Return when a run was measured, which orders it among others, or None; and notes on that."""
    if measured is None:
        return None, []
    try:
        moment = datetime.fromisoformat(measured)
        zoned = moment.tzinfo is not None
        moment = (moment if zoned else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None, [f"dated by its import: '{printable.line(measured)[:40]}' is no time"]
    if moment.year < 1990 or moment > now + timedelta(days=1):
        return None, [f"dated by its import: the file says {moment:%Y-%m-%d}"]
    return moment, [] if zoned else ["the time in the file has no zone; it is taken as UTC"]
