"""Runs that are to be pushed: a note for each in the store, until the server has it.

outbox/ID.json    where to, which run; ID is a hash of both
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import time
from typing import NamedTuple

import msgspec

from rtstone import structures
from rtstone.errors import StoreError, UsageError
from rtstone.files import directory
from rtstone.folders import results
from rtstone.server.client.address import Address
from rtstone.server.client.http import Refused, Server, Unreachable
from rtstone.server.client.push import Pushed, is_final, push
from rtstone.store import atomic
from rtstone.store.layout import UNREADABLE, holds_run, regular

_LARGEST = 64 << 10  # bytes of a note


class Note(msgspec.Struct, frozen=True):
    """A run to be pushed; ``queued``: in s since 1970."""

    url: str
    run: str
    queued: float


class Delivered(NamedTuple):
    """What became of the runs for a server.

    ``refused``: why some of them will never be there, a line each.  ``left``: how many stay in the
    outbox, and ``why``.
    """

    pushed: list[Pushed]
    refused: list[str]
    left: int
    why: UsageError | Unreachable | None


def queue(to: Address, run: Path) -> None:
    """Note that a run is to be pushed.  Raises StoreError."""
    note = Note(to.url, str(run.absolute()), time())
    try:
        outbox().mkdir(parents=True, exist_ok=True, mode=0o700)
        with directory(outbox(), links=True) as place:
            atomic.replace(place, _name(note), msgspec.json.encode(note))
    except OSError as error:
        raise StoreError(
            f"the run cannot be queued, {outbox()}: {error.strerror}; make room there"
        ) from error


def queued(to: Address) -> list[Note]:
    """Return the runs for a project of a server, in their order."""
    notes = []
    for path in outbox().glob("*.json"):
        with suppress(OSError, *UNREADABLE):
            notes.append(structures.decode(regular(path, _LARGEST), Note))
    own = [note for note in notes if note.url == to.url]
    return sorted(own, key=lambda note: (note.queued, note.run))


def deliver(server: Server, runs: Sequence[Path] = ()) -> Delivered:
    """Push the queued runs for a server, until it does not answer.

    ``runs``: those that were queued for this delivery, of each of which the outcome is returned,
    also if another process has taken it from the queue.  Raises StoreError.
    """
    pushed: list[Pushed] = []
    refused: list[str] = []
    own = [str(run.absolute()) for run in runs]
    notes = queued(server.address)
    listed = {note.run for note in notes}
    notes += [Note(server.address.url, run, time()) for run in own if run not in listed]
    for number, note in enumerate(notes):
        path = Path(note.run)
        if note.run not in own and not _is_queued(note):
            continue  # another process has sent it
        try:
            if holds_run(path):
                pushed.append(push(server, path))
            else:
                refused.append(f"{path.name}: removed before it was sent, {path}")
        except Refused as error:
            if not is_final(error):
                return Delivered(pushed, refused, _left(server, notes[number:], own), error)
            refused.append(f"{path.name}: {error}")
        except Unreachable as error:
            return Delivered(pushed, refused, _left(server, notes[number:], own), error)
        except UsageError as error:
            refused.append(str(error))
        with suppress(OSError):
            (outbox() / _name(note)).unlink()
    return Delivered(pushed, refused, 0, None)


def _left(server: Server, notes: Sequence[Note], own: Sequence[str]) -> int:
    """Return how many of these runs are in the queue; back there go those that are ``own``."""
    for note in notes:
        if note.run in own:
            queue(server.address, Path(note.run))
    return sum(map(_is_queued, notes))


def _is_queued(note: Note) -> bool:
    return (outbox() / _name(note)).exists()


def outbox() -> Path:
    """Return the directory of the notes."""
    return results() / "outbox"


def _name(note: Note) -> str:
    return hashlib.sha256(f"{note.url}\0{note.run}".encode()).hexdigest()[:24] + ".json"
