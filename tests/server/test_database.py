"""The tables come by versions, on both databases, and are those of the schema."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rtstone.errors import StoreError, UsageError
from rtstone.server import database as module
from rtstone.server.database import FILE, Database
from rtstone.server.places import MAIN, Places
from rtstone.server.schema import metadata
from tests.server.conftest import Copied, at_once, counts, index


def test_the_versions_make_the_tables_of_the_schema(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == "0001"


def test_servers_that_start_at_once_do_not_collide(
    places: Places, database_url: str | None
) -> None:
    def start() -> None:
        with closing(Database(database_url, places.store)) as found, found.reading() as there:
            assert there.execute(sql.text("SELECT count(*) FROM runs")).scalar() == 0

    at_once(start, 4)


def test_a_database_of_a_newer_version_is_refused(
    database: Database, places: Places, database_url: str | None
) -> None:
    with database.writing() as connection:
        connection.execute(sql.text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(UsageError, match="0999"):
        Database(database_url, places.store)


NEXT = """
import sqlalchemy as sql
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    for name in ("projects", "runs"):  # other tables refer to both
        with op.batch_alter_table(name, recreate="auto") as table:
            table.add_column(sql.Column("planted", sql.Text(), server_default="here"))
            table.alter_column("name" if name == "projects" else "run_id", nullable=False,
                               existing_type=sql.String(200), type_=sql.String(300))
"""


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A folder of migrations with a second version."""
    scripts = Path(shutil.copytree(module._SCRIPTS, tmp_path / "migrations"))
    (scripts / "versions" / "v0002.py").write_text(NEXT)
    return scripts


def test_a_later_version_keeps_what_is_there(
    database: Database, copied: Copied, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite changes a table by a copy of it: no row that refers to the old one may go with it."""
    index(database, MAIN, copied("r-1"), arrived=0.0)
    before = counts(database)
    assert before["runs"] == 1 < before["points"]
    monkeypatch.setattr(module, "_SCRIPTS", later)
    database.migrate()
    assert counts(database) == before
    with database.reading() as connection:
        assert connection.execute(sql.text("SELECT planted FROM runs")).scalar() == "here"
        if connection.dialect.name == "sqlite":
            assert connection.execute(sql.text("PRAGMA foreign_keys")).scalar() == 1
            assert not connection.execute(sql.text("PRAGMA foreign_key_check")).all()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="0002"):
        database.migrate()


def test_an_unknown_database_is_refused(places: Places) -> None:
    with pytest.raises(UsageError, match="postgresql://"):
        Database("mysql://localhost/x", places.store)


def test_a_database_that_cannot_be_opened_is_one_line(places: Places) -> None:
    (places.store / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"^cannot open the database: [^\n]*not a database"):
        Database(None, places.store)
    with pytest.raises(
        StoreError, match=r"^cannot open the database: [^\n]*refused[^\n]*$"
    ) as told:
        Database("postgresql://ann:secret@127.0.0.1:1/x", places.store)
    assert "secret" not in str(told.value)
