"""Parse what was pushed, in processes of their own that are bounded in memory and time.

A `Parser` has a few of them and uses them again and again.  Each is started by a thread that lives
as long as the server, as it ends with that thread.  This module is also the program that they run:
a task comes as a line of JSON, its answer goes back as one.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rtstone import structures
from rtstone.errors import RtstoneError, StoreError, UsageError
from rtstone.files import directory
from rtstone.interrupt import end_with
from rtstone.printable import line

if TYPE_CHECKING:
    from rtstone.server.indexing import IndexEntry

AT_ONCE = 2  # processes
MEMORY = 2 << 30  # bytes of address space of one
CPU_S, CPU_S_PER_MIB = 5.0, 0.2  # of one run; sound ones take 0.04 s for a MiB
LINES = 1_000_000  # of the logs of a run: 256 MiB of samples have 65 000
WALL_S = 180.0  # of one run, on a machine that is busy
_LONGEST = 64 << 20  # bytes of what one answers
_FAULT = 300  # characters of what is wrong with a run


class Task(msgspec.Struct, frozen=True):
    """A directory with a plan and logs.

    ``largest``: how many bytes the document to be made of them may have.  ``cpu_s``: how long a
    processor may take for it.
    """

    path: str
    largest: int
    cpu_s: int


class Answer(msgspec.Struct, frozen=True):
    """The entry of the run for the index, an `IndexEntry`; else what is wrong with it.

    ``full``: it could not be stored, which is no fault of the run.  ``spent``: the process has no
    memory left for another.
    """

    entry: Any = None
    fault: str = ""
    full: bool = False
    spent: bool = False


class Parser:
    """Processes that parse runs."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "parser")
        self._own = threading.local()
        self._all: set[_Process] = set()

    def parse(self, path: Path, size: int, largest: int) -> IndexEntry:
        """Write the document of a run into its directory, and return its entry for the index.

        ``size``: of its plan and logs in bytes.  ``largest``: of its document.  Raises UsageError
        for what is no run, StoreError if it could not be stored.
        """
        from rtstone.server.indexing import IndexEntry

        task = Task(str(path), largest, ceil(CPU_S + CPU_S_PER_MIB * (size / (1 << 20))))
        answer = self._threads.submit(self._parse, task).result()
        if answer.full:
            raise StoreError(answer.fault)
        if answer.entry is None:
            raise UsageError(answer.fault or "it cannot be parsed")
        return structures.convert(answer.entry, IndexEntry, strict=False)

    def _parse(self, task: Task) -> Answer:
        process: _Process | None = getattr(self._own, "process", None)
        if process is None or not process.lives:
            process = self._own.process = _Process()
            self._all.add(process)
        answer = process.ask(task)
        if answer.spent:
            process.end()
        if not process.lives:
            self._all.discard(process)
        return answer

    def close(self) -> None:
        """End the processes, after their current tasks."""
        self._threads.shutdown()
        for process in self._all:
            process.end()


class _Process:
    """One of the processes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, start_new_session=True,
        )  # fmt: skip

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, task: Task) -> Answer:
        """Return the answer to a task; end the process unless it comes as a line in time."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(task) + b"\n")
            return structures.decode(self._line(), Answer)
        except (OSError, msgspec.MsgspecError):
            self.end()
        if self._process.returncode != -signal.SIGXCPU:
            return Answer(fault="it cannot be parsed within the limits of memory and time")
        return Answer(
            fault=f"a processor has parsed it for {task.cpu_s} s, as long as it may for a run of "
            "this size, and was not done; push runs of fewer cases"
        )

    def _line(self) -> bytes:
        """Return the line of its answer, as far as it comes in time."""
        assert self._process.stdout is not None
        data = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while not data.endswith(b"\n") and len(data) < _LONGEST and ready.select(WALL_S):
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                if not piece:
                    break
                data += piece
        return bytes(data)

    def end(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()


# ---- in the process -----------------------------------------------------------------------------


def main() -> None:
    """Carry out the tasks on standard input."""
    if not end_with(int(sys.argv[1])):
        os._exit(1)
    # What parsing needs is imported before the limits hold.
    import rtstone.results.assembly
    import rtstone.server.indexing  # noqa: F401

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for text in sys.stdin.buffer:
        used = resource.getrusage(resource.RUSAGE_SELF)
        task = structures.decode(text, Task)
        end = ceil(used.ru_utime + used.ru_stime) + task.cpu_s
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        answer = _answer(task)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


def _answer(task: Task) -> Answer:
    path = Path(task.path)
    try:
        return Answer(_write_document(path, task.largest))
    except StoreError as error:
        return Answer(fault=_plain(error, path), full=True)
    except RtstoneError as error:
        return Answer(fault=_plain(error, path))
    except MemoryError:
        return Answer(fault="it needs more memory to be parsed than is allowed", spent=True)
    except Exception as error:  # a plan that no rtstone has written
        return Answer(fault=_plain(f"it cannot be parsed: {type(error).__name__} {error}", path))


def _plain(text: object, path: Path) -> str:
    """Return a fault as one line that does not show where the server has its files."""
    return line(str(text).replace(str(path), path.name))[:_FAULT]


def _write_document(path: Path, largest: int) -> IndexEntry:
    """Write the document of a run, and return its entry for the index.  Raises RtstoneError."""
    from rtstone.documents.consistency import check_sound
    from rtstone.results.assembly import replay
    from rtstone.server.indexing import examine
    from rtstone.store import atomic
    from rtstone.store.layout import RUN
    from rtstone.store.rundir import logs

    plan, (first, *later) = logs(path)
    if plan.run_id != path.name:
        raise UsageError(f"its plan is that of run {plan.run_id[:150]}")
    # As many lines as splitlines() has, without the memory that they would take.
    count = sum(log.count(b"\n") + log.count(b"\r") - log.count(b"\r\n") for log in (first, *later))
    if count > LINES:
        raise UsageError(
            f"its logs have {count} lines, more than {LINES}; an agent's records are longer, "
            "so leave out what else was written to its line"
        )
    run = replay(plan, first, *later)
    try:
        check_sound(run)
    except msgspec.ValidationError as error:
        raise UsageError(f"not a sound run: {error}") from error
    if run.agent is None:
        raise UsageError("nothing was measured: its logs have no records of an agent")
    text = msgspec.json.encode(run)
    if len(text) > largest:
        raise UsageError(f"its document would have {len(text)} bytes, more than {largest}")
    try:
        with directory(path) as place:
            atomic.write(place, RUN, text)
    except OSError as error:
        raise StoreError(f"runs cannot be stored: {error.strerror}") from error
    return examine(path, 0.0)


if __name__ == "__main__":
    main()
