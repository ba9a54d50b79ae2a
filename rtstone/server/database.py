"""The server's database: SQLite beside the runs, or PostgreSQL by URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from rtstone.errors import UsageError
from rtstone.server.schema import metadata, projects

FILE = "server.db"  # in the store, unless another database is named
_BUSY_S = 30  # how long a writer waits for another


class Database:
    """The tables of ``schema.py``, of the newest version."""

    def __init__(self, url: str | None, store: Path) -> None:
        """``url``: postgresql://..., None for SQLite in the store.  Raises UsageError."""
        self.engine = _engine(url, store)
        self.migrate()

    def migrate(self) -> None:
        """Bring the tables to the newest version."""
        metadata.create_all(self.engine)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection that writes nothing."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction, committed at its end and undone by an exception."""
        with self.engine.begin() as connection:
            yield connection

    def project(self, connection: Connection, name: str) -> int:
        """Return the id of a project, which is made if there is none."""
        query = sql.select(projects.c.id).where(projects.c.name == name)
        known = connection.execute(query).scalar()
        if known is None:
            made = connection.execute(sql.insert(projects).values(name=name))
            known = made.inserted_primary_key[0] if made.inserted_primary_key else None
        assert isinstance(known, int)
        return known

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: str | None, store: Path) -> Engine:
    if url is None:
        return _sqlite(store / FILE)
    if not url.startswith("postgresql://"):
        raise UsageError("unknown database, in --database; write postgresql://user@host/name")
    return sql.create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))


def _sqlite(path: Path) -> Engine:
    engine = sql.create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": _BUSY_S}
    )

    @sql.event.listens_for(engine, "connect")
    def _begun(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine
