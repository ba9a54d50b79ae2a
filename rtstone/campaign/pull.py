"""Bring the runs of a campaign together: from another machine by ssh, or from a directory.

What comes is not trusted: only the files of a run directory are taken, under the names that they
have there, and only of runs that can be read.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from rtstone.campaign.engines import drop, drop_left, new_home
from rtstone.campaign.job_table import arrived, folder
from rtstone.campaign.owners import Owner
from rtstone.errors import StoreError, TargetError, UsageError
from rtstone.files import opened
from rtstone.store.index import arrivals
from rtstone.store.intake import FILES, is_whole, refusal, take_in
from rtstone.store.layout import LARGEST, RUN, runs
from rtstone.targets.ssh_connection import Login, address

AT_ONCE = 50  # runs that a machine sends at a time
SEND_S = 600.0  # time limit for them

_HOST = re.compile(r"(?P<host>[^/:]+|\[[^]]+\]|[^/:]+@[^/:]+)(?::(?P<port>\d+))?:(?P<folder>.*)")

# $1: RTSTONE_HOME there, or nothing; goes to the runs.
_GO = """
home=${1:-${RTSTONE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/rtstone}}
cd "$home/runs" 2>/dev/null || { echo "no runs in $home" >&2; exit 1; }
shift
"""
_LIST = f'{_GO}for run in "$1".*; do [ ! -f "$run/{RUN}" ] || echo "$run"; done'
_SEND = f'{_GO}exec tar -cf - -- "$@"'


class Pulled(NamedTuple):
    """How many runs came, and were here; ``refused``: what was left out, and why."""

    taken: int
    present: int
    refused: list[str]


def pull(name: str, source: str) -> Pulled:
    """Bring the runs of a campaign here.

    ``source``: HOST:[DIR] or DIR, what RTSTONE_HOME names there.  Raises UsageError, TargetError,
    StoreError.
    """
    origin = _Machine(source) if _HOST.fullmatch(source) else _Folder(Path(source))
    here = arrived(name)
    pattern = re.compile(rf"{re.escape(name)}\.[0-9a-f]{{16}}")
    names = [run_id for run_id in origin.names(name) if pattern.fullmatch(run_id)]
    wanted = [run_id for run_id in names if run_id.partition(".")[2] not in here]
    refused: list[str] = []
    taken, arrival = 0, arrivals()
    with _owner(name) as owner:
        for first in range(0, len(wanted), AT_ONCE):
            home = new_home(name, owner.name)
            try:
                for run_id, lack in origin.fetch(wanted[first : first + AT_ONCE], home):
                    why = lack or refusal(home / run_id)
                    if why is None:
                        taken += take_in(home / run_id, arrival := arrival + 1)
                    else:
                        refused.append(f"{run_id}: {why}")
            finally:
                drop(home)
    return Pulled(taken, len(names) - len(wanted), refused)


@contextmanager
def _owner(name: str) -> Iterator[Owner]:
    """Own the homes of arriving runs; remove those left by killed processes.  Raises StoreError."""
    place = folder(name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        owner = Owner(place)
    except OSError as error:
        raise StoreError(f"results cannot be stored, {place}: {error.strerror}") from error
    try:
        owner.sweep()
        drop_left(name)
        yield owner
    finally:
        owner.close()


class _Folder:
    """The home of rtstone in another directory."""

    def __init__(self, home: Path) -> None:
        self._runs = home / "runs"
        if not self._runs.is_dir():
            raise UsageError(
                f"no runs, in {home}; name what RTSTONE_HOME names there, or a machine as HOST:"
            )
        if self._runs.resolve() == runs().resolve():
            raise UsageError(f"{home} is where runs are stored here; there is nothing to pull")

    def names(self, name: str) -> list[str]:
        """Return the runs of a campaign that are there."""
        return sorted(path.name for path in self._runs.glob(f"{name}.*") if is_whole(path))

    def fetch(self, names: list[str], home: Path) -> Iterator[tuple[str, str | None]]:
        """Copy runs, and yield their names, each with why it cannot be taken, None if it can.

        Raises StoreError.
        """
        for name in names:
            try:
                with ExitStack() as held:
                    files = self._files(name, held)
                    (home / name).mkdir()
                    for file, source in files.items():
                        _store(source, home / name / file)
            except OSError as error:
                yield name, error.strerror or "it cannot be read"
            else:
                yield name, None

    def _files(self, name: str, held: ExitStack) -> dict[str, IO[bytes]]:
        """Open the files of a run.  Raises OSError if one is none, is a link, or is too large."""
        files = {}
        for path in (self._runs / name).iterdir():
            if not FILES.fullmatch(path.name):
                continue
            if path.is_symlink():
                raise OSError(errno.ELOOP, f"{path.name} is a link")
            files[path.name] = source = held.enter_context(opened(path))
            if os.fstat(source.fileno()).st_size > LARGEST:
                raise OSError(errno.EFBIG, f"{path.name} is larger than {LARGEST >> 20} MiB")
        return files


class _Machine:
    """The home of rtstone on another machine."""

    def __init__(self, source: str) -> None:
        match = _HOST.fullmatch(source)
        assert match
        place = match["host"] + (f":{match['port']}" if match["port"] else "")
        self._folder = match["folder"]
        self._address = address(place, source)

    def names(self, name: str) -> list[str]:
        """Return the runs of a campaign that are there.  Raises TargetError."""
        with closing(Login(self._address)) as login:
            reply = login.script(_LIST, self._folder, name)
        return sorted(reply.decode("ascii", "replace").split())

    def fetch(self, names: list[str], home: Path) -> Iterator[tuple[str, str | None]]:
        """Receive runs, and yield their names, each with why it cannot be taken, None if it can.

        Raises TargetError, StoreError.
        """
        with closing(Login(self._address)) as login:
            sent = login.script(_SEND, self._folder, *names, limit_s=SEND_S, largest=LARGEST)
        lacks: dict[str, str | None] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(sent), mode="r:") as archive:
                for member in archive:
                    run_id = member.name.partition("/")[0]
                    if run_id in names:
                        lacks[run_id] = _unpack(archive, member, home) or lacks.get(run_id)
        except (tarfile.TarError, ValueError, OverflowError) as error:
            raise TargetError(f"{self._address.host} sent no archive of runs: {error}") from error
        yield from ((name, lacks[name]) for name in names if name in lacks)


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, home: Path) -> str | None:
    """Write a file of a requested run; leave out anything else.

    Returns why its run cannot be taken, None if it can.  Raises StoreError.
    """
    run_id, _, name = member.name.partition("/")
    if not FILES.fullmatch(name):
        return None
    source = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if source is None:
        return f"{name} is not a regular file"
    place = home / run_id / name
    if place.exists():
        return f"{name} was sent twice"
    _store(source, place)
    return None


def _store(source: IO[bytes], place: Path) -> None:
    """Write a file of a run.  Raises StoreError, and as reading the source does."""
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("xb") as to:
            shutil.copyfileobj(source, to)
    except OSError as error:
        raise StoreError(f"results cannot be stored, {place}: {error.strerror}") from error
