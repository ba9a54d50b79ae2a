"""The words and numbers of an explanation, shared by terminal and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rtstone.documents.case_name import result_names
from rtstone.documents.explanation import (
    CAUSES,
    KINDS,
    AllSamples,
    Explanation,
    Function,
    Kind,
    Segment,
    Way,
)
from rtstone.documents.run import Run
from rtstone.report.parts.model import Cell, Table
from rtstone.units import SYMBOLS, count, counted, quantity, seconds

_NAMED = 8  # innermost functions of a stack
_LEAST = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.1)  # shares of the whole
SOURCES = {
    "replay": "By replay: the run was repeated, and every instruction of this way counted.",
    "trace": "From a trace of the live system.",
}


def result_of(explanation: Explanation, run: Run) -> int | None:
    """Return the index of the result that the sample is of, None if the run has no such result."""
    key = explanation.case, explanation.bench, explanation.series, explanation.load
    keys = [(r.case, r.bench, r.series, r.load) for r in run.results]
    return keys.index(key) if key in keys else None


def title(explanation: Explanation, run: Run) -> str:
    """Return the bench with what distinguishes the result from others of it, and the load."""
    place = result_of(explanation, run)
    if place is None:
        return f"{explanation.bench} {explanation.series}".rstrip() + f", load {explanation.load}"
    return result_names(run)[place].with_load


def sample(way: Way, unit: str) -> str:
    """Return which sample it is, when it was taken, and its value."""
    worst = way.sample
    when = "" if worst.at_s is None else f", {seconds(worst.at_s)} after the start"
    return f"{numbered(way)}{when}: {quantity(worst.value, unit)}"


def numbered(way: Way) -> str:
    """Return which sample it is."""
    return f"sample {count(way.sample.index)}"


def basis(explanation: Explanation, run: Run) -> Iterator[str]:
    """Yield what is explained and how it was found, a sentence each."""
    unit, way = explanation.unit, explanation.way
    yield f"{title(explanation, run)}; {sample(way, unit)}."
    raw = f"{amount(way.sample.raw)} {symbol(unit)}"
    yield f"Since it was due, {raw} have passed up to its time stamp: the sum of the parts below."
    if (against := explanation.against) is not None:
        yield f"Compared with {sample(against, unit)}."
    origin = [SOURCES[explanation.source]]
    if explanation.resolution:
        origin.append(f"Parts are exact within {quantity(explanation.resolution, unit)}.")
    if explanation.lost:
        origin.append(f"The tracer lost {counted(explanation.lost, 'event')}.")
    elif explanation.lost is not None:
        origin.append("No event was lost.")
    yield " ".join(origin)


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
    """Return a share in per cent; a small one is ``<0.1%``, never 0."""
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
    """Return segments in words, their ends rounded instead of their lengths.

    The name says where the time went if not to what had the CPU; ``by``: who then had the CPU.
    """
    worded = []
    for segment in segments:
        name, by = KINDS[segment.kind], segment.by or ""
        if segment.cause != "code":
            name = f"{name}: {CAUSES[segment.cause]}"
            by = f"{by} had the CPU" if by else ""
        start = round(segment.start)
        length = round(segment.start + segment.length) - start
        worded.append(Part(segment.kind, name, start, length, by, segment.stack))
    return worded


def shortened(every: Sequence[Part], most: int) -> list[Part]:
    """Return at most so many parts: short ones that follow each other become one if need be."""
    rows, whole = list(every), sum(part.length for part in every)
    for least in _LEAST:
        if len(rows) <= most:
            break
        rows = []
        for short, group in groupby(every, key=lambda part: part.length < least * whole):
            parts = list(group)
            if short and len(parts) > 1:
                longest = max(parts, key=lambda part: part.length)
                names = ", ".join(dict.fromkeys(part.name for part in parts))
                length = sum(part.length for part in parts)
                name = counted(len(parts), "short part")
                parts = [Part(longest.kind, name, parts[0].start, length, names, [])]
            rows += parts
    return rows


def by_kind(every: Sequence[Part]) -> str | None:
    """Return what the parts of each kind add up to, None if there is only one of each."""
    lengths: Counter[str] = Counter()
    for part in every:
        lengths[part.name] += part.length
    if len(lengths) == len(every):
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


def costs(explanation: Explanation, functions: Sequence[Function]) -> Table:
    """Return the table of functions, with the difference to the other sample if there is one."""
    whole, beside = explanation.way.sample.raw, explanation.against is not None
    rows = []
    for function in functions:
        bar = min(100.0, max(0.0, 100 * function.own / whole)) if whole > 0 else 0.0
        row: list[str | Cell] = [
            Cell(function.name, code=True),
            Cell(amount(function.own), share=bar), share(function.own, whole),
            amount(function.total), share(function.total, whole),
        ]  # fmt: skip
        row += [change(function.own - (function.against_own or 0))] if beside else []
        rows.append(row)
    columns = ["function", "own", "share", "total", "share"]
    return Table([*columns, *(["own, difference"] if beside else [])], rows, narrow=True)


def all_costs(samples: AllSamples, most: int) -> Table:
    """Return the table of what functions cost in all samples of the case."""
    rows = [
        (Cell(name, code=True), count(cost), share(cost, samples.cost))
        for name, cost in samples.functions[:most]
    ]
    return Table(("function", "cost", "share"), rows, narrow=True)


def endings(samples: AllSamples, most: int) -> Table:
    """Return the table of what the worst samples had waited for last."""
    rows = [
        (Cell(ending.name, code=True), count(ending.samples), share(ending.samples, samples.worst))
        for ending in samples.endings[:most]
    ]
    return Table(("function", "samples", "share"), rows, narrow=True)


def rest(functions: Sequence[Function], shown: int, whole: float) -> str | None:
    """Return what functions beyond the first ones cost together, None if there are no others."""
    hidden = functions[shown:]
    if not hidden:
        return None
    own = share(sum(function.own for function in hidden), whole)
    return f"and {counted(len(hidden), 'more function')}, {own} in all"
