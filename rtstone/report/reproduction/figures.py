"""Figures of a reproduction: bars and charts, as those of the publication."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rtstone.documents.reproduction import Figure, Item, Table, counted_units, drawn_number
from rtstone.documents.run import Result, Trace
from rtstone.report.parts.model import Bar, Bars, Block, Chart, Charts, Head, Notes, Section
from rtstone.report.parts.shapes import charts, short
from rtstone.report.reproduction import text as words
from rtstone.stats.reproduce import Reproduced
from rtstone.units import CLOCK

MOMENTS = 200  # most points of a curve over time
TRACE_ROWS = 200
FAR_APART = 30  # ratio of the largest bar to the smallest at which an axis is logarithmic
NOTE = "A line for each system: at each point the largest sample from there to the next."


def figures(reproduced: Reproduced, number: int) -> list[Block]:
    """Return the figures of a table, a section each."""
    table = reproduced.document.tables[number]
    sections: list[Block] = []
    for place, figure in enumerate(table.figures):
        key = f"t{number}-f{place}"
        if figure.kind == "bars":
            sections += _bars(table, figure, key)
        elif figure.kind == "trace":
            sections += _over_time(reproduced, number, figure, key)
        elif figure.kind == "curves" and (drawn := _curves(table, figure)):
            for unit, data in drawn.items():
                names = [series["name"] for series in data["series"]]
                title = figure.title if unit == "ns" else f"{figure.title}, in {unit}"
                chart = Chart(f"{key}-{unit}", title, data)
                sections.append(Section(f"{key}-{unit}", title, [Charts([chart], legend=names)]))
        else:
            sections.append(_of_results(reproduced, number, figure, key))
    return sections


def _of_results(reproduced: Reproduced, number: int, figure: Figure, key: str) -> Section:
    """Return a chart for each system that has results behind the cells of a table."""
    table = reproduced.document.tables[number]
    seen: list[list[Result]] = []
    drawn: list[Chart] = []
    missing: list[str] = []
    legend: list[str] = []
    for (at, _, system), results in reproduced.results.items():
        if at != number or results in seen:
            continue
        seen.append(results)
        name = table.systems[system].label
        data = next(
            (data for r in results if (data := charts(r, TRACE_ROWS).get(figure.kind))), None
        )
        if data is None:
            missing.append(f"{name}: no deadline was missed")
            continue
        drawn.append(Chart(f"{key}-{len(drawn)}", f"{figure.title}: {name}", data, name))
        names = [series["name"] for series in data.get("series", [])]
        if len(names) > max(1, len(legend)):
            legend = names
    return _section(key, figure.title, drawn, legend, missing)


def _section(
    key: str, title: str, drawn: list[Chart], legend: list[str], notes: list[str]
) -> Section:
    blocks: list[Block] = [Charts(drawn, legend=legend)] if drawn else []
    return Section(key, title, [*blocks, Notes(notes, "small")])


# ---- over time ----------------------------------------------------------------------------------


def _over_time(reproduced: Reproduced, number: int, figure: Figure, key: str) -> Iterator[Section]:
    """Yield a figure for each unit: a graph per item, with a line for each system."""
    table = reproduced.document.tables[number]
    traces_by_unit: dict[str, dict[tuple[int, int], Trace]] = {}  # then by item and system
    for (at, place, system), results in reproduced.results.items():
        for result in results[:1] if at == number else []:
            if result.trace and result.trace.rows:
                traces_by_unit.setdefault(result.unit, {})[place, system] = result.trace
    for unit, lines in traces_by_unit.items():
        tops: dict[int, float] = {}  # the largest sample of each system
        for (_, system), trace in sorted(lines.items()):
            top = max(row[4] for row in trace.rows)
            tops[system] = max(top, tops.get(system, top))
        systems = sorted(tops)
        title = figure.title if unit == "ns" else f"{figure.title}, in {unit}"
        notes = []
        if not figure.slowest and len(systems) > 1:
            slowest = max(systems, key=tops.__getitem__)
            systems.remove(slowest)
            title += f" ({table.systems[slowest].label})"
        elif not figure.slowest:
            notes.append(f"{table.systems[systems[0]].label} is the only system drawn")
            systems = []
        names = [table.systems[n].label for n in systems]
        drawn = []
        for place, item in enumerate(table.items):
            traces = [lines.get((place, n)) for n in systems]
            if any(traces):
                data = _lines(names, traces, unit)
                name = f"{key}-{unit}-{place}"
                drawn.append(Chart(name, f"{title}: {item.label}", data, item.label))
        yield _section(f"{key}-{unit}", title, drawn, names, [NOTE, *notes] if drawn else notes)


def _lines(names: list[str], traces: list[Trace | None], unit: str) -> dict[str, Any]:
    """Return the lines of a graph with points at common times, and gaps for missing ones."""
    valid = [trace for trace in traces if trace]
    end = max(trace.rows[-1][0] for trace in valid)
    widest = max(trace.width_s for trace in valid)
    each = widest * max(1, math.ceil(end / widest / MOMENTS))
    moments = [round(n * each, 9) for n in range(math.floor(end / each + 1e-6) + 1)]
    series = []
    for name, trace in zip(names, traces, strict=True):
        most: list[float | None] = [None] * len(moments)
        for row in trace.rows if trace else []:
            at = math.floor(row[0] / each + 1e-6)
            most[at] = max(row[4], most[at] or row[4])
        points = [[x, None if y is None else short(y)]
                  for x, y in zip(moments, most, strict=True)]  # fmt: skip
        series.append({"name": name, "points": points})
    values = [row[4] for trace in valid for row in trace.rows if row[4] > 0]
    logarithmic = bool(values) and max(values) / min(values) > FAR_APART
    return {"kind": "curves", "over": "s" if unit == "ns" else "window", "above": None,
            "unit": unit, "log": logarithmic, "most": None, "series": series}  # fmt: skip


def _bars(table: Table, figure: Figure, key: str) -> Iterator[Section]:
    """Yield the bars in the unit of each item, and apart from them those that are no times."""
    counts = counted_units(table, figure.value)
    own = [(item, item.unit) for item in table.items]
    drawn = _drawn_bars(table, figure, own, words.measure(table).partition(",")[0])
    if drawn or not counts:
        notes = Notes(["no number to draw"], "small")
        yield Section(key, figure.title, [drawn or notes])
    for unit in counts:
        items = [(item, unit) for item in table.items if item.unit in CLOCK]
        if drawn := _drawn_bars(table, figure, items, unit):
            yield Section(f"{key}-{unit}", f"{figure.title}, in {unit}", [drawn])


def _drawn_bars(
    table: Table, figure: Figure, items: Sequence[tuple[Item, str | None]], named: str
) -> Bars | None:
    """Return the bars of items, each in a unit, on one axis; None if there is no number.

    ``named``: the unit as the axis has it.
    """
    numbers = [
        value for item, unit in items for cell in item.cells
        if (value := drawn_number(cell, unit, figure.value)) is not None and value > 0
    ]  # fmt: skip
    if not numbers:
        return None
    least, most = min(numbers), max(numbers)
    logarithmic = most / least > FAR_APART
    floor = 10 ** math.floor(math.log10(least) - 0.001)

    def share(value: float | None) -> float | None:
        if value is None or value <= 0:
            return None
        if logarithmic:
            return round(100 * math.log(value / floor) / math.log(most / floor), 1)
        return round(100 * value / most, 1)

    heads = [Head(system.kind, system.label) for system in table.systems]
    groups = []
    for item, unit in items:
        bars = []
        for head, cell in zip(heads, item.cells, strict=True):
            value = drawn_number(cell, unit, figure.value)
            if cell.printed and unit == item.unit:
                records = cell.printed[figure.value : figure.value + 1] or cell.printed
                text = words.printed(records, unit)
            elif value is None:
                continue
            else:
                text = words.digits(value, unit)
                if cell.here is not None and cell.here.status != "ok":
                    text = f"{text} {cell.here.status}"
            bars.append(Bar(head, text, share(value)))
        groups.append((item.label, bars))
    axis = f"logarithmic, from {short(floor)} to {short(most)}" if logarithmic else "linear, from 0"
    return Bars([group for group in groups if group[1]], f"{axis} {named}")


def _curves(table: Table, figure: Figure) -> dict[str, dict[str, Any]]:
    """Return by unit the lines of all systems whose numbers are in it, without values off the axis.

    Times are in ns; what a system counts instead has an axis of its own.
    """
    items = [item for item in table.items if item.at is not None and item.unit in CLOCK]
    drawn = {}
    for unit in ("ns", *counted_units(table, figure.value)):
        series = []
        for number, system in enumerate(table.systems):
            points = []
            for item in items:
                own, scale = (item.unit, CLOCK[str(item.unit)]) if unit == "ns" else (unit, 1)
                value = drawn_number(item.cells[number], own, figure.value)
                points.append([item.at, None if value is None else value * scale])
            if any(y is not None for _, y in points):
                series.append({"name": f"{system.label} ({system.kind})", "points": points})
        if series:
            drawn[unit] = {
                "kind": "curves", "over": figure.over, "above": None, "unit": unit, "log": True,
                "most": None, "series": series,
            }  # fmt: skip
    return drawn
