"""The user's folders (XDG Base Directory Specification)."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from rtstone.errors import UsageError

HOMELESS = "this user has neither HOME nor an entry in passwd"


def folder(variable: str, usual: str) -> Path | None:
    """Return the folder that an environment variable names, else the usual one below the home.

    None if there is no home: neither HOME nor an entry of this user in passwd.
    """
    if (named := Path(os.environ.get(variable, ""))).is_absolute():  # others do not count
        return named
    home = Path(os.environ.get("HOME", ""))
    if not home.is_absolute():
        try:
            home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            return None
    return home / usual if home.is_absolute() else None


def needed(variable: str, usual: str, noun: str, name: str) -> Path:
    """Return the same; without a home, raise UsageError: ``name`` names a place for ``noun``."""
    path = folder(variable, usual)
    if path is None:
        raise UsageError(f"no place for {noun}: {HOMELESS}; name one with {name}")
    return path


def results() -> Path:
    """Return the store's directory: $RTSTONE_HOME, else rtstone in the user's data directory."""
    if named := os.environ.get("RTSTONE_HOME"):
        return Path(named)
    return needed("XDG_DATA_HOME", ".local/share", "results", "RTSTONE_HOME") / "rtstone"
