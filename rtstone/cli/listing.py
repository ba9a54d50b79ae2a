"""Lists that fit a screen: a summary, and the rows, or a line for each group of them.

Words filter the rows; whoever wants all of them says so, and has them by the pager.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from shutil import get_terminal_size
from typing import NamedTuple

from rich.text import Text

from rtstone.cli.pager import paged
from rtstone.errors import UsageError, nearest

Cells = tuple[str, ...]
_GAP = 2  # blanks between columns
_LEAST = 24  # columns of the last cell, whatever is before it


class Row(NamedTuple):
    """A line of a list: its cells, of which the first is its name, and the group that it is in.

    ``about``: the text in which words are looked for, beside name and group.
    """

    cells: Cells
    group: str = ""
    about: str = ""


def matching(rows: Sequence[Row], words: Collection[str], noun: str) -> list[Row]:
    """Return the rows that have all these words: as their group, or where a word of theirs begins.

    ``noun``: of a row, for errors.  Raises UsageError if there is none.
    """
    chosen = list(rows)
    for word in words:
        groups = {row.group for row in rows}
        chosen = [row for row in chosen if _has(row, word, groups)]
    if not chosen:
        names = {name for row in rows for name in (row.group, row.cells[0]) if name}
        wrong = next(
            (word for word in words if not any(_has(row, word, set()) for row in rows)), ""
        )
        advice = f"; {nearest(wrong, names)}" if wrong else ""
        raise UsageError(f"no {noun} matches '{' '.join(words)}'{advice}")
    return chosen


def _has(row: Row, word: str, groups: Collection[str]) -> bool:
    """Return whether a row matches a word; a word that is a group means that alone."""
    if word in groups:
        return row.group == word
    text = f"{row.cells[0]} {row.group} {row.about}"
    return re.search(rf"(?<![A-Za-z]){re.escape(word)}", text, re.IGNORECASE) is not None


def room() -> int:
    """Return the number of columns to fill, however many there are if it is no terminal."""
    return get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def table(
    heads: Cells, rows: Iterable[Cells], width: int, indent: str = "", *, whole: bool = False
) -> list[Text]:
    """Return a line per row, the last cell cut to the width, or continued if it is to be ``whole``.

    Without ``heads`` there is no line of them.
    """
    rows = list(rows)
    columns = list(zip(*([heads] if heads else []), *rows, strict=True))
    widths = [max(map(len, column)) for column in columns[:-1]]
    before = len(indent) + sum(widths) + _GAP * len(widths)
    last = max(width - before, _LEAST)
    lines = []
    for number, row in enumerate([heads, *rows] if heads else rows):
        style = "bold" if heads and number == 0 else "bold cyan"
        pieces = _pieces(row[-1], last, whole=whole)
        text = Text(indent)
        for place, cell in enumerate(row[:-1]):
            text.append(cell.ljust(widths[place]), style if not place or style == "bold" else "")
            text.append(" " * _GAP)
        text.append(pieces[0], style if style == "bold" or len(row) == 1 else "")
        text.rstrip()
        lines.append(text)
        lines += [Text(" " * before + piece) for piece in pieces[1:]]
    return lines


def _pieces(text: str, width: int, *, whole: bool) -> list[str]:
    if len(text) <= width:
        return [text]
    if not whole:
        return [text[: width - 1].rstrip() + "…"]
    from rtstone.report.parts.console import folded

    return folded(text, width)


def show(lines: Iterable[Text | str]) -> None:
    """Print lines, by the pager if they fill a terminal."""
    with paged(sys.stdout) as out:
        for line in lines:
            out.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)
