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
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.campaign import killing
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
    one, other = killing.runs(quiet, "mixed"), killing.runs(home, "mixed")
    times = killing.keys(home, "mixed")
    print(
        f"two runners, {kills} kills: {took:.0f} s\n{len(other)} runs of {len(one)}, "
        f"keys there other than once: {sum(n != 1 for n in times.values())}, "
        f"results that differ: {len(killing.differing(one, other))}, "
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
    main()
