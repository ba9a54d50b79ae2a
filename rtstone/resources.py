"""Data files of the package: suites, models, agents, charts.

They are real files in an installation too: the agent and the engine run from where they are.
"""

from __future__ import annotations

import os
from hashlib import sha256
from importlib.resources import files
from pathlib import Path


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
