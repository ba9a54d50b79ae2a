"""The charts of a comparison: ratios, systems one over the other, systems by load, and ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import WOKEN, Comparison
from rtstone.documents.run import Result
from rtstone.report.comparison import axes, words
from rtstone.report.comparison.forest import NARROWEST, extent
from rtstone.report.comparison.page import compared
from rtstone.report.comparison.words import Judged, number_of
from rtstone.report.parts.model import (
    Block,
    Cell,
    Chart,
    Charts,
    Finding,
    Findings,
    Page,
    Section,
    Table,
)
from rtstone.report.parts.overlay import Line, overlay_chart
from rtstone.report.parts.shapes import range_chart, range_row
from rtstone.report.parts.typeset import typeset
from rtstone.units import count, seconds

LARGEST, LEAST = 12, 4  # effects in the chart of ratios: in all, and of each system
MOST = 60  # cases whose distributions are drawn; those with the largest effects if there are more
APART = 3  # a maximum this many times the next largest hides the others in a chart
_SHARP = 100.0  # an interval wider than this factor to either side says nothing about the size

_Behind = Sequence[Sequence[Sequence[Result]]]  # results by row and column


def charted(comparison: Comparison, behind: _Behind) -> Page:
    """Return the page with its charts; ``behind``: results by row and column."""
    page, names = compared(comparison), words.row_names(comparison)
    overlays = _overlays(comparison, behind, names)
    first = overlays.pop(0) if overlays else None
    sections = [*_ratios(comparison, names), *_axes(comparison, names), *page.sections]
    if overlays:
        sections.append(Section(
            "compared-overlays", "One system over the other", [Charts(overlays)],
            "The names switch their lines off and on.", short="Overlays",
            folded=f"{len(overlays)} more distributions",
        ))  # fmt: skip
    if tables := list(_by_load(comparison, names)):
        sections.append(Section(
            "compared-loads", "System by load", tables,
            "The maximum and, below it, the median under each load.", folded="maximum and median",
        ))  # fmt: skip
    if ranges := list(_ranges(comparison, names)):
        sections.append(Section(
            "compared-ranges", "Ranges by system",
            [Charts(ranges, legend=[column.label for column in comparison.columns])],
            "From minimum to maximum on a logarithmic axis. Circle: median; bar: to p99; "
            "diamond: maximum.",
            folded="from minimum to maximum",
        ))  # fmt: skip
    facts = [Finding(system.texts[0], system.head.label) for system in page.systems]
    facts += [Finding(value, f"equal: {name}") for name, value in page.facts]
    sections.append(Section(
        "compared-conditions", "What was compared", [Findings(facts)],
        folded="runs, and what they have in common",
    ))  # fmt: skip
    return page._replace(first=first, sections=sections)


def _ratios(comparison: Comparison, names: Sequence[CaseName]) -> Iterator[Section]:
    """Yield the chart of the largest ratios: of what differs, else of what is most likely to."""
    effects = words.judged(comparison, names)
    certain = any(entry.effect.verdict in ("better", "worse") for entry in effects)

    def drawable(entry: Judged) -> bool:
        """Return True if a ratio is drawn: it differs, or its interval is narrow enough."""
        e = entry.effect
        if certain or not e.ratio:
            return bool(e.ratio) and e.verdict in ("better", "worse")
        sharp = e.ci95 and e.ci95[0] > e.ratio / _SHARP and e.ci95[1] < e.ratio * _SHARP
        return bool(sharp) and e.verdict == "inconclusive"

    systems = list(dict.fromkeys(entry.system for entry in effects))
    shown: list[Judged] = []
    for system in systems:
        own = [entry for entry in effects if entry.system == system and drawable(entry)]
        own.sort(key=lambda entry: -entry.weight)
        shown += own[: max(LARGEST // len(systems), LEAST)]
    if not shown:
        return
    rows = []
    for entry in shown:
        e = entry.effect
        label = f"{entry.name}: {entry.statistic}".removesuffix(": ")
        interval = entry.interval or ("exact" if e.basis == "exact" else "not known")
        texts = {"verdict": entry.verdict, "change": entry.change, "interval": interval}
        rows.append({
            "label": f"{label} · {entry.system}" if len(systems) > 1 else label,
            "ratio": e.ratio, "ci95": e.ci95, "verdict": e.verdict, "link": f"#c-{entry.place}",
            "told": [[name, typeset(text)] for name, text in texts.items()],
        })  # fmt: skip
    most, widest = extent(entry.effect for entry in shown)
    end = max(most * 1.1, min(widest * 1.05, most * 3), NARROWEST)  # intervals within reason
    labels = [column.label for column in comparison.columns]
    data = {"kind": "ratios", "over": "ratio", "end": end, "rows": rows}
    way = "Right: more, left: less." if certain else "Dashed and hollow: inconclusive."
    yield Section(
        "compared-largest",
        "The largest differences" if certain else "The largest ratios, none of them certain",
        [Chart("c-ratios", f"The largest ratios, with intervals: {', '.join(labels)}", data)],
        f"Beside “{labels[0]}”, with their intervals on a logarithmic axis. {way} An arrow: the "
        "interval goes on.",
        short="Differences",
    )


def _axes(comparison: Comparison, names: Sequence[CaseName]) -> Iterator[Section]:
    """Yield the chart of speed against determinism of each two systems that are compared."""
    several = axes.pairs(comparison, names)
    if not several:
        return
    blocks: list[Block] = []
    for number, pair in enumerate(several):
        caption = f"{pair.system} beside {pair.other}" if len(several) > 1 else ""
        blocks += axes.blocks(pair, f"c-axes-{number}", caption)
    yield Section("compared-axes", axes.TITLE, blocks, axes.READING, short="Determinism")


# ---- one system over the other ------------------------------------------------------------------


def _overlays(comparison: Comparison, behind: _Behind, names: Sequence[CaseName]) -> list[Chart]:
    """Return the cases that two systems have samples of, that which differs most before all.

    Where wake-ups decide it is one of these, of several systems one that the best of them ran;
    where nothing differs, it is the case that decides.
    """
    drawn = [
        [(column, own) for column, results in enumerate(columns)
         if (own := [result for result in results if result.histogram])]
        for columns in behind
    ]  # fmt: skip
    drawable = [place for place, columns in enumerate(drawn) if len(columns) > 1]

    def effect(place: int) -> float:
        """Return the largest ratio of a row, of what is not inconclusive."""
        effects = (e for e in comparison.rows[place].effects if e.verdict != "inconclusive")
        return max((max(e.ratio, 1 / e.ratio) for e in effects if e.ratio), default=0.0)

    deciding = {
        row: case.kind for case in comparison.main for entry in case.effects for row in entry.rows
    }
    best = next((case.final for case in comparison.main if case.final), None)
    woken = {comparison.rows[row].bench for row, kind in deciding.items() if kind == WOKEN}

    def rank(place: int) -> tuple[float, ...]:
        row = comparison.rows[place]
        weights = (e.weight for e in row.effects if e.verdict in ("better", "worse"))
        differs = max(weights, default=0.0)
        columns = [comparison.columns[column].label for column, _ in drawn[place]]
        ran = best is None or best in columns
        return row.bench in woken, ran, differs, place in deciding, len(columns), -place

    if not drawable:
        return []
    first = max(drawable, key=rank)
    chosen = sorted(drawable, key=lambda place: -effect(place))[:MOST]
    charts = []
    for place in (first, *(p for p in drawable if p in chosen and p != first)):
        lines = [Line(comparison.columns[column].label, own) for column, own in drawn[place]]
        words = f"Histograms of {names[place]} by system, both axes logarithmic"
        charts.append(overlay_chart(
            lines, comparison.rows[place].unit, key=f"c-{place}-over", title=str(names[place]),
            words=words, link=f"#c-{place}",
        ))  # fmt: skip
    return [chart for chart in charts if chart]


# ---- systems by load ----------------------------------------------------------------------------


def _by_load(comparison: Comparison, names: Sequence[CaseName]) -> Iterator[Table]:
    """Yield a table for each case that was run under several loads."""
    cases: dict[tuple[str, str], list[int]] = {}
    for place, (row, name) in enumerate(zip(comparison.rows, names, strict=True)):
        if row.figure is None:
            cases.setdefault((name.without_load, row.unit), []).append(place)
    for (title, _), places in cases.items():
        if len(places) < 2:
            continue
        rows = [comparison.rows[place] for place in places]
        counts = {count(cell.n) for row in rows for cell in row.cells if cell and cell.n}
        table: list[list[str | Cell]] = []
        for system, column in enumerate(comparison.columns):
            cells: list[str | Cell] = [column.label]
            for row in rows:
                cell = row.cells[system]
                if cell is None or not cell.n:
                    cells.append(cell.status if cell else words.NOT_RUN)
                    continue
                below = [number_of(cell, "p50", row.unit)]
                below += [f"n {words.samples_text(cell)}"] if len(counts) > 1 else []
                below += [f"missed {number_of(cell, 'missed', row.unit)}"] if cell.missed else []
                below += [] if cell.status == "ok" else [cell.status]
                cells.append(Cell(number_of(cell, "max", row.unit), ", ".join(below)))
            table.append(cells)
        each = f": n {counts.pop()} each" if len(counts) == 1 else ""
        yield Table(["system", *(row.load for row in rows)], table, title + each)


# ---- ranges -------------------------------------------------------------------------------------


def _ranges(comparison: Comparison, names: Sequence[CaseName]) -> Iterator[Chart]:
    """Yield a chart of each bench and unit, and one without a system that hides the others."""
    benches: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}  # by bench and unit
    for place, (row, name) in enumerate(zip(comparison.rows, names, strict=True)):
        for system, (column, cell) in enumerate(zip(comparison.columns, row.cells, strict=True)):
            if cell is None or row.figure is not None:
                continue
            parts = (name.label, column.label)
            entry = range_row(
                cell,
                id=f"c-{place}",
                label=" · ".join(filter(None, parts)),
                system=system,
                load=row.load,
                time=None if cell.section_s is None else typeset(seconds(cell.section_s)),
            )
            if entry:
                benches.setdefault((row.bench, row.unit), []).append((system, entry))
    charts: list[tuple[str, str, list[dict[str, Any]]]] = []
    for (bench, unit), entries in benches.items():
        charts.append((bench, unit, [entry for _, entry in entries]))
        tops: dict[int, float] = {}
        for system, entry in entries:
            if entry["at"][-1] is not None:
                tops[system] = max(entry["at"][-1], tops.get(system, entry["at"][-1]))
        ordered = sorted(tops, key=lambda system: tops[system])
        if len(ordered) > 2 and tops[ordered[-1]] >= APART * tops[ordered[-2]] > 0:
            slowest = ordered[-1]
            caption = f"{bench} without {comparison.columns[slowest].label}, the slowest"
            rest = [entry for system, entry in entries if system != slowest]
            charts.append((caption, unit, rest))
    for number, (caption, unit, rows) in enumerate(charts):
        title = f"Ranges of {caption} by system; the table of the comparison holds the same numbers"
        yield Chart(f"c-ranges-{number}", title, range_chart(unit, rows), caption)
