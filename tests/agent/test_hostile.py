"""The agent against users who plant files, and in directories that are unsafe or unusable."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.processes import SHM, gone
from tests.agent.rights import as_root, nobody
from tests.agent.speak import AGENT, HASTY, QUICK, Agent, pick
from tests.agent.test_loads import LoadAgent, text
from tests.agent.test_posix import keeper_of
from tests.waiting import soon

pytestmark = pytest.mark.machine

NOBODY = 65534
NOT_RUNNING = (1 << 22) + 1  # larger than any process id


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """Return a directory that anyone may write to, like /var/tmp."""
    path = tmp_path / "public"
    path.mkdir()
    path.chmod(0o1777)
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a directory of this user with files in it."""
    path = tmp_path / "victim"
    path.mkdir(mode=0o700)
    (path / "precious").write_text("as it was")
    (path / "below").mkdir()
    (path / "below" / "precious").write_text("as it was")
    return path


def untouched(victim: Path) -> bool:
    return sorted(
        (str(p.relative_to(victim)), p.read_text() if p.is_file() else "")
        for p in victim.rglob("*")
    ) == [("below", ""), ("below/precious", "as it was"), ("precious", "as it was")]


def tree(path: Path) -> set[str]:
    return {str(p.relative_to(path)) for p in path.rglob("*")}


def start(
    load: str, directory: str | Path, case: str = "case 1 null samples=10", **options: Any
) -> Agent:
    """Start an agent with that TMPDIR, which is to run a load and a case beside it."""
    agent = Agent(HASTY, QUICK, env={**os.environ, "TMPDIR": str(directory)}, **options)
    agent.send(f"load {load}\n{case}\nbye")
    return agent


def loaded(agent: Agent) -> tuple[str, str | None]:
    """Return status and reason of its load, once it has ended."""
    (record,) = pick(agent.rest(timeout=60), "loaded")
    assert agent.returncode == 0
    return record["status"], record["reason"]


def of_length(base: Path, length: int) -> Path:
    """Return a directory below `base` whose path has that length; each parent contains a file."""
    path = base
    while (left := length - len(str(path))) > 0:
        path = path / ("d" * min(left - 1, 200 if left > 202 or left < 202 else 150))
        path.mkdir(exist_ok=True)
        if len(str(path / "precious")) < 4096:
            (path / "precious").write_text("as it was")
    assert len(str(path)) == length
    return path


@pytest.mark.parametrize(
    "lengths",
    [range(200, 234), range(234, 268), range(268, 301), [510, 511, 512, 513, 1023, 1024, 1025],
     range(4030, 4055), range(4055, 4096)],
)  # fmt: skip
def test_a_long_directory_is_used_as_it_is_or_refused(lengths: range, tmp_path: Path) -> None:
    """Only what a load has left is removed, even if a path of that length were truncated."""
    base = tmp_path / "l"
    base.mkdir()
    directories = [of_length(base, length) for length in lengths]
    before = tree(base)
    load = "command run=touch%20left;sleep%2060"
    agents = [start(load, path, case="") for path in directories]
    ends = [loaded(agent) for agent in agents]
    assert tree(base) == before
    assert [status for status, _ in ends] == ["ok"] * len(ends), ends


@pytest.mark.parametrize("length", [4096, 4097, 8192])
def test_a_name_longer_than_any_path_is_the_directory_it_names_or_refused(
    length: int, public: Path
) -> None:
    half, odd = divmod(length - len(str(public)), 2)
    (public / "precious").write_text("as it was")
    agent = start("files many=10", str(public) + "/" * odd + "/." * half)
    missing = start("files many=10", (str(public) + "/missing" * 1024)[:length])
    assert loaded(agent) == ("ok", None)
    status, reason = loaded(missing)
    assert status == "failed"
    assert reason and reason.endswith("No such file or directory; set TMPDIR to where it can")
    assert [p.name for p in public.iterdir()] == ["precious"]


def a_file(path: Path) -> None:
    path.rmdir()
    path.touch()


def foreign(path: Path) -> None:
    path.chmod(0o1777)
    os.chown(path, NOBODY, NOBODY)


UNFIT: list[tuple[str, Callable[[Path], None], str]] = [
    ("missing", lambda p: p.rmdir(), "No such file or directory"),
    ("a file", a_file, "Not a directory"),
    ("not sticky", lambda p: p.chmod(0o777), "others may exchange what lies in"),
    ("another user's", foreign, "others may exchange what lies in"),
]


@pytest.mark.parametrize(("spoil", "reason"), [u[1:] for u in UNFIT], ids=[u[0] for u in UNFIT])
@pytest.mark.parametrize("load", ["files many=10", "command run=sleep%2060"])
def test_an_unfit_directory_is_refused_in_one_line(
    load: str, spoil: Callable[[Path], None], reason: str, public: Path
) -> None:
    if spoil is foreign and os.geteuid():
        pytest.skip("needs root to give a directory away")
    spoil(public)
    status, said = loaded(start(load, public))
    assert status == "failed"
    assert said and reason in said and "set TMPDIR" in said and str(public)[:100] in said


def planted_directory(path: Path, victim: Path) -> None:
    path.mkdir()
    (path / "planted").touch()
    os.chown(path, NOBODY, NOBODY)


def planted_link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@as_root
@pytest.mark.parametrize("plant", [planted_directory, planted_link])
def test_a_planted_directory_is_not_used(
    plant: Callable[[Path, Path], None], public: Path, victim: Path, tmp_path: Path
) -> None:
    """Another user plants it under the process id of an agent that is about to start."""
    seen = tmp_path / "seen"
    agent = start(
        f"command run={text(f'ls -a >> {seen}; touch left; sleep 60')}", public,
        preexec_fn=lambda: plant(public / f"rtstone-{os.getpid()}", victim),
    )  # fmt: skip
    assert loaded(agent) == ("ok", None)
    assert soon(seen.exists)
    assert soon(lambda: set(seen.read_text().split()) == {".", ".."})
    assert untouched(victim)
    assert [p.name for p in public.iterdir()] == [f"rtstone-{agent.pid}"]


def planted_lock(path: Path, victim: Path) -> None:
    path.symlink_to(victim / "precious")
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def dangling_lock(path: Path, victim: Path) -> None:
    path.symlink_to(victim / "new")


def held_lock(path: Path, victim: Path) -> None:
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)


@as_root
@pytest.mark.parametrize(
    "plant",
    [planted_lock, dangling_lock, held_lock, lambda path, _: os.mkfifo(path),
     lambda path, _: path.mkdir()],
)  # fmt: skip
def test_a_planted_lock_file_is_not_used(
    plant: Callable[[Path, Path], None], public: Path, victim: Path
) -> None:
    def before() -> None:
        plant(SHM / f"rtstone-{os.getpid()}.lock", victim)

    agent = start("files many=10", public, preexec_fn=before)
    lock = SHM / f"rtstone-{agent.pid}.lock"
    try:
        assert loaded(agent) == ("ok", None)
        assert os.path.lexists(lock)
        assert untouched(victim)
        assert not list(public.iterdir())
    finally:
        lock.rmdir() if lock.is_dir() and not lock.is_symlink() else lock.unlink()


# ---- what is swept ---------------------------------------------------------------------------


@pytest.fixture
def lock() -> Iterator[Path]:
    """Return the lock file of an agent that has ended."""
    path = SHM / f"rtstone-{NOT_RUNNING}.lock"
    path.touch(mode=0o600)
    yield path
    path.unlink(missing_ok=True)


def note(lock: Path, directory: Path, **other: int) -> None:
    """Write into the lock file that a directory has to be removed."""
    status = directory.stat()
    identity = {"device": status.st_dev, "inode": status.st_ino, **other}
    lock.write_text(f"{identity['device']:020} {identity['inode']:020} {directory}\n")


def sweep(*before: str) -> None:
    subprocess.run([*before, AGENT, "--sweep"], check=True, timeout=20)


def test_what_an_agent_has_noted_is_swept(lock: Path, victim: Path) -> None:
    note(lock, victim)
    sweep()
    assert not lock.exists()
    assert not victim.exists()


@pytest.mark.parametrize("spoil", ["inode", "device", "unknown", "cut", "others may enter it"])
def test_only_the_very_directory_is_swept(spoil: str, lock: Path, victim: Path) -> None:
    note(lock, victim)
    if spoil == "unknown":  # killed before it had examined the directory that it had created
        note(lock, victim, device=0, inode=0)
    elif spoil == "cut":
        lock.write_text(lock.read_text()[:-2])
    elif spoil == "others may enter it":
        victim.chmod(0o755)
    else:
        note(lock, victim, **{spoil: 1})
    sweep()
    assert not lock.exists()
    assert untouched(victim)


def test_a_directory_that_was_not_yet_looked_at_goes_if_it_is_empty(
    lock: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "new"
    directory.mkdir(mode=0o700)
    note(lock, directory, device=0, inode=0)
    sweep()
    assert not directory.exists()


def test_a_link_in_the_place_of_the_directory_is_not_followed(
    lock: Path, victim: Path, tmp_path: Path
) -> None:
    note(lock, victim)
    moved = tmp_path / "moved"
    victim.rename(moved)
    victim.symlink_to(moved)
    sweep()
    assert untouched(moved)


@as_root
def test_root_does_not_believe_what_another_user_notes(lock: Path, victim: Path) -> None:
    note(lock, victim)
    os.chown(lock, NOBODY, NOBODY)
    sweep()
    assert lock.exists()
    assert untouched(victim)


@as_root
def test_a_sweep_removes_the_objects_of_its_user_only(lock: Path) -> None:
    own, other = (SHM / f"sem.rtstone-{NOT_RUNNING}.{slot}" for slot in (1, 2))
    own.touch()
    other.touch()
    os.chown(other, NOBODY, NOBODY)
    try:
        sweep()
        assert not own.exists()
        assert other.exists()
    finally:
        other.unlink()


@as_root
def test_a_users_sweep_leaves_what_is_roots(lock: Path, copy: Path) -> None:
    subprocess.run([*nobody(), copy, "--sweep"], check=True, timeout=20)
    assert lock.exists()


@pytest.mark.parametrize("kill", [False, True])
def test_what_replaces_the_directory_meanwhile_stays(
    kill: bool, public: Path, victim: Path
) -> None:
    agent = LoadAgent(env={**os.environ, "TMPDIR": str(public)})
    agent.load("command run=touch%20left;sleep%2060")
    keeper = keeper_of(agent)
    (work,) = public.iterdir()
    work.rename(public / "moved")
    victim.rename(work)
    if kill:
        agent.end_now()
    else:
        agent.bye()
    assert gone([keeper])
    assert untouched(work)


@as_root
def test_what_is_mounted_in_the_directory_stays(public: Path, victim: Path) -> None:
    """Even from the same file system, with the same device number."""
    agent = LoadAgent(
        "unshare", "--mount", "--propagation=private",
        env={**os.environ, "TMPDIR": str(public)},
    )  # fmt: skip
    agent.load("command run=mkdir%20m;sleep%2060")
    (work,) = public.iterdir()
    subprocess.run(
        ["nsenter", f"--target={agent.pid}", "--mount", "mount", "--bind", victim, work / "m"],
        check=True,
    )
    assert gone(agent.bye())
    assert untouched(victim)
