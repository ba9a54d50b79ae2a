"""Speed against determinism: the verdicts of a comparison over all its cases, in two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.comparison import Axes, Effect, Row
from rtstone.stats.comparison.verdicts import tally

TIMED = {"ns", "instructions"}  # units in which less is faster


class Point(NamedTuple):
    """A case in both axes; ``row``: its index, ``speed``: of medians, ``spread``: of spreads."""

    row: int
    speed: Effect
    spread: Effect


def points(rows: Sequence[Row]) -> list[Point]:
    """Return each case that two systems have samples of, in times, for every two that are compared.

    A case has one whether its effects are certain or not.
    """
    cases = []
    for place, row in enumerate(rows):
        if row.unit not in TIMED or row.figure is not None:
            continue
        spreads = {(e.column, e.against): e for e in row.spreads}
        cases += [
            Point(place, effect, spreads[effect.column, effect.against])
            for effect in row.effects
            if effect.part == "median" and (effect.column, effect.against) in spreads
        ]
    return cases


def axes(rows: Sequence[Row]) -> list[Axes]:
    """Return how often each column is faster and more deterministic than what it is beside."""
    by_pair: dict[tuple[str, str | None], list[Point]] = {}
    for point in points(rows):
        by_pair.setdefault((point.speed.column, point.speed.against), []).append(point)
    return [
        Axes(
            column=column, against=against, cases=len(cases),
            speed=tally(point.speed.verdict for point in cases),
            determinism=tally(point.spread.verdict for point in cases),
        )
        for (column, against), cases in by_pair.items()
    ]  # fmt: skip
