"""What a task set did, in the directory of its run."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec

from rtstone import files
from rtstone.documents.tasks_run import SCHEMA, TasksRun
from rtstone.errors import StoreError, UsageError
from rtstone.printable import document
from rtstone.store.atomic import replace
from rtstone.store.attachments import attachments
from rtstone.store.layout import TASKS_RUN

NAME = "tasks-run.json"
LARGEST = 50_000_000  # bytes


def keep(directory: Path, ran: TasksRun) -> None:
    """Keep the document in the directory of its run.  Raises StoreError."""
    data = msgspec.json.encode(document(ran))
    try:
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, f"larger than {LARGEST} bytes")
        with files.directory(directory, links=True) as place:
            replace(place, NAME, data)
    except OSError as error:
        raise StoreError(f"{NAME} cannot be stored, {directory}: {error.strerror}") from error


def stored(directory: Path, run_id: str) -> TasksRun:
    """Return what the task set of a run did.  Raises UsageError if the run is of none."""
    try:
        documents, damaged = attachments(
            directory, run_id, TasksRun, schema=SCHEMA, names=TASKS_RUN, largest=LARGEST,
            check=lambda ran: None,
        )  # fmt: skip
    except OSError as error:
        raise UsageError(f"cannot read {NAME}, {directory}: {error.strerror}") from error
    if documents:
        return documents[0]
    why = damaged[0] if damaged else f"no {NAME}, {directory}"
    raise UsageError(f"{why}; name a run of `rtstone tasks run`")
