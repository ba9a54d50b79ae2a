"""The growth of costs as a page: the answer, and a chart for each pair, those first that grow most.

Both axes of a chart are logarithmic, so that a power of n is a straight line, as steep as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any

from rtstone.documents.growth import GrowthPair, GrowthsCompared, GrowthTable
from rtstone.report.growth import comparison, words
from rtstone.report.parts.model import Block, Chart, Charts, Notes, Page, Section, Table
from rtstone.report.parts.model_html import write
from rtstone.report.parts.shapes import short
from rtstone.stats.growth import CURVES, GAIN, MISFIT, TOLERANCE, fit
from rtstone.stats.growth_changes import growth_changes
from rtstone.units import count, counted, quantity

_METHOD = {
    "Cost": "In the lab and on models the least sample at each n: the path without a tick. On a "
    "machine the median of the least samples of rounds, each of which begins at n = 1.",
    "Class": "cost(n) = a + b g(n), a and b not negative, g one of 0, log2 n, n, n log2 n, n "
    "squared, by least squares of relative errors. The simplest that fits within "
    f"{TOLERANCE:.0%}; otherwise a larger one has to remove {GAIN:.0%} of the squared error. What "
    f"one point alone makes is no growth; beyond {MISFIT:.0%} the pair is irregular.",
    "Noise": "Where there is any, growth takes a trend over n: Page's test, corrected for the "
    "number of pairs. The class is the simplest that is within two standard errors of the best, "
    "which may leave both linear and n log n.",
    "n": "A class is about the n that were measured.",
}


def compose(tables: Sequence[GrowthTable], compared: GrowthsCompared | None) -> str:
    """Return the page as text; ``compared``: of several systems.  Raises MissingBundleError."""
    first = tables[0]
    sections = _sections(tables, compared)
    charts = [chart for section in sections for chart in section.drawn]
    names = ", ".join(table.system for table in tables)
    page = Page(
        title=f"How costs grow on {names}",
        verdict=comparison.answer(compared) if compared else words.answer(first),
        remarks=[] if compared else list(filter(None, [words.unprivileged(first)])),
        first=charts[0] if charts else None,
        sections=sections,
        method=_METHOD,
    )
    return write(page)


def _sections(tables: Sequence[GrowthTable], compared: GrowthsCompared | None) -> list[Section]:
    """Return the pairs that grow and the others, with a chart each, and the table of all."""
    rows = (compared or growth_changes(tables)).rows
    drawn = [row.pairs for row in rows if any(pair and pair.points for pair in row.pairs)]
    drawn.sort(key=lambda pairs: -max(pair.increase for pair in pairs if pair))
    grow = [
        pairs for pairs in drawn if any(p and p.growth not in {None, "constant"} for p in pairs)
    ]
    flat = [pairs for pairs in drawn if pairs not in grow]
    sections = []
    for key, title, part in (("grows", "What grows", grow), ("flat", "What does not", flat)):
        if part:
            charts = [_chart(f"{key}{i}", pairs, tables) for i, pairs in enumerate(part)]
            section = Section(
                key, title, [Charts(charts, shared=True)], short=title,
                folded="" if key == "grows" else counted(len(part), "pair"),
            )  # fmt: skip
            sections.append(section)
    if compared:
        table: list[Block] = [
            comparison.grid(compared),
            Notes(list(comparison.notes(tables, compared))),
        ]
    else:
        (only,) = tables
        texts = [*words.ends(only), words.basis(only), *words.about_worst(only)]
        table = [_table(only), Notes(texts)]
    return [*sections, Section("pairs", "All pairs", table)]


def _table(table: GrowthTable) -> Table:
    worst = any(pair.worst for pair in table.pairs)
    rows = [
        [
            words.title(pair),
            quantity(pair.points[0].cost, pair.unit),
            quantity(pair.points[-1].cost, pair.unit),
            count(pair.points[-1].n),
            words.growth(pair, exact=table.exact),
            *([words.worst(pair)] if worst else []),
        ]
        for pair in table.pairs
        if pair.points
    ]
    columns = ["service: n of what", "cost at 1", "at n", "n", "growth"]
    return Table([*columns, *(["worst"] if worst else [])], rows, texts=(4, 5) if worst else (4,))


def _chart(key: str, pairs: Sequence[GrowthPair | None], tables: Sequence[GrowthTable]) -> Chart:
    """Return the chart of a pair: its costs and the fit of its class, or the costs of each system.

    Systems with different units have costs relative to the one at their least n.
    """
    example = next(pair for pair in pairs if pair)
    units = {pair.unit for pair in pairs if pair and pair.points}
    sizes = sorted({point.n for pair in pairs if pair for point in pair.points})
    series: list[dict[str, Any]] = []
    texts = []
    for pair, table in zip(pairs, tables, strict=True):
        costs = {point.n: point.cost for point in pair.points} if pair else {}
        whole = next(iter(costs.values()), 1.0) if len(units) > 1 else 1.0
        relative = {n: cost / whole for n, cost in costs.items() if whole > 0}
        if len(tables) > 1:
            series.append(_line(table.system, relative, sizes))
        else:
            series.append({**_line("cost", relative, sizes), "dots": True})
            series.append({**_line("fit of its class", _fitted(pair), sizes), "bare": True})
        if pair and pair.points:
            growth = words.growth(pair, exact=table.exact)
            texts.append(f"{table.system}: {growth}" if len(tables) > 1 else growth)
    data = {
        "kind": "curves", "over": f"n {words.things(example)}",
        "unit": next(iter(units)) if len(units) == 1 else "times",
        "axis": "cost" if len(units) == 1 else "times the cost at the least n", "log": True,
        "ticks": [[log2(n), str(n)] for n in sizes], "names": [f"n = {n}" for n in sizes],
        "series": series,
    }  # fmt: skip
    title, note = words.title(example), "; ".join(texts)
    return Chart(key, f"Cost of {title}, over n: {note}", data, title, note=note)


def _line(name: str, costs: dict[int, float], sizes: Sequence[int]) -> dict[str, Any]:
    points = [[log2(n), short(costs[n]) if n in costs else None] for n in sizes]
    return {"name": name, "points": points}


def _fitted(pair: GrowthPair | None) -> dict[int, float]:
    """Return the cost by n that the class of a pair says; empty without a class."""
    if pair is None or pair.growth is None or pair.growth == "irregular":
        return {}
    rest = [(float(point.n), point.cost) for point in pair.points if point.n != pair.outlier]
    law = fit(rest, pair.growth)
    curve = CURVES[pair.growth]
    return {point.n: law.base + law.slope * curve(point.n) for point in pair.points}
