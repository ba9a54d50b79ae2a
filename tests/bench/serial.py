"""Runs on bad serial lines, many seeds: `python -m tests.bench.serial [RUNS [BAUD]]`.

Each run has a line that drops, flips and doubles bytes and puts noise between, at a random rate in
both directions.  Its results have to be those of the clean line, or it has to end with an error and
only with results that are.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.agent.speak import BUILD
from tests.relay import Harm, Relay

RTSTONE = Path(sys.executable).parent / "rtstone"
CASES = ["null", "sem.post.nowait", "sync.test3", "dk.nanosleep", "-p", "samples=100"]
WORST = 0.0004  # of each kind per byte: a record of 1000 bytes rarely comes


def run(relay: Relay, home: Path) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [RTSTONE, "run", *CASES, "--json", "--target", relay.target],
        capture_output=True, text=True, env={"RTSTONE_HOME": str(home), "PATH": "/usr/bin:/bin"},
        check=False,
    )  # fmt: skip
    document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"results": []}
    return done.returncode, document, done.stderr.strip()


def main(runs: int = 100, baud: int | None = None) -> None:
    agent = [BUILD / "tests" / "template-agent"]
    wrong = 0
    with tempfile.TemporaryDirectory() as home:
        with Relay(agent=agent, baud=baud) as relay:
            _, clean, _ = run(relay, Path(home))
        for seed in range(runs):
            rate = WORST * 10 ** random.Random(seed).uniform(-2, 0)
            up, down = Harm(seed, *4 * (rate,)), Harm(-1 - seed, *4 * (rate,))
            began = time.monotonic()
            with Relay(agent=agent, baud=baud, up=up, down=down) as relay:
                status, document, error = run(relay, Path(home))
            good = [result for result in document["results"] if result["status"] == "ok"]
            bad = [result for result in good if result not in clean["results"]]
            wrong += len(bad) + (status == 0 and document["results"] != clean["results"])
            print(
                f"seed {seed}: {rate:.1e} per byte, {up.count}+{down.count} damages, "
                f"{time.monotonic() - began:.0f} s, exit {status}, {len(good)} of "
                f"{len(clean['results'])} results, {len(bad)} wrong {error}",
                flush=True,
            )
    print(f"{wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
