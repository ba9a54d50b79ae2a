"""Shared by all tests: a fake agent, a separate home, the command line in this process."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import itertools
import json
import os
import random
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from rtstone.cli.main import _status
from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Target
from rtstone.targets import local
from rtstone.wire.records import Bench, Param
from tests.played import Played

FAKE = Path(__file__).parent / "fake_agent.py"
MACHINE = "machine"
settings.register_profile(  # a busy one takes its time
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
LOCKS = Path(__file__).parents[1] / "build" / "locks"  # where no other user can plant anything
LONGEST_FIRST = (MACHINE, "lab", "waits", "simulation")  # marks; what has none comes last


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Return the only document on stdout."""
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def says(self) -> str:
        """Return the only line of an error."""
        lines = [line for line in self.err.splitlines() if line.startswith("rtstone: ")]
        assert len(lines) == 1, self.err
        return lines[0]


Fake = Callable[..., Path]
Cli = Callable[..., Done]


def _has_own_shm() -> bool:
    """Give this process a /dev/shm of its own, as root may: the tests of others have agents, too.

    Agents know each other by files there, and remove what dead ones have left.
    """
    namespace, private, safe = 0x20000, 0x44000, 6  # CLONE_NEWNS; MS_REC, _PRIVATE; _NOSUID, _NODEV
    libc = ctypes.CDLL(None)
    return os.geteuid() == 0 and not (
        libc.unshare(namespace)
        or libc.mount(b"none", b"/", None, private, None)
        or libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", safe, b"mode=1777")
    )


OWN_SHM = "PYTEST_XDIST_WORKER" in os.environ and _has_own_shm()


def pytest_configure() -> None:
    # A background process of a shell ignores Ctrl-C, one of nohup the end of its terminal, and so
    # would every process that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ["TERM"] = "xterm"  # a dumb terminal has no display


class ByNeed(LoadFileScheduling):  # type: ignore[misc]
    """Shares tests out among the workers of pytest-xdist.

    A worker takes a whole module, so that its fixtures are made once, or all modules that have the
    mark ``machine``, which would only wait for each other.  (Its own groups are lost on pytest 9.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid.partition("::")[0])


def pytest_xdist_auto_num_workers() -> int:
    """Three more than there are CPUs: most tests sleep, or wait for the machine."""
    return len(os.sched_getaffinity(0)) + 3


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByNeed:
    return ByNeed(config, log)


@cache
def _group(module: str) -> str:
    """Of a module, by its text: who shares tests out imports none."""
    text = (FAKE.parents[1] / module).read_text(encoding="utf-8")
    alone = re.search(r"^pytestmark = (\[\n\s*)?pytest\.mark\.machine\b", text, re.MULTILINE)
    return MACHINE if alone else module


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected stays: it is not looked through again and again
    gc.set_threshold(50_000, 20, 20)  # what tests make is little, and seldom goes round in circles


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""

    groups = [_group(item.nodeid.partition("::")[0]) for item in items]
    places = dict.fromkeys(groups, len(LONGEST_FIRST))
    for item, group in zip(items, groups, strict=True):
        marks = {mark.name for mark in item.iter_markers()}
        named = (n for n, name in enumerate(LONGEST_FIRST) if name in marks)
        places[group] = min(places[group], next(named, len(LONGEST_FIRST)))
    order = dict(zip(items, groups, strict=True))
    items.sort(key=lambda item: places[order[item]])


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps other tests from the machine while one measures on it, whatever process runs them.

    A test with the mark ``sole`` looks for other agents, so that all others have to wait, where
    it would see theirs.
    """
    marks = request.node.get_closest_marker
    sole = marks("sole") and not OWN_SHM
    with ExitStack() as held:
        held.enter_context(_locked("all", fcntl.LOCK_EX if sole else fcntl.LOCK_SH))
        if marks(MACHINE) is not None:
            held.enter_context(machine())
        yield


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Yield a directory beside the checkout: /tmp may lie in memory, and forbid capabilities."""
    with TemporaryDirectory(prefix="test-", dir=LOCKS.parent) as name:
        yield Path(name)


def machine() -> AbstractContextManager[None]:
    """Keeps other tests from measuring on this machine."""
    return _locked(MACHINE, fcntl.LOCK_EX)


@contextmanager
def _locked(name: str, kind: int) -> Iterator[None]:
    """Holds a lock of all test processes of this checkout.

    Who is next holds a second lock: a worker with one such test after the other would have the
    first again before one that waits has woken up.
    """
    LOCKS.mkdir(parents=True, exist_ok=True)
    path = LOCKS / name
    with path.with_suffix(".lock").open("w") as lock:
        with path.with_suffix(".next").open("w") as following:
            fcntl.flock(following, fcntl.LOCK_EX)
            fcntl.flock(lock, kind)
        yield


@contextmanager
def disturbed() -> Iterator[None]:
    """Stop what this thread has started, again and again and for some ms, as a busy machine does.

    A stopped process needs no CPU, unlike one that keeps it from others.
    """
    started = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    over, rng, stops = threading.Event(), random.Random(1), 0

    def disturb() -> None:
        nonlocal stops
        while not over.wait(rng.uniform(0, 0.01)):
            children = [int(pid) for pid in started.read_text().split()]
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for child in children:
                    with suppress(ProcessLookupError):
                        os.kill(child, number)
                        stops += 1
                over.wait(rng.uniform(0, 0.01))

    other = threading.Thread(target=disturb)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join()
    assert stops, "there was nothing to stop"


HOMES = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def no_home_of_a_person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the person's own runs out of reach of fixtures of modules, and of tests that undo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(tmp_path_factory.getbasetemp() / "home"))
        yield


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home for the runs of one test; it is created when something is stored in it."""
    path = tmp_path_factory.getbasetemp() / f"home-{next(HOMES)}"
    monkeypatch.setenv("RTSTONE_HOME", str(path))
    return path


@pytest.fixture
def fake_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Make the local target start the fake agent; call the fixture for another scenario.

    The call returns the file that traces the agent's starts.
    """
    program = tmp_path / "fake-agent"
    # -S -E: a quick start
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{FAKE}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("RTSTONE_AGENT", str(program))
    trace = tmp_path / "trace"

    def scenario(**members: Any) -> Path:
        monkeypatch.setenv("FAKE_AGENT", json.dumps({"trace": str(trace), **members}))
        return trace

    scenario()
    return scenario


@pytest.fixture
def fake(fake_process: Fake, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Do likewise; a scenario in which no time passes is played in memory.

    An agent that hangs there is killed when it is stopped, and hands over nothing.
    """
    process = local._Agent

    def scenario(**members: Any) -> Path:
        waits = members.get("fate") == "deaf" or {"pause", "flood"} & members.keys()
        monkeypatch.setattr(local, "_Agent", process if waits else Played)
        return fake_process(**members)

    scenario()
    return scenario


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Run the command line in this process."""
    before, umask = signal.getsignal(signal.SIGTERM), os.umask(0o077)
    os.umask(umask)

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        status = _status([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(status, out, err)

    yield call
    signal.signal(signal.SIGTERM, before)
    os.umask(umask)  # `serve` sets its own


@pytest.fixture
def ballast() -> Bench:
    """Return a bench with a parameter of every type."""
    return Bench(
        "ctx.ballast",
        "Context switch",
        slope_over="ballast",
        params=[
            Param("ballast", "int", "tasks", 0, 0, 1024),
            Param("policy", "choice", None, "fifo", choices=["fifo", "rr"]),
            Param("time", "duration", "ns", 0, 0, 10**13),
            Param("size", "size", "B", 64, 1, 1 << 20),
            Param("raw", "bool", None, False),
            Param("cpus", "cpus"),
            Param("samples", "int", None, 1000, 0, 10**12),
        ],
    )


@pytest.fixture
def plan(ballast: Bench) -> Plan:
    """Return a plan of three cases."""
    return Plan(
        run_id="20261121-031500-quick-ab12",
        created="2026-11-21T03:15:00+00:00",
        command=["rtstone", "run"],
        suite="quick",
        target=Target(name="local"),
        keep_idle=False,
        cases=[Case(k, "ctx.ballast", {"ballast": 10 * k}) for k in (1, 2, 3)],
        benches={"ctx.ballast": ballast},
    )
