"""An agent that is a process of this machine; the wire are its pipes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rtstone.errors import TargetError
from rtstone.targets.base import Link

STOP_S = 5.0  # an agent asked to stop has this long; it needs half of it to hand over what it has
ORPHANS_S = 1.0  # the children of an agent that was killed have ended by then
LINE = 16 << 20  # bytes after which a line is taken to have ended
LAST_WORDS = 300  # bytes of the agent's stderr in an error


class Process(Link):
    """A program with its arguments, in a session of its own.

    ``advice``: what to do if there is no such program.  ``files``: descriptors that it gets, by
    their numbers.  Raises TargetError if it does not start.
    """

    noun = "the agent"  # what it is, for messages

    def __init__(self, command: Sequence[str], advice: str, files: Sequence[int] = ()) -> None:
        self._buffer = bytearray()
        self._scanned = 0  # so much of it holds no line end
        self._kill_at: float | None = None
        self._closed = False
        try:
            self._words = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        except OSError as error:
            raise TargetError(f"no temporary file can be made: {error.strerror}") from error
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                bufsize=0,
                pass_fds=files,
                start_new_session=True,  # the terminal's Ctrl-C is for the host alone
            )
        except OSError as error:
            self._words.close()
            raise not_started(command[0], error, advice) from error

    def send(self, line: str) -> None:
        """Writes the line."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # dead, or stopped
            self._process.stdin.write(line.encode("ascii") + b"\n")

    def read(self, timeout: float) -> bytes | None:
        """One line of its output, and how it ended."""
        line = self._take_line()
        if line is not None:
            return line
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            self._signal(signal.SIGKILL)  # also of one that has more and more to say
        more = self._more(timeout)
        if more is None:
            return None
        self._buffer += more
        return self._take_line() if more else self._rest()

    def _more(self, timeout: float) -> bytes | None:
        """What has come within ``timeout`` s; b"" at the end, None before it."""
        assert self._process.stdout is not None
        waiting = select.poll()  # select() ends at the 1024th open file
        waiting.register(self._process.stdout, select.POLLIN)
        if waiting.poll(timeout * 1000):
            return os.read(self._process.stdout.fileno(), 1 << 16)
        # A child of a dead agent may hold the pipe open, so its end is not awaited.
        return b"" if self._dead() else None

    def stop(self) -> None:
        """Asks by SIGTERM; STOP_S later ``read`` kills it."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + STOP_S
            self._signal(signal.SIGTERM, group=False)
            assert self._process.stdin is not None
            self._process.stdin.close()  # an agent that waits for a command sees it end

    def close(self) -> None:
        """Ends it and its children."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        self._end()
        if self._process.returncode:
            self._await_orphans()
        for stream in (self._process.stdout, self._words):
            assert stream is not None
            stream.close()

    def _await_orphans(self) -> None:
        """Returns when the children of a dead agent have gone as well, or after ORPHANS_S.

        They end with it, but a moment later, and hold what it had open till then, as its lock.
        """
        end = time.monotonic() + ORPHANS_S
        while time.monotonic() < end and _in_session(self._process.pid):
            time.sleep(0.01)

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
            raise TargetError(f"{self.noun} {_fate(status)}{self.last_words()}")
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

    def last_words(self) -> str:
        """The end of its stderr."""
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - LAST_WORDS))
        words = " ".join(self._words.read().decode(errors="replace").split())
        return f"; it said: {words}" if words else ""


def not_started(program: str, error: OSError, advice: str) -> TargetError:
    """The error for an agent that cannot be started."""
    return TargetError(f"the agent does not start, {program}: {error.strerror}; {advice}")


def digest(path: Path) -> str | None:
    """The hash of a file, None if it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _in_session(session: int) -> bool:
    """True if a process of that session is left, and not only its exit status."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just gone
            told = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if told[3] == str(session) and told[0] != "Z":
                return True
    return False


def _fate(status: int) -> str:
    if status > 0:
        return f"failed with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-status}"
