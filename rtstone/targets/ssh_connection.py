"""A connection by the user's `ssh` program, shared by everything that is done on the target.

The connection is made once, with the user's configuration, keys, jump hosts and host-key check, and
offers a control socket in a private directory; all further programs go through that.  A keeper, a
small shell, ends it when its input ends: so it also ends if this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.targets.process import ending

CONNECT_S = 15  # time limit for the other side to answer at all
SCRIPT_S = 45.0  # time limit of a script, unless it says otherwise: longer than of a dead link
ANSWER = 16 << 20  # bytes that a script prints at most, unless its caller expects more
CLOSE_S = 5.0  # time limit for the connection to end
ALIVE_S, UNANSWERED = 10, 3  # a silent link is asked so often, that far apart: dead after 40 s
DEAD = "not responding"  # ssh's own words for that
IDLE_S = 30  # after which ssh ends a connection that nothing uses, as this process may be frozen
WORDS_READ = 1 << 20  # bytes of what a program prints as errors
WORDS = 300  # characters of ssh's own words in an error
ROOM = 80  # bytes that a control socket's path may have: ssh appends 17, and sun_path has 108
MARK = (
    b"rtstone-script\n"  # printed before a script: what a shell's start-up files print is dropped
)

_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@-]*")
_HOST = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?\]")
_PLACE = re.compile(r"[A-Za-z0-9/._-]+")  # has nothing that ssh would expand in a path
_FORM = "write [user@]host[:port], an IPv6 address in brackets"

# Ends the connection and removes the directory of its socket once its input has ended.
_KEEPER = """
trap '' HUP INT TERM
read -r gone
ssh -F /dev/null -S "$1" -O exit target
rm -rf "$2"
"""

# How ssh calls a host whose key it knows; OpenSSH 10 quotes otherwise than those before.
_KNOWN = re.compile(r"""ssh-keygen .*-R ["']?([^"'\s]+)""")

# What ssh prints when it fails, what that means, and what to do; of {host}, {login} and {port}.
_FAILURES = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": (
        "the host key of {host} has changed",
        "if it was installed anew, remove the old key: ssh-keygen -R {known}",
    ),
    "Host key verification failed": (
        "the host key of {host} is not known",
        "connect once by hand and compare it: ssh {login}",
    ),
    "Could not resolve hostname": ("unknown host {host}", "check the name, or give its address"),
    "Connection refused": (
        "{host} refuses the connection",
        "start sshd there, or name its port: ssh:host:port",
    ),
    "timed out": ("{host} does not answer", "check that it is on and connected"),
    "No route to host": ("no route to {host}", "check that it is on and connected"),
    "unreachable": ("no route to {host}", "check the network of this machine"),
    "Permission denied": (
        "{host} lets nobody in with the keys that were offered",
        "install yours there: ssh-copy-id {login}",
    ),
    "Too many authentication failures": (
        "{host} lets nobody in with the keys that were offered",
        "name the right one by IdentityFile and IdentitiesOnly in ~/.ssh/config",
    ),
}


class Address(NamedTuple):
    """Where to log in; what is None is left to ssh's configuration."""

    user: str | None
    host: str
    port: int | None

    def words(self) -> list[str]:
        """Return the arguments of ssh for it; the host is last."""
        user = ["-l", self.user] if self.user else []
        port = ["-p", str(self.port)] if self.port else []
        return [*user, *port, "--", self.host]

    def by_hand(self) -> str:
        """Return what a person types after `ssh` and `ssh-copy-id`."""
        port = f"-p {self.port} " if self.port else ""
        return f"{port}{self.user}@{self.host}" if self.user else f"{port}{self.host}"


def address(text: str, where: str) -> Address:
    """Parse ``[user@]host[:port]``.  Raises UsageError, which names ``where``.

    Nothing of it can be taken for an option or be expanded by a shell.
    """
    user, at, rest = text.rpartition("@")
    host, _, port = (
        rest.rpartition(":") if re.search(r"(^[^:]*|\]):[^:\]]*$", rest) else (rest, "", "")
    )
    if at and not _USER.fullmatch(user):
        raise UsageError(f"bad user '{user}', in target '{where}'; {_FORM}")
    if not _HOST.fullmatch(host):
        raise UsageError(f"bad host '{host}', in target '{where}'; {_FORM}")
    if (port or rest.endswith(":")) and not (port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"bad port '{port}', in target '{where}'; it is a number from 1 to 65535")
    return Address(user or None, host.strip("[]"), int(port) if port else None)


class Connection:
    """An open connection to ``host``, through a control socket.

    It is closed when it is no longer used, or the program ends, in whatever way.
    """

    host: str  # what it is called
    close: weakref.finalize[..., Any]
    _socket: str

    def command(self, text: str, *arguments: str) -> list[str]:
        """Return the command that runs a script of POSIX sh on the target."""
        # By exec: the script's process is sshd's child, and is signalled when sshd has gone.
        remote = "exec " + shlex.join(["sh", "-c", text, "rtstone", *arguments])
        # The user's configuration has done its work; should the connection have ended meanwhile,
        # ssh would make another one.
        through = ["-F", "/dev/null", "-o", "ProxyCommand=false", "-o", "LogLevel=ERROR"]
        return ["ssh", *through, "-S", self._socket, "-T", "-a", "-x", "target", remote]

    def script(
        self,
        text: str,
        *arguments: str,
        data: bytes = b"",
        limit_s: float = SCRIPT_S,
        largest: int = ANSWER,
    ) -> bytes:
        """Run a script of POSIX sh on the target, with ``data`` as its input; return its output.

        Raises TargetError if it fails, does not end within ``limit_s``, or prints more than
        ``largest`` bytes.
        """
        command = self.command(f"echo {MARK.decode().strip()}\n{text}", *arguments)
        done = _completed(command, data, limit_s, largest)
        if done is None:
            raise TargetError(
                f"{self.host} did not answer within {limit_s:.0f} s; check its connection and load"
            )
        if len(done.stdout) > largest:
            raise TargetError(f"{self.host} answers with more than {largest >> 20} MiB")
        before, mark, out = done.stdout.partition(MARK)
        said = ending(done.stderr or before)
        if done.returncode == 255 and not self.alive():
            raise TargetError(f"{self.lost()}{said}")
        if not mark:
            raise TargetError(
                f"no command can be run on {self.host}: exit status {done.returncode}; "
                f"its user needs a login shell that runs sh{said}"
            )
        if done.returncode:
            status = done.returncode
            raise TargetError(f"a command failed on {self.host}, exit status {status}{said}")
        return out

    @property
    def closed(self) -> bool:
        """Whether this side has closed it."""
        return not self.close.alive

    def alive(self) -> bool:
        """Return whether the connection still exists."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return not subprocess.run(
                ["ssh", "-F", "/dev/null", "-S", self._socket, "-O", "check", "target"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CLOSE_S,
                check=False,
            ).returncode
        return False

    def lost(self) -> str:
        """Say that it was lost."""
        return f"the connection to {self.host} was lost"


class Login(Connection):
    """A connection that is made for an address.  Raises TargetError, Interrupted.

    ssh itself ends it when nothing has used it for a while.
    """

    def __init__(self, address: Address) -> None:
        self.address, self.host = address, address.host
        if shutil.which("ssh") is None:
            raise TargetError(
                "ssh is not installed; install it with: apt-get install openssh-client"
            )
        self._folder = _private_folder()
        self._socket, self._log = str(self._folder / "s"), self._folder / "log"
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "rtstone-keeper", self._socket, str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.close = weakref.finalize(self, _end, self._keeper)
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        """Start ssh, which goes to the background as soon as it is connected."""
        person = os.isatty(0) and os.isatty(2)  # whom ssh may ask
        options = [f"ConnectTimeout={CONNECT_S}", f"ControlPersist={IDLE_S}", "RemoteCommand=none"]
        options += [f"ServerAliveInterval={ALIVE_S}", f"ServerAliveCountMax={UNANSWERED}"]
        # Only at this level does ssh say that a link is dead; its messages: _log_text.
        options += ["ClearAllForwardings=yes", "PermitLocalCommand=no", "LogLevel=INFO"]
        options += [] if person else ["BatchMode=yes"]
        command = ["ssh", "-M", "-S", self._socket, "-f", "-N", "-T", "-a", "-x"]
        command += ["-E", str(self._log)]
        command += [word for option in options for word in ("-o", option)]
        if guard := shutil.which("setpriv"):  # while it connects, the keeper cannot end it
            command = [guard, "--pdeathsig", "TERM", *command]
        try:
            with (self._folder / "words").open("w+b") as words:
                status = subprocess.run(
                    [*command, *self.address.words()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=words,  # no pipe, which ssh would hold open
                    env=os.environ | {"LC_ALL": "C"},
                    start_new_session=not person,
                    check=False,
                ).returncode
                words.seek(0)
                output = words.read().decode(errors="replace") + self._log_text()
        except OSError as error:
            raise TargetError(f"cannot start ssh: {error.strerror}") from error
        if status in {-signal.SIGINT, 128 + signal.SIGINT}:
            raise Interrupted(f"interrupted while connecting to {self.host}")
        if status:
            raise self._failure(output)

    def _log_text(self) -> str:
        """Return what ssh has logged, but for what it learned about the host."""
        with contextlib.suppress(OSError):  # removed with the connection
            lines = self._log.read_text(errors="replace").splitlines(keepends=True)
            return "".join(line for line in lines if not line.startswith("Warning: Permanently"))
        return ""

    def lost(self) -> str:
        """Say that it was lost, or that it seems dead: nothing was closed, and nothing comes."""
        if DEAD not in self._log_text():
            return super().lost()
        return (
            f"the connection to {self.host} seems dead: nothing has come from it for "
            f"{ALIVE_S * (UNANSWERED + 1)} s; check the network, and that it is on"
        )

    def _failure(self, output: str) -> TargetError:
        """Return the error for what ssh printed."""
        said = " ".join(output.split())[-WORDS:]
        said = f"; ssh said: {said}" if said else ""
        port = self.address.port
        for words, (cause, remedy) in _FAILURES.items():
            if words in output:
                key = _KNOWN.search(output)
                host = shlex.quote(key[1] if key else self.host)
                names = {"host": self.host, "login": self.address.by_hand(), "known": host}
                at = f", port {port}" if port else ""
                return TargetError(f"{cause.format(**names)}{at}; {remedy.format(**names)}{said}")
        return TargetError(
            f"cannot connect to {self.host}; try it by hand: ssh {self.address.by_hand()}{said}"
        )


def _completed(
    command: list[str], data: bytes, limit_s: float, largest: int
) -> subprocess.CompletedProcess[bytes] | None:
    """Return what a program printed, slightly more than ``largest`` if it would print more still.

    Returns None if it does not end within ``limit_s``.  Either way it is ended.
    """
    end = time.monotonic() + limit_s
    with tempfile.TemporaryFile() as sent, tempfile.TemporaryFile() as words:
        sent.write(data)
        sent.seek(0)
        with subprocess.Popen(
            command, stdin=sent, stdout=subprocess.PIPE, stderr=words, start_new_session=True
        ) as process:
            assert process.stdout is not None
            waiting, printed = select.poll(), bytearray()
            waiting.register(process.stdout, select.POLLIN)
            try:
                while len(printed) <= largest:
                    if not waiting.poll(max(0.0, end - time.monotonic()) * 1000):
                        return None
                    if not (data := os.read(process.stdout.fileno(), 1 << 16)):
                        break
                    printed += data
                else:
                    process.kill()
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()
        words.seek(0)
        status = process.returncode
        return subprocess.CompletedProcess(command, status, bytes(printed), words.read(WORDS_READ))


def _end(keeper: subprocess.Popen[bytes]) -> None:
    """Let the keeper end the connection."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        keeper.wait(CLOSE_S)


def _private_folder() -> Path:
    """Make a directory that is short enough for a socket.  Raises TargetError."""
    places = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp", "/var/tmp"]
    why = ""
    for place in places:
        if not place.startswith("/") or not _PLACE.fullmatch(place) or len(place) > ROOM - 25:
            continue
        try:
            return Path(tempfile.mkdtemp(prefix="rtstone-ssh-", dir=place))
        except OSError as error:
            why = f"{place}: {error.strerror}"
    raise TargetError(f"no directory for the control socket of ssh; {why or 'set TMPDIR to one'}")
