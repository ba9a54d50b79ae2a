"""Systems one over the other: the case that is looked at first, and each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import Comparison
from rtstone.documents.run import Result
from rtstone.report.parts.overlay import PERIODIC, Line, Plot, overlay, overlay_note
from rtstone.stats.standouts import INTERVALS

MOST = 60  # cases drawn; those with the largest effects if there are more

_Behind = Sequence[Sequence[Sequence[Result]]]  # results by row and column


class Overlays(NamedTuple):
    """The first overlay, all others, and the data of their charts."""

    lead: Plot | None
    plots: list[Plot]
    charts: dict[str, Any]


def overlays(comparison: Comparison, behind: _Behind, names: Sequence[CaseName]) -> Overlays:
    """Return the overlays of the rows that at least two systems have samples of."""
    drawable = [place for place in range(len(comparison.rows)) if len(_drawn(behind[place])) > 1]
    first = max(drawable, key=lambda place: _rank(comparison, behind, place), default=None)
    chosen = sorted(drawable, key=lambda place: -_effect(comparison, place))[:MOST]
    charts: dict[str, Any] = {}
    lead = None if first is None else _plot(comparison, behind, first, names, charts)
    plots = [
        _plot(comparison, behind, place, names, charts)
        for place in drawable
        if place in chosen and place != first
    ]
    return Overlays(lead, plots, charts)


def _drawn(columns: Sequence[Sequence[Result]]) -> list[tuple[int, list[Result]]]:
    """Return the columns with samples to draw, and their results."""
    drawn = []
    for column, results in enumerate(columns):
        if histograms := [result for result in results if result.histogram]:
            drawn.append((column, histograms))
    return drawn


def _rank(comparison: Comparison, behind: _Behind, place: int) -> tuple[float, ...]:
    """Return the rank of a row: a wake-up from a timer, on many systems, with the largest max.

    Without a wake-up it is the row with the largest effect.
    """
    results = [r for _, column in _drawn(behind[place]) for r in column]
    wakes = all(r.missed is not None and r.bench not in INTERVALS for r in results)
    top = max((r.max or 0.0) for r in results) if wakes else _effect(comparison, place)
    periodic = wakes and comparison.rows[place].bench == PERIODIC
    return wakes, periodic, len(_drawn(behind[place])), top, -place


def _effect(comparison: Comparison, place: int) -> float:
    """Return the largest ratio of a row, of what is not inconclusive."""
    effects = [e for e in comparison.rows[place].effects if e.verdict != "inconclusive" and e.ratio]
    return max((max(e.ratio, 1 / e.ratio) for e in effects if e.ratio), default=0.0)


def _plot(
    comparison: Comparison,
    behind: _Behind,
    place: int,
    names: Sequence[CaseName],
    charts: dict[str, Any],
) -> Plot:
    row, name, drawn = comparison.rows[place], names[place], _drawn(behind[place])
    lines = [Line(comparison.columns[column].label, results) for column, results in drawn]
    views = {f"c-{place}-over-{kind}": chart for kind, chart in overlay(lines, row.unit).items()}
    charts |= views
    return Plot(str(name), list(views), f"#c-{place}", overlay_note(lines))
