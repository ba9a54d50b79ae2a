"""The index of runs: an SQLite cache of the run directories."""

from __future__ import annotations

import re
import shlex
import sqlite3
import threading
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from itertools import islice
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.documents.run import as_text
from rtstone.errors import RunSkipped, UsageError
from rtstone.folders import results
from rtstone.printable import parsed, shown
from rtstone.store import names
from rtstone.store.layout import (
    HISTORY,
    INDEX,
    LARGEST,
    PLAN,
    RUN,
    UNREADABLE,
    holds_run,
    regular,
    runs,
)
from rtstone.store.names import LAST

# Errors of access, after which the index is kept; after any other it is made anew.
SOUND = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
          sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}  # fmt: skip
_ALONE = threading.Lock()  # threads of one process make and mend the table one after the other
_VERSION = 6  # of the table; one of another version is made anew from the directories
UNFINISHED = "unfinished"  # the status of a run without a document
DAMAGED = "damaged"  # and of one whose document cannot be read
_OK = re.compile(rb'"t": ?"end"[^\n]*"status": ?"ok"')
_TABLE = """CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, created TEXT, suite TEXT, target TEXT, status TEXT, ok INTEGER,
    results INTEGER, benches TEXT, arrival INTEGER, name TEXT,
    measured INTEGER, called TEXT, source TEXT
) WITHOUT ROWID"""


class Entry(NamedTuple):
    """One run.

    ``status``: "unfinished" while it has no document, "damaged" if that cannot be read; ``ok`` and
    ``results`` are 0 then.  ``ok``: the number of its ``results`` with status "ok".  ``benches``:
    their ids, separated by blanks.  ``arrival`` and ``name``: as in the plan.  ``measured``: the
    number of results with samples.  ``called``: what a person calls the target.  ``source``: the
    SHA-256 of an imported file.
    """

    run_id: str
    created: str
    suite: str | None
    target: str
    status: str
    ok: int
    results: int
    benches: str
    arrival: int = 0
    name: str | None = None
    measured: int = 0
    called: str | None = None
    source: str | None = None

    @property
    def begun(self) -> datetime | None:
        """When the run began, None if its document does not say so."""
        try:
            return datetime.fromisoformat(self.created).astimezone()
        except (ValueError, OverflowError):
            return None


def entries() -> list[Entry]:
    """Update the index from the directories, and return all runs in order of arrival."""
    with _ALONE:
        return _entries()


def _entries() -> list[Entry]:
    try:
        return _indexed(results() / INDEX)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in SOUND:
            for tail in ("", "-wal", "-shm"):
                with suppress(OSError):
                    (results() / f"{INDEX}{tail}").unlink()
            with suppress(sqlite3.Error):
                return _indexed(results() / INDEX)
    return _indexed(":memory:")  # the store cannot be written: slower, not wrong


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


def forget(run_id: str, store: Path | None = None) -> None:
    """Invalidate what is known of a run that is about to change.

    ``store``: the directory of its store, that of this user if None.
    """
    for name in (INDEX, HISTORY):
        path = (store or results()) / name
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as database:
            database.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))
            database.commit()


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
    known = entries()
    if back := LAST.fullmatch(name):
        return runs() / _last(known, name, int(back[1] or 0))
    found = _named(known, name)
    if len(found) != 1:
        called = any(entry.name == name for entry in known)
        several = f"{len(found)} runs {'are called' if called else 'start with'}"
        what = several if found else "no run"
        raise UsageError(f"{what} '{name}', in {runs()}; see `rtstone list runs`")
    return runs() / found[0]


def latest() -> Path | None:
    """Return the directory of the run that arrived last, whatever it has; None if there is none."""
    known = entries()
    return runs() / known[-1].run_id if known else None


def free_name(name: str) -> str:
    """Return the name of a run to come.  Raises UsageError if it is not one, or is taken."""
    names.check(name)
    if taken := next((entry.run_id for entry in entries() if entry.name == name), None):
        raise UsageError(
            f"name '{name}' is taken, by run {taken}; choose another one, or remove that run: "
            f"rtstone rm {shlex.quote(name)}"
        )
    return name


def _named(known: Sequence[Entry], name: str) -> list[str]:
    """Return the runs with that name or id, else those whose ids start so."""
    exact = [entry.run_id for entry in known if name in {entry.name, entry.run_id}]
    return exact or [entry.run_id for entry in known if name and entry.run_id.startswith(name)]


def _last(known: Sequence[Entry], name: str, age: int) -> str:
    """Return the id of the last run with a result, or of one so many before it."""
    sound = (entry.run_id for entry in reversed(known) if not _skipped(entry) and _has_any(entry))
    run_id = next(islice(sound, age, None), None)
    if run_id is None:
        measured = sum(map(_has_any, known))
        raise UsageError(
            f"no run '{name}', {measured} of {len(known)} runs in {runs()} have results; "
            "see `rtstone list runs`, or measure with `rtstone run`"
        )
    return run_id


def _skipped(entry: Entry) -> bool:
    """Return whether a run's document is damaged, and say that it is left out."""
    path = runs() / entry.run_id
    if not (path / RUN).exists() or _head(path / RUN):
        return False
    why = f"left out run {entry.run_id}, as its run.json cannot be read"
    warnings.warn(f"{why}; see rtstone show {entry.run_id}", RunSkipped, stacklevel=3)
    return True


def _has_any(entry: Entry) -> bool:
    """Return whether a run has a result."""
    return bool(entry.ok or entry.measured) or _has_ended_one(entry)


def _has_ended_one(entry: Entry) -> bool:
    """Return whether a run without a document, whose host was killed, has a case that ended well.

    Only one that still goes on, or was left, has none; so there is hardly any to be read.
    """
    if entry.status != UNFINISHED:
        return False
    with suppress(OSError):
        return any(_OK.search(regular(log)) for log in (runs() / entry.run_id).glob("wire*.log"))
    return False


def _indexed(path: Path | str) -> list[Entry]:
    with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as database:
        if path != ":memory:":
            database.execute("PRAGMA journal_mode=WAL")
        if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("damaged")
        if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            database.execute("DROP TABLE IF EXISTS runs")
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version={_VERSION}")
        _refresh(database)
        columns = ", ".join(Entry._fields)
        rows = database.execute(f"SELECT {columns} FROM runs ORDER BY arrival, run_id").fetchall()
    return [_entry(row) for row in rows]


def _entry(row: tuple[object, ...]) -> Entry:
    """Return the entry of a row.  Raises DatabaseError for content that rtstone never writes."""
    try:
        texts = (shown(item) if isinstance(item, str) else item for item in row)
        return msgspec.convert(tuple(texts), Entry)
    except msgspec.ValidationError as error:
        raise sqlite3.DatabaseError("damaged") from error


def _refresh(database: sqlite3.Connection) -> None:
    """Add new directories, remove deleted ones, and reread unfinished ones."""
    there = {name for name in _names() if name.isprintable() and _readable(runs() / name)}
    known = dict(database.execute("SELECT run_id, status FROM runs"))
    fresh = [name for name in there if known.get(name, UNFINISHED) in (UNFINISHED, DAMAGED)]
    read = [entry for entry in map(_read, fresh) if entry]
    gone = [(name,) for name in known.keys() - there]
    if not read and not gone:
        return
    database.execute("BEGIN IMMEDIATE")
    places = ", ".join("?" for _ in Entry._fields)
    database.executemany(f"INSERT OR REPLACE INTO runs VALUES ({places})", read)
    database.executemany("DELETE FROM runs WHERE run_id = ?", gone)
    database.execute("COMMIT")


def _names() -> list[str]:
    with suppress(OSError):  # it does not exist yet, or is not accessible
        return [path.name for path in runs().iterdir()]
    return []


def _readable(path: Path) -> bool:
    with suppress(OSError):  # it may belong to another user
        return (path / PLAN).exists()
    return False


class _Target(msgspec.Struct):
    name: str
    called: str | None = None
    detail: dict[str, object] = {}


class _Case(msgspec.Struct):
    bench: str


class _Result(msgspec.Struct):
    bench: str
    status: str
    n: int = 0


class _Head(msgspec.Struct):
    """The members read from plans and documents; some occur in only one of the two."""

    created: str
    target: _Target
    suite: str | None = None
    status: str = UNFINISHED
    results: list[_Result] = []
    cases: list[_Case] = []
    arrival: int = 0
    name: str | None = None


def _read(name: str) -> Entry | None:
    """Return the entry from the document, else from the plan; None if neither is readable."""
    plan = _head(runs() / name / PLAN)
    document = runs() / name / RUN
    exists = document.exists()  # asked first: it may come meanwhile
    head = _head(document) or plan
    if head is None:
        return None
    ok = sum(result.status == "ok" for result in head.results)
    measured = sum(result.n > 0 for result in head.results)
    status = DAMAGED if exists and head is plan else head.status
    what = (head.created, head.suite, head.target.name, status)
    benches = {r.bench for r in head.results} | {c.bench for c in head.cases}
    arrival = plan.arrival if plan else 0
    return Entry(
        name, *what, ok, len(head.results), " ".join(sorted(benches)), arrival, head.name, measured,
        head.target.called, as_text(head.target.detail.get("sha256")),
    )  # fmt: skip


def _head(path: Path) -> _Head | None:
    with suppress(OSError, *UNREADABLE):
        return parsed(regular(path, LARGEST), _Head)
    return None
