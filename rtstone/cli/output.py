"""Print documents to stdout, and write the files of -o."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from rtstone import printable
from rtstone.errors import UsageError
from rtstone.report.parts.output import require_writable, write
from rtstone.units import file_size

_MARK = b'<meta name="generator" content="rtstone">'  # of a page; see templates/frame.html
_HEAD = 4096  # bytes at the beginning of a page that have the mark


def print_document(document: object) -> None:
    """Print one JSON document and a newline: the whole of stdout with --json."""
    try:
        data = msgspec.json.encode(document)
    except UnicodeEncodeError:  # a name of a file may be any bytes
        data = msgspec.json.encode(printable.every(msgspec.to_builtins(document)))
    sys.stdout.buffer.write(msgspec.json.format(data) + b"\n")
    sys.stdout.buffer.flush()


class OutputFile(click.Path):
    """The file of an option such as -o: what cannot be written is refused before the work."""

    def __init__(self, *suffixes: str) -> None:
        """Take the ends that a file's name may have, in lower case; default: any."""
        super().__init__(path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path.  Raises UsageError."""
        option = param.opts[0] if param else "-o"
        path = Path(value)
        if not os.fspath(value):
            raise UsageError(f"empty file name, in {option}; write {option} FILE")
        if self._suffixes and path.suffix.lower() not in self._suffixes:
            raise UsageError(
                f"no format of '{value}', in {option}; write a name that ends in "
                f"{' or '.join(self._suffixes)}"
            )
        try:
            require_writable(path)
        except OSError as error:
            raise UsageError(f"cannot write {value}, in {option}: {error.strerror}") from error
        return path


def default_page(path: Path) -> Path:
    """Return the path of a page that the user did not name: it may replace only such a page.

    Raises UsageError.
    """
    replaceable = False
    try:
        if stat.S_ISREG(path.stat().st_mode):
            with path.open("rb") as file:
                replaceable = _MARK in file.read(_HEAD)
    except FileNotFoundError:
        replaceable = not path.is_symlink()
    except OSError:
        pass
    if not replaceable:
        raise UsageError(f"{path} exists and is no page of rtstone; write -o FILE.html")
    return OutputFile().convert(path, None, None)


class Written(NamedTuple):
    """What has been written."""

    size: int  # bytes
    regular: bool  # a file, rather than a pipe or a device


def write_file(noun: str, path: Path, content: str | bytes) -> Written:
    """Write a file, named ``noun`` in errors: ``the page``.  Raises UsageError."""
    try:
        return Written(write(content, path), path.is_file())
    except OSError as error:
        raise UsageError(f"cannot write {noun}, {path}: {error.strerror}") from error


def save(noun: str, path: Path, content: str | bytes, *, quiet: bool = False) -> Written:
    """Write a file as `write_file` does, and report its size.

    ``quiet``: on standard error, as standard output is for a document alone.  So it is, too, where
    the path is no file: it may be standard output.
    """
    written = write_file(noun, path, content)
    summary = f"{printable.shown(str(path))}: {file_size(written.size)}"
    click.echo(summary, err=quiet or not written.regular)
    return written
