"""The tables come by versions, on both databases; the cache is made anew."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine

from rtstone.cli.serve import needed
from rtstone.errors import StoreError, UsageError
from rtstone.server import upgrade
from rtstone.server.access import new_token, principal
from rtstone.server.database import FILE, Database
from rtstone.server.projects import MAIN, Places
from rtstone.server.reconcile import reconcile, verify
from rtstone.server.schema import CACHE, versions
from tests.conftest import Cli
from tests.server.conftest import Copied, at_once, counts, index
from tests.server.serving import Served


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
        connection.execute(sql.update(versions).values(tables=999))
    with pytest.raises(UsageError, match="version 999"):
        Database(database_url, places.store)


def test_a_later_version_keeps_what_the_database_alone_has(
    database: Database,
    copied: Copied,
    places: Places,
    database_url: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index(database, MAIN, copied("r-1"), arrived=0.0)
    before = counts(database)
    steps: list[str] = []

    def step(connection: Connection) -> None:
        steps.append("taken")
        connection.execute(sql.text("ALTER TABLE projects ADD COLUMN planted TEXT DEFAULT 'here'"))

    monkeypatch.setattr(upgrade, "STEPS", (*upgrade.STEPS, step))
    for _ in range(2):
        database.upgrade()
    assert steps == ["taken"]
    assert counts(database) == before
    with database.reading() as connection:
        assert connection.execute(sql.text("SELECT planted FROM projects")).scalar() == "here"
    monkeypatch.undo()
    with pytest.raises(UsageError, match="version 2"):
        Database(database_url, places.store)


def test_a_cache_of_another_version_is_made_anew(
    database: Database,
    copied: Copied,
    places: Places,
    database_url: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied("r-1")
    reconcile(database, places)
    before = counts(database)
    secret = new_token(database, "ci", "push", None)
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "_CONTENT", upgrade._CONTENT + 1)
        with pytest.raises(StoreError, match="index is of another version: `rtstone serve`"):
            Database.as_it_is(database_url, places.store)
        database.upgrade()
        assert {counts(database)[table.name] for table in CACHE} == {0}
        assert reconcile(database, places) == (1, 0)
        database.upgrade()
    assert counts(database) == before | {"tokens": 1}
    assert principal(database, secret)
    assert verify(database, places) == []


# ---- databases that alembic made ----------------------------------------------------------------

_DATA = Path(__file__).parent / "data"  # dumps of databases of its revision 0001, with all tables
_SECRETS = {
    "sqlite": "rts_f6269120d08b_3VSNXLwQxsluwPijZg_f4TM4DVpT-jrBmursbQT27Lo",
    "postgresql": "rts_94f4dbf94222_UTD3Hk9ThVCpiOKorPSrpvF9vKhJG-4E7uNxClcprSs",
}


@pytest.fixture
def former(places: Places, database_url: str | None) -> Iterator[Engine]:
    """Return the engine of a database of alembic's revision 0001."""
    if database_url is None:
        with closing(sqlite3.connect(places.store / FILE)) as file:
            file.executescript((_DATA / "sqlite.sql").read_text())
        engine = sql.create_engine(f"sqlite:///{places.store / FILE}")
    else:
        with psycopg.connect(database_url) as connection:
            connection.execute((_DATA / "postgresql.sql").read_bytes())
        engine = sql.create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    yield engine
    engine.dispose()


def _rows(connection: Connection, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(sql.text(query))]


_TRUTH = [
    "SELECT * FROM tokens ORDER BY id", "SELECT * FROM audit", "SELECT * FROM deliveries",
    "SELECT * FROM deletions", "SELECT * FROM campaigns", "SELECT * FROM projects ORDER BY id",
]  # fmt: skip
_COLUMNS = "c.project, {}.key, c.metric, c.at_run, c.before_run, c.begun, c.found, c.notified"


def test_a_database_that_alembic_made_is_taken_over(
    former: Engine, places: Places, copied: Copied, database_url: str | None
) -> None:
    query = f"SELECT {_COLUMNS} FROM changes AS c{{}} ORDER BY c.id"
    with former.begin() as connection:
        before = [_rows(connection, statement) for statement in _TRUTH]
        joined = query.format("s", " JOIN series AS s ON s.id = c.series")
        changes = _rows(connection, joined)
    assert all(before)
    assert len(changes) == 5
    with pytest.raises(StoreError, match="version 0: `rtstone serve` brings it to 1"):
        Database.as_it_is(database_url, places.store)
    copied("20261101-0")
    for _ in range(2):
        with (
            closing(Database(database_url, places.store)) as database,
            database.reading() as connection,
        ):
            assert [_rows(connection, statement) for statement in _TRUTH] == before
            assert _rows(connection, query.format("c", "")) == changes
            assert "alembic_version" not in sql.inspect(connection).get_table_names()
    with closing(Database(database_url, places.store)) as database:
        caller = principal(database, _SECRETS[former.dialect.name])  # writes when it was used
        assert caller
        assert (caller.name, caller.scope, caller.project) == ("ci", "push", "lab")
    with closing(Database.as_it_is(database_url, places.store)) as database:
        assert {counts(database)[table.name] for table in CACHE} == {0}
    with closing(Database(database_url, places.store)) as database:
        assert reconcile(database, places) == (1, 0)
        assert verify(database, places) == []


def test_a_taken_over_database_has_the_tables_of_a_new_one(
    former: Engine, places: Places, database_url: str | None
) -> None:
    def columns(engine: Engine) -> dict[str, list[str]]:
        inspector = sql.inspect(engine)
        return {
            name: sorted(
                [f"{column['name']} {column['type']} {column['nullable']}"
                 for column in inspector.get_columns(name)]
                + [str(index["column_names"]) for index in inspector.get_indexes(name)]
                + [str(inspector.get_pk_constraint(name)["constrained_columns"])]
            )
            for name in inspector.get_table_names()
        }  # fmt: skip

    Database(database_url, places.store).close()
    taken_over = columns(former)
    with former.begin() as connection:
        for name in taken_over:
            cascade = "" if database_url is None else " CASCADE"
            connection.execute(sql.text(f"DROP TABLE {name}{cascade}"))
    Database(database_url, places.store).close()
    assert columns(former) == taken_over


def test_a_take_over_that_is_cut_short_changes_nothing(
    former: Engine, places: Places, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(connection: Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(upgrade, "make_cache", killed)
        Database(database_url, places.store)
    with former.begin() as connection:
        assert _rows(connection, "SELECT version_num FROM alembic_version") == [("0001",)]
        assert len(_rows(connection, "SELECT series FROM changes")) == 5
        assert len(_rows(connection, "SELECT * FROM runs")) == 9
        assert "rtstone_versions" not in sql.inspect(connection).get_table_names()


def test_another_revision_of_alembic_is_refused(
    former: Engine, places: Places, database_url: str | None
) -> None:
    with former.begin() as connection:
        connection.execute(sql.text("UPDATE alembic_version SET version_num = '0000'"))
    with pytest.raises(UsageError, match=r"revision 0000.*name another --database"):
        Database(database_url, places.store)
    with former.begin() as connection:
        assert len(_rows(connection, "SELECT * FROM runs")) == 9


def test_an_unknown_database_is_refused(places: Places) -> None:
    with pytest.raises(UsageError, match="postgresql://"):
        Database("mysql://localhost/x", places.store)


def test_the_driver_of_postgresql_is_needed_for_postgresql_alone(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    needed()
    Database(None, places.store).close()
    with pytest.raises(UsageError, match=r"takes psycopg.*pip install 'rtstone\[server\]'"):
        Database("postgresql://localhost/x", places.store)


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 10 * 4096])


def _of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE runs (x)")


def _of_later_version(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE rtstone_versions SET tables = 999")


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
    (_of_later_version, r"version 999.*update rtstone"),
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
        patch.setattr(Database, "upgrade", full)
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
