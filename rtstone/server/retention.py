"""Remove runs, by rule or on request, and leave a record of it."""

from __future__ import annotations

import json
import logging
import os
from collections import defaultdict
from collections.abc import Sequence
from time import time

import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.server.database import Database, pairs
from rtstone.server.indexing import drop, drop_bare_series
from rtstone.server.projects import DELETED, Places
from rtstone.server.schema import deletions, projects, runs
from rtstone.server.settings_file import EVERY, Retention
from rtstone.store import removal

BY_RULE = "retention"
_log = logging.getLogger("rtstone.server")


def remove(
    database: Database, places: Places, project: str, run_id: str, *, by: str, why: str
) -> None:
    """Remove a run, its directory and its rows.

    The record comes first, and counts once the directory is gone.  Raises UsageError if the run
    cannot be removed.
    """
    with database.writing() as connection:
        number = database.project(connection, project)
        query = sql.select(runs.c.fingerprint).where(
            runs.c.project == number, runs.c.run_id == run_id
        )
        fingerprint = connection.execute(query).scalar()
        if fingerprint is None:
            raise UsageError(f"no run '{run_id}', in project {project}")
    path = places.run(project, run_id)
    record = {"run_id": run_id, "fingerprint": fingerprint, "at": time(), "by": by, "why": why}
    note = places.home(project) / DELETED
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(note, flags, 0o644), "ab", buffering=0) as file:
            file.write(json.dumps(record).encode() + b"\n")
            os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(f"cannot note what was deleted, {note}: {error.strerror}") from error
    if path.exists():
        removal.remove(path, places.runs(project))
    with database.writing() as connection:
        drop(connection, number, [run_id])
        drop_bare_series(connection, number)
        mine = sql.and_(deletions.c.project == number, deletions.c.run_id == run_id)
        connection.execute(sql.delete(deletions).where(mine))
        connection.execute(sql.insert(deletions).values(project=number, **record))


def apply(database: Database, places: Places, rules: Sequence[Retention]) -> list[str]:
    """Remove the runs that the rules let go, and return these as PROJECT/RUN_ID.

    The first rule of a project counts.  Named runs stay, and the newest of each target; so does
    one that cannot be removed, which is logged.
    """
    gone = []
    with database.reading() as connection:
        names = pairs(connection, sql.select(projects.c.name, projects.c.id))
    for name, number in names.items():
        rule = next((rule for rule in rules if rule.project in (name, EVERY)), None)
        for run_id in _too_old(database, number, rule) if rule else ():
            why = rule.title if rule else ""
            try:
                remove(database, places, name, run_id, by=BY_RULE, why=why)
            except UsageError as error:
                _log.warning("a run stays that a rule lets go: %s", error)
            else:
                gone.append(f"{name}/{run_id}")
    return gone


def _too_old(database: Database, project: int, rule: Retention) -> list[str]:
    """Return the runs that a rule lets go, oldest first."""
    query = (
        sql.select(runs.c.run_id, runs.c.series_target, runs.c.begun, runs.c.label)
        .where(runs.c.project == project)
        .order_by(runs.c.begun.desc(), runs.c.id.desc())
    )
    limit = time() - rule.older_than_s
    seen: dict[str, int] = defaultdict(int)
    old = []
    with database.reading() as connection:
        for row in connection.execute(query):
            seen[row.series_target] += 1
            if row.begun < limit and not row.label and seen[row.series_target] > rule.keep_last:
                old.append(row.run_id)
    return old[::-1]
