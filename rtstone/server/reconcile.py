"""Keep the index in agreement with the run directories, which are the truth.

Runs that are copied into the store, or measured into it by `rtstone run`, are found here; those
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
from rtstone.server.indexing import Found, add, drop, drop_bare_series, examine, of_directory
from rtstone.server.projects import DELETED, Places
from rtstone.server.schema import analyses, deletions, points, projects, runs, series, tags, targets
from rtstone.store.decoding import uncollected
from rtstone.store.layout import RUN, RUN_ID

_AT_ONCE = 100  # runs that are written in one transaction
_MANY = 2000  # directories that are read by several processes
_TICK_S = 2.0  # within which two changes of a directory may have the same time
_QUIET_S = 30.0  # a directory is still being written or copied if it changed since
_OURS = re.compile(r"plan\.json|run\.json|wire(-\d+)?\.log")
# Series and changes keep their rows: which of these were told is written nowhere else.
_MADE_ANEW = (analyses, points, tags, targets, runs, deletions)


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
    """A directory that may still change: a run that goes on, is being copied, or is damaged."""

    state: _State
    indexed: bool


class Reconciler:
    """Looks at the directories of runs again and again, and reads only what is new."""

    def __init__(
        self, database: Database, places: Places, over: Callable[[], bool] = lambda: False
    ) -> None:
        """``over``: whether to end before all is done."""
        self._database, self._places, self._over = database, places, over
        self._seen: dict[str, int] = {}  # when the directory of a project's runs had changed
        self._watched: dict[str, dict[str, _Watched]] = {}

    def run(self) -> Reconciled:
        """Bring the index into agreement with the directories; cheap if nothing changed."""
        found = [self._project(name) for name in register(self._database, self._places)]
        added = sum(one.added for one in found)
        if added > _AT_ONCE:
            self._database.gather_statistics()
        return Reconciled(added, sum(one.removed for one in found))

    def _project(self, project: str) -> Reconciled:
        folder = self._places.runs(project)
        changed = _time(folder)
        watched = self._watched.setdefault(project, {})
        fresh = self._moved(folder, watched)
        if changed == self._seen.get(project):
            return Reconciled(self._add(project, fresh), 0)
        with self._database.writing() as connection:
            number = self._database.project(connection, project)
            query = sql.select(runs.c.run_id).where(runs.c.project == number)
            known = set(connection.execute(query).scalars())
        there = set(_names(folder))  # after it: a run that is pushed meanwhile is not gone
        with self._database.writing() as connection:
            gone = known - there
            drop(connection, number, gone)
            deleted = _tombstones(self._places, project)
            _note_deleted(connection, number, [one for one in deleted if one.run_id not in there])
        for name in watched.keys() - there:
            del watched[name]
        added = self._add(project, fresh | (there - known - watched.keys()))
        # One that came just after the look may have left the same time.
        if time() - changed / 1e9 > _TICK_S and not self._over():
            self._seen[project] = changed
        return Reconciled(added, len(gone))

    def _moved(self, folder: Path, watched: dict[str, _Watched]) -> set[str]:
        """Return the watched directories that changed; those that no longer do are let go."""
        moved, now = set(), time()
        for name, before in list(watched.items()):
            state = _state(folder / name)
            if state is None or (before.indexed and state.changed < now - _QUIET_S):
                del watched[name]
            if state is not None and state.files != before.state.files:
                moved.add(name)
        return moved

    def _add(self, project: str, names: Set[str]) -> int:
        """Index runs that are new or changed, and return how many could be."""
        added, folder = 0, self._places.runs(project)
        with _reading(len(names)) as read:
            for some in _ahead(
                read(partial(_read, folder), one) for one in _batches(sorted(names))
            ):
                fit = [found for _, _, found in some if found]
                if fit:
                    with self._database.writing() as connection:
                        add(connection, self._database.project(connection, project), fit)
                self._watch(project, some)
                added += len(fit)
                if self._over():
                    break
        return added

    def _watch(self, project: str, some: Sequence[_Seen]) -> None:
        for name, state, found in some:
            if state and (found is None or state.changed > time() - _QUIET_S):
                self._watched[project][name] = _Watched(state, found is not None)
            else:
                self._watched[project].pop(name, None)


# ---- reading ------------------------------------------------------------------------------------

_Seen = tuple[str, _State | None, Found | None]  # as it was before it was read, and its run
_Reader = Callable[[Callable[[str], Any], Sequence[str]], Iterator[Any]]  # as map


def _read(folder: Path, name: str) -> _Seen:
    """Return what a directory has; nothing of a run that goes on, or cannot be read."""
    state = _state(folder / name)
    when = [at for name, _, at in state.files if name == RUN] if state else []
    if not when:
        return name, state, None
    with uncollected():
        return name, state, of_directory(folder / name, when[0] / 1e9)


@contextmanager
def _reading(count: int) -> Iterator[_Reader]:
    """Return how to read so many directories: by all processors if they are many."""
    if count < _MANY:
        yield map
        return
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=10)


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(names), _AT_ONCE):
        yield names[begin : begin + _AT_ONCE]


def _ahead(some: Iterator[Iterator[Any]]) -> Iterator[list[Any]]:
    """Yield batches, each while the next is being read."""
    before = next(some, None)
    while before is not None:
        following = next(some, None)
        yield list(before)
        before = following


def register(database: Database, places: Places) -> list[str]:
    """Return all projects.  Those that are new are in the index from now on.

    So they have pages while runs are still read, which takes minutes where there are many.
    """
    known = _known(database)
    if new := set(places.projects()) - known:
        with database.writing() as connection:
            for name in sorted(new):
                database.project(connection, name)
    return sorted(known | new)


def _known(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(sql.select(projects.c.name)).scalars())


def _projects(database: Database, places: Places) -> list[str]:
    """Return the projects that have a store or, whose store is gone, rows."""
    return sorted(_known(database) | set(places.projects()))


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _names(folder: Path) -> Iterator[str]:
    """Yield what may be run directories of a project."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  of a hundred thousand
    except FileNotFoundError:
        return
    yield from (name for name in names if RUN_ID.fullmatch(name))


def _state(path: Path) -> _State | None:
    """Return the files of a run directory; None if it is none."""
    try:
        with os.scandir(path) as entries:
            found = [(one.name, one.stat()) for one in entries if _OURS.fullmatch(one.name)]
    except OSError:
        return None
    files = frozenset((name, at.st_size, at.st_mtime_ns) for name, at in found)
    return _State(files, max((at.st_ctime for _, at in found), default=time()))


def _directories(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the run directories of a project, and whether their runs have ended."""
    for name in _names(folder):
        if state := _state(folder / name):
            yield name, state.ended


# ---- deleted runs -------------------------------------------------------------------------------


class Deleted(NamedTuple):
    """A line of the file of deleted runs."""

    run_id: str
    fingerprint: str
    at: float
    by: str
    why: str


def _tombstones(places: Places, project: str) -> list[Deleted]:
    try:
        with opened(places.home(project) / DELETED) as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(Deleted(**json.loads(line)))
        except (ValueError, TypeError):  # the last line of a server that was killed
            continue
    return found


def _note_deleted(connection: sql.Connection, project: int, found: Sequence[Deleted]) -> None:
    query = sql.select(deletions.c.run_id).where(deletions.c.project == project)
    known = set(connection.execute(query).scalars())
    rows = {one.run_id: one for one in found if one.run_id not in known}
    if rows:
        told = [{"project": project, **one._asdict()} for one in rows.values()]
        connection.execute(sql.insert(deletions), told)


# ---- proof and repair ---------------------------------------------------------------------------


def reconcile(database: Database, places: Places) -> Reconciled:
    """Bring the index into agreement with the directories, once."""
    return Reconciler(database, places).run()


def rebuild(database: Database, places: Places) -> Reconciled:
    """Make the index anew from the directories.

    Tokens, audit log, deliveries and the plans of campaigns stay, and so do changes until their
    target is analysed again: none is told twice.
    """
    with database.writing() as connection:
        for table in _MADE_ANEW:
            connection.execute(sql.delete(table))
    done = reconcile(database, places)
    with database.writing() as connection:
        drop_bare_series(connection)
    return done


def verify(database: Database, places: Places) -> list[str]:
    """Return where index and directories disagree, in words; nothing if they agree."""
    found = _projects(database, places)
    return [line for project in found for line in _verified(database, places, project)]


def _verified(database: Database, places: Places, project: str) -> Iterator[str]:
    with database.reading() as connection:
        query = sql.select(runs.c.run_id, runs.c.id).join(projects, projects.c.id == runs.c.project)
        known = pairs(connection, query.where(projects.c.name == project))
    folder = places.runs(project)
    there = dict(_directories(folder))
    for name in sorted(known.keys() - there.keys()):
        yield f"{project}/{name}: indexed, but there is no directory of it"
    ended = sorted(name for name, whole in there.items() if whole)
    with _reading(len(ended)) as read:
        for some in _ahead(read(partial(_proved, folder), one) for one in _batches(ended)):
            for name, found in some:
                if isinstance(found, str):
                    yield f"{project}/{name}: {found}"
                elif name not in known:
                    yield f"{project}/{name}: not indexed"
                else:
                    with database.reading() as connection:
                        yield from _differences(connection, f"{project}/{name}", known[name], found)


def _proved(folder: Path, name: str) -> tuple[str, Found | str]:
    """Return what is to be indexed of a directory, or why it cannot be read."""
    try:
        with uncollected():
            return name, examine(folder / name, 0.0)
    except UsageError as error:
        return name, str(error)


def _differences(connection: sql.Connection, name: str, number: int, found: Found) -> Iterator[str]:
    """Yield what the index says otherwise of a run."""
    row = connection.execute(sql.select(runs).where(runs.c.id == number)).mappings().one()
    for column, value in found.row.items():
        if column not in ("arrived", "begun") and row[column] != value:
            yield f"{name}: {column} is {row[column]!r} in the index, {value!r} in the directory"
    query = sql.select(tags.c.kind, tags.c.value).where(tags.c.run == number)
    if {tuple(tag) for tag in connection.execute(query)} != found.tags:
        yield f"{name}: other tags in the index than in the directory"
    columns = [column for column in points.c if column.name not in ("series", "run")]
    joined = sql.select(series.c.key, *columns).join(series, series.c.id == points.c.series)
    there = {tuple(row) for row in connection.execute(joined.where(points.c.run == number))}
    names = [column.name for column in columns]
    wanted = {
        (row["key"], *(point[name] for name in names))
        for row, some in found.series
        for point in some
    }
    if there != wanted:
        yield f"{name}: other results in the index than in the directory"
