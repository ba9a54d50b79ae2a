"""A run directory: everything about one run.

plan.json   the request, written first
wire.log    the agent's lines as received; synced to disk at the end of each case
wire-2.log  the same after the run was resumed, and so on
run.json    the document, written last and atomically; assembled from the others if it is missing
explanation-CASE-SAMPLE.json  where the time of a sample went, on request (explanations.py)
sections-CASE.json  what nothing could preempt in a case, on request (sections.py)
tasks-run.json  what the task set did that ran (tasks_run.py)

Files are always created anew, never through a link, as the directory may belong to another user.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run
from rtstone.errors import StoreError, UsageError
from rtstone.files import opened
from rtstone.store import atomic
from rtstone.store.decoding import decode
from rtstone.store.index import arrivals
from rtstone.store.layout import LOG, PLAN, RUN, lock, regular, runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PLACE = "name a writable place with RTSTONE_HOME (`rtstone run` has --out, too)"
_ROOM = {
    errno.EFBIG: "raise the limit of a file's size: ulimit -f unlimited",
    errno.ENOSPC: f"make room there, or {_PLACE}",
    errno.EDQUOT: f"make room there, or {_PLACE}",
}


class RunDirectory:
    """The directory of a run in progress."""

    begun = True  # False: nothing was changed yet, and appended lines are held until `begin`
    finished = False  # True: the document has been written
    _held: bytearray  # lines held until `begin`
    _next: str  # name of the log that `begin` creates

    def __init__(self, plan: Plan, out: Path | None = None, *, listed: bool = True) -> None:
        """Create the directory: ``out``, which must be empty or new, else one in ``runs()``.

        ``listed``: whether the store knows of a run in ``out``, so that it can be the `last` one.
        Raises UsageError if that is impossible; it then leaves nothing behind.
        """
        assert listed or out is not None
        if listed:
            plan = structs.replace(plan, arrival=arrivals() + 1)
        self.path = (out or runs() / plan.run_id).absolute()
        fresh: list[Path] = []
        try:
            fresh += [path for path in (self.path, *self.path.parents) if not path.exists()]
            self.path.mkdir(parents=True, exist_ok=out is not None)
            self._place = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            self._begin(plan)
        except OSError as error:
            for path in fresh:
                with suppress(OSError):
                    path.rmdir()
            raise UsageError(
                f"results cannot be stored, {self.path}: {error.strerror}; "
                + _ROOM.get(error.errno or 0, _PLACE)
            ) from error
        if out is not None and listed:  # for `last` and `list runs`, if the store can be written
            with suppress(OSError):
                runs().mkdir(parents=True, exist_ok=True)
                (runs() / plan.run_id).symlink_to(self.path)

    def _begin(self, plan: Plan) -> None:
        """Write the plan and open the log, or leave the directory as it was.

        Raises OSError, and UsageError if it is not empty.
        """
        files: list[str] = []
        try:
            if any(self.path.iterdir()):
                raise UsageError(f"directory not empty, {self.path}; name a new one with --out")
            files = [LOG, PLAN]
            atomic.write(self._place, PLAN, msgspec.json.format(msgspec.json.encode(plan)))
            self._log = _new_log(self._place, LOG, self.path)
        except (OSError, UsageError):
            for name in files:
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._place)
            os.close(self._place)
            raise

    @classmethod
    def resume(cls, path: Path) -> tuple[RunDirectory, Plan, list[bytes]]:
        """Return the directory of a run to resume, its plan, and its logs so far.

        The run is locked for this process, but nothing in it changes before ``begin``.
        Raises UsageError.
        """
        self = cls.__new__(cls)
        self.path = path.resolve()
        self.begun, self._held = False, bytearray()
        try:
            logs = _logs(self.path)
            self._next = f"wire-{len(logs) + 1}.log" if logs else LOG
            with ExitStack() as files:
                self._log = files.enter_context(opened((logs or [self.path / PLAN])[-1]))
                _lock(self._log, self.path)
                plan = decode(self.path / PLAN, Plan)
                texts = [regular(log) for log in logs]
                self._place = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                files.pop_all()
        except OSError as error:
            raise UsageError(f"cannot resume run, {path}: {error.strerror}") from error
        return self, plan, texts or [b""]

    def begin(self) -> None:
        """Start the next log of a resumed run with the lines held so far.  Raises StoreError.

        Deletes the old document: until a new one is written, the run is assembled from its logs.
        """
        try:
            log = _new_log(self._place, self._next, self.path)
            with suppress(FileNotFoundError):
                os.unlink(RUN, dir_fd=self._place)
        except OSError as error:
            raise self._lost(error) from error
        self._log.close()
        self._log, self.begun = log, True
        self.append(bytes(self._held))

    def append(self, line: bytes) -> None:
        """Append a line of the agent.  Raises StoreError."""
        if not self.begun:
            self._held += line
            return
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._log.write(rest) :]
        except OSError as error:
            raise self._lost(error) from error

    def sync(self) -> None:
        """Sync all lines so far to disk.  Raises StoreError."""
        try:
            os.fsync(self._log.fileno())
        except OSError as error:
            raise self._lost(error) from error

    def finish(self, run: Run) -> None:
        """Write the document atomically.  Raises StoreError."""
        try:
            atomic.replace(self._place, RUN, msgspec.json.encode(run))
            self.finished = True
        except OSError as error:
            raise self._lost(error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Release the run, so that others can resume it."""
        self._log.close()
        os.close(self._place)

    def _lost(self, error: OSError) -> StoreError:
        return StoreError(
            f"results cannot be stored, {self.path}: {error.strerror}; "
            "make room there or use --out DIR"
        )


def load(path: Path) -> Run:
    """Return the document of a run directory.

    Raises UsageError if it holds no run that can be read.
    """
    try:
        if (path / RUN).exists():
            return decode(path / RUN, Run)
        from rtstone.results.assembly import replay

        plan, texts = logs(path)
        first, *later = texts or [b""]
        return replay(plan, first, *later)
    except OSError as error:
        raise UsageError(f"cannot read run, {path}: {error.strerror}") from error


def samples(path: Path, run: Run, result: Result) -> NDArray[np.float64]:
    """Return the samples of a result of the run in a directory, net, in its unit.

    Raises UsageError, Inconclusive.
    """
    from rtstone.results.samples import samples as read

    try:
        plan = decode(path / PLAN, Plan)
        return read(run, result, plan, (regular(log) for log in _logs(path)))
    except OSError as error:
        raise UsageError(f"cannot read run, {path}: {error.strerror}") from error


def logs(path: Path) -> tuple[Plan, list[bytes]]:
    """Return the plan of the run in a directory, and its logs.  Raises UsageError."""
    try:
        return decode(path / PLAN, Plan), [regular(log) for log in _logs(path)]
    except OSError as error:
        raise UsageError(f"cannot read run, {path}: {error.strerror}") from error


def _new_log(place: int, name: str, path: Path) -> IO[bytes]:
    """Create a log and lock it while it is open.  Raises OSError, UsageError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    log = os.fdopen(os.open(name, flags, 0o666, dir_fd=place), "ab", buffering=0)
    _lock(log, path)
    os.fsync(place)
    return log


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock the log while it is open, so that no other process resumes the run."""
    if not lock(file.fileno()):
        raise UsageError(f"the run still goes on, {path}")


def _logs(path: Path) -> list[Path]:
    """Return the logs of a run and its resumptions, in order."""
    paths = [path / LOG]
    while paths[-1].exists():
        paths.append(path / f"wire-{len(paths) + 1}.log")
    return paths[:-1]
