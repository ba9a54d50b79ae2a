"""A store of runs, its database, and a server of PostgreSQL of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import sqlalchemy as sql

from rtstone.cli.main import _status
from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run, Value
from rtstone.server.database import Database
from rtstone.server.indexing import add, examine
from rtstone.server.projects import MAIN, Places
from rtstone.server.schema import metadata
from rtstone.store import layout as stores
from tests.server.serving import served

__all__ = ["served"]
DAY = 86_400.0
BEGUN = datetime(2026, 11, 1, tzinfo=UTC).timestamp()  # of the first copy, in s
_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class Template(NamedTuple):
    """A run that was really measured, on the simulated system."""

    path: Path
    run: Run
    plan: Plan


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Measure three benches on the simulated system."""
    home = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        benches = ("sched.yield", "sem.post.higher", "dk.periodic")
        words = ["run", *benches, "--target", "sim", "--time", "20ms", "--quiet"]
        assert _status(words) == 0
    path = next((home / "runs").iterdir())
    run = msgspec.json.decode((path / stores.RUN).read_bytes(), type=Run)
    plan = msgspec.json.decode((path / stores.PLAN).read_bytes(), type=Plan)
    return Template(path, run, plan)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Return the places of an empty store."""
    store = tmp_path / "store"
    store.mkdir(exist_ok=True)
    return Places(store)


Copied = Callable[..., Path]


@pytest.fixture
def copied(template: Template, places: Places) -> Copied:
    """Place a copy of the run in the store; the call's members change its document, not its wire.

    ``scale``: multiplies all values.  ``day``: days after the first of November.  ``edit``: changes
    the run before the server can see it.
    """

    def copy(
        run_id: str,
        *,
        project: str = MAIN,
        day: float = 0.0,
        scale: float = 1.0,
        target: str | None = None,
        conditions: dict[str, Value] | None = None,
        edit: Callable[[Run], Run] | None = None,
        **members: object,
    ) -> Path:
        path = places.runs(project) / run_id
        path.mkdir(parents=True)
        created = datetime.fromtimestamp(BEGUN + day * DAY, UTC).isoformat()
        own = msgspec.structs.replace(template.run.target, called=target)
        same: dict[str, object] = {"run_id": run_id, "created": created, "target": own}
        plan = msgspec.structs.replace(template.plan, **same)
        (path / stores.PLAN).write_bytes(msgspec.json.encode(plan))
        os.link(template.path / stores.LOG, path / stores.LOG)
        run = msgspec.structs.replace(
            template.run, **same,
            conditions=template.run.conditions | (conditions or {}),
            results=[scaled(result, scale) for result in template.run.results],
            **members,
        )  # fmt: skip
        run = edit(run) if edit else run
        (path / stores.RUN).write_bytes(msgspec.json.encode(run))
        return path

    return copy


def scaled(result: Result, scale: float) -> Result:
    """Return a result all of whose values are so many times as large."""
    values = {
        name: getattr(result, name) * scale
        for name in ("min", "mean", "p50", "p90", "p99", "p999", "p9999", "max")
        if getattr(result, name) is not None
    }
    counts = [(value * scale, n) for value, n in result.histogram]
    return msgspec.structs.replace(result, **values, histogram=counts)


# ---- databases ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Start a server of PostgreSQL for these tests, and yield its URL without a database."""
    if not _POSTGRES or os.geteuid() != 0:
        pytest.skip("no PostgreSQL that root can start as its user; install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="rtstone-pg-", dir="/var/tmp"))
    shutil.chown(folder, "postgres")
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    programs, data = _POSTGRES[-1], folder / "data"

    def quietly(*words: str | Path) -> int:
        null = subprocess.DEVNULL
        command = [str(word) for word in (*as_user, *words)]
        return subprocess.run(command, stdout=null, stderr=null, cwd=folder, check=False).returncode

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    try:
        assert not quietly(programs / "initdb", "-D", data, "-A", "trust", "-N", "-U", "rtstone",
                           "-E", "UTF8", "--locale=C")  # fmt: skip
        settings = f"-p {port} -k {folder} -F -c listen_addresses=127.0.0.1 -c max_connections=50"
        assert not quietly(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o",
                           settings, "start")  # fmt: skip
        yield f"postgresql://rtstone@127.0.0.1:{port}"
    finally:
        quietly(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(cluster: str) -> str:
    """Return the URL of an empty database of PostgreSQL."""
    url = f"{cluster}/postgres"
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:  # tables of the test before
        connection.execute(sql.text("DROP SCHEMA public CASCADE"))
        connection.execute(sql.text("CREATE SCHEMA public"))
    engine.dispose()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Return what --database names: None for SQLite in the store."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def database(places: Places, database_url: str | None) -> Iterator[Database]:
    """Return an empty database, of each kind."""
    with contextlib.closing(Database(database_url, places.store)) as empty:
        yield empty


def index(database: Database, project: str, path: Path, *, arrived: float) -> int | None:
    """Index the run in a directory; return its number, None if it is there with that content."""
    entry = examine(path, arrived)
    with database.writing() as connection:
        return add(connection, database.project(connection, project), [entry])[0]


def at_once(work: Callable[[], None], number: int) -> None:
    """Do it in so many threads at once, and raise what any of them raised."""
    with ThreadPoolExecutor(number) as threads:
        for future in [threads.submit(work) for _ in range(number)]:
            future.result()


def counts(database: Database) -> dict[str, int]:
    """Return the number of rows of each table."""
    with database.reading() as connection:
        return {
            name: connection.execute(sql.select(sql.func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }
