"""Bring the runs of a campaign together: from another machine by ssh, or from a directory.

What comes is not trusted: only the files of a run directory are taken, under the names that they
have there, and only of runs that can be read.
"""

from __future__ import annotations

import io
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from rtstone.campaign.engines import drop, new_home
from rtstone.campaign.table import arrived
from rtstone.errors import RtstoneError, StoreError, TargetError, UsageError
from rtstone.files import opened
from rtstone.store.arriving import FILES, is_whole, take_in
from rtstone.store.index import arrivals
from rtstone.store.places import LARGEST, PLAN, RUN, runs
from rtstone.store.rundir import load
from rtstone.targets.ssh_connection import Login, address

AT_ONCE = 50  # runs that a machine sends at a time
SEND_S = 600.0  # time limit for them
OWNER = "pull"  # begins the names of the homes of what is on its way

_HOST = re.compile(r"(?P<host>[^/:]+|\[[^]]+\]|[^/:]+@[^/:]+)(?::(?P<port>\d+))?:(?P<folder>.*)")
_KEY = re.compile(r"[0-9a-f]{16}")

# $1: RTSTONE_HOME there, or nothing; goes to the runs.
_GO = """
home=${1:-${RTSTONE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/rtstone}}
cd "$home/runs" 2>/dev/null || { echo "no runs in $home" >&2; exit 1; }
shift
"""
_LIST = f'{_GO}for one in "$1".*; do [ ! -f "$one/{RUN}" ] || echo "$one"; done'
_SEND = f'{_GO}exec tar -cf - -- "$@"'


class Pulled(NamedTuple):
    """How many runs came, and were here; ``refused``: what was left out, and why."""

    taken: int
    known: int
    refused: list[str]


def pull(name: str, source: str) -> Pulled:
    """Bring the runs of a campaign here.

    ``source``: HOST:[DIR] or DIR, what RTSTONE_HOME names there.  Raises UsageError, TargetError,
    StoreError.
    """
    there = _Machine(source) if _HOST.fullmatch(source) else _Folder(Path(source))
    here = arrived(name)
    names = [one for one in there.names(name) if _KEY.fullmatch(one.partition(".")[2])]
    wanted = [one for one in names if one.partition(".")[2] not in here]
    refused: list[str] = []
    taken, arrival = 0, arrivals()
    for first in range(0, len(wanted), AT_ONCE):
        home = new_home(name, OWNER)
        try:
            for run_id in there.fetch(wanted[first : first + AT_ONCE], home):
                why = _unfit(home / run_id)
                if why is None:
                    taken += take_in(home / run_id, arrival := arrival + 1)
                else:
                    refused.append(f"{run_id}: {why}")
        finally:
            drop(home)
    return Pulled(taken, len(names) - len(wanted), refused)


def _unfit(path: Path) -> str | None:
    """Return why a directory is no complete run of its name, None if it is."""
    if not is_whole(path):
        return f"it has no {PLAN} or no {RUN}"
    try:
        run = load(path)
    except RtstoneError as error:
        return str(error)
    if run.run_id != path.name or run.status != "complete":
        return f"it holds {run.status} run {run.run_id}"
    return None


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

    def fetch(self, names: list[str], home: Path) -> Iterator[str]:
        """Copy runs, and yield their names.  Raises StoreError."""
        for name in names:
            try:
                (home / name).mkdir()
                for path in (self._runs / name).iterdir():
                    if FILES.fullmatch(path.name):
                        with opened(path) as source, (home / name / path.name).open("xb") as to:
                            shutil.copyfileobj(source, to)
            except OSError as error:
                raise StoreError(f"cannot copy run {name}: {error.strerror}") from error
            yield name


class _Machine:
    """The home of rtstone on another machine."""

    def __init__(self, source: str) -> None:
        found = _HOST.fullmatch(source)
        assert found
        place = found["host"] + (f":{found['port']}" if found["port"] else "")
        self._folder = found["folder"]
        self._address = address(place, source)

    def names(self, name: str) -> list[str]:
        """Return the runs of a campaign that are there.  Raises TargetError."""
        with closing(Login(self._address)) as there:
            told = there.script(_LIST, self._folder, name)
        return sorted(told.decode("ascii", "replace").split())

    def fetch(self, names: list[str], home: Path) -> Iterator[str]:
        """Receive runs, and yield their names.  Raises TargetError, StoreError."""
        with closing(Login(self._address)) as there:
            sent = there.script(_SEND, self._folder, *names, limit_s=SEND_S)
        try:
            with tarfile.open(fileobj=io.BytesIO(sent), mode="r:") as archive:
                for member in archive:
                    _unpack(archive, member, frozenset(names), home)
        except tarfile.TarError as error:
            raise TargetError(f"{self._address.host} sent no archive of runs: {error}") from error
        except OSError as error:
            raise StoreError(f"results cannot be stored, {home}: {error.strerror}") from error
        yield from (name for name in names if (home / name).is_dir())


def _unpack(
    archive: tarfile.TarFile, member: tarfile.TarInfo, names: frozenset[str], home: Path
) -> None:
    """Write a file of a run that was asked for; leave out anything else.  Raises OSError."""
    run_id, _, name = member.name.partition("/")
    source = archive.extractfile(member) if member.isreg() and member.size <= LARGEST else None
    if source is None or run_id not in names or not FILES.fullmatch(name):
        return
    (home / run_id).mkdir(exist_ok=True)
    with (home / run_id / name).open("xb") as to:
        shutil.copyfileobj(source, to)
