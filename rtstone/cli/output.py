"""Documents on stdout."""

from __future__ import annotations

import sys

import msgspec


def print_document(document: object) -> None:
    """One JSON document and a line end: all that stdout carries with --json."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    sys.stdout.buffer.flush()
