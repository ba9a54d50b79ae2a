"""Apache Otava as an oracle, in the Python that `make build/otava/stamp` sets up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

OTAVA = Path(__file__).parents[2] / "build" / "otava"
AVAILABLE = (OTAVA / "stamp").exists()
LACKING = "needs Apache Otava: make build/otava/stamp"


class Found(NamedTuple):
    """The change points of a series: by the original algorithm, and by Hunter's."""

    original: list[int]
    hunter: list[int]


def otava(many: Sequence[Sequence[float]]) -> list[Found]:
    """Return what Otava finds in each series."""
    done = subprocess.run(
        [OTAVA / "bin" / "python", Path(__file__).parent / "otava_points.py"],
        input=json.dumps([list(series) for series in many]), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return [Found(*points) for points in json.loads(done.stdout)]
