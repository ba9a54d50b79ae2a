"""Loads on this machine: what they do, where they run, how they end; nothing is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.agent.processes import children, descendants, gone, name_of, stat_of
from tests.agent.rights import as_root, copied, nobody, realtime
from tests.agent.speak import AGENT, HASTY, QUICK, STUB, Agent, Json, listed, pick, talk
from tests.waiting import soon

pytestmark = pytest.mark.machine

MEASURED = max(os.sched_getaffinity(0))
OTHERS = os.sched_getaffinity(0) - {MEASURED}
beside = pytest.mark.skipif(not OTHERS, reason="needs a CPU beside the measured one")
BY_TASKS = {"min", "rt200", "bg50"}
SENONER = {"copy", "read", "write", "proc", "x11"}
MORTON = {"hdparm", "blkdev", "scroll", "console"}  # test_morton.py
CALLS = {
    "unmap": "bytes", "exit": "processes", "proc": "files", "smaps": "readings",
    "urandom": "bytes", "fork": "processes", "truncate": "bytes", "tcp": "bytes",
    "udp": "datagrams", "files": "files",
}  # fmt: skip
HEAVY = ["cpu", "disk", "interrupt", "network", "syscall", "memory", "search"]
SHORT = "null samples=100"
LONGER = "null samples=0 time=120000000"  # longer than the window over which HASTY measures rates


def text(value: object) -> str:
    """Quote a value for a command."""
    return quote(str(value), safe="/:=-_.")


def cpus_of(pid: int) -> set[int]:
    """Return the CPUs that a process may run on."""
    return os.sched_getaffinity(pid)


def cpu_clocks(pid: int) -> int:
    """Return the CPU time that a process has used outside the kernel, in clock ticks."""
    return int(stat_of(pid)[11])


class LoadAgent(Agent):
    """An agent that runs loads; by default one with rates over a tenth of a second."""

    def __init__(self, *before: str | Path, agent: Path = HASTY, **options: Any) -> None:
        super().__init__(*before, agent, QUICK, **options)

    def answer(self, command: str, kind: str) -> Json:
        """Return the first record of that kind after a command."""
        return self.ask(command, kind)[-1]

    def load(self, command: str) -> Json:
        """Start a load, which must succeed, and return the record that says so."""
        loaded = self.answer(f"load {command}", "loaded")
        assert loaded["status"] == "ok", loaded["reason"]
        return loaded

    def case(self, command: str = SHORT) -> dict[str, Json]:
        """Run a case and return what it reports of the components of its load."""
        end = self.answer(f"case 1 {command}", "end")
        assert end["status"] == "ok", end["reason"]
        return {component["component"]: component for component in end["load"]}

    def work(self, command: str = LONGER) -> dict[str, Json]:
        """Run cases until every component has worked during one; all must stay alive.

        On a busy machine one may get neither its CPU nor its disk within the first case.
        """
        for _ in range(60):
            loads = self.case(command)
            assert all(part["alive"] for part in loads.values()), loads
            if all(part["achieved"] > 0 for part in loads.values()):
                return loads
        raise AssertionError(f"a component does nothing: {loads}")

    def workers(self) -> list[int]:
        """Return the processes that the agent has started itself."""
        return children(self.pid)

    def bye(self) -> list[int]:
        """End it and return the processes that descended from it."""
        family = descendants(self.pid)
        self.rest("bye")
        return family


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Iterator[LoadAgent]:
    """Return HASTY, or the agent that is the fixture's parameter."""
    load_agent = LoadAgent(agent=getattr(request, "param", HASTY))
    yield load_agent
    if load_agent.poll() is None:
        assert gone(load_agent.bye())


unhurried = pytest.mark.parametrize("agent", [AGENT], ids=["unhurried"], indirect=True)


@pytest.fixture(scope="module")
def catalogue() -> dict[str, Json]:
    return {load["id"]: load for load in listed("load")}


# ---- tables and commands ---------------------------------------------------------------------


def test_every_load_of_the_specification_is_listed(catalogue: dict[str, Json]) -> None:
    wanted = {"driver", "heavy", "stress-ng", "hackbench"} | SENONER | MORTON
    on_measured = BY_TASKS | SENONER | MORTON | {"actions", "driver", "provoke"}
    assert set(catalogue) == wanted | BY_TASKS | set(CALLS) | {
        "actions",
        "command",
        "provoke",
        "bandwidth",
        "cache",
        "syscalls",
        "heavy/reduced",
    }
    for name, load in catalogue.items():
        assert load["title"] and load["source"] and load["help"]
        params = {p["name"]: p for p in load["params"]}
        assert len(params) == len(load["params"])
        assert params["place"]["default"] == ("measured" if name in on_measured else "auto")
        assert params["away"]["type"] == "cpus"
        assert all(p["help"] for p in load["params"])


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("nix", "this agent has no load 'nix'"),
        ("min speed=9", "load min has no parameter 'speed'"),
        ("bg50 tasks=0", "parameter tasks: '0' is below the minimum"),
        ("bg50 place=here", "parameter place: 'here' is none of its choices"),
        ("heavy away=1-", "parameter away: '1-' is not a list of CPUs (0-2,4 or all)"),
        ("heavy disk", "'disk' is not of the form NAME=VALUE"),
        ("heavy tree=/nowhere", "parameter tree: '/nowhere' is no directory"),
        ("heavy dir=/nowhere", "parameter dir: '/nowhere': No such file or directory"),
        ("heavy irq=external", "irq=external needs the serial line: serial=PATH"),
        ("heavy net=external peer=here",
         "net=external needs who reads: peer=ADDRESS:PORT, in numbers"),
        ("heavy cpu=0 disk=0 interrupt=0 network=0 syscall=0 memory=0 search=0",
         "all its components are left out: that is load none"),
        ("driver device=/nowhere", "parameter device: '/nowhere': No such file or directory"),
        ("driver device=/etc",
         "parameter device: '/etc' is neither a block device nor a file with something in it"),
        ("command", "command needs the command line: run=TEXT"),
        ("command run=%zz", "parameter run: '%zz' is too long, or has a % that is no %XX"),
        ("stress-ng", "stress-ng needs arguments: args=TEXT"),
    ],
)  # fmt: skip
@beside
def test_what_is_wrong_is_said_in_one_line(command: str, reason: str) -> None:
    (loaded,) = pick(talk([f"load {command}"]), "loaded")
    assert (loaded["status"], loaded["reason"]) == ("failed", reason)


def test_what_cannot_be_is_unsupported_and_so_are_the_cases_under_it() -> None:
    every = ",".join(map(str, os.sched_getaffinity(0)))
    loads = ["load driver", f"load heavy place=others away={every}", "load copy dir=/dev/shm"]
    records = talk([*loads, f"case 1 {SHORT}", "load copy size=x", f"case 2 {SHORT}", "load none",
                  f"case 3 {SHORT}"])  # fmt: skip
    driver, heavy, memory, bad, none = pick(records, "loaded")
    assert (bad["status"], none["status"]) == ("failed", "ok")
    assert driver["status"] == heavy["status"] == memory["status"] == "unsupported"
    assert driver["reason"].startswith("no block device is named: name one with device=PATH, or")
    assert "place=any" in heavy["reason"]
    assert "dir=PATH" in memory["reason"]
    without, wrong, free = pick(records, "end")
    assert (without["status"], without["load"]) == ("unsupported", None)
    assert without["reason"] == f"load copy: {memory['reason']}"
    assert (wrong["status"], "parameter size: 'x'" in wrong["reason"]) == ("failed", True)
    assert (free["status"], free["load"]) == ("ok", None)


def test_a_system_of_one_task_has_no_load() -> None:
    records = talk(["load bg50", f"case 1 {SHORT}"], agent=STUB)
    assert pick(records, "loaded")[0]["status"] == "unsupported"
    assert pick(records, "end")[0]["load"] is None


def test_none_stops_the_load_that_runs(agent: LoadAgent) -> None:
    agent.load("bg50 tasks=4")
    workers = agent.workers()
    assert len(workers) == 4
    assert agent.load("none")["components"] == []
    assert gone(workers)
    assert agent.answer(f"case 1 {SHORT}", "end")["load"] is None


def test_a_new_load_takes_the_place_of_the_old_one(agent: LoadAgent) -> None:
    agent.load("bg50 tasks=4")
    first = agent.workers()
    agent.load("bg50 tasks=2")
    assert gone(first)
    assert len(agent.workers()) == 2


def test_beside_the_only_cpu_is_on_it() -> None:
    """To a process that may use only one CPU, the system has one."""
    only = {MEASURED}
    agent = LoadAgent(preexec_fn=lambda: os.sched_setaffinity(0, only))
    loaded = agent.load("syscalls size=1048576 proc=0")
    assert loaded["params"]["place"] == "measured"
    assert [cpus_of(pid) for pid in agent.workers()] == [only] * 9
    agent.work("dk.periodic period=5000000 samples=0 time=1000000000")
    wanted = agent.answer("load syscalls place=others", "loaded")
    assert wanted["status"] == "unsupported"
    assert "place=any" in wanted["reason"]
    assert gone(agent.bye())


# ---- where they run --------------------------------------------------------------------------


@beside
@pytest.mark.parametrize(
    ("command", "cpus"),
    [
        ("bg50 tasks=3", {MEASURED}),
        ("bg50 tasks=3 place=others", OTHERS),
        ("bg50 tasks=3 place=any", OTHERS | {MEASURED}),
        (f"bg50 tasks=3 away={min(OTHERS, default=0)}", {min(OTHERS, default=0)}),
        ("heavy", OTHERS),
        ("syscalls size=1048576", OTHERS),
        ("exit size=1048576 place=measured", {MEASURED}),
        (f"heavy away={min(OTHERS, default=0)}", (OTHERS | {MEASURED}) - {min(OTHERS, default=0)}),
        (f"heavy away={','.join(map(str, {*OTHERS, MEASURED}))}", OTHERS | {MEASURED}),
        ("command run=sleep%2060", OTHERS),
        ("read size=1048576", {MEASURED}),
        ("proc", {MEASURED}),
        ("proc place=others", OTHERS),
        pytest.param("min", {MEASURED}, marks=realtime),
        pytest.param("rt200 tasks=5", {MEASURED}, marks=realtime),
    ],
)
def test_every_process_is_where_it_belongs(agent: LoadAgent, command: str, cpus: set[int]) -> None:
    agent.load(command)
    family = descendants(agent.pid)
    assert len(family) >= len(agent.workers()) > 0
    places = []
    for pid in family:
        with contextlib.suppress(ProcessLookupError):  # a child that has ended by now
            places.append(cpus_of(pid))
    assert len(places) >= len(agent.workers())
    assert places == [cpus] * len(places)


@realtime
def test_priorities_are_what_the_loads_are_defined_by(agent: LoadAgent) -> None:
    def scheduling() -> list[tuple[int, int, int]]:
        return sorted(
            (os.sched_getscheduler(p), os.sched_getparam(p).sched_priority,
             os.getpriority(os.PRIO_PROCESS, p))
            for p in agent.workers()
        )  # fmt: skip

    inherited = os.getpriority(os.PRIO_PROCESS, 0)  # somebody may run the tests by nice
    agent.load("min")
    assert scheduling() == [(os.SCHED_FIFO, 1, inherited)]
    agent.load("rt200 tasks=6 prio=4 tokens=1")
    assert scheduling() == [(os.SCHED_FIFO, prio, inherited) for prio in (1, 1, 2, 2, 3, 4)]
    agent.load("bg50 tasks=2")
    assert scheduling() == [(os.SCHED_OTHER, 0, 19)] * 2
    agent.load("heavy place=any")
    assert scheduling() == [(os.SCHED_OTHER, 0, inherited)] * 7


@realtime
def test_a_real_time_load_must_lie_below_the_case(agent: LoadAgent) -> None:
    agent.load("rt200 tasks=50 prio=46")
    end = agent.answer("case 1 null samples=100 prio=56", "end")
    assert end["status"] == "unsupported"
    assert "priority 46" in end["reason"]
    end = agent.answer("case 2 null samples=100 prio=57", "end")
    assert end["status"] == "ok"


@realtime
def test_what_is_not_real_time_still_gets_the_cpu_under_min(agent: LoadAgent) -> None:
    agent.load("min")
    spinner = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    os.sched_setaffinity(spinner.pid, {MEASURED})
    before = cpu_clocks(spinner.pid)
    try:
        assert soon(lambda: agent.case(LONGER) and cpu_clocks(spinner.pid) > before)
    finally:
        spinner.kill()
        spinner.wait()


# ---- what they do ----------------------------------------------------------------------------


@beside
@unhurried
def test_heavy_has_the_components_of_the_table(agent: LoadAgent) -> None:
    loaded = agent.load("heavy")
    wanted = {c["name"]: (c["unit"], c["wanted"]) for c in loaded["components"]}
    assert list(wanted) == HEAVY
    burst = ("ms", 100)
    assert wanted == {
        "cpu": burst, "disk": burst, "interrupt": ("interrupts", 1000),
        "network": ("packets", 4000), "syscall": burst, "memory": burst, "search": ("files", None),
    }  # fmt: skip
    achieved = agent.work("null samples=0 time=1200000000")
    assert list(achieved) == HEAVY
    for name, component in achieved.items():
        assert (component["unit"], component["wanted"]) == wanted[name]
        assert component["window_s"] >= 1
        assert (component["missed"] is None) == (name == "search")


@beside
@pytest.mark.parametrize("name", HEAVY)
def test_each_component_can_be_left_out(agent: LoadAgent, name: str) -> None:
    loaded = agent.load(f"heavy {name}=0")
    left = [c for c in HEAVY if c != name]
    assert [c["name"] for c in loaded["components"]] == left
    assert list(agent.case()) == left
    assert len(agent.workers()) == 6


@beside
def test_a_stopped_worker_has_no_rate_and_a_killed_one_is_dead(agent: LoadAgent) -> None:
    agent.load("heavy disk=0 interrupt=0 network=0 search=0 memory=0")
    cpu, syscalls = agent.workers()  # in the order of their start
    os.kill(cpu, signal.SIGSTOP)
    time.sleep(0.1)  # the window must begin after the stop
    loads = agent.case(LONGER)
    assert (loads["cpu"]["achieved"], loads["cpu"]["alive"]) == (0, True)
    assert loads["syscall"]["achieved"] > 0
    os.kill(syscalls, signal.SIGKILL)
    loads = agent.case()
    assert loads["syscall"]["alive"] is False
    assert loads["syscall"]["why"] == "killed by signal 9 (Killed)"
    assert loads["cpu"]["alive"] is True


@beside
def test_packets_are_whole_messages_that_arrived(agent: LoadAgent) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    sizes: list[int] = []

    def read() -> None:
        connection, _ = server.accept()
        with connection:
            while data := connection.recv(65536):
                sizes.append(len(data))

    reader = threading.Thread(target=read)
    reader.start()
    only = " ".join(f"{name}=0" for name in HEAVY if name != "network")
    agent.load(f"heavy {only} net=external peer=127.0.0.1:{server.getsockname()[1]}")
    load = agent.work()["network"]
    counted = load["achieved"] * load["window_s"]
    agent.load("none")
    reader.join(timeout=10)
    server.close()
    assert sum(sizes) % 64 == 0
    assert 0 < counted <= sum(sizes) / 64


@beside
def test_loopback_packets_are_what_the_receiver_has_taken(agent: LoadAgent) -> None:
    """The sender continues while the receiver is stopped: nothing is counted then."""
    only = " ".join(f"{name}=0" for name in HEAVY if name != "network")
    agent.load(f"heavy {only}")
    (sender,) = agent.workers()
    (receiver,) = descendants(sender)
    assert agent.case()["network"]["achieved"] > 0
    os.kill(receiver, signal.SIGSTOP)
    time.sleep(0.1)  # the windows of cases in quicker succession begin at the same mark
    network = agent.case(LONGER)["network"]
    assert (network["achieved"], network["alive"]) == (0, True)
    os.kill(receiver, signal.SIGKILL)
    time.sleep(0.1)
    network = agent.case()["network"]
    assert network["alive"] is False
    assert "the connection has ended" in network["why"]


@beside
def test_serial_interrupts_are_the_bytes_that_come_back(agent: LoadAgent) -> None:
    """On a line that loses every other byte, half of what was sent is counted."""
    master, slave = os.openpty()
    tty.setraw(slave)
    sent, back = 0, 0

    def echo() -> None:
        nonlocal sent, back
        with contextlib.suppress(OSError):
            while data := os.read(master, 4096):
                for _ in data:
                    sent += 1
                    if sent % 2:
                        back += os.write(master, b"x")

    threading.Thread(target=echo, daemon=True).start()
    only = " ".join(f"{name}=0" for name in HEAVY if name != "interrupt")
    agent.load(f"heavy {only} irq=external serial={os.ttyname(slave)}")
    interrupts = agent.work()["interrupt"]
    counted = interrupts["achieved"] * interrupts["window_s"]
    agent.load("none")
    assert 0 < counted <= back
    assert back <= sent / 2 + 1
    os.close(slave)
    os.close(master)


@beside
@pytest.mark.parametrize(
    "command",
    ["copy size=1048576", "read size=1048576", "write size=1048576",
     "read size=1048576 cache=keep", "proc", f"driver device={AGENT}"],
)  # fmt: skip
def test_files_are_worked_on_and_none_is_left(
    agent: LoadAgent, on_disk: Path, command: str
) -> None:
    name = command.split(maxsplit=1)[0]
    where = f" dir={on_disk}" if name in {"copy", "read", "write"} else ""
    agent.load(command + where)
    (component,) = agent.work().values()
    assert component["unit"] == ("files" if name == "proc" else "bytes")
    if where:
        (worker,) = agent.workers()
        files = [str(fd.readlink()) for fd in Path(f"/proc/{worker}/fd").iterdir()]
        assert sum(f.startswith(str(on_disk)) for f in files) == (2 if name == "copy" else 1)
        assert list(on_disk.iterdir()) == []  # they are unnamed


# ---- a removable or slow block device ------------------------------------------------------------

NO_DEVICE = (
    "this system has no removable or slow block device with something in it (USB, SD card, floppy "
    "disk)"
)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[Path, bytes]]:
    """Make a loop device, which cannot be written, and return it with what it holds."""
    file, content = tmp_path / "content", os.urandom(1 << 20)
    file.write_bytes(content)
    attached = subprocess.run(
        ["losetup", "--find", "--show", "--read-only", file], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if attached.returncode:
        pytest.skip(f"no loop device can be made: {attached.stderr.strip()}")
    device = Path(attached.stdout.strip())
    yield device, content
    assert file.read_bytes() == content
    subprocess.run(["losetup", "--detach", device], check=True)


def block_devices(directory: Path, **devices: dict[str, str]) -> LoadAgent:
    """Start an agent in a system with these block devices, by the files of each in sysfs."""
    root = directory / "block"
    for name, attributes in devices.items():
        (root / name).mkdir(parents=True)
        for attribute, value in attributes.items():
            (root / name / attribute).write_text(f"{value}\n")
    mount = f"mount --bind {root} /sys/block && exec {HASTY} {QUICK}"
    return LoadAgent("unshare", "--mount", "--propagation=private", "sh", "-c", mount)


def number(device: Path) -> str:
    rdev = device.stat().st_rdev
    return f"{os.major(rdev)}:{os.minor(rdev)}"


@as_root
@beside
def test_a_removable_device_is_found_only_if_that_is_allowed_and_only_read(
    tmp_path: Path, loop: tuple[Path, bytes]
) -> None:
    device, _ = loop
    whole = {"removable": "1", "size": "2048", "dev": number(device)}
    agent = block_devices(
        tmp_path,
        **{
            device.name: whole,
            "aaa": whole,  # it has no node in /dev
        },
    )
    refused = agent.answer("load driver", "loaded")
    assert refused["status"] == "unsupported"
    assert "allow=on (rtstone run --yes)" in refused["reason"]
    loaded = agent.load("driver allow=1")
    assert loaded["params"]["device"] == str(device)
    assert agent.work()["scan"]["unit"] == "bytes"
    (worker,) = agent.workers()
    (opened,) = [
        fd for fd in Path(f"/proc/{worker}/fd").iterdir() if str(fd.readlink()) == str(device)
    ]
    info = (opened.parents[1] / "fdinfo" / opened.name).read_text()
    flags = int(re.findall(r"flags:\s+(\d+)", info)[0], 8)
    assert flags & os.O_ACCMODE == os.O_RDONLY
    assert flags & os.O_NONBLOCK and flags & os.O_CLOEXEC
    assert gone(agent.bye())


@as_root
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("", {"removable": "0"}),
        ("", {"size": "0"}),  # a reader without a card
        ("", {"dev": "7:4095"}),  # the node is another device's
        ("loop-control", {}),  # the node is no block device's
        ("none", {}),  # without a node
    ],
)
def test_where_no_device_is_removable_or_slow_that_is_the_reason(
    tmp_path: Path, loop: tuple[Path, bytes], name: str, changed: dict[str, str]
) -> None:
    device, _ = loop
    attributes = {"removable": "1", "size": "2048", "dev": number(device)} | changed
    agent = block_devices(tmp_path, **{name or device.name: attributes})
    loaded = agent.answer("load driver allow=1", "loaded")
    assert (loaded["status"], loaded["reason"]) == ("unsupported", NO_DEVICE)
    agent.bye()


@as_root
def test_a_device_behind_usb_is_slow_though_it_stays(
    tmp_path: Path, loop: tuple[Path, bytes]
) -> None:
    device, _ = loop
    root = tmp_path / "block"
    place = tmp_path / "devices" / "usb1" / device.name
    for directory in (root, place):
        directory.mkdir(parents=True)
    for name, value in (("removable", "0"), ("size", "2048"), ("dev", number(device))):
        (place / name).write_text(f"{value}\n")
    (root / device.name).symlink_to(f"{tmp_path}/devices/usb1/{device.name}")
    agent = block_devices(tmp_path)
    assert agent.load("driver allow=1")["params"]["device"] == str(device)
    agent.bye()


def test_what_is_no_device_and_no_file_is_not_opened(tmp_path: Path) -> None:
    """Nobody writes to this FIFO: to open it would wait."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    loads = [f"load driver device={path}" for path in (fifo, "/dev/null")]
    for loaded, path in zip(pick(talk(loads), "loaded"), (fifo, "/dev/null"), strict=True):
        assert loaded["status"] == "failed"
        assert loaded["reason"] == (
            f"parameter device: '{path}' is neither a block device nor a file with something in it"
        )


@beside
def test_a_file_may_lie_in_memory_if_it_is_wanted(agent: LoadAgent) -> None:
    loaded = agent.load("copy size=1048576 dir=/dev/shm ram=1")
    assert loaded["params"]["ram"] is True
    assert list(agent.work()) == ["copy"]


def small_disk(directory: Path, size: str) -> LoadAgent:
    """Start an agent whose temporary directory is a file system of that size."""
    mount = f"mount -t tmpfs -o size={size} none {directory} && exec {HASTY} {QUICK}"
    return LoadAgent(
        "unshare", "--mount", "--propagation=private", "sh", "-c", mount,
        env={**os.environ, "TMPDIR": str(directory)},
    )  # fmt: skip


@as_root
@beside
@pytest.mark.parametrize(
    ("load", "size"),
    [("copy", 2 << 20), ("read", 4 << 20), ("write", 4 << 20), ("read size=1048576", 1 << 20)],
)
def test_a_file_is_no_larger_than_there_is_room_for(tmp_path: Path, load: str, size: int) -> None:
    agent = small_disk(tmp_path, "8m")
    loaded = agent.load(f"{load} ram=1")
    assert loaded["params"]["size"] == size
    agent.work()
    assert gone(agent.bye())


@as_root
@beside
@pytest.mark.parametrize(
    ("load", "room", "least", "message"),
    [
        ("truncate", "8m", "", "load truncate: files of 4194304 bytes instead of 16777216"),
        ("heavy ram=1", "8m", "", "load heavy: files of 4194304 bytes instead of 67108864"),
        ("copy ram=1", "128k", "is full: 131072 bytes are free", ""),
    ],
)  # fmt: skip
def test_a_size_that_is_not_as_wanted_is_told(
    tmp_path: Path, load: str, room: str, least: str, message: str
) -> None:
    agent = small_disk(tmp_path, room)
    records = agent.rest(f"load {load}", timeout=60)
    (loaded,) = pick(records, "loaded")
    assert (loaded["status"], least in (loaded["reason"] or "")) == (
        "unsupported" if least else "ok", True,
    ), loaded  # fmt: skip
    assert [r["text"].startswith(message) for r in pick(records, "log")] == [True] * bool(message)


@beside
def test_a_search_of_nothing_is_no_search(agent: LoadAgent, tmp_path: Path) -> None:
    loaded = agent.answer(f"load heavy tree={tmp_path}", "loaded")
    assert loaded["status"] == "failed"
    assert loaded["reason"] == (
        f"component search ended: there is no readable file in or below '{tmp_path}'"
    )


@beside
def test_the_long_calls_are_loads_and_components_of_one(agent: LoadAgent) -> None:
    loaded = agent.load("syscalls size=1048576")
    wanted = {c["name"]: (c["unit"], c["wanted"]) for c in loaded["components"]}
    assert wanted == {name: (unit, None) for name, unit in CALLS.items()}
    assert list(agent.work()) == list(CALLS)


@beside
@pytest.mark.parametrize("name", CALLS)
def test_each_long_call_is_a_load_and_can_be_left_out(agent: LoadAgent, name: str) -> None:
    (part,) = agent.load(name)["components"]
    assert (part["name"], part["unit"]) == (name, CALLS[name])
    assert list(agent.work(SHORT)) == [name]
    loaded = agent.load(f"syscalls size=1048576 {name}=0")
    assert [c["name"] for c in loaded["components"]] == [c for c in CALLS if c != name]


@beside
@unhurried
def test_the_reduced_heavy_load_keeps_its_rates(agent: LoadAgent) -> None:
    loaded = agent.load("heavy/reduced")
    wanted = {c["name"]: (c["unit"], c["wanted"]) for c in loaded["components"]}
    burst = ("ms", 100)
    assert wanted == {
        "cpu": burst, "interrupt": ("interrupts", 1000), "syscall": burst, "memory": burst,
    }  # fmt: skip
    assert list(agent.work("null samples=0 time=1200000000")) == list(wanted)
    agent.load("heavy/reduced cpu=0 memory=0")
    assert list(agent.case()) == ["interrupt", "syscall"]


@beside
def test_files_are_there_and_go(agent: LoadAgent) -> None:
    agent.load("files many=5")
    (directory,) = work_dirs(agent.pid)
    seen: set[str] = set()
    end = time.monotonic() + 20
    while len(seen) < 5 and time.monotonic() < end:
        seen |= {file.name for file in directory.iterdir()}
    assert seen == {f"file{i}" for i in range(5)}


@beside
def test_a_process_of_the_load_that_dies_is_noticed(agent: LoadAgent) -> None:
    size = 32 << 20  # so large that the child lives for a while
    agent.load(f"syscalls size={size} fork=0 proc=0 smaps=0 truncate=0 tcp=0 udp=0 files=0")
    unmap, end, random = agent.workers()
    os.kill(unmap, signal.SIGKILL)
    for _ in range(5000):  # the child that is filling its memory or ending
        for child in descendants(end):
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        if end not in agent.workers():
            break
    loads = agent.case()
    assert loads["unmap"]["why"] == "killed by signal 9 (Killed)"
    assert loads["exit"]["why"] == f"a process of {size} bytes: Cannot allocate memory"
    assert (loads["urandom"]["alive"], random in agent.workers()) == (True, True)


# ---- programs --------------------------------------------------------------------------------


@beside
def test_a_command_is_repeated_and_counted(agent: LoadAgent, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    log.touch()
    log.chmod(0o666)
    agent.load(f"command run={text(f'echo run >>{log}; sleep 0.05')}")
    before = log.read_text().count("run")
    loads = agent.case("null samples=0 time=400000000")["command"]
    assert loads["alive"]
    assert 0 < loads["runs"] <= log.read_text().count("run")
    assert before < log.read_text().count("run")


@beside
def test_the_time_of_all_its_processes_is_counted(agent: LoadAgent) -> None:
    """A program that only waits uses next to none; that of grandchildren is counted as well."""
    agent.load(f"command run={text('sleep 60')}")
    idle = agent.case("null samples=0 time=400000000")["command"]
    agent.load(f"command run={text('(while :; do :; done) & wait')}")
    busy = agent.case("null samples=0 time=400000000")["command"]
    assert idle["achieved"] == idle["cpu_ms"]
    assert busy["achieved"] > 5 * idle["achieved"]
    assert busy["unit"] == "CPU ms"


@beside
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("exit 3", "its program ended with status 3"),
        ("echo first; echo bad luck >&2; exit 4", "its program ended with status 4: bad luck"),
        ("kill -SEGV $$", "its program was killed by signal 11 (Segmentation fault)"),
    ],
)
def test_a_command_that_fails_is_dead(
    agent: LoadAgent, line: str, why: str, tmp_path: Path
) -> None:
    loaded = agent.answer(f"load command run={text(line)}", "loaded")
    assert loaded["status"] == "failed"
    assert loaded["reason"] == f"component command ended: {why}"
    go = tmp_path / "go"
    agent.load(f"command run={text(f'until [ -e {go} ]; do sleep 0.05; done; {line}')}")
    assert agent.case()["command"]["alive"]
    go.touch()
    assert soon(lambda: not agent.case()["command"]["alive"])
    assert agent.case()["command"]["why"] == why


def test_a_program_that_is_not_there_is_named() -> None:
    environment = {**os.environ, "PATH": "/nowhere"}
    records = talk(["load hackbench", "load stress-ng args=-h", "load x11"], env=environment)
    reasons = [r["reason"] for r in pick(records, "loaded")]
    assert [r["status"] for r in pick(records, "loaded")] == ["unsupported"] * 3
    for reason, package in zip(reasons, ["rt-tests", "stress-ng", "x11-apps"], strict=True):
        assert reason.endswith(f"is not installed (Debian: apt-get install {package})")


@beside
@pytest.mark.parametrize(
    ("command", "program", "process"),
    [
        ("hackbench args=-g%201%20-l%2010000", "hackbench", "hackbench"),
        ("stress-ng args=--cpu%201%20--hdd%201%20--hdd-bytes%201M", "stress-ng", "stress-ng"),
        ("x11", "x11perf", "x11perf"),
    ],
)
def test_generators_work_and_leave_nothing(
    agent: LoadAgent, command: str, program: str, process: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(program) or (program == "x11perf" and not shutil.which("Xvfb")):
        pytest.skip(f"needs {program}")
    monkeypatch.delenv("DISPLAY", raising=False)
    displays = sorted(Path("/tmp").glob(".X*-lock"))
    agent.load(command)
    agent.work()
    assert soon(lambda: any(name_of(p).startswith(process) for p in descendants(agent.pid)))
    family = descendants(agent.pid)
    for pid in family:
        with contextlib.suppress(ProcessLookupError):  # one that has ended by now
            assert (MEASURED in cpus_of(pid)) == (command == "x11")
    agent.load("none")
    assert gone(family)
    assert sorted(Path("/tmp").glob(".X*-lock")) == displays
    assert not work_dirs(agent.pid)


# ---- ends ------------------------------------------------------------------------------------


def work_dirs(pid: int) -> list[Path]:
    base = Path(os.environ.get("TMPDIR") or "/var/tmp")
    return [path for path in base.glob("rtstone-*") if re.match(rf"rtstone-{pid}\b", path.name)]


# ignores SIGTERM, has a session of its own, and leaves a file
TENACIOUS = (
    "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 61 & sleep 62' & "
    "mkdir -p left/behind; touch left/behind/file; wait"
)

EVERY_KIND = [
    pytest.param("heavy", marks=beside),
    "bg50 tasks=8",
    "syscalls",
    "heavy/reduced",
    pytest.param("rt200 tasks=20", marks=realtime),
    pytest.param("min", marks=realtime),
    pytest.param("copy size=1048576", marks=beside),
]


@pytest.mark.parametrize("command", EVERY_KIND)
@pytest.mark.parametrize("end", ["eof", "none", signal.SIGTERM])
def test_however_it_ends_nothing_is_left(
    agent: LoadAgent, command: str, end: str | signal.Signals
) -> None:
    agent.load(command)
    family = descendants(agent.pid)
    assert family
    if end == "none":
        agent.load("none")
    else:
        if isinstance(end, signal.Signals):
            agent.send_signal(end)
        agent.communicate(timeout=30)
    assert gone(family)
    assert not work_dirs(agent.pid)


@beside
def test_what_will_not_end_is_ended_as_well() -> None:
    """A program has 3 s to clean up, so the agents end in parallel."""
    agents = {end: LoadAgent() for end in ("SIGTERM", "none", "eof")}
    for agent in agents.values():
        agent.load(f"command run={text(TENACIOUS)}")
    families = {end: descendants(agent.pid) for end, agent in agents.items()}
    assert all(len(family) >= 4 for family in families.values())
    assert all(work_dirs(agent.pid) for agent in agents.values())
    agents["none"].send("load none")
    agents["SIGTERM"].terminate()
    agents["eof"].communicate(timeout=30)
    agents["SIGTERM"].communicate(timeout=30)
    agents["none"].until("loaded")
    for end, agent in agents.items():
        assert gone(families[end])
        assert not work_dirs(agent.pid)
    agents["none"].bye()


@pytest.mark.parametrize(
    "command",
    [*EVERY_KIND, pytest.param(f"command run={text(TENACIOUS)}", marks=beside, id="tenacious")],
)
def test_killed_it_leaves_nothing(agent: LoadAgent, command: str) -> None:
    agent.load(command)
    family = descendants(agent.pid)
    assert family
    agent.end_now()
    assert gone(family)
    assert soon(lambda: not work_dirs(agent.pid))


def test_told_to_stop_in_the_lead_it_ends() -> None:
    agent = LoadAgent()
    agent.send(f"load driver device={AGENT}")
    agent.until("hello")
    agent.echo()  # a child before that is no worker, but one that finds something out
    for _ in range(500):
        if family := descendants(agent.pid):
            break
        time.sleep(0.01)
    agent.terminate()
    records = agent.rest()
    assert [r["reason"] for r in pick(records, "loaded")] == ["stopped"]
    assert records[-1]["t"] == "bye"
    assert gone(family)


@pytest.fixture
def copy(reachable: Path) -> Path:
    """Return a copy of HASTY that any user may run."""
    return copied(HASTY, reachable)


@as_root
@beside
def test_without_rights_programs_are_looked_after_as_well(copy: Path) -> None:
    killed, second = (LoadAgent(*nobody(), agent=copy) for _ in range(2))
    for agent in (killed, second):
        loaded = agent.answer("load min", "loaded")
        assert loaded["status"] == "unsupported"
        assert "CAP_SYS_NICE" in loaded["reason"]
        agent.load(f"command run={text(TENACIOUS)}")
    family = descendants(killed.pid)
    assert len(family) >= 4
    killed.end_now()
    assert gone(second.bye())  # the program has 3 s to clean up
    assert soon(lambda: gone(family))
    assert soon(lambda: not work_dirs(killed.pid) + work_dirs(second.pid))


# a program whose name in /proc/PID/stat has two lines
TWO_LINES = (
    r"""name=$(printf 'two\nlines'); cp $(which sleep) "$name"; setsid "./$name" 61 & """
    "wait; sleep 62"
)


@as_root
@beside
def test_a_program_with_an_odd_name_is_ended_as_well(copy: Path) -> None:
    agent = LoadAgent(*nobody(), agent=copy)
    agent.load(f"command run={text(TWO_LINES)}")
    family = descendants(agent.pid)
    names = [Path(f"/proc/{pid}/comm").read_text() for pid in family]
    assert "two\nlines\n" in names
    agent.bye()
    assert gone(family)


# ---- what it must not touch ------------------------------------------------------------------

IN_OPEN = 0x20
# A /proc with few processes: on a whole machine, to read it takes tens of seconds.
OWN_PROC = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


@as_root
@beside
@pytest.mark.parametrize(
    "load",
    ["proc", "heavy tree=/proc " + " ".join(f"{c}=0" for c in HEAVY if c != "search")],
    ids=["proc", "search"],
)
def test_the_log_of_the_kernel_is_not_read(load: str) -> None:
    """Reading /proc/kmsg takes its lines away from the system's log daemon."""
    agent = LoadAgent(*OWN_PROC)
    agent.echo()
    (first,) = agent.workers()  # what unshare has started
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    names = {}
    devices = (str(path) for path in Path("/proc/bus/pci").glob("*"))
    for path in ("/proc/version", "/proc/kmsg", "/proc/kcore", *devices):
        seen = f"/proc/{first}/root{path}"
        names[libc.inotify_add_watch(watch, seen.encode(), IN_OPEN)] = path  # -1: not there
    assert {"/proc/version", "/proc/kmsg"} <= set(names.values())
    agent.load(load)
    opened: list[str] = []
    for _ in range(400):  # between two readings of one file, all of /proc is read
        agent.case(LONGER)
        with contextlib.suppress(BlockingIOError):
            events = struct.iter_unpack("iIII", os.read(watch, 1 << 16))
            opened += {names[event[0]] for event in events}
        if opened.count("/proc/version") > 1:
            break
    os.close(watch)
    assert opened.count("/proc/version") > 1
    assert set(opened) == {"/proc/version"}
    assert gone(agent.bye())
