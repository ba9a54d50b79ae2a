"""The history of the store: the results of all runs without what takes room, by bench.

It is an SQLite cache beside the index, made from the documents of the run directories: a trend
through thousands of runs reads it instead of them.  A run is read once, when the history is first
asked for after it ended.  Histograms lie apart from the statistics, as few of them are needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from rtstone.documents.observation import Observation, Tables
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.folders import results
from rtstone.printable import parsed
from rtstone.store.index import SOUND, UNFINISHED, Entry, chronological
from rtstone.store.layout import HISTORY, UNREADABLE, runs
from rtstone.store.rundir import load, uncollected

_VERSION = 2  # of the tables; those of another version are made anew from the directories
_AT_ONCE = 200  # runs read before they are written down
_TABLES = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, head BLOB, tables TEXT);
CREATE TABLE tables (digest TEXT PRIMARY KEY, data BLOB);
CREATE TABLE results (run_id TEXT, place INTEGER, bench TEXT, data BLOB);
CREATE TABLE histograms (run_id TEXT, place INTEGER, data BLOB, PRIMARY KEY (run_id, place));
CREATE INDEX by_bench ON results (bench);
CREATE INDEX by_run ON results (run_id);
CREATE TRIGGER forgotten AFTER DELETE ON runs BEGIN
    DELETE FROM results WHERE run_id = OLD.run_id;
    DELETE FROM histograms WHERE run_id = OLD.run_id;
END;
"""
# What no trend reads.
_NO_RUN: dict[str, Any] = {"results": [], "benches": [], "slopes": [], "notes": [], "command": []}
_NO_RESULT: dict[str, Any] = {
    "histogram": [], "worst": [], "trace": None, "blocks": None, "batches": None,
    "tables": [], "ci95": {}, "load_rates": [], "until": None,
}  # fmt: skip

Steps = Callable[[int, int], None]
Histogram = list[tuple[float, int]]
_T = TypeVar("_T")


class _Histograms(msgspec.Struct, frozen=True, array_like=True):
    """The histograms of a result: of its samples, and with omitted activations included."""

    observed: Histogram
    corrected: Histogram = []


class Wanted(NamedTuple):
    """Which results are read: of these runs, of the benches that ``benches`` accepts."""

    runs: Collection[str]
    benches: Callable[[str], bool]


class History:
    """The results of some benches in all runs, in the order in which these were measured.

    ``damaged``: why the documents of some runs cannot be read.
    """

    def __init__(self, database: sqlite3.Connection, steps: Steps) -> None:
        self._database = database
        self._steps = steps
        self.damaged: list[str] = []
        self.observations: list[Observation] = []

    def read(self, known: Sequence[Entry], wanted: Wanted) -> None:
        """Bring the history up to date with the index, and take these results from it."""
        self._update(known)
        named = [e.run_id for e in chronological(known) if e.run_id in wanted.runs]
        with uncollected():
            self.observations = list(self._observations(named, wanted.benches))

    def with_histogram(self, one: Observation) -> Result:
        """Return a result with its histogram."""
        query = "SELECT data FROM histograms WHERE run_id = ? AND place = ?"
        row = self._database.execute(query, (one.run.run_id, one.place)).fetchone()
        counts = _decoded(row[0], _Histograms) if row else _Histograms([])
        result = structs.replace(one.result, histogram=counts.observed)
        if result.corrected is None:
            return result
        corrected = structs.replace(result.corrected, histogram=counts.corrected)
        return structs.replace(result, corrected=corrected)

    @staticmethod
    def whole(one: Observation) -> Result:
        """Return a result with all that its document has.  Raises UsageError."""
        return load(runs() / one.run.run_id).results[one.place]

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # ---- reading --------------------------------------------------------------------------------

    def _observations(
        self, named: Sequence[str], benches: Callable[[str], bool]
    ) -> Iterator[Observation]:
        names = [bench for (bench,) in self._database.execute("SELECT DISTINCT bench FROM results")]
        wanted = list(filter(benches, names))
        marks = ", ".join("?" for _ in wanted)
        rows: dict[str, list[tuple[int, bytes]]] = {}
        query = f"SELECT run_id, place, data FROM results WHERE bench IN ({marks})"
        for run_id, place, data in self._database.execute(query, wanted):
            rows.setdefault(run_id, []).append((place, data))
        heads = {run_id: told for run_id, *told in self._database.execute("SELECT * FROM runs")}
        tables: dict[str, Tables] = {}
        for name in named:
            if name not in rows or name not in heads:
                continue
            head, digest = heads[name]
            if digest not in tables:
                tables[digest] = self._tables(digest)
            run = _decoded(head, Run)
            for place, data in rows[name]:
                result = _decoded(data, Result)
                told = (table for table in tables[digest].benches if table.id == result.bench)
                yield Observation(run, place, result, next(told, None))

    def _tables(self, digest: str) -> Tables:
        query = "SELECT data FROM tables WHERE digest = ?"
        row = self._database.execute(query, (digest,)).fetchone()
        return _decoded(row[0], Tables) if row else Tables([])

    # ---- writing --------------------------------------------------------------------------------

    def _update(self, known: Sequence[Entry]) -> None:
        """Read the runs that are not in the history, and remove those that are no more."""
        there = {entry.run_id for entry in known if entry.status != UNFINISHED}
        read = {run_id for (run_id,) in self._database.execute("SELECT run_id FROM runs")}
        new = there - read
        fresh = [entry.run_id for entry in known if entry.run_id in new]
        for begin in range(0, len(fresh), _AT_ONCE):
            self._steps(begin, len(fresh))
            found = list(map(self._loaded, fresh[begin : begin + _AT_ONCE]))
            with _transaction(self._database):
                for run in filter(None, found):
                    self._add(run)
        if gone := read - there:
            with _transaction(self._database):
                for run_id in gone:
                    self._drop(run_id)

    def _loaded(self, run_id: str) -> Run | None:
        try:  # known by its directory, which may be a copy
            return structs.replace(load(runs() / run_id), run_id=run_id)
        except UsageError as error:
            self.damaged.append(str(error))
            return None

    def _add(self, run: Run) -> None:
        self._drop(run.run_id)
        write, encode = self._database.execute, msgspec.json.encode
        tables = encode(Tables(run.benches))
        digest = sha256(tables).hexdigest()
        head = encode(structs.replace(run, **_NO_RUN))
        write("INSERT INTO runs VALUES (?, ?, ?)", (run.run_id, head, digest))
        write("INSERT OR IGNORE INTO tables VALUES (?, ?)", (digest, tables))
        for place, result in enumerate(run.results):
            corrected = result.corrected
            counts = _Histograms(result.histogram, corrected.histogram if corrected else [])
            slim = encode(structs.replace(
                result, **_NO_RESULT,
                corrected=corrected and structs.replace(corrected, histogram=[]),
            ))  # fmt: skip
            row = (run.run_id, place, result.bench, slim)
            write("INSERT INTO results VALUES (?, ?, ?, ?)", row)
            apart = (run.run_id, place, encode(counts))
            write("INSERT INTO histograms VALUES (?, ?, ?)", apart)

    def _drop(self, run_id: str) -> None:
        self._database.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))


@contextmanager
def history(
    known: Sequence[Entry], wanted: Wanted, steps: Steps = lambda done, total: None
) -> Iterator[History]:
    """Open the history of all runs of the index, with those results that are wanted.

    ``steps`` is told how many of how many new runs have been read.
    """
    with closing(_opened(known, wanted, steps)) as found:
        yield found


def _opened(known: Sequence[Entry], wanted: Wanted, steps: Steps) -> History:
    path = results() / HISTORY
    try:
        return _read(path, known, wanted, steps)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in SOUND:
            for tail in ("", "-wal", "-shm"):
                with suppress(OSError):
                    path.with_name(path.name + tail).unlink()
            with suppress(sqlite3.Error):
                return _read(path, known, wanted, steps)
    return _read(":memory:", known, wanted, steps)  # the store cannot be written: slower, not wrong


def _read(path: Path | str, known: Sequence[Entry], wanted: Wanted, steps: Steps) -> History:
    database = sqlite3.connect(path, timeout=5, isolation_level=None)
    try:
        if path != ":memory:":
            database.execute("PRAGMA journal_mode=WAL")
        if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            for name in ("runs", "tables", "results", "histograms"):
                database.execute(f"DROP TABLE IF EXISTS {name}")
            database.executescript(_TABLES)
            database.execute(f"PRAGMA user_version={_VERSION}")
        found = History(database, steps)
        found.read(known, wanted)
    except BaseException:
        database.close()
        raise
    return found


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _decoded(data: bytes, kind: type[_T]) -> _T:
    """Return what was encoded.  Raises DatabaseError for content that rtstone never writes."""
    try:
        return parsed(data, kind)
    except (TypeError, *UNREADABLE) as error:
        raise sqlite3.DatabaseError("damaged") from error
