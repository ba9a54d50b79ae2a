"""Critical values of the goodness of fit for parameters fitted to the same data.

The distribution of A squared then depends on the shape, hardly on the number of values, and has no
closed form (Choulakian and Stephens, Technometrics 43, 2001).
``python -m rtstone.stats.worstcase.critical`` simulates the tables below again, with the estimator
that uses them; it takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rtstone.stats.worstcase.tails import (
    Bins,
    Fit,
    Floats,
    anderson_darling,
    fit_excesses,
    fit_maxima,
    gev_pit,
    gpd_pit,
    return_level,
)

LEVELS = (0.10, 0.01)  # significance levels
SHAPES = (-0.6, -0.3, 0.0, 0.3, 0.6)
SEED, SETS, VALUES = 123, 4000, 256

# A squared that is exceeded with the probabilities LEVELS, for each of SHAPES.
EXCESSES = ((0.999, 1.824), (0.892, 1.61), (0.799, 1.444), (0.713, 1.274), (0.666, 1.136))
MAXIMA = ((0.579, 0.95), (0.531, 0.863), (0.505, 0.782), (0.494, 0.768), (0.5, 0.765))

# The 1% point if no parameter was fitted (Anderson and Darling 1954).
GIVEN_1 = 3.878


class Family(NamedTuple):
    """One of the two distributions: drawing, fitting, and the table of critical values.

    ``draw``: turns exponential variates into the logarithm of how rarely a value is exceeded.
    """

    draw: Callable[[Floats], Floats]
    fit: Callable[[Bins], Fit]
    pit: Callable[[Bins, Fit], Floats]
    table: tuple[tuple[float, float], ...]


PARETO = Family(lambda depths: depths, fit_excesses, gpd_pit, EXCESSES)
EXTREME = Family(lambda depths: -np.log(depths), fit_maxima, gev_pit, MAXIMA)


def critical(family: Family, shape: float) -> tuple[float, float]:
    """Return the A squared that a fit of this shape exceeds by chance in 10% and in 1% of cases."""
    columns = zip(*family.table, strict=True)
    tenth, hundredth = (float(np.interp(shape, SHAPES, column)) for column in columns)
    return tenth, hundredth


def simulated(family: Family, shape: float, sets: int = SETS) -> tuple[float, ...]:
    """Simulate a row of a family's table by drawing and fitting ``sets`` times."""
    random = np.random.default_rng(SEED)
    squares = []
    for _ in range(sets):
        log_rarer = family.draw(random.exponential(size=VALUES))
        values = np.sort(return_level(log_rarer, 0.0, shape))
        bins = Bins(values - 1e-9, values + 1e-9, np.ones(VALUES))
        squares.append(anderson_darling(family.pit(bins, family.fit(bins.coarse(64)))))
    return tuple(round(float(v), 3) for v in np.quantile(squares, [1 - level for level in LEVELS]))


if __name__ == "__main__":
    for name, family in {"EXCESSES": PARETO, "MAXIMA": EXTREME}.items():
        print(f"{name} = {tuple(simulated(family, shape) for shape in SHAPES)}")
