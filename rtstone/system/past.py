"""What was measured of this system before."""

from __future__ import annotations

from contextlib import suppress

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.store.index import entries
from rtstone.store.rundir import load, runs


def last_run() -> Run | None:
    """The last run of this machine that is kept and has a result."""
    for entry in reversed(entries()):
        if entry.target == "local" and entry.ok:
            with suppress(UsageError):  # it may be another version's, or gone meanwhile
                return load(runs() / entry.run_id)
    return None
