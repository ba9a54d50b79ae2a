"""The interface of a target: a place where an agent can be started and talked to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rtstone.errors import UsageError
from rtstone.wire.records import TextTable

if TYPE_CHECKING:
    from rtstone.documents.run import Run
    from rtstone.system.facts import System
    from rtstone.targets.fleet_file import Named

# Time limit for an agent that is started to list what it has.  It takes up to 2 s of CPU time, as
# an emulated board does, of which a busy machine may give it a fiftieth.
LIST_S = 120.0
Past = Callable[[str], Iterable["Run"]]  # yields the stored runs with a bench, newest first


class Options(NamedTuple):
    """How to start the agent.

    ``catalogue``: list the benches and exit.  ``keep_idle``: leave the CPUs' idle states alone.
    ``cpus``: the CPUs to measure on, None to let the agent choose.  ``script``: all command lines,
    for a target that takes them at its start.  ``interrupted``: returns whether the user wants to
    end, for a start that may take long.
    """

    catalogue: bool = False
    keep_idle: bool = False
    cpus: frozenset[int] | None = None
    script: Sequence[str] = ()
    interrupted: Callable[[], bool] = lambda: False


class Listed(NamedTuple):
    """A known argument of a kind of target; ``label``: how to read its numbers."""

    argument: str
    title: str
    label: str | None = None


class Link(ABC):
    """A running agent.  Closing it, or leaving its ``with`` block, leaves nothing behind."""

    newest = 0  # number of the command that the agent has had already: a `hello`

    @abstractmethod
    def send(self, line: str) -> None:
        """Send one command line.  If the agent has ended, ``read`` reports it."""

    @abstractmethod
    def read(self, timeout: float) -> bytes | None:
        """Return one raw line, b"" at the orderly end, None if none came within ``timeout`` s.

        Raises TargetError if the agent died, with the cause and its last output.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ask the agent to end the current case and exit; ``read`` continues until it has.

        May be called again; an agent that does not respond is killed after a bounded time.
        """

    @abstractmethod
    def close(self) -> None:
        """End the agent if it is still running, and remove what it left on the target."""

    def abandon(self) -> None:  # noqa: B027  most have nothing to wait for
        """Do not wait any longer: ``close`` ends it at once, and what it has not sent is lost."""

    def coming(self) -> int:
        """Return how many bytes of a record have come that is not complete, as far as is known."""
        return 0

    def last_words(self) -> str:
        """Return what the agent printed besides its records, to append to an error; else ""."""
        return ""

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Target(ABC):
    """A place where an agent runs."""

    name: str
    agent: str  # the program that is started, for messages
    named: Named | None = None  # as the user has named it, None if it was given by its address
    hosted: ClassVar[bool] = False  # computed by this machine, and keeps a CPU of it busy
    simulates_time: ClassVar[bool] = False  # its time is a number, which costs nothing
    scripted: ClassVar[bool] = False  # takes all commands at its start: Options.script
    resident: ClassVar[bool] = False  # the agent runs already, and lists its benches by command
    nearby: ClassVar[bool] = False  # its agent runs on this machine, or may, as nothing says where
    probed: ClassVar[bool] = True  # an agent may be started there only to ask it who it is
    bytes_per_s: float | None = None  # that its line carries, if it is slow
    pace: ClassVar[float] = 1.0  # host seconds that a second of the target may take at most
    load_s: ClassVar[float] = 60.0  # host seconds that starting a load may take at most

    def __init__(self, argument: str | None = None) -> None:
        """``argument``: the text after the colon, None if there is no colon."""
        self.argument = argument

    @classmethod
    def listed(cls) -> list[Listed]:
        """Return the known arguments, for `rtstone list targets`."""
        return []

    @abstractmethod
    def start(self, options: Options) -> Link:
        """Start an agent.  Raises TargetError if it cannot be started."""

    def check_ready(self) -> None:  # noqa: B027  most need nothing but their agent
        """Raise TargetError, with what brings it, if something is missing that a run needs."""

    def other_users(self) -> list[str] | None:
        """Return who else measures there now, in words; None if nobody can disturb it."""
        return None

    def cpus(self) -> frozenset[int]:
        """Return the CPUs that can be measured on, empty if not known before the start."""
        return frozenset()

    def default_cpus(self) -> frozenset[int]:
        """Return the CPU that the agent chooses, empty if not known before the start."""
        return frozenset()

    def examine(
        self, cpus: str | None = None, past: Past = lambda _: ()
    ) -> AbstractContextManager[System]:
        """Return the system for `rtstone doctor` and `rtstone tune`, open within a block.

        ``cpus``: a list of those that are measured.  Raises UsageError if it cannot be examined,
        TargetError if it cannot be reached.
        """
        raise UsageError(
            f"only the agent sees the system of target '{self.name}'; doctor and tune take local "
            "and ssh:[user@]host[:port]"
        )

    def chosen_cpus(self, cpus: str | None) -> str | None:
        """Return the CPUs of an option, else those that a targets file has for it."""
        return self.named.cpus if cpus is None and self.named else cpus

    def host_conditions(self) -> dict[str, str | None]:
        """Return the conditions that the agent cannot report: tuning, drivers."""
        return {}

    def running_kernel(self) -> str | None:
        """Return release, version and command line of the kernel that runs there.

        None if ``detail`` has it, or it cannot be known before the start.
        """
        return None

    def apart(self) -> Mapping[str, str]:
        """Return, by prefix of bench ids, why those benches are in another agent."""
        return {}

    def beyond(self) -> Mapping[str, str]:
        """Return the loads whose rates the CPU cannot keep by far, and why."""
        return {}

    def checklist(self) -> TextTable | None:
        """Return the checklist of the operating environment, None if it cannot be examined."""
        return None

    def detail(self) -> dict[str, str | int | None]:
        """Return what the run document records of the target besides its name."""
        return {}


class Examined(Target):
    """A target whose system can be examined."""

    def host_conditions(self) -> dict[str, str | None]:
        """Return what `rtstone tune` has set there, and the drivers in use."""
        from rtstone.system.drivers import drivers
        from rtstone.system.tune import state

        with self.examine() as system:
            return state(system) | drivers(system)

    def checklist(self) -> TextTable | None:
        """Return what `rtstone doctor` finds there."""
        from rtstone.system.checks import table

        with self.examine() as system:
            return table(system)
