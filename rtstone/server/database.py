"""The server's database: SQLite beside the runs, or PostgreSQL by URL."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import Insert, Select, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from rtstone.errors import StoreError, UsageError
from rtstone.files import kind
from rtstone.printable import line
from rtstone.server.projects import Places, is_full
from rtstone.server.schema import projects
from rtstone.server.upgrade import check, upgrade

FULL_DISK = "the disk of the server is full; nothing that is stored is lost; make room there"
FILE = "server.db"  # in the store, unless another database is named
_BACK_UP = (
    f"put a back-up in its place, or move {FILE}* out of the store: the next start makes the index "
    "anew from the runs, but tokens, audit log and deliveries are in it alone"
)
_DAMAGED = ("malformed", "not a database", "no such table")  # in errors of SQLite
_BUSY_S = 30  # how long a writer waits for another
_LOCK = 0x7274  # the class of our locks in PostgreSQL
_WRITES = "rtstone_writes"  # option of a connection that begins a transaction to write
_log = logging.getLogger("rtstone.server")


class Database:
    """The tables of ``schema.py``, of the newest version."""

    def __init__(self, url: str | None, store: Path) -> None:
        """``url``: postgresql://..., None for SQLite in the store.

        Raises UsageError, StoreError if it cannot be opened.
        """
        fresh = url is None and not (store / FILE).exists()
        self.engine = _engine(url, store)
        try:
            with saying_why(store):
                self.upgrade()
        except BaseException:
            self.close()
            if fresh:
                with suppress(OSError):  # an empty file would hide the loss of what was in it
                    if not (store / FILE).lstat().st_size:
                        (store / FILE).unlink()
            raise

    @classmethod
    def as_it_is(cls, url: str | None, store: Path) -> Database:
        """Open the database only to read it, also while a server runs.

        Raises UsageError, StoreError if there is none of this version.
        """
        database = cls.__new__(cls)
        database.engine = _sqlite_to_read(store / FILE) if url is None else _engine(url, store)
        try:
            with saying_why(store), database.reading() as connection:
                check(connection)
        except BaseException:
            database.close()
            raise
        return database

    def upgrade(self) -> None:
        """Bring the tables to the newest version; one server at a time.

        Raises UsageError if a newer rtstone or another program has made them.
        """
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK, 0)))
            upgrade(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection that writes nothing."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction, committed at its end and undone by an exception."""
        with self.engine.execution_options(**{_WRITES: True}).begin() as connection:
            yield connection

    def project(self, connection: Connection, name: str) -> int:
        """Return the id of a project, which is made if there is none."""
        query = sql.select(projects.c.id).where(projects.c.name == name)
        number = connection.execute(query).scalar()
        if number is None:
            connection.execute(unless_there(connection, projects, ["name"]), {"name": name})
            number = connection.execute(query).scalar_one()
        return int(number)

    def gather_statistics(self) -> None:
        """Have PostgreSQL look at its tables, after many rows: by itself it does a minute later.

        Until then it plans as for empty ones, and a search takes ten times as long.
        """
        if self.engine.dialect.name == "postgresql":
            with self.writing() as connection:
                connection.execute(sql.text("ANALYZE"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def saying_why(store: Path) -> Iterator[None]:
    """Raise StoreError for a database that cannot be opened or used."""
    try:
        yield
    except sql.exc.DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        if is_of_full_disk(error, store):
            raise StoreError(
                f"cannot open the database, its disk is full ({reason}): make room there, {store}; "
                "nothing that is stored is lost"
            ) from error
        damaged = any(words in reason for words in _DAMAGED)
        advice = _BACK_UP if damaged else "see --database"
        raise StoreError(f"cannot open the database: {reason}; {advice}") from error


def is_of_full_disk(error: sql.exc.DBAPIError, store: Path) -> bool:
    """Return whether what SQLite or PostgreSQL refuses is for want of room.

    SQLite without room for its journals calls it an I/O error.
    """
    if isinstance(error.orig, sqlite3.OperationalError) and is_full(store):
        return True
    return any(words in str(error.orig) for words in ("disk is full", "No space left"))


def log_failure(action: str, error: Exception, store: Path) -> None:
    """Log an action that has failed: a full disk in a line, anything else with its traceback."""
    if isinstance(error, sql.exc.DBAPIError) and is_of_full_disk(error, store):
        _log.error("%s has failed: %s", action, FULL_DISK)
    else:
        _log.error("%s has failed", action, exc_info=error)


def _check_file(path: Path) -> None:
    """Raise StoreError for what is no database of this store.

    SQLite waits for a pipe, writes to a device, and takes an empty file for a new database.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot open the database, {path}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"the database {path} is {kind(status)}, not a regular file; move it away")
    if not status.st_size and Places(path.parent).is_used():
        raise StoreError(f"the database {path} is empty, and the store is not: {_BACK_UP}")


def _engine(url: str | None, store: Path) -> Engine:
    if url is not None:
        if not url.startswith("postgresql://"):
            raise UsageError("unknown database, in --database; write postgresql://user@host/name")
        address = url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            # Asked first, a connection outlives a server of PostgreSQL that was started anew.
            return sql.create_engine(address, pool_pre_ping=True)
        except ImportError as error:
            raise UsageError(
                f"PostgreSQL takes psycopg, which cannot be used ({line(str(error))}); "
                "pip install 'rtstone[server]'"
            ) from error
    path = store / FILE
    _check_file(path)
    _close_to_others(path)
    engine = sql.create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": _BUSY_S}
    )

    @sql.event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not behind our back
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @sql.event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        # One that reads first and writes then would be refused if another wrote meanwhile.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _close_to_others(path: Path) -> None:
    """Make the file and its journals this user's alone, whatever the umask: they hold what runs do.

    A fault is left to SQLite, which reports why it cannot open the file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError):
        os.close(os.open(path, flags, 0o600))
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            handle = os.open(name, flags & ~os.O_CREAT)
            with os.fdopen(handle, "rb"):
                if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
                    os.fchmod(handle, 0o600)


def _sqlite_to_read(path: Path) -> Engine:
    """Return an engine that only reads the file.  Raises StoreError if there is none."""
    _check_file(path)
    if not path.exists():
        raise StoreError(f"no database, {path}: no server has served this store")
    address = f"{path.as_uri()}?mode=ro"
    return sql.create_engine(
        "sqlite://", poolclass=NullPool,
        creator=lambda: sqlite3.connect(address, uri=True, timeout=_BUSY_S),
    )  # fmt: skip


def pairs(connection: Connection, query: Select[Any]) -> dict[str, Any]:
    """Return the rows of a query of two columns, the second by the first."""
    return {name: value for name, value in connection.execute(query)}  # noqa: C416  rows are no pairs


def unless_there(connection: Connection, table: Table, unique: list[str]) -> Insert:
    """Return the statement that adds rows, but for those that another server has added.

    ``unique``: the columns by which these are known.
    """
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing(index_elements=unique)
    return sqlite.insert(table).on_conflict_do_nothing(index_elements=unique)


def one_writer(connection: Connection, project: int) -> None:
    """Keep other servers from writing the runs of a project until the transaction ends."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK, project)))
