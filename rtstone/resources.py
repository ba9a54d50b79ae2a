"""Data files of the package: suites, models, agents, charts.

They are real files in an installation too: the agent and the engine run from where they are.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import TargetError


def path(*names: str) -> Path:
    """Return the path of a file or folder of the package, which need not exist."""
    return Path(str(files("rtstone").joinpath(*names)))


def tables(folder: str) -> dict[str, Path]:
    """Return the TOML files in a folder of the package, by name without the ending."""
    return {file.stem: file for file in sorted(path(folder).glob("*.toml"))}


def digest(file: Path) -> str | None:
    """Return the SHA-256 of a file in hex, None if it cannot be read."""
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


BUILT = path("_agent")  # where `make agent`, or an installation, puts agents


def local_agent() -> Path:
    """Return the agent for this machine: that of RTSTONE_AGENT, else the one in this package."""
    # Absolute, or ./x would be looked for in PATH.
    return Path(os.environ.get("RTSTONE_AGENT") or BUILT / "rtstone-agent").absolute()


class Architecture(NamedTuple):
    """An architecture with a static agent, a line of architectures.txt."""

    name: str
    debian: str  # Debian's name for it
    machines: tuple[str, ...]  # what `uname -m` says

    @property
    def agent(self) -> Path:
        """Return the path of its agent, which need not have been built."""
        return BUILT / f"rtstone-agent-{self.name}"


@cache
def architectures() -> tuple[Architecture, ...]:
    """Return the architectures with a static agent."""
    lines = path("architectures.txt").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return tuple(Architecture(row[0], row[1], tuple(row[4].split(","))) for row in rows)


def architecture(machine: str) -> Architecture | None:
    """Return the architecture with this name, Debian's name or output of `uname -m`, if any."""
    for candidate in architectures():
        if machine in (candidate.name, candidate.debian, *candidate.machines):
            return candidate
    return None


def static_agent(machine: str) -> Path:
    """Return the static agent for a machine, given the output of `uname -m` there.

    Raises TargetError if there is no agent for it, or it has not been built.
    """
    kind = architecture(machine)
    if not kind:
        names = ", ".join(kind.name for kind in architectures())
        raise TargetError(
            f"no agent for a machine of type '{machine}'; there are agents for {names}"
        )
    if kind.agent.exists():
        return kind.agent
    if kind == architecture(platform.machine()) and (own := BUILT / "rtstone-agent").exists():
        return own  # it is static as well
    raise TargetError(
        f"the agent for {kind.name} has not been built, {kind.agent}; "
        "run `make agents` in a checkout, or install a wheel made by `make wheel`"
    )
