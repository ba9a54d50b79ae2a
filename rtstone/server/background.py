"""What a server does by itself, one thing after the other, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from rtstone.server import analysis, answers, audit, retention, room
from rtstone.server.database import Database, log_failure
from rtstone.server.projects import Places
from rtstone.server.reconcile import Reconciler, register
from rtstone.server.settings import Settings

EVERY_S = 5.0  # between two looks at the run directories
HOURLY_S = 3600.0


class Background:
    """Keeps the index, finds changes, applies the rules of retention, delivers messages."""

    def __init__(self, database: Database, places: Places, settings: Settings) -> None:
        self._database, self._places, self._settings = database, places, settings
        self._wanted, self._over = threading.Event(), threading.Event()
        self._reconciler = Reconciler(database, places, self._over.is_set)
        self._round = threading.Condition()
        self._rounds = 0
        self._hourly = 0.0
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)

    def start(self) -> None:
        """Begin; the projects are known on return, before any run of theirs has been read."""
        self._do("finding the projects", lambda: register(self._database, self._places))
        self._thread.start()

    def wake(self) -> None:
        """Begin the next round now: a run has come."""
        self._wanted.set()

    def settle(self) -> None:
        """Wait until a round that begins now has ended."""
        with self._round:
            enough = self._rounds + 2  # one may just go on
            while self._rounds < enough and self._thread.is_alive():
                self.wake()
                self._round.wait(0.05)

    def stop(self) -> None:
        """End it after its current step, which is completed or undone."""
        self._over.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            self._wanted.clear()
            # In a part of an index changes that were announced are not found, and so forgotten.
            if self._do("keeping the index", self._reconciler.run):
                self._do("finding changes", self._analyse)
            for task in answers.tasks:
                self._do("delivering", lambda: task(self._database, self._places, self._settings))  # noqa: B023
            if monotonic() >= self._hourly:
                self._hourly = monotonic() + HOURLY_S
                self._do("removing old runs", self._retain)
                self._do("removing what was left of uploads", self._sweep)
            with self._round:
                self._rounds += 1
                self._round.notify_all()
            self._wanted.wait(EVERY_S)

    def _do(self, action: str, step: Callable[[], object]) -> bool:
        """Take a step, and return whether it succeeded; else it is tried again in the next round.

        What goes wrong is logged.
        """
        if self._over.is_set():
            return False
        try:
            step()
        except Exception as error:
            log_failure(action, error, self._settings.store)
            return False
        return True

    def _analyse(self) -> None:
        while not self._over.is_set() and analysis.analyse_next(self._database, self._places):
            pass

    def _sweep(self) -> None:
        for project in self._places.projects():
            room.sweep(self._places, project)
        audit.sweep(self._database)

    def _retain(self) -> None:
        if self._settings.retention:
            retention.apply(self._database, self._places, self._settings.retention)
