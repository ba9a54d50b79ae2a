"""Worst-case bounds of samples whose levels are known: how often too low, how far too high.

For each kind of samples sets of 60 000 in 600 s are drawn and summarised as the recorder does; the
bound is asked for at 60 times and at 60 000 times the measured time.  The tables of
docs/guides/worst-case.md come from here.

    python -m tests.bench.bounds [--sets 100] [--seed 1] [KIND ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import exp, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rtstone.stats.worstcase.extremes import worst_case
from tests.stats.recorded import recorded

Floats = NDArray[np.float64]

N, SECTION_S = 60_000, 600.0
BASE, SCALE = 5_000.0, 2_000.0  # ns: what is always there, and the scale of what varies
TIMES = (60, 60_000)  # the measured time that the bound is extrapolated to
ALLOWED = 0.1  # share of the bounds of a kind that may be below the true level, at most


class Kind(NamedTuple):
    """Samples in units of SCALE above BASE, and the level that a share of them exceeds.

    ``clock``: the step of the clock, ns.
    """

    draw: Callable[[Generator, int], Floats]
    level: Callable[[float], float]
    clock: int = 1


def _solved(survival: Callable[[float], float], share: float) -> float:
    """Return where a falling function reaches a share, by bisection."""
    low, high = 0.0, 2000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if survival(middle) > share else (low, middle)
    return low


def mixture(share: float, ratio: float, clock: int = 1) -> Kind:
    """Exponential, and a share of it ``ratio`` times as large."""

    def draw(random: Generator, n: int) -> Floats:
        return random.exponential(size=n) * np.where(random.random(n) < share, ratio, 1.0)

    def survival(x: float) -> float:
        return (1 - share) * exp(-x) + share * exp(-x / ratio)

    return Kind(draw, partial(_solved, survival), clock)


def episodes(share: float, ratio: float, length: float) -> Kind:
    """A mixture whose heavier samples come in episodes of ``length`` samples on average."""

    def draw(random: Generator, n: int) -> Floats:
        heavy = np.zeros(n, bool)
        number = random.poisson(n * share / length)
        lengths = random.geometric(1 / length, number)
        for start, stall_length in zip(random.integers(0, n, number), lengths, strict=True):
            heavy[start : start + stall_length] = True
        return random.exponential(size=n) * np.where(heavy, ratio, 1.0)

    return Kind(draw, mixture(share, ratio).level)


def periodic(every: int, ratio: float) -> Kind:
    """Each so many samples one is ``ratio`` times as large: a timer of something else."""

    def draw(random: Generator, n: int) -> Floats:
        samples = random.exponential(size=n)
        samples[random.integers(every) :: every] *= ratio
        return samples

    return Kind(draw, mixture(1 / every, ratio).level)


def _upper(share: float) -> float:
    """Return the standard normal value that a share exceeds."""
    return -NormalDist().inv_cdf(share)


MIXTURES = {
    "share 0.01%, 3 times": mixture(1e-4, 3),
    "share 0.03%, 3 times": mixture(3e-4, 3),
    "share 0.1%, 3 times": mixture(1e-3, 3),
    "share 0.2%, 3 times": mixture(2e-3, 3),
    "share 0.3%, 3 times": mixture(3e-3, 3),
    "share 1%, 3 times": mixture(1e-2, 3),
    "share 0.1%, twice": mixture(1e-3, 2),
    "share 1%, twice": mixture(1e-2, 2),
    "share 0.1%, 6 times": mixture(1e-3, 6),
    "share 0.03%, 10 times": mixture(3e-4, 10),
    "share 0.2%, 3 times, in steps of 100 ns": mixture(2e-3, 3, clock=100),
    "share 0.2%, 3 times, in episodes of 8": episodes(2e-3, 3, 8),
    "share 2%, 3 times, in episodes of 50": episodes(2e-2, 3, 50),
    "one in 1000, 3 times": periodic(1000, 3),
}

FAMILIES = {
    "exponential": Kind(lambda r, n: r.exponential(size=n), lambda p: -log(p)),
    "exponential, in steps of 100 ns": Kind(
        lambda r, n: r.exponential(size=n), lambda p: -log(p), 100
    ),
    "Weibull, shape 0.7": Kind(lambda r, n: r.weibull(0.7, n), lambda p: (-log(p)) ** (1 / 0.7)),
    "Weibull, shape 1.5": Kind(lambda r, n: r.weibull(1.5, n), lambda p: (-log(p)) ** (1 / 1.5)),
    "gamma, shape 0.5": Kind(lambda r, n: r.gamma(0.5, size=n), lambda p: _upper(p / 2) ** 2 / 2),
    "gamma, shape 2": Kind(
        lambda r, n: r.gamma(2, size=n), lambda p: _solved(lambda x: (1 + x) * exp(-x), p)
    ),
    "log-normal, 0.3": Kind(
        lambda r, n: np.exp(0.3 * r.standard_normal(n)), lambda p: exp(0.3 * _upper(p))
    ),
    "log-normal, 0.6": Kind(
        lambda r, n: np.exp(0.6 * r.standard_normal(n)), lambda p: exp(0.6 * _upper(p))
    ),
    "Pareto, shape 0.1": Kind(
        lambda r, n: (r.random(n) ** -0.1 - 1) / 0.1, lambda p: (p**-0.1 - 1) / 0.1
    ),
    "Pareto, shape 0.2": Kind(
        lambda r, n: (r.random(n) ** -0.2 - 1) / 0.2, lambda p: (p**-0.2 - 1) / 0.2
    ),
    "uniform": Kind(lambda r, n: r.random(n), lambda p: 1 - p),
    "beta(2, 2)": Kind(lambda r, n: r.beta(2, 2, n), lambda p: 1 - sqrt(p / 3)),
}

KINDS = MIXTURES | FAMILIES


class Outcome(NamedTuple):
    """Of sets of one kind at one extrapolation: how many there are, and bound / truth of each."""

    sets: int
    ratios: Floats

    @property
    def below(self) -> int:
        """The number of bounds below the true level."""
        return int((self.ratios < 1).sum())

    @property
    def cells(self) -> str:
        """The columns of the table."""
        share = f"{self.below / len(self.ratios):.0%}" if len(self.ratios) else "-"
        price = f"{np.median(self.ratios):.2f}" if len(self.ratios) else "-"
        return f"{len(self.ratios) / self.sets:.0%} | {share} | {price}"


def outcomes(
    kind: Kind, sets: int, seed: int, extrapolations: Sequence[int] = TIMES
) -> list[Outcome]:
    """Return the outcome for each extrapolation."""
    random = np.random.default_rng(seed)
    by_extrapolation: list[list[float]] = [[] for _ in extrapolations]
    for _ in range(sets):
        result = recorded(BASE + SCALE * kind.draw(random, N), SECTION_S, kind.clock)
        for place, times in enumerate(extrapolations):
            bound = worst_case([result], 3600 / SECTION_S / times).bound
            if bound is not None:
                by_extrapolation[place].append(bound / (BASE + SCALE * kind.level(1 / (N * times))))
    return [Outcome(sets, np.array(ratios)) for ratios in by_extrapolation]


def most(bounds: int) -> float:
    """Return how many of so many bounds may be below: two standard errors above those allowed."""
    return ALLOWED * bounds + 2 * sqrt(ALLOWED * (1 - ALLOWED) * bounds)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if more bounds of a kind are below the level than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="those whose names contain this")
    options = parser.parse_args(argv)
    print(f"| samples | {' | '.join(f'{t}-fold: given | below | bound / truth' for t in TIMES)} |")
    print(f"|---{'|---' * 3 * len(TIMES)}|")
    bad = False
    for name, kind in KINDS.items():
        if options.kinds and not any(part in name for part in options.kinds):
            continue
        judged = outcomes(kind, options.sets, options.seed)
        print(f"| {name} | {' | '.join(outcome.cells for outcome in judged)} |", flush=True)
        bad |= any(outcome.below > most(len(outcome.ratios)) for outcome in judged)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
