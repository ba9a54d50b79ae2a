"""The numbers of the publications, as printed (published.json)."""

from __future__ import annotations

from functools import cache

import msgspec

from rtstone import resources
from rtstone.documents.reproduction import Printed

FILE = resources.path("stats", "published", "published.json")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A publication.  ``text``: its citation.  ``platform``: what its author measured on."""

    text: str
    platform: str


class _Document(msgspec.Struct, frozen=True):
    sources: dict[str, Source]
    records: list[Printed]


@cache
def _document() -> _Document:
    return msgspec.json.decode(FILE.read_bytes(), type=_Document)


def sources() -> dict[str, Source]:
    """Return the publications by their short names."""
    return _document().sources


@cache
def _records(source: str | None) -> list[Printed]:
    """Return the numbers of a publication, or all numbers."""
    return [r for r in _document().records if source in (None, r.source)]


def find(**wanted: str) -> list[Printed]:
    """Return all numbers whose members have these values, in the order of the publications."""
    return [
        record
        for record in _records(wanted.get("source"))
        if all(getattr(record, name) == value for name, value in wanted.items())
    ]


def value(**wanted: str) -> float | None:
    """Return the one number whose members have these values.

    Raises LookupError unless exactly one does.
    """
    records = find(**wanted)
    if len(records) != 1 or isinstance(records[0].value, str):
        raise LookupError(f"{len(records)} published numbers, not one: {wanted}")
    return records[0].value
