"""The user's folders (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from pathlib import Path

from rtstone.errors import UsageError


def folder(variable: str, usual: str) -> Path | None:
    """Return the folder that an environment variable names, else the usual one below the home.

    None if there is no home: neither HOME nor an entry of this user in passwd.
    """
    if (named := Path(os.environ.get(variable, ""))).is_absolute():  # others do not count
        return named
    try:
        return Path.home() / usual
    except RuntimeError:
        return None


def needed(variable: str, usual: str, what: str, name: str) -> Path:
    """Return the same; without a home, raise UsageError: ``name`` gives ``what`` a place."""
    path = folder(variable, usual)
    if path is None:
        raise UsageError(
            f"no place for {what}: this user has neither HOME nor an entry in passwd; "
            f"name one with {name}"
        )
    return path
