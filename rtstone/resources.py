"""What belongs to the package and is no code: suites, models, agents, charts.

They are files, also where rtstone is installed: an agent is started, the engine loaded, from where
it lies.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def path(*names: str) -> Path:
    """Return the path of a file or folder of the package, which need not exist."""
    return Path(str(files("rtstone").joinpath(*names)))
