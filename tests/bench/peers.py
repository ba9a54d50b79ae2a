"""`make bench`: compare rtstone with other tools, interleaved in one run, as ratios.

Absolute times depend on the machine and the moment; a ratio of interleaved runs (ABBA) does not.
A tool that is not installed is reported.

`python -m tests.bench.peers --lab [GUEST ...]`: cyclictest and dk.periodic in guests of the lab
(peers_lab.py), where there is no noise: exits with 1 if dk.periodic takes more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.bench import peers_lab

ROUNDS = 8  # ABBA pairs; an even number
CPU = max(os.sched_getaffinity(0))
REST = min(os.sched_getaffinity(0))
PRIO = 95
PERIOD_US = 1000
CYCLES = 3000
ROUND_TRIPS = 100_000
RTSTONE = Path(sys.executable).with_name("rtstone")


def run(*command: str | Path) -> str:
    """Run a command that must succeed and return its standard output."""
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=120, check=True
    ).stdout


def measure(*arguments: str) -> dict[str, dict[str, float]]:
    """Measure with rtstone and return the results by bench."""
    with TemporaryDirectory() as home:
        os.environ["RTSTONE_HOME"] = home
        text = run(RTSTONE, "run", *arguments, "--cpus", str(CPU), "-p", f"prio={PRIO}", "--json")
    return {r["bench"]: r for r in json.loads(text)["results"]}


def periodic() -> dict[str, float]:
    """Return median and mean lateness of dk.periodic, in ns."""
    measurements = measure("dk.periodic", "-p", f"period={PERIOD_US}us", "-p", f"samples={CYCLES}")
    return {name: measurements["dk.periodic"][name] for name in ("p50", "mean")}


def cyclictest() -> dict[str, float]:
    """Return the mean lateness of the same task by cyclictest, in ns; it prints no percentile."""
    text = run("cyclictest", "-q", "-N", "-m", "-t1", f"-a{CPU}", f"--mainaffinity={REST}",
               f"-p{PRIO}", f"-i{PERIOD_US}", f"-l{CYCLES}")  # fmt: skip
    match = re.search(r"Avg:\s*(\d+)", text)
    assert match, text
    return {"mean": float(match[1])}


def semaphores() -> dict[str, float]:
    """Return the round trip of two threads: post to a higher-priority waiter, its next wait; ns."""
    measurements = measure("sem.post.higher", "sem.wait.busy", "-p", "samples=20000")
    return {
        name: measurements["sem.post.higher"][name] + measurements["sem.wait.busy"][name]
        for name in ("p50", "mean")
    }


def pipe() -> dict[str, float]:
    """Return the round trip of `perf bench sched pipe`: two threads, one priority and CPU; ns."""
    text = run("taskset", "-c", str(CPU), "chrt", "-f", str(PRIO), "perf", "bench", "sched",
               "pipe", "-T", "-l", str(ROUND_TRIPS))  # fmt: skip
    match = re.search(r"([\d.]+) usecs/op", text)
    assert match, text
    return {"mean": float(match[1]) * 1000}


class Pair(NamedTuple):
    """Two measurements of the same thing; ``ours`` names the values to compare with the peer's."""

    title: str
    ours: Callable[[], dict[str, float]]
    peer: Callable[[], dict[str, float]]
    needs: tuple[str, ...]
    package: str


PAIRS = [
    Pair(f"wake-up every {PERIOD_US} us: dk.periodic / cyclictest", periodic, cyclictest,
         ("cyclictest",), "rt-tests"),
    Pair("round trip: sem.post.higher + sem.wait.busy / perf bench sched pipe", semaphores, pipe,
         ("perf", "taskset", "chrt"), "linux-perf"),
]  # fmt: skip


def spread(values: list[float]) -> float:
    """Return the range relative to the median."""
    return (max(values) - min(values)) / median(values)


def compare(pair: Pair) -> None:
    """Run both alternately, ABBA, and print the ratios."""
    ours: list[dict[str, float]] = []
    peer: list[dict[str, float]] = []
    for turn in range(ROUNDS):
        first = turn % 2 == 0
        if first:
            ours.append(pair.ours())
        peer.append(pair.peer())
        if not first:
            ours.append(pair.ours())
    theirs = [p["mean"] for p in peer]
    print(pair.title)
    print(f"  peer      mean {median(theirs):9.0f} ns   spread of {ROUNDS} {spread(theirs):6.1%}")
    for name in ("p50", "mean"):
        values = [o[name] for o in ours]
        ratios = sorted(o / p for o, p in zip(values, theirs, strict=True))
        print(
            f"  rtstone {name:>6} {median(values):9.0f} ns   spread of {ROUNDS}"
            f" {spread(values):6.1%}   ratio {median(ratios):.3f}"
            f" ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        )


def main() -> int:
    """Run every pair whose tools are installed."""
    print(f"CPU {CPU}, priority {PRIO}, {ROUNDS} rounds, one after the other in turn")
    for pair in PAIRS:
        missing = [tool for tool in pair.needs if not shutil.which(tool)]
        if missing:
            print(f"{pair.title}: not run, {', '.join(missing)} missing"
                  f" (apt-get install {pair.package})")  # fmt: skip
            continue
        compare(pair)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lab"]:
        sys.exit(peers_lab.main(sys.argv[2:] or peers_lab.GUESTS))
    sys.exit(main())
