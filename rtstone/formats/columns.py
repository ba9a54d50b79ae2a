"""Columns of numbers in a text: CSV with its separators, or blanks; with a head or without."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rtstone.formats.source import Source

_SEPARATORS = ",;\t"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOST = 1000  # columns
MOST_ROWS = 10_000_000  # each becomes objects of Python


class Cells(NamedTuple):
    """The cells of a table.

    ``names``: of the columns; numbers from 1 without a head.  ``take``: returns a column by its
    place, from 0.  ``lines``: of the file, one for each row; empty if it has none.
    """

    names: list[str]
    take: Callable[[int], Sequence[object]]
    lines: Sequence[int] = ()

    def column(self, source: Source, name: str | None) -> Sequence[object]:
        """Return the column of that name or number; without one the only one.

        Raises UsageError.
        """
        if name is None:
            if len(self.names) != 1:
                source.refuse(f"{len(self.names)} columns: {', '.join(self.names)[:200]}",
                              do="select with --column, or --due and --at")  # fmt: skip
            return self.take(0)
        if name in self.names:
            return self.take(self.names.index(name))
        if name.isascii() and name.isdigit() and 1 <= int(name[:5]) <= len(self.names):
            return self.take(int(name) - 1)
        return source.refuse(f"no column '{name[:40]}'", do=f"it has {', '.join(self.names)[:200]}")


def check_rows(source: Source, rows: int) -> None:
    """Refuse a table of more rows than memory is taken for."""
    if rows > MOST_ROWS:
        do = "import a histogram in place of samples"
        source.refuse(f"{rows} rows, more than {MOST_ROWS}", do=do)


def columns(source: Source) -> Cells:
    """Return the columns of a text.  Raises UsageError if a row is not as long as the first."""
    check_rows(source, source.data.count(b"\n"))
    lines = [(at, text) for at, text in source.lines() if text.strip() and text[0] != "#"]
    source.check_end()
    if not lines:
        source.refuse("no row")
    first = lines[0][1]
    separator = next((mark for mark in _SEPARATORS if mark in first), None)
    if separator:
        table = csv.reader((text for _, text in lines), delimiter=separator)
        try:
            rows = list(table)
        except csv.Error as error:
            source.refuse(f"{error}", lines[table.line_num - 1][0])
    else:
        rows = [text.split() for _, text in lines]
    if len(rows) != len(lines):
        source.refuse("a cell of several lines", do="leave texts out")
    head = rows[0]
    named = not all(_NUMBER.fullmatch(cell.strip()) for cell in head)
    if len(head) > _MOST:
        source.refuse(f"{len(head)} columns")
    body = rows[1:] if named else rows
    width = len(head)
    for (at, _), row in zip(lines, rows, strict=True):
        if len(row) != width:
            source.refuse(f"{len(row)} cells for {width} columns", at)
    if not body:
        source.refuse("a head without a row")
    numbers = [at for at, _ in lines[named:]]
    names = [cell.strip() for cell in head] if named else [str(n + 1) for n in range(width)]
    return Cells(names, lambda place: [row[place] for row in body], numbers)
