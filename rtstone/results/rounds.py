"""Rounds of one case: decide whether another one is needed, and merge them into one result.

A case has rounds if `--until` asks for them, or if it was interrupted and goes on with `--resume`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import ceil, inf, nextafter
from typing import Any, Literal, NamedTuple, cast

from msgspec import structs

from rtstone.documents.plan import Until
from rtstone.documents.run import (
    INTERRUPTED,
    STOPPED,
    Batches,
    Blocks,
    Distribution,
    Figure,
    Result,
    Round,
    StopCriterion,
    Trace,
    Value,
)
from rtstone.results import flags
from rtstone.results.estimates import Estimate, estimate
from rtstone.results.interval import Ordered
from rtstone.results.pool import closest, pooled
from rtstone.summary import PERCENTILES, WHOLE
from rtstone.units import NS_PER_S
from rtstone.wire.records import Rate, TextTable

MOST = 100  # rounds: a bench that gives too few samples each time will not get there
MARGIN = 1.1  # samples beyond what the width so far says are needed
LEAST = 0.25  # of the samples so far: a round that adds less decides nothing
SHORTEST_NS = 10**6  # of a round that has reached its time limit already, or nearly so
REST = 0.01  # of the time limit, which is not worth a round
WORST, WINDOWS, BLOCKS = 16, 4096, 2048  # what the agent's recorder keeps, and a result here

Ended = Literal["ci", "time", "rounds"]
Rounds = Sequence[Sequence[Result]]  # of each round, its series


class Standing(NamedTuple):
    """The state of a case; ``width``: that of its widest series, None if unknown.

    ``ended``: why there is to be no other round, None if there is.
    """

    width: float | None
    ended: Ended | None


def width(estimate_: Estimate | None) -> float | None:
    """Return the distance of an estimate to the farther end of its interval, as a share of it."""
    if estimate_ is None:
        return None
    farther = max(estimate_.high - estimate_.value, estimate_.value - estimate_.low)
    if farther <= 0:
        return 0.0
    return farther / estimate_.value if estimate_.value > 0 else None


def sampled(rounds: Rounds) -> bool:
    """Return whether the case takes samples; without them it runs once."""
    return any(result.n for results in rounds for result in results)


def standing(until: Until, rounds: Rounds) -> Standing:
    """Return the state of a case after these valid rounds."""
    widths = [width(estimate(parts, until.statistic)) for parts in _series(rounds) if _n(parts)]
    measured = [each for each in widths if each is not None]
    widest = max(measured) if measured and len(measured) == len(widths) else None
    if widest is not None and widest <= until.share:
        return Standing(widest, "ci")
    if _left_s(until, rounds) <= REST * until.time_s:
        return Standing(widest, "time")
    return Standing(widest, "rounds" if len(rounds) >= MOST else None)


def following(until: Until, rounds: Rounds, has_param: Callable[[str], bool]) -> dict[str, Value]:
    """Return the parameters of the next round that differ from those of the case.

    ``has_param``: whether the bench has a parameter of that name.  As many samples as the interval
    says are missing, but no more than there are, for the first intervals are rough; in the time
    that is left; and as many operations in a sample as before.
    """
    first = rounds[0][0]
    if first.params.get("raw"):  # what the agent has memory for is what the person asked for
        return {}
    n = min(_n(parts) for parts in _series(rounds) if _n(parts))
    reached = standing(until, rounds).width
    missing = n if reached is None else n * (MARGIN * (reached / until.share) ** 2 - 1)
    params: dict[str, Value] = {
        "samples": ceil(min(max(missing, LEAST * n), n)),
        "time": ceil(_left_s(until, rounds) * NS_PER_S),
        "batch": first.batch,
    }
    return {name: value for name, value in params.items() if has_param(name)}


def remaining(rounds: Rounds, has_param: Callable[[str], bool]) -> dict[str, Value]:
    """Return the parameters of the round that goes on with an interrupted case.

    Those that differ from the case's: the samples and the time that are left of what was requested,
    and as many operations in a sample as before.  ``has_param``: as in ``following``.
    """
    first = rounds[0][0]
    n = min(_n(parts) for parts in _series(rounds))
    params: dict[str, Value] = {"batch": first.batch}
    samples, time = first.params.get("samples"), first.params.get("time")
    if isinstance(samples, int) and samples > 0:
        params["samples"] = max(samples - n, 1)
    if isinstance(time, int) and time > 0:
        params["time"] = max(time - round(_measured_s(rounds) * 1e9), SHORTEST_NS)
    return {name: value for name, value in params.items() if has_param(name)}


def counting(results: Sequence[Result]) -> list[Result]:
    """Return what counts of a round: not a series that was interrupted before its first sample."""
    return [r for r in results if (r.status, r.reason) != ("incomplete", INTERRUPTED)]


def valid(rounds: Rounds) -> list[list[Result]]:
    """Return what counts of the valid rounds; one that was interrupted is valid."""
    counted = [counting(results) for results in rounds]
    return [results for results in counted if results and _is_valid(results)]


def _is_valid(results: Sequence[Result]) -> bool:
    return all(result.status == "ok" for result in results)


def merged(until: Until | None, rounds: Rounds) -> list[Result]:
    """Return the rounds of a case as one result for each of its series.

    All samples of the valid rounds are in it.  One that is not valid ends the case, and only if it
    is the only one its own samples stand.  ``until``: None if the case only went on after an
    interruption.
    """
    good = valid(rounds)
    if not good or not sampled(good) or (until is None and len(rounds) == 1):
        return list(rounds[-1])
    lacking = None if _is_valid(counting(rounds[-1])) else counting(rounds[-1])[0]
    stands = Standing(None, None) if until is None else standing(until, good)
    return [_merged(until, good, parts, stands, lacking) for parts in _series(good)]


def _merged(
    until: Until | None,
    rounds: Rounds,
    parts: list[Result],
    stands: Standing,
    lacking: Result | None,
) -> Result:
    ended = parts[-1].ended if until is None else stands.ended or STOPPED
    first = parts[0]
    whole = pooled(parts)
    members: dict[str, Any] = {n: getattr(whole, n) for n in Distribution.__struct_fields__}
    worst = [
        structs.replace(w, index=w.index + before, at_s=round(w.at_s + begin, 9))
        for part, before, begin in _placed(parts)
        for w in part.worst
    ]
    evidence = [part.evidence for part in parts]
    keys = dict.fromkeys(name for part in evidence for name in part)
    rates: dict[str, list[Rate]] = defaultdict(list)
    for results in rounds:
        for rate in results[0].load_rates:
            rates[rate.component].append(rate)
    estimates = {name: estimate(parts, name) for name in first.ci95}
    result = Result(  # not one of the rounds with other members: what is not merged is not there
        **members,
        case=first.case,
        bench=first.bench,
        params=first.params,
        load=first.load,
        series=first.series,
        status=first.status,
        unit=first.unit,
        batch=max(part.batch for part in parts),
        single=_single(parts),
        load_rates=[_rate(part_rates) for part_rates in rates.values()],
        warmup=sum(part.warmup for part in parts),
        raw_min=min((p.raw_min for p in parts if p.raw_min is not None), default=None),
        raw_max=max((p.raw_max for p in parts if p.raw_max is not None), default=None),
        grid=first.grid if len({(part.grid, part.batch) for part in parts}) == 1 else None,
        ci95={name: e and (e.low, e.high) for name, e in estimates.items()},
        worst=sorted(worst, key=lambda w: -w.value)[:WORST],
        negative=sum(part.negative for part in parts),
        overflow=sum(part.overflow for part in parts),
        missed=_sum([part.missed for part in parts]),
        misses=closest([part.misses for part in parts]),
        corrected=_corrected(parts),
        trace=_trace(parts),
        blocks=_blocks(parts),
        batches=_batches(parts, whole),
        figures=_figures(parts),
        tables=[*_tables(parts), *_differing(parts)],
        evidence={
            name: _merged_evidence(name, [part.get(name) for part in evidence]) for name in keys
        },
        ended=ended,
        until=None if until is None else _reached(until, parts),
        flags=_flags(parts, until, ended),
    )
    if lacking is None:
        return result
    reason = f"round {len(rounds) + 1}: {lacking.reason or lacking.status}"
    names = [name for name in result.flags if name != INTERRUPTED]
    return structs.replace(result, status=lacking.status, reason=reason, ended=STOPPED, flags=names)


def _single(parts: Sequence[Result]) -> Result | None:
    """Return the operations that were timed one by one, of the rounds that have them."""
    alone = [part.single for part in parts if part.single]
    return _merged(None, [], alone, Standing(None, None), None) if alone else None


def _series(rounds: Rounds) -> list[list[Result]]:
    """Return the parts of each series of a case, round by round."""
    series: dict[str, list[Result]] = {}
    for results in rounds:
        for result in results:
            series.setdefault(result.series, []).append(result)
    return list(series.values())


def _n(parts: Sequence[Result]) -> int:
    return sum(part.n for part in parts)


def _section_s(result: Result) -> float:
    """Return how long a round measured, or else the time covered by its trace."""
    if result.section_s is not None:
        return result.section_s
    trace = result.trace
    return trace.rows[-1][0] + trace.width_s if trace and trace.rows else 0.0


def _left_s(until: Until, rounds: Rounds) -> float:
    return until.time_s - _measured_s(rounds)


def _measured_s(rounds: Rounds) -> float:
    return sum(max(map(_section_s, results)) for results in rounds)


def _reached(until: Until, parts: list[Result]) -> StopCriterion:
    rounds = []
    for number, part in enumerate(parts, 1):
        share = width(estimate(parts[:number], until.statistic))
        rounds.append(
            Round(
                n=part.n,
                warmup=part.warmup,
                section_s=_section_s(part) or None,
                ended=part.ended,
                width=None if share is None else round(share, 6),
            )
        )
    return StopCriterion(
        statistic=until.statistic, asked=until.share, width=rounds[-1].width,
        time_s=until.time_s, rounds=rounds,
    )  # fmt: skip


# ---- what lies in time: each round begins where the one before ended ----------------------------


def _placed(parts: Sequence[Result]) -> Iterator[tuple[Result, int, float]]:
    """Yield each round with the number of samples and the measured time (s) before it."""
    samples, begin = 0, 0.0
    for part in parts:
        yield part, samples, begin
        samples, begin = samples + part.n, begin + _section_s(part)


_Row = tuple[float, int, float, float, float]  # of a trace


def _trace(parts: Sequence[Result]) -> Trace | None:
    """Merge the windows of all rounds until they are few enough and equally wide."""
    traces = [(part.trace, begin) for part, _, begin in _placed(parts) if part.trace]
    if not traces:
        return None
    wide = max(trace.width_s for trace, _ in traces)
    while True:
        rows: list[_Row] = []
        for trace, begin in traces:
            groups: dict[int, list[_Row]] = defaultdict(list)
            for row in trace.rows:
                groups[int((row[0] + trace.width_s / 2) // wide)].append(row)
            for number, own in groups.items():
                n = sum(row[1] for row in own)
                mean = own[0][3] if len(own) == 1 else round(sum(r[1] * r[3] for r in own) / n, 4)
                low, high = min(row[2] for row in own), max(row[4] for row in own)
                rows.append((round(begin + number * wide, 9), n, low, mean, high))
        if len(rows) <= max(WINDOWS, len(traces)):
            return Trace(width_s=wide, rows=rows)
        wide *= 2


def _blocks(parts: Sequence[Result]) -> Blocks | None:
    """Return maxima of the blocks of all rounds, joined to the largest of their sizes.

    As in the agent, what is left of a round after its last whole block is in none.
    """
    blocks = [part.blocks for part in parts if part.blocks]
    if not blocks:
        return None
    size = max(block.samples for block in blocks)
    while True:
        tops = []
        for block in blocks:
            each = size // block.samples
            whole = len(block.max) // each * each
            tops += [max(block.max[k : k + each]) for k in range(0, whole, each)]
        if len(tops) <= BLOCKS:
            return Blocks(samples=size, max=tops)
        size *= 2


def _batches(parts: Sequence[Result], whole: Distribution) -> Batches | None:
    """Return the batches of all rounds, merged until they are about as long as the longest."""
    if len(parts) == 1 or any(part.batches is None for part in parts):
        return parts[0].batches if len(parts) == 1 else None
    lines = _lines(whole, sum(part.overflow for part in parts))
    batches = Batches(n=[], mean=[], above={name: [] for name in lines})
    longest = max(n for part in parts if part.batches for n in part.batches.n)
    for part in parts:
        if part.batches is None:
            continue
        above = {name: _above(part, part.batches, name, line) for name, line in lines.items()}
        ends, n = [0], 0  # of batches that are about so long together; a remainder joins the last
        for place, size in enumerate(part.batches.n, 1):
            n += size
            if 4 * n >= 3 * longest:
                ends.append(place)
                n = 0
        if ends[-1] < len(part.batches.n):
            ends[1 if len(ends) == 1 else -1 :] = [len(part.batches.n)]
        for first, last in pairwise(ends):
            sizes, means = part.batches.n[first:last], part.batches.mean[first:last]
            total = sum(size * mean for size, mean in zip(sizes, means, strict=True))
            batches.n.append(sum(sizes))
            batches.mean.append(means[0] if len(means) == 1 else round(total / sum(sizes), 4))
            for name in lines:
                batches.above[name].append(sum(above[name][first:last]))
    return batches


def _lines(whole: Distribution, overflow: int) -> dict[str, float]:
    """Return for each percentile the line up to which the share of samples is nearest to it.

    That is its value or, where many samples have that value, just below.
    """
    ordered = Ordered(whole.histogram, overflow)
    lines: dict[str, float] = {}
    for name, q in PERCENTILES.items():
        value = getattr(whole, name)
        if value is not None:
            around = value, nextafter(value, -inf)
            lines[name] = min(around, key=lambda line: abs(ordered.share(line) - q / WHOLE))
    return lines


def _above(part: Result, batches: Batches, name: str, line: float) -> list[int]:
    """Return samples of each batch that lie above a line of all rounds.

    Their sum is exact, from the round's histogram.  A batch has counted against the round's own
    line; its share of those above, or of those below if there are more above, is taken to be the
    same.  A round that is too short for the percentile has counted for a lower one.
    """
    names = list(PERCENTILES)
    own = [batches.above[n] for n in names[: names.index(name) + 1] if n in batches.above]
    counted = own[-1] if own else [0] * len(batches.n)
    ordered = Ordered(part.histogram, part.overflow)
    total = part.n - round(ordered.share(line) * part.n)
    if total <= sum(counted):
        return _spread(total, counted)
    below = [n - k for n, k in zip(batches.n, counted, strict=True)]
    return [n - k for n, k in zip(batches.n, _spread(part.n - total, below), strict=True)]


def _spread(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole numbers in proportion to weights, with this sum; none exceeds its weight."""
    whole = max(sum(weights), 1)
    upto = [(2 * total * weight + whole) // (2 * whole) for weight in accumulate(weights)]
    return [b - a for a, b in pairwise([0, *upto])]


# ---- what is counted, and what is reported ------------------------------------------------------


def _corrected(parts: Sequence[Result]) -> Distribution | None:
    """Return the omitted distribution, None if no activation was omitted in any round."""
    if all(part.corrected is None for part in parts):
        return None
    complete = []
    for part in parts:
        if (whole := part.corrected) is not None:
            members: dict[str, Any] = {n: getattr(whole, n) for n in Distribution.__struct_fields__}
            overflow = whole.n - sum(count for _, count in whole.histogram)
            part = structs.replace(part, **members, overflow=overflow)  # noqa: PLW2901
        complete.append(part)
    return pooled(complete)


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum, None if a part is unknown."""
    present = [count for count in counts if count is not None]
    return sum(present) if len(present) == len(counts) else None


_SUMMED = {"section_ns", "cpu_ns", "minflt", "majflt", "nvcsw", "nivcsw", "migrations",
           "steal_ns", "steal_near_ns", "steal_watched_ns", "quota_periods", "smi",
           "suspended_ns", "stops", "rests"}  # fmt: skip
_LARGEST = {"others", "stack_bytes", "heap_bytes", "tasks"}


def _merged_evidence(name: str, values: list[Value]) -> Value:
    """Return the common value of all rounds, None if unknown in one; list other differences."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if name in _SUMMED | _LARGEST:
        if len(numbers) < len(values):
            return None
        return sum(numbers) if name in _SUMMED else max(numbers)
    return values[0] if all(value == values[0] for value in values) else cast(Value, list(values))


def _rate(rates: list[Rate]) -> Rate:
    window = sum(rate.window_s for rate in rates)
    counted = [(rate.counted, rate.counted_s) for rate in rates if rate.counted is not None]
    counted_s = sum(seconds or 0 for _, seconds in counted)

    def mean(values: list[float | None]) -> float | None:
        achieved = [value for value in values if value is not None]
        if len(achieved) < len(values) or not window:
            return achieved[0] if achieved else None
        return sum(v * r.window_s for v, r in zip(achieved, rates, strict=True)) / window

    return structs.replace(
        rates[0],
        achieved=mean([rate.achieved for rate in rates]) or 0.0,
        window_s=window,
        cpu_ms=mean([rate.cpu_ms for rate in rates]),
        missed=_sum([rate.missed for rate in rates]),
        runs=_sum([rate.runs for rate in rates]),
        counted=sum(rate * (seconds or 0) for rate, seconds in counted) / counted_s
        if counted_s
        else None,
        counted_s=counted_s or None,
    )


def _figures(parts: Sequence[Result]) -> dict[str, Figure]:
    """Return the figures in which all rounds agree; `_differing` lists the others."""
    first, rest = parts[0].figures, [part.figures for part in parts[1:]]
    return {
        name: fact for name, fact in first.items() if all(other.get(name) == fact for other in rest)
    }


def _differing(parts: Sequence[Result]) -> list[TextTable]:
    same = _figures(parts)
    names = dict.fromkeys(name for part in parts for name in part.figures if name not in same)
    if not names:
        return []
    rows = []
    for name in names:
        figures = [part.figures.get(name) for part in parts]
        texts = [
            "-" if figure is None or figure.value is None
            else f"{figure.value:.6g} {figure.unit}".rstrip()
            for figure in figures
        ]  # fmt: skip
        rows.append([name, *texts])
    heads = [f"round {number}" for number in range(1, len(parts) + 1)]
    return [TextTable("figures that differ between the rounds", ["figure", *heads], rows)]


def _tables(parts: Sequence[Result]) -> list[TextTable]:
    """Return the tables; those of a later round only if they differ."""
    tables: list[TextTable] = []
    for number, part in enumerate(parts, 1):
        for table in part.tables:
            if all((table.columns, table.rows) != (old.columns, old.rows) for old in tables):
                title = table.title if number == 1 else f"{table.title}, round {number}"
                tables.append(structs.replace(table, title=title))
    return tables


_OF_THE_END = {"cut_short", INTERRUPTED}  # flags that say how a round ended


def _flags(parts: Sequence[Result], until: Until | None, ended: str | None) -> list[str]:
    """Return the flags of any round, and how the case ended: the last round, or by ``until``."""
    names = {name for part in parts for name in part.flags} - _OF_THE_END
    if until is None:
        names |= _OF_THE_END & set(parts[-1].flags)
    elif ended in {"time", "rounds"}:
        names.add("wide")
    elif ended == STOPPED:
        names.add(INTERRUPTED)
    return [flag.name for flag in flags.FLAGS if flag.name in names]
