"""A command whose standard input and output reach an agent, as of a container or a debugger.

The command is started without a shell.  It stands for the agent: where that runs, of which port it
is, and what ends it there, only the command knows.
"""

from __future__ import annotations

import shlex
from typing import ClassVar

from rtstone.errors import UsageError
from rtstone.targets.base import Link, Options, Target
from rtstone.targets.process import Channel, UntilBye


class Exec(Target):
    """``exec:COMMAND``, split into words as a shell does."""

    resident = True
    nearby = True
    advice: ClassVar[str] = (  # if there is no such program
        "exec: takes a program with its arguments, as in exec:'docker exec -i box /agent'"
    )

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.name = f"exec:{argument}"
        self.agent = argument
        try:
            self._words = shlex.split(argument)
        except ValueError as error:
            raise UsageError(
                f"{str(error).lower()}, in target '{self.name}'; {self.advice}"
            ) from error
        if not self._words:
            raise UsageError(f"no command, in target '{self.name}'; {self.advice}")

    def start(self, options: Options) -> Link:
        """Start the command.  Raises UsageError for an option that only the command can give."""
        if options.keep_idle:
            raise UsageError(
                "--keep-idle does not reach the agent; write it into the command, in target "
                f"'{self.name}'"
            )
        return _Command(self._words, self.advice)

    def detail(self) -> dict[str, str | int | None]:
        """Return the command; what it reaches cannot be looked at before it starts."""
        return {"command": shlex.join(self._words)}


class _Command(UntilBye, Channel):
    """A command whose agent may serve the next host after its `bye`."""
