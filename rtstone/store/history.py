"""The results of all runs of the store, by bench, for trends.

They lie in the catalogue, so that a trend through thousands of runs need not read their documents.
A run is read once, at the first trend after it ended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import structs

from rtstone.documents.observation import Observation, Tables
from rtstone.documents.run import Result, Run, slim
from rtstone.errors import UsageError
from rtstone.folders import results
from rtstone.printable import parsed
from rtstone.store.decoding import uncollected
from rtstone.store.index import chronological
from rtstone.store.layout import UNREADABLE, runs
from rtstone.store.run_catalogue import UNFINISHED, consult, stored_entries, transaction
from rtstone.store.rundir import load

_AT_ONCE = 200  # runs read before they are written down

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

    def __init__(self, wanted: Wanted, steps: Steps) -> None:
        """Open the catalogue and read the results from it."""
        self.damaged: list[str] = []
        self.observations: list[Observation] = []

        def read(catalogue: sqlite3.Connection) -> None:
            self.damaged = _read_new(catalogue, steps)
            with uncollected():
                self.observations = list(_observations(catalogue, wanted))

        self._catalogue, _ = consult(results(), read)

    def with_histogram(self, observation: Observation) -> Result:
        """Return a result with its histogram."""
        query = "SELECT data FROM histograms WHERE run_id = ? AND place = ?"
        place = (observation.run.run_id, observation.place)
        row = self._catalogue.execute(query, place).fetchone()
        counts = _decoded(row[0], _Histograms) if row else _Histograms([])
        result = structs.replace(observation.result, histogram=counts.observed)
        if result.corrected is None:
            return result
        corrected = structs.replace(result.corrected, histogram=counts.corrected)
        return structs.replace(result, corrected=corrected)

    @staticmethod
    def whole(observation: Observation) -> Result:
        """Return a result with all that its document has.  Raises UsageError."""
        return load(runs() / observation.run.run_id).results[observation.place]

    def close(self) -> None:
        """Close the catalogue."""
        self._catalogue.close()


@contextmanager
def history(wanted: Wanted, steps: Steps = lambda done, total: None) -> Iterator[History]:
    """Open the history of all runs of the store, with those results that are wanted.

    ``steps`` gets how many of how many new runs have been read.
    """
    opened = History(wanted, steps)
    try:
        yield opened
    finally:
        opened.close()


def _observations(catalogue: sqlite3.Connection, wanted: Wanted) -> Iterator[Observation]:
    names = [bench for (bench,) in catalogue.execute("SELECT DISTINCT bench FROM results")]
    benches = list(filter(wanted.benches, names))
    marks = ", ".join("?" for _ in benches)
    rows: dict[str, list[tuple[int, bytes]]] = {}
    query = f"SELECT run_id, place, data FROM results WHERE bench IN ({marks})"
    for run_id, place, data in catalogue.execute(query, benches):
        rows.setdefault(run_id, []).append((place, data))
    query = "SELECT run_id, head, tables FROM heads"
    heads = {run_id: (head, digest) for run_id, head, digest in catalogue.execute(query)}
    tables: dict[str, Tables] = {}
    for entry in chronological(stored_entries(catalogue)):
        run_id = entry.run_id
        if run_id not in wanted.runs or run_id not in rows or run_id not in heads:
            continue
        head, digest = heads[run_id]
        if digest not in tables:
            query = "SELECT data FROM tables WHERE digest = ?"
            row = catalogue.execute(query, (digest,)).fetchone()
            tables[digest] = _decoded(row[0], Tables) if row else Tables([])
        run = _decoded(head, Run)
        for place, data in rows[run_id]:
            result = _decoded(data, Result)
            table = next((bench for bench in tables[digest].benches if bench.id == result.bench),
                         None)  # fmt: skip
            yield Observation(run, place, result, table)


def _read_new(catalogue: sqlite3.Connection, steps: Steps) -> list[str]:
    """Read the results of the runs of which none were read; return why some cannot be."""
    query = """SELECT run_id FROM runs WHERE status != ? AND run_id NOT IN
        (SELECT run_id FROM heads) ORDER BY arrival, run_id"""
    ids = [run_id for (run_id,) in catalogue.execute(query, (UNFINISHED,))]
    write, encode = catalogue.execute, msgspec.json.encode
    damaged = []
    for begin in range(0, len(ids), _AT_ONCE):
        steps(begin, len(ids))
        loaded: list[Run] = []
        for run_id in ids[begin : begin + _AT_ONCE]:
            try:  # known by its directory, which may be a copy
                loaded.append(structs.replace(load(runs() / run_id), run_id=run_id))
            except UsageError as error:
                damaged.append(str(error))
        if not loaded:
            continue
        with transaction(catalogue):
            for run in loaded:
                for table in ("heads", "results", "histograms"):  # another process may have read it
                    write(f"DELETE FROM {table} WHERE run_id = ?", (run.run_id,))
                tables = encode(Tables(run.benches))
                digest = sha256(tables).hexdigest()
                head = structs.replace(run, results=[], benches=[], slopes=[], notes=[], command=[])
                write("INSERT INTO heads VALUES (?, ?, ?)", (run.run_id, encode(head), digest))
                write("INSERT OR IGNORE INTO tables VALUES (?, ?)", (digest, tables))
                for place, result in enumerate(run.results):
                    corrected = result.corrected.histogram if result.corrected else []
                    counts = encode(_Histograms(result.histogram, corrected))
                    row = (run.run_id, place, result.bench, encode(slim(result)))
                    write("INSERT INTO results VALUES (?, ?, ?, ?)", row)
                    write("INSERT INTO histograms VALUES (?, ?, ?)", (run.run_id, place, counts))
    return damaged


def _decoded(data: bytes, kind: type[_T]) -> _T:
    """Return what was encoded.  Raises DatabaseError for content that rtstone never writes."""
    try:
        return parsed(data, kind)
    except (TypeError, *UNREADABLE) as error:
        raise sqlite3.DatabaseError("damaged") from error
