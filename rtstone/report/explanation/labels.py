"""The words and numbers of an explanation, shared by terminal and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rtstone.documents.explanation import CAUSES, KINDS, Explanation, Function, Kind, Segment, Way
from rtstone.documents.run import Result, Run
from rtstone.report.parts import words
from rtstone.units import SYMBOLS, count, counted, quantity, seconds

_NAMED = 8  # innermost functions of a stack
_LEAST = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.1)  # shares of the whole
SOURCES = {
    "replay": "By replay: the run was repeated, and every instruction of this way counted.",
    "trace": "From a trace of the live system.",
}


def result_of(explanation: Explanation, run: Run) -> int | None:
    """Return the index of the result that the sample is of, None if the run has no such result."""
    of = explanation.case, explanation.bench, explanation.series, explanation.load
    keys = [(r.case, r.bench, r.series, r.load) for r in run.results]
    return keys.index(of) if of in keys else None


def title(explanation: Explanation, run: Run) -> str:
    """Return the bench with what distinguishes the result from others of it, and the load."""
    place = result_of(explanation, run)
    if place is None:
        return ", ".join(filter(None, (_bench(explanation), f"load {explanation.load}")))
    return of_result(run, run.results[place])


def _bench(explanation: Explanation) -> str:
    return f"{explanation.bench} {explanation.series}".rstrip()


def of_result(run: Run, result: Result) -> str:
    """Return how a result of a run is called, with its load."""
    label = words.labels(run)[run.results.index(result)].removesuffix(f"load={result.load}")
    return f"{result.bench} {label}".strip() + f", load {result.load}"


def sample(way: Way, unit: str) -> str:
    """Return which sample it is, when it was taken, and its value."""
    one = way.sample
    when = "" if one.at_s is None else f", {seconds(one.at_s)} after the start"
    return f"sample {count(one.index)}{when}: {quantity(one.value, unit)}"


def told(explanation: Explanation, run: Run) -> Iterator[str]:
    """Yield what is explained and how it was found, a sentence each."""
    unit, way = explanation.unit, explanation.way
    yield f"{title(explanation, run)}; {sample(way, unit)}."
    raw = f"{amount(way.sample.raw)} {symbol(unit)}"
    yield f"Since it was due, {raw} have passed up to its time stamp: the sum of the parts below."
    if (against := explanation.against) is not None:
        yield f"Held against {sample(against, unit)}."
    yield " ".join([SOURCES[explanation.source], *_certainty(explanation)])


def _certainty(explanation: Explanation) -> Iterator[str]:
    if explanation.resolution:
        yield f"Parts are exact within {quantity(explanation.resolution, explanation.unit)}."
    if explanation.lost is not None:
        lost = counted(explanation.lost, "event")
        yield f"The tracer lost {lost}." if explanation.lost else "No event was lost."


# ---- numbers ------------------------------------------------------------------------------------


def symbol(unit: str) -> str:
    """Return a unit as it stands beside a number."""
    return SYMBOLS.get(unit, unit)


def amount(value: float) -> str:
    """Return a number in its unit with all its digits, so that sums can be checked."""
    return count(round(value))


def change(value: float) -> str:
    """Return a difference with its sign."""
    return f"+{amount(value)}" if round(value) > 0 else amount(value)


def share(part: float, whole: float) -> str:
    """Return a share in per cent; what is not nothing is not 0."""
    percent = 100 * part / whole if whole > 0 else 0.0
    return "<0.1%" if 0 < percent < 0.05 else f"{percent:.1f}%"


# ---- segments -----------------------------------------------------------------------------------


class Part(NamedTuple):
    """A segment in words.  ``start`` and ``length`` are whole, and the lengths add up."""

    kind: Kind
    name: str
    start: int
    length: int
    by: str
    stack: Sequence[str]


def parts(segments: Sequence[Segment]) -> list[Part]:
    """Return segments in words, their ends rounded instead of their lengths."""
    return [
        Part(one.kind, _named(one), start := round(one.start),
             round(one.start + one.length) - start, _by(one), one.stack)
        for one in segments
    ]  # fmt: skip


def _named(segment: Segment) -> str:
    """Return what a segment is, with where its time went if not to what had the CPU."""
    kind = KINDS[segment.kind]
    return kind if segment.cause == "code" else f"{kind}: {CAUSES[segment.cause]}"


def _by(segment: Segment) -> str:
    """Return who ran in a segment; of time that went elsewhere: who had the CPU."""
    if segment.cause == "code" or not segment.by:
        return segment.by or ""
    return f"{segment.by} had the CPU"


def shortened(found: Sequence[Part], most: int) -> list[Part]:
    """Return at most so many parts: short ones that follow each other become one if need be."""
    rows, whole = list(found), sum(part.length for part in found)
    for least in _LEAST:
        if len(rows) <= most:
            break
        groups = groupby(found, key=lambda part: part.length < least * whole)
        rows = [row for short, group in groups for row in (_one([*group]) if short else group)]
    return rows


def _one(short: Sequence[Part]) -> list[Part]:
    """Return one part for several, with their names and their length together."""
    if len(short) == 1:
        return [*short]
    longest = max(short, key=lambda part: part.length)
    names = ", ".join(dict.fromkeys(part.name for part in short))
    length = sum(part.length for part in short)
    name = counted(len(short), "short part")
    return [Part(longest.kind, name, short[0].start, length, names, [])]


def by_kind(found: Sequence[Part]) -> str | None:
    """Return what the parts of each kind add up to, None if there is only one of each."""
    lengths: Counter[str] = Counter()
    for part in found:
        lengths[part.name] += part.length
    if len(lengths) == len(found):
        return None
    whole = sum(lengths.values())
    each = (f"{name} {amount(n)} ({share(n, whole)})" for name, n in lengths.most_common())
    return f"In all: {', '.join(each)}."


def chain(stack: Sequence[str], most: int = _NAMED) -> str:
    """Return a stack in a line, outermost function first, without most of the outermost ones."""
    left = len(stack) - most
    names = " > ".join(stack[left:] if left > 1 else stack)
    return f"{left} more > {names}" if left > 1 else names


def unaccounted(way: Way, resolution: float) -> str | None:
    """Return by how much the segments do not add up to the sample, None if they do."""
    gap = way.sample.raw - sum(segment.length for segment in way.segments)
    if abs(gap) <= max(resolution, 0.5):
        return None
    return f"The parts do not add up: {change(gap)} are not accounted for."


# ---- functions ----------------------------------------------------------------------------------


def difference(function: Function) -> float:
    """Return what a function itself cost more than in the other sample."""
    return function.own - (function.against_own or 0)


def rest(functions: Sequence[Function], shown: int, whole: float) -> str | None:
    """Return what functions beyond the first ones cost together, None if there are no others."""
    others = functions[shown:]
    if not others:
        return None
    own = share(sum(function.own for function in others), whole)
    return f"and {counted(len(others), 'more function')}, {own} in all"
