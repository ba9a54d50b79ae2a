"""The location of runs, the names of a run directory's files, and reading them."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shlex
from pathlib import Path

import msgspec

from rtstone.files import opened
from rtstone.folders import results
from rtstone.printable import shown

PLAN, LOG, RUN = "plan.json", "wire.log", "run.json"
# Of a sample by the numbers of its case and its own; one of a named series has that name's hash.
EXPLANATION = re.compile(r"explanation-\d{1,19}-\d{1,19}(?:-[0-9a-f]{8})?\.json")
SECTIONS = re.compile(r"sections-\d{1,19}(?:-[0-9a-f]{8})?\.json")  # of a case, the same
TASKS_RUN = re.compile(r"tasks-run\.json")  # what a task set did
ATTACHED = re.compile(  # to a run, later
    f"{EXPLANATION.pattern}|{SECTIONS.pattern}|{TASKS_RUN.pattern}"
)
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")  # that other stores may give a run
RUNS, CATALOGUE = "runs", "catalogue.db"  # of a store: its run directories, and their cache
NEW = ".new"  # suffix of a file that is still being written
LARGEST = 1 << 30  # bytes; nothing larger is a document

# What decoding raises, for invalid UTF-8 and too deep nesting too.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def runs() -> Path:
    """Return the directory of run directories, each named by its run id."""
    return results() / RUNS


def run_name(path: Path, name: str | None) -> str:
    """Return what a command line calls a run: name or id if it is in the store, else its path.

    ``name``: what the user called it.
    """
    among_all = path.absolute().parent == runs().absolute()
    return shlex.quote(name or path.name if among_all else shown(str(path)))


def holds_run(path: Path) -> bool:
    """Return whether a path is a run directory.  Raises PermissionError if access is denied."""
    try:
        return (path / PLAN).exists() or (path / RUN).exists()
    except PermissionError:
        raise
    except (OSError, ValueError):  # no valid file name: too long, or with a NUL
        return False


def regular(path: Path, largest: int | None = None) -> bytes:
    """Return the content of a file.

    Raises OSError also for files that may never end (pipes) and for more than ``largest`` bytes.
    """
    with opened(path) as file:
        if largest is not None and os.fstat(file.fileno()).st_size > largest:
            raise OSError(errno.EFBIG, f"{path.name} is larger than {largest} bytes")
        return file.read()


def of_series(series: str) -> str:
    """Return the end of the name of a file that is about a series, "" for the only one."""
    digest = hashlib.sha256(series.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"-{digest}" if series else ""


def lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file for as long as it is open; return whether no other process has locked it.

    ``kind``: LOCK_SH to share it.  A file system without locks counts as free.
    """
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
