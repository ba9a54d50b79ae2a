"""Whether a bench has a sample that the instrument itself, or a limit of the kernel, made long.

`python -m tests.bench.rests [BENCH...]` runs each bench for 2.5 s, longer than RT throttling lets a
busy task go on, and shows what is more than 20 ms above the median.  What is flagged for what took
the CPU has a cause; the exit code is 1 if anything else is left.  `--barrier` repeats a barrier of
64 tasks 20 times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rtstone.report.run.answer import DISTURBED

RTSTONE = Path(sys.executable).with_name("rtstone")
ABOVE_NS = 20e6
SHARING = ("sched.bg50.orig", "sched.bg50.half")  # samples are the time slices of 50 tasks
BARRIER = ("sync.barrier", "-p", "tasks=64", "-p", "until=last")


def results_of(*words: str) -> list[dict[str, Any]]:
    """Run benches and return their results."""
    with TemporaryDirectory() as home:
        done = subprocess.run(
            [RTSTONE, "run", *words, "--time", "2.5s", "--json", "--yes"],
            env={**os.environ, "RTSTONE_HOME": home}, stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
    return list(json.loads(done.stdout)["results"])


def benches() -> list[str]:
    """Return the ids of all benches that have samples of their own."""
    words: list[str | Path] = [RTSTONE, "list", "benches", "--json"]
    catalogue = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    return [bench["id"] for bench in catalogue["benches"]]


def main() -> None:
    """Print a row for each result, and what has no cause."""
    words = sys.argv[1:]
    runs = [BARRIER] * 20 if words == ["--barrier"] else [(name,) for name in words or benches()]
    print("| bench | n | median ms | longest ms | flags |\n|---|---|---|---|---|")
    without_cause = []
    for run in runs:
        for result in results_of(*run):
            if result.get("max") is None or result["unit"] != "ns":
                continue
            name, median = f"{result['bench']} {result['series']}".strip(), result["p50"] or 0.0
            row = f"| {name} | {result['n']} | {median / 1e6:.4f} | {result['max'] / 1e6:.3f} | "
            flags = [flag for flag in result["flags"] if flag in DISTURBED]
            print(row + " ".join(flags) + " |", flush=True)
            shared = result["bench"] in SHARING
            if result["max"] - median > ABOVE_NS and not flags and not shared:
                without_cause.append(name)
    print(
        f"{len(without_cause)} with a sample that has no cause: {', '.join(without_cause) or '-'}"
    )
    sys.exit(bool(without_cause))


if __name__ == "__main__":
    main()
