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
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.campaign import killing
from tests.targets.board import POSSIBLE, Board

SIMULATED = ("sim", "sim:rtai-24.1.8", "sim:lynx-486", "sim:ideal")
MIXED = """
title = "300 jobs"
targets = [{targets}]
measure = ["dk.periodic sync.test2 null"]
loads = ["none"]
seeds = [1, 2]
repeat = 38
[params]
samples = 100
"""
# Linux boots for a while, so that it has a share of the jobs of its own.
SLOW = """
targets = ["qemu:linux-6.1"]
measure = ["sync.test2 null"]
seeds = [1, 2]
repeat = 17
[params]
samples = 100
"""


def killed(arguments: argparse.Namespace, folder: Path) -> None:
    """Compare what killed runners leave with what undisturbed ones do."""
    targets = [*SIMULATED, "qemu:freertos-a64", *(["ssh:root@board"] if POSSIBLE else [])]
    named = ", ".join(f'"{name}"' for name in targets)
    (folder / "mixed.toml").write_text(MIXED.format(targets=named).replace("seeds = [1, 2]\n", ""))
    (folder / "slow.toml").write_text(SLOW)
    for name, kills in (("mixed", arguments.kills * 7 // 10), ("slow", arguments.kills * 3 // 10)):
        _compare(folder, name, kills, arguments.every)


def _compare(folder: Path, name: str, kills: int, every: float) -> None:
    file = folder / f"{name}.toml"
    quiet, home = folder / f"{name}-quiet", folder / f"{name}-home"
    took = killing.undisturbed(file, quiet, folder / "quiet.log")
    print(f"{name}: undisturbed in {took:.0f} s", flush=True)
    took = killing.killed(file, home, folder / "log", kills=kills, mean_s=every, seed=19)
    one, other = killing.runs(quiet, name), killing.runs(home, name)
    times = killing.keys(home, name)
    print(
        f"{name}: {len(other)} runs of {len(one)}, {kills} kills in {took:.0f} s; "
        f"keys there other than once: {sum(n != 1 for n in times.values())}; "
        f"results that differ: {len(killing.differing(one, other))}; "
        f"left behind: {len(killing.left_behind(home))}",
        flush=True,
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[one.__name__ for one in MEASURED])
    parser.add_argument("--kills", type=int, default=100)
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
            next(one for one in MEASURED if one.__name__ == arguments.what)(arguments, folder)
        finally:
            if POSSIBLE:
                board.close()


MEASURED: tuple[Callable[[argparse.Namespace, Path], None], ...] = (killed,)

if __name__ == "__main__":
    sys.exit(main())
