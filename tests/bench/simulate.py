"""`make bench`: simulated events per second of CPU time, and agreement of the workers.

CPU time of this process, not wall-clock time: other work on the machine matters little.
"""

from __future__ import annotations

import sys
import time
from statistics import median

from rtstone.simulate.engine import Simulator
from rtstone.simulate.study import Study, run
from rtstone.simulate.taskset import POLICIES, Rules, stacked
from rtstone.simulate.workload import Workload, draw, fill

ROUNDS = 7
TASKS = (5, 10, 20, 50)
SETS = 20
PPM = 900_000
WORKLOAD = Workload(seed=123, end=5 * 10**9)
GOAL = 1e7  # events per second and core


def speed(simulator: Simulator, rules: Rules) -> float:
    """Return events per second of CPU time, over all sets."""
    begin = time.process_time()
    events = int(simulator.run(rules).totals["events"].sum())
    return events / (time.process_time() - begin)


def engine() -> float:
    """Print the speed of the event loop by policy and number of tasks; return the lowest."""
    print(f"events per second and core, in millions; {SETS} sets of 5 s at utilisation "
          f"{PPM / 1e6}, median of {ROUNDS} rounds (least to most)")  # fmt: skip
    least = float("inf")
    for policy in POLICIES:
        cells = []
        for n in TASKS:
            keys = [(n, PPM, number) for number in range(SETS)]
            sets = [fill(WORKLOAD, draw(WORKLOAD, *key), 0.9, key) for key in keys]
            simulator = Simulator(stacked(sets))
            speeds = sorted(speed(simulator, Rules(policy)) / 1e6 for _ in range(ROUNDS))
            least = min(least, median(speeds) * 1e6)
            cells.append(f"n={n}: {median(speeds):5.1f} ({speeds[0]:.1f} to {speeds[-1]:.1f})")
        print(f"  {policy:6} {'   '.join(cells)}")
    return least


STUDY = Study(WORKLOAD, tuple(map(Rules, POLICIES)), (5, 20), (500_000, 900_000, 1_300_000), 50)


def study() -> float:
    """Print the speed of a whole study; return it."""
    speeds = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        points, _ = run(STUDY, 1)
        spent = time.process_time() - begin
        speeds.append(sum(point.events for point in points) / spent / 1e6)
    text = f"{median(speeds):.1f} million events of its points per second and core"
    between = f"({min(speeds):.1f} to {max(speeds):.1f})"
    print(f"a study, its sets drawn and its breakdowns found: {text} {between}")
    return median(speeds) * 1e6


def workers() -> bool:
    """Return whether one worker and two give the same."""
    same = run(STUDY, 2) == run(STUDY, 1)
    print(f"1 and 2 workers: {'the same result' if same else 'DIFFERENT RESULTS'}")
    return same


def main() -> int:
    """Return 1 if the engine is slower than required or the workers disagree."""
    fast = min(engine(), study()) >= GOAL
    if not fast:
        print(f"slower than {GOAL:.0e} events per second and core")
    return 0 if workers() and fast else 1


if __name__ == "__main__":
    sys.exit(main())
