"""Observers of a run in progress."""

from __future__ import annotations

from collections.abc import Callable

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Result
from rtstone.wire import records


class Listener:
    """Receive the events of a run; this base class ignores them."""

    progress_ms = 0  # interval of progress events; 0: none wanted

    def started(self, plan: Plan) -> None:
        """The agent is about to be started."""

    def load_starting(self, load: str) -> None:
        """The load of the next cases is being started, which may take a while."""

    def case_started(self, case: Case) -> None:
        """A case has begun."""

    def progress(self, case: Case, record: records.Progress, unit: str) -> None:
        """The running case reports its progress."""

    def round_ended(self, case: Case, results: list[Result]) -> None:
        """A round of a case has ended and another one follows; ``results`` are those so far."""

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """A case has ended with these results."""

    def ended(self) -> None:
        """The agent has ended, or was abandoned."""


class GuardedListener:
    """Pass events to a listener until it fails: if its terminal or pipe closes, the run goes on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @property
    def progress_ms(self) -> int:
        """Return the listener's interval of progress events in ms."""
        return self._listener.progress_ms

    def __call__(self, event: Callable[[Listener], None]) -> None:
        """Pass an event to the listener; drop the listener if its output is closed."""
        try:
            event(self._listener)
        except OSError:
            self._listener = Listener()
