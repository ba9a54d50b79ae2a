"""The sections of cases, in the directories of their runs."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone import files
from rtstone.documents.consistency import check_sections
from rtstone.documents.sections import SCHEMA, SectionsOfRun
from rtstone.errors import StoreError
from rtstone.printable import document
from rtstone.store.atomic import replace
from rtstone.store.attachments import attachments
from rtstone.store.layout import SECTIONS, of_series

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
    try:
        sections, damaged = attachments(
            directory, run_id, SectionsOfRun, schema=SCHEMA, names=SECTIONS, largest=LARGEST,
            check=check_sections,
        )  # fmt: skip
    except OSError as error:
        return Stored([], [f"cannot read sections, {directory}: {error.strerror}"])
    return Stored(sections, damaged)
