"""The scatter of real runs: p50 and p99 of successive runs of one case on one machine, in ns.

`rtstone run dk.periodic -p period=200us --time 2.5` on a virtual machine with two CPUs, in the
order of the runs: "quiet" while nothing else ran on it, "busy" while other programs were built and
tested.  data/noise.json.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

METRICS = {"p50": 0, "p99": 1}
Floats = NDArray[np.float64]


@cache
def noise(machine: str, metric: str) -> Floats:
    """Return the values of a metric, in the order of the runs."""
    data = json.loads((Path(__file__).parent / "data" / "noise.json").read_text("utf-8"))
    return np.array(data[machine], np.float64)[:, METRICS[metric]]


def drawn(machine: str, metric: str, runs: int, rng: np.random.Generator) -> Floats:
    """Return so many runs of an unchanging system: drawn from the real ones, with replacement."""
    return rng.choice(noise(machine, metric), runs)


def shifted(values: Floats, at: int, factor: float) -> Floats:
    """Return the values, from a place on those of a slower system."""
    return np.concatenate([values[:at], values[at:] * factor])


def autoregressive(
    series: int, runs: int, rng: np.random.Generator, correlated: float = 0.0
) -> Floats:
    """Return series with heavy tails that share half of their variance, of variance about 1.

    ``correlated``: each run with the one before it.
    """
    settling = 60 if correlated else 0
    shape = series + 1, runs + settling
    noise = rng.standard_t(5, shape) * np.sqrt(3 / 5 * (1 - correlated**2))
    for run in range(1, shape[1] if correlated else 0):
        noise[:, run] += correlated * noise[:, run - 1]
    averaged: Floats = np.sqrt(0.5) * (noise[:1] + noise[1:])[:, settling:]
    return averaged


def cycle(series: int, runs: int, rng: np.random.Generator, period: float) -> Floats:
    """Return series that go up and down by five times their scatter, once in so many runs."""
    phases = rng.random((series, 1))
    waves = 5 * np.sin(2 * np.pi * (np.arange(runs) / period + phases))
    series_with_waves: Floats = waves + autoregressive(series, runs, rng)
    return series_with_waves
