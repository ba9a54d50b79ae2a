"""Keep the index in agreement with the run directories, which are the truth.

Runs that are copied into the store, or measured into it by `rtstone run`, are found here; those
that are pushed are indexed as they come.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import time
from typing import NamedTuple

import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.server.database import Database, pairs
from rtstone.server.indexing import (
    Found,
    add,
    drop,
    drop_bare_series,
    examine,
    of_directory,
)
from rtstone.server.places import DELETED, RUN_ID, Places
from rtstone.server.schema import (
    analyses,
    deletions,
    points,
    projects,
    runs,
    series,
    tags,
    targets,
)
from rtstone.store.places import RUN, opened
from rtstone.store.rundir import uncollected

_AT_ONCE = 100  # runs that are written in one transaction
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

    def __init__(self, database: Database, places: Places) -> None:
        self._database, self._places = database, places
        self._seen: dict[str, int] = {}  # when the directory of a project's runs had changed
        self._watched: dict[str, dict[str, _Watched]] = {}

    def run(self) -> Reconciled:
        """Bring the index into agreement with the directories; cheap if nothing changed."""
        found = [self._project(name) for name in _projects(self._database, self._places)]
        return Reconciled(sum(one.added for one in found), sum(one.removed for one in found))

    def _project(self, project: str) -> Reconciled:
        folder = self._places.runs(project)
        changed = _time(folder)
        watched = self._watched.setdefault(project, {})
        fresh = self._moved(folder, watched)
        if changed == self._seen.get(project):
            return Reconciled(self._add(project, fresh), 0)
        there = set(_names(folder))
        with self._database.writing() as connection:
            number = self._database.project(connection, project)
            query = sql.select(runs.c.run_id).where(runs.c.project == number)
            known = set(connection.execute(query).scalars())
            gone = known - there
            drop(connection, number, gone)
            deleted = _tombstones(self._places, project)
            _note_deleted(connection, number, [one for one in deleted if one.run_id not in there])
        for name in watched.keys() - there:
            del watched[name]
        new = {name: _state(folder / name) for name in there - known - watched.keys()}
        added = self._add(project, fresh | {name: at for name, at in new.items() if at})
        # One that came just after the look may have left the same time.
        if time() - changed / 1e9 > _TICK_S:
            self._seen[project] = changed
        return Reconciled(added, len(gone))

    def _moved(self, folder: Path, watched: dict[str, _Watched]) -> dict[str, _State]:
        """Return the watched directories that changed; those that no longer do are let go."""
        moved, now = {}, time()
        for name, before in list(watched.items()):
            state = _state(folder / name)
            if state is None or (before.indexed and state.changed < now - _QUIET_S):
                del watched[name]
            if state is not None and state.files != before.state.files:
                moved[name] = state
        return moved

    def _add(self, project: str, states: Mapping[str, _State]) -> int:
        """Index runs that are new or changed, and return how many could be."""
        added, watched = 0, self._watched[project]
        left = iter(sorted(states))
        while some := list(islice(left, _AT_ONCE)):
            with uncollected():
                found = {name: self._examined(project, name, states[name]) for name in some}
            fit = [one for one in found.values() if one]
            if fit:
                with self._database.writing() as connection:
                    add(connection, self._database.project(connection, project), fit)
            for name, one in found.items():
                if one is None or states[name].changed > time() - _QUIET_S:
                    watched[name] = _Watched(states[name], one is not None)
            added += len(fit)
        return added

    def _examined(self, project: str, name: str, state: _State) -> Found | None:
        path = self._places.run(project, name)
        return of_directory(path, (path / RUN).stat().st_mtime) if state.ended else None


def _projects(database: Database, places: Places) -> list[str]:
    """Return the projects that have a store or, whose store is gone, rows."""
    with database.reading() as connection:
        known = set(connection.execute(sql.select(projects.c.name)).scalars())
    return sorted(known | set(places.projects()))


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
    there = dict(_directories(places.runs(project)))
    for name in sorted(known.keys() - there.keys()):
        yield f"{project}/{name}: indexed, but there is no directory of it"
    for name in sorted(name for name, whole in there.items() if whole):
        path = places.run(project, name)
        try:
            found = examine(path, 0.0)
        except UsageError as error:
            yield f"{project}/{name}: {error}"
            continue
        if name not in known:
            yield f"{project}/{name}: not indexed"
        else:
            with database.reading() as connection:
                yield from _differences(connection, f"{project}/{name}", known[name], found)


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
