"""Who observes a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Result
from rtstone.wire import records


class Listener:
    """Observe the course of a run; this one ignores it."""

    progress_ms = 0  # how often it wants to hear of the case that runs; 0: it does not care

    def started(self, plan: Plan) -> None:
        """The agent is about to be started."""

    def load_starting(self, load: str) -> None:
        """The load of the next cases is being started, which takes its time."""

    def case_started(self, case: Case) -> None:
        """A case has begun."""

    def progress(self, case: Case, record: records.Progress, unit: str) -> None:
        """Where a case stands."""

    def round_ended(self, case: Case, results: list[Result]) -> None:
        """A round of a case has ended, another one follows; these are its results so far."""

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """A case has ended, with these results."""

    def ended(self) -> None:
        """The agent has ended, or was given up."""


class GuardedListener:
    """Pass events to a listener until that fails: with nobody left to read, the run goes on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @property
    def progress_ms(self) -> int:
        """How often the listener wants to hear of a case, as ``Listener.progress_ms``."""
        return self._listener.progress_ms

    def __call__(self, what: Callable[[Listener], None]) -> None:
        """Tell the listener, or drop it if what it writes to is gone."""
        try:
            what(self._listener)
        except OSError:
            self._listener = Listener()
