"""The table of contents of a bundle: runs with their plans and logs, in one file for others.

A release may add members; a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

import msgspec

from rtstone.wire.records import Natural

SCHEMA = "rtstone.bundle/1"


class BundledFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a run: its size in bytes, and its SHA-256 in hex."""

    size: Natural
    sha256: str


class BundledRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a bundle.

    ``name``: what a person calls it.  ``target``: what was measured.  ``command``: the command
    line, word by word.  ``agent``, ``source``: version and source hash of the agent that took the
    samples; None if the run has none, as an imported one.  ``files``: those of its directory, by
    name.
    """

    run_id: str
    created: str
    name: str | None = None
    target: str
    suite: str | None = None
    command: list[str] = []
    agent: str | None = None
    source: str | None = None
    files: dict[str, BundledFile]


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a bundle, by their ids; ``rtstone``: the version that made it."""

    schema: str = SCHEMA
    rtstone: str
    runs: list[BundledRun]
