"""`make bench`: importing a file that is eight times as long takes about eight times as long.

The minimum CPU time of several tries counts.  The tests count function calls instead, which does
not include the time of a regular expression or of a search in a list.
"""

from __future__ import annotations

import sys
from time import process_time

from tests.formats.long import LONG, read

SHORT, TIMES = 1000, 8
MOST = 30  # ratio of times: far from both 8 (linear) and 64 (quadratic)
TRIES = 5


def _least(data: bytes, form: str) -> float:
    """Return the minimum CPU time, in s."""

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
        text = f"{1e3 * short:.1f} ms and {1e3 * long:.1f} ms, goal {MOST} times"
        print(f"{'SLOW' if bad else 'good'}  import {make.__name__} as {form}: {text}")
    sys.exit(slow)


if __name__ == "__main__":
    main()
