"""What the agent's recorder keeps of samples: the same summaries, without an agent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtstone.model.documents import Blocks, Result, Trace

_BITS, _CHUNK, _BLOCKS, _WINDOWS = 7, 64, 2048, 60


def recorded(samples: NDArray[np.float64], section_s: float = 600.0, tick: int = 1) -> Result:
    """A result of these samples, in ns, from a clock that advances in steps of ``tick``."""
    ticks = samples.astype(np.int64) // tick * tick
    values, counts = np.unique(_middles(ticks), return_counts=True)
    size = _CHUNK
    while len(ticks) // size > _BLOCKS:
        size *= 2
    maxima = ticks[: len(ticks) // size * size].reshape(-1, size).max(axis=1)
    windows = np.array_split(ticks, _WINDOWS)
    width = section_s / _WINDOWS
    return Result(
        case=1, bench="dk.periodic", params={}, load="none", status="ok", n=len(ticks),
        min=float(ticks.min()), max=float(ticks.max()),
        histogram=list(zip(values.tolist(), counts.tolist(), strict=True)),
        blocks=Blocks(samples=size, max=maxima.astype(float).tolist()),
        trace=Trace(width_s=width, rows=[
            (place * width, len(part), float(part.min()), float(part.mean()), float(part.max()))
            for place, part in enumerate(windows)
        ]),
        evidence={"section_ns": round(section_s * 1e9)},
    )  # fmt: skip


def _middles(ticks: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each value's bucket, clipped to the extremes (rts_bucket, model/histogram)."""
    shift = np.maximum(np.frexp(ticks.astype(float))[1] - 1 - _BITS, 0)
    start = ticks >> shift << shift
    middle: NDArray[np.float64] = start + ((1 << shift) - 1) / 2
    return middle.clip(ticks.min(), ticks.max())
