"""A reproduction in words: as text for the terminal, and as Markdown.

Published numbers are under a heading "printed" with the year, measured ones under "here", simulated
ones under "model", in every form of output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

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
from rtstone.report.parts.console import folded, plain_table
from rtstone.report.parts.markdown import escaping, items
from rtstone.report.parts.markdown import table as markdown_table
from rtstone.results.flags import BY_NAME
from rtstone.units import CLOCK, SYMBOLS, count, counted, rounded, seconds

EMPTY = "-"
MEANING = (
    "printed: as the publication has it. here: measured by rtstone. "
    "model: simulated, no system was measured. [1]: see below the table."
)
GAPS = "Without a number today, and why"
INSTRUCTIONS = "Counted in instructions of an emulated machine, not in time: compare with no clock"
_UNSAID = {"category", "priority", "level", "number"}  # units that need not be named
_MEASURED = {*CLOCK, "MB/s"}
_GAP = "  "

# ---- words --------------------------------------------------------------------------------------


class Head(NamedTuple):
    """The heading of a column or row: the kind of its numbers, and the system."""

    kind: str
    label: str

    def __str__(self) -> str:
        return f"{self.label} ({self.kind})" if self.kind else self.label


class Place(NamedTuple):
    """A cell as text: its numbers, the number of samples, and marks of footnotes."""

    text: str
    n: str = ""
    marks: str = ""

    @property
    def value(self) -> str:
        """The numbers with their marks."""
        return f"{self.text} {self.marks}".rstrip()

    def __str__(self) -> str:
        return f"{self.text} {self.n and f'({self.n})'} {self.marks}".replace("  ", " ").strip()


class Grid(NamedTuple):
    """A table as text."""

    stub: str
    heads: list[Head]
    rows: list[tuple[Head, list[Place]]]


def grid(reproduction: Reproduction, table: Table) -> Grid:
    """Return the table with systems as columns or rows, as in the publication."""
    systems = [_head(reproduction, system) for system in table.systems]
    items = [Head("", f"{item.label} {_marks(item.notes)}".rstrip()) for item in table.items]
    places = [[_place(item, cell) for cell in item.cells] for item in table.items]
    if table.across:
        return Grid(table.stub, systems, list(zip(items, places, strict=True)))
    turned = [[row[number] for row in places] for number in range(len(systems))]
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


def _marks(notes: Sequence[int]) -> str:
    return " ".join(f"[{note}]" for note in notes)


def _place(item: Item, cell: Cell) -> Place:
    if cell.here is not None:
        return _here(item, cell.here, _marks(cell.notes))
    text = printed(cell.printed, item.unit) if cell.printed else EMPTY
    return Place(text, marks=_marks(cell.notes))


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


def _here(item: Item, found: Found, marks: str) -> Place:
    if not found.values:
        return Place(found.status, marks=marks)
    units = [_unit(shown, item.unit) for shown in found.values]
    n = f"n {count(found.n)}" if found.n else ""
    return Place(_joined([_shown(shown) for shown in found.values], units), n, marks)


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
        found = [here for here in cells if here and here.values and here.bench]
        if found:
            yield f"{column.label}: {'; '.join(_observed(found))}"


def _observed(found: Sequence[Found]) -> Iterator[str]:
    numbers = [here.n for here in found if here.n]
    if numbers:
        yield f"n {_span(count(min(numbers)), count(max(numbers)))}"
    spans = [here.section_s for here in found if here.section_s]
    if spans:
        low, most = min(span[0] for span in spans), max(span[1] for span in spans)
        yield f"each measured for {_span(seconds(low), seconds(most))}"
    loads = dict.fromkeys(here.load for here in found if here.load)
    yield f"load {', '.join(loads)}" if loads else "no load told"
    flags = Counter(flag for here in found for flag in here.flags if flag in BY_NAME)
    if flags:
        told = (f"{flag} in {n}" for flag, n in flags.items())
        yield f"of {counted(len(found), 'result')} {', '.join(told)}"


def _span(low: str, most: str) -> str:
    return low if low == most else f"{low} to {most}"


def about(column: Column) -> Iterator[str]:
    """Yield what a system of today is, and remarks to read before its numbers."""
    made = ", ".join(filter(None, (column.system, column.created, " ".join(column.suites))))
    yield f"{made} ({', '.join(column.runs)})"
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

    def __str__(self) -> str:
        return f"{self.label}: {self.why}: {self.tables}"


def gaps(reproduction: Reproduction) -> list[Gap]:
    """Return all missing numbers, by system and reason."""
    found: dict[tuple[str, str], Counter[str]] = {}
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
                found.setdefault(key, Counter())[name] += 1
    order = {column.label: place for place, column in enumerate(reproduction.columns)}
    return [
        Gap(label, why, ", ".join(f"{name} ({n})" if n > 1 else name for name, n in of.items()))
        for (label, why), of in sorted(found.items(), key=lambda one: order[one[0][0]])
    ]


def flags(reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the flags that occur, with their causes."""
    cells = (cell for table in reproduction.tables for item in table.items for cell in item.cells)
    names = {flag for cell in cells if cell.here for flag in cell.here.flags}
    return [(flag.name, flag.cause) for flag in BY_NAME.values() if flag.name in names]


def origin(reproduction: Reproduction) -> str:
    """Return the publication, and what its numbers were measured on."""
    return f"{reproduction.publication}. Measured on: {reproduction.platform}."


# ---- terminal -----------------------------------------------------------------------------------


def reproduction_lines(reproduction: Reproduction, width: int) -> Iterator[RenderableType]:
    """Yield the reproduction on a terminal."""
    yield from _wrapped(origin(reproduction), width, "bold")
    for column in reproduction.columns:
        yield Text(f"{column.label} ({kind_of(column)})", style="bold cyan")
        for text in about(column):
            yield from _wrapped(text, width, "dim", "  ")
    for note in [MEANING, *reproduction.notes]:
        yield from _wrapped(note, width, "dim")
    for table in reproduction.tables:
        yield Text()
        yield from _table(reproduction, table, width)
    without = gaps(reproduction)
    if without:
        yield Text()
        yield from _wrapped(GAPS, width, "bold cyan")
    for gap in without:
        yield from _wrapped(str(gap), width, "dim")
    told = flags(reproduction)
    if told:
        yield Text()
    for name, cause in told:
        yield from _wrapped(f"{name}: {cause}", width, "dim")


def _wrapped(text: str, width: int, style: str, indent: str = "") -> Iterator[Text]:
    room = max(width, len(indent) + 20)
    yield from (Text(line, style) for line in folded(text, room, indent, f"{indent}  "))


def _table(reproduction: Reproduction, table: Table, width: int) -> Iterator[RenderableType]:
    measured = measure(table)
    told = f"{heading(table)} ({measured})" if measured else heading(table)
    yield from _wrapped(told, width, "bold cyan")
    for record in table.said:
        yield from _wrapped(said(reproduction, record), width, "italic")
    if table.items:
        yield from _grid(grid(reproduction, table), width)
    for text in observed(reproduction, table):
        yield from _wrapped(text, width, "dim")
    for text in table.notes:
        yield from _wrapped(text, width, "dim")
    for number, text in enumerate(table.footnotes, 1):
        yield from _wrapped(f"[{number}] {text}", width, "dim")


def _grid(made: Grid, width: int) -> Iterator[RenderableType]:
    """Yield the table; if it is too wide, n is below the numbers, and columns come in turns.

    If a cell is nearly as wide as the terminal, each cell has a line of its own.
    """
    lead = 2 if any(head.kind for head, _ in made.rows) else 1  # rows that are systems have a kind
    for split in (False, True):
        heads, rows = _heads(made, lead), list(_rows(made, lead, split))
        columns = list(zip(*(cells for _, cells in rows), strict=True))
        widths = [max(map(len, column)) for column in columns]
        for place, texts in enumerate(zip(*(texts for _, texts in heads), strict=True)):
            pieces = [piece for text in texts for piece in (text.split() if split else [text])]
            widths[place] = max(widths[place], *map(len, ["", *pieces]))
        turns = list(_turns(widths, lead, width))
        if len(turns) == 1 or (split and turns):
            for number, turn in enumerate(turns):
                if number:
                    yield Text()
                own = [widths[place] for place in turn]
                yield _turn([*heads, *rows], turn, own, lead)
            return
    yield from _stacked(made, width)


def _turns(widths: Sequence[int], lead: int, width: int) -> Iterator[list[int]]:
    """Yield per turn the columns that fit beside the leading ones; nothing if one does not."""
    fixed = sum(widths[:lead]) + len(_GAP) * (lead - 1)
    if fixed + len(_GAP) + max(widths[lead:], default=0) > width:
        return
    turn, used = list(range(lead)), fixed
    for place in range(lead, len(widths)):
        if used + len(_GAP) + widths[place] > width:
            yield turn
            turn, used = list(range(lead)), fixed
        turn.append(place)
        used += len(_GAP) + widths[place]
    yield turn


def _turn(
    rows: Iterable[tuple[str, list[str]]], turn: Sequence[int], widths: Sequence[int], lead: int
) -> RichTable:
    """Return the table of a turn, without rows that are empty in it."""
    table = plain_table(show_header=False)
    for place, width in enumerate(widths):
        justify: JustifyMethod = "left" if place < lead else "right"
        table.add_column(width=width, justify=justify, vertical="bottom", overflow="fold")
    for style, cells in rows:
        own = [cells[place] for place in turn]
        if any(own):
            table.add_row(*map(Text, own), style=style)
    return table


def _heads(made: Grid, lead: int) -> list[tuple[str, list[str]]]:
    """Return the lines of headings: systems, and kinds if columns are systems."""
    kinds = ["", *[""] * (lead - 1), *(head.kind for head in made.heads)]
    labels = [made.stub, *["from"] * (lead - 1), *(head.label for head in made.heads)]
    return [*([("dim", kinds)] if any(kinds) else []), ("bold", labels)]


def _rows(made: Grid, lead: int, split: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield style and cells of the lines below the headings, not yet padded."""
    for head, places in made.rows:
        before = [head.label, head.kind][:lead]
        yield "", [*before, *(place.value if split else str(place) for place in places)]
        if split and any(place.n for place in places):
            yield "dim", [*[""] * lead, *(place.n for place in places)]


def _stacked(made: Grid, width: int) -> Iterator[Text]:
    for head, places in made.rows:
        yield Text(str(head), style="bold")
        for other, place in zip(made.heads, places, strict=True):
            yield from _wrapped(f"{other}: {place}", width, "", "  ")


# ---- Markdown -----------------------------------------------------------------------------------


_safe = escaping("_")


def markdown(reproduction: Reproduction) -> str:
    """Return the reproduction as Markdown, with tables as GitHub and GitLab read them."""
    return "\n".join(_markdown(reproduction)) + "\n"


def _markdown(reproduction: Reproduction) -> Iterator[str]:
    yield f"# {_safe(reproduction.title)}"
    yield f"\n{_safe(origin(reproduction))}\n"
    for column in reproduction.columns:
        first, *rest = about(column)
        yield f"- **{_safe(column.label)}** ({kind_of(column)}): {_safe(first)}"
        yield from (f"  - {_safe(text)}" for text in rest)
    yield from _bullets([MEANING, *reproduction.notes])
    for table in reproduction.tables:
        yield from _section(reproduction, table)
    if without := gaps(reproduction):
        yield f"\n## {GAPS}"
        yield from _bullets(map(str, without))
    yield from _bullets(f"{name}: {cause}" for name, cause in flags(reproduction))


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    found = items(map(_safe, texts), "-")
    yield from (["", *found] if found else [])


def _section(reproduction: Reproduction, table: Table) -> Iterator[str]:
    yield f"\n## {_safe(heading(table))}\n"
    if measured := measure(table):
        yield f"{_safe(measured)}\n"
    for record in table.said:
        yield f"> {_safe(said(reproduction, record))}\n"
    if table.items:
        made = grid(reproduction, table)
        rows = [[str(head), *map(str, places)] for head, places in made.rows]
        yield from markdown_table([made.stub, *map(str, made.heads)], rows, _safe, numbers=True)
    yield from _bullets([*observed(reproduction, table), *table.notes])
    yield from _bullets(f"[{n}] {text}" for n, text in enumerate(table.footnotes, 1))
