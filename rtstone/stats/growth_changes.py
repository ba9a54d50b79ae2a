"""Compare how costs grow on several systems: two kernels, or a machine beside the lab.

Classes are compared also where one system counts instructions and another measures time: the lab
has the class of the algorithm, a machine that of what one pays, caches included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key
from rtstone.documents.growth import (
    GrowthPair,
    GrowthRow,
    GrowthsCompared,
    GrowthSystem,
    GrowthTable,
    GrowthVerdict,
)
from rtstone.stats.growth import OVER, TOLERANCE, UNDECIDED

ORDER: tuple[GrowthVerdict, ...] = ("class", "slope", "unseen", "same", "unknown")


class _Place(NamedTuple):
    """A pair on a system; None if it was not measured there."""

    pair: GrowthPair | None
    exact: bool


def growth_changes(tables: Sequence[GrowthTable]) -> GrowthsCompared:
    """Return the pairs of all systems beside each other, compared with the first system."""
    by_key = [{_key(pair): pair for pair in table.pairs if pair.over} for table in tables]
    rows = []
    for key in dict.fromkeys(key for pairs in by_key for key in pairs):
        places = [
            _Place(pairs.get(key), table.exact) for pairs, table in zip(by_key, tables, strict=True)
        ]
        pairs = [place.pair for place in places]
        example = next(pair for pair in pairs if pair is not None)
        rows.append(
            GrowthRow(
                bench=example.bench,
                service=example.service,
                over=example.over,
                load=example.load,
                params=example.params,
                pairs=pairs,
                verdicts=[_verdict(places[0], place) for place in places[1:]],
            )
        )
    systems = [
        GrowthSystem(
            system=table.system, target=table.target, runs=table.runs, seeds=table.seeds,
            exact=table.exact,
        )
        for table in tables
    ]  # fmt: skip
    return GrowthsCompared(systems=systems, rows=sorted(rows, key=_rank))


def _key(pair: GrowthPair) -> CaseKey:
    params = {**pair.params, OVER: pair.over}
    return case_key(pair.bench, params, load=pair.load, ignoring=ANOTHER_RUN)


def _verdict(first: _Place, other: _Place) -> GrowthVerdict:
    pair, against = other.pair, first.pair
    if pair is None or against is None or pair.growth is None or against.growth is None:
        return "unknown"
    classes = {pair.growth, against.growth}
    if UNDECIDED in classes and classes <= {UNDECIDED, "linear", "n log n"}:
        return "same"
    if len(classes) > 1:
        flat = ((place.pair, place.exact) for place in (first, other))
        hidden = any(p is not None and p.growth == "constant" and not exact for p, exact in flat)
        return "unseen" if hidden else "class"
    ranges = (pair.low, pair.high, against.low, against.high)
    if pair.unit == against.unit and None not in ranges:
        low, high, least, most = (value or 0.0 for value in ranges)
        if high < (1 - TOLERANCE) * least or most < (1 - TOLERANCE) * low:
            return "slope"
    return "same"


def _rank(row: GrowthRow) -> tuple[int, float]:
    """Return a key that sorts by the first verdict of ``ORDER``, then by how much costs grow."""
    return (
        min(map(ORDER.index, row.verdicts), default=0),
        -max(pair.increase for pair in row.pairs if pair is not None),
    )
