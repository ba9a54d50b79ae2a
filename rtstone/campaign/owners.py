"""The processes that bring a campaign on, each seen by others of its machine as long as it lives.

Each holds a lock on a file of its own, its mark.  What it has left, others remove once it ended.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from rtstone.store.layout import lock


class Owner:
    """This process; ``name``: begins the names of what is its own."""

    def __init__(self, folder: Path) -> None:
        """Make its mark, in the directory of a campaign.  Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            self.name = secrets.token_hex(8)
            self._mark = _mark(folder, self.name)
            self._handle = os.open(self._mark, flags, 0o600)
            # Another process may have taken it for one left behind before it was locked.
            if lock(self._handle) and self._mark.exists():
                return
            os.close(self._handle)

    def sweep(self) -> None:
        """Remove the marks of others that are gone."""
        for mark in self._mark.parent.glob("runner-*.lock"):
            if mark != self._mark and is_dead(mark.parent, mark.stem.removeprefix("runner-")):
                with suppress(OSError):
                    mark.unlink()

    def close(self) -> None:
        """Remove the mark."""
        with suppress(OSError):
            self._mark.unlink()
        os.close(self._handle)


def _mark(folder: Path, name: str) -> Path:
    return folder / f"runner-{name}.lock"


def is_dead(folder: Path, name: str) -> bool:
    """Return whether an owner has ended; one of another machine is seen there only."""
    try:
        handle = os.open(_mark(folder, name), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return lock(handle)
    finally:
        os.close(handle)
