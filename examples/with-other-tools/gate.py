"""Limits from five runs of cyclictest, the largest value and 20%; is the sixth within them?"""

import json
import sys
from pathlib import Path


def percentiles(name: str) -> dict[float, int]:
    """Return p50, p99 and p99.9 of a file of cyclictest --json, in us."""
    (thread,) = json.loads(Path(name).read_text())["thread"].values()
    told: dict[float, int] = {}
    below = 0
    for latency, count in thread["histogram"].items():
        below += count
        for q in (50, 99, 99.9):
            if below >= thread["cycles"] * q / 100:
                told.setdefault(q, int(latency))
    return told


failed = False
for load in ("none", "heavy"):
    runs = [percentiles(f"{load}-{turn}.json") for turn in range(1, 6)]
    for q, value in percentiles(f"{load}-now.json").items():
        limit = 1.2 * max(run.get(q, value) for run in runs)
        failed = failed or value > limit
        print(f"{load} p{q}: {value} us, limit {limit:.0f} us", "FAIL" if value > limit else "ok")
sys.exit(failed)
