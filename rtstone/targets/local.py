"""This machine: the agent is one of its processes."""

from __future__ import annotations

import os
import subprocess
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path

from rtstone import resources
from rtstone.cpus import usable_cpus
from rtstone.documents.run import LOCAL
from rtstone.targets.base import Link, Options, Target
from rtstone.targets.process import Process, digest
from rtstone.wire.records import TextTable

MACHINE_ID = Path("/etc/machine-id")
SWEEP_S = 5.0  # an agent has removed by then what a dead one left


class Local(Target):
    """The agent of RTSTONE_AGENT, else the one that `make agent` built into this package."""

    name = LOCAL

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self._program = resources.local_agent()
        self.agent = str(self._program)

    def start(self, options: Options) -> Link:
        """Starts the agent as a process in a session of its own."""
        return _Agent(self._program, options)

    def cpus(self) -> frozenset[int]:
        """Those this process could run on: isolated ones lie outside its affinity at first."""
        return frozenset(usable_cpus())

    def host_conditions(self) -> dict[str, str | None]:
        """Return what `rtstone tune` has set on this machine, and the drivers in use."""
        from rtstone.system.drivers import drivers
        from rtstone.system.tune import state

        return state() | drivers()

    def checklist(self) -> TextTable | None:
        """Return what `rtstone doctor` finds."""
        from rtstone.system.checks import table

        return table()

    def detail(self) -> dict[str, str | int | None]:
        """The hash of the agent's binary and a name of the machine, None if it cannot be read."""
        return {"agent_sha256": digest(self._program), "machine": _machine()}


def _machine() -> str | None:
    """What tells this installation from every other; machine-id itself is not to be passed on."""
    try:
        told = MACHINE_ID.read_bytes().strip()
    except OSError:
        return None
    return sha256(b"rtstone " + told).hexdigest()[:16] if told else None


class _Agent(Process):
    """An agent that is born where `rtstone tune` has made room for it, if it is to measure.

    Meanwhile the host keeps off the measured CPUs.
    """

    def __init__(self, program: Path, options: Options) -> None:
        self._program = program
        self._home = os.sched_getaffinity(0)
        arguments = ["--list"] if options.catalogue else []
        arguments += ["--keep-idle"] if options.keep_idle else []
        built = not os.environ.get("RTSTONE_AGENT") and not program.exists()
        advice = "`make agent` builds it" if built else "see RTSTONE_AGENT"
        with nullcontext() if options.catalogue else _tuned():
            super().__init__([str(program), *arguments], advice)
        if not options.catalogue:
            # Only now, so that the agent does not inherit it.
            os.sched_setaffinity(0, _host_cpus(self._home, options.cpus))

    def close(self) -> None:
        if self._closed:
            return
        super().close()
        os.sched_setaffinity(0, self._home)
        if self._process.returncode != 0:
            self._sweep()

    def _sweep(self) -> None:
        """Has a fresh agent remove the kernel objects that a dead one left."""
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


def _tuned() -> AbstractContextManager[bool]:
    from rtstone.system.tune import entered

    return entered()


def _host_cpus(allowed: set[int], measured: frozenset[int] | None) -> set[int]:
    """Where the host may run: off the measured CPUs, else off the last one, if another is left."""
    return allowed - (measured or {max(allowed)}) or allowed
