"""Describe the way of a sample, as a document has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.explanation import KINDS, Function, Kind, Sample, Segment, Span, Stack, Way
from rtstone.documents.run import Result
from rtstone.explain import stacks
from rtstone.explain.samples import Moment
from rtstone.results.ticks import INSTRUCTIONS, Net
from rtstone.units import count

MOST_SPANS = 20_000
LEAST_NAMED = 0.2  # of a sample, which a function takes that the sentence names


class Followed(NamedTuple):
    """The way of a sample, as executed."""

    moment: Moment
    tree: stacks.Tree
    slices: list[stacks.Slice]
    segments: list[Segment]


def described(result: Result, place: int, followed: Followed) -> Way:
    """Return the way as a document has it."""
    moment, tree, slices, parts = followed
    spent: Counter[int] = Counter()
    for span in slices:
        spent[span.node] += span.n
    every = spans(tree, slices)
    shortest = sorted((span.length for span in every), reverse=True)[:MOST_SPANS][-1]
    shortest = shortest + 1 if len(every) > MOST_SPANS else 0
    return Way(
        sample=sample_of(result, place, moment.length),
        segments=parts,
        stacks=[Stack(frames=tree.frames(node), cost=n) for node, n in sorted(spent.items())],
        spans=[span for span in every if span.length >= shortest],
        shortest=shortest,
    )


def sample_of(result: Result, place: int, raw: float) -> Sample:
    """Return a sample of a result by its place among all and its raw value."""
    worst = next((sample for sample in result.worst if sample.index == place), None)
    if worst is not None:
        return Sample(index=place, at_s=worst.at_s, value=worst.value, raw=raw)
    overhead = 0.0
    if (grid := result.grid) is not None:
        whole = result.unit == INSTRUCTIONS
        overhead = Net(grid.overhead, grid.per_tick, whole=whole).gross(grid.overhead)
    return Sample(index=place, at_s=None, value=raw - overhead, raw=raw)


def spans(tree: stacks.Tree, slices: Sequence[stacks.Slice]) -> list[Span]:
    """Return each call of a function within a way, in order of time, outer ones first.

    A function that was entered before begins with the way, one that goes on after it ends with it.
    """
    calls: list[tuple[int, int, int, str]] = []
    running: list[tuple[int, str]] = []  # start and name of those on the stack
    at = 0

    def end(depth: int) -> None:
        while len(running) > depth:
            start, name = running.pop()
            calls.append((start, len(running), at - start, name))

    for piece in slices:
        frames = tree.frames(piece.node)
        same = 0
        while same < min(len(running), len(frames)) and running[same][1] == frames[same]:
            same += 1
        if piece.entered and same == len(frames):
            same -= 1
        end(same)
        running += [(at, name) for name in frames[same:]]
        at += piece.n
    end(0)
    return [Span(start, length, depth, name) for start, depth, length, name in sorted(calls)]


def functions(way: Way, against: Way | None) -> list[Function]:
    """Return what was spent in each function of both ways, the most first."""
    own, total = _spent(way)
    other_own, other_total = _spent(against) if against else (Counter(), Counter())
    names = sorted(total | other_total, key=lambda name: (-own[name], -total[name], name))
    return [
        Function(
            name=name,
            own=own[name],
            total=total[name],
            against_own=other_own[name] if against else None,
            against_total=other_total[name] if against else None,
        )
        for name in names
    ]


def _spent(way: Way) -> tuple[Counter[str], Counter[str]]:
    """Return what was spent in each function, and with all that it called."""
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack in way.stacks:
        cost = round(stack.cost)
        own[stack.frames[-1]] += cost
        total.update(dict.fromkeys(stack.frames, cost))
    return own, total


def sentence(way: Way) -> str:
    """Return the answer: what most of the sample was spent on, and in which function most of it.

    Where no function of its own took long, it is the innermost one that lasted all the while.
    """
    spent: Counter[Kind] = Counter()
    for segment in way.segments:
        spent[segment.kind] += round(segment.length)
    if not spent.total():
        return "0 instructions: it ended where it began"
    kind, n = spent.most_common(1)[0]
    value, raw = way.sample.value, way.sample.raw
    clock = "" if value > 0 else "no more than reading the clock, "
    length = f"{clock}{count(value if value > 0 else raw)} instructions"
    text = f"{length}, {n / raw:.0%} of them {KINDS[kind]}"
    own, _ = _spent(way)
    name, most = stacks.most_first(own)[0]
    if most >= LEAST_NAMED * raw:
        inner = (stack for stack in way.stacks if stack.frames[-1] == name)
        callers = max(inner, key=lambda stack: stack.cost).frames[:-1]
        return f"{text}; {name} ran for {count(most)}{_called_by(callers)}"
    longest = max((s for s in way.segments if s.kind == kind), key=lambda s: s.length)
    if longest.length < LEAST_NAMED * raw or not longest.stack:
        return text
    *callers, name = longest.stack
    return f"{text}; {count(longest.length)} within {name}{_called_by(callers)}"


def _called_by(callers: Sequence[str]) -> str:
    """Return the nearest callers in words, empty without any; ``callers``: outermost first."""
    return f", called by {' < '.join(reversed(callers[-3:]))}" if callers else ""
