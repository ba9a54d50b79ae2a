"""A simulated system: the agent is a process with a simulated kernel and a model of its costs.

Time is a number that the model advances, so results do not depend on the host: the same model
gives the same results everywhere.
"""

from __future__ import annotations

import subprocess

from rtstone.errors import TargetError
from rtstone.resources import BUILT, digest
from rtstone.targets import model as simulated
from rtstone.targets.base import LIST_S, Link, Listed, Options, Target
from rtstone.targets.process import Process, not_started

DEFAULT = "default"
ADVICE = "`make agent` builds it"


class Sim(Target):
    """A model given by name, or by a file ending in .toml."""

    hosted = True
    simulates_time = True

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self.name = "sim" if argument is None else f"sim:{argument}"
        self._model = simulated.find(DEFAULT if argument is None else argument)
        self._hash = digest(self._model.path)  # of the content just read
        self._program = BUILT / "rtstone-agent-sim"
        self.agent = str(self._program)

    @classmethod
    def listed(cls) -> list[Listed]:
        """Return the models that come with rtstone."""
        models = [simulated.read(path) for path in simulated.shipped().values()]
        return [Listed(model.name, model.title, model.label) for model in models]

    def start(self, options: Options) -> Link:
        """Start the agent with its model as a process.  Raises UsageError for a bad model."""
        model = simulated.arguments(self._model, self._words())
        listing = ["--list"] if options.catalogue else []
        return Process([self.agent, *listing, *model], ADVICE)

    def cpus(self) -> frozenset[int]:
        """Return the only CPU."""
        return frozenset({0})

    def detail(self) -> dict[str, str | int | None]:
        """Return the model, and the hashes of its file and of the agent's binary."""
        return {
            "model": self._model.name,
            "title": self._model.title,
            "label": self._model.label,
            "source": self._model.source or None,
            "config": self._model.config or None,
            "model_sha256": self._hash,
            "agent_sha256": digest(self._program),
        }

    def _words(self) -> simulated.Words:
        """Ask the agent for the vocabulary of models, which it alone defines."""
        try:
            output = subprocess.run(
                [self.agent, "--model"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=LIST_S, check=True,
            ).stdout  # fmt: skip
        except OSError as error:
            raise not_started(self.agent, error, ADVICE) from error
        except subprocess.SubprocessError as error:
            raise TargetError(
                f"the agent does not list what a model may contain: {error}"
            ) from error
        lines = [line.split() for line in output.splitlines()]
        named = {kind: [line[1] for line in lines if line[0] == kind] for kind, *_ in lines}
        most = {line[1]: int(line[2]) for line in lines if line[0] == "most"}
        return simulated.Words(
            named["cost"], named["part"], named["lack"], named["load"], named["component"], most
        )
