"""A board on a serial line, whose agent is running already, or does so after a reset.

Termios itself: opening a line takes a millisecond, and nothing has to be installed.
"""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import re
import secrets
import select
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from struct import pack

from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.targets.base import Link, Options, Target
from rtstone.targets.lines import Lines, says_bye
from rtstone.targets.options import Check, one_of, parse, text
from rtstone.units import plain
from rtstone.wire import commands, records
from rtstone.wire.reader import MARK, Reader, Record

BAUD = 115_200
BITS = 10  # on the line per byte, with a start and a stop bit
RATES = {
    int(name[1:]): getattr(termios, name)
    for name in dir(termios)
    if re.fullmatch(r"B[1-9]\d*", name)
}
POLL_S = 0.25  # interval in which an interrupt is noticed
HELLO_S = 2.0  # without an answer for so long, `hello` is sent again
START_S = 30.0  # time limit for the first answer: a board may have to start first
RESET_S = 60.0  # time limit for the command that resets the board
PULSE_S = 0.1  # for which DTR is off
SEND_S = 10.0  # time limit for the line to take a command
STOP_S = 10.0  # silence after which an agent that is to stop is given up
LONGEST_STOP_S = 600.0  # the same, if it is never silent
SHOWN = 160  # characters of what came, in an error

OPTIONS: dict[str, Check] = {"reset": text, "dtr": one_of("yes", "no")}
_OPTION = re.compile(rf"\+(?=(?:{'|'.join(OPTIONS)})=)")


class Serial(Target):
    """``serial:DEVICE[,BAUD][+reset=COMMAND][+dtr=yes]``."""

    resident = True

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.name = f"serial:{argument}"
        place, *words = _OPTION.split(argument)
        device, comma, baud = place.rpartition(",")
        self._device = device if comma else place
        if comma and not (baud.isascii() and baud.isdecimal() and int(baud) in RATES):
            usual = ", ".join(str(rate) for rate in sorted(RATES) if rate >= 9600)
            raise UsageError(
                f"no rate of a serial line, '{baud}', in target '{self.name}'; one of {usual}"
            )
        self._baud = int(baud) if comma else BAUD
        options = parse(words, OPTIONS.__getitem__, self.name)
        self._reset = options.get("reset")
        self._dtr = options.get("dtr", "no") == "yes"
        if not self._device.startswith("/"):
            raise UsageError(
                f"a serial line is named by its path, such as /dev/ttyUSB0, in target '{self.name}'"
            )
        self.agent = f"at {self._device}, {self._baud} baud"
        self.bytes_per_s = self._baud / BITS

    def start(self, options: Options) -> Link:
        """Open the line, reset the board if requested, and find the agent."""
        link = Line(self._device, self._baud)
        try:
            if self._dtr:
                link.pulse()
            if self._reset:
                _run(self._reset)
            link.greet(options.interrupted)
        except BaseException:
            link.close()
            raise
        return link

    def detail(self) -> dict[str, str | int | None]:
        """Return the line and its rate."""
        return {"device": self._device, "baud": self._baud, "bytes_per_s": self._baud // BITS}


def _run(command: str) -> None:
    """Run the user's own command that resets the board.  Raises TargetError if it fails."""
    try:
        done = subprocess.run(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RESET_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"the command that resets the board has not ended within {RESET_S:.0f} s: {command}"
        ) from None
    if done.returncode:
        words = " ".join(done.stdout.decode(errors="replace").split())[-SHOWN:]
        raise TargetError(
            f"the command that resets the board failed with exit status {done.returncode}: "
            f"{command}{f'; its output ends: {words}' if words else ''}"
        )


class Line(Link):
    """An open line.  Raises TargetError if it cannot be used, or is used by another program."""

    remedy = "reset=COMMAND or dtr=yes reset a board first"  # if it is silent

    def __init__(self, device: str, baud: int) -> None:
        self._device, self._baud = device, baud
        self._lines = Lines()
        self._ready: list[bytes] = []  # complete lines
        self._noise = b""  # the last line without a record
        self._over = False
        self._stopped: float | None = None
        self._newest = time.monotonic()  # when the last bytes came
        self._before: list[object] | None = None  # the settings
        try:
            self._file = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _not_opened(device, error) from error
        try:
            # Take the line for this program alone, and set it up.
            if not os.isatty(self._file):
                raise TargetError(
                    f"not a serial line, {self._device}; give one such as /dev/ttyUSB0"
                )
            try:
                # The lock holds for root too, the other for programs that know of no lock.
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.ioctl(self._file, termios.TIOCEXCL)
            except OSError as error:
                raise _busy(self._device) from error
            speed = RATES[self._baud]
            try:
                self._before = termios.tcgetattr(self._file)
                control = termios.CS8 | termios.CREAD | termios.CLOCAL
                characters = list(self._before[6])  # type: ignore[call-overload]
                characters[termios.VMIN], characters[termios.VTIME] = 1, 0
                # Neither flow control nor a hang-up at the end, which resets some boards.
                wanted = [termios.IGNBRK, 0, control, 0, speed, speed, characters]
                termios.tcsetattr(self._file, termios.TCSANOW, wanted)
                termios.tcflush(self._file, termios.TCIOFLUSH)
                got = termios.tcgetattr(self._file)[4:6]
            except (termios.error, OSError) as error:
                raise TargetError(f"cannot set up {self._device}: {error.args[-1]}") from error
            if got != [speed, speed]:
                raise TargetError(
                    f"{self._device} does not have the rate {self._baud}; set the board to another "
                    "one"
                )
        except BaseException:
            self.close()
            raise

    def pulse(self) -> None:
        """Switch DTR off and on, which resets many boards.  Raises TargetError."""
        dtr = pack("I", termios.TIOCM_DTR)
        try:
            fcntl.ioctl(self._file, termios.TIOCMBIC, dtr)
            time.sleep(PULSE_S)
            fcntl.ioctl(self._file, termios.TIOCMBIS, dtr)
        except OSError as error:
            raise TargetError(f"{self._device} has no DTR ({error.strerror}); leave dtr out") from (
                error
            )

    def greet(self, interrupted: Callable[[], bool]) -> None:
        """Say hello until the agent answers; all before its answer is noise.

        Raises TargetError that says what came instead, Interrupted.
        """
        end = time.monotonic() + START_S
        came = bytearray()
        while time.monotonic() < end:
            number = 1 + secrets.randbelow(1 << 30)
            self.send("\n" + commands.framed(number, commands.HELLO))
            again = time.monotonic() + HELLO_S
            while (left := again - time.monotonic()) > 0:
                if interrupted():
                    raise Interrupted("interrupted before the run began")
                line = self.read(min(left, POLL_S))
                if line is None:
                    continue
                came = (came + line)[-(1 << 12) :]
                if self._answers(line, number):
                    self.newest = number
                    return
        came += self._lines.rest()
        odd = sum(byte > 126 or (byte < 32 and byte not in b"\t\r\n\x1b\x08") for byte in came)
        if not came:
            diagnosis = (
                f"nothing came within {START_S:.0f} s: look at cable and power, and whether the "
                f"agent has been started; {self.remedy}"
            )
        elif MARK in came:
            diagnosis = (
                "it speaks but does not hear, or all it says is damaged, in "
                f"{plain(len(came))} bytes: look at the line to the board, and at its rate, here "
                f"{self._baud}"
            )
        elif odd > len(came) // 10:
            diagnosis = f"what came is no text: is {self._baud} the rate of the board?"
        else:
            diagnosis = f"what came ends: {_printed(came)}"
        raise TargetError(f"no agent answers at {self._device}; {diagnosis}")

    def _answers(self, line: bytes, number: int) -> bool:
        """Return whether a line has the answer, which is then the next one to be read."""
        for event in Reader().feed(line):
            match event:
                case Record(_, records.Hello(version)) if version != records.VERSION:
                    raise commands.other_version(version)
                case Record(0, records.Hello(n=n)) if n == number:
                    self._ready.insert(0, line[line.rindex(MARK + b"0 ") :])
                    return True
        return False

    def send(self, line: str) -> None:
        """Write the line; what comes meanwhile is kept."""
        left = line.encode("ascii") + b"\n"
        end = time.monotonic() + SEND_S
        while left and time.monotonic() < end:
            try:
                left = left[os.write(self._file, left) :]
            except BlockingIOError:
                self._wait(select.POLLIN | select.POLLOUT, 0.1)
                with suppress(BlockingIOError):
                    self._receive()
            except OSError:
                return  # read() says so

    def read(self, timeout: float) -> bytes | None:
        """Return one line; b"" after `bye`, or when an agent that is to stop is given up."""
        if self._over:
            return b""
        if not self._ready:
            self._wait(select.POLLIN, timeout)
            with suppress(BlockingIOError):
                self._receive()
        if not self._ready:
            now = time.monotonic()
            given_up = self._stopped is not None and (
                now > self._newest + STOP_S or now > self._stopped + LONGEST_STOP_S
            )
            return b"" if given_up else None
        line = self._ready.pop(0)
        self._over = says_bye(line)
        if MARK not in line and line.strip():
            self._noise = line
        return line

    def coming(self) -> int:
        """Return how much of a record has come that is not complete."""
        rest = self._lines.rest()
        return len(rest) if MARK in rest else 0

    def _wait(self, events: int, timeout: float) -> None:
        waiting = select.poll()
        waiting.register(self._file, events)
        waiting.poll(timeout * 1000)

    def _receive(self) -> None:
        """Take what has come.  Raises TargetError if the line is gone."""
        try:
            data = os.read(self._file, 1 << 16)
        except BlockingIOError:
            raise
        except OSError as error:
            raise TargetError(
                f"the serial line is gone, {self._device}: {error.strerror}; is it unplugged?"
            ) from error
        if not data:
            raise TargetError(f"the serial line was hung up, {self._device}; is it unplugged?")
        self._newest = time.monotonic()
        self._lines.add(data)
        while (line := self._lines.take()) is not None:
            self._ready.append(line)

    def stop(self) -> None:
        """Wait for the agent, which has been sent `stop`, as long as it sends something."""
        if self._stopped is None:
            self._stopped = self._newest = time.monotonic()

    def abandon(self) -> None:
        """Do not wait for the agent."""
        self._over = True

    def close(self) -> None:
        """Give the line back as it was found."""
        if self._file < 0:
            return
        with suppress(OSError, termios.error):
            if self._before is not None:
                termios.tcflush(self._file, termios.TCOFLUSH)
                termios.tcsetattr(self._file, termios.TCSANOW, self._before)  # type: ignore[arg-type]
            fcntl.ioctl(self._file, termios.TIOCNXCL)
        os.close(self._file)
        self._file = -1

    def last_words(self) -> str:
        """Return the last line that was no record."""
        text = _printed(self._noise)
        return f"; the last line without a record: {text}" if text else ""


def _not_opened(device: str, error: OSError) -> TargetError:
    match error.errno:
        case errno.ENOENT:
            return TargetError(f"no serial line {device}; is the board plugged in?")
        case errno.EBUSY:
            return _busy(device)
        case errno.EACCES | errno.EPERM:
            owner = "it belongs to another user"
            with suppress(OSError, KeyError):
                group = grp.getgrgid(Path(device).stat().st_gid).gr_name
                owner = (
                    f"it belongs to group {group}; join it: usermod -a -G {group} USER, "
                    "log in again"
                )
            return TargetError(f"{device} may not be opened: {owner}")
    return TargetError(f"cannot open {device}: {error.strerror}")


def _busy(device: str) -> TargetError:
    return TargetError(f"{device} is in use by another program; end that first")


def _printed(came: bytes | bytearray) -> str:
    return " ".join(came.decode("ascii", errors="replace").split())[-SHOWN:]
