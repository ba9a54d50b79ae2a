"""A comparison in words, and as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from rtstone.documents.case_name import Case, CaseName, case_names
from rtstone.documents.comparison import Cell, Column, Comparison, Difference, Row
from rtstone.documents.run import NO_REASON
from rtstone.report.comparison import text_verdicts as verdicts
from rtstone.report.parts.console import figure as value_text
from rtstone.report.parts.console import packed, sentences
from rtstone.stats.comparison.verdicts import MISSED
from rtstone.units import count, counted, seconds

INSTRUCTIONS = "instructions"
COUNTED = "Counted in instructions of an emulated machine, not in time"
MEANING = "the numbers compare with each other, never with a clock"
NUMBERS = ("min", "p50", "max")
NOT_RUN = "not run"
FEW = 5  # rows that are shown unasked
_NAMED = 3  # benches named in a difference, and runs named in a column
_EXACT = 1e5  # fewer instructions are shown exactly
_GAPS = (2, 1)  # blanks between numbers, depending on room

# ---- words --------------------------------------------------------------------------------------


def row_names(comparison: Comparison) -> list[CaseName]:
    """Return the names of the rows; where a row is of a figure, the series is followed by it."""
    cases: list[Case] = [
        (row.bench, row.params, " ".join(filter(None, (row.series, row.figure))), row.load)
        for row in comparison.rows
    ]
    return case_names(cases, comparison.benches)


def loads(comparison: Comparison) -> list[str]:
    """Return the loads that occur, in order."""
    return list(dict.fromkeys(row.load for row in comparison.rows))


def difference_text(difference: Difference) -> str:
    """Return a difference in words: ``shift: 4 on A and B, 7 on C``."""
    values = (f"{held.value} on {_and(held.columns)}" for held in difference.values)
    benches = difference.benches
    where = ""
    if benches:
        rest = f" and {len(benches) - _NAMED} more" if len(benches) > _NAMED else ""
        where = f" (in {', '.join(benches[:_NAMED])}{rest})"
    return f"{difference.aspect}: {', '.join(values)}{where}"


def _and(things: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(things[:-1]), things[-1])))


def number_text(value: float | None, unit: str, bucket: float = 0.0) -> str:
    """Return a value; instructions without their unit, which is in the table's heading.

    ``bucket``: the width of the buckets of another tool.
    """
    exact = value is not None and abs(value) < _EXACT and unit == INSTRUCTIONS
    if value is not None and exact and (value == int(value) or abs(value) >= 1000):
        return count(value)
    return value_text(value, unit, bucket).removesuffix("instr").rstrip()


def numbers(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the numbers of a cell, with missed activations where any are counted."""
    cells = [cell for row in comparison.rows for cell in row.cells if cell]
    counted_too = any(cell.missed is not None for cell in cells)
    return (*NUMBERS, MISSED) if counted_too else NUMBERS


def number_of(cell: Cell, name: str, unit: str) -> str:
    """Return a number of a cell; missed activations with their share: ``300 (30%)``."""
    value: float | None = getattr(cell, name)
    if name != MISSED:
        return number_text(value, unit, cell.bucket_ns)
    share = f" ({verdicts.share_text(cell.missed_share or 0.0)})" if value else ""
    return "-" if value is None else f"{count(value)}{share}"


def figure(cell: Cell, unit: str) -> str:
    """Return the value of a figure, or its range."""
    low, high = (number_text(value, unit) for value in (cell.min, cell.max))
    return low if cell.min == cell.max else f"{low} to {high}"


class Remark(NamedTuple):
    """The reason why cells have no valid number; they show the number of the remark."""

    number: int
    status: str
    columns: list[str]
    reason: str

    def __str__(self) -> str:
        return f"[{self.number}] {self.status} on {_and(self.columns)}: {self.reason}"


class Remarks:
    """The remarks of a table, without repetition."""

    def __init__(self, comparison: Comparison) -> None:
        self._remarks: dict[tuple[str, str], Remark] = {}
        for row in comparison.rows:
            for column, cell in zip(comparison.columns, row.cells, strict=True):
                if cell and cell.status != "ok":
                    key = _key(cell)
                    fresh = Remark(len(self._remarks) + 1, cell.status, [], key[1])
                    remark = self._remarks.setdefault(key, fresh)
                    if column.label not in remark.columns:
                        remark.columns.append(column.label)

    def number(self, cell: Cell) -> int | None:
        """Return the number of a cell's remark, None if it is ok."""
        return None if cell.status == "ok" else self._remarks[_key(cell)].number

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._remarks.values())


def _key(cell: Cell) -> tuple[str, str]:
    return cell.status, cell.reason or NO_REASON


def shared(values: Iterable[str | None]) -> str:
    """Return the value that all systems share, or each one's in the order of the columns."""
    each = ["-" if value is None else value for value in values]
    return each[0] if len(set(each)) == 1 else "/".join(each)


# ---- terminal -----------------------------------------------------------------------------------


def comparison_lines(comparison: Comparison, width: int, everything: bool) -> Iterator[Text]:
    """Yield the comparison on a terminal: the answer, and with ``everything``, or if few, all rows.

    ``width``: of the terminal, in characters.
    """
    rows = [str(name) for name in row_names(comparison)]
    if INSTRUCTIONS in comparison.units:
        yield from sentences(Text(f"{COUNTED}: {MEANING}.", style="bold"), width, "    ")
    for text in verdicts.answer_lines(comparison, rows, width):
        yield from [text] if text.no_wrap else sentences(text, width, "    ")
    everything = everything or len(rows) <= FEW
    for text in _head(comparison, everything):
        yield from sentences(text, width)
    if not everything:
        concluded = {e.verdict for row in comparison.rows for e in row.effects} - {"inconclusive"}
        rules = verdicts.rules(comparison) if concluded else None
        for line in filter(None, (verdicts.folded_line(comparison), rules)):
            yield from sentences(Text(line, style="dim"), width)
        return
    yield Text()
    remarks = Remarks(comparison)
    yield from _table(comparison, remarks, width)
    yield Text()
    yield from verdicts.verdict_lines(comparison, rows, width)
    yield Text()
    for text in _foot(comparison, remarks):
        yield from sentences(text, width)


def of_runs(column: Column) -> str:
    """Return number, seeds and ids of a column's runs, after the address of what has a name."""
    several = len(column.runs) > _NAMED
    ids = f"{column.runs[0]} to {column.runs[-1]}" if several else ", ".join(column.runs)
    seeds = f", seed{'s' * (len(column.seeds) > 1)} {', '.join(map(str, column.seeds))}"
    address = f"{column.target}, " if column.called else ""
    return f"{address}{counted(len(column.runs), 'run')}{seeds if column.seeds else ''} ({ids})"


def _head(comparison: Comparison, everything: bool) -> Iterator[Text]:
    """Yield what was compared and what differs; only ``everything``: what should not matter."""
    for column in comparison.columns:
        yield Text.assemble((column.label, "bold cyan"), (f": {of_runs(column)}", "dim"))
    for remark in comparison.remarks:
        yield Text(remark, style="bold red")
    for difference in comparison.differences:
        if difference.grade == "care":
            yield Text(
                f"compare only with care: {difference_text(difference)}", style="bold yellow"
            )
    if not everything:
        return
    for difference in comparison.differences:
        if difference.grade == "note":
            yield Text(f"also different: {difference_text(difference)}", style="dim")
    if comparison.equal:
        equal = ", ".join(f"{name} {value}" for name, value in comparison.equal.items())
        yield Text(f"equal: {equal}", style="dim")


def _foot(comparison: Comparison, remarks: Remarks) -> Iterator[Text]:
    for remark in remarks:
        yield Text(str(remark), style="dim" if remark.status == "unsupported" else "red")
    cells = [cell for row in comparison.rows for cell in row.cells if cell]
    if any(cell.n and cell.p50 is None for cell in cells):
        yield Text("-: no p50 of fewer than 20 samples", style="dim")
    if any(cell.batched for cell in cells):
        yield Text("-: no maximum of a single call where several are timed together", style="dim")
    if any(cell.corrected for cell in cells):
        yield Text("p50 includes the wake-ups that missed activations would have had", style="dim")
    if any(None in row.cells for row in comparison.rows):
        yield Text(f"{NOT_RUN}: no run of that system had the case", style="dim")
    about = "Net of the clock's overhead; p50 is known to 1 part in 128."
    tools = verdicts.imported(comparison)
    if len(tools) == len(comparison.columns):
        about = "Values as the tools reported them."
    elif tools:
        about += f"  {', '.join(tools)}: values as the tool reported them."
    if rules := verdicts.rules(comparison):
        yield Text(rules, style="dim")
    yield Text(f"{about}  Load: {', '.join(loads(comparison))}.", style="dim")


class _Line(NamedTuple):
    """A row as text: for each system its numbers, or a text instead."""

    head: str
    n: str
    time: str
    cells: list[list[str]]


def _table(comparison: Comparison, remarks: Remarks, width: int) -> Iterator[Text]:
    """Yield the table: systems side by side if that fits, else one line each."""
    row_labels = row_names(comparison)
    rows = comparison.rows
    names = numbers(comparison)
    pairs = zip(rows, row_labels, strict=True)
    whole = [_line(row, str(name), remarks, names) for row, name in pairs]
    headed_lines = [_line(row, f"  {row.load}", remarks, names) for row in rows]
    forms = [(whole, False), (headed_lines, True)]
    for lines, headed, gap in ((rows, head, gap) for rows, head in forms for gap in _GAPS):
        grid = _Grid(comparison, lines, gap)
        if grid.width <= width:
            yield from grid.heads()
            last = ""
            for name, line in zip(row_labels, lines, strict=True):
                if headed and name.without_load != last:
                    last = name.without_load
                    yield Text.assemble((name.bench, "bold cyan"), last.removeprefix(name.bench))
                yield grid.row(line)
            return
    yield from _stacked(comparison, whole, width)


def _line(row: Row, head: str, remarks: Remarks, names: Sequence[str]) -> _Line:
    """Return a row as text: of each system its numbers, or one text."""
    measured = [cell for cell in row.cells if cell and (cell.n or cell.missed)]
    times = [None if c.section_s is None else seconds(c.section_s) for c in measured]
    cells = []
    for cell in row.cells:
        if cell is None:
            cells.append([NOT_RUN])
            continue
        reason = remarks.number(cell)
        mark = f" [{reason}]" if reason else ""
        if row.figure is not None and cell.runs:
            texts = [figure(cell, row.unit)]
        elif not cell.n and not cell.missed:
            texts = [cell.status]
        else:
            texts = [number_of(cell, name, row.unit) for name in names]
        texts[-1] += mark
        cells.append(texts)
    return _Line(
        head=head,
        n=shared(count(cell.n) for cell in measured) if measured else "",
        time=shared(times) if any(times) else "",
        cells=cells,
    )


class _Grid:
    """The widths of a table with systems side by side.

    A table of rich cannot be used, as it has no cells across columns: a system's name is above its
    numbers, a text can replace them, and a case is above its loads.
    """

    GAP = "  "  # between columns; one more before a system's

    def __init__(self, comparison: Comparison, lines: Sequence[_Line], gap: int) -> None:
        self._names = numbers(comparison)
        self._gap = gap  # blanks between the numbers of a system
        self._labels = [column.label for column in comparison.columns]
        self._first = max(len(line.head) for line in lines)
        self._n = max(len("n"), *(len(line.n) for line in lines))
        time = max(len(line.time) for line in lines)
        self._time = max(time, len("time")) if time else 0
        self._numbers: list[list[int]] = []  # widths of the numbers of each system
        self._blocks: list[int] = []  # and of all of them, their system's name and texts
        for place, label in enumerate(self._labels):
            cells = [line.cells[place] for line in lines]
            full = [cell for cell in cells if len(cell) > 1]
            widths = [max(map(len, column)) for column in zip(self._names, *full, strict=True)]
            texts = [len(cell[0]) for cell in cells if len(cell) == 1]
            self._numbers.append(widths)
            self._blocks.append(max(sum(widths) + gap * (len(widths) - 1), len(label), *texts))

    @property
    def width(self) -> int:
        """The width of a line."""
        widths = [self._first, self._n, *([self._time] if self._time else []), *self._blocks]
        return sum(widths) + len(self.GAP) * (len(widths) - 1) + len(self._blocks)

    def heads(self) -> Iterator[Text]:
        """Yield the headings: names of systems and numbers."""
        before = self._joined("", "n", "time")
        blank = self._joined("", "", "")
        labels = (f" {label:>{w}}" for label, w in zip(self._labels, self._blocks, strict=True))
        yield Text(self.GAP.join([blank, *labels]), style="bold cyan")
        cells = [self._block(list(self._names), place) for place in range(len(self._labels))]
        yield Text(self.GAP.join([before, *cells]), style="dim")

    def row(self, line: _Line) -> Text:
        """Return a row of numbers."""
        cells = [self._block(cell, place) for place, cell in enumerate(line.cells)]
        return Text(self.GAP.join([self._joined(line.head, line.n, line.time), *cells]))

    def _joined(self, head: str, n: str, time: str) -> str:
        times = [f"{time:>{self._time}}"] if self._time else []
        return self.GAP.join([f"{head:<{self._first}}", f"{n:>{self._n}}", *times])

    def _block(self, cell: list[str], place: int) -> str:
        text = cell[0]
        if len(cell) > 1:
            pairs = zip(cell, self._numbers[place], strict=True)
            text = (" " * self._gap).join(f"{value:>{w}}" for value, w in pairs)
        return f" {text:>{self._blocks[place]}}"


def _stacked(comparison: Comparison, lines: Sequence[_Line], width: int) -> Iterator[Text]:
    """Yield each case with a line for each system."""
    names = numbers(comparison)
    for line, row in zip(lines, comparison.rows, strict=True):
        yield Text(line.head, style="bold cyan")
        for column, cell, words in zip(comparison.columns, row.cells, line.cells, strict=True):
            pieces = [f"{column.label}:"]
            if cell and (cell.n or cell.missed):
                pieces.append(f"n {count(cell.n)}")
                pieces += [f"{name} {word}" for name, word in zip(names, words, strict=True)]
                pieces += [] if cell.section_s is None else [f"time {seconds(cell.section_s)}"]
            else:
                pieces += words
            yield from (Text(text) for text in packed(pieces, width))
