"""`make bench`: draft gates as in the tutorial and check the following runs against them.

The machine does not change, so a gate that fails is a false alarm.  The commands are those of
docs/tutorial.md: run a suite, draft a gate from five runs, check the next one; then repeat with the
five runs that start one later, and so on.  Measure on a quiet machine:

    python -m tests.bench.gates [--suite quick] [--gates 20] [--from 5] [--time S]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RTSTONE = str(Path(sys.executable).parent / "rtstone")
ALLOWED = 0.05  # share of the gates that may fail


class Bench:
    """Run the commands in a store of its own."""

    def __init__(self, home: Path, suite: str, time: str | None) -> None:
        self._home, self._suite = home, suite
        self._time = ["--time", time] if time else []
        self._runs = 0

    def _rtstone(self, *words: str) -> subprocess.CompletedProcess[str]:
        here = os.environ | {"RTSTONE_HOME": str(self._home)}
        return subprocess.run(
            [RTSTONE, *words], env=here, capture_output=True, text=True, check=False
        )

    def measure(self) -> None:
        """Measure one more run.  Cases that fail on this machine do not concern a gate."""
        done = self._rtstone("run", self._suite, *self._time)
        if done.returncode not in (0, 3):
            sys.exit(f"cannot measure this machine: {done.stderr}")
        self._runs += 1
        print(f"run {self._runs}", file=sys.stderr, flush=True)

    def gate(self, number: int, runs: int) -> dict[str, object]:
        """Check the last run against a draft from so many runs before it."""
        budget = self._home / f"budget-{number}.toml"
        before = [f"last~{back}" for back in range(runs, 0, -1)]
        drafted = self._rtstone("check", *before, "--write-budget", str(budget))
        if drafted.returncode:
            sys.exit(f"no draft: {drafted.stderr}")
        done = self._rtstone("check", "last", "--budget", str(budget), "--json")
        if not done.stdout:
            sys.exit(f"no check: {done.stderr}")
        found: dict[str, object] = json.loads(done.stdout)
        return found


def _rows(gate: dict[str, object]) -> list[str]:
    """Return a line for each check that did not pass."""
    checks: list[dict[str, object]] = gate["checks"]  # type: ignore[assignment]
    return [
        f"  {c['verdict']}: {c['bench']} {c['label']} load {c['load']}: {c['what']} "
        f"{c['observed']} {c['unit']} {c['ci95']}, limit {c['limit']}; {c['reason']}"
        for c in checks
        if c["verdict"] != "passed"
    ]


def main() -> int:
    """Return 0 if at least 19 of 20 gates passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--from", type=int, default=5, dest="runs")
    parser.add_argument("--time")
    asked = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="rtstone-gates-") as home:
        bench = Bench(Path(home), asked.suite, asked.time)
        for _ in range(asked.runs):
            bench.measure()
        for number in range(1, asked.gates + 1):
            bench.measure()
            gate = bench.gate(number, asked.runs)
            passed += gate["verdict"] == "passed"
            failed += gate["verdict"] == "failed"
            checks = len(gate["checks"])  # type: ignore[arg-type]
            print(f"gate {number}: {gate['verdict']}, {checks} limits", flush=True)
            print(*_rows(gate), sep="\n", end="\n" if _rows(gate) else "", flush=True)
    print(f"{passed} of {asked.gates} gates passed, {failed} failed: {asked.suite}")
    return 0 if asked.gates - passed <= ALLOWED * asked.gates else 1


if __name__ == "__main__":
    sys.exit(main())
