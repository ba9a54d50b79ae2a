"""Overlays: one case on several CPUs, under several loads or on several systems, in one chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rtstone.documents.run import Distribution, Result
from rtstone.report.parts import shapes
from rtstone.report.parts.typeset import quantity

COLUMNS = 120  # of a histogram
PERIODIC = "dk.periodic"  # the wake-up that is looked at first
POINTS = "Points of a histogram: p50, p99, p99.9, maximum."


class Line(NamedTuple):
    """A distribution with the name it has in the legend."""

    name: str
    of: Result | Distribution


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


def overlay(lines: Sequence[Line], unit: str) -> dict[str, dict[str, Any]]:
    """Return chart data by kind, empty if fewer than two lines have samples to draw."""
    drawn = [(line, pairs) for line in lines if (pairs := shapes.samples(line.of))]
    if len(drawn) < 2:
        return {}
    values = [value for _, pairs in drawn for value, _ in pairs]
    floor = shapes.floor_of(values)
    named = [(line.name, pairs) for line, pairs in drawn]
    common = {"unit": unit, "overlay": True, "lines": [_more(line.of, unit) for line, _ in drawn]}
    return {
        "histogram": {
            "kind": "histogram", **common,
            **shapes.gridded(named, floor, COLUMNS),
            "points": [shapes.marks_of(line.of) for line, _ in drawn],
        },
        "percentiles": {
            "kind": "percentiles", **common,
            **shapes.percentiles(named, floor),
        },
    }  # fmt: skip


def _more(of: Result | Distribution, unit: str) -> str:
    """Return what the legend says beside the name."""
    return "" if of.max is None else f"max {quantity(of.max, unit)}"
