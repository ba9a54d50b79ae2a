"""Traced cases on this machine, where it has tracefs: what is kept, and that nothing remains.

The kernel has one tracefs, but it is mounted only in a namespace that the test has made.
"""

from __future__ import annotations

import base64
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from rtstone.explain.functions import Functions
from rtstone.explain.live import MARKER
from rtstone.explain.ring import Event, Formats
from rtstone.explain.timeline import Interrupted, Names, Part, Sampled, interrupted, parts, tasks
from tests.agent.processes import SHM, stat_of
from tests.agent.rights import as_root, nobody, realtime
from tests.agent.speak import AGENT, QUICK, Agent, Json, command_lines, pick, records
from tests.agent.test_posix import keeper_of
from tests.waiting import soon

pytestmark = [pytest.mark.machine, as_root]

MOUNT = "mount -t tracefs tracefs /sys/kernel/tracing && echo mounted && exec sleep infinity"
MOMENTS = int(os.environ.get("RTSTONE_MOMENTS", "10"))


class Place(NamedTuple):
    """A mount namespace with tracefs."""

    process: int

    @property
    def instances(self) -> Path:
        return Path(f"/proc/{self.process}/root/sys/kernel/tracing/instances")

    def own_instances(self) -> set[str]:
        """Return the instances of agents that share this /dev/shm: the kernel has one tracefs."""
        own = re.compile(rf"rtstone-\d+-{SHM.stat().st_dev:x}\.")
        return {path.name for path in self.instances.iterdir() if own.match(path.name)}

    def command(self, *command: str | Path) -> list[str]:
        """Return the command line of a program that runs there."""
        return ["nsenter", f"--target={self.process}", "--mount", *map(str, command)]

    def agent(self) -> Agent:
        return Agent(*self.command(AGENT, QUICK))

    def tracing(self) -> Agent:
        """Return an agent in the midst of a traced case."""
        agent = self.agent()
        agent.send("trace 0 4\ncase 1 dk.periodic samples=100000 period=100000")
        assert soon(self.own_instances)
        return agent

    def talk(self, *commands: str) -> list[Json]:
        done = subprocess.run(
            self.command(AGENT, QUICK), input=command_lines(*commands, "bye"),
            stdout=subprocess.PIPE, check=True, timeout=60,
        )  # fmt: skip
        return records(done.stdout)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Yield a namespace in which tracefs is mounted; skip without one."""
    if "\ttracefs\n" not in Path("/proc/filesystems").read_text():
        pytest.skip("the kernel has no tracefs")
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", MOUNT], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        mounted = holder.stdout.readline()
        if not mounted:
            pytest.skip("tracefs cannot be mounted")
        holder_place = Place(holder.pid)
        yield holder_place
        left = holder_place.own_instances()
        holder.kill()
    assert not left


@contextmanager
def planted(program: str) -> Iterator[None]:
    """Run a program of Python on the last CPU, from when it has said that it is ready."""
    pinned = f"import os\nos.sched_setaffinity(0, {{{max(os.sched_getaffinity(0))}}})\n{program}"
    with subprocess.Popen([sys.executable, "-c", pinned], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield
        process.kill()


@pytest.fixture
def hog() -> Iterator[None]:
    """Start a task that takes the last CPU for 3 ms, again and again, and is more urgent."""
    program = (
        "import ctypes, time\n"
        "ctypes.CDLL(None).prctl(15, b'planted-hog')\n"
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))\n"
        "print(flush=True)\n"
        "while True:\n"
        "    end = time.monotonic() + 0.003\n"
        "    while time.monotonic() < end: pass\n"
        "    time.sleep(0.02)\n"
    )
    with planted(program):
        yield


def snapshots(records: list[Json], case: int = 1) -> dict[int, tuple[Json, bytes]]:
    """Return the first part and the pages of each snapshot of a case, by index of its sample."""
    heads: dict[int, Json] = {}
    data: dict[int, bytes] = defaultdict(bytes)
    for part in (snapshot for snapshot in pick(records, "snapshot") if snapshot["id"] == case):
        heads.setdefault(part["index"], part)
        assert part["at"] == len(data[part["index"]])
        data[part["index"]] += base64.b64decode(part["data"])
    assert all(len(data[index]) == head["bytes"] for index, head in heads.items())
    return {index: (heads[index], data[index]) for index in heads}


def measured(head: Json, events: Sequence[Event]) -> int:
    """Return the task that took a sample: it has written the marker."""
    (task,) = (e.pid for e in events if (m := MARKER.search(e.text("buf")))
               and int(m[1]) == head["index"] and int(m[3]) == head["stamp"])  # fmt: skip
    return task


def explained(records: list[Json]) -> Iterator[tuple[Json, list[Part], Interrupted | None]]:
    """Yield each snapshot's first part, the parts of its time, what its interrupt came into."""
    starts = sorted(
        (int(symbol["address"], 16), symbol["name"]) for symbol in pick(records, "symbol")
    )
    ends = [*(start for start, _ in starts[1:]), 1 << 64]
    functions = Functions([start for start, _ in starts], ends, [name for _, name in starts])
    formats = Formats((e["name"], e["format"]) for e in pick(records, "event"))
    for head, pages in snapshots(records).values():
        events = formats.read(pages, head["page"]).events
        sample = Sampled(head["due"], head["stamp"], measured(head, events))
        names = Names(tasks(events), {}, functions)
        way = parts(events, sample, names, preemptible=False)
        yield head, way, interrupted(events, sample, names)


@realtime
def test_the_largest_samples_are_kept_and_nothing_remains(place: Place) -> None:
    records = place.talk("trace 0 2", "case 1 dk.periodic samples=100", "case 2 null samples=100")
    result, _ = pick(records, "result")
    end, other = pick(records, "end")
    largest = snapshots(records)
    assert 1 <= len(largest) <= 2 == end["evidence"]["snapshots"]
    worst = {index: value for value, index, _ in result["worst"]}
    assert all(worst[index] == head["value"] for index, (head, _) in largest.items())
    assert all(head["stamp"] - head["due"] == head["value"] for head, _ in largest.values())
    positive = {name for name, value, _ in result["figures"] if value >= 0}
    assert {f"{name} {how} tracing"
            for name in ("median", "null") for how in ("with", "without")} <= positive  # fmt: skip
    assert other["evidence"]["snapshots"] >= 1  # `null` is traced, too
    assert place.own_instances() == set()


@realtime
def test_a_case_that_is_not_traced_knows_nothing_of_it(place: Place) -> None:
    records = place.talk("case 1 dk.periodic samples=20")
    assert {"snapshot", "event"}.isdisjoint(record["t"] for record in records)
    assert "snapshots" not in pick(records, "end")[0]["evidence"]


@realtime
@pytest.mark.usefixtures("hog")
def test_who_had_the_cpu_is_named_and_the_parts_are_the_sample(place: Place) -> None:
    cpu = max(os.sched_getaffinity(0))
    records = place.talk("trace 500000 3", f"case 1 dk.periodic samples=300 prio=50 cpus={cpu}")
    largest = snapshots(records)
    assert largest, "the hog delays a twentieth of the samples"
    blocked = 0
    for head, way, _ in explained(records):
        assert all(state.end == other.start for state, other in itertools.pairwise(way))
        assert (way[0].start, way[-1].end) == (head["due"], head["stamp"])
        assert way[-1].kind == "return"
        by_hog = sum(
            part.end - part.start
            for part in way
            if part.kind == "blocking" and (part.by or "").startswith("planted-hog")
        )
        blocked += by_hog > 0.5 * head["value"]
    assert blocked, "of the three largest samples none was the hog's"


@pytest.fixture
def reader() -> Iterator[None]:
    """A process that is in system calls all the time, on the CPU that is measured."""
    program = (
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\n"
        "print(flush=True)\nzeros, room = open('/dev/zero', 'rb', 0), bytearray(1 << 20)\n"
        "while True: zeros.readinto(room)\n"
    )
    with planted(program):
        yield


@realtime
@pytest.mark.usefixtures("reader")
def test_the_functions_are_named_that_the_interrupt_came_into(place: Place) -> None:
    cpu = max(os.sched_getaffinity(0))
    records = place.talk("trace 0 16 stacks", f"case 1 dk.periodic samples=300 prio=98 cpus={cpu}")
    lines = Path("/proc/kallsyms").read_text().splitlines()
    symbols = {(f"{int(line.split()[0], 16):x}", line.split()[2]) for line in lines}
    named = {(symbol["address"], symbol["name"]) for symbol in pick(records, "symbol")}
    assert named and named <= symbols
    assert any(into and "vfs_read" in into.functions for _, _, into in explained(records))


@pytest.fixture
def timers() -> Iterator[None]:
    """Have a timer expire for which 900 wait, on the CPU that is measured: one long interrupt."""
    program = (
        "import ctypes, select, time\n"
        "libc = ctypes.CDLL(None)\n"
        "class Times(ctypes.Structure): _fields_ = [('_', ctypes.c_long * 4)]\n"
        "file = libc.timerfd_create(1, 0)\n"
        "waiters = [select.epoll() for _ in range(900)]\n"
        "for waiter in waiters: waiter.register(file, select.EPOLLIN)\n"
        "print(flush=True)\n"
        "while True:\n"
        "    s, ns = divmod(time.monotonic_ns() + 1_000_000, 10**9)\n"
        "    at = ctypes.byref(Times((0, 0, s, ns)))\n"
        "    libc.timerfd_settime(file, 1, at, None)\n"
        "    time.sleep(0.0013)\n"
    )
    with planted(program):
        yield


@realtime
@pytest.mark.usefixtures("timers")
def test_the_timer_is_named_whose_interrupt_was_long(place: Place) -> None:
    cpu = max(os.sched_getaffinity(0))
    # above all other agents, which run beside this one
    records = place.talk("trace 0 16", f"case 1 dk.periodic samples=1500 prio=98 cpus={cpu}")
    longest: set[str | None] = set()
    for _, way, _ in explained(records):
        spent: Counter[str | None] = Counter()
        for part in way:
            spent[part.by] += part.end - part.start
        longest.add(spent.most_common(1)[0][0])
    assert "local timer, in timerfd_tmrproc" in longest


@realtime
def test_killed_at_random_moments_it_leaves_nothing(place: Place) -> None:
    """Half of the moments are while an instance is there, the others anywhere from the start on."""
    moments = random.Random(17)
    periodic = "case 2 dk.periodic period=200000"
    for number in range(MOMENTS):
        agent = place.agent()
        agent.send(f"trace 0 4\ncase 1 null samples=100\n{periodic} samples=100\n{periodic}")
        if number % 2:
            assert soon(place.own_instances)
        time.sleep(moments.uniform(0.0, 0.3 if number % 2 else 0.6))
        agent.end_now()
        assert soon(lambda: not place.own_instances())


@realtime
def test_what_an_agent_without_a_keeper_left_the_next_one_removes(place: Place) -> None:
    agent = place.tracing()
    (name,) = place.own_instances()
    assert re.fullmatch(rf"rtstone-{agent.pid}-[0-9a-f]+\.[0-9a-f]+-[0-9a-f]{{16}}", name)
    os.kill(keeper_of(agent), signal.SIGKILL)
    agent.end_now()
    assert (SHM / f"rtstone-{agent.pid}.lock").exists()
    assert soon(lambda: place.own_instances() == {name})
    subprocess.run(place.command(AGENT, "--sweep"), check=True)
    assert place.own_instances() == set()


@realtime
def test_its_keeper_removes_it_after_the_sweep_of_an_agent_without_tracefs(place: Place) -> None:
    agent = place.tracing()
    keeper = keeper_of(agent)
    os.kill(keeper, signal.SIGSTOP)
    assert soon(lambda: stat_of(keeper)[0] == "T")  # or it might still get the lock
    agent.end_now()
    assert soon(lambda: swept(SHM / f"rtstone-{agent.pid}.lock"))
    assert place.own_instances()
    os.kill(keeper, signal.SIGCONT)
    assert soon(lambda: not place.own_instances())


def swept(lock: Path) -> bool:
    """Have an agent sweep that does not see the namespace; return whether the lock is gone."""
    subprocess.run([AGENT, "--sweep"], check=True)
    return not lock.exists()


def refused(command: list[str]) -> str:
    """Return why an agent cannot trace."""
    done = subprocess.run(
        command, input=command_lines("trace 0 1", "case 1 null samples=10", "bye"),
        stdout=subprocess.PIPE, check=True, timeout=60,
    )  # fmt: skip
    (end,) = pick(records(done.stdout), "end")
    assert end["status"] == "unsupported"
    reason: str = end["reason"]
    return reason


def test_without_tracefs_or_rights_it_says_what_to_do(place: Place, copy: Path) -> None:
    absent = "umount /sys/kernel/tracing 2>/dev/null; exec " + f"{AGENT} {QUICK}"
    reason = refused(["unshare", "--mount", "sh", "-c", absent])
    assert "no tracefs is mounted at /sys/kernel/tracing" in reason
    assert "mount -t tracefs" in reason
    assert "measure as root" in refused(place.command(*nobody(), copy, QUICK))


def test_what_is_no_tracefs_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    plant = f"mount --bind {tmp_path} /sys/kernel/tracing && exec {AGENT} {QUICK}"
    assert "no tracefs" in refused(["unshare", "--mount", "sh", "-c", plant])
    assert list((tmp_path / "instances").iterdir()) == []
