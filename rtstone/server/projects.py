"""The directories of the server: a store for each project, as every other store is.

The project `main` is the store itself, so that `rtstone serve` shows the runs that are there; the
others are stores in its directory `projects`.  RTSTONE_HOME=STORE/projects/NAME makes one that of
all commands.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rtstone.errors import UsageError
from rtstone.store.layout import RUN_ID

MAIN = "main"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
DELETED = "deleted.jsonl"  # in a project's store: runs that were removed, a line each
ARRIVING = ".arriving"  # among the runs: uploads that are not complete
FULL = 1 << 16  # bytes that are free on a full disk: SQLite takes half of it to read a page


class Places:
    """The directories of a server's store."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def home(self, project: str) -> Path:
        """Return the store of a project.  Raises UsageError for a name that none can have."""
        if not NAME.fullmatch(project):
            raise UsageError(
                f"bad project '{project}'; a name has up to 32 letters a-z, digits and hyphens"
            )
        return self.store if project == MAIN else self.store / "projects" / project

    def runs(self, project: str) -> Path:
        """Return the directory of a project's run directories."""
        return self.home(project) / "runs"

    def run(self, project: str, run_id: str) -> Path:
        """Return the directory of a run.  Raises UsageError for an id that none can have."""
        if not RUN_ID.fullmatch(run_id):
            raise UsageError(f"bad run id '{run_id}'")
        return self.runs(project) / run_id

    def projects(self) -> list[str]:
        """Return the projects that have a store, `main` first."""
        folders = (self.store / "projects").glob("*")
        return [MAIN, *sorted(p.name for p in folders if NAME.fullmatch(p.name) and p.is_dir())]

    def is_used(self) -> bool:
        """Return whether the store has or had runs or uploads."""
        return any((home / "runs").is_dir() for home in map(self.home, self.projects()))


def free(store: Path) -> int:
    """Return how many bytes this process may still store in a directory.  Raises OSError."""
    return _free(os.statvfs(store))


def is_full(store: Path) -> bool:
    """Return whether the disk of a store has no room, for data or for files."""
    try:
        disk = os.statvfs(store)
    except OSError:
        return False
    return _free(disk) < FULL or (disk.f_files > 0 and not disk.f_ffree)


def _free(disk: os.statvfs_result) -> int:
    blocks = disk.f_bavail if os.geteuid() else disk.f_bfree
    return blocks * disk.f_frsize
