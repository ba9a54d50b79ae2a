"""Bring a database to the version of this rtstone.

The tables that are not in the cache go from version to version by the steps below.  The cache is
made anew, and filled from the run directories, whenever its version differs.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateIndex, CreateTable

from rtstone.errors import StoreError, UsageError
from rtstone.server.schema import CACHE, changes, metadata, versions

_CONTENT = 3  # raised whenever other values are written into the same columns of the cache
_REVISION = "0001"  # the only one of the databases that alembic made: version 0


class Versions(NamedTuple):
    """Versions of a database.

    ``tables``: of those that are not in the cache, None if there are none; ``cache``: None if its
    tables are still to be made.
    """

    tables: int | None = None
    cache: str | None = None


def _take_over(connection: Connection) -> None:
    """Take over the tables that alembic made: changes are of a series by its key, not its number.

    A later version that changes the table `changes` keeps a copy of its present columns here.
    """
    names = [column.name for column in changes.c if column.name not in ("id", "key")]
    query = (
        f"SELECT s.key, {', '.join(f'c.{name}' for name in names)} FROM changes AS c "
        "JOIN series AS s ON s.id = c.series ORDER BY c.id"
    )
    rows = [dict(row) for row in connection.execute(sql.text(query)).mappings()]
    for name in ("changes", "analyses", "points", "tags", "targets", "runs", "series",
                 "alembic_version"):  # fmt: skip
        connection.execute(sql.text(f"DROP TABLE {name}"))
    changes.create(connection)
    versions.create(connection)
    if rows:
        connection.execute(sql.insert(changes), rows)


# STEPS[n] brings version n to version n + 1.  With SQLite a table to which others refer is changed
# by ALTER TABLE only: as it is dropped, the rows that refer to its rows go, too.
STEPS: tuple[Callable[[Connection], None], ...] = (_take_over,)


def newest() -> Versions:
    """Return the versions of this rtstone."""
    digest = sha256(str(_CONTENT).encode())
    for table in CACHE:
        digest.update(str(CreateTable(table)).encode())
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            digest.update(str(CreateIndex(index)).encode())
    return Versions(len(STEPS), digest.hexdigest()[:16])


def upgrade(connection: Connection) -> None:
    """Bring the tables to the newest version, and empty a cache of another one.

    Raises UsageError for a database that a newer rtstone or another program has made.
    """
    stored, wanted = stored_versions(connection), newest()
    if stored == wanted:
        return
    if stored.tables is None:
        rest = [table for table in metadata.sorted_tables if table not in CACHE]
        metadata.create_all(connection, tables=rest)
    else:
        for step in STEPS[stored.tables :]:
            step(connection)
    if stored.cache != wanted.cache:
        make_cache(connection)
    connection.execute(sql.delete(versions))
    connection.execute(sql.insert(versions).values(wanted._asdict()))


def make_cache(connection: Connection) -> None:
    """Make the tables of the cache anew, without any rows."""
    metadata.drop_all(connection, tables=CACHE)
    metadata.create_all(connection, tables=CACHE)


def check(connection: Connection) -> None:
    """Raise StoreError or UsageError unless a database is of the newest version."""
    stored, wanted = stored_versions(connection), newest()
    if stored.tables is None:
        raise StoreError("the database has no tables of rtstone: `rtstone serve` makes them")
    if stored.tables != wanted.tables:
        raise StoreError(
            f"the database is of version {stored.tables}: `rtstone serve` brings it to "
            f"{wanted.tables}"
        )
    if stored.cache != wanted.cache:
        raise StoreError("the index is of another version: `rtstone serve` makes it anew")


def stored_versions(connection: Connection) -> Versions:
    """Return the versions of a database.

    Raises UsageError if a newer rtstone or another program has made it.
    """
    names = set(sql.inspect(connection).get_table_names())
    if versions.name in names:
        row = connection.execute(sql.select(versions)).first()
        stored = Versions(*row) if row else Versions()
        if stored.tables is None or stored.tables > len(STEPS):
            raise _refused(f"a newer rtstone has made the database (version {stored.tables}); "
                           "update rtstone")  # fmt: skip
        return stored
    ours = set(metadata.tables) - {versions.name}
    if "alembic_version" in names and ours <= names:
        revision = connection.execute(sql.text("SELECT version_num FROM alembic_version")).scalar()
        if revision != _REVISION:
            raise _refused(f"another rtstone has made the database (revision {revision}), which "
                           "this one cannot take over; use that one")  # fmt: skip
        return Versions(0)
    if names & ours:
        raise _refused("the database has tables of another program; move it away")
    return Versions()


def _refused(reason: str) -> UsageError:
    return UsageError(f"{reason}, or name another --database")
