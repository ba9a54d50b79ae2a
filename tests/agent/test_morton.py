"""The loads after Morton: a disk's settings, closing a block device, virtual consoles."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.processes import gone
from tests.agent.speak import AGENT, QUICK, pick, talk
from tests.agent.test_loads import LoadAgent
from tests.waiting import soon

pytestmark = pytest.mark.machine

LOOP_CTL_GET_FREE, LOOP_CONFIGURE = 0x4C82, 0x4C0A
BLKRASET, BLKRAGET = 0x1262, 0x1263
VT_GETSTATE, VT_ACTIVATE, VT_DISALLOCATE = 0x5603, 0x5606, 0x5608


# ---- block devices ---------------------------------------------------------------------------


def backing_files() -> set[str]:
    """Return the files of which there are loop devices."""
    files = set()
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            files.add(path.read_text())
    return files


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Path]:
    """Yield a loop device of a file of 1 MiB; skip where none can be made."""
    auto_clear = 4
    try:
        control = os.open("/dev/loop-control", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"needs a loop device: {error}")
    with contextlib.ExitStack() as opened:
        opened.callback(os.close, control)
        file = os.open(tmp_path / "disk", os.O_RDWR | os.O_CREAT)
        opened.callback(os.close, file)
        os.ftruncate(file, 1 << 20)
        path = Path(f"/dev/loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}")
        device = os.open(path, os.O_RDWR)
        opened.callback(os.close, device)
        config = struct.pack("IIQQQQQIIII", file, 0, 0, 0, 0, 0, 0, 0, 0, 0, auto_clear)
        try:
            fcntl.ioctl(device, LOOP_CONFIGURE, config.ljust(304, b"\0"))
        except OSError as error:
            pytest.skip(f"needs a loop device: {error}")
        yield path


def read_ahead(device: Path) -> int:
    """Return the read-ahead of a block device in sectors."""
    file = os.open(device, os.O_RDONLY)
    try:
        return int(struct.unpack("L", fcntl.ioctl(file, BLKRAGET, b"\0" * 8))[0])
    finally:
        os.close(file)


@pytest.mark.parametrize("allow", [False, True])
def test_settings_are_read_and_set_to_what_they_are(
    agent: LoadAgent, loop: Path, allow: bool
) -> None:
    odd = 72
    file = os.open(loop, os.O_RDONLY)
    fcntl.ioctl(file, BLKRASET, odd)
    os.close(file)
    records = agent.ask(f"load hdparm device={loop} allow={allow:d}", "loaded")
    assert (records[-1]["status"], records[-1]["reason"]) == ("ok", None)
    (log,) = pick(records, "log")
    assert (" reads and sets the settings of " in log["text"]) == allow
    assert ("--yes" in log["text"]) == (not allow)
    (part,) = agent.work().values()
    assert part["unit"] == "settings"
    agent.end_now()  # killed: nothing has to be restored
    assert read_ahead(loop) == odd


def test_who_may_not_set_settings_is_refused_before_the_load_starts(loop: Path) -> None:
    """A read-ahead may be set by an administrator alone, whoever may open the disk."""
    before = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    limited = LoadAgent(*before)
    refused = limited.answer(f"load hdparm device={loop} allow=1", "loaded")
    assert refused["status"] == "unsupported"
    assert refused["reason"] == f"the settings of '{loop}' cannot be set: Permission denied"
    limited.load(f"hdparm device={loop}")
    assert gone(limited.bye())


def test_what_is_no_block_device_is_not_opened(tmp_path: Path) -> None:
    """A pipe without a writer would make an opener wait, a terminal's line hang up."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    paths = [pipe, link, tmp_path, Path("/dev/tty"), tmp_path / "none"]
    records = talk([f"load hdparm device={path}" for path in paths], QUICK)
    reasons = [(r["status"], r["reason"]) for r in pick(records, "loaded")]
    assert reasons == [
        ("failed", f"parameter device: '{path}': Block device required") for path in paths[:-1]
    ] + [("failed", f"parameter device: '{paths[-1]}': No such file or directory")]


def test_without_a_disk_it_names_the_parameter(tmp_path: Path) -> None:
    """A directory in memory lies on no block device."""
    (shm,) = pick(talk(["load hdparm"], QUICK, env={**os.environ, "TMPDIR": "/dev/shm"}), "loaded")
    assert shm["status"] == "unsupported"
    assert shm["reason"] == "'/dev/shm' lies on no block device: name one with device=PATH"


@pytest.mark.parametrize("end", ["none", "killed", "worker killed"])
def test_a_device_that_is_closed_again_and_again_is_not_left(
    agent: LoadAgent, loop: Path, tmp_path: Path, end: str
) -> None:
    before = backing_files()
    agent.load(f"blkdev size=65536 ram=1 dir={tmp_path}")
    (part,) = agent.work().values()
    assert part["unit"] == "closes"
    workers = agent.workers()
    if end == "none":
        agent.load("none")
    elif end == "killed":
        agent.end_now()
    else:
        os.kill(workers[0], signal.SIGKILL)
    assert gone(workers)
    assert soon(lambda: not backing_files() - before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk"]


def test_without_loop_devices_it_is_unsupported(loop: Path) -> None:
    """Another's device, or none, is not touched."""
    with tempfile.TemporaryDirectory() as empty:
        hidden = f"mount --bind {empty} /dev && exec {AGENT} {QUICK}"
        agent = LoadAgent("unshare", "--mount", "--propagation=private", "sh", "-c", hidden)
        refused = agent.answer("load blkdev", "loaded")
        assert refused["status"] == "unsupported"
        assert refused["reason"] == (
            "no loop device can be made: /dev/loop-control: No such file or directory "
            "(modprobe loop)"
        )
        assert gone(agent.bye())


# ---- virtual consoles ------------------------------------------------------------------------


class Consoles:
    """The virtual consoles of this machine; skips where there are none of text to switch to."""

    def __init__(self) -> None:
        try:
            self.file = os.open("/dev/tty0", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            self.state()
        except OSError as error:
            pytest.skip(f"needs virtual consoles: {error}")
        if any(Path("/sys/class/graphics").glob("fb*")):
            pytest.skip("would switch this machine's screen")

    def state(self) -> tuple[int, int]:
        """Return which is visible, and a mask of those in use."""
        active, _, used = struct.unpack("HHH", fcntl.ioctl(self.file, VT_GETSTATE, b"\0" * 6))
        return active, used


@pytest.fixture
def consoles() -> Iterator[Consoles]:
    """Yield the consoles, which are afterwards as they were before."""
    machine = Consoles()
    before = machine.state()
    yield machine
    assert soon(lambda: machine.state() == before)
    os.close(machine.file)


@pytest.mark.parametrize("load", ["scroll", "console"])
def test_consoles_are_left_alone_without_permission(consoles: Consoles, load: str) -> None:
    (refused,) = pick(talk([f"load {load}"], QUICK), "loaded")
    assert refused["status"] == "unsupported"
    assert refused["reason"] == (
        "it switches what this machine's screen shows: allow it with --yes, or allow=on"
    )


def test_a_console_that_draws_nothing_does_not_scroll(consoles: Consoles) -> None:
    (refused,) = pick(talk(["load scroll allow=1"], QUICK), "loaded")
    assert refused["status"] == "unsupported"
    assert refused["reason"].startswith("this machine has no screen: ")


@pytest.mark.parametrize("end", ["none", "killed", "worker killed"])
def test_the_visible_console_is_so_again_however_it_ends(
    agent: LoadAgent, consoles: Consoles, end: str
) -> None:
    """The load ends only when that is so, unless it is killed: then its guard sees to it."""
    before = consoles.state()
    agent.load("console allow=1")
    (part,) = agent.work().values()
    assert part["unit"] == "switches"
    assert soon(lambda: consoles.state()[0] != before[0])
    assert soon(lambda: consoles.state()[0] == before[0])
    (worker,) = agent.workers()

    def away() -> bool:
        """Stop the worker, and return whether another console is visible then."""
        os.kill(worker, signal.SIGSTOP)
        time.sleep(0.01)  # a switch may be on its way
        if consoles.state()[0] != before[0]:
            return True
        os.kill(worker, signal.SIGCONT)
        return False

    if end != "none":
        assert soon(away)
    if end == "none":
        agent.load("none")
        assert consoles.state() == before
    elif end == "killed":
        agent.end_now()
    else:
        os.kill(worker, signal.SIGKILL)
    assert gone([worker])


def test_who_has_switched_to_a_third_console_stays_there(
    agent: LoadAgent, consoles: Consoles
) -> None:
    """The load ends with a reason and switches nothing back."""
    home, _ = consoles.state()
    third = 40
    agent.load("console allow=1")

    def switched() -> bool:
        """Ask again: the kernel keeps the last request alone, which may be the load's."""
        fcntl.ioctl(consoles.file, VT_ACTIVATE, third)
        return not agent.case()["console"]["alive"]

    try:
        assert soon(switched)
        assert consoles.state()[0] == third
        assert agent.case()["console"]["why"] == f"somebody has switched to console {third}"
    finally:
        fcntl.ioctl(consoles.file, VT_ACTIVATE, home)
        assert soon(lambda: consoles.state()[0] == home)
        fcntl.ioctl(consoles.file, VT_DISALLOCATE, third)


def test_a_console_of_a_program_that_draws_is_left_alone(consoles: Consoles) -> None:
    set_mode, process, auto = 0x5602, 1, 0
    home = os.open(f"/dev/tty{consoles.state()[0]}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    fcntl.ioctl(home, set_mode, struct.pack("bbhhh", process, 0, 0, 0, 0))
    try:
        (refused,) = pick(talk(["load console allow=1"], QUICK), "loaded")
    finally:
        fcntl.ioctl(home, set_mode, struct.pack("bbhhh", auto, 0, 0, 0, 0))
        os.close(home)
    assert refused["status"] == "unsupported"
    assert refused["reason"].startswith("the visible console belongs to a program that draws")
