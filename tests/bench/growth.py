"""Growth with the noise of a machine: how many of 1000 planted costs have their class?

Of each class, disturbed by recorded noise (tests/stats/grown.py), in the rounds of
`rtstone growth`.  Exits with 1 if fewer than 95% of a class are right.

    python -m tests.bench.growth [--costs 1000] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice

import numpy as np

from rtstone.stats.growth import CLASSES
from tests.stats.grown import is_right, scanned

WANTED = 0.95


def main() -> int:
    """Print the classes that `rtstone growth` names of costs of each class."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--costs", type=int, default=1000, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scan = scanned(np.random.default_rng(options.seed))
    answers = {kind: Counter[str]() for kind in CLASSES}
    right = Counter[str]()
    for kind, pair in islice(scan, options.costs * len(CLASSES)):
        answers[kind][pair.growth or "none"] += 1
        right[kind] += is_right(kind, pair)
    for kind, counts in answers.items():
        listed = ", ".join(f"{count} {answer}" for answer, count in counts.most_common())
        print(f"{kind}: {right[kind]} of {options.costs} right: {listed}")
    return int(min(right[kind] for kind in CLASSES) < WANTED * options.costs)


if __name__ == "__main__":
    sys.exit(main())
