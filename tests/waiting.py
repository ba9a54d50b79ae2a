"""Waits for what happens soon, on a machine that has other things to do."""

from __future__ import annotations

import time
from collections.abc import Callable


def soon(happened: Callable[[], object], within_s: float = 20) -> bool:
    """Wait until something has happened; return whether it did in time."""
    end = time.monotonic() + within_s
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
