"""`make bench`: files of other tools that are eight times as long take about eight times the time.

CPU time is judged, the least of several tries.  The tests count the calls of each file; what a
regular expression or a search in a list takes shows here alone.
"""

from __future__ import annotations

import sys
from time import process_time

from tests.formats.long import LONG, read

SHORT, TIMES = 1000, 8
MOST = 30  # times: far from both the 8 of what is linear and the 64 of what is quadratic
TRIES = 5


def _least(data: bytes, form: str) -> float:
    """Seconds of CPU."""

    def taken() -> float:
        begin = process_time()
        read(data, form)
        return process_time() - begin

    return min(taken() for _ in range(TRIES))


def main() -> None:
    slow = False
    for make, form in LONG:
        short, long = (_least(make(n), form) for n in (SHORT, TIMES * SHORT))
        bad = long > MOST * short + 0.02
        slow = slow or bad
        told = f"{1e3 * short:.1f} ms and {1e3 * long:.1f} ms, goal {MOST} times"
        print(f"{'SLOW' if bad else 'good'}  import {make.__name__} as {form}: {told}")
    sys.exit(slow)


if __name__ == "__main__":
    main()
