"""Overlays: one case on several CPUs, under several loads or on several systems, in one chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rtstone import summary
from rtstone.documents.run import Distribution, Result
from rtstone.report.parts import shapes
from rtstone.report.parts.model import Chart
from rtstone.report.parts.typeset import count, quantity
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled

COLUMNS = 120  # of a histogram
_MARKED = ", ".join(name for name in summary.COLUMNS.values() if name not in {"min", "max"})
_POINTS = f"Points of a histogram: {_MARKED}, maximum of what was observed."
_NAMED = 4  # lines of which each is named with what it missed


class Line(NamedTuple):
    """Results that are drawn as one distribution, with the name it has in the legend."""

    name: str
    results: Sequence[Result]


class _Drawn(NamedTuple):
    """The samples of a line, in ascending order; ``corrected``: with what was missed, or empty."""

    line: Line
    distribution: Distribution
    observed: list[tuple[float, int]]
    corrected: list[tuple[float, int]]


def overlay(lines: Sequence[Line], unit: str) -> dict[str, dict[str, Any]]:
    """Return chart data by kind, empty if fewer than two lines have samples to draw."""
    pools = [(line, pooled(line.results)) for line in lines]
    drawn = [
        _Drawn(line, samples, pairs, _corrected(line))
        for line, samples in pools
        if (pairs := shapes.samples(samples))
    ]
    if len(drawn) < 2:
        return {}
    behind = [(str(place), curve.corrected) for place, curve in enumerate(drawn) if curve.corrected]
    named = [(curve.line.name, curve.observed) for curve in drawn] + behind
    floor = shapes.floor_of(value for _, pairs in named for value, _ in pairs)
    totals = [curve.distribution.n for curve in drawn]
    totals += [
        sum((shapes.correction(result) or result).n for result in curve.line.results)
        for curve in drawn
        if curve.corrected
    ]
    maxima = [curve.distribution.max for curve in drawn]
    legend = ["" if top is None else f"max {quantity(top, unit)}" for top in maxima]
    common = {"unit": unit, "overlay": True, "lines": legend}
    charts = {
        "histogram": {
            "kind": "histogram", **common,
            **shapes.gridded(named, floor, COLUMNS),
            "points": [shapes.marks_of(curve.distribution) for curve in drawn],
        },
        "percentiles": {
            "kind": "percentiles", **common,
            **shapes.percentiles(named, floor, totals),
        },
    }  # fmt: skip
    for chart in charts.values():  # what is corrected is apart, each beside the number of its line
        series = chart["series"]
        chart["series"] = series[: len(drawn)]
        if behind:
            chart["corrected"] = [[int(place), *rest] for place, *rest in series[len(drawn) :]]
    return charts


def _corrected(line: Line) -> list[tuple[float, int]]:
    """Return all samples of a line with what missed activations add, empty if that is nothing."""
    each = [shapes.correction(result) for result in line.results]
    if not any(each):
        return []
    counts: Counter[float] = Counter()
    for result, corrected in zip(line.results, each, strict=True):
        for value, n in shapes.samples(corrected or result):
            counts[value] += n
    return sorted(counts.items())


def overlay_chart(
    lines: Sequence[Line], unit: str, *, key: str, title: str, words: str, link: str
) -> Chart | None:
    """Return an overlay with its note, None if fewer than two lines have samples to draw."""
    drawn = [(f"{key}-{kind}", data) for kind, data in overlay(lines, unit).items()]
    if not drawn:
        return None
    (first, data), *views = drawn
    note = overlay_note(lines)
    return Chart(first, words, data, title, views=dict(views), link=link, note=note)


def overlay_note(lines: Sequence[Line]) -> str:
    """Return the note below an overlay: what is marked, and what was missed."""
    pale, left_out = {}, {}
    for line in lines:
        missed = sum(r.missed or 0 for r in line.results)
        if any(map(shapes.correction, line.results)):
            pale[line.name] = missed
        elif missed:
            left_out[line.name] = missed
    sentences = [_POINTS]
    if pale:
        sentences.append(f"Pale: with what {_missed(pale, len(lines))} add.")
        if len(lines) <= _NAMED:
            named = [line for line in lines if line.name in pale]
            sentences += [f"{line.name} with these: {text}." for line in named
                          if (text := ", ".join(_with_missed(line)))]  # fmt: skip
    if left_out:
        sentences.append(f"Not in these curves: {_missed(left_out, len(lines))}.")
    return " ".join(sentences)


def corrected_percentiles(distribution: Distribution, unit: str) -> list[str]:
    """Return the percentiles beyond the median with the wake-ups that were missed."""
    return [
        f"{name} {quantity(value, unit)}"
        for member, name in summary.COLUMNS.items()
        if member not in {"min", "p50"} and (value := getattr(distribution, member)) is not None
    ]


def _with_missed(line: Line) -> list[str]:
    """Return the percentiles of all results of a line, with what was missed."""
    return corrected_percentiles(pooled([whole(r) for r in line.results]), line.results[0].unit)


def _missed(by: dict[str, int], lines: int) -> str:
    """Return ``8 missed activations``, and if there are few lines, of which."""
    if not (total := sum(by.values())):
        return "corrections"
    each = "; ".join(f"{name}: {count(n)}" for name, n in by.items())
    names = next(iter(by)) if len(by) == 1 else each
    return f"{count(total)} missed activations{f' ({names})' if lines <= _NAMED else ''}"
