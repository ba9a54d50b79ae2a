"""A machine that one can log in to: the agent is uploaded, run, and removed.

Nothing is installed there.  The agent lies in a private directory only until it has started: then
it removes its own file (option --uploaded), so that nothing is left however the run ends.
"""

from __future__ import annotations

import re
import secrets
import zlib
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rtstone import resources
from rtstone.cpus import cpu_set
from rtstone.errors import TargetError, UsageError
from rtstone.printable import shown
from rtstone.targets.base import Examined, Link, Options, Past
from rtstone.targets.local import Local, identity
from rtstone.targets.options import Check, checks, one_of, parse
from rtstone.targets.process import Channel
from rtstone.targets.ssh_connection import Connection, Login, address

if TYPE_CHECKING:
    from rtstone.system.facts import System

UPLOAD_S = 120  # time limit for the agent to be uploaded and started, after which it is removed
OPTIONS: dict[str, Check] = {"sudo": one_of("yes", "no")}
FOLDER = "rtstone-upload-"  # begins the name of its directory; the agent removes no other

# Prints what is known of the machine, one line each; $1: sudo is to be used.
_PROBE = """
LC_ALL=C; export LC_ALL; set -f
echo system $(uname -s)
echo machine $(uname -m)
echo id $(cat /etc/machine-id 2>/dev/null)
echo kernel $(uname -r -v; cat /proc/cmdline 2>/dev/null)
echo cpus $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null)
echo isolated $(cat /sys/devices/system/cpu/isolated 2>/dev/null)
[ "$1" != yes ] || if said=$(sudo -n true 2>&1); then echo sudo ok; else echo sudo $said; fi
"""

# Makes a directory where a program can be executed and has room, $dir, or says why none will do; it
# is removed when the shell ends.  $1: its name, $2: bytes of room.
_PLACE = r"""
LC_ALL=C; export LC_ALL; umask 077; set -f
dir=
drop() { [ -z "$dir" ] || rm -rf "$dir"; dir=; }
refuse() { echo "refused $base: $1"; drop; }
trap drop EXIT
trap 'exit 1' HUP INT TERM PIPE
for base in "${XDG_RUNTIME_DIR:-}" /dev/shm /tmp /var/tmp; do
    case $base in *[!A-Za-z0-9/._-]*) continue ;; /*) ;; *) continue ;; esac
    [ -d "$base" ] || continue
    case $(ls -ld "$base/.") in
        d????w???[!tT]* | d???????w[!tT]*) refuse "others may exchange what lies there"; continue ;;
    esac
    mkdir "$base/$1" 2>/dev/null || { refuse "not writable"; continue; }
    dir=$base/$1
    { printf '#!/bin/sh\nexit 42\n' >"$dir/try"; } 2>/dev/null || { refuse "no space"; continue; }
    chmod 700 "$dir/try"
    "$dir/try" 2>/dev/null
    [ $? = 42 ] || { refuse "nothing may be executed there (noexec)"; continue; }
    dd if=/dev/zero of="$dir/agent" bs="$2" count=1 2>/dev/null
    [ "$(wc -c <"$dir/agent")" -eq "$2" ] || { refuse "no space for $2 bytes"; continue; }
    break
done
[ -n "$dir" ] || exit 0
"""

# Writes its input to a file of its own in such a directory, and says where that is.  $3: SHA-256,
# $4: checksum, $5: s after which everything is removed again if the agent has not been started; 3 s
# are enough if the connection has ended, and with it the parent process.
_UPLOAD = (
    _PLACE
    + r"""
fail() { echo failed $1; drop; exit 0; }
exec 3<&0
cat <&3 >"$dir/agent" 2>"$dir/why" &
copy=$!
(
    trap 'kill $nap; exit' TERM
    n=0
    while [ $n -lt "$5" ] && { [ $n -lt 3 ] || kill -0 $PPID; }; do
        sleep 1 & nap=$!
        wait $nap
        n=$((n + 1))
    done
    [ ! -e "$dir/why" ] || kill $copy
    rm -rf "$dir"
) 3<&- </dev/null >/dev/null 2>&1 &
cleaner=$!
trap 'kill $cleaner 2>/dev/null; drop' EXIT
wait $copy || fail "the upload was not completed: $(cat "$dir/why" 2>/dev/null)"
[ "$(wc -c <"$dir/agent")" -eq "$2" ] || fail "the upload was not completed"
if command -v sha256sum >/dev/null; then
    [ "$(sha256sum <"$dir/agent" | cut -c 1-64)" = "$3" ] || fail "the upload was damaged"
elif command -v cksum >/dev/null; then
    [ "$(cksum <"$dir/agent" | cut -d ' ' -f 1)" = "$4" ] || fail "the upload was damaged"
fi
chmod 700 "$dir/agent"
# As an interpreter, it is executed by the kernel or not at all, never read as a script; it refuses
# the name of the script as an option.
printf '#!%s\nexit 43\n' "$dir/agent" >"$dir/try"
said=$("$dir/try" 2>&1)
code=$?
[ $code = 2 ] || fail "this machine cannot execute it, exit status $code: $said"
rm -f "$dir/try" "$dir/why"
trap - EXIT
echo "ready $dir $cleaner"
"""
)

# Replaces the shell by the agent.  $1: the process that would remove it, $2: the file that takes it
# into the partition of `rtstone tune`, if there is one, then the agent's command.
_START = """
cleaner=$1 door=$2
shift 2
[ -x "$1" ] || { echo "the uploaded agent was removed, as it was not started in time" >&2; exit 1; }
[ -z "$door" ] || echo $$ >"$door" || {
    echo "the partition made by rtstone tune cannot be entered; log in as root, or use sudo" >&2
    exit 1
}
kill "$cleaner"
exec "$@"
"""

# Prints the agents that run there, one a line: process and user.
_OTHERS = """
for lock in /dev/shm/rtstone-*.lock; do
    [ -f "$lock" ] && [ ! -h "$lock" ] || continue
    pid=${lock#/dev/shm/rtstone-}; pid=${pid%.lock}
    case $pid in *[!0-9]* | '') continue ;; esac
    pid=$((pid % 4194304))
    set -- $(ls -ldn "$lock") && user=$3
    set -- $(ls -ldn "/proc/$pid" 2>/dev/null)
    [ "${3:-}" != "$user" ] || echo "$pid $user"
done
"""


# What the scripts answer: the last line of _UPLOAD, each line of _OTHERS.
_READY = re.compile(r"ready (?P<folder>/\S+) (?P<cleaner>\d+)")
_OTHER = re.compile(r"(\d+) (\S+)")


class Machine(Examined):
    """A machine that a connection reaches; ``host``: what it is called, in messages."""

    def __init__(self, argument: str, host: str, sudo: bool) -> None:
        super().__init__(argument)
        self._host, self._sudo = host, sudo
        self._open: Connection | None = None
        self.agent = f"on {host}"

    @abstractmethod
    def _connect(self) -> Connection:
        """Return a new connection.  Raises TargetError, Interrupted."""

    def script(self, text: str, *arguments: str, data: bytes = b"") -> bytes:
        """Run a script of POSIX sh there as the user who logs in, and return its output.

        Raises TargetError if it fails.
        """
        return self._connection.script(text, *arguments, data=data)

    @property
    def _connection(self) -> Connection:
        """Return the connection, which the end of a run closes, and ssh if it is not used."""
        if self._open is None or self._open.closed or not self._open.alive():
            self._open = self._connect()
        return self._open

    @cached_property
    def _answers(self) -> dict[str, str]:
        """Return what the probe printed, by name.  Raises TargetError."""
        output = self.script(_PROBE, "yes" if self._sudo else "no").decode(errors="replace")
        pairs = (line.partition(" ") for line in output.splitlines())
        return {name: value.strip() for name, _, value in pairs}

    @cached_property
    def _program(self) -> Path:
        """Return the agent for the machine.  Raises TargetError."""
        machine = self._answers.get("machine", "")
        if (system := self._answers.get("system")) != "Linux":
            raise TargetError(
                f"no agent for {system}, on {self._host}; there are agents for Linux only"
            )
        try:
            return resources.static_agent(machine)
        except TargetError as error:
            raise TargetError(f"{error}, on {self._host}") from error

    def check_ready(self) -> None:
        """Raise TargetError if it cannot be reached, take an agent, or grant sudo."""
        size = self._program.stat().st_size
        self._check_sudo()
        self._outcome(self.script(f"{_PLACE}echo ready", _new_folder(), str(size)))

    def _check_sudo(self) -> None:
        if self._sudo and self._answers.get("sudo") != "ok":
            raise TargetError(
                f"sudo is refused without a password, on {self._host}; allow it "
                "(NOPASSWD: in sudoers), or log in as root: ssh:root@HOST; "
                f"it said: {self._answers.get('sudo')}"
            )

    def start(self, options: Options) -> Link:
        """Upload the agent and start it.  Raises TargetError."""
        from rtstone.system.tune import partition

        if options.catalogue:
            # The same source makes the same tables.
            return Local().start(options)
        connection = self._connection
        try:
            with self.examine() as system:
                group = partition(system)
            door = f"/{group}/cgroup.procs" if group else ""  # takes a process into the partition
            folder, cleaner = self._upload(connection)
            words = [f"{folder}/agent", "--uploaded"]
            words += ["--keep-idle"] if options.keep_idle else []
            begin = [*self._rights, "sh", "-c", _START, "rtstone", cleaner, door, *words]
            return _Agent(connection.command('exec "$@"', *begin), connection)
        except BaseException:
            connection.close()
            raise

    def _upload(self, connection: Connection) -> tuple[str, str]:
        """Return the directory of the agent, and the process that removes it in case of need."""
        program = self._program.read_bytes()
        output = connection.script(
            _UPLOAD,
            _new_folder(),
            str(len(program)),
            sha256(program).hexdigest(),
            str(_checksum(program)),
            str(UPLOAD_S),
            data=program,
            limit_s=UPLOAD_S,
        )
        outcome = self._outcome(output)
        if ready := _READY.fullmatch(outcome):
            return ready["folder"], ready["cleaner"]
        why = outcome.removeprefix("failed ")
        raise TargetError(f"the agent cannot be run on {self._host}: {why}")

    def _outcome(self, output: bytes) -> str:
        """Return the last line of a script.  Raises TargetError if no directory would do."""
        lines = output.decode(errors="replace").splitlines()
        if lines and not lines[-1].startswith("refused "):
            return lines[-1]
        each = ", ".join(line.removeprefix("refused ") for line in lines) or "none exists"
        raise TargetError(
            f"no directory on {self._host} can take the agent ({each}); make room in one, "
            "or mount one without noexec"
        )

    def cpus(self) -> frozenset[int]:
        """Return the usable CPUs, including isolated ones; empty if it does not say."""
        lists = [self._answers.get(name, "") for name in ("cpus", "isolated")]
        try:
            return frozenset[int]().union(*(cpu_set(text) for text in lists if text))
        except UsageError:  # not such a list, or of more CPUs than the agent knows
            return frozenset()

    def other_users(self) -> list[str]:
        """Return the other agents on that machine, of any user."""
        host, agents = self._host, []
        for line in self.script(_OTHERS).decode("ascii", "replace").splitlines():
            agent = _OTHER.fullmatch(line)
            if agent is None:
                raise TargetError(
                    f"odd answer of {host}, '{shown(line[:80])}', to which agents run there"
                )
            agents.append(f"the agent of user {agent[2]} on {host} (process {agent[1]})")
        return agents

    @property
    def _rights(self) -> list[str]:
        """Return what a command begins with to have the rights of the agent."""
        return ["sudo", "-n"] if self._sudo else []

    @contextmanager
    def examine(self, cpus: str | None = None, past: Past = lambda _: ()) -> Iterator[System]:
        """Return the machine, seen with the rights that the agent has."""
        from rtstone.system.facts import System
        from rtstone.targets.functional_tests import trials
        from rtstone.targets.shell import Shell, ShellFiles

        self._check_sudo()
        host = self._host
        connection = self._connection
        command = connection.command('exec "$@"', *self._rights, "sh")
        shell = Shell(command, host, connection.lost)
        try:
            probes = trials(shell, self.cpus())
            yield System(files=ShellFiles(shell, host), cpus=cpus, probes=probes, past=past)
        finally:
            shell.close()

    def running_kernel(self) -> str | None:
        """Return what the probe printed."""
        return self._answers.get("kernel") or None

    def detail(self) -> dict[str, str | int | None]:
        """Return the agent's hash, and an id of the machine."""
        return {
            "agent_sha256": resources.digest(self._program),
            "machine": identity(self._answers.get("id", "").encode()),
        }


class Ssh(Machine):
    """``ssh:[user@]host[:port][+sudo=yes]``."""

    def __init__(self, argument: str) -> None:
        self.name = f"ssh:{argument}"
        where, *words = argument.split("+")
        self._address = address(where, self.name)
        options = parse(words, checks(OPTIONS, self.name), self.name)
        super().__init__(argument, self._address.host, options.get("sudo") == "yes")

    def _connect(self) -> Connection:
        return Login(self._address)

    def detail(self) -> dict[str, str | int | None]:
        """Return the address as given, and what is known of each machine."""
        return {"address": self.argument, **super().detail()}


def _new_folder() -> str:
    """Return a name for the agent's directory that nobody can foresee."""
    return FOLDER + secrets.token_hex(8)


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _checksum(data: bytes) -> int:
    """Return the checksum of POSIX cksum: the CRC-32 of zlib with all bits in the other order."""
    length = len(data).to_bytes(8, "little").rstrip(b"\0")
    crc = zlib.crc32((data + length).translate(_REVERSED), 0xFFFFFFFF)
    return int(f"{crc:032b}"[::-1], 2)


class _Agent(Channel):
    """An agent at the other end of a channel; its end closes the connection."""

    noun = "the agent"

    def __init__(self, command: list[str], connection: Connection) -> None:
        self._connection = connection
        super().__init__(command, "install it with: apt-get install openssh-client")

    def _how_ended(self, status: int) -> str:
        host = self._connection.host
        if status != 255:
            return f"{super()._how_ended(status)} on {host}"
        if self._connection.alive():
            return f"the agent was killed on {host}"
        return self._connection.lost()

    def close(self) -> None:
        """End the agent, and the connection with it."""
        super().close()
        self._connection.close()
