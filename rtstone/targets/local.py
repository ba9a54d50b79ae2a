"""This machine: the agent is a process, the wire its pipes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from errno import ENOENT
from pathlib import Path

from rtstone.errors import TargetError
from rtstone.targets.base import Link, Options, Target
from rtstone.wire.records import Facts

BUILT = Path(__file__).parent.parent / "_agent" / "rtstone-agent"
CPUS = 1024  # the agent counts no further
STOP_S = 5.0  # an agent asked to stop has this long; it needs half of it to hand over what it has
LINE = 16 << 20  # bytes after which a line is taken to have ended
LAST_WORDS = 300  # bytes of the agent's stderr in an error


class Local(Target):
    """The agent of RTSTONE_AGENT, else the one that `make agent` built into this package."""

    name = "local"

    def __init__(self) -> None:
        # Absolute, or ./x would be looked for in PATH.
        self._program = Path(os.environ.get("RTSTONE_AGENT") or BUILT).absolute()
        self.agent = str(self._program)

    def start(self, options: Options) -> Link:
        """Starts the agent as a process in a session of its own."""
        return _Process(self._program, options)

    def cpus(self) -> frozenset[int]:
        """Those this process could run on: isolated ones lie outside its affinity at first."""
        return frozenset(usable_cpus())

    def surroundings(self) -> dict[str, str | None]:
        """What `rtstone tune` has set on this machine."""
        from rtstone.system.tune import state

        return state()

    def checklist(self) -> Facts | None:
        """What `rtstone doctor` finds."""
        from rtstone.system.checks import table

        return table()

    def detail(self) -> dict[str, str | int | None]:
        """The hash of the agent's binary, None if it cannot be read."""
        from hashlib import sha256

        try:
            return {"agent_sha256": sha256(self._program.read_bytes()).hexdigest()}
        except OSError:
            return {"agent_sha256": None}


def usable_cpus() -> set[int]:
    """CPUs that the affinity can be set to; what a cpuset forbids is not among them."""
    home = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(CPUS))
        return home | os.sched_getaffinity(0)
    except OSError:
        return home
    finally:
        os.sched_setaffinity(0, home)


class _Process(Link):
    def __init__(self, program: Path, options: Options) -> None:
        self._program = program
        self._home = os.sched_getaffinity(0)
        self._buffer = bytearray()
        self._scanned = 0  # so much of it holds no line end
        self._kill_at: float | None = None
        self._closed = False
        try:
            self._words = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        except OSError as error:
            raise TargetError(f"no temporary file can be made: {error.strerror}") from error
        arguments = ["--list"] if options.catalogue else []
        arguments += ["--keep-idle"] if options.keep_idle else []
        try:
            self._process = self._started([program, *arguments], options)
        except OSError as error:
            self._words.close()
            unbuilt = error.errno == ENOENT and not os.environ.get("RTSTONE_AGENT")
            advice = "`make agent` builds it" if unbuilt else "see RTSTONE_AGENT"
            raise TargetError(
                f"the agent does not start, {program}: {error.strerror}; {advice}"
            ) from error
        if not options.catalogue:
            # Only now, so that the agent does not inherit it.
            os.sched_setaffinity(0, _host_cpus(self._home, options.cpus))

    def _started(self, command: list[Path | str], options: Options) -> subprocess.Popen[bytes]:
        """The agent; to measure it is born where `rtstone tune` has made room for it."""
        with nullcontext() if options.catalogue else _tuned():
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                bufsize=0,
                start_new_session=True,  # the terminal's Ctrl-C is for the host alone
            )

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # dead, or stopped
            self._process.stdin.write(line.encode("ascii") + b"\n")

    def read(self, timeout: float) -> bytes | None:
        assert self._process.stdout is not None
        line = self._take_line()
        if line is not None:
            return line
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        more = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
        self._buffer += more
        if more:
            return self._take_line()
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            self._signal(signal.SIGKILL)
        # A child of a dead agent may hold the pipe open, so its end is not awaited.
        if not ready and not self._dead():
            return None
        return self._rest()

    def stop(self) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + STOP_S
            self._signal(signal.SIGTERM, group=False)
            assert self._process.stdin is not None
            self._process.stdin.close()  # an agent that waits for a command sees it end

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.stop()
        self._end()
        for stream in (self._process.stdout, self._words):
            assert stream is not None
            stream.close()
        os.sched_setaffinity(0, self._home)
        if self._process.returncode != 0:
            self._sweep()

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._scanned) + 1
        if not end and len(self._buffer) < LINE:
            self._scanned = len(self._buffer)
            return None
        line = bytes(self._buffer[: min(end or LINE, LINE)])
        del self._buffer[: len(line)]
        self._scanned = 0
        return line

    def _rest(self) -> bytes:
        """What stands after the last line end, then b""; raises if the end was not orderly."""
        if self._buffer:
            line, self._buffer = bytes(self._buffer), bytearray()
            return line
        self._end()
        status = self._process.returncode
        if status:
            raise TargetError(f"the agent {_fate(status)}{self._last_words()}")
        return b""

    def _dead(self) -> bool:
        """True if the agent has ended.  Leaves its process id, and so the group's, taken."""
        if self._process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _end(self) -> None:
        """Waits for the agent's end, forces it when its time is up, and ends its children."""
        if self._process.returncode is not None:
            return
        limit = self._kill_at or time.monotonic() + STOP_S
        while not self._dead() and time.monotonic() < limit:
            time.sleep(0.005)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals, group: bool = True) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(self._process.pid, number)

    def _last_words(self) -> str:
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - LAST_WORDS))
        words = " ".join(self._words.read().decode(errors="replace").split())
        return f"; it said: {words}" if words else ""

    def _sweep(self) -> None:
        """Has a fresh agent remove the kernel objects that a dead one left."""
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [self._program, "--sweep"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                timeout=STOP_S,
                check=False,
            )


def _tuned() -> AbstractContextManager[bool]:
    from rtstone.system.tune import entered

    return entered()


def _fate(status: int) -> str:
    if status > 0:
        return f"failed with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-status}"


def _host_cpus(allowed: set[int], measured: frozenset[int] | None) -> set[int]:
    """Where the host may run: off the measured CPUs, else off the last one, if another is left."""
    return allowed - (measured or {max(allowed)}) or allowed
