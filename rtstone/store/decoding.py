"""Read the JSON documents of run directories."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from rtstone import structures
from rtstone.documents.consistency import check_sound
from rtstone.documents.run import SCHEMA, Run
from rtstone.errors import UsageError
from rtstone.printable import parsed
from rtstone.store.layout import LARGEST, PLAN, RUN, UNREADABLE, regular

_T = TypeVar("_T")

_WITHOUT = {
    RUN: "; without it the document is made from the logs",
    PLAN: "; without it the logs cannot be read: restore it, or remove the run",
}


class _Schema(msgspec.Struct):
    schema: str = ""


def decode(path: Path, kind: type[_T]) -> _T:
    """Return the document in a file, of a run or a plan.

    Raises OSError, and UsageError for one that is damaged or contradicts itself.
    """
    data = regular(path, LARGEST)
    try:
        if kind is Run and structures.decode(data, _Schema).schema != SCHEMA:
            raise UsageError(f"not of schema {SCHEMA}, {path}; another version of rtstone wrote it")
        with uncollected():
            document = parsed(data, kind)
        if isinstance(document, Run):
            check_sound(document)
        return document
    except UNREADABLE as error:
        again = _WITHOUT.get(path.name, "")
        raise UsageError(f"not a readable {path.name}, {path}: {error}{again}") from error


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection, which would take most of the time of reading documents."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
