"""rtstone measures how real-time an operating system is.

import rtstone

assert rtstone.run("dk.periodic", load="heavy").p9999 < rtstone.us(50)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rtstone.api import Measured, Quantity, ms, ns, run, s, us

__version__ = "0.2.0"
__all__ = ["Measured", "Quantity", "__version__", "ms", "ns", "run", "s", "us"]


def __getattr__(name: str) -> object:
    """Loads what it takes to measure when that is first asked for."""
    if name in __all__:
        from rtstone import api

        return getattr(api, name)
    raise AttributeError(f"module 'rtstone' has no attribute '{name}'")
