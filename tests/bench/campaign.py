"""Campaigns at full size: 300 jobs whose runners are killed, and what a job and a run cost.

    python -m tests.bench.campaign killed [--kills 100] [--every 5]
    python -m tests.bench.campaign dask
    python -m tests.bench.campaign cost

killed: simulated systems, emulated boards with and without Linux, and a machine reached by ssh (in
namespaces of this one, so it needs root and openssh-server); two runners, one of which is killed
again and again.  dask: two workers, one of which is killed, and another one comes.  cost: what a
job takes beyond its run, and a table and a store with many.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rtstone.campaign.job_table import Table
from rtstone.campaign.matrix import read
from rtstone.campaign.planning import plan
from rtstone.interrupt import Interrupt
from rtstone.store.index import entries
from rtstone.store.intake import take_in
from tests.campaign import killing
from tests.campaign.cluster import cluster
from tests.targets.board import POSSIBLE, Board

EMULATED = ("qemu:freertos-a64", "qemu:linux-6.1", "qemu:linux-6.1+seed=2")
SIMULATED = ("sim", "sim:rtai-24.1.8", "sim:lynx-486", "sim:ideal")
MIXED = """
title = "300 jobs"
targets = [{targets}]
measure = ["sync.test2 null"]
repeat = 38
[params]
samples = 100
"""


def killed(arguments: argparse.Namespace, folder: Path) -> None:
    """Compare what killed runners leave with what undisturbed ones do."""
    targets = [*SIMULATED, *EMULATED, *(["ssh:root@board"] if POSSIBLE else [])]
    file = folder / "mixed.toml"
    file.write_text(MIXED.format(targets=", ".join(f'"{name}"' for name in targets)))
    quiet, home = folder / "quiet", folder / "home"
    took = killing.undisturbed(file, quiet, folder / "quiet.log")
    print(f"undisturbed: {took:.0f} s", flush=True)
    kills, every = arguments.kills, arguments.every
    took = killing.killed(file, home, folder / "log", kills=kills, mean_s=every, seed=19)
    path, other = killing.runs(quiet, "mixed"), killing.runs(home, "mixed")
    times = killing.keys(home, "mixed")
    print(
        f"two runners, {kills} kills: {took:.0f} s\n{len(other)} runs of {len(path)}, "
        f"keys there other than once: {sum(n != 1 for n in times.values())}, "
        f"results that differ: {len(killing.differing(path, other))}, "
        f"left behind: {len(killing.left_behind(home))}",
        flush=True,
    )


SMALL = """
targets = ["sim"]
measure = ["sched.yield"]
repeat = {repeat}
[params]
samples = 100
"""


def dask(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure jobs an hour with one and two workers; kill one of two, and have another one come."""
    file = folder / "farm.toml"
    file.write_text(SMALL.format(repeat=arguments.jobs))
    killing.undisturbed(file, folder / "here", folder / "here.log")
    path = killing.runs(folder / "here", "farm")
    with cluster(folder / "cluster") as dask_cluster:
        words = ["--engine", f"dask:{dask_cluster.address}"]
        for number in (1, 2):
            worker = dask_cluster.worker()
            home = folder / f"home-{number}"
            took = killing.undisturbed(file, home, folder / "log", *words)
            ran = sum(_took(home, "farm"))
            print(
                f"{number} workers: {arguments.jobs * 3600 / took:.0f} jobs an hour, "
                f"{(number * took - ran) / arguments.jobs:.2f} s of a worker a job beyond its run"
            )
        home = folder / "killed"
        running = killing.runner(file, home, folder / "log", *words)
        while len(killing.runs(home, "farm")) < arguments.jobs // 2:
            time.sleep(0.05)
        worker.kill()
        dask_cluster.worker()
        assert running.wait() == 0, (folder / "log").read_text()
    other = killing.runs(home, "farm")
    differ = len(killing.differing(path, other))
    print(f"one of two killed, one added: {len(other)} of {len(path)} runs, {differ} differ")


def _took(home: Path, name: str) -> list[float]:
    """Return how long each run took in s."""
    return [float(run["duration_s"]) for run in killing.runs(home, name).values()]


def cost(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure what a job costs beyond its run, and a table and a store with many of them."""
    file, home = folder / "many.toml", folder / "home"
    file.write_text(SMALL.format(repeat=arguments.jobs))
    by_hand = ["run", "sched.yield", "-p", "samples=100", "--target", "sim", "-q"]
    _timed("a run by hand", [killing.RTSTONE, *by_hand], folder / "other")
    used = _timed(f"{arguments.jobs} jobs", [*COMMAND, "run", str(file)], home)
    size = sum(path.stat().st_blocks * 512 for path in (home / "runs").rglob("*"))
    print(
        f"a job: {used / arguments.jobs:.2f} s of the CPU with its run, which by itself took "
        f"{sum(_took(home, 'many')) / arguments.jobs:.2f} s; "
        f"{size / arguments.jobs / 1024:.0f} KiB a stored run"
    )
    file.write_text(SMALL.format(repeat=arguments.runs))
    _timed("plan", [*COMMAND, "plan", str(file)], home)
    _fill(file, home, next((home / "runs").glob("many.*")))
    for _ in range(3):
        _timed(f"status, {arguments.runs} runs", [*COMMAND, "status", str(file)], home)
    _timed("run, all done", [*COMMAND, "run", str(file)], home)
    _timed("the same again, its index made", [*COMMAND, "run", str(file)], home)
    _runner(home, folder, next((home / "runs").glob("many.*")))


def _runner(home: Path, folder: Path, like: Path) -> None:
    """Measure what the runner does for a job: lease it, store its run, note that it is done."""
    file = folder / "more.toml"
    file.write_text(SMALL.format(repeat=2 * CYCLES))
    planned = plan(read(file), Interrupt())
    table = Table("more")
    table.register()
    table.adopt(enumerate(planned.jobs))
    staged = [shutil.copytree(like, folder / job.run_id) for job in planned.jobs[:CYCLES]]
    begin, cpu = time.monotonic(), time.process_time()
    for number, path in enumerate(staged):
        job = table.lease("sim")
        assert job and take_in(path, number)
        table.done(job.key, 0.1)
    took, used = time.monotonic() - begin, time.process_time() - cpu
    table.close()
    print(
        f"lease, store and note: {1000 * took / CYCLES:.1f} ms a job, "
        f"of the CPU {1000 * used / CYCLES:.1f} ms"
    )
    begin = time.monotonic()
    number = len(entries())
    print(f"the index of {number} runs: {time.monotonic() - begin:.2f} s")


CYCLES = 200

COMMAND = [killing.RTSTONE, "campaign"]


def _fill(file: Path, home: Path, like: Path) -> None:
    """Copy a run for every job of a campaign, and make its table."""
    os.environ["RTSTONE_HOME"] = str(home)
    planned = plan(read(file), Interrupt())
    for job in planned.jobs:
        place = home / "runs" / job.run_id
        if not place.exists():
            shutil.copytree(like, place)
    table = Table("many")
    table.adopt(enumerate(planned.jobs))
    table.settle()
    table.close()


def _timed(part: str, command: list[str], home: Path) -> float:
    """Print what a command takes, and return its time of the CPU, with what it started, in s."""
    begin = time.monotonic()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=killing.environment(home), stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    print(
        f"{part}: {time.monotonic() - begin:.2f} s, of the CPU "
        f"{usage.ru_utime + usage.ru_stime:.2f} s, {usage.ru_maxrss / 1024:.0f} MiB",
        flush=True,
    )
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[runner.__name__ for runner in MEASURED])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=5.0, metavar="S")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rtstone-campaign-") as name:
        folder = Path(name)
        if POSSIBLE:
            (folder / "board").mkdir()
            folder.chmod(0o755)
            board = Board(folder / "board")
            board.client(folder)
            os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        (folder / "run").mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(folder / "run")
        try:
            next(runner for runner in MEASURED if runner.__name__ == arguments.what)(
                arguments, folder
            )
        finally:
            if POSSIBLE:
                board.close()


MEASURED: tuple[Callable[[argparse.Namespace, Path], None], ...] = (killed, dask, cost)

if __name__ == "__main__":
    main()
