"""What every target is: a place where an agent can be started and talked to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rtstone.wire.records import TextTable


class Options(NamedTuple):
    """How the agent is to be started.

    ``catalogue``: it lists its benches and ends.  ``keep_idle``: it leaves the CPU's idle states
    as they are.  ``cpus``: the CPUs it will measure, None if that is left to it.  ``script``: all
    lines that will be sent, for a target that takes them at its start.
    """

    catalogue: bool = False
    keep_idle: bool = False
    cpus: frozenset[int] | None = None
    script: Sequence[str] = ()


class Listed(NamedTuple):
    """An argument that a kind of target takes; ``label``: how its numbers are to be taken."""

    argument: str
    title: str
    label: str | None = None


class Link(ABC):
    """A running agent.  Closing it, as leaving its ``with`` block does, leaves nothing behind."""

    @abstractmethod
    def send(self, line: str) -> None:
        """Sends one command line.  An agent that has gone is told by ``read``."""

    @abstractmethod
    def read(self, timeout: float) -> bytes | None:
        """One raw line; b"" at the orderly end of output; None if nothing came in ``timeout`` s.

        Raises TargetError if the agent died, with how and its last words.
        """

    @abstractmethod
    def stop(self) -> None:
        """Asks the agent to end the current case and itself; ``read`` goes on until it has.

        May be called again; an agent that does not obey is killed after a bounded time.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the agent if it still runs and removes what it has left on the target."""

    def last_words(self) -> str:
        """What the agent said outside its records, to be added to an error; else ""."""
        return ""

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Target(ABC):
    """A place where an agent runs."""

    name: str
    agent: str  # what is started, for messages
    scripted: ClassVar[bool] = False  # it takes all commands at its start: Options.script
    pace: ClassVar[float] = 1.0  # seconds that a second of the target may take here
    load_s: ClassVar[float] = 60.0  # a load has been started by then, in seconds here

    def __init__(self, argument: str | None = None) -> None:
        """``argument``: what stands behind the colon, None if there is none."""
        self.argument = argument

    @classmethod
    def listed(cls) -> list[Listed]:
        """The arguments that are known beforehand."""
        return []

    @abstractmethod
    def start(self, options: Options) -> Link:
        """Starts an agent.  Raises TargetError if that is impossible."""

    def cpus(self) -> frozenset[int]:
        """The CPUs that may be measured on, empty if that is not known beforehand."""
        return frozenset()

    def host_conditions(self) -> dict[str, str | None]:
        """Conditions that the agent cannot tell: how the place was tuned, its drivers."""
        return {}

    def apart(self) -> Mapping[str, str]:
        """Why benches whose ids begin so are not in this agent but in another."""
        return {}

    def checklist(self) -> TextTable | None:
        """The operating environment, line by line, None if it cannot be looked at from here."""
        return None

    def detail(self) -> dict[str, str | int | None]:
        """What the run document should know of the target besides its name."""
        return {}
