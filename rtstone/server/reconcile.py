"""Keep the index in agreement with the run directories, which are the truth.

Runs that are copied into the store, or measured into it by `rtstone run`, are indexed here; those
that are pushed are indexed as they come.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import time
from typing import Any, NamedTuple

import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.files import opened
from rtstone.server.database import Database, pairs
from rtstone.server.indexing import IndexEntry, add, drop, examine
from rtstone.server.projects import DELETED, Places
from rtstone.server.schema import (
    SERIES_OF_CHANGE,
    changes,
    deletions,
    points,
    projects,
    runs,
    series,
    tags,
)
from rtstone.server.upgrade import make_cache
from rtstone.store.decoding import uncollected
from rtstone.store.layout import RUN, RUN_ID

_AT_ONCE = 100  # runs that are written in one transaction
_MANY = 2000  # directories that are read by several processes
_TICK_S = 2.0  # within which two changes of a directory may have the same time
_QUIET_S = 30.0  # a directory is still being written or copied if it changed since
_OURS = re.compile(r"plan\.json|run\.json|wire(-\d+)?\.log")


class Reconciled(NamedTuple):
    """How many runs were added to the index, and removed from it."""

    added: int
    removed: int


class _State(NamedTuple):
    """The files of a run directory.  ``changed``: when one was written last, in s."""

    files: frozenset[tuple[str, int, int]]
    changed: float

    @property
    def ended(self) -> bool:
        return any(name == RUN for name, _, _ in self.files)


class _Watched(NamedTuple):
    """A directory that may still change: of a run that goes on, is being copied, or is damaged."""

    state: _State
    indexed: bool


class Reconciler:
    """Looks at the directories of runs again and again; reads those that are new or changed."""

    def __init__(
        self, database: Database, places: Places, over: Callable[[], bool] = lambda: False
    ) -> None:
        """``over``: returns whether to end before all is done."""
        self._database, self._places, self._over = database, places, over
        self._seen: dict[str, int] = {}  # when the directory of a project's runs had changed
        self._watched: dict[str, dict[str, _Watched]] = {}

    def run(self) -> Reconciled:
        """Bring the index into agreement with the directories; cheap if nothing changed."""
        counts = [self._project(name) for name in register(self._database, self._places)]
        added = sum(count.added for count in counts)
        if added > _AT_ONCE:
            self._database.gather_statistics()
        return Reconciled(added, sum(count.removed for count in counts))

    def _project(self, project: str) -> Reconciled:
        folder = self._places.runs(project)
        try:
            changed = folder.stat().st_mtime_ns
        except OSError:
            changed = 0
        watched = self._watched.setdefault(project, {})
        fresh, now = set(), time()
        for name, before in list(watched.items()):
            state = _state(folder / name)
            if state is None or (before.indexed and state.changed < now - _QUIET_S):
                del watched[name]  # it rests
            if state is not None and state.files != before.state.files:
                fresh.add(name)
        if changed == self._seen.get(project):
            return Reconciled(self._add(project, fresh), 0)
        with self._database.writing() as connection:
            number = self._database.project(connection, project)
            query = sql.select(runs.c.run_id).where(runs.c.project == number)
            indexed = set(connection.execute(query).scalars())
        present = set(_names(folder))  # read last: a run that is pushed meanwhile is not gone
        with self._database.writing() as connection:
            gone = indexed - present
            drop(connection, number, gone)
            query = sql.select(deletions.c.run_id).where(deletions.c.project == number)
            noted = set(connection.execute(query).scalars())
            deleted = {
                tombstone.run_id: {"project": number, **tombstone._asdict()}
                for tombstone in _tombstones(self._places, project)
                if tombstone.run_id not in present | noted
            }
            if deleted:
                connection.execute(sql.insert(deletions), list(deleted.values()))
        for name in watched.keys() - present:
            del watched[name]
        added = self._add(project, fresh | (present - indexed - watched.keys()))
        # A run that came just after the look may have left the same time of change.
        if time() - changed / 1e9 > _TICK_S and not self._over():
            self._seen[project] = changed
        return Reconciled(added, len(gone))

    def _add(self, project: str, names: Set[str]) -> int:
        """Index runs that are new or changed, and return how many can be read."""
        added, folder = 0, self._places.runs(project)
        with _reading(len(names)) as read:
            for batch in _ahead(
                read(partial(_read, folder), several) for several in _batches(sorted(names))
            ):
                fit = [entry for _, _, entry in batch if entry]
                if fit:
                    with self._database.writing() as connection:
                        add(connection, self._database.project(connection, project), fit)
                for name, state, entry in batch:
                    if state and (entry is None or state.changed > time() - _QUIET_S):
                        self._watched[project][name] = _Watched(state, entry is not None)
                    else:
                        self._watched[project].pop(name, None)
                added += len(fit)
                if self._over():
                    break
        return added


# ---- reading ------------------------------------------------------------------------------------

_Seen = tuple[str, _State | None, IndexEntry | None]  # its state before it was read, and its run
_Reader = Callable[[Callable[[str], Any], Sequence[str]], Iterator[Any]]  # as map


def _read(folder: Path, name: str) -> _Seen:
    """Return state and entry of a run directory; no entry if the run goes on or is unreadable."""
    state = _state(folder / name)
    when = [at for name, _, at in state.files if name == RUN] if state else []
    if not when:
        return name, state, None
    with uncollected():
        try:
            return name, state, examine(folder / name, when[0] / 1e9)
        except UsageError:
            return name, state, None


@contextmanager
def _reading(count: int) -> Iterator[_Reader]:
    """Yield a function like map for so many directories: on all processors if they are many."""
    if count < _MANY:
        yield map
        return
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=10)


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(names), _AT_ONCE):
        yield names[begin : begin + _AT_ONCE]


def _ahead(batches: Iterator[Iterator[Any]]) -> Iterator[list[Any]]:
    """Yield batches, each while the next is being read."""
    before = next(batches, None)
    while before is not None:
        following = next(batches, None)
        yield list(before)
        before = following


def register(database: Database, places: Places) -> list[str]:
    """Add new projects to the index, and return all of them.

    So they have pages while runs are still read, which takes minutes where there are many.
    """
    names = _indexed_projects(database)
    if new := set(places.projects()) - names:
        with database.writing() as connection:
            for name in sorted(new):
                database.project(connection, name)
    return sorted(names | new)


def _indexed_projects(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(sql.select(projects.c.name)).scalars())


def _names(folder: Path) -> Iterator[str]:
    """Yield the names of what may be run directories of a project."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  of a hundred thousand
    except FileNotFoundError:
        return
    yield from (name for name in names if RUN_ID.fullmatch(name))


def _state(path: Path) -> _State | None:
    """Return the files of a run directory; None if it is none."""
    try:
        with os.scandir(path) as entries:
            status = {entry.name: entry.stat() for entry in entries if _OURS.fullmatch(entry.name)}
    except OSError:
        return None
    files = frozenset((name, file.st_size, file.st_mtime_ns) for name, file in status.items())
    return _State(files, max((file.st_ctime for file in status.values()), default=time()))


# ---- deleted runs -------------------------------------------------------------------------------


class Deleted(NamedTuple):
    """A line of the file of deleted runs."""

    run_id: str
    fingerprint: str
    at: float
    by: str
    why: str


def _tombstones(places: Places, project: str) -> list[Deleted]:
    """Return the lines of a project's file of deleted runs."""
    try:
        with opened(places.home(project) / DELETED) as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    tombstones = []
    for line in lines:
        try:
            tombstones.append(Deleted(**json.loads(line)))
        except (ValueError, TypeError):  # the last line of a server that was killed
            continue
    return tombstones


# ---- proof and repair ---------------------------------------------------------------------------


def reconcile(database: Database, places: Places) -> Reconciled:
    """Bring the index into agreement with the directories, once."""
    return Reconciler(database, places).run()


def rebuild(database: Database, places: Places) -> Reconciled:
    """Make the index anew from the directories.

    Tokens, audit log, deliveries and the plans of campaigns stay, and so do changes until their
    target is analysed again: none is announced twice.
    """
    with database.writing() as connection:
        make_cache(connection)
        connection.execute(sql.delete(deletions))  # files have them
    done = reconcile(database, places)
    followed = sql.select(series.c.id).where(SERIES_OF_CHANGE).exists()
    with database.writing() as connection:
        connection.execute(sql.delete(changes).where(~followed))
    return done


def verify(database: Database, places: Places) -> list[str]:
    """Return where index and directories disagree, a line each; nothing if they agree."""
    names = sorted(_indexed_projects(database) | set(places.projects()))  # a store may be gone
    return [line for project in names for line in _verified(database, places, project)]


def _verified(database: Database, places: Places, project: str) -> Iterator[str]:
    with database.reading() as connection:
        query = sql.select(runs.c.run_id, runs.c.id).join(projects, projects.c.id == runs.c.project)
        numbers = pairs(connection, query.where(projects.c.name == project))
    folder = places.runs(project)
    states = {name: _state(folder / name) for name in _names(folder)}
    directories = {name: state.ended for name, state in states.items() if state}
    for name in sorted(numbers.keys() - directories.keys()):
        yield f"{project}/{name}: indexed, but there is no directory of it"
    ended = sorted(name for name, whole in directories.items() if whole)
    with _reading(len(ended)) as read:
        for batch in _ahead(read(partial(_proved, folder), names) for names in _batches(ended)):
            for name, entry in batch:
                if isinstance(entry, str):
                    yield f"{project}/{name}: {entry}"
                elif name not in numbers:
                    yield f"{project}/{name}: not indexed"
                else:
                    with database.reading() as connection:
                        yield from _differences(
                            connection, f"{project}/{name}", numbers[name], entry
                        )


def _proved(folder: Path, name: str) -> tuple[str, IndexEntry | str]:
    """Return the entry that the index should have of a directory, or why it cannot be read."""
    try:
        with uncollected():
            return name, examine(folder / name, 0.0)
    except UsageError as error:
        return name, str(error)


def _differences(
    connection: sql.Connection, name: str, number: int, entry: IndexEntry
) -> Iterator[str]:
    """Yield what the index has of a run that differs from its directory, a line each."""
    row = connection.execute(sql.select(runs).where(runs.c.id == number)).mappings().one()
    for column, value in entry.row.items():
        if column not in ("arrived", "begun") and row[column] != value:
            yield f"{name}: {column} is {row[column]!r} in the index, {value!r} in the directory"
    query = sql.select(tags.c.kind, tags.c.value).where(tags.c.run == number)
    if {tuple(tag) for tag in connection.execute(query)} != entry.tags:
        yield f"{name}: other tags in the index than in the directory"
    columns = [column for column in points.c if column.name not in ("series", "run")]
    joined = sql.select(series.c.key, *columns).join(series, series.c.id == points.c.series)
    indexed = {tuple(row) for row in connection.execute(joined.where(points.c.run == number))}
    names = [column.name for column in columns]
    wanted = {
        (row["key"], *(point[name] for name in names))
        for row, results in entry.series
        for point in results
    }
    if indexed != wanted:
        yield f"{name}: other results in the index than in the directory"
