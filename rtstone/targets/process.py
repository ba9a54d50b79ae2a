"""An agent as a local process, or behind one that reaches it, with its pipes as the wire."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from rtstone.errors import TargetError
from rtstone.targets.base import Link
from rtstone.targets.lines import Lines, says_bye

STOP_S = 5.0  # time limit for an agent to stop; it needs half of it to send what it has
ORPHANS_S = 1.0  # time limit for the children of a killed agent to end
LAST_WORDS = 300  # characters of what a program printed, in an error


# Held while a program is started, as others might inherit what this process has meanwhile become.
STARTING = threading.RLock()


class Process(Link):
    """A program with its arguments, in a session of its own.

    ``advice``: what to do if the program does not exist.  ``files``: file descriptors that it
    inherits.  Raises TargetError if it does not start.
    """

    noun = "the agent"  # what it is, for messages

    def __init__(self, command: Sequence[str], advice: str, files: Sequence[int] = ()) -> None:
        self._lines = Lines()
        self._kill_at: float | None = None
        self._closed = False
        try:
            self._process, self._words = start(command, files)
        except OSError as error:
            raise not_started(command[0], error, advice) from error

    def send(self, line: str) -> None:
        """Write the line."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # dead, or stopped
            self._process.stdin.write(line.encode("ascii") + b"\n")

    def read(self, timeout: float) -> bytes | None:
        """Return one line of its output, as ``Link.read``."""
        line = self._take_line()
        if line is not None:
            return line
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            self._signal(signal.SIGKILL)  # even while it keeps printing
        data = self._receive(timeout)
        if data is None:
            return None
        self._lines.add(data)
        if data:
            return self._take_line()
        if rest := self._lines.rest():  # after the last newline
            self._lines.clear()
            return rest
        self._end()
        if status := self._process.returncode:
            raise TargetError(f"{self._how_ended(status)}{self.last_words()}")
        return b""

    def _receive(self, timeout: float) -> bytes | None:
        """Return the bytes that came within ``timeout`` s, b"" at the end, None if none came."""
        assert self._process.stdout is not None
        waiting = select.poll()  # select() is limited to 1024 descriptors
        waiting.register(self._process.stdout, select.POLLIN)
        if waiting.poll(timeout * 1000):
            return os.read(self._process.stdout.fileno(), 1 << 16)
        # A child of a dead agent may hold the pipe open, so do not wait for end of file.
        return b"" if self._dead() else None

    def stop(self) -> None:
        """Ask it to stop; after STOP_S ``read`` kills it."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + STOP_S
            self._ask_to_stop()
            assert self._process.stdin is not None
            self._process.stdin.close()  # end of file for an agent that waits for a command

    def _ask_to_stop(self) -> None:
        self._signal(signal.SIGTERM, group=False)

    def abandon(self) -> None:
        """Kill it at once; a child of it that is left is then waited for."""
        self._kill_at = time.monotonic()

    def close(self) -> None:
        """End it and its children."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        self._end()
        if self._process.returncode:
            # Its children end shortly after it, and until then hold its open files, as its lock.
            end = time.monotonic() + ORPHANS_S
            while time.monotonic() < end and _in_session(self._process.pid):
                time.sleep(0.01)
        for stream in (self._process.stdout, self._words):
            assert stream is not None
            stream.close()

    def _take_line(self) -> bytes | None:
        return self._lines.take()

    def _how_ended(self, status: int) -> str:
        """Say how it failed, given its exit status or, negative, the signal that killed it."""
        return f"{self.noun} {_fate(status)}"

    def _dead(self) -> bool:
        """Return whether the agent has ended.  Does not reap it, so its ids are not reused."""
        if self._process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _end(self) -> None:
        """Wait for the agent to end, kill it at the time limit, and end its children."""
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
        """Return the end of its stderr."""
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - LAST_WORDS))
        return ending(self._words.read())


class UntilBye(Process):
    """A program that may outlive its agent, which has ended with its `bye`."""

    _over = False

    def read(self, timeout: float) -> bytes | None:
        """Return one line, as ``Link.read``; b"" after `bye`, too."""
        line = b"" if self._over else super().read(timeout)
        self._over = self._over or says_bye(line)
        return line


class Channel(Process):
    """A program whose input and output are those of an agent that runs elsewhere.

    A signal would end only the program, and what the agent still has to send would be lost.
    """

    noun = "the command"

    def _ask_to_stop(self) -> None:
        """Do nothing: the session has sent `stop`, and its input ends at the agent too."""


def start(
    command: Sequence[str], files: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a program between two pipes; return it, and the file that takes its stderr.

    ``files``: file descriptors that it inherits.  Raises OSError if it cannot be started,
    TargetError if there is no file to be had.
    """
    try:
        words = tempfile.TemporaryFile()  # noqa: SIM115  the caller's to close
    except OSError as error:
        raise TargetError(f"no temporary file can be made: {error.strerror}") from error
    try:
        with STARTING:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                bufsize=0,
                pass_fds=files,
                start_new_session=True,  # the terminal's Ctrl-C is for the host alone
            )
    except OSError:
        words.close()
        raise
    return process, words


def ending(printed: bytes) -> str:
    """Return the end of what a program printed, to append to an error; "" if it was nothing."""
    words = " ".join(printed.decode(errors="replace").split())[-LAST_WORDS:]
    return f"; its output ends: {words}" if words else ""


def not_started(program: str, error: OSError, advice: str) -> TargetError:
    """Return the error for an agent that cannot be started."""
    return TargetError(
        f"cannot start the agent, {program}: {error.strerror}; "
        f"{LIMITS.get(error.errno or 0, advice)}"
    )


# What helps where it is not the program that is at fault.
LIMITS = {
    errno.EMFILE: "raise the limit of open files: ulimit -n 1024",
    errno.EAGAIN: "raise the limit of processes: ulimit -u, or pids.max of the control group",
    errno.ENOMEM: "raise the limit of memory: ulimit -v, or memory.max of the control group",
    errno.EPERM: "its file gives capabilities that this session may not have (its bounding set)",
}


def _in_session(session: int) -> bool:
    """Return whether a process of that session is still running (zombies do not count)."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just gone
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[3] == str(session) and fields[0] != "Z":
                return True
    return False


def _fate(status: int) -> str:
    if status > 0:
        return f"failed with exit status {status}"
    if status == -signal.SIGSYS:
        return "was killed by SIGSYS, a filter of system calls (seccomp); `rtstone doctor` names it"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-status}"
