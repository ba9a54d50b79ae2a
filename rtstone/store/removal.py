"""Remove stored runs: the files that rtstone has made, and nothing else.

Every file is reached through its directory's descriptor and never through a link, so that nothing
else can be put in its place meanwhile.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.errors import UsageError
from rtstone.files import directory
from rtstone.printable import parsed
from rtstone.store.layout import ATTACHED, LARGEST, NEW, PLAN, RUN, UNREADABLE, lock, runs

_FIRST = (RUN, RUN + NEW)  # without it the run is unfinished, and without its plan there is none
_LOGS = re.compile(r"wire(?:-(\d{1,9}))?\.log")


class Removed(NamedTuple):
    """What was removed: so many bytes; ``left``: files in its directory that are not of the run."""

    run_id: str
    path: Path
    size: int
    left: list[str]


class GoesOn(UsageError):  # noqa: N818  it is no fault
    """The run still goes on."""


class _Plan(msgspec.Struct):
    run_id: str


def size(path: Path) -> int:
    """Return how many bytes the files of a run have, 0 if they cannot be seen."""
    with suppress(OSError, UsageError), ExitStack() as stack:
        place = _opened(stack, path, runs())
        return sum(os.stat(name, dir_fd=place).st_size for name in _files(place))
    return 0


def remove(path: Path, store: Path | None = None) -> Removed:
    """Remove the run in a directory.

    ``store``: the directory of the runs of its store, that of this user if None.

    Raises UsageError for one that still goes on, that is another user's, that rtstone has not made,
    or that cannot be removed.
    """
    folder = store or runs()
    freed = 0
    with _locked(path, folder) as (place, run_id, names):
        for name in names:
            freed += os.stat(name, dir_fd=place, follow_symlinks=False).st_size
            os.unlink(name, dir_fd=place)
        os.fsync(place)
        left = sorted(os.listdir(place))  # noqa: PTH208  a descriptor has no Path
        _drop_entry(run_id, path, folder, empty=not left)
    return Removed(run_id, path, freed, left)


def remove_together(paths: Sequence[Path]) -> list[Removed]:
    """Remove these runs of this user's store, or none if one of them cannot be removed.

    Raises UsageError as ``remove`` does.
    """
    for path in paths:  # one after the other, as a process may have few files open
        with _locked(path, runs()):
            pass
    return [remove(path) for path in paths]


@contextmanager
def _locked(path: Path, store: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Open and lock the run in a directory; yield its descriptor, the run's id and its files.

    Raises UsageError.
    """
    try:
        with ExitStack() as stack:
            place = _opened(stack, path, store)
            run_id = _run_id(place, path, store)
            names, before = _files(place), None
            while names != before:  # again if it was resumed meanwhile
                latest = next((name for name in names if _LOGS.fullmatch(name)), PLAN)
                if latest not in names:
                    break
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                handle = os.open(latest, flags, dir_fd=place)
                stack.callback(os.close, handle)
                if not lock(handle):  # as who measures has locked it
                    raise GoesOn(f"the run still goes on, {path}; end it first")
                names, before = _files(place), names
            yield place, run_id, names
    except OSError as error:
        raise UsageError(f"cannot remove run, {path}: {error.strerror}") from error


def _opened(stack: ExitStack, path: Path, store: Path) -> int:
    """Open the directory of a run, or the one that its entry in the store links to."""
    linked = path.parent.absolute() == store.absolute() and path.is_symlink()
    target = path.parent / path.readlink() if linked else path
    place = stack.enter_context(directory(target))
    if os.fstat(place).st_uid != os.geteuid():
        raise UsageError(f"the run is another user's, {path}; that user can remove it")
    return place


def _run_id(place: int, path: Path, store: Path) -> str:
    """Return the id of the run; in the store its directory has that name."""
    inside = path.parent.absolute() == store.absolute()
    try:
        handle = os.open(PLAN, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        with os.fdopen(handle, "rb") as file:
            is_file = stat.S_ISREG(os.fstat(handle).st_mode)
            run_id = parsed(file.read(LARGEST), _Plan).run_id if is_file else None
    except (OSError, *UNREADABLE):
        run_id = None
    if run_id is None and inside and not path.is_symlink():
        return path.name  # its plan is damaged
    if run_id is None or (inside and run_id != path.name):
        raise UsageError(f"not a run that rtstone has made, {path}: it has no {PLAN} of its own")
    return run_id


def _files(place: int) -> list[str]:
    """Return the run's own files, in the order in which they are removed."""
    files = os.listdir(place)
    logs = sorted((name for name in files if _LOGS.fullmatch(name)), key=_number, reverse=True)
    later = sorted(name for name in files if ATTACHED.fullmatch(name.removesuffix(NEW)))
    first = [name for name in _FIRST if name in files]
    names = [*later, *first, *logs, *({PLAN} & set(files))]
    return [name for name in names if stat.S_ISREG(_mode(place, name))]


def _number(log: str) -> int:
    match = _LOGS.fullmatch(log)
    return int(match[1] or 1) if match else 0


def _mode(place: int, name: str) -> int:
    return os.stat(name, dir_fd=place, follow_symlinks=False).st_mode


def _drop_entry(run_id: str, path: Path, store: Path, empty: bool) -> None:
    """Remove the directory from the store if it is empty, or the link to one elsewhere."""
    with suppress(OSError), ExitStack() as stack:
        place = stack.enter_context(directory(store, links=True))
        if stat.S_ISLNK(_mode(place, run_id)):
            link = Path(os.readlink(run_id, dir_fd=place))
            if path.is_symlink() or link == path.resolve():
                os.unlink(run_id, dir_fd=place)
        elif empty and path.absolute() == store.absolute() / run_id:
            os.rmdir(run_id, dir_fd=place)
