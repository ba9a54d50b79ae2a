"""The sections of cases, in the directories of their runs."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone import files
from rtstone.documents.consistency import check_sections
from rtstone.documents.sections import SCHEMA, SectionsOfRun
from rtstone.errors import StoreError
from rtstone.printable import document, parsed, shown
from rtstone.store.atomic import replace
from rtstone.store.layout import SECTIONS, UNREADABLE, attached, of_series

LARGEST = 10_000_000  # bytes of one


class Stored(NamedTuple):
    """The sections of a run by case; ``damaged``: why others cannot be read."""

    sections: list[SectionsOfRun]
    damaged: list[str]


def keep(directory: Path, sections: SectionsOfRun) -> None:
    """Keep the sections of a case in the directory of its run, in place of earlier ones.

    Raises StoreError.
    """
    data = msgspec.json.encode(document(sections))
    try:
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, f"larger than {LARGEST} bytes")
        with files.directory(directory, links=True) as place:
            replace(place, f"sections-{sections.case}{of_series(sections.series)}.json", data)
    except OSError as error:
        raise StoreError(f"the sections cannot be stored, {directory}: {error.strerror}") from error


def stored(directory: Path, run_id: str) -> Stored:
    """Return the sections of a run; a damaged document spoils only itself."""
    sections, damaged = [], []
    try:
        with files.directory(directory, links=True) as place:
            for name in sorted(filter(SECTIONS.fullmatch, os.listdir(place))):  # noqa: PTH208
                try:
                    sections.append(_read(place, name, run_id))
                except (OSError, *UNREADABLE) as error:
                    why = error.strerror if isinstance(error, OSError) else error
                    damaged.append(f"not a readable {name}, {directory}: {shown(str(why))}")
    except OSError as error:
        damaged.append(f"cannot read sections, {directory}: {error.strerror}")
    return Stored(sections, damaged)


def _read(place: int, name: str, run_id: str) -> SectionsOfRun:
    """Return the sections in a file of a directory.  Raises OSError, or as decoding does."""
    sections = parsed(attached(place, name, LARGEST), SectionsOfRun)
    if sections.schema != SCHEMA:
        raise msgspec.ValidationError(f"not of schema {SCHEMA}")
    if sections.run_id != run_id:
        raise msgspec.ValidationError(f"of another run, {sections.run_id}")
    check_sections(sections)
    return sections
