"""The commands that the host sends to the agent (docs/reference/wire.md)."""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import quote
from zlib import crc32

from rtstone.errors import TargetError
from rtstone.wire.records import VERSION, Heard

BYE = "bye"
HELLO = "hello"
LIST = "list"
STOP = "stop"

RESEND_S = 2.0  # without an echo for so long a command is sent again; twice as long each time
LONGEST_RESEND_S = 30.0
TRIES = 50  # in succession that arrive damaged

FORGOTTEN = (
    "the agent has forgotten this run: its system has started anew, or the host had been silent "
    "for longer than it had promised"
)
_AS_THEY_ARE = "".join(chr(code) for code in range(33, 127) if chr(code) not in "%#")


def other_version(version: int) -> TargetError:
    """Return the error for an agent of another version of the wire protocol."""
    return TargetError(
        f"the agent uses wire version {version}, rtstone needs {VERSION}; "
        "build both from one source: `make agent`, `make freertos`, `rtstone lab build`"
    )


def framed(number: int, command: str) -> str:
    """Return a command as a line, without its end."""
    covered = f"{number} {command}"
    return f"#cmd {covered} {crc32(covered.encode('ascii')):08x}"


def script(commands: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a script, which an agent takes at its start and cannot ask about."""
    return (framed(number, command) for number, command in enumerate(commands, 1))


class Commands:
    """Send commands in order, each until the agent has echoed it, so that none is lost or doubled.

    ``newest``: the number of the last command that the agent has had.
    """

    def __init__(self, send: Callable[[str], None], newest: int = 0) -> None:
        self._send = send
        self._newest = newest  # echoed
        self._left: deque[str] = deque()  # not yet echoed; the first one has been sent
        self._tries = 0
        self._resend_at = 0.0
        self._pause_s = RESEND_S
        self.longest = 4095  # characters that the agent takes

    @property
    def heard(self) -> bool:
        """Return whether all commands have been echoed."""
        return not self._left

    def say(self, command: str) -> None:
        """Send a command as soon as those before it have been echoed."""
        self._left.append(command)
        if len(self._left) == 1:
            self._begin()

    def echoed(self, echo: Heard) -> bool:
        """Take an echo; return whether it is the first one of a command.

        Raises TargetError if the agent does not know this host any more.
        """
        if echo.n < self._newest:
            raise TargetError(FORGOTTEN)
        ahead = echo.n - self._newest
        if 0 < ahead <= len(self._left):
            for _ in range(ahead):
                self._left.popleft()
            self._newest = echo.n
            if self._left:
                self._begin()
        elif not ahead and echo.text is None and self._left:
            self._tries += 1
            if self._tries > TRIES:
                raise TargetError(
                    f"each of {TRIES} commands in succession was damaged on its way to the agent; "
                    "check the line: its speed, its cable, and what else writes to it"
                )
            self._transmit()
        return ahead > 0

    def keep(self) -> None:
        """Send a command again if its echo is overdue."""
        if self._left and time.monotonic() > self._resend_at:
            self._pause_s = min(2 * self._pause_s, LONGEST_RESEND_S)
            self._transmit()

    def _begin(self) -> None:
        self._tries, self._pause_s = 0, RESEND_S
        line = self._transmit()
        if len(line) > self.longest:
            raise TargetError(
                f"a command of {len(line)} characters is too long for the agent, which takes "
                f"{self.longest}: {line[:60]}…; give fewer parameters, or shorter texts"
            )

    def _transmit(self) -> str:
        line = framed(self._newest + 1, self._left[0])
        if len(line) <= self.longest:
            self._send(line)
        self._resend_at = time.monotonic() + self._pause_s
        return line


def case(number: int, bench: str, params: Mapping[str, object]) -> str:
    """Return the command that runs one case.  Values are in base units, booleans 1 or 0."""
    return " ".join(["case", str(number), bench, *_words(params)])


def load(name: str, params: Mapping[str, object]) -> str:
    """Return the command that replaces the load for the following cases; "none" only stops it."""
    return " ".join(["load", name, *_words(params)])


def trace(above_ns: int, keep: int, *, stacks: bool) -> str:
    """Return the command to trace all further cases.

    Snapshots are kept of the ``keep`` largest samples of at least ``above_ns``, with the kernel's
    stack where a real-time task is woken, if that is wanted.
    """
    return f"trace {above_ns} {keep}{' stacks' if stacks else ''}"


def limit(latency_ns: int, stop_ns: int) -> str:
    """Return the command that limits the latency in all further cases.

    A sample above ``latency_ns`` is a miss, one above ``stop_ns`` ends its case; 0: no such limit.
    """
    return f"limit {latency_ns} {stop_ns}"


def again(number: int) -> str:
    """Return the command that sends the records of a case once more; 0: of none, but of all."""
    return f"again {number}"


def sends(command: str) -> int | None:
    """Return the case all of whose records answer a command, None if it is another command."""
    match = re.match(r"(?:case|again) (\d{1,19})\b", command)
    return int(match[1]) if match else None


def refused(command: str) -> str:
    """Return the warning of an agent that cannot carry out a command."""
    return f"cannot be carried out: {command}"


def alive(milliseconds: int) -> str:
    """Return the command that promises to speak again within so many ms, else the agent ends."""
    return f"alive {milliseconds}"


def progress(milliseconds: int) -> str:
    """Return the command that requests progress records every so many ms; 0 for none."""
    return f"progress {milliseconds}"


def _words(params: Mapping[str, object]) -> list[str]:
    """Return each parameter as one ASCII word, percent-encoded where necessary."""
    texts = {
        name: str(int(value)) if isinstance(value, bool) else str(value)
        for name, value in params.items()
    }
    return [f"{name}={quote(text, safe=_AS_THEY_ARE)}" for name, text in texts.items()]


if __name__ == "__main__":  # a filter for commands that are typed: docs/guides/porting.md
    for typed in script(sys.stdin.read().splitlines()):
        print(typed)
