"""Show that a command is at work: one line on a terminal, which is gone at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rtstone.units import roughly

AFTER_S = 0.3  # shorter work shows nothing
_EVERY_S = 0.5


class Line:
    """The line; ``task``: what is done, as a participle."""

    def __init__(self, task: str, file: TextIO) -> None:
        self._task = task
        self._file = file
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._shown = 0  # letters on the terminal
        self._share: float | None = None

    def steps(self, done: int, total: int) -> None:
        """Take note of how much is done."""
        self._share = done / total if total else None

    def echo(self, text: str) -> None:
        """Print a line that stays, on stdout."""
        with self._lock:
            self._clear()
            print(text, flush=True)

    def follow(self) -> None:
        """Show the line from AFTER_S on, until ``end`` is called."""
        if self._ended.wait(AFTER_S):
            return
        while True:
            with self._lock:
                self._clear()
                spent = time.monotonic() - self._begin
                text = f"{self._task}, {spent:.0f} s"
                if self._share:
                    left = spent * (1 / self._share - 1)
                    text = f"{self._task}: {self._share:.0%}, about {roughly(left)} left"
                self._shown = len(text)
                print(text, end="", file=self._file, flush=True)
            if self._ended.wait(_EVERY_S):
                break
        with self._lock:
            self._clear()

    def end(self) -> None:
        """Have the line removed."""
        self._ended.set()

    def _clear(self) -> None:
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=self._file, flush=True)
            self._shown = 0


@contextmanager
def working(task: str) -> Iterator[Line]:
    """Show on stderr, if it is a terminal, a task that takes longer than AFTER_S."""
    line = Line(task, sys.stderr)
    if not sys.stderr.isatty():
        yield line
        return
    follower = threading.Thread(target=line.follow, daemon=True)
    follower.start()
    try:
        yield line
    finally:
        line.end()
        follower.join()
