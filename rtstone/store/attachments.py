"""Documents about the cases of a run that are kept in its directory, a file each."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from re import Pattern
from typing import TypeVar

import msgspec

from rtstone import files
from rtstone.documents.explanation import Explanation
from rtstone.documents.sections import SectionsOfRun
from rtstone.documents.tasks_run import TasksRun
from rtstone.printable import parsed, shown
from rtstone.store.layout import UNREADABLE

Attached = TypeVar("Attached", Explanation, SectionsOfRun, TasksRun)


def attachments(
    directory: Path,
    run_id: str,
    kind: type[Attached],
    *,
    schema: str,
    names: Pattern[str],
    begin: str = "",
    largest: int,
    check: Callable[[Attached], None],
) -> tuple[list[Attached], list[str]]:
    """Return the documents of a run, by name of their files, and why others cannot be read.

    A damaged one spoils only itself.  ``begin``: of the ``names`` that are read.  ``largest``: a
    file has no more bytes.  ``check``: raises as decoding does.  Raises OSError for the directory.
    """
    documents, damaged = [], []
    with files.directory(directory, links=True) as place:
        present = sorted(filter(names.fullmatch, os.listdir(place)))  # noqa: PTH208
        for name in (name for name in present if name.startswith(begin)):
            try:
                document = parsed(_content(place, name, largest), kind)
                if document.schema != schema:
                    raise msgspec.ValidationError(f"not of schema {schema}")
                if document.run_id != run_id:
                    raise msgspec.ValidationError(f"of another run, {document.run_id}")
                check(document)
            except (OSError, *UNREADABLE) as error:
                why = error.strerror if isinstance(error, OSError) else error
                damaged.append(f"not a readable {name}, {directory}: {shown(str(why))}")
            else:
                documents.append(document)
    return documents, damaged


def _content(place: int, name: str, largest: int) -> bytes:
    """Return the content of a file of an open directory.  Raises OSError, as ``regular`` does."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=place), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if status.st_size > largest:
            raise OSError(errno.EFBIG, f"larger than {largest} bytes")
        return file.read()
