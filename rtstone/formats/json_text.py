"""Parse the JSON of other tools, strictly."""

from __future__ import annotations

import json
from typing import Any, Never, TypeVar

import msgspec

from rtstone import structures
from rtstone.documents.run import Value
from rtstone.formats.source import Source

_T = TypeVar("_T")


class Uname(msgspec.Struct):
    """The members of uname(2), as several tools write them."""

    sysname: str | None = None
    nodename: str | None = None
    release: str | None = None
    version: str | None = None
    machine: str | None = None

    def conditions(self) -> dict[str, Value]:
        """Return what is known, as conditions of a run."""
        named = {
            "kernel.name": self.sysname, "kernel.release": self.release,
            "kernel.version": self.version, "machine.arch": self.machine,
            "machine.host": self.nodename,
        }  # fmt: skip
        return {name: value for name, value in named.items() if value is not None}


class _BrokenError(ValueError):
    """The text has what Python's JSON accepts but no tool writes: duplicate keys, NaN."""


def parse(source: Source, text: str) -> Any:
    """Return the value of a JSON text.  Refuses truncated text and duplicate keys."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in pairs:
            if key in members:
                raise _BrokenError(f"key '{key[:40]}' appears twice")
            members[key] = value
        return members

    def refuse_constant(constant: str) -> Never:
        raise _BrokenError(f"{constant} is not a number")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            source.cut(f"after {error.pos} characters", error.lineno)
        source.refuse(f"no JSON: {error.msg}", error.lineno)
    except _BrokenError as error:
        source.refuse(str(error))
    except (ValueError, RecursionError):  # too many digits, or nested too deeply
        source.refuse("no JSON that a tool would write")


def convert(source: Source, value: object, kind: type[_T]) -> _T:
    """Convert a value to a type.  Refuses missing members and wrong types."""
    try:
        return structures.convert(value, kind)
    except msgspec.ValidationError as error:
        source.refuse(f"{error}")


def buckets(source: Source, histogram: dict[str, int], where: str) -> dict[int, int]:
    """Return the counts by value.  Refuses keys that are no whole numbers, and negative counts."""
    counts: dict[int, int] = {}
    for text, count in histogram.items():
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            source.refuse(f"{where}: bucket '{text[:40]}' is not a whole number from 0")
        if int(text) in counts:
            source.refuse(f"{where}: bucket {text} appears twice")
        if count < 0:
            source.refuse(f"{where}: bucket {text} has a negative count")
        counts[int(text)] = count
    return counts
