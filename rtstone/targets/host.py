"""The host of a run, which is this process, wherever the target is."""

from __future__ import annotations

from rtstone.errors import TargetError
from rtstone.system.sandbox import fatal


def check_host() -> None:
    """Raise TargetError if a sandbox would kill this process, which then could not report it."""
    if why := fatal():
        raise TargetError(f"nothing can be measured from here: {why}")
