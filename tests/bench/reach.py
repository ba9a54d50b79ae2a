"""`make bench`: what the way to another machine costs: over ssh to this one, beside `local`.

The ratio of medians is taken from interleaved runs (A B B A).  The board is that of the tests: an
sshd on the loopback, in namespaces of its own.  Only root can make one.

    python -m tests.bench.reach [--pairs 10] [--time 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.targets.board import NEEDED, POSSIBLE, Board

RTSTONE = Path(sys.executable).with_name("rtstone")
TARGETS = ("local", "ssh:root@board")
STARTS = 7  # of each target


def _ratio(pairs: int, seconds: float) -> None:
    """Print the ratio of the medians of dk.periodic, with its interval and both medians."""
    output = subprocess.run(
        [RTSTONE, "compare", "--run", *TARGETS, "dk.periodic", "--pairs", str(pairs),
         "--time", str(seconds), "--all", "--json"],
        stdout=subprocess.PIPE, check=False, text=True,
    ).stdout  # fmt: skip
    (row,) = json.loads(output)["rows"]
    medians = " and ".join(f"{cell['p50'] / 1000:.1f} µs" for cell in row["cells"])
    effect = next(effect for effect in row["effects"] if effect["statistic"] == "p50")
    low, high = effect["ci95"]
    print(
        f"dk.periodic, p50: {medians}, the second over ssh; ratio {effect['ratio']:.3f} "
        f"(95% interval {low:.3f} to {high:.3f}), {pairs} pairs of {seconds:g} s"
    )


def _start(target: str) -> float:
    """Return seconds from the command to the end of its only case, less what the case took."""
    begin = time.monotonic()
    output = subprocess.run(
        [RTSTONE, "run", "dk.periodic", "--target", target, "--time", "0.5", "--json"],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    took = time.monotonic() - begin
    section: float = json.loads(output)["results"][0]["evidence"]["section_ns"] / 1e9
    return took - section


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--time", type=float, default=3)
    options = parser.parse_args()
    if not POSSIBLE:
        sys.exit(str(NEEDED.kwargs["reason"]))
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "board").mkdir()
        board = Board(folder / "board")
        try:
            board.client(folder)
            os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
            os.environ["RTSTONE_HOME"] = str(folder / "runs")
            _ratio(options.pairs, options.time)
            for target in TARGETS:
                starts = [_start(target) for _ in range(STARTS)]
                print(
                    f"{target}: {median(starts):.2f} s beside the case itself, "
                    f"median of {STARTS} ({min(starts):.2f} to {max(starts):.2f})"
                )
        finally:
            board.close()


if __name__ == "__main__":
    main()
