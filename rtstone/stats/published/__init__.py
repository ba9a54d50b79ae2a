"""The numbers of the publications, as printed (published.json)."""

from __future__ import annotations

from functools import cache

import msgspec

from rtstone import resources, structures
from rtstone.documents.reproduction import Printed

FILE = resources.path("stats", "published", "published.json")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A publication.

    ``text``: its citation.  ``platform``: what its author measured on.  ``contents``: its tables
    and figures that are known, and its sections where it has neither.
    """

    text: str
    platform: str
    contents: list[str]


class _Document(msgspec.Struct, frozen=True):
    sources: dict[str, Source]
    records: list[Printed]


@cache
def _document() -> _Document:
    return structures.decode(FILE.read_bytes(), _Document)


def sources() -> dict[str, Source]:
    """Return the publications by their short names."""
    return _document().sources


def find(source: str, **members: str) -> list[Printed]:
    """Return the numbers of a publication whose members have these values, in its order."""
    return [
        record
        for record in _document().records
        if record.source == source
        and all(getattr(record, name) == value for name, value in members.items())
    ]
