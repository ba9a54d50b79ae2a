"""The catalogue of a store: an SQLite cache of what its run directories hold.

The directories are the truth; the catalogue may be deleted at any time.  Whenever it is read, each
run whose plan or document has changed is read again.  A catalogue of another version, with another
schema, damaged, or of another user is removed and made again, never migrated.  One that cannot be
written is made in memory, for one command.

Results are read when a trend first needs them (history.py), without what takes room, and
histograms apart, as few of them are needed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from rtstone import structures
from rtstone.documents.plan import NONE
from rtstone.documents.run import Run, as_text
from rtstone.printable import parsed, shown
from rtstone.store.layout import CATALOGUE, LARGEST, PLAN, RUN, RUNS, UNREADABLE, regular

_VERSION = 1
_FORMER = ("index.db", "history.db")  # caches of earlier versions
# Of a database: its write-ahead log and shared memory go before it, so that no other process takes
# those of the old one for those of the new one.
_FILES = ("-wal", "-shm", "")
# Errors of access, after which the catalogue stays; after any other one it is made again.
_ACCESS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
           sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}  # fmt: skip
_ALONE = threading.Lock()  # threads of one process make and mend it one after the other
_BUSY_S = 5.0  # time limit for another process to end its write
# What the tables hold: `runs` what Entry has, `heads` a run without its results once these were
# read, `tables` those of its benches, which many runs share.
_SCHEMA = (
    """CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, created TEXT, suite TEXT, target TEXT, status TEXT, ok INTEGER,
    results INTEGER, benches TEXT, arrival INTEGER, name TEXT, measured INTEGER, called TEXT,
    source TEXT, session TEXT, cases TEXT, duration_s REAL, state TEXT
) WITHOUT ROWID""",
    "CREATE TABLE heads (run_id TEXT PRIMARY KEY, head BLOB, tables TEXT)",
    "CREATE TABLE tables (digest TEXT PRIMARY KEY, data BLOB)",
    "CREATE TABLE results (run_id TEXT, place INTEGER, bench TEXT, data BLOB)",
    "CREATE INDEX by_bench ON results (bench)",
    "CREATE INDEX by_run ON results (run_id)",
    """CREATE TABLE histograms (
    run_id TEXT, place INTEGER, data BLOB, PRIMARY KEY (run_id, place)
)""",
    """CREATE TRIGGER forgotten AFTER DELETE ON runs BEGIN
    DELETE FROM heads WHERE run_id = OLD.run_id;
    DELETE FROM results WHERE run_id = OLD.run_id;
    DELETE FROM histograms WHERE run_id = OLD.run_id;
END""",
)

UNFINISHED = "unfinished"  # the status of a run without a document
DAMAGED = "damaged"  # and of one whose document cannot be read

_T = TypeVar("_T")


class Entry(NamedTuple):
    """One run.

    ``status``: "unfinished" while it has no document, "damaged" if that cannot be read; ``ok`` and
    ``results`` are 0 then.  ``ok``: the number of its ``results`` with status "ok".  ``benches``:
    their ids, separated by blanks.  ``arrival`` and ``name``: as in the plan.  ``measured``: the
    number of results with samples.  ``called``: what a person calls the target.  ``source``: the
    SHA-256 of an imported file.  ``session``: of an interleaved comparison or of several targets,
    None if the run is alone.  ``cases``: digest of those of its plan.  ``duration_s``: how long it
    took, None if unknown.
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
    session: str | None = None
    cases: str = ""
    duration_s: float | None = None

    @property
    def begun(self) -> datetime | None:
        """When the run began, None if its document does not say so."""
        try:
            return datetime.fromisoformat(self.created).astimezone()
        except (ValueError, OverflowError):
            return None


def cases_digest(cases: Iterable[tuple[str, object, str]]) -> str:
    """Return a digest of cases in their order: bench, parameters and load of each."""
    return sha256(msgspec.json.encode(list(cases), order="sorted")).hexdigest()[:16]


# ---- opening ------------------------------------------------------------------------------------


def consult(home: Path, read: Callable[[sqlite3.Connection], _T]) -> tuple[sqlite3.Connection, _T]:
    """Bring the catalogue of a store up to date; return it open, and what ``read`` returns of it.

    ``home``: the store's directory.  ``read`` is called again with another catalogue if it raises
    an error of SQLite.  The caller closes the catalogue.
    """
    path = home / CATALOGUE
    with _ALONE:
        try:
            return _consulted(path, home, read)
        except OSError:
            pass
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _ACCESS:
                _remove(path)
                with suppress(OSError, sqlite3.Error):
                    return _consulted(path, home, read)
        return _consulted(None, home, read)  # the store cannot be written: slower, not wrong


def _consulted(
    path: Path | None, home: Path, read: Callable[[sqlite3.Connection], _T]
) -> tuple[sqlite3.Connection, _T]:
    if path:
        _claim(path)
    database = sqlite3.connect(path or ":memory:", timeout=_BUSY_S, isolation_level=None)
    try:
        database.execute("PRAGMA trusted_schema=OFF")
        if path:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
        _check_schema(database, home)
        _refresh(database, home / RUNS)
        return database, read(database)
    except BaseException:
        database.close()
        raise


def _claim(path: Path) -> None:
    """Make the file of a catalogue unless it exists.

    Raises OSError, and DatabaseError if it, its log or its shared memory is anything but a file of
    this user alone.  It is not opened, as SQLite's locks on a file end when a process closes it.
    """
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
    for tail in _FILES:
        with suppress(FileNotFoundError):
            status = os.lstat(f"{path}{tail}")
            private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or not private:
                raise sqlite3.DatabaseError(f"not a private file, {path}{tail}")


def _remove(path: Path) -> None:
    for tail in _FILES:
        with suppress(OSError):
            path.with_name(path.name + tail).unlink()


def _check_schema(database: sqlite3.Connection, home: Path) -> None:
    """Create the tables in an empty catalogue.

    Raises DatabaseError for one of another version, with anything else in it, or damaged.
    """
    if not _schema(database):
        with transaction(database):
            if not _schema(database):  # no other process has made it meanwhile
                for statement in _SCHEMA:
                    database.execute(statement)
                database.execute(f"PRAGMA user_version={_VERSION}")
        for name in _FORMER:
            _remove(home / name)
    version = database.execute("PRAGMA user_version").fetchone()
    if version != (_VERSION,) or tuple(_schema(database)) != _SCHEMA:
        raise sqlite3.DatabaseError("another version")
    # Damage of the other tables, which are large, shows when they are read.
    if database.execute("PRAGMA quick_check(runs)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("damaged")


def _schema(database: sqlite3.Connection) -> list[str]:
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    return [statement for (statement,) in database.execute(query)]


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Write all that is changed meanwhile at once, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


# ---- runs ---------------------------------------------------------------------------------------


def stored_entries(database: sqlite3.Connection) -> list[Entry]:
    """Return all runs in order of arrival.

    Raises DatabaseError for content that rtstone never writes.
    """
    columns = ", ".join(Entry._fields)
    query = f"SELECT {columns} FROM runs ORDER BY arrival, run_id"
    try:
        return [
            structures.convert(tuple(shown(v) if isinstance(v, str) else v for v in row), Entry)
            for row in database.execute(query)
        ]
    except msgspec.ValidationError as error:
        raise sqlite3.DatabaseError("damaged") from error


def _refresh(database: sqlite3.Connection, folder: Path) -> None:
    """Add new runs, read changed and damaged ones again, and remove deleted ones."""
    states: dict[str, str] = {}  # changed whenever the plan or the document of a run is
    with suppress(OSError), ExitStack() as stack:  # there is none yet, or it is not accessible
        place: int = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, place)
        for name in filter(str.isprintable, os.listdir(place)):
            with suppress(OSError):  # without a plan it is no run; it may belong to another user
                states[name] = _state(os.stat(f"{name}/{PLAN}", dir_fd=place))
                states[name] += _state(os.stat(f"{name}/{RUN}", dir_fd=place))
    stored = {}
    for run_id, state, status in database.execute("SELECT run_id, state, status FROM runs"):
        stored[run_id] = None if status == DAMAGED else state
    sound = {name for name, state in states.items() if stored.get(name) == state}
    rows = []
    for name in sorted(states.keys() - sound):
        if entry := _read(folder / name):
            rows.append((*entry, states[name]))
    stale = stored.keys() - sound
    if rows or stale:
        marks = ", ".join("?" for _ in (*Entry._fields, "state"))
        with transaction(database):
            stale |= {row[0] for row in rows}  # another process may have added it meanwhile
            database.executemany("DELETE FROM runs WHERE run_id = ?", [(name,) for name in stale])
            database.executemany(f"INSERT INTO runs VALUES ({marks})", rows)


def _state(status: os.stat_result) -> str:
    return f"{status.st_ino} {status.st_size} {status.st_ctime_ns} "


class _Target(msgspec.Struct):
    name: str
    called: str | None = None
    detail: dict[str, object] = {}


class _Case(msgspec.Struct):
    bench: str
    params: object = None
    load: str = NONE


class _Result(msgspec.Struct):
    bench: str
    status: str
    n: int = 0


class _Turn(msgspec.Struct):
    session: str


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
    turn: _Turn | None = None
    session: str | None = None
    duration_s: float | None = None


def _read(folder: Path) -> Entry | None:
    """Return the entry from the document, else from the plan; None if neither is readable."""
    plan = _head(folder / PLAN)
    document = folder / RUN
    exists = document.exists()  # asked first: it may come meanwhile
    head = _head(document) or plan
    if head is None:
        return None
    benches = {result.bench for result in head.results} | {case.bench for case in head.cases}
    cases = plan.cases if plan else []
    return Entry(
        run_id=folder.name,
        created=head.created,
        suite=head.suite,
        target=head.target.name,
        status=DAMAGED if exists and head is plan else head.status,
        ok=sum(result.status == "ok" for result in head.results),
        results=len(head.results),
        benches=" ".join(sorted(benches)),
        arrival=plan.arrival if plan else 0,
        name=head.name,
        measured=sum(result.n > 0 for result in head.results),
        called=head.target.called,
        source=as_text(head.target.detail.get("sha256")),
        session=session_of(head),
        cases=cases_digest((case.bench, case.params, case.load) for case in cases),
        duration_s=head.duration_s,
    )


def session_of(run: Run | _Head) -> str | None:
    """Return the session of a run: an interleaved one, or of several targets; None if alone."""
    return run.turn.session if run.turn else run.session


def _head(path: Path) -> _Head | None:
    with suppress(OSError, *UNREADABLE):
        return parsed(regular(path, LARGEST), _Head)
    return None
