"""Print the change points that Apache Otava finds, as JSON; runs in its own Python.

stdin: a list of series.  stdout: for each, the places by the algorithm of Matteson and James with
its permutation test, and by Hunter's with its t-test.
"""

import json
import sys

from otava.analysis import compute_change_points, compute_change_points_orig


def main() -> None:
    """Read the series, and print their change points."""
    series_points = []
    for series in json.load(sys.stdin):
        original, _ = compute_change_points_orig(series, max_pvalue=0.05, seed=1)
        hunter, _ = compute_change_points(series, max_pvalue=0.001)
        series_points.append(
            [[int(point.index) for point in points] for points in (original, hunter)]
        )
    json.dump(series_points, sys.stdout)


if __name__ == "__main__":
    main()
