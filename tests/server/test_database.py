"""The tables come by versions, on both databases, and are those of the schema."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rtstone.errors import StoreError, UsageError
from rtstone.server import database as module
from rtstone.server.database import FILE, Database
from rtstone.server.projects import MAIN, Places
from rtstone.server.schema import metadata
from tests.conftest import Cli
from tests.server.conftest import Copied, at_once, counts, index
from tests.server.serving import Served


def test_the_versions_make_the_tables_of_the_schema(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == "0001"


def test_servers_that_start_at_once_do_not_collide(
    places: Places, database_url: str | None
) -> None:
    def start() -> None:
        with (
            closing(Database(database_url, places.store)) as database,
            database.reading() as connection,
        ):
            assert connection.execute(sql.text("SELECT count(*) FROM runs")).scalar() == 0

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


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 10 * 4096])


def _of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE runs (x)")


def _of_later_version(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE alembic_version SET version_num = '0999'")


def _without_tokens(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DROP TABLE tokens")


def _instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replaced(path: Path) -> None:
        path.unlink()
        make(path)

    return replaced


@pytest.mark.parametrize(("spoil", "says"), [
    (_truncated, r"malformed; put a back-up"), (_of_another_program, r"name another --database"),
    (_of_later_version, r"0999.*update rtstone"),
    (lambda path: path.write_bytes(b"x" * 9999), r"not a database; put a back-up"),
    (_instead(os.mkfifo), r"is a pipe, not a regular file; move it away"),
    (_instead(Path.mkdir), r"is a directory, not a regular file; move it away"),
    (_instead(lambda path: path.symlink_to("/dev/zero")), r"is a device, not a regular file"),
    (_instead(lambda path: path.symlink_to(path)), r"Too many levels of symbolic links"),
])  # fmt: skip
def test_each_command_says_in_a_line_what_is_wrong_with_a_database(
    places: Places, cli: Cli, spoil: Callable[[Path], object], says: str
) -> None:
    """The server itself once said it in a traceback, and ended with 0."""
    Database(None, places.store).close()
    file = places.store / FILE
    spoil(file)
    before = file.read_bytes() if file.is_file() else None
    store = ["--store", str(places.store)]
    for words in (["serve", "--listen", "127.0.0.1:0"], ["token", "list"], ["serve", "--verify"]):
        done = cli(*words, *store)
        assert done.status in {2, 4}, words
        assert re.fullmatch(rf"rtstone: [^\n]*{says}[^\n]*\n", done.err), done.err
    done = cli("serve", "--status", *store)
    assert done.status == 1
    assert done.out.startswith("not well: ")
    if before is not None:  # all but the head of a file of SQLite, which has its journal's mode
        assert file.read_bytes()[100:] == before[100:]


def test_a_table_that_is_gone_is_a_line_too(places: Places, cli: Cli) -> None:
    Database(None, places.store).close()
    _without_tokens(places.store / FILE)
    done = cli("token", "list", "--store", str(places.store))
    assert (done.status, done.err.count("\n")) == (4, 1)
    assert "no such table: tokens; put a back-up" in done.err
    done = cli("serve", "--status", "--store", str(places.store))
    assert (done.status, "no such table" in done.out.splitlines()[0]) == (1, True)


def test_a_database_that_is_damaged_while_it_is_served_is_a_line(served: Served) -> None:
    served.settled()
    file = served.places.store / FILE
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    text = file.read_bytes()
    file.write_bytes(text[:4096] + os.urandom(len(text) - 4096))
    response = served.client.get("/p/main/")
    assert (response.status_code, response.text) == (
        503,
        "the database does not answer; try again\n",
    )
    file.write_bytes(text)
    assert served.client.get("/healthz").status_code == 200


def test_an_empty_file_is_no_new_database_where_there_are_runs(
    copied: Copied, places: Places, cli: Cli
) -> None:
    """It was taken for one without a word, though tokens and audit log were lost with the old."""
    file, store = places.store / FILE, ["--store", str(places.store)]
    file.touch()
    Database(None, places.store).close()  # nothing else is there yet
    copied("one")
    os.truncate(file, 0)
    for words in (["serve", "--listen", "127.0.0.1:0"], ["token", "list"], ["serve", "--verify"]):
        done = cli(*words, *store)
        assert done.status == 4, words
        says = (
            rf"rtstone: the database {file} is empty, and the store is not: put a back-up[^\n]*\n"
        )
        assert re.fullmatch(says, done.err), done.err
    assert "is empty, and the store is not" in cli("serve", "--status", *store).out
    assert file.stat().st_size == 0
    file.unlink()  # as the line says
    assert cli("serve", "--rebuild", *store).out == "indexed 1 run anew\n"


def test_a_new_database_that_could_not_be_made_leaves_no_empty_file(
    copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied("one")

    def full(self: Database) -> None:
        raise StoreError("no room")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="no room"):
        patch.setattr(Database, "migrate", full)
        Database(None, places.store)
    Database(None, places.store).close()


def test_a_database_that_cannot_be_opened_is_one_line(places: Places) -> None:
    (places.store / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"^cannot open the database: [^\n]*not a database"):
        Database(None, places.store)
    with pytest.raises(
        StoreError, match=r"^cannot open the database: [^\n]*refused[^\n]*$"
    ) as raised:
        Database("postgresql://ann:secret@127.0.0.1:1/x", places.store)
    assert "secret" not in str(raised.value)
