"""Runners of a campaign that are killed again and again, and what they leave in the end."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

RTSTONE = str(Path(sys.executable).parent / "rtstone")
OWN = {"created", "duration_s", "command"}  # members in which documents of the same run differ
# What a machine changes by itself; emulated and simulated ones do not.
TIMED = ("ssh:", "local")


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"RTSTONE_HOME": str(home)}


def runner(file: Path, home: Path, log: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a runner of a campaign; its lines go to a log."""
    with log.open("ab") as to:
        return subprocess.Popen(
            [RTSTONE, "campaign", "run", str(file), *words],
            env=environment(home), stdin=subprocess.DEVNULL, stdout=to, stderr=to,
        )  # fmt: skip


def undisturbed(file: Path, home: Path, log: Path, *words: str) -> float:
    """Carry a campaign out, and return how long it took in s."""
    begin = time.monotonic()
    process = runner(file, home, log, *words)
    assert process.wait() == 0, log.read_text()
    return time.monotonic() - begin


def killed(file: Path, home: Path, log: Path, *, kills: int, mean_s: float, seed: int) -> float:
    """Carry it out by two runners at once, one of which is killed at each of so many moments.

    Returns how long it took in s.
    """
    rng, begin = random.Random(seed), time.monotonic()
    runners = [runner(file, home, log) for _ in range(2)]
    for _ in range(kills):
        time.sleep(rng.expovariate(1 / mean_s))
        victim = rng.randrange(2)
        runners[victim].kill()
        runners[victim].wait()
        runners[victim] = runner(file, home, log)
    for program in runners:
        assert program.wait() == 0, log.read_text()
    return time.monotonic() - begin


def runs(home: Path, name: str) -> dict[str, Any]:
    """Return the documents of a campaign's runs by key."""
    return {
        path.name.partition(".")[2]: json.loads((path / "run.json").read_bytes())
        for path in (home / "runs").glob(f"{name}.*")
    }


def keys(home: Path, name: str) -> Counter[str]:
    """Return how often each key is in the table of a campaign, all of which must be done."""
    database = sqlite3.connect(home / "campaigns" / name / "jobs.db")
    rows = database.execute("SELECT key, state FROM jobs WHERE state != 'unsupported'").fetchall()
    database.close()
    assert {state for _, state in rows} == {"done"}
    return Counter(key for key, _ in rows)


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Return the keys of runs that differ, but for those that measure time."""
    assert first.keys() == second.keys()
    return [
        key for key in first
        if not first[key]["target"]["name"].startswith(TIMED)
        and _without(first[key]) != _without(second[key])
    ]  # fmt: skip


def _without(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in OWN}


def left_behind(home: Path) -> list[str]:
    """Return what runners left of runs that were not completed, and of themselves."""
    staged = (home / "runs" / ".staged").glob("*/*")
    return [str(path) for path in (*staged, *(home / "campaigns").glob("*/runner-*"))]
