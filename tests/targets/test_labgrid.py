"""A place of labgrid: acquired, measured by its SSHDriver or console, and always released."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.measure import catalogue as listing
from rtstone.targets import find, labgrid, serial
from rtstone.targets.base import Options
from rtstone.targets.local import identity
from rtstone.wire import commands
from tests.conftest import Cli
from tests.targets import board as boards
from tests.targets import places
from tests.targets.board import Board
from tests.targets.places import Places
from tests.targets.test_ssh import LONG, RTSTONE, SECOND, once
from tests.waiting import soon

pytestmark = pytest.mark.waits

ACQUIRED, RELEASED = "place acquired by here/me", "place released"
STRATEGY = """
import attr
from labgrid import target_factory
from labgrid.strategy import Strategy

@target_factory.reg_driver
@attr.s(eq=False)
class Boots(Strategy):
    bindings = {}
    file = attr.ib(default="")

    def transition(self, state):
        {"shell": str, "slow": __import__("time").sleep}[state](100)
        with open(self.file, "a") as booted:
            print(state, file=booted)
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Board, Places]]:
    if not places.AVAILABLE:
        pytest.skip(places.LACKING)
    folder = tmp_path_factory.mktemp("labgrid")
    for name in ("board", "places"):
        (folder / name).mkdir()
    with (
        boards.board(folder / "board") as board,
        places.places(folder / "places", board) as shelf,
    ):
        yield board, shelf


@pytest.fixture
def shelf(
    running: tuple[Board, Places], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Places]:
    """Return the coordinator, and check that nothing is left on the board, here or there."""
    board_root, shelf_path = running
    board_root.reset()
    board_root.client(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in shelf_path.settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LG_ENV", raising=False)
    before = len(shelf_path.events())
    yield shelf_path
    board_root.clean()
    assert soon(lambda: held(shelf_path, before) == 0, 10)
    assert boards.programs(str(tmp_path)) == []
    assert soon(lambda: boards.programs("labgrid_place.py") == [], 10)


def held(shelf: Places, since: int = 0) -> int:
    """Return how many places are held."""
    events = shelf.events()[since:]
    return sum(1 if "acquired" in event else -1 for event in events)


def environment(tmp_path: Path, name: str = "pi4") -> Path:
    """Write an environment whose strategy writes into a file where it has been."""
    (tmp_path / "boots.py").write_text(STRATEGY)
    (tmp_path / "env.yaml").write_text(
        f"targets:\n  main:\n    resources:\n      RemotePlace:\n        name: {name}\n"
        f"    drivers:\n      SSHDriver: {{}}\n      Boots: {{file: {tmp_path}/booted}}\n"
        "imports: [boots.py]\n"
    )
    return tmp_path / "env.yaml"


# ---- a machine with an SSHDriver ------------------------------------------------------------


def test_a_place_is_measured_and_released(
    shelf: Places, running: tuple[Board, Places], cli: Cli
) -> None:
    before = len(shelf.events())
    done = cli("run", "null", "sem.post.higher", "-p", "samples=20", "--json",
               "--target", "labgrid:pi4")  # fmt: skip
    assert done.status == 0, done.err
    assert [result["status"] for result in done.document["results"]] == ["ok", "ok"]
    assert shelf.events()[before:] == [f"pi4: {ACQUIRED}", f"pi4: {RELEASED}"]
    detail = done.document["target"]["detail"]
    assert detail["machine"] == identity((running[0].folder / "machine-id").read_bytes())
    assert [detail[name] for name in ("place", "exporter", "driver")] == ["pi4", "shelf", "ssh"]


def test_a_place_is_released_if_the_host_is_killed(shelf: Places, home: Path) -> None:
    before = len(shelf.events())
    run = subprocess.Popen(
        [RTSTONE, "run", *LONG, "-p", "samples=1000000", "--target", "labgrid:pi4"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    once(home, SECOND, run.kill).join()
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    assert soon(lambda: shelf.events()[before:] == [f"pi4: {ACQUIRED}", f"pi4: {RELEASED}"], 10)


def test_no_signal_of_a_terminal_keeps_it_from_release(shelf: Places) -> None:
    target = find("labgrid:pi4")
    assert isinstance(target, labgrid._Login)
    target.check_ready()
    held_by = target._reach(lambda: False).held
    for number in (signal.SIGINT, signal.SIGHUP):
        os.killpg(held_by._process.pid, number)
    assert target.script("echo still here") == b"still here\n"
    assert held(shelf) == 1
    del target, held_by  # the fixture looks


def test_a_place_that_is_taken_away_ends_the_run(shelf: Places, cli: Cli, home: Path) -> None:
    taken = once(home, SECOND, lambda: shelf.client("-p", "pi4", "release"))
    done = cli("run", *LONG, "-p", "samples=1000000", "--target", "labgrid:pi4")
    taken.join()
    assert done.status == 4, done.err
    assert "the connection to place 'pi4' was lost: place 'pi4' was released by others" in done.says
    results = cli("show", "last", "--json").document["results"]
    assert results[0]["status"] == "ok"


def test_a_place_that_another_holds(shelf: Places, cli: Cli) -> None:
    shelf.client("-p", "pi4", "acquire", user="eve")
    try:
        before = len(shelf.events())
        done = cli("run", "null", "-p", "samples=100", "--target", "labgrid:pi4")
        assert done.status == 4
        assert done.says == (
            "rtstone: place 'pi4' is held by here/eve; wait until it is released, or ask for: "
            "labgrid-client -p pi4 allow here/me"
        )
        assert find("labgrid:pi4").other_users() == ["here/eve, who holds place 'pi4'"]
        assert len(shelf.events()) == before
    finally:
        shelf.client("-p", "pi4", "release", user="eve")


def test_a_place_that_is_held_already_is_used_as_it_is(
    shelf: Places, cli: Cli, tmp_path: Path
) -> None:
    env = environment(tmp_path)
    shelf.client("-p", "pi4", "acquire")
    try:
        before = len(shelf.events())
        done = cli("run", "null", "-p", "samples=100", "--target", f"labgrid:pi4+env={env}")
        assert done.status == 0, done.err
        assert len(shelf.events()) == before
        assert not (tmp_path / "booted").exists()
    finally:
        shelf.client("-p", "pi4", "release")


def test_a_place_that_was_held_for_us_is_kept(shelf: Places) -> None:
    """As when one run of a user ends while the next one waits for it."""
    shelf.client("-p", "pi4", "acquire")
    target = find("labgrid:pi4")
    before = len(shelf.events())
    assert target.other_users() == []
    assert target.cpus()
    shelf.client("-p", "pi4", "release")
    assert soon(lambda: shelf.events()[before:] == [f"pi4: {RELEASED}", f"pi4: {ACQUIRED}"], 10)
    del target
    assert soon(lambda: shelf.events()[before + 2 :] == [f"pi4: {RELEASED}"], 10)


def test_a_place_is_compared_with_itself(shelf: Places, cli: Cli) -> None:
    done = cli("compare", "--run", "labgrid:pi4", "labgrid:pi4", "null", "--pairs", "2",
               "-p", "samples=100")  # fmt: skip
    assert done.status in {0, 1, 3}, done.err
    assert "run 4 of 4" in done.err


def test_a_place_is_used_in_one_way_at_a_time(shelf: Places) -> None:
    system, other = find("labgrid:pi4"), find("labgrid:pi4+driver=console")
    assert system.cpus()
    with pytest.raises(UsageError, match="place 'pi4' is in use by another target of this comm"):
        other.start(Options())
    assert find("labgrid:pi4+sudo=yes").cpus() == system.cpus()


def test_its_strategy_brings_it_to_a_shell_once(
    shelf: Places, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LG_ENV", str(environment(tmp_path)))
    done = cli("run", "null", "-p", "samples=100", "--target", "labgrid:pi4")
    assert done.status == 0, done.err
    assert (tmp_path / "booted").read_text() == "shell\n"


def test_a_state_that_cannot_be_reached(shelf: Places, tmp_path: Path) -> None:
    env = environment(tmp_path)
    with pytest.raises(TargetError, match="not brought to state 'bootloader'; labgrid said: "):
        find(f"labgrid:pi4+env={env}+state=bootloader").start(Options())
    with pytest.raises(TargetError, match="place 'pi4' has no strategy that leads to state 'x'"):
        find("labgrid:pi4+state=x").start(Options())


def test_who_waits_for_a_board_to_start_can_interrupt(shelf: Places, tmp_path: Path) -> None:
    """And what labgrid is doing meanwhile does not keep the place from being released."""
    before = len(shelf.events())
    target = find(f"labgrid:pi4+env={environment(tmp_path)}+state=slow")
    with pytest.raises(Interrupted):
        target.start(Options(interrupted=lambda: held(shelf, before) == 1))
    assert held(shelf, before) == 0


def test_a_login_that_fails_is_told_by_labgrids_own_words(
    shelf: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("")  # no key
    monkeypatch.setenv("LG_SSH_CONNECT_TIMEOUT", "1")
    with pytest.raises(TargetError, match=r"no login to 127.0.0.1, port \d+; .*Permission denied"):
        find("labgrid:pi4").start(Options())


def test_a_probe_acquires_nothing(
    shelf: Places, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rtstone-targets.toml").write_text(
        '[free]\naddress = "labgrid:pi4"\n[none]\naddress = "labgrid:pi"\n'
    )
    before = len(shelf.events())
    rows = {row["name"]: row for row in cli("list", "targets", "--probe", "--json")
            .document["targets"]}  # fmt: skip
    assert (rows["free"]["answers"], rows["free"]["error"]) == (True, None)
    assert not rows["none"]["answers"]
    assert "unknown place 'pi', at the coordinator 127.0.0.1:" in rows["none"]["error"]
    assert len(shelf.events()) == before


# ---- a board at a console -------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "BYE_S", 0.3)
    monkeypatch.setattr(serial, "STOP_S", 1.0)


@pytest.mark.usefixtures("impatient")
def test_a_board_is_measured_at_its_console(shelf: Places, cli: Cli) -> None:
    before = len(shelf.events())
    done = cli("run", "null", "-p", "samples=20", "--json", "--target",
               "labgrid:mcu+driver=console")  # fmt: skip
    assert done.status == 0, done.err
    assert done.document["results"][0]["n"] == 20
    assert done.document["target"]["detail"] == {
        "place": "mcu", "exporter": "shelf", "driver": "console", "baud": 115200,
        "bytes_per_s": 11520,
    }  # fmt: skip
    assert shelf.events()[before:] == [f"mcu: {ACQUIRED}", f"mcu: {RELEASED}"]


def test_a_console_that_is_taken_away(shelf: Places) -> None:
    with find("labgrid:mcu+driver=console").start(Options()) as link:
        shelf.client("-p", "mcu", "release")
        with pytest.raises(TargetError, match="was lost: place 'mcu' was released by others"):
            while link.read(5) != b"":
                pass


def test_a_place_without_a_console(shelf: Places) -> None:
    with pytest.raises(TargetError, match="the place has no NetworkSerialPort that"):
        find("labgrid:pi4+driver=console").start(Options())


def test_a_silent_board(shelf: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "START_S", 0.5)
    monkeypatch.setattr(serial, "HELLO_S", 0.4)
    monkeypatch.setattr(commands, "framed", lambda number, text: "")
    with pytest.raises(TargetError, match="no agent answers at the console of place 'mcu'; "):
        find("labgrid:mcu+driver=console").start(Options())


def test_a_coordinator_that_is_lost(
    shelf: Places, running: tuple[Board, Places], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hears that the place is released as soon as it is back."""
    monkeypatch.setattr(labgrid, "CLOSE_S", 0.1)
    (tmp_path / "other").mkdir()
    with places.places(tmp_path / "other", running[0]) as other:
        monkeypatch.setenv("LG_COORDINATOR", other.address)
        with find("labgrid:mcu+driver=console").start(Options()) as link:
            assert isinstance(link, labgrid._Board)
            bridge = link._use.held._process
            other.stop()
            with pytest.raises(TargetError, match=f"was lost: the coordinator at {other.address}"):
                while link.read(5) != b"":
                    pass
        assert bridge.poll() is None
        other.begin()
        other.wait_for("coordinator", 'placename: "mcu"\nfromuser: "here/me"')
        bridge.wait(20)


# ---- no labgrid -----------------------------------------------------------------------------


def test_a_coordinator_that_is_not_there(shelf: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("LG_COORDINATOR", address)
    with pytest.raises(TargetError, match=f"no labgrid coordinator answers at {address}; start it"):
        find("labgrid:pi4").start(Options())


def test_a_python_without_labgrid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(labgrid.PYTHON, sys.executable)
    with pytest.raises(TargetError, match=r"has no labgrid \(No module named 'labgrid'\)"):
        find("labgrid:pi4").start(Options())


def test_no_labgrid_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.delenv(labgrid.PYTHON, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "python3").symlink_to(sys.executable)
    done = cli("run", "null", "-p", "samples=100", "--target", "labgrid:pi4")
    assert done.status == 4
    assert done.says == (
        "rtstone: labgrid is not installed; install it (pipx install labgrid), or name the Python "
        "that has it by the environment variable RTSTONE_LABGRID_PYTHON"
    )
    monkeypatch.setenv(labgrid.PYTHON, "no-such-python")
    with pytest.raises(TargetError, match="names no program, 'no-such-python'; install it"):
        find("labgrid:pi4").check_ready()


@pytest.mark.parametrize(
    "first",
    ["#!{python}\n", "#! {python} -E\n", "#!/usr/bin/env python3\n",
     "#!/usr/bin/env -S python3 -E\n",
     "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"],
)  # fmt: skip
def test_the_python_of_labgrid_client_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    folder = tmp_path / ("with a space" if "exec" in first else "bin")
    folder.mkdir()
    python = folder / "python3"
    python.symlink_to(sys.executable)
    (tmp_path / "kept").write_text(f"{first.format(python=python)}import labgrid\n")
    (tmp_path / "kept").chmod(0o755)
    (folder / "labgrid-client").symlink_to(tmp_path / "kept")
    monkeypatch.delenv(labgrid.PYTHON, raising=False)
    monkeypatch.setenv("PATH", str(folder))
    assert labgrid._python() == str(python)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("+driver=ssh", "no place is named"),
        ("pi+drver=ssh", "did you mean 'driver'"),
        ("pi+driver=serial", "driver is one of ssh, console, not 'serial'"),
        ("pi+state=", "state needs a value"),
        ("pi+driver=console+sudo=yes", "sudo is for driver ssh"),
    ],
)
def test_arguments_that_make_no_sense(argument: str, message: str) -> None:
    with pytest.raises(UsageError, match="in target 'labgrid:") as error:
        find(f"labgrid:{argument}")
    assert message in str(error.value)
