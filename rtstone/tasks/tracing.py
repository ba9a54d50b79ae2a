"""Record the scheduling events of this Linux, by an instance of tracefs of its own.

Nobody else's tracing is disturbed, and the rings of the instance are bounded, as is what is read of
them.  Whoever has an instance holds a lock on its directory, which the kernel releases however the
process ends: the next recording removes those that nobody holds.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import Unfit, UsageError
from rtstone.explain.ring import Event, Formats
from rtstone.explain.system_calls import names
from rtstone.files import directory
from rtstone.tasks.threads import Thread, numbers, threads
from rtstone.tasks.trace import (
    CALLS,
    EVENTS,
    INHERITED,
    INTERRUPTS,
    OPERATION,
    SYSTEM_CALLS,
    Gap,
    Trace,
)  # fmt: skip

MOUNTS = Path("/proc/self/mountinfo")
PREFIX = "rtstone-tasks-"  # of an instance's name
RINGS_KB = 262_144  # for all CPUs together
RING_KB = range(256, 4097)  # for one
MOST_BYTES = 32 << 20  # that are kept of a recording, about half a million events
PAUSE_S = 0.02  # between two readings
BUSY_TRIES = 500  # 10 ms each: a process that was killed may still have a file open

_MARKER = "ftrace/print"
_FIELD = re.compile(r"\s*field:[^;]*?(\w+)(?:\[\w*\])?;")
_FIELDS = {
    "commit", "prev_pid", "prev_state", "next_comm", "next_pid", "next_prio", "pid", "child_pid",
    "id", "oldprio", "newprio", "buf",
}  # fmt: skip
_ARGUMENTS = re.compile(r"field:unsigned long args\[6\];\s*offset:(\d+);")
_WORD = 8  # bytes of a system call's argument
_LOST = re.compile(r"^(?:overrun|commit overrun|dropped events): (\d+)", re.MULTILINE)
_MISSED = 1 << 31  # in a page's length: events before it were lost


class Recording(NamedTuple):
    """What was recorded, and what could not be.

    ``trace``: its events can be read once.  ``lacks``: what of EVENTS and others this kernel, or
    this program, does not know, by what it is for, with the reason.  ``ended``: why it ended early.
    ``bytes``: the size of what was read.
    """

    trace: Trace
    lacks: Mapping[str, str]
    ended: str | None
    bytes: int


def record(
    seconds: float, process: int | None = None, stops: Callable[[], bool] = lambda: False
) -> Recording:
    """Record what is scheduled on this machine, or of one process, for so many seconds.

    ``stops``: called all the time; the recording ends early if it says so.  Raises Unfit, and
    UsageError if there is no such process.
    """
    with _instance() as place:
        return _Recorder(place, process).record(seconds, stops)


# ---- the instance -------------------------------------------------------------------------------


def _tracefs() -> Path:
    """Return where tracefs is mounted.  Raises Unfit."""
    with suppress(OSError):  # without /proc
        for line in MOUNTS.read_text("utf-8", "replace").splitlines():
            before, _, after = line.partition(" - ")
            device, root, point = before.split(" ")[2:5]
            if after.split(" ")[0] != "tracefs" or root != "/":
                continue
            path = Path(point.encode().decode("unicode_escape"))
            major, _, minor = device.partition(":")
            with suppress(OSError):  # nor is anything mounted over it
                if path.stat().st_dev == os.makedev(int(major), int(minor)):
                    return path
    raise Unfit(
        "no tracefs is mounted, which records what is scheduled; as root: mount -t tracefs tracefs "
        "/sys/kernel/tracing; if there is none, the kernel was built without CONFIG_FTRACE"
    )


@contextmanager
def _instance() -> Iterator[int]:
    """Hold the directory of a new instance open, and remove it at the end.  Raises Unfit."""
    with ExitStack() as stack:
        try:
            instances = stack.enter_context(directory(_tracefs() / "instances"))
            _remove_abandoned(instances)
            name, place = _made_instance(instances)
        except PermissionError as error:
            raise Unfit("tracefs is for root alone here; run it as root") from error
        except OSError as error:
            raise Unfit(f"tracefs makes no instance: {error.strerror}") from error
        stack.callback(os.close, place)
        stack.callback(_remove, instances, name)
        yield place


def _made_instance(instances: int) -> tuple[str, int]:
    """Make an instance, and return its name and its directory, which is locked.  Raises OSError."""
    while True:
        name = PREFIX + secrets.token_hex(8)
        os.mkdir(name, 0o700, dir_fd=instances)
        if (place := _locked(instances, name)) is not None:
            return name, place


def _locked(instances: int, name: str) -> int | None:
    """Return the directory of an instance if nobody else has it, and lock it."""
    try:
        place = os.open(
            name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=instances
        )
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had the lock before may have removed it.
        now = os.stat(name, dir_fd=instances, follow_symlinks=False)
        if os.path.samestat(now, os.fstat(place)):
            return place
    except OSError:
        pass
    os.close(place)
    return None


def _remove_abandoned(instances: int) -> None:
    """Remove the instances of processes that were killed."""
    for name in os.listdir(instances):
        if name.startswith(PREFIX) and (place := _locked(instances, name)) is not None:
            try:
                _remove(instances, name)
            finally:
                os.close(place)


def _remove(instances: int, name: str) -> None:
    for attempt in range(BUSY_TRIES):
        try:
            os.rmdir(name, dir_fd=instances)
        except OSError as error:
            if attempt + 1 == BUSY_TRIES:
                raise Unfit(f"tracing instance {name} is not removed: {error.strerror}") from error
            time.sleep(0.01)
        else:
            return


# ---- recording ----------------------------------------------------------------------------------


class _Recorder:
    def __init__(self, place: int, process: int | None) -> None:
        self.place, self.process = place, process
        self.page = os.sysconf("SC_PAGESIZE")
        self.calls = names(os.uname().machine)
        self.lacks: dict[str, str] = {}
        self.pages: dict[int, list[bytes]] = {}
        self.bytes = 0
        self.during: dict[int, Thread] = {}
        self.numbers: set[int] = set()

    def record(self, seconds: float, stops: Callable[[], bool]) -> Recording:
        """Record, and return it."""
        self._set_up()
        before = threads(self.process)
        self.numbers = set(before)
        with ExitStack() as stack:
            rings = self._rings(stack)
            self._write("tracing_on", "1")
            self._write("trace_marker", "rtstone\n")
            start = time.monotonic_ns()
            ended = self._collect(rings, start + round(seconds * 1e9), stops)
            end = time.monotonic_ns()
            self._write("tracing_on", "0")
            after = threads(self.process)
            self._read(rings)
        formats = self._formats()
        self._require_same_numbers(formats)
        trace = Trace(
            events=self._events(formats), start=start, end=end,
            gaps=list(self._gaps(formats, start, end)),
            calls=self.calls, own=set(numbers(os.getpid())),
            before=before, during=self.during, after=after, process=self.process,
        )  # fmt: skip
        return Recording(trace, self.lacks, ended, self.bytes)

    def _set_up(self) -> None:
        if not (self._write("tracing_on", "0") and self._write("trace_clock", "mono")):
            raise Unfit("the kernel's tracefs lacks the clock 'mono'")
        cpus = len([name for name in self._list("per_cpu") if name.startswith("cpu")])
        kb = min(RING_KB[-1], max(RING_KB[0], RINGS_KB // max(cpus, 1)))
        if not self._write("buffer_size_kb", str(kb)):
            raise Unfit("the kernel has no memory for the rings of its trace")
        if self.process is not None:
            self._follow_process(self.process)
        for event in EVENTS:
            if not self._write(f"events/{event}/enable", "1"):
                raise Unfit(f"the kernel's tracefs lacks the event {event}")
        if not self._write(f"events/{INHERITED}/enable", "1"):
            self.lacks["inherited"] = f"the kernel has no event {INHERITED}"
        enabled = [self._write(f"events/{event}/enable", "1") for event in INTERRUPTS]
        if not any(enabled):
            self.lacks["interrupts"] = "the kernel has no events of interrupts"
        numbered = " || ".join(f"id == {n}" for n, name in self.calls.items() if name in CALLS)
        if not numbered:
            self.lacks["calls"] = f"system calls of {os.uname().machine} are not known by number"
        elif not all(
            self._write(f"events/{event}/{file}", text)
            for event in SYSTEM_CALLS
            for file, text in (("filter", numbered), ("enable", "1"))
        ):
            self.lacks["calls"] = "the kernel has no events of system calls"

    def _follow_process(self, process: int) -> None:
        """Record events of a process only, and of what it starts."""
        listed: set[int] = set()
        while new := set(numbers(process)) - listed:  # some may have been started meanwhile
            listed |= new
            for tid in sorted(new):
                if not self._write("set_event_pid", f"{tid} "):
                    raise Unfit("the kernel's tracefs cannot follow one process, set_event_pid")
        if not listed:
            raise UsageError(f"no process {process}, in --pid; name one that runs")
        if not self._write("options/event-fork", "1"):
            self.lacks["forks"] = "the kernel cannot follow threads that start later, event-fork"

    def _rings(self, stack: ExitStack) -> dict[int, int]:
        """Open the ring of each CPU."""
        rings = {}
        for name in self._list("per_cpu"):
            if name.startswith("cpu"):
                path = f"per_cpu/{name}/trace_pipe_raw"
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
                handle = os.open(path, flags, dir_fd=self.place)
                stack.callback(os.close, handle)
                rings[int(name.removeprefix("cpu"))] = handle
        return rings

    def _collect(self, rings: dict[int, int], end: int, stops: Callable[[], bool]) -> str | None:
        """Read the rings until the end; return why it came early."""
        while time.monotonic_ns() < end:
            self._read(rings)
            if self.bytes > MOST_BYTES:
                return f"more than {MOST_BYTES >> 20} MiB of events"
            if stops():
                return "you ended it"
            if self.process is not None:
                present = set(numbers(self.process))
                if not present:
                    return f"process {self.process} ended"
                if new := present - self.numbers:
                    self.numbers |= new
                    self.during |= threads(self.process)
            time.sleep(PAUSE_S)
        return None

    def _read(self, rings: dict[int, int]) -> None:
        for cpu, handle in rings.items():
            with suppress(BlockingIOError):
                while page := os.read(handle, self.page):
                    data = page.rstrip(b"\0")  # which the reader of pages adds
                    self.pages.setdefault(cpu, []).append(data)
                    self.bytes += len(data)

    # ---- what was read ----

    def _formats(self) -> Formats:
        texts = []
        for name in (*EVENTS, INHERITED, *SYSTEM_CALLS, *INTERRUPTS, _MARKER):
            with suppress(OSError):
                texts.append((name, described(self._text(f"events/{name}/format"))))
        with suppress(OSError):
            texts.append(("header_page", self._text("events/header_page")))
        return Formats(texts)

    def _events(self, formats: Formats) -> Iterator[tuple[int, Event]]:
        def of_cpu(cpu: int) -> Iterator[tuple[int, Event]]:
            for page in self.pages[cpu]:
                for event in formats.read(page, self.page).events:
                    if event.name != "print":
                        yield cpu, event

        return heapq.merge(*map(of_cpu, sorted(self.pages)), key=lambda pair: pair[1].time)

    def _gaps(self, formats: Formats, start: int, end: int) -> Iterator[Gap]:
        """Yield when events were lost; the whole of the recording if nobody knows when."""
        for cpu, pages in self.pages.items():
            placed = 0
            for before, page in zip([b"", *pages], pages, strict=False):
                if not int.from_bytes(page[8:12], "little") & _MISSED:
                    continue
                last = formats.read(before, self.page).events[-1:]
                for time_ns, lost in formats.read(page, self.page).gaps:
                    yield Gap(last[0].time if last else start, time_ns, lost)
                    placed += lost
            lost = sum(map(int, _LOST.findall(self._text(f"per_cpu/cpu{cpu}/stats"))))
            if lost and not placed:
                yield Gap(start, end, lost)

    def _require_same_numbers(self, formats: Formats) -> None:
        """Require that the trace numbers this process as /proc does.  Raises Unfit."""
        for pages in self.pages.values():
            for page in pages:
                for event in formats.read(page, self.page).events:
                    if event.name == "print":
                        if event.pid != os.getpid():
                            raise Unfit(
                                f"the kernel's trace has process {os.getpid()} as {event.pid}: "
                                "this is a container with numbers of its own; run it outside"
                            )
                        return
        raise Unfit("the kernel's trace lacks the marker of this recording; trace less or shorter")

    # ---- files ----

    def _write(self, path: str, text: str) -> bool:
        """Write to a file of the instance; return whether it took that."""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.place)
        except OSError:
            return False
        try:
            return os.write(handle, text.encode()) == len(text)
        except OSError:
            return False
        finally:
            os.close(handle)

    def _text(self, path: str) -> str:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.place)
        with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _list(self, path: str) -> list[str]:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.place)
        try:
            return os.listdir(handle)  # noqa: PTH208  a descriptor has no Path
        finally:
            os.close(handle)


def described(text: str) -> str:
    """Return a kernel's description of an event, of the fields that are needed.

    The second argument of a system call becomes a field of its own.
    """
    lines = []
    for line in text.splitlines():
        field = _FIELD.match(line)
        if not field or field[1] in _FIELDS:
            lines.append(line)
        if arguments := _ARGUMENTS.search(line):
            at = int(arguments[1]) + _WORD
            lines.append(
                f"\tfield:unsigned long {OPERATION};\toffset:{at};\tsize:{_WORD};\tsigned:0;"
            )
    return "\n".join(lines)
