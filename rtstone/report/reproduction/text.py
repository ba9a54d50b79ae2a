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
    Listing,
    Printed,
    Reproduction,
    Shown,
    Table,
)
from rtstone.documents.run import NO_REASON
from rtstone.report.parts import model
from rtstone.report.parts.model import Grid, Head, Notes
from rtstone.report.parts.words import range_text
from rtstone.results.flags import BY_NAME
from rtstone.units import CLOCK, SYMBOLS, count, counted, rounded, seconds

EMPTY = "-"
INSTRUCTIONS = "Counted in instructions of an emulated machine, not in time: compare with no clock"
_UNSAID = {"category", "priority", "level", "number"}  # units that need not be named
_MEASURED = {*CLOCK, "MB/s"}


def grid(reproduction: Reproduction, table: Table) -> Grid:
    """Return the table with systems as columns or rows, as in the publication."""
    systems = []
    for system in table.systems:
        kind = f"printed {reproduction.printed}"
        if system.column is not None:
            column = reproduction.columns[system.column]
            kind = kind_of(column) if system.kind == column.kind else system.kind
        systems.append(Head(kind, system.label))
    items = [Head("", model.Cell(item.label, marks=item.notes).marked) for item in table.items]
    rows = [[_cell(item, cell) for cell in item.cells] for item in table.items]
    if table.across:
        return Grid(table.stub, systems, list(zip(items, rows, strict=True)))
    turned = [[row[number] for row in rows] for number in range(len(systems))]
    return Grid(table.stub, items, list(zip(systems, turned, strict=True)))


def listings(reproduction: Reproduction, table: Table) -> Iterator[Notes | Grid]:
    """Yield the tables of texts that today's systems reported, each below the system's name."""
    for listing in table.listings:
        name = reproduction.columns[listing.column].label
        if not listing.rows:
            yield Notes([f"{name}: {listing.status}: {listing.reason}"])
            continue
        yield Notes([f"{name}: {listing.title}"])
        heads = [Head("", column) for column in listing.columns]
        rows = [(Head("", row[0]), list(map(model.Cell, row[1:]))) for row in listing.rows]
        yield Grid(listing.columns[0], heads[1:], rows)


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
    """Return the numbers of a place as text; of today's systems with their samples."""
    here = cell.here
    if here is None and cell.computed:
        exact = cell.computed.unit in {None, item.unit}  # a sum has the digits of what is printed
        text = str(cell.computed.value) if exact else _values([cell.computed], item.unit)
        return model.Cell(text, marks=cell.notes)
    if here is None:
        text = printed(cell.printed, item.unit) if cell.printed else EMPTY
        return model.Cell(text, marks=cell.notes)
    if not here.values:
        return model.Cell(here.status, marks=cell.notes)
    n = f"n {count(here.n)}" if here.n else ""
    return model.Cell(_values(here.values, item.unit), n, marks=cell.notes)


def _values(values: Sequence[Shown], unit: str | None) -> str:
    """Return values with their units, where these are not the item's."""
    texts, units = [], []
    for shown in values:
        usual = shown.unit is None or unit in {shown.unit, ""}
        units.append("" if usual else SYMBOLS.get(shown.unit or "", shown.unit or ""))
        if shown.value is None:
            texts.append(EMPTY)
        elif isinstance(shown.value, str):
            texts.append(shown.value or "none")
        else:
            low = digits(shown.value, shown.unit)
            most = low if shown.most is None else digits(shown.most, shown.unit)
            texts.append(range_text(low, most))
    return _joined(texts, units)


def printed(records: Sequence[Printed], unit: str | None) -> str:
    """Return published numbers as printed: 6.0 stays 6.0.

    Instead of a value: what is printed in its place, or why it is missing.
    """
    texts, units = [], []
    for record in records:
        if record.value is None or record.unit is None or record.unit in {unit, *_UNSAID}:
            units.append("")
        else:
            units.append(SYMBOLS.get(record.unit, record.unit))
        if record.value is not None:
            texts.append(str(record.value))
            continue
        notes = (
            note.removeprefix("printed as ")
            for note in record.note.split("; ")
            if note.startswith("printed as ") or note == "plot only"
        )
        texts.append(next(notes, record.quality))
    return _joined(texts, units)


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
        if not valid:
            continue
        texts = []
        if samples := [here.n for here in valid if here.n]:
            texts.append(f"n {range_text(count(min(samples)), count(max(samples)))}")
        if spans := [here.section_s for here in valid if here.section_s]:
            low, most = min(span[0] for span in spans), max(span[1] for span in spans)
            texts.append(f"each measured for {range_text(seconds(low), seconds(most))}")
        loads = dict.fromkeys(here.load for here in valid if here.load)
        texts.append(f"load {', '.join(loads)}" if loads else "no load stated")
        texts += [f"the load {place}" for place in sorted({p for h in valid for p in h.place})]
        flagged = Counter(flag for here in valid for flag in here.flags if flag in BY_NAME)
        if flagged:
            occurrences = (f"{flag} in {n}" for flag, n in flagged.items())
            texts.append(f"of {counted(len(valid), 'result')} {', '.join(occurrences)}")
        yield f"{column.label}: {'; '.join(texts)}"


def about(column: Column) -> Iterator[str]:
    """Yield what a system of today is, and remarks to read before its numbers."""
    system = ", ".join(filter(None, (column.system, column.created, " ".join(column.suites))))
    yield f"{system} ({', '.join(column.runs)})"
    if column.model:
        yield f"A simulation: {column.model}; no system was measured."
    if column.unit != "ns":
        yield f"{INSTRUCTIONS}."
    yield from column.remarks
    if column.unshown:
        left = ", ".join(f"{bench} ({n})" for bench, n in column.unshown.items())
        yield f"measured, and in no table here: {left}"
    yield from (f"load {load}" for load in column.loads)


WITH_NUMBERS = "with numbers"


def outcomes(reproduction: Reproduction, place: int) -> Counter[str]:
    """Return how many cells a column has, by what is in them: numbers, or why there are none."""
    cells = [
        WITH_NUMBERS if any(shown.value is not None for shown in cell.here.values)
        else "without the number" if cell.here.status == "ok" else cell.here.status
        for table in reproduction.tables
        for item in table.items
        for system, cell in zip(table.systems, item.cells, strict=True)
        if system.column == place and cell.here is not None
    ]  # fmt: skip
    cells += [
        WITH_NUMBERS if listing.rows else listing.status
        for table in reproduction.tables
        for listing in table.listings
        if listing.column == place
    ]
    return Counter(cells)


def tally(reproduction: Reproduction, place: int) -> str:
    """Return the same in words."""
    cells = outcomes(reproduction, place)
    counts = ", ".join(f"{n} {outcome}" for outcome, n in cells.most_common())
    return f"{counted(cells.total(), 'cell')}: {counts}"


class Gap(NamedTuple):
    """Why a system of today lacks numbers, and how many in which tables."""

    label: str
    why: str
    tables: str


def gaps(reproduction: Reproduction) -> list[Gap]:
    """Return all missing numbers, by system and reason."""
    numbers: dict[tuple[str, str], Counter[str]] = {}
    for table in reproduction.tables:
        name = table.title if table.id.endswith("prose") else table.id
        empty: list[tuple[int, Found | Listing]] = [
            (system.column, cell.here)
            for item in table.items
            for system, cell in zip(table.systems, item.cells, strict=True)
            if system.column is not None and cell.here is not None
            if all(shown.value is None for shown in cell.here.values)
        ]
        empty += [(listing.column, listing) for listing in table.listings if not listing.rows]
        for column, lack in empty:
            if lack.status == "ok":
                continue
            why = f"{lack.status}, {lack.reason or NO_REASON}"
            if lack.status == "not run":  # with the bench
                why = "not run, no run of it has these"
            key = (reproduction.columns[column].label, why)
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
