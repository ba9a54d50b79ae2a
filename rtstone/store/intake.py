"""Take run directories that were made elsewhere into the store."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import msgspec

from rtstone.documents.plan import Plan
from rtstone.errors import RtstoneError, StoreError
from rtstone.files import directory, sync
from rtstone.printable import parsed, shown
from rtstone.store import atomic
from rtstone.store.layout import LARGEST, PLAN, RUN, UNREADABLE, regular, runs
from rtstone.store.rundir import load

FILES = re.compile(r"(?:plan|run)\.json|wire(?:-[0-9]{1,6})?\.log")  # of a run directory
STAGED = ".staged"  # directory among the runs, so on their file system, of those not complete yet


def staging() -> Path:
    """Return the directory for runs that are to be taken in; make it.  Raises StoreError."""
    place = runs() / STAGED
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"results cannot be stored, {place}: {error.strerror}") from error
    return place


def take_in(staged: Path, arrival: int, into: Path | None = None) -> bool:
    """Move a complete run directory, named by its run's id, to the others.

    ``arrival``: its number in the store.  ``into``: the directory of the others, on the same file
    system; default: of this user's store.  It appears there as a whole, or not at all.  Returns
    whether it did: False if there is a run of that id already, which is left as it is.  Raises
    StoreError.
    """
    home = into or runs()
    try:
        with directory(staged) as place:
            plan = parsed(regular(staged / PLAN, LARGEST), Plan)
            plan = msgspec.structs.replace(plan, arrival=arrival)
            os.stat(RUN, dir_fd=place, follow_symlinks=False)
            atomic.replace(place, PLAN, msgspec.json.format(msgspec.json.encode(plan)))
        staged.rename(home / staged.name)  # refused unless that is new, or an empty directory
        sync(home)
    except UNREADABLE as error:
        raise StoreError(f"not a run, {staged}: {error}") from error
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST} and is_whole(home / staged.name):
            return False
        raise StoreError(
            f"results cannot be stored, {home / staged.name}: {error.strerror}; make room there"
        ) from error
    return True


def is_whole(path: Path) -> bool:
    """Return whether a directory holds a run that has ended."""
    try:
        return (path / RUN).exists() and (path / PLAN).exists()
    except OSError:
        return False


def refusal(path: Path) -> str | None:
    """Return why a directory that came from elsewhere is no complete run of its name, or None."""
    if not is_whole(path):
        return f"it has no {PLAN} or no {RUN}"
    try:
        run = load(path)
        plan = parsed(regular(path / PLAN, LARGEST), Plan)
    except RtstoneError as error:
        return str(error)
    except (OSError, *UNREADABLE) as error:
        return f"not a readable {PLAN}: {error}"
    if run.run_id != path.name or run.status != "complete":
        return f"it holds {run.status} run {shown(run.run_id)}"
    return None if plan.run_id == path.name else f"its {PLAN} is that of {shown(plan.run_id)}"
