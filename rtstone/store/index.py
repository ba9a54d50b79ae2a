"""Find stored runs by their names."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from pathlib import Path

from rtstone.errors import RunSkipped, UsageError
from rtstone.folders import results
from rtstone.store import names
from rtstone.store.layout import RUN, holds_run, regular, runs
from rtstone.store.names import LAST
from rtstone.store.run_catalogue import DAMAGED, UNFINISHED, Entry, consult, stored_entries

_OK = re.compile(rb'"t": ?"end"[^\n]*"status": ?"ok"')


def entries() -> list[Entry]:
    """Return all runs of the store in order of arrival."""
    catalogue, stored = consult(results(), stored_entries)
    catalogue.close()
    return stored


def chronological(stored: Iterable[Entry]) -> list[Entry]:
    """Return runs in the order in which they were measured; as they arrived where that is unknown.

    They may arrive in another order: pulled from elsewhere, pushed late, imported from old files.
    """
    ordered: list[tuple[float, Entry]] = []
    for entry in stored:
        before = ordered[-1][0] if ordered else -inf
        ordered.append((entry.begun.timestamp() if entry.begun else before, entry))
    return [entry for _, entry in sorted(ordered, key=lambda pair: pair[0])]


def arrivals() -> int:
    """Return the highest arrival number of the runs, 0 if there are none."""
    return max((entry.arrival for entry in entries()), default=0)


def find(name: str) -> Path:
    """Return the directory of a run: given by directory, name, id, start of an id, or `last`.

    `last` is the last run that has a result, `last~N` the Nth before it; warns of runs among them
    that are damaged (RunSkipped).  Raises UsageError unless exactly one matches.
    """
    path = Path(name).parent if Path(name).name == RUN else Path(name)
    try:
        if holds_run(path):
            return path
    except PermissionError as error:
        raise UsageError(f"cannot read run, {path}: {error.strerror}") from error
    stored = entries()
    if back := LAST.fullmatch(name):
        age = int(back[1] or 0)
        for entry in reversed(stored):
            if entry.status == DAMAGED:
                why = f"left out run {entry.run_id}, as its run.json cannot be read"
                warnings.warn(f"{why}; see rtstone show {entry.run_id}", RunSkipped, stacklevel=2)
            elif _has_any(entry):
                if not age:
                    return runs() / entry.run_id
                age -= 1
        measured = sum(map(_has_any, stored))
        raise UsageError(
            f"no run '{name}', {measured} of {len(stored)} runs in {runs()} have results; "
            "see `rtstone list runs`, or measure with `rtstone run`"
        )
    exact = [entry.run_id for entry in stored if name in {entry.name, entry.run_id}]
    ids = exact or [entry.run_id for entry in stored if name and entry.run_id.startswith(name)]
    if len(ids) != 1:
        called = any(entry.name == name for entry in stored)
        several = f"{len(ids)} runs {'are called' if called else 'start with'}"
        number = several if ids else "no run"
        raise UsageError(f"{number} '{name}', in {runs()}; see `rtstone list runs`")
    return runs() / ids[0]


def latest() -> Path | None:
    """Return the directory of the run that arrived last, whatever it has; None if there is none."""
    stored = entries()
    return runs() / stored[-1].run_id if stored else None


def free_name(name: str) -> str:
    """Return the name of a run to come.  Raises UsageError if it is not one, or is taken."""
    names.check(name)
    if taken := next((entry.run_id for entry in entries() if entry.name == name), None):
        raise UsageError(
            f"name '{name}' is taken, by run {taken}; choose another one, or remove that run: "
            f"rtstone rm {shlex.quote(name)}"
        )
    return name


def _has_any(entry: Entry) -> bool:
    """Return whether a run has a result, or, without a document, a case that ended well.

    Only a run that still goes on, or whose host was killed, has no document; so there is hardly any
    log to be read.
    """
    if entry.ok or entry.measured or entry.status != UNFINISHED:
        return bool(entry.ok or entry.measured)
    with suppress(OSError):
        return any(_OK.search(regular(log)) for log in (runs() / entry.run_id).glob("wire*.log"))
    return False
