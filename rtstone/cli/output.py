"""Print documents to stdout."""

from __future__ import annotations

import sys

import msgspec

from rtstone import printable


def print_document(document: object) -> None:
    """Print one JSON document and a newline: the whole of stdout with --json."""
    try:
        data = msgspec.json.encode(document)
    except UnicodeEncodeError:  # a name of a file may be any bytes
        data = msgspec.json.encode(printable.every(msgspec.to_builtins(document)))
    sys.stdout.buffer.write(msgspec.json.format(data) + b"\n")
    sys.stdout.buffer.flush()
