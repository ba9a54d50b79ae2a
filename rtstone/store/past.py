"""Find the last run on this machine."""

from __future__ import annotations

from contextlib import suppress

from rtstone.documents.run import LOCAL, Run
from rtstone.errors import UsageError
from rtstone.store.index import entries
from rtstone.store.places import runs
from rtstone.store.rundir import load


def last_run() -> Run | None:
    """Return the last stored run on this machine with a valid result, None if there is none."""
    for entry in reversed(entries()):
        if entry.target == LOCAL and entry.ok:
            with suppress(UsageError):  # it may be from another version, or just deleted
                return load(runs() / entry.run_id)
    return None
