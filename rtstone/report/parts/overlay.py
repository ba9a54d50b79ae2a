"""Overlays: one case on several CPUs, under several loads or on several systems, in one chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rtstone.documents.run import Distribution, Result
from rtstone.report.parts import shapes
from rtstone.report.parts.typeset import count, quantity
from rtstone.results.pool import pooled

COLUMNS = 120  # of a histogram
PERIODIC = "dk.periodic"  # the wake-up that is looked at first
_POINTS = "Points of a histogram: p50, p99, p99.9, maximum of what was observed."
_NAMED = 4  # lines of which each is told what it missed


class Line(NamedTuple):
    """Results that are drawn as one distribution, with the name it has in the legend."""

    name: str
    results: Sequence[Result]


@dataclass(frozen=True)
class Plot:
    """A chart in its figure.

    ``views``: the ids of its data, the first of which is drawn first; ``link``: where its numbers
    are; ``corrected``: what its second colour stands for.
    """

    title: str
    views: list[str]
    link: str = ""
    note: str = ""
    corrected: str = ""


class _Drawn(NamedTuple):
    """The samples of a line, in ascending order; ``corrected``: with what was missed, or empty."""

    line: Line
    of: Distribution
    observed: list[tuple[float, int]]
    corrected: list[tuple[float, int]]


def overlay(lines: Sequence[Line], unit: str) -> dict[str, dict[str, Any]]:
    """Return chart data by kind, empty if fewer than two lines have samples to draw."""
    of = [(line, pooled(line.results)) for line in lines]
    drawn = [
        _Drawn(line, one, pairs, _corrected(line))
        for line, one in of
        if (pairs := shapes.samples(one))
    ]
    if len(drawn) < 2:
        return {}
    behind = [(str(place), one.corrected) for place, one in enumerate(drawn) if one.corrected]
    named = [(one.line.name, one.observed) for one in drawn] + behind
    floor = shapes.floor_of(value for _, pairs in named for value, _ in pairs)
    common = {"unit": unit, "overlay": True, "lines": [_more(one.of, unit) for one in drawn]}
    made = {
        "histogram": {
            "kind": "histogram", **common,
            **shapes.gridded(named, floor, COLUMNS),
            "points": [shapes.marks_of(one.of) for one in drawn],
        },
        "percentiles": {
            "kind": "percentiles", **common,
            **shapes.percentiles(named, floor),
        },
    }  # fmt: skip
    return {kind: _split(chart, len(drawn)) for kind, chart in made.items()}


def _split(chart: dict[str, Any], lines: int) -> dict[str, Any]:
    """Return the chart with what is corrected apart, each beside the number of its line."""
    series = chart["series"]
    behind = [[int(place), *rest] for place, *rest in series[lines:]]
    return chart | {"series": series[:lines]} | ({"corrected": behind} if behind else {})


def _corrected(line: Line) -> list[tuple[float, int]]:
    """Return all samples of a line with what missed activations add, empty if that is nothing."""
    each = [shapes.correction(result) for result in line.results]
    if not any(each):
        return []
    counts: Counter[float] = Counter()
    for result, more in zip(line.results, each, strict=True):
        for value, n in shapes.samples(more or result):
            counts[value] += n
    return sorted(counts.items())


def told_below(lines: Sequence[Line]) -> str:
    """Return what is told below an overlay: what is marked, and what was missed."""
    pale, left_out = {}, {}
    for line in lines:
        missed = sum(r.missed or 0 for r in line.results)
        if any(map(shapes.correction, line.results)):
            pale[line.name] = missed
        elif missed:
            left_out[line.name] = missed
    told = [_POINTS]
    if pale:
        told.append(f"Pale: with what {_missed(pale, len(lines))} add.")
    if left_out:
        told.append(f"Not in these curves: {_missed(left_out, len(lines))}.")
    return " ".join(told)


def _missed(by: dict[str, int], lines: int) -> str:
    """Return ``8 missed activations``, and if there are few lines, of which."""
    if not (total := sum(by.values())):
        return "corrections"
    each = "; ".join(f"{name}: {count(n)}" for name, n in by.items())
    told = next(iter(by)) if len(by) == 1 else each
    return f"{count(total)} missed activations{f' ({told})' if lines <= _NAMED else ''}"


def _more(of: Distribution, unit: str) -> str:
    """Return what the legend says beside the name."""
    return "" if of.max is None else f"max {quantity(of.max, unit)}"
