"""Two systems that differ in lost activations alone: one has stalls of a second, the other none."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from rtstone.documents.run import Result, Run
from tests.stats.periodic import SECOND, measured
from tests.stats.runs import run

SECONDS = 10  # of a run
# Lengths in s of the three stalls of a run, which lose 24 to 36% of its activations.
LENGTHS = ((0.8, 0.7, 0.9), (1.2, 1.1, 1.0), (1.3, 1.2, 1.1), (0.9, 1.0, 1.0), (1.0, 1.2, 0.9))
NONE: tuple[float, ...] = ()


def result(seed: int, lengths: tuple[float, ...] = NONE) -> Result:
    """Return a result with stalls of these lengths; the lateness without stalls is the same."""
    own = np.random.default_rng(seed).lognormal(np.log(5000), 0.3, SECONDS * SECOND)
    stalls = np.array(
        [(1 + 3 * place, 1 + 3 * place + length) for place, length in enumerate(lengths)]
    )
    return measured(own, stalls.reshape(-1, 2))[0]


def quiet(number: int, *, minute: int = 0, target: str = "local") -> Run:
    """Return a run of the system without stalls."""
    return run([result(number)], f"quiet-{number}", minute=minute or number, target=target)


def lossy(number: int, *, minute: int = 0, target: str = "local") -> Run:
    """Return a run of the system with stalls."""
    lengths = LENGTHS[number % len(LENGTHS)]
    return run(
        [result(100 + number, lengths)], f"lossy-{number}", minute=minute or 20 + number,
        target=target,
    )  # fmt: skip


def without_losses(run: Run) -> Run:
    """Return a run as if nobody had counted what it missed."""
    bare = [structs.replace(r, missed=0, corrected=None) for r in run.results]
    return structs.replace(run, results=bare)
