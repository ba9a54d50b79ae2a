"""Data files of the package: suites, models, agents, charts.

They are files, also where rtstone is installed: an agent is started, the engine loaded, from where
it lies.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path


def path(*names: str) -> Path:
    """Return the path of a file or folder of the package, which need not exist."""
    return Path(str(files("rtstone").joinpath(*names)))


BUILT = path("_agent")  # where `make agent`, or an installation, puts agents


def local_agent() -> Path:
    """Return the agent for this machine: that of RTSTONE_AGENT, else the one in this package."""
    # Absolute, or ./x would be looked for in PATH.
    return Path(os.environ.get("RTSTONE_AGENT") or BUILT / "rtstone-agent").absolute()
