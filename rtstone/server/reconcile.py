"""Keep the index in agreement with the run directories, which are the truth.

Runs that are copied into the store, or measured into it by `rtstone run`, are found here; those
that are pushed are indexed as they come.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.server.database import Database, pairs
from rtstone.server.indexing import (
    Found,
    add,
    drop,
    examine,
    of_directory,
)
from rtstone.server.places import DELETED, RUN_ID, Places
from rtstone.server.schema import (
    analyses,
    changes,
    deletions,
    points,
    runs,
    series,
    tags,
    targets,
)
from rtstone.store.places import RUN, opened

_AT_ONCE = 100  # runs that are written in one transaction
_MADE_ANEW = (changes, analyses, points, tags, targets, series, runs, deletions)


class Reconciled(NamedTuple):
    """How many runs were added to the index, and removed from it."""

    added: int
    removed: int


class Reconciler:
    """Looks at the directories of runs again and again, and reads only what is new."""

    def __init__(self, database: Database, places: Places) -> None:
        self._database, self._places = database, places
        self._seen: dict[str, tuple[int, frozenset[str]]] = {}
        self._unfit: dict[Path, int] = {}  # directories that could not be read, with their times

    def run(self) -> Reconciled:
        """Bring the index into agreement with the directories; cheap if nothing changed."""
        found = [self._project(name) for name in self._places.projects()]
        return Reconciled(sum(one.added for one in found), sum(one.removed for one in found))

    def _project(self, project: str) -> Reconciled:
        folder = self._places.runs(project)
        changed = _time(folder)
        before, unfinished = self._seen.get(project, (-1, frozenset()))
        if changed == before and not any((folder / name / RUN).exists() for name in unfinished):
            return Reconciled(0, 0)
        there = dict(_directories(folder))
        with self._database.writing() as connection:
            number = self._database.project(connection, project)
            query = sql.select(runs.c.run_id).where(runs.c.project == number)
            known = set(connection.execute(query).scalars())
            gone = known - there.keys()
            drop(connection, number, gone)
            deleted = _tombstones(self._places, project)
            _note_deleted(connection, number, [one for one in deleted if one.run_id not in there])
        ended = {name for name, whole in there.items() if whole}
        added = self._add(project, number, sorted(ended - known))
        self._seen[project] = changed, frozenset(there.keys() - ended)
        return Reconciled(added, len(gone))

    def _add(self, project: str, number: int, names: Sequence[str]) -> int:
        """Index runs that are not known, and return how many could be."""
        added = 0
        left = iter(names)
        while some := list(islice(left, _AT_ONCE)):
            found = [one for name in some if (one := self._examined(project, name))]
            with self._database.writing() as connection:
                add(connection, number, found)
            added += len(found)
        return added

    def _examined(self, project: str, name: str) -> Found | None:
        path = self._places.run(project, name)
        changed = _time(path)
        if self._unfit.get(path) == changed:
            return None
        found = of_directory(path, (path / RUN).stat().st_mtime)
        if found is None:
            self._unfit[path] = changed
        return found


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _directories(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the run directories of a project, and whether their runs have ended."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  of a hundred thousand
    except FileNotFoundError:
        return
    for name in names:
        if RUN_ID.fullmatch(name) and (folder / name).is_dir():
            yield name, (folder / name / RUN).exists()


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
    """Make the index anew from the directories; tokens, audit log and deliveries stay."""
    with database.writing() as connection:
        for table in _MADE_ANEW:
            connection.execute(sql.delete(table))
    return reconcile(database, places)


def verify(database: Database, places: Places) -> list[str]:
    """Return where index and directories disagree, in words; nothing if they agree."""
    return [line for project in places.projects() for line in _verified(database, places, project)]


def _verified(database: Database, places: Places, project: str) -> Iterator[str]:
    with database.writing() as connection:
        number = database.project(connection, project)
        query = sql.select(runs.c.run_id, runs.c.id).where(runs.c.project == number)
        known = pairs(connection, query)
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
