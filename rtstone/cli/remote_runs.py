"""Runs that a command names by their URL on a results server: fetched before they are read."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rtstone.cli.progress import working

_held: list[TemporaryDirectory[str]] = []


def is_url(text: str) -> bool:
    """Return whether a run is named by its URL."""
    return text.startswith(("http://", "https://"))


def local(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with the directories of fetched runs in place of URLs.

    Runs of one system are joined by commas, as in RUN,URL.  The directories are removed when the
    command ends.  Raises UsageError, TargetError.
    """
    directories: list[str] = []
    for name in names:
        if "://" in name:
            from rtstone.server.client.fetch import fetch, named

            with working("fetching runs"):
                parts = [
                    str(fetch(named(part), scratch())) if is_url(part) else part
                    for part in name.split(",")
                ]
            directories.append(",".join(parts))
        else:
            directories.append(name)
    return tuple(directories)


def scratch() -> Path:
    """Return a new directory that only this process knows, and that goes with it."""
    directory = TemporaryDirectory(prefix="rtstone-fetched-")
    _held.append(directory)
    atexit.register(directory.cleanup)
    return Path(directory.name)
