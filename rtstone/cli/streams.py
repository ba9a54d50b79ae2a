"""The streams a process is started with: closed, full, unread or of a poor encoding."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def settle() -> None:
    """Makes them fit to be written to; those that are closed lead nowhere."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def take_any_letter() -> None:
    """Has letters that the encoding lacks come out as question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def maybe_unread() -> Iterator[None]:
    """For output that nobody may be left to read, which is not a fault."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_unwritten()


def drop_unwritten() -> None:
    """Sends nowhere what cannot be written: the interpreter's own attempt would be its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
