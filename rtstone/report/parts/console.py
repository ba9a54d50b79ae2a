"""Consoles on streams, and text folded to their width."""

from __future__ import annotations

import errno
import os
import re
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO, cast

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from rtstone.units import GLUED, UNITS, plain, quantity, trimmed

_GLUED = re.compile(rf"{GLUED.pattern}|(?<=\bn) (?==)|(?<=\bn =) (?=\d)|(?<=\bn) (?=\d)")
_COMMAND = re.compile(r"`[^`]+`|\(rtstone [^)]+\)")
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^'" ])+""")  # of a shell, as shlex.quote writes it
ENDLESS = 100_000  # columns, if it is no terminal, so that no text is wrapped


class _Trimmed:
    """A stream that drops blanks at the ends of lines, with which tables are padded."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write("\n".join(line.rstrip(" ") for line in text.split("\n")))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Console(Console):
    """A console that leaves the handling of a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(file: TextIO) -> Console:
    """Return a console on a stream; plain and of unlimited width if that is no terminal."""
    if file.isatty():
        return _Console(file=file, highlight=False)
    trimmed = cast(TextIO, _Trimmed(file))
    return _Console(file=trimmed, highlight=False, width=ENDLESS, soft_wrap=False)


def lines_of(out: Console, parts: Sequence[RenderableType]) -> int:
    """Return how many lines these take on a console."""
    return sum(len(out.render_lines(part, pad=False)) for part in parts)


def figure(value: float | None, unit: str = "ns", bucket: float = 0.0) -> str:
    """Return a value for a table or list, a dash if it is unknown.

    ``bucket``: the width of the buckets of another tool, of which the first begins at 0.
    """
    if value is None:
        return "-"
    if value == 0 and bucket:
        return f"<{trimmed(bucket, unit)}"
    counts = unit not in {"", "%", *UNITS} and "per " not in unit
    if counts and value == round(value):
        return trimmed(value, unit)
    return quantity(value, unit) if unit else plain(value)


def plain_table(gap: int = 2, **options: Any) -> Table:
    """Return a table without lines, with ``gap`` blanks between columns."""
    return Table(box=None, header_style="bold", padding=(0, gap, 0, 0), pad_edge=False, **options)


def folded(
    text: str, width: int, first: str = "", rest: str = "", *, break_words: bool = True
) -> list[str]:
    """Return the lines of a text, split at blanks; ``first`` and ``rest``: their indents.

    A word longer than a line is broken, or exceeds it if ``break_words`` is false.
    """
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
        break_long_words=break_words,
    )  # fmt: skip


def sentences(text: Text, width: int, rest: str = "") -> list[Text]:
    """Return the lines of a text, split at blanks but not in commands, numbers, or before units.

    ``rest``: the indent of all lines but the first.
    """
    if len(text.plain) <= width:
        return [text]
    lines, start = [], 0
    begin = text.plain[: len(text.plain) - len(text.plain.lstrip())]
    glued = _COMMAND.sub(
        lambda match: match[0].replace(" ", "\0") if len(match[0]) < width else match[0],
        _GLUED.sub("\0", text.plain),
    )
    for row in folded(glued.lstrip(" "), width, begin, rest, break_words=False):
        words = row.strip(" ").replace("\0", " ")
        start = text.plain.index(words, start)
        indent = row[: len(row) - len(row.lstrip(" "))]
        lines.append(Text(indent).append_text(text[start : start + len(words)]))
        start += len(words)
    return lines


def copied(command: str, width: int) -> list[str]:
    """Return the lines of a shell command, which a shell takes as one."""
    lines = [""]
    for word in _WORD.findall(command):
        if len(lines[-1]) + len(word) + len("  \\") > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def packed(pieces: list[str], width: int) -> list[str]:
    """Return indented lines of pieces, without splitting any of them."""
    glued = "  ".join(piece.replace(" ", "\0") for piece in pieces)
    rows = folded(glued, width, "  ", "  ", break_words=False)
    return [row.replace("\0", " ") for row in rows]
