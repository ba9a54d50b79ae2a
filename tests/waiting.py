"""Waits for what happens soon, on a machine that has other things to do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 20


def soon(happened: Callable[[], object]) -> bool:
    """Wait until something has happened; return whether it did within 20 s."""
    end = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
