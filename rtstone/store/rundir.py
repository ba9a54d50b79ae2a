"""A run directory: everything about one run.

plan.json   what was asked, written first
wire.log    the agent's lines as they came; on disk at each case end
wire-2.log  the same after the run was resumed, and so on
run.json    the document, written last and at once; made from the others if it is missing
"""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from rtstone.errors import StoreError, UsageError
from rtstone.model.documents import SCHEMA, Run
from rtstone.model.plan import Plan
from rtstone.model.sound import check_sound
from rtstone.printable import parsed

PLAN, LOG, RUN = "plan.json", "wire.log", "run.json"

_T = TypeVar("_T")


def home() -> Path:
    """Where runs are kept: $RTSTONE_HOME, else rtstone in the user's data directory."""
    if named := os.environ.get("RTSTONE_HOME"):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "rtstone"


def runs() -> Path:
    """The directory of run directories, each named by its run id."""
    return home() / "runs"


class RunDirectory:
    """The directory of a run that goes on."""

    def __init__(self, plan: Plan, out: Path | None = None) -> None:
        """Makes the directory: ``out``, which must be empty or new, else one in ``runs()``.

        Raises UsageError if that is impossible: nothing has been measured yet.
        """
        self.path = (out or runs() / plan.run_id).absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=out is not None)
            if any(self.path.iterdir()):
                raise UsageError(f"directory not empty, {self.path}; name a new one with --out")
            _write(self.path / PLAN, msgspec.json.format(msgspec.json.encode(plan)))
            self._begin(LOG)
        except OSError as error:
            raise UsageError(
                f"results cannot be stored, {self.path}: {error.strerror}; "
                "name a writable place with --out DIR or RTSTONE_HOME"
            ) from error
        if out is not None:
            self._make_known(plan.run_id)

    @classmethod
    def resume(cls, path: Path) -> tuple[RunDirectory, Plan, list[bytes]]:
        """The directory of a run to go on with, its plan, and its logs so far.

        Its document is taken away until there is a new one.  Raises UsageError.
        """
        self = cls.__new__(cls)
        self.path = path.resolve()
        try:
            plan = _decode(self.path / PLAN, Plan, None)
            logs = [log.read_bytes() for log in _logs(self.path)]
            self._begin_after(len(logs))
            (self.path / RUN).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"cannot resume run, {path}: {error.strerror}") from error
        return self, plan, logs or [b""]

    def _begin_after(self, logs: int) -> None:
        """Opens the next log.  Raises UsageError if another process still writes the last one."""
        if not logs:
            self._begin(LOG)
            return
        with _logs(self.path)[logs - 1].open("rb") as last:
            _lock(last, self.path)
            self._begin(f"wire-{logs + 1}.log")

    def _begin(self, log: str) -> None:
        self._log = (self.path / log).open("ab", buffering=0)
        _lock(self._log, self.path)
        _sync_directory(self.path)

    def _make_known(self, run_id: str) -> None:
        """Lets `last` and `list runs` find a directory elsewhere; not worth failing for."""
        try:
            runs().mkdir(parents=True, exist_ok=True)
            (runs() / run_id).symlink_to(self.path)
        except OSError:
            pass

    def append(self, line: bytes) -> None:
        """Adds one of the agent's lines.  Raises StoreError."""
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._log.write(rest) :]
        except OSError as error:
            raise self._lost(error) from error

    def sync(self) -> None:
        """Returns when all lines so far are on the disk.  Raises StoreError."""
        try:
            os.fsync(self._log.fileno())
        except OSError as error:
            raise self._lost(error) from error

    def finish(self, run: Run) -> None:
        """Writes the document, whole or not at all.  Raises StoreError."""
        self._log.close()
        temporary = self.path / (RUN + ".new")
        try:
            _write(temporary, msgspec.json.encode(run))
            temporary.replace(self.path / RUN)
            _sync_directory(self.path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise self._lost(error) from error

    def _lost(self, error: OSError) -> StoreError:
        return StoreError(
            f"results cannot be stored, {self.path}: {error.strerror}; "
            "make room there or use --out DIR"
        )


def holds_run(path: Path) -> bool:
    """True if it is a run directory.  Raises PermissionError if that cannot be seen."""
    try:
        return (path / PLAN).exists() or (path / RUN).exists()
    except PermissionError:
        raise
    except OSError:  # no name of a file, being too long
        return False


def load(path: Path) -> Run:
    """The document of a run directory.  Raises UsageError if it holds no run that can be read."""
    try:
        if (path / RUN).exists():
            return _decode(path / RUN, Run, SCHEMA)
        from rtstone.model.assemble import replay

        plan = _decode(path / PLAN, Plan, None)
        first, *later = [log.read_bytes() for log in _logs(path)] or [b""]
        return replay(plan, first, *later)
    except OSError as error:
        raise UsageError(f"cannot read run, {path}: {error.strerror}") from error


def _lock(file: IO[bytes], path: Path) -> None:
    """The log is this process's as long as it is open: nobody else goes on with the run."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"the run still goes on, {path}") from None
    except OSError:  # there are file systems without locks
        pass


def _logs(path: Path) -> list[Path]:
    """The logs of a run and of its resumptions, in their order."""
    found = [path / LOG]
    while found[-1].exists():
        found.append(path / f"wire-{len(found) + 1}.log")
    return found[:-1]


def _decode(path: Path, kind: type[_T], schema: str | None) -> _T:
    data = path.read_bytes()
    try:
        if schema is not None and msgspec.json.decode(data, type=_Schema).schema != schema:
            raise UsageError(f"not of schema {schema}, {path}; another version of rtstone wrote it")
        with _uncollected():
            found = parsed(data, kind)
        if isinstance(found, Run):
            check_sound(found)
        return found
    except msgspec.MsgspecError as error:
        raise UsageError(f"not a readable {path.name}, {path}: {error}") from error


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles: a document has none, and most of its decoding is spent on looking."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class _Schema(msgspec.Struct):
    schema: str = ""


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
