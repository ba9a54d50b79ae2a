"""The catalogue: a private cache that is made again rather than trusted."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.store import run_catalogue
from rtstone.store.history import Wanted, history
from rtstone.store.index import entries
from rtstone.store.layout import CATALOGUE
from tests.store.test_history import result, stored
from tests.store.test_history import values as read_values

READ = "from rtstone.store.index import entries; print(*[e.run_id for e in entries()])"


def ids() -> list[str]:
    return [entry.run_id for entry in entries()]


def values() -> list[float | None]:
    """Return the values twice read: from the directories, then from the catalogue."""
    first = read_values()
    assert read_values() == first
    return first


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_it_is_of_its_user_alone(plan: Plan, home: Path) -> None:
    stored(plan, "a")
    before = os.umask(0)
    try:
        with history(Wanted({"a"}, lambda bench: True)):
            files = sorted(home.glob(f"{CATALOGUE}*"))
            assert [mode(file) for file in files] == [0o600] * 3
    finally:
        os.umask(before)


def test_caches_of_earlier_versions_are_removed(plan: Plan, home: Path) -> None:
    stored(plan, "a")
    former = [home / name for name in ("index.db", "index.db-wal", "history.db", "history.db-shm")]
    for file in former:
        file.write_bytes(b"")
    assert ids() == ["a"]
    assert not any(file.exists() for file in former)


@pytest.mark.parametrize(
    "harm", ["link", "log link", "pipe", "open to others", "hard link", "trigger", "table", "view"]
)
def test_what_it_has_not_made_itself_is_never_used(
    plan: Plan, home: Path, tmp_path: Path, harm: str
) -> None:
    stored(plan, "a")
    assert values() == [5.0]
    file, other = home / CATALOGUE, tmp_path / "other.db"
    match harm:
        case "link":
            file.rename(other)
            file.symlink_to(other)
        case "log link":
            other.write_bytes(b"precious")
            (home / f"{CATALOGUE}-wal").symlink_to(other)
        case "pipe":
            file.unlink()
            os.mkfifo(file)
        case "open to others":
            file.chmod(0o644)
        case "hard link":
            other.hardlink_to(file)
        case _:
            statement = {
                "trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
                "table": "CREATE TABLE more (data BLOB)",
                "view": "DROP TABLE heads; CREATE VIEW heads AS SELECT * FROM tables;",
            }
            with closing(sqlite3.connect(file)) as database:
                database.executescript(statement[harm])
    before = other.read_bytes() if other.exists() else None
    stored(plan, "b", result(6.0))
    assert values() == [5.0, 6.0]
    assert (other.read_bytes() if other.exists() else None) == before
    status = file.lstat()
    assert stat.S_ISREG(status.st_mode)
    assert (mode(file), status.st_nlink) == (0o600, 1)
    with closing(sqlite3.connect(file)) as database:  # it was made again, and holds both
        assert database.execute("SELECT count(*) FROM heads").fetchone() == (2,)
        names = "SELECT count(*) FROM sqlite_master WHERE name IN ('t', 'more')"
        assert database.execute(names).fetchone() == (0,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_one_of_another_user_is_not_used(plan: Plan, home: Path) -> None:
    stored(plan, "a")
    assert ids() == ["a"]
    os.chown(home / CATALOGUE, 12345, 12345)
    with closing(sqlite3.connect(home / CATALOGUE)) as database:
        database.execute("UPDATE runs SET name = 'lie'")
        database.commit()
    assert [entry.name for entry in entries()] == [None]
    assert (home / CATALOGUE).stat().st_uid == 0


def test_a_run_that_changed_in_any_way_is_read_again(plan: Plan) -> None:
    path = stored(plan, "a", result(5.0)) / "run.json"
    assert values() == [5.0]
    times = path.stat()
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"p50":5.0', b'"p50":7.0'))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert values() == [7.0]
    path.write_bytes(text[:-1])
    assert [entry.status for entry in entries()] == ["damaged"]
    path.write_bytes(text)
    assert [entry.status for entry in entries()] == ["complete"]
    assert values() == [5.0]
    path.unlink()
    assert [entry.status for entry in entries()] == ["unfinished"]
    assert values() == []


def test_what_a_campaign_asks_of_runs(plan: Plan) -> None:
    """Cases are the same whatever the order of their parameters."""
    for name, params in (("a", {"x": 1, "y": 2}), ("b", {"y": 2, "x": 1}), ("c", {"x": 1})):
        case = structs.replace(plan.cases[0], params=params)
        stored(structs.replace(plan, cases=[case]), name)
    a, b, c = entries()
    assert a.cases == b.cases != c.cases
    path = stored(plan, "d") / "run.json"
    document = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(document | {"duration_s": 12.5}))
    assert entries()[-1].duration_s == 12.5


def test_processes_that_make_it_at_once_all_see_every_run(plan: Plan, home: Path) -> None:
    names = [f"run{number:02}" for number in range(30)]
    for name in names:
        stored(plan, name)
    for _ in range(3):
        (home / CATALOGUE).unlink()
        words = [sys.executable, "-c", READ]
        processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        for process in processes:
            assert process.communicate()[0].split() == names
    with closing(sqlite3.connect(home / CATALOGUE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (30,)


@pytest.mark.parametrize("listed", [False, True])
def test_what_another_process_has_written_meanwhile_is_no_damage(
    plan: Plan, home: Path, monkeypatch: pytest.MonkeyPatch, *, listed: bool
) -> None:
    """The other one makes the tables, or adds the new run, just before this one would."""
    stored(plan, "a")
    if listed:
        assert ids() == ["a"]
        stored(plan, "b")
        (home / "runs" / "b" / "run.json").touch()
    inodes = []
    begin = run_catalogue.transaction

    def late(database: sqlite3.Connection) -> AbstractContextManager[None]:
        subprocess.run([sys.executable, "-c", READ], check=True, stdout=subprocess.DEVNULL)
        inodes.append((home / CATALOGUE).stat().st_ino)
        return begin(database)

    monkeypatch.setattr(run_catalogue, "transaction", late)
    assert ids() == (["a", "b"] if listed else ["a"])
    assert {(home / CATALOGUE).stat().st_ino} == set(inodes)


def test_a_process_that_is_killed_while_it_writes_costs_nothing(plan: Plan, home: Path) -> None:
    for number in range(3):
        stored(plan, f"run{number}", result(float(number)))
    script = """
import os
from rtstone.store import history
slim = history.slim
def killed(result):  # in the middle of a run
    if result.p50 == 1.0:
        os.kill(os.getpid(), 9)
    return slim(result)
history.slim = killed
with history.history(history.Wanted({"run0", "run1", "run2"}, lambda bench: True)):
    pass
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (home / f"{CATALOGUE}-wal").exists()
    assert values() == [0.0, 1.0, 2.0]
    (home / CATALOGUE).unlink()  # its log stays behind
    assert values() == [0.0, 1.0, 2.0]
