"""One measurement at a time, and a lock that no other user can plant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from rtstone.errors import Interrupted, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import exclusive
from rtstone.measure.exclusive import alone, beside
from rtstone.measure.listener import Listener
from rtstone.store.index import entries
from rtstone.system import agents as agents_of
from tests.conftest import Cli, Fake

NAME = "rtstone-measuring.lock"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the user's own directory, as on a machine without runtime directories."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"rtstone-{os.getuid()}"


def held(place: Path) -> bool:
    """Return whether another process would have to wait."""
    script = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", script, str(place / NAME)]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_the_lock_is_held_and_let_go(place: Path) -> None:
    with alone(Interrupt()):
        assert held(place)
    assert not held(place)
    assert place.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ZeroDivisionError), alone(Interrupt()):
        _ = 1 // 0
    assert not held(place)


def test_another_one_waits(place: Path) -> None:
    order: list[int] = []
    begun = threading.Event()

    def second() -> None:
        begun.set()
        with alone(Interrupt()):
            order.append(2)

    with alone(Interrupt()):
        thread = threading.Thread(target=second)
        thread.start()
        begun.wait()
        thread.join(0.2)
        order.append(1)
    thread.join()
    assert order == [1, 2]


def test_who_waits_can_be_interrupted(place: Path) -> None:
    interrupt = Interrupt()
    interrupt.requested = True
    with alone(Interrupt()), pytest.raises(Interrupted), alone(interrupt):
        pass


def test_what_measures_no_time_shares_the_lock_and_lets_others_pass(place: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def measure() -> None:
        with alone(Interrupt(), lambda _: waits.set()):
            order.append("alone")

    def emulate() -> None:
        with beside(Interrupt()):
            order.append("beside")

    with beside(Interrupt()):
        emulate()  # at once
        first = threading.Thread(target=measure)
        first.start()
        assert waits.wait(10)
        second = threading.Thread(target=emulate)
        second.start()
        second.join(0.3)
        assert order == ["beside"]  # it does not pass who waits for all of them to end
    first.join()
    second.join()
    assert order == ["beside", "alone", "beside"]
    assert not held(place)


def test_the_directory_of_the_session_is_used_if_it_is_the_users(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with alone(Interrupt()):
        assert held(runtime)
    runtime.chmod(0o777)
    with alone(Interrupt()):
        assert held(place)


def test_nothing_planted_is_followed_or_believed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="set XDG_RUNTIME_DIR"), alone(Interrupt()):
        pass
    place.unlink()
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(UsageError, match="not private to this user"), alone(Interrupt()):
        pass
    place.chmod(0o700)
    (place / NAME).symlink_to(tmp_path / "made")
    with pytest.raises(UsageError, match="cannot open the lock"), alone(Interrupt()):
        pass
    assert not (tmp_path / "made").exists()
    (place / NAME).unlink()
    os.mkfifo(place / NAME)  # opening one must not wait for a writer
    with alone(Interrupt()):
        pass


# ---- run --wait ---------------------------------------------------------------------------------


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /dev/shm of the test's own."""
    path = tmp_path / "shm"
    path.mkdir()
    monkeypatch.setattr(agents_of, "SHM", path)
    return path


def test_an_agent_is_seen_while_its_process_lives(shm: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        lock = shm / f"rtstone-{process.pid}.lock"
        lock.touch()
        other = shm / f"rtstone-{process.pid + (1 << 22)}.lock"
        other.touch()
        assert [agent.pid for agent in agents_of.agents()] == [process.pid] * 2
        other.unlink()
        assert str(agents_of.agents()[0]).endswith(f"(process {process.pid})")
        process.kill()
        process.wait()
    assert agents_of.agents() == []


def test_a_file_that_anybody_can_make_is_no_agent(shm: Path) -> None:
    (shm / "rtstone-1.lock").symlink_to(shm)
    (shm / "rtstone-999999999999.lock").touch()
    (shm / "rtstone-x.lock").touch()
    (shm / f"rtstone-{os.getpid()}.lock").mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        lock = shm / f"rtstone-{process.pid}.lock"
        lock.touch()
        if os.geteuid() == 0:
            os.chown(lock, 12345, 12345)  # the process is not that user's
            assert agents_of.agents() == []
        process.kill()


def test_who_waits_says_for_whom(
    place: Path, fake: Fake, cli: Cli, shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        (shm / f"rtstone-{process.pid}.lock").touch()

        def end(_seconds: float) -> None:  # once it waits
            process.kill()
            process.wait()

        monkeypatch.setattr(exclusive, "time", SimpleNamespace(sleep=end))
        done = cli("run", "null", "--wait")
    assert done.status == 0
    assert f"(process {process.pid})" in done.err.splitlines()[1]
    assert done.err.splitlines()[1].startswith("waiting for the agent of ")


def test_who_waits_for_the_users_own_says_so(place: Path, fake: Fake, cli: Cli, shm: Path) -> None:
    with alone(Interrupt()):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        done = cli("run", "null", "--wait")
    assert done.status == 130
    assert "waiting for another measurement of this user" in done.err
    assert "interrupted before the run began" in done.says
    assert not entries()


def test_the_lock_is_held_while_it_measures(
    place: Path, fake: Fake, cli: Cli, shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(Listener, "case_started", lambda *_: seen.append(held(place)))
    assert cli("run", "null", "--wait", "--json").status == 0
    assert cli("run", "null", "--json").status == 0
    assert cli("run", "null", "--wait", "--json", "--target", "sim").status == 0
    assert seen == [True, False, False]  # a simulated system is disturbed by nobody
    assert not held(place)
