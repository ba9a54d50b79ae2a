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
    return tuple(_local(name) if "://" in name else name for name in names)


def _local(text: str) -> str:
    from rtstone.server.client.fetch import fetch, named

    parts = text.split(",")
    with working("fetching runs"):
        return ",".join(
            str(fetch(named(part), scratch())) if is_url(part) else part for part in parts
        )


def scratch() -> Path:
    """Return a new directory that only this process knows, and that goes with it."""
    found = TemporaryDirectory(prefix="rtstone-fetched-")
    _held.append(found)
    atexit.register(found.cleanup)
    return Path(found.name)
