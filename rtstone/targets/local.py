"""The local machine: the agent is a process on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rtstone import resources
from rtstone.cpus import bind, usable_cpus
from rtstone.documents.run import LOCAL
from rtstone.targets.base import Examined, Link, Options, Past
from rtstone.targets.process import STARTING, Process

if TYPE_CHECKING:
    from rtstone.system.facts import System

MACHINE_ID = Path("/etc/machine-id")
COMMAND_LINE = Path("/proc/cmdline")  # of the kernel
SWEEP_S = 5.0  # time limit for an agent to remove what a dead one left


class Local(Examined):
    """The agent named by RTSTONE_AGENT, else the one that `make agent` built into this package."""

    name = LOCAL
    nearby = True

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self._program = resources.local_agent()
        self.agent = str(self._program)

    def start(self, options: Options) -> Link:
        """Start the agent as a process in a session of its own."""
        return _Agent(self._program, options)

    def cpus(self) -> frozenset[int]:
        """Return the usable CPUs, including isolated ones outside the initial affinity."""
        return frozenset(usable_cpus())

    def default_cpus(self) -> frozenset[int]:
        """Return the CPU that the agent chooses by itself."""
        with self.examine() as system:
            return system.default

    def other_users(self) -> list[str]:
        """Return the other agents on this machine, of any user."""
        from rtstone.system.agents import agents

        return [str(agent) for agent in agents()]

    @contextmanager
    def examine(self, cpus: str | None = None, past: Past = lambda _: ()) -> Iterator[System]:
        """Return this machine."""
        from rtstone.system.facts import System

        yield System(cpus=cpus, past=past)

    def running_kernel(self) -> str:
        """Return that of this machine."""
        system = os.uname()
        words = ""
        with suppress(OSError):
            words = COMMAND_LINE.read_text("utf-8", errors="replace")
        return " ".join([system.release, system.version, *words.split()])

    def detail(self) -> dict[str, str | int | None]:
        """Return the hash of the agent's binary and an id of the machine, None if unreadable."""
        machine = None
        with suppress(OSError):
            machine = identity(MACHINE_ID.read_bytes())
        return {"agent_sha256": resources.digest(self._program), "machine": machine}


def identity(machine_id: bytes) -> str | None:
    """Return a hash that identifies an installation, None if its machine-id is empty.

    The machine-id itself is confidential.
    """
    text = machine_id.strip()
    return sha256(b"rtstone " + text).hexdigest()[:16] if text else None


class _Agent(Process):
    """An agent that, when it measures, starts in the cpuset prepared by `rtstone tune`.

    Meanwhile the host keeps off the measured CPUs.
    """

    def __init__(self, program: Path, options: Options) -> None:
        from rtstone.system.tune import entered

        self._program = program
        self._home = os.sched_getaffinity(0)
        arguments = ["--list"] if options.catalogue else []
        arguments += ["--keep-idle"] if options.keep_idle else []
        with STARTING, nullcontext() if options.catalogue else entered():
            super().__init__([str(program), *arguments], _advice(program))
        if not options.catalogue:
            # The host takes the CPUs that are not measured (default: all but the last), if there
            # are any.  Set only now, so that the agent does not inherit it.
            bind(self._home - (options.cpus or {max(self._home)}) or self._home)

    def close(self) -> None:
        if self._closed:
            return
        super().close()
        bind(self._home)
        if self._process.returncode == 0:
            return
        # A fresh agent removes the kernel objects that a dead one left.
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [self._program, "--sweep"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                timeout=SWEEP_S,
                check=False,
            )


def _advice(program: Path) -> str:
    """Return what to do if the agent cannot be started."""
    from rtstone.system.membership import membership
    from rtstone.system.probes import on_noexec

    if on_noexec(program):
        return "its file system is mounted noexec: RTSTONE_AGENT names one in another place"
    if (reserved := membership(program)) and reserved.joining:
        return f"it is for members of group {reserved.group} only: {reserved.joining}"
    built = not os.environ.get("RTSTONE_AGENT") and not program.exists()
    return "`make agent` builds it" if built else "see RTSTONE_AGENT"
