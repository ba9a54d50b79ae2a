"""Runs that are pushed while all goes wrong: python -m tests.bench.server_push [--runs 200].

Clients push at once through a relay that cuts each connection after 64 KiB; the server is killed at
random moments, and as root its disk, a file system in memory, is full for a while.  In the end
every run is there once and whole, index and directories agree, and no half run was ever visible.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import sqlalchemy as sql

from rtstone.cli.main import _status
from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.server.client.push import pack
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.reconcile import reconcile, verify
from rtstone.server.schema import runs
from rtstone.store.layout import LOG, PLAN, RUN
from tests.server.conftest import Template
from tests.server.killing import kill_again_and_again, push_all, serve, token
from tests.server.pushing import another, arriving, cutting, stored

_CUT = 64 << 10  # bytes that a connection lets through
_NOISE = 2_500  # lines that hardly pack, so that a run is larger than that
_DISK = "400m"
_FULL_S = 4.0  # for how long the disk is full, and between two such times
_PATIENCE_S = 900.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--every", type=float, default=0.7, help="mean time between two kills, in s"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rtstone-bench-", dir="/var/tmp") as folder:
        _push(Path(folder), options)


def _push(folder: Path, options: argparse.Namespace) -> None:
    paths = list(_runs(folder, options.runs, options.seed))
    store = folder / "disk" / "store"
    over, halves = threading.Event(), set[str]()
    kills: list[int] = []
    with _disk(folder / "disk") as small:
        os.environ["RTSTONE_TOKEN"] = token(store)
        with serve(store, folder / "log") as server, cutting(server.port, _CUT) as relay:

            def kill() -> None:
                kills.append(
                    kill_again_and_again(server, over, options.kills, options.every, options.seed)
                )

            helpers = [threading.Thread(target=kill)]
            helpers += [threading.Thread(target=_watch, args=(store / "runs", over, halves))]
            full: list[float] = []
            if small:
                helpers += [threading.Thread(target=_fill, args=(store.parent, over, full))]
            begin = time.monotonic()
            for helper in helpers:
                helper.start()
            clients = push_all(relay.port, paths, options.clients, _PATIENCE_S)
            took = time.monotonic() - begin
            over.set()
            for helper in helpers:
                helper.join()
            ended = server.end()
        size = sum(len(pack(path).blob) for path in paths) / len(paths)
        print(f"{len(paths)} runs of {size / 1024:.0f} KiB packed, {options.clients} clients: "
              f"{took:.0f} s; {relay.cuts} connections cut, {kills[0]} kills, "
              f"disk full {len(full)} times for {sum(full):.0f} s in all")  # fmt: skip
        _check(store, paths)
    assert clients.faults == [], clients.faults[:5]
    assert halves == set(), halves
    assert ended == 0
    if kills[0] < options.kills:
        print(f"all was pushed after {kills[0]} of {options.kills} kills: push more runs (--runs)")


def _check(store: Path, paths: list[Path]) -> None:
    """Assert that the store has all runs, once and whole, and nothing else."""
    names = {path.name for path in paths}
    assert stored(store / "runs") == names
    for path in paths:
        assert (store / "runs" / path.name / LOG).read_bytes() == (path / LOG).read_bytes()
    assert arriving(store / "runs") == []
    places = Places(store)
    with closing(Database(None, store)) as database:
        reconcile(database, places)
        assert verify(database, places) == []
        with database.reading() as connection:
            run_ids = list(connection.execute(sql.select(runs.c.run_id)).scalars())
    assert sorted(run_ids) == sorted(names)
    print("nothing lost, nothing twice, index and directories agree")


def _runs(folder: Path, number: int, seed: int) -> Iterator[Path]:
    """Measure a run on the simulated system, and yield variants of it."""
    os.environ["RTSTONE_HOME"] = str(folder / "home")
    assert _status(["run", "quick", "--target", "sim", "--quiet"]) == 0
    run_path = next((folder / "home" / "runs").iterdir())
    run = msgspec.json.decode((run_path / RUN).read_bytes(), type=Run)
    plan = msgspec.json.decode((run_path / PLAN).read_bytes(), type=Plan)
    template, rng = Template(run_path, run, plan), random.Random(seed)
    for n in range(number):
        path = another(template, f"20261101-000000.000-quick-{n:04}", folder / "here")
        with (path / LOG).open("ab") as log:  # as of a noisy line
            log.write("".join(f"{rng.randbytes(60).hex()}\n" for _ in range(_NOISE)).encode())
        yield path


def _watch(folder: Path, over: threading.Event, halves: set[str]) -> None:
    """Note runs that are visible, but not whole."""
    while not over.wait(0.005):
        for name in stored(folder):
            if not all((folder / name / file).exists() for file in (RUN, PLAN, LOG)):
                halves.add(name)


@contextmanager
def _disk(place: Path) -> Iterator[bool]:
    """Make a small file system, and yield whether that was possible."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(place: Path, over: threading.Event, full: list[float]) -> None:
    """Fill the disk for a while, again and again, and note for how long it was full."""
    ballast = place / "ballast"
    while not over.wait(2 * _FULL_S):
        begin = time.monotonic()
        with ballast.open("wb", buffering=0) as file:
            while not over.is_set() and time.monotonic() - begin < _FULL_S:
                try:
                    file.write(bytes(1 << 16))
                except OSError:  # full; what others free is taken, too
                    time.sleep(0.01)
        ballast.unlink()
        full.append(time.monotonic() - begin)


if __name__ == "__main__":
    main()
