from __future__ import annotations

import errno
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.documents.plan import Plan
from rtstone.errors import StoreError, UsageError
from rtstone.folders import results
from rtstone.results.assembly import replay
from rtstone.store import atomic, index
from rtstone.store.rundir import RunDirectory, load
from rtstone.store.selection import several
from tests.conftest import Cli, Fake
from tests.results.test_assembly import result
from tests.wire.writer import Writer


def stored(plan: Plan, run_id: str, finish: bool = True) -> Path:
    plan = msgspec.structs.replace(plan, run_id=run_id)
    directory = RunDirectory(plan)
    if finish:
        run = replay(plan, b"")
        first = msgspec.structs.replace(run.results[0], status="ok", reason=None)
        directory.finish(msgspec.structs.replace(run, results=[first, *run.results[1:]]))
    else:
        directory._log.close()
    return directory.path


def ids() -> list[str]:
    return [entry.run_id for entry in index.entries()]


def test_a_run_is_read_as_it_was_written(plan: Plan, home: Path) -> None:
    directory = RunDirectory(plan)
    run = replay(plan, b"")
    directory.append(b"boot\n")
    directory.sync()
    directory.finish(run)
    assert directory.path == home / "runs" / plan.run_id
    assert load(directory.path) == run
    assert sorted(path.name for path in directory.path.iterdir()) == [
        "plan.json", "run.json", "wire.log",
    ]  # fmt: skip


def test_a_run_without_document_is_made_from_plan_and_log(plan: Plan) -> None:
    directory = RunDirectory(plan)
    writer = Writer()
    head: dict[str, object] = {"source": "tsc", "hz": 10**9, "granule": 1, "overhead": 0}
    directory.append(writer.line({"t": "clock", **head}))
    directory.append(writer.line({"t": "case", "id": 1, "bench": "ctx.ballast", "params": {}}))
    directory.append(writer.line(result(1)))
    directory.append(writer.line({"t": "end", "id": 1, "status": "ok", "reason": None}))
    directory.append(b'#rts 4 {"t":"case","id":2,"ben')  # cut off by the host's death
    directory._log.close()
    run = load(directory.path)
    assert [result.status for result in run.results] == ["ok", "incomplete", "incomplete"]
    assert run.status == "incomplete"


def test_out_must_be_new_or_empty(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    RunDirectory(plan, out)._log.close()
    assert (out / "plan.json").exists()
    with pytest.raises(UsageError, match="not empty"):
        RunDirectory(plan, out)


def test_a_run_elsewhere_is_found(plan: Plan, tmp_path: Path) -> None:
    RunDirectory(plan, tmp_path / "out")._log.close()
    assert index.find(plan.run_id).resolve() == (tmp_path / "out").resolve()
    (tmp_path / "out" / "plan.json").unlink()
    assert ids() == []


def test_places_that_cannot_be_written(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "x", Path("/proc/rtstone")):
        with pytest.raises(UsageError, match=r"cannot be stored.*RTSTONE_HOME"):
            RunDirectory(plan, place)
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="cannot be stored"):
        RunDirectory(plan)


def test_a_full_disk_is_told_and_leaves_no_half_document(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(plan)
    directory._log.close()
    directory._log = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115
    with pytest.raises(StoreError, match="No space left on device"):
        directory.append(b"x\n")

    def full(place: int, name: str, data: bytes) -> None:
        (directory.path / name).write_bytes(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "write", full)
    with pytest.raises(StoreError, match="No space left on device"):
        directory.finish(replay(plan, b""))
    assert load(directory.path).status == "incomplete"
    assert not (directory.path / "run.json.new").exists()


@pytest.mark.parametrize("size_kib", [64])
def test_a_disk_that_is_really_full(plan: Plan, tmp_path: Path, size_kib: int) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system")
    try:
        directory = RunDirectory(plan, place / "run")
        with pytest.raises(StoreError, match="No space left"):
            for _ in range(1000):
                directory.append(b"x" * 999 + b"\n")
        with pytest.raises(StoreError, match="No space left"):
            directory.finish(replay(plan, b""))
        assert len(load(place / "run").results) == 3
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_documents_of_another_kind_are_refused(plan: Plan) -> None:
    path = stored(plan, "a")
    (path / "run.json").write_text('{"schema": "rtstone.run/2"}')
    with pytest.raises(UsageError, match=r"not of schema rtstone\.run/1"):
        load(path)
    (path / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"not a readable run\.json"):
        load(path)


def test_runs_are_named_by_id_prefix_age_and_directory(plan: Plan) -> None:
    for run_id in ("20260101-a", "20260102-b", "20260102-c"):
        path = stored(plan, run_id)
    assert index.find("last") == path
    assert index.find("last~2").name == "20260101-a"
    assert index.find("20260101").name == "20260101-a"
    assert index.find("20260102-b").name == "20260102-b"
    assert index.find(str(path)) == path
    bad = {
        "20260102": "2 runs start with",
        "x": "no run 'x'",
        "last~3": "3 of 3 runs",
        "": "no run",
    }
    for name, message in bad.items():
        with pytest.raises(UsageError, match=message):
            index.find(name)


def test_a_run_is_named_by_its_document_too(plan: Plan) -> None:
    path = stored(plan, "a")
    assert index.find(str(path / "run.json")) == path


def test_directories_that_may_not_be_looked_into(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = stored(plan, "a"), stored(plan, "b")
    before = os.stat

    def status(path: Any, **options: Any) -> os.stat_result:
        if other.name in Path(path).parts[-2:]:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return before(path, **options)

    monkeypatch.setattr(os, "stat", status)
    assert ids() == ["b"]
    with pytest.raises(UsageError, match=r"cannot read run.*Permission denied"):
        index.find(str(other))


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(UsageError, match="no run"):
        index.find("x" * 5000)


def test_the_index_follows_the_directories(plan: Plan) -> None:
    first = stored(plan, "a", finish=False)
    assert [(e.run_id, e.status) for e in index.entries()] == [("a", "unfinished")]
    (first / "run.json").write_bytes(msgspec.json.encode(replay(plan, b"")))
    stored(plan, "b")
    assert [(e.status, e.ok, e.results) for e in index.entries()] == [
        ("incomplete", 0, 3), ("incomplete", 1, 3),
    ]  # fmt: skip
    (first / "plan.json").unlink()
    assert ids() == ["b"]


@pytest.mark.parametrize("harm", ["delete", "garbage", "other table", "truncate"])
def test_the_index_is_rebuilt(plan: Plan, home: Path, harm: str) -> None:
    stored(plan, "a")
    assert ids() == ["a"]
    database = home / "catalogue.db"
    match harm:
        case "delete":
            database.unlink()
        case "garbage":
            database.write_bytes(b"not a database" * 1000)
        case "truncate":
            database.write_bytes(database.read_bytes()[:5000])
        case _:
            import sqlite3

            connection = sqlite3.connect(database)
            connection.execute("DROP TABLE runs")
            connection.execute("CREATE TABLE runs (something)")
            connection.close()
    stored(plan, "b")
    assert ids() == ["a", "b"]
    assert ids() == ["a", "b"]


def test_an_index_that_cannot_be_written_is_done_without(plan: Plan, home: Path) -> None:
    stored(plan, "a")
    (home / "catalogue.db").mkdir()
    assert ids() == ["a"]


def test_the_index_is_in_wal_mode(plan: Plan, home: Path) -> None:
    import sqlite3

    stored(plan, "a")
    index.entries()
    connection = sqlite3.connect(home / "catalogue.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_no_home_yet(home: Path) -> None:
    assert index.entries() == []


def test_where_home_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RTSTONE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert results() == Path("/xdg/rtstone")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert results() == Path("/home/me/.local/share/rtstone")
    for relative in ("", "me"):  # results would lie where it was started
        monkeypatch.setenv("HOME", relative)
        assert results() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/share/rtstone"


def test_no_test_stores_among_the_runs_of_a_person(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.undo()  # as tests do, and as fixtures of a module begin
    assert results().is_relative_to(tmp_path_factory.getbasetemp())


# ---- damaged runs, odd names, clocks that go back ----------------------------------------------

DAMAGE = {
    "no UTF-8": b'{"schema": "rtstone.run/1", "created": "\xff\xfe"}',
    "deep": b'{"schema": "rtstone.run/1", "notes": ' + b"[" * 200_000,
    "cut": b'{"schema": "rtstone.run/1", "crea',
    "empty": b"",
}


@pytest.mark.parametrize("name", ["run.json", "plan.json"])
@pytest.mark.parametrize("damage", [*DAMAGE, "pipe", "directory", "huge"])
def test_a_damaged_run_is_the_only_one_that_cannot_be_read(
    plan: Plan, cli: Cli, name: str, damage: str
) -> None:
    paths = [stored(plan, run_id) for run_id in ("20260101-a", "20260102-b", "20260103-c")]
    file = paths[1] / name
    file.unlink()
    if damage in DAMAGE:
        file.write_bytes(DAMAGE[damage])
    elif damage == "pipe":
        os.mkfifo(file)
    elif damage == "directory":
        file.mkdir()
    else:
        with file.open("wb") as large:
            large.truncate(1 << 40)
    listed = cli("list", "runs", "--json")
    assert listed.status == 0, listed.err
    assert {"20260101-a", "20260103-c"} <= {r["run_id"] for r in listed.document["runs"]}
    assert cli("show", "last").status == 0
    assert cli("show", "20260101-a").status == 0
    assert cli("run", "--resume", "20260101").status in {0, 2, 4}
    for command in (("show", str(paths[1])), ("run", "--resume", str(paths[1]))):
        done = cli(*command)
        assert done.status in {0, 2, 4}
        assert "Traceback" not in done.err
        assert name == "plan.json" or "run.json" in done.says
    assert paths[1].exists()


def test_a_document_that_cannot_be_read_is_made_from_the_logs_without_it(plan: Plan) -> None:
    path = stored(plan, "a")
    (path / "run.json").write_bytes(b"{")
    with pytest.raises(UsageError, match=r"run\.json.*without it the document is made from"):
        load(path)
    (path / "run.json").unlink()
    assert load(path).run_id == "a"


def test_the_last_run_is_the_one_that_came_last_whatever_the_clock_said(
    plan: Plan, home: Path
) -> None:
    for run_id in ("20260105-a", "19700101-b", "20260104-c", "20260103-d"):
        stored(plan, run_id)
    order = ["20260105-a", "19700101-b", "20260104-c", "20260103-d"]
    assert ids() == order
    assert index.find("last").name == "20260103-d"
    assert index.find("last~2").name == "19700101-b"
    (home / "catalogue.db").unlink()  # the order is stored in the directories
    assert ids() == order
    shutil.rmtree(home / "runs" / "20260103-d")
    stored(plan, "19700102-e")
    assert ids() == [*order[:3], "19700102-e"]


def test_runs_that_were_stored_before_there_was_an_order_come_first_by_their_ids(
    plan: Plan,
) -> None:
    stored(plan, "20260109-new")
    for run_id in ("20260102-old", "20260101-old"):
        path = stored(plan, run_id)
        table = msgspec.json.decode((path / "plan.json").read_bytes())
        del table["arrival"]
        (path / "plan.json").write_bytes(msgspec.json.encode(table))
    assert ids() == ["20260101-old", "20260102-old", "20260109-new"]


def test_rows_of_an_index_that_nobody_wrote_so(plan: Plan, home: Path) -> None:
    import sqlite3

    stored(plan, "a")
    assert ids() == ["a"]
    with closing(sqlite3.connect(home / "catalogue.db", isolation_level=None)) as database:
        database.execute("UPDATE runs SET created = NULL, ok = 'many', arrival = NULL")
    assert [(entry.run_id, entry.created) for entry in index.entries()] == [("a", plan.created)]


def test_many_runs_joined_by_commas(plan: Plan, cli: Cli) -> None:
    names = [f"20260101-{number:02}-{'x' * 40}" for number in range(12)]
    for name in names:
        stored(plan, name)
    done = cli("compare", ",".join(names[:6]), ",".join(names[6:]), "--json")
    assert done.status in {0, 3}, done.err
    assert "too long" not in done.err
    assert several("a\0b,c") == ["a\0b", "c"]


@pytest.mark.parametrize("length", [300, 5000])
def test_names_and_places_that_are_too_long(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    long = "x" * length
    assert "unknown suite or bench" in cli("run", long).says
    assert "no run" in cli("show", long).says
    done = cli("run", "null", "--out", str(tmp_path / "new" / long))
    assert done.status == 2
    assert "results cannot be stored" in done.says
    assert "stored in" not in done.out
    assert not (tmp_path / "new").exists()
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path / long))
    done = cli("run", "null")
    assert (done.status, "results cannot be stored" in done.says) == (2, True)
    assert cli("list", "runs").status == 0
    assert "no run" in cli("show", "last").says


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a home of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system")
    monkeypatch.setenv("RTSTONE_HOME", str(place / "home"))
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path, leave: int) -> Path:
    """Write a file that leaves so many bytes free."""
    free = os.statvfs(place)
    path = place / "filler"
    path.write_bytes(bytes(free.f_bavail * free.f_bsize - leave))
    return path


def test_a_home_that_is_full_from_the_beginning(fake: Fake, cli: Cli, small: Path) -> None:
    trace = fake()
    fill(small, 0)
    for options in ([], ["--json"]):
        done = cli("run", "null", *options)
        assert done.status == 2
        assert "results cannot be stored" in done.says
        assert "No space left on device" in done.says
        assert "stored in" not in done.out
    assert set(trace.read_text().split()) == {"--list"}  # no measurement was lost
    (small / "filler").unlink()
    assert ids() == []
    assert cli("run", "null").status == 0


def test_a_home_that_becomes_full(fake: Fake, cli: Cli, small: Path) -> None:
    fake(flood=100)  # 25 KB per case
    filler = fill(small, 96 << 10)
    done = cli("run", "ctx.ballast", "-p", f"ballast={','.join(map(str, range(9)))}")
    assert done.status == 4
    assert "No space left on device" in done.says
    assert "of 9 cases are kept" in done.says
    assert "stored in" not in done.out
    filler.unlink()
    (run_id,) = ids()
    run = load(index.find(run_id))
    complete = sum(result.status == "ok" for result in run.results)
    assert 0 < complete < 9
    assert f"{complete} of 9 cases are kept" in done.says
    fake()
    assert cli("run", "--resume", "last").status == 0
    assert [result.status for result in load(index.find("last")).results] == ["ok"] * 9


@pytest.mark.parametrize("member", ["benches", "loads"])
def test_a_plan_that_names_what_it_does_not_hold(plan: Plan, cli: Cli, member: str) -> None:
    path = stored(plan, "a", finish=False)
    table = msgspec.json.decode((path / "plan.json").read_bytes())
    table |= {member: {}, "calls": {"heavy": {"name": "heavy", "params": {}}}}
    (path / "plan.json").write_bytes(msgspec.json.encode(table))
    done = cli("show", str(path))
    assert (done.status, "not a readable plan.json" in done.says) == (2, True)
    assert cli("run", "--resume", str(path)).status == 2
