"""JSON of other tools: strict, and bounded in depth."""

from __future__ import annotations

import json
from typing import Any, Never, TypeVar

import msgspec

from rtstone.formats.source import Source

_T = TypeVar("_T")


class _BrokenError(ValueError):
    """Reject what JSON allows but a measurement does not: duplicate keys, non-numbers."""


def parse(source: Source, text: str) -> Any:
    """Return the value of a JSON text.  Refuses one that is cut, or that holds a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            source.cut(f"after {error.pos} characters", error.lineno)
        source.refuse(f"no JSON: {error.msg}", error.lineno)
    except _BrokenError as error:
        source.refuse(str(error))
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        source.refuse("no JSON that a tool would write")


def convert(source: Source, value: object, kind: type[_T]) -> _T:
    """Return the value as a document of that kind.  Refuses what is missing or of another type."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        source.refuse(f"{error}")


def buckets(source: Source, histogram: dict[str, int], where: str) -> dict[int, int]:
    """Counts by value."""
    found: dict[int, int] = {}
    for text, count in histogram.items():
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            source.refuse(f"{where}: bucket '{text[:40]}' is not a whole number from 0")
        if int(text) in found:
            source.refuse(f"{where}: bucket {text} is there twice")
        if count < 0:
            source.refuse(f"{where}: bucket {text} has a negative count")
        found[int(text)] = count
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _BrokenError(f"key '{key[:40]}' is there twice")
        found[key] = value
    return found


def _constant(text: str) -> Never:
    raise _BrokenError(f"{text} is no number")
