"""`make bench`: time of the commands that read stored runs, on stores as large as a lab's.

The documents consist of real results: a run of the suite quick on this machine, repeated under as
many loads as needed, each time with other numbers.  The minimum CPU time of several tries counts,
because other work on the machine adds to wall-clock time.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.results.pool import pooled
from rtstone.store.index import entries
from rtstone.store.layout import LOG, PLAN, RUN

RTSTONE = str(Path(sys.executable).parent / "rtstone")
TRIES = 5
RUNS = 1000
COMPARED = 500  # results of each of the two runs
FULL = 409  # results of the suite full on Linux

Goal = tuple[str, float, Sequence[str]]


def _measured(home: Path) -> Path:
    """Measure a run on this machine, from which the others are derived; return its directory."""
    words = [RTSTONE, "run", "quick", "--time", "0.3", "--out", str(home / "real")]
    done = subprocess.run(words, env=_here(home), capture_output=True, text=True, check=False)
    if not (home / "real" / RUN).exists():
        sys.exit(f"cannot measure this machine: {done.stderr}")
    return home / "real"


def _here(home: Path) -> dict[str, str]:
    return os.environ | {"RTSTONE_HOME": str(home)}


def _other(result: Result, load: str, chance: random.Random) -> Result:
    """Return the result with other numbers, as if from a system of another speed."""
    factor = chance.uniform(0.9, 1.1)
    points = [(round(value * factor, 4), count + chance.randrange(3))
              for value, count in result.histogram]  # fmt: skip
    n = sum(count for _, count in points)
    scaled = {name: value if (value := getattr(result, name)) is None else round(value * factor, 4)
              for name in ("min", "mean", "sd", "max", "raw_min", "raw_max")}  # fmt: skip
    part = structs.replace(result, load=load, histogram=points, n=n, overflow=0, **scaled)
    whole = pooled([part, structs.replace(part, n=0, histogram=[], min=None, max=None)])
    percentiles = {name: getattr(whole, name) for name in ("p50", "p90", "p99", "p999", "p9999")}
    return structs.replace(part, **percentiles)


def _grown(run: Run, results: int, seed: int) -> Run:
    """Return a run with so many results, derived from those of a real one."""
    chance = random.Random(seed)
    real = [result for result in run.results if result.status == "ok" and result.histogram]
    explanations = [
        structs.replace(_other(real[k % len(real)], f"load{k // len(real)}", chance), case=k + 1)
        for k in range(results)
    ]
    run_id = f"{run.run_id}-{results}-{seed}"
    return structs.replace(run, run_id=run_id, results=explanations, slopes=[], notes=[])


def _stored(home: Path, real: Path, run: Run) -> Path:
    """Store a run directory with that document, and plan and log of the real one."""
    path = home / "runs" / run.run_id
    path.mkdir(parents=True)
    for name in (PLAN, LOG):
        (path / name).write_bytes((real / name).read_bytes())
    (path / RUN).write_bytes(msgspec.json.encode(run))
    return path


def _lab(home: Path, real: Path, run: Run) -> None:
    """Make a store of many runs, half of them on another target."""
    for number in range(RUNS):
        target = structs.replace(run.target, name=("local", "qemu:linux-6.1-rt")[number % 2])
        named = structs.replace(run, run_id=f"20261101-{number:06}-quick", target=target)
        _stored(home, real, named)


def _least_s(words: Sequence[str], home: Path) -> tuple[float, float]:
    """Return the minimum wall-clock and CPU time of a command, in s.

    A command has one thread and waits for nothing, so on an idle machine the two are the same.
    """
    walls, cpus = [], []
    for _ in range(TRIES):
        begin, before = time.monotonic(), os.times()
        subprocess.run([RTSTONE, *words], env=_here(home), stdout=subprocess.DEVNULL, check=False)
        after = os.times()
        walls.append(time.monotonic() - begin)
        used = after.children_user + after.children_system
        cpus.append(used - before.children_user - before.children_system)
    return min(walls), min(cpus)


def _goals(home: Path, real: Path) -> list[Goal]:
    run = msgspec.json.decode((real / RUN).read_bytes(), type=Run)
    _lab(home, real, run)
    a, b = (_stored(home, real, _grown(run, COMPARED, seed)) for seed in (1, 2))
    full = _stored(home, real, _grown(run, FULL, 3))
    choice = ["--target", "qemu", "--bench", "sem", "--since", "2026-01-01", "--status", "complete"]
    page = str(home / "page.html")
    return [
        (f"list runs, {RUNS} of {RUNS}", 0.5, ["list", "runs"]),
        (f"list runs, {RUNS // 2} of {RUNS}", 0.5, ["list", "runs", *choice]),
        (f"compare, 2 runs of {COMPARED} results", 1.0, ["compare", str(a), str(b)]),
        (f"report, {FULL} results", 3.0, ["report", str(full), "-o", page]),
        (f"show, {FULL} results", 1.0, ["show", str(full)]),
    ]


def main() -> None:
    """Print the time of each command, and return 1 if one took too long."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        goals = _goals(home, _measured(home))
        os.environ["RTSTONE_HOME"] = place
        begin = time.monotonic()
        entries()
        print(f"{'index of them all, from nothing':40} {time.monotonic() - begin:6.2f} s")
        late = False
        for name, goal, words in goals:
            wall, cpu = _least_s(words, home)
            late |= cpu > goal
            text = f"of {goal} s" + (" TOO LONG" if cpu > goal else "")
            print(f"{name:40} {cpu:6.2f} s {text}, on the wall {wall:.2f} s")
    sys.exit(late)


if __name__ == "__main__":
    main()
