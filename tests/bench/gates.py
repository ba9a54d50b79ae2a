"""`make bench`: draft gates as in the tutorial and check the following runs against them.

The machine does not change, so a gate that fails is a false alarm.  The commands are those of
docs/start/tutorial.md: run a suite, draft a gate from five runs, check the next one; then repeat
with the five runs that start one later, and so on.  Measure on a quiet machine:

    python -m tests.bench.gates [--suite quick] [--gates 20] [--from 5] [--time S]

Limits relative to a baseline can be judged without a machine, on numbers drawn at random:

    python -m tests.bench.gates --relative 1000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtstone.stats.limits import exactly
from rtstone.stats.tolerance import Number, Tolerance

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
        document: dict[str, object] = json.loads(done.stdout)
        return document


def _rows(gate: dict[str, object]) -> list[str]:
    """Return a line for each check that did not pass."""
    checks: list[dict[str, object]] = gate["checks"]  # type: ignore[assignment]
    return [
        f"  {c['verdict']}: {c['bench']} {c['label']} load {c['load']}: {c['what']} "
        f"{c['observed']} {c['unit']} {c['ci95']}, limit {c['limit']}; {c['reason']}"
        for c in checks
        if c["verdict"] != "passed"
    ]


class Audit(NamedTuple):
    """A system whose runs are judged by limits relative to runs of the same one.

    ``scatter``: of the logarithms of a case between runs; ``apart``: of the logarithm of that
    scatter between cases.  ``episodes``: the share of values that are larger by 20 to 50%.
    ``worse``: by how many percent the first case of the run judged is slower.
    """

    percent: float = 10.0
    cases: int = 45
    runs: int = 5
    scatter: float = 0.02
    apart: float = 0.0
    episodes: float = 0.0
    worse: float = 0.0


def relative(audit: Audit, gates: int, seed: int = 1) -> Counter[str]:
    """Return how many gates had which verdict, and in how many the first case failed."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    shape = (gates, audit.cases, audit.runs + 1)
    scatter = audit.scatter * np.exp(audit.apart * rng.standard_normal((gates, audit.cases, 1)))
    values = 1000 * np.exp(scatter * rng.standard_normal(shape))
    larger = rng.random(shape) < audit.episodes
    values = np.where(larger, values * rng.uniform(1.2, 1.5, shape), values)
    values[:, 0, -1] *= 1 + audit.worse / 100
    for gate in values.tolist():
        numbers = [
            Number("p50", exactly(last), before, 1 + audit.percent / 100) for *before, last in gate
        ]
        rule = Tolerance(numbers)
        verdicts = [rule.judged(number).verdict for number in numbers]
        order = ("failed", "inconclusive", "passed")
        counts[next(verdict for verdict in order if verdict in verdicts)] += 1
        counts["first"] += verdicts[0] == "failed"
    return counts


def _relative(gates: int) -> None:
    """Print a line for each kind of system."""
    kinds: dict[str, dict[str, Any]] = {
        "unchanged": {}, "first case 15% slower": {"worse": 15.0},
        "unchanged, cases scatter unlike": {"apart": 0.8},
        "unchanged, 2% of values in episodes": {"episodes": 0.02},
        "unchanged, 10% of values in episodes": {"episodes": 0.1},
        "unchanged, 10 runs before": {"runs": 10}, "unchanged, 3 runs before": {"runs": 3},
    }  # fmt: skip
    for percent in (2.0, 5.0, 10.0):
        for name, members in kinds.items():
            counts = relative(Audit(percent)._replace(**members), gates)
            shares = [f"{kind} {counts[kind] / gates:.1%}" for kind in
                    ("passed", "inconclusive", "failed")]  # fmt: skip
            first = f", the first case {counts['first'] / gates:.1%}" if "worse" in members else ""
            print(f"+{percent:g}%, {name}: {', '.join(shares)}{first}", flush=True)


def main() -> int:
    """Return 0 if at least 19 of 20 gates passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--from", type=int, default=5, dest="runs")
    parser.add_argument("--time")
    parser.add_argument("--relative", type=int, metavar="GATES")
    options = parser.parse_args()
    if options.relative:
        _relative(options.relative)
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="rtstone-gates-") as home:
        bench = Bench(Path(home), options.suite, options.time)
        for _ in range(options.runs):
            bench.measure()
        for number in range(1, options.gates + 1):
            bench.measure()
            gate = bench.gate(number, options.runs)
            passed += gate["verdict"] == "passed"
            failed += gate["verdict"] == "failed"
            checks = len(gate["checks"])  # type: ignore[arg-type]
            print(f"gate {number}: {gate['verdict']}, {checks} limits", flush=True)
            print(*_rows(gate), sep="\n", end="\n" if _rows(gate) else "", flush=True)
    print(f"{passed} of {options.gates} gates passed, {failed} failed: {options.suite}")
    return 0 if options.gates - passed <= ALLOWED * options.gates else 1


if __name__ == "__main__":
    sys.exit(main())
