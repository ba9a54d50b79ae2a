"""A reproduction in words: headings, numbers, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rtstone.documents.reproduction import (
    Cell,
    Column,
    Found,
    Item,
    Printed,
    Reproduction,
    Shown,
    System,
    Table,
)
from rtstone.documents.run import NO_REASON
from rtstone.report.parts import model
from rtstone.report.parts.model import Grid, Head
from rtstone.results.flags import BY_NAME
from rtstone.units import CLOCK, SYMBOLS, count, counted, rounded, seconds

EMPTY = "-"
INSTRUCTIONS = "Counted in instructions of an emulated machine, not in time: compare with no clock"
_UNSAID = {"category", "priority", "level", "number"}  # units that need not be named
_MEASURED = {*CLOCK, "MB/s"}


def grid(reproduction: Reproduction, table: Table) -> Grid:
    """Return the table with systems as columns or rows, as in the publication."""
    systems = [_head(reproduction, system) for system in table.systems]
    items = [Head("", model.Cell(item.label, marks=item.notes).marked) for item in table.items]
    rows = [[_cell(item, cell) for cell in item.cells] for item in table.items]
    if table.across:
        return Grid(table.stub, systems, list(zip(items, rows, strict=True)))
    turned = [[row[number] for row in rows] for number in range(len(systems))]
    return Grid(table.stub, items, list(zip(systems, turned, strict=True)))


def _head(reproduction: Reproduction, system: System) -> Head:
    if system.column is None:
        return Head(f"printed {reproduction.printed}", system.label)
    return Head(kind_of(reproduction.columns[system.column]), system.label)


def kind_of(column: Column) -> str:
    """Return ``here`` or ``model``, with the unit of an emulated board."""
    return f"{column.kind}, {column.unit}" if column.unit != "ns" else column.kind


def heading(table: Table) -> str:
    """Return the heading: ``Table 1: Maximum interrupt latency``."""
    return table.title if table.id.endswith("prose") else f"{table.id}: {table.title}"


def measure(table: Table) -> str:
    """Return the meaning of a table's numbers, and their unit."""
    return ", ".join(filter(None, (SYMBOLS.get(table.unit or "", table.unit), table.form)))


def _cell(item: Item, cell: Cell) -> model.Cell:
    if cell.here is not None:
        return _here(item, cell.here, cell.notes)
    text = printed(cell.printed, item.unit) if cell.printed else EMPTY
    return model.Cell(text, marks=cell.notes)


def printed(records: Sequence[Printed], unit: str | None) -> str:
    """Return published numbers as printed: 6.0 stays 6.0."""
    own = [_own(record, unit) for record in records]
    return _joined([_as_printed(record) for record in records], own)


def _as_printed(record: Printed) -> str:
    """Return a published value, or what is printed instead of one, or why it is missing."""
    if record.value is not None:
        return str(record.value)
    for note in record.note.split("; "):
        if note.startswith("printed as "):
            return note.removeprefix("printed as ")
        if note == "plot only":
            return note
    return record.quality


def _own(record: Printed, unit: str | None) -> str:
    if record.value is None or record.unit is None or record.unit in {unit, *_UNSAID}:
        return ""
    return SYMBOLS.get(record.unit, record.unit)


def _here(item: Item, here: Found, marks: Sequence[int]) -> model.Cell:
    if not here.values:
        return model.Cell(here.status, marks=marks)
    units = [_unit(shown, item.unit) for shown in here.values]
    n = f"n {count(here.n)}" if here.n else ""
    return model.Cell(_joined([_shown(shown) for shown in here.values], units), n, marks=marks)


def _unit(shown: Shown, unit: str | None) -> str:
    if shown.unit is None or unit in {shown.unit, ""}:
        return ""
    return SYMBOLS.get(shown.unit, shown.unit)


def _shown(shown: Shown) -> str:
    if shown.value is None:
        return EMPTY
    if isinstance(shown.value, str):
        return shown.value or "none"
    low = digits(shown.value, shown.unit)
    most = low if shown.most is None else digits(shown.most, shown.unit)
    return low if low == most else f"{low} to {most}"


def digits(value: float, unit: str | None) -> str:
    """Return three significant digits; measured values always have all three: ``4.00``."""
    if unit not in _MEASURED or abs(value) >= 99.95 or value == 0:
        return rounded(value)
    return f"{value:#.3g}"


def _joined(texts: Sequence[str], units: Sequence[str]) -> str:
    """Return several values; a unit that all share is named once: ``1 / 5 KB``."""
    if len(set(units)) == 1:
        return f"{' / '.join(texts)} {units[0]}".rstrip()
    pairs = zip(texts, units, strict=True)
    return " / ".join(f"{text} {unit}".rstrip() for text, unit in pairs)


def said(reproduction: Reproduction, record: Printed) -> str:
    """Return a statement of the publication, with its subject."""
    about = ", ".join((record.system, record.metric, record.condition))
    text = record.value if record.value is not None else record.quality
    note = f" ({record.note})" if record.note else ""
    return f"printed {reproduction.printed}: {about}: {text}{note}"


def observed(reproduction: Reproduction, table: Table) -> Iterator[str]:
    """Yield for each of today's systems the samples, time and load of a table's numbers."""
    for place, column in enumerate(reproduction.columns):
        numbers = [n for n, system in enumerate(table.systems) if system.column == place]
        cells = [item.cells[n].here for item in table.items for n in numbers]
        valid = [here for here in cells if here and here.values and here.bench]
        if valid:
            yield f"{column.label}: {'; '.join(_observed(valid))}"


def _observed(results: Sequence[Found]) -> Iterator[str]:
    numbers = [here.n for here in results if here.n]
    if numbers:
        yield f"n {_span(count(min(numbers)), count(max(numbers)))}"
    spans = [here.section_s for here in results if here.section_s]
    if spans:
        low, most = min(span[0] for span in spans), max(span[1] for span in spans)
        yield f"each measured for {_span(seconds(low), seconds(most))}"
    loads = dict.fromkeys(here.load for here in results if here.load)
    yield f"load {', '.join(loads)}" if loads else "no load told"
    flags = Counter(flag for here in results for flag in here.flags if flag in BY_NAME)
    if flags:
        occurrences = (f"{flag} in {n}" for flag, n in flags.items())
        yield f"of {counted(len(results), 'result')} {', '.join(occurrences)}"


def _span(low: str, most: str) -> str:
    return low if low == most else f"{low} to {most}"


def about(column: Column) -> Iterator[str]:
    """Yield what a system of today is, and remarks to read before its numbers."""
    system = ", ".join(filter(None, (column.system, column.created, " ".join(column.suites))))
    yield f"{system} ({', '.join(column.runs)})"
    if column.model:
        yield f"A simulation: {column.model}; no system was measured."
    if column.unit != "ns":
        yield f"{INSTRUCTIONS}."
    yield from column.remarks
    yield from (f"load {load}" for load in column.loads)


class Gap(NamedTuple):
    """Why a system of today lacks numbers, and how many in which tables."""

    label: str
    why: str
    tables: str


def gaps(reproduction: Reproduction) -> list[Gap]:
    """Return all missing numbers, by system and reason."""
    numbers: dict[tuple[str, str], Counter[str]] = {}
    for table in reproduction.tables:
        for item in table.items:
            for system, cell in zip(table.systems, item.cells, strict=True):
                here = cell.here
                if here is None or here.status == "ok" or system.column is None:
                    continue
                if any(shown.value is not None for shown in here.values):
                    continue
                why = f"{here.status}, {here.reason or NO_REASON}"
                if here.status == "not run":  # with the bench
                    why = "not run, no run of it has these"
                key = (reproduction.columns[system.column].label, why)
                name = table.title if table.id.endswith("prose") else table.id
                numbers.setdefault(key, Counter())[name] += 1
    order = {column.label: place for place, column in enumerate(reproduction.columns)}
    return [
        Gap(label, why, ", ".join(f"{name} ({n})" if n > 1 else name for name, n in tables.items()))
        for (label, why), tables in sorted(numbers.items(), key=lambda pair: order[pair[0][0]])
    ]


def flags(reproduction: Reproduction) -> dict[str, str]:
    """Return the flags that occur, with their causes."""
    cells = (cell for table in reproduction.tables for item in table.items for cell in item.cells)
    names = {flag for cell in cells if cell.here for flag in cell.here.flags}
    return {flag.name: flag.cause for flag in BY_NAME.values() if flag.name in names}


def origin(reproduction: Reproduction) -> str:
    """Return the publication, and what its numbers were measured on."""
    return f"{reproduction.publication}. Measured on: {reproduction.platform}."
