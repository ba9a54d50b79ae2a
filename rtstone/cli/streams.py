"""Handle standard streams that are closed, full, no longer read, or of a limited encoding."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rtstone.program import typed


def settle() -> None:
    """Open closed standard streams on /dev/null, so that all can be written to.

    Exits if one is closed and there is no /dev/null, as in a bare mount namespace.
    """
    try:
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
    except OSError as error:
        if None in {sys.stdin, sys.stdout, sys.stderr}:
            sys.exit(f"rtstone: a standard stream is closed, and no /dev/null: {error.strerror}")
    sys.stdin = sys.stdin or os.fdopen(0, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def take_any_letter() -> None:
    """Replace characters that the encoding lacks by question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(line: str) -> None:
    """Print a line on stderr."""
    with suppress(OSError):  # who reads it may be gone, which is no reason not to measure
        print(typed(line), file=sys.stderr, flush=True)


@contextmanager
def maybe_unread() -> Iterator[None]:
    """Ignore a closed pipe while printing: the reader may have ended, which is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_unwritten()


def drop_unwritten() -> None:
    """Discard unwritable output, on which the interpreter's own flush at exit would fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
