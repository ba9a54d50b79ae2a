"""rtstone measures the real-time behaviour of operating systems.

import rtstone

assert rtstone.run("dk.periodic", load="heavy").p9999 < rtstone.us(50)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rtstone.api import (
        Comparison,
        Gate,
        Histogram,
        Inconclusive,
        Interrupted,
        Measured,
        Quantity,
        Result,
        RtstoneError,
        Run,
        StoreError,
        TargetError,
        Unfit,
        UsageError,
        check,
        compare,
        judge,
        load,
        ms,
        ns,
        run,
        s,
        us,
    )

__version__ = "0.3.0"
__all__ = [
    "Comparison", "Gate", "Histogram", "Inconclusive", "Interrupted", "Measured", "Quantity",
    "Result", "RtstoneError", "Run", "StoreError", "TargetError", "Unfit", "UsageError",
    "__version__", "check", "compare", "judge", "load", "ms", "ns", "run", "s", "us",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the interface when any of it is first used."""
    if name in __all__:
        from rtstone import api

        return getattr(api, name)
    raise AttributeError(f"module 'rtstone' has no attribute '{name}'")
