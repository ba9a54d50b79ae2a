"""A file to import: bytes, numbered lines, and errors about it."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Never

from rtstone.errors import UsageError
from rtstone.files import content
from rtstone.formats import pasted
from rtstone.packed import unpacked
from rtstone.units import CLOCK

LARGEST = 256 << 20  # bytes; nine million raw samples
LONGEST = 64 << 20  # bytes of text, as every number in it becomes an object
STDIN = "-"
UNITS = CLOCK  # of samples, in ns
HIGHEST = 1 << 62  # ns; larger values are wrapped-around differences

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_INTERRUPT = re.compile(rb"^\^C(?=.)", re.MULTILINE)  # shown before the line that follows

_WHOLE = "import the file as the tool wrote it"
ONE_FILE, ONE_OUTPUT = "import one run's file at a time", "import one run's output at a time"


class Meaning(NamedTuple):
    """What the user states about numbers whose file does not.

    ``unit_ns``: the unit in ns.  ``period_ns``: of the task that they are of.  ``column``, ``due``,
    ``at``: names or numbers (from 1) of columns: of the samples, or of when an activation was due
    and when it ran.  ``bench``: what measured them.  ``limit_ns``: what is later is a miss.
    """

    unit_ns: int | None = None
    period_ns: int | None = None
    column: str | None = None
    due: str | None = None
    at: str | None = None
    bench: str | None = None
    limit_ns: int | None = None


NO_MEANING = Meaning()


class Source(NamedTuple):
    """The content of a file, and its name in errors.

    ``command``: the command line at the prompt that stood before the text, None without one.
    ``before``: how many lines were taken off before the text.
    """

    name: str
    data: bytes
    command: str | None = None
    before: int = 0
    meaning: Meaning = NO_MEANING

    @property
    def unit_ns(self) -> int | None:
        """The unit of the numbers in ns as the user states it, None if not stated."""
        return self.meaning.unit_ns

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (number from 1, text) of each line.  Refuses data that is not text, or too long."""
        self.check_length()
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            self.refuse("not text", line)
        return enumerate(text.replace("\r\n", "\n").split("\n"), 1)

    def check_length(self) -> None:
        """Refuse a text that is too long."""
        if len(self.data) > LONGEST:
            self.refuse(f"a text of more than {LONGEST >> 20} MiB", do="import a shorter histogram")

    def check_end(self) -> None:
        """Refuse a text without a final newline, which may be truncated."""
        if not self.data.endswith(b"\n"):
            self.cut("the last line has no end", self.data.count(b"\n") + 1)

    def number(self, text: str, line: int, noun: str = "count") -> int:
        """Return a non-negative whole number.  Refuses anything else."""
        if not (text.isascii() and text.isdigit()):
            self.refuse(f"{noun} '{text[:40]}' is not a whole number from 0", line)
        if len(text) > 30 or int(text) >= HIGHEST:
            self.refuse(f"{noun} {text[:40]} is too large to be true", line)
        return int(text)

    def cut(self, reason: str, line: int | None = None) -> Never:
        """Refuse a truncated file."""
        self.refuse(f"the file is cut short, {reason}", line, "import all of it")

    def refuse_line(self, text: str, line: int, kind: str) -> Never:
        """Refuse a damaged line; ``kind``: what it begins as."""
        self.refuse(f"'{text.strip()[:40]}' is not a complete {kind}", line)

    def refuse(self, reason: str, line: int | None = None, do: str = _WHOLE) -> Never:
        """Raise UsageError: what is wrong, where, what to do."""
        place = self.name if line is None else f"{self.name} line {line + self.before}"
        raise UsageError(f"{reason}, in {place}; {do}")


def read(name: str) -> Source:
    """Read the file of that name; ``-`` is standard input.  Raises UsageError."""
    try:
        if name == STDIN:
            return _bounded("standard input", sys.stdin.buffer.read(LARGEST + 1))
        return _bounded(name, content(Path(name), LARGEST))
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    except ValueError as error:  # a NUL in a name
        raise UsageError(f"not the name of a file, {name!r}") from error


def _bounded(name: str, data: bytes) -> Source:
    """Return unpacked data, a text in UTF-8 and as its tool wrote it.  Refuses too much of them."""
    _check_size(name, data)
    try:
        data = unpacked(data, LARGEST + 1)
    except ValueError as error:
        raise UsageError(f"cannot unpack {name}: {error}; unpack it by hand") from error
    _check_size(name, data)
    if data[:2] in _UTF16:
        with suppress(UnicodeDecodeError):
            data = data.decode("utf-16").encode()
    data = data.removeprefix(codecs.BOM_UTF8)
    source = Source(name, data)
    if b"\0" not in data and len(data) <= LONGEST:  # a text: without what it got on its way
        text = pasted.plain(data)
        source = Source(name, _INTERRUPT.sub(b"", text.data), text.command, text.before)
    if not source.data.strip():
        source.refuse("nothing in the file")
    return source


def _check_size(name: str, data: bytes) -> None:
    if len(data) > LARGEST:
        Source(name, data).refuse(
            f"more than {LARGEST >> 20} MiB", do="import a histogram in place of samples"
        )
