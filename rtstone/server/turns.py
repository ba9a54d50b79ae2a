"""The order in which runs are parsed: projects take turns, by how much each has had.

A large run never takes the last free parser, so that a small one waits for small ones only.  Among
the runs that may have a parser, the one of the project that has had the fewest bytes parsed comes
first, then the one that came first.  All of it is for one event loop: waiting takes no thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import NamedTuple

from anyio import Event

LARGE = 8 << 20  # bytes of a run, unpacked, above which it is a large one
WAITING = 32  # runs of a project; who pushes one more comes again
_LEAST = 1 << 20  # bytes that a run counts for at least: it takes time whatever its size


class _Run(NamedTuple):
    """A run that waits for a parser, or has one."""

    number: int  # in order of arrival
    project: str
    size: int
    granted: Event

    @property
    def large(self) -> bool:
        return self.size > LARGE


class Turns:
    """The turns at so many parsers."""

    def __init__(self, parsers: int) -> None:
        """``parsers``: at least 2."""
        self._parsers = parsers
        self._numbers = count()
        self._waiting: list[_Run] = []
        self._running: dict[_Run, int] = {}  # with what its project had had before it
        self._had: dict[str, int] = {}  # bytes, of the projects that take turns

    def waiting(self, project: str) -> int:
        """Return how many runs of a project wait."""
        return Counter(run.project for run in self._waiting)[project]

    @asynccontextmanager
    async def turn(self, project: str, size: int) -> AsyncIterator[None]:
        """Wait for a parser, and hold it while the block lasts; ``size``: of the run, in bytes."""
        run = _Run(next(self._numbers), project, size, Event())
        self._enter(project)
        self._waiting.append(run)
        self._grant()
        try:
            await run.granted.wait()
            yield
        finally:
            if run in self._running:
                del self._running[run]
            else:
                self._waiting.remove(run)
            self._grant()

    def _enter(self, project: str) -> None:
        """Have a project take turns as one that has had as little as any that does.

        What it did not use before is not saved up, or it could keep the others out for as long.
        """
        waiting = {run.project for run in self._waiting}
        active = waiting | {run.project for run in self._running}
        least = min((*self._running.values(), *map(self._had.__getitem__, waiting)), default=0)
        # Who is away keeps what it had above that; below it, it is as good as new.
        self._had = {n: b for n, b in self._had.items() if n in active or (active and b > least)}
        self._had.setdefault(project, least)

    def _grant(self) -> None:
        """Give the free parsers to those whose turn it is."""
        while len(self._running) < self._parsers:
            large = sum(run.large for run in self._running) < self._parsers - 1
            able = [run for run in self._waiting if large or not run.large]
            if not able:
                return
            run = min(able, key=lambda run: (self._had[run.project], run.number))
            self._waiting.remove(run)
            self._running[run] = self._had[run.project]
            self._had[run.project] += max(run.size, _LEAST)
            run.granted.set()
