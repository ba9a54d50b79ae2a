"""A place of a labgrid coordinator: acquired, brought to its state, measured, and released.

labgrid stays in its own Python.  A script that runs there (``bridge/labgrid_place.py``) holds the
place as long as this process keeps its input open, and so it is released however this one ends.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from rtstone import resources
from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.targets.base import Link, Options, Target
from rtstone.targets.options import Check, checks, one_of, parse, text
from rtstone.targets.process import ending, start
from rtstone.targets.serial import BAUD, BITS, RATES, Line
from rtstone.targets.ssh import OPTIONS as SSH_OPTIONS
from rtstone.targets.ssh import Machine
from rtstone.targets.ssh_connection import Connection

PYTHON = "RTSTONE_LABGRID_PYTHON"  # names the Python that labgrid is installed in
LOOK_S = 30.0  # time limit for what is known of a place; a coordinator may be out of reach for 20 s
CLOSE_S = 30.0  # time limit for a place to be released; it is released later, if at all possible
WHY_S = 2.0  # time limit for the reason why a place was lost
POLL_S = 0.25  # interval in which an interrupt is noticed

OPTIONS: dict[str, Check] = {
    "driver": one_of("ssh", "console"),
    "env": text,
    "state": text,
    **SSH_OPTIONS,
}
_ADVICE = (
    "install it (pipx install labgrid), or name the Python that has it by the environment variable "
    f"{PYTHON}"
)
_SCRIPT = ("targets", "bridge", "labgrid_place.py")


class _Options(NamedTuple):
    """A place with its options; ``state``: None for its default."""

    place: str
    driver: str
    env: str | None
    state: str | None
    sudo: bool


def _parse(argument: str) -> _Options:
    """Parse ``PLACE[+name=value]…``.  Raises UsageError."""
    spec = f"labgrid:{argument}"
    place, *words = argument.split("+")
    values = parse(words, checks(OPTIONS, spec), spec)
    if not place.strip() or not place.isprintable():
        raise UsageError(f"no place is named, in target '{spec}'; write labgrid:PLACE")
    driver, sudo = values.get("driver", "ssh"), values.get("sudo")
    if sudo and driver != "ssh":
        raise UsageError(f"sudo is for driver ssh, in target '{spec}'; leave it out")
    env = values.get("env") or os.environ.get("LG_ENV") or None
    return _Options(place, driver, env, values.get("state"), sudo == "yes")


class Labgrid(Target):
    """``labgrid:PLACE[+env=FILE][+state=STATE][+driver=console][+sudo=yes]``.

    Its driver decides which of the two classes below it is.
    """

    probed = False  # acquiring a place may take long, reset a board, and keeps others from it

    def __new__(cls, argument: str) -> Labgrid:
        """Make the target for the driver.  Raises UsageError."""
        return super().__new__(_Console if _parse(argument).driver == "console" else _Login)

    def _take(self, argument: str) -> None:
        """Set the members that both have."""
        self.name = f"labgrid:{argument}"
        self._options = _parse(argument)

    def check_ready(self) -> None:
        """Raise TargetError if there is no labgrid; the place is acquired when the run begins."""
        _python()

    def _hold(self, interrupted: Callable[[], bool]) -> _Use:
        """Acquire the place, or share it with a target of this command that holds it.

        Raises TargetError, UsageError, Interrupted.
        """
        held = _HELD.get(self._options.place)
        if held is None or held.closed:
            held = _HELD[self._options.place] = _Held(self._options, interrupted)
        elif held.options._replace(sudo=self._options.sudo) != self._options:
            raise UsageError(
                f"place '{self._options.place}' is in use by another target of this command than "
                f"'{self.name}'; measure one after the other"
            )
        return _Use(held)

    def _holder(self) -> list[str]:
        """Return who else holds the place, which is not acquired for that.  Raises TargetError."""
        bridge = _Bridge("look", self._options)
        try:
            answer = bridge.answer(LOOK_S)
            if "place" not in answer:
                raise bridge.failure(answer)
        finally:
            bridge.close()
        holder = answer.get("holder")
        return [f"{holder}, who holds place '{self._options.place}'"] if holder else []


def _never() -> bool:
    return False


class _Login(Labgrid, Machine):
    """A place with an SSHDriver, through whose connection the agent is brought there."""

    _open: _Through | None

    def __init__(self, argument: str) -> None:
        self._take(argument)
        Machine.__init__(self, argument, f"place '{self._options.place}'", self._options.sudo)

    def _connect(self) -> _Through:
        return self._reach(_never)

    def _reach(self, interrupted: Callable[[], bool]) -> _Through:
        """Return the connection, which may have to be made.  Raises TargetError, Interrupted."""
        if self._open is None or self._open.closed:
            self._open = _Through(self._hold(interrupted), self._host)
        return self._open

    def start(self, options: Options) -> Link:
        """Acquire the place, and start the agent there.  Raises TargetError, Interrupted."""
        connection = self._reach(options.interrupted)
        with ExitStack() as failed:
            failed.callback(connection.close)
            if options.catalogue:  # the first request to it
                Machine.check_ready(self)
            link = super().start(options)
            failed.pop_all()
        return link

    def other_users(self) -> list[str]:
        """Return the other agents there; before the place is acquired, who holds it."""
        if self._open is None or self._open.closed:
            return self._holder()
        return Machine.other_users(self)

    def detail(self) -> dict[str, str | int | None]:
        """Return the place, and what is known of each machine."""
        return {**self._reach(_never).held.detail(), **Machine.detail(self)}


class _Console(Labgrid):
    """A place with a console, behind which an agent runs already."""

    resident: ClassVar[bool] = True

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self._take(argument)
        self.agent = f"at the console of place '{self._options.place}'"
        self._use: _Use | None = None

    def _reach(self, interrupted: Callable[[], bool]) -> _Use:
        if self._use is None or self._use.closed:
            self._use = self._hold(interrupted)
            baud = self._use.held.baud
            self.bytes_per_s = baud / BITS if baud else None
        return self._use

    def start(self, options: Options) -> Link:
        """Acquire the place, and find the agent.  Raises TargetError, Interrupted."""
        use = self._reach(options.interrupted)
        with ExitStack() as failed:
            failed.callback(use.close)
            link = _Board(use, self.agent, last=not options.catalogue)
            failed.callback(link.close)
            link.greet(options.interrupted)
            failed.pop_all()
        return link

    def other_users(self) -> list[str] | None:
        """Return who holds the place before it is acquired; then nobody can disturb it."""
        return None if self._use and not self._use.closed else self._holder() or None

    def detail(self) -> dict[str, str | int | None]:
        """Return the place, and the rate of its line."""
        held = self._reach(_never).held
        rate = {"baud": held.baud, "bytes_per_s": held.baud // BITS} if held.baud else {}
        return {**held.detail(), **rate}


# ---- labgrid's side --------------------------------------------------------------------------


class _Bridge:
    """The script in labgrid's Python.  Raises TargetError if it cannot be started."""

    def __init__(self, task: str, options: _Options) -> None:
        python = _python()
        self.options = options
        self._received = b""
        members = {name: getattr(options, name) for name in ("place", "env", "state", "driver")}
        try:
            self._process, self._words = start(
                [python, str(resources.path(*_SCRIPT)), task, json.dumps(members)]
            )
        except OSError as error:
            raise TargetError(f"cannot start {python}: {error.strerror}; {_ADVICE}") from error
        self.close = weakref.finalize(self, _end, self._process, self._words)

    @property
    def closed(self) -> bool:
        """Whether the place is no longer held."""
        return not self.close.alive or self._process.poll() is not None

    def answer(
        self, within_s: float, interrupted: Callable[[], bool] = _never
    ) -> Mapping[str, Any]:
        """Return its next answer, empty if none comes.  Raises Interrupted."""
        assert self._process.stdout is not None
        end = time.monotonic() + within_s
        while b"\n" not in self._received:
            if interrupted():
                raise Interrupted("interrupted before the run began")
            left = min(POLL_S, end - time.monotonic())
            if left < 0:
                return {}
            waiting = select.poll()
            waiting.register(self._process.stdout, select.POLLIN)
            if waiting.poll(left * 1000):
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                if not data:
                    return {}
                self._received += data
        line, _, self._received = self._received.partition(b"\n")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def failure(self, answer: Mapping[str, Any]) -> TargetError:
        """Return the error for an answer that reports one, or that did not come."""
        if "error" in answer:
            return TargetError(str(answer["error"]))
        self._words.seek(0)
        said = ending(self._words.read())
        return TargetError(f"labgrid reported nothing about place '{self.options.place}'{said}")


class _Held(_Bridge):
    """A place that is held until this is closed, or no longer used, or the program ends."""

    users = 0

    def __init__(self, options: _Options, interrupted: Callable[[], bool]) -> None:
        super().__init__("hold", options)
        try:
            # A board may take its time to start; labgrid's drivers have limits of their own.
            self.ready = self.answer(float("inf"), interrupted)
            if "place" not in self.ready:
                raise self.failure(self.ready)
        except BaseException:
            self.close()
            raise

    @property
    def baud(self) -> int | None:
        """The rate of the console, None if it is not known."""
        rate = self.ready.get("baud")
        return rate if isinstance(rate, int) and rate in RATES else None

    def detail(self) -> dict[str, str | int | None]:
        """Return what a run document records of it."""
        return {
            "place": self.ready["place"],
            "exporter": self.ready["exporter"],
            "driver": self.options.driver,
        }

    def why(self) -> str:
        """Return why it was lost, "" if that is not known."""
        lost = self.answer(WHY_S).get("lost") if self.close.alive else None
        return f": {lost}" if lost else ""


_HELD: weakref.WeakValueDictionary[str, _Held] = weakref.WeakValueDictionary()  # by place


class _Use:
    """One of the users of a held place: it is released when the last one closes."""

    def __init__(self, held: _Held) -> None:
        self.held = held
        held.users += 1
        self.close = weakref.finalize(self, _leave, held)

    @property
    def closed(self) -> bool:
        """Whether this user has closed it, or it was lost."""
        return not self.close.alive or self.held.closed


def _leave(held: _Held) -> None:
    held.users -= 1
    if not held.users:
        held.close()


def _end(process: subprocess.Popen[bytes], words: IO[bytes]) -> None:
    """Let the script release the place."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(CLOSE_S)
    process.stdout.close()
    words.close()


class _Through(Connection):
    """The connection of labgrid's SSHDriver."""

    def __init__(self, use: _Use, host: str) -> None:
        self.held, self.host = use.held, host
        self._use, self.close = use, use.close
        self._socket = str(use.held.ready["socket"])

    @property
    def closed(self) -> bool:
        """Whether it was closed, or the place is no longer held."""
        return self._use.closed

    def lost(self) -> str:
        """Say that it was lost, and why."""
        return f"{super().lost()}{self.held.why()}"


class _Board(Line):
    """The console of a place.  ``last``: closing it releases the place."""

    remedy = "a strategy (+env=FILE) can reset a board first"

    def __init__(self, use: _Use, where: str, *, last: bool) -> None:
        super().__init__(str(use.held.ready["line"]), use.held.baud or BAUD)
        self._use, self._last = use, last
        self._device = where.removeprefix("at ")

    def _receive(self) -> None:
        try:
            super()._receive()
        except TargetError as error:
            raise TargetError(f"{self._device} was lost{self._use.held.why()}") from error

    def close(self) -> None:
        """Let go of the line."""
        super().close()
        if self._last:
            self._use.close()


# ---- which Python ----------------------------------------------------------------------------

_ENV = re.compile(rb"#!\s*\S*/env\s+(?:-S\s+)?(\S+)")
_DIRECT = re.compile(rb"#!\s*(/\S*python[^/\s]*)")
_BY_SH = re.compile(rb"'''exec' \"?([^\"\n]+?)\"? \"\$0\"")  # of a path that is long, or has spaces


def _python() -> str:
    """Return the Python of labgrid: that of the setting, of labgrid-client, or python3.

    Raises TargetError if there is none.
    """
    if named := os.environ.get(PYTHON):
        if shutil.which(named) is None:
            raise TargetError(f"{PYTHON} names no program, '{named}'; {_ADVICE}")
        return named
    if client := shutil.which("labgrid-client"):  # whose first lines name its Python
        with suppress(OSError), Path(client).open("rb") as file:
            head = file.read(1 << 12)
            if match := _ENV.match(head):
                python = shutil.which(os.fsdecode(match[1]))
            elif match := _DIRECT.match(head) or _BY_SH.search(head):
                python = os.fsdecode(match[1])
            else:
                python = None
            if python:
                return python
    if python := shutil.which("python3"):
        command = [python, "-c", "import importlib.util as u, sys; "
                   "sys.exit(u.find_spec('labgrid') is None)"]  # fmt: skip
        with suppress(OSError, subprocess.TimeoutExpired):
            if not subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LOOK_S,
                check=False, cwd="/",
            ).returncode:  # fmt: skip
                return python
    raise TargetError(f"labgrid is not installed; {_ADVICE}")
