"""Tests on the order of block maxima: is the process stationary, do large samples come alone.

They are rank tests, as maxima are far from normal; each errs in one of 200 sound data sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rtstone.documents.run import Blocks, Result
from rtstone.documents.worstcase import Check
from rtstone.stats.worstcase.blocks import few, merged
from rtstone.stats.worstcase.tails import Floats

EXTREME = 2.81  # standard normal, two-sided 0.5%
ABOVE = 2.58  # one-sided 0.5%

_CHI2_3 = 12.84  # three degrees of freedom, 0.5%
_WINDOWS = 30  # least number of windows of the trace to look for a trend
_MERGED = 512  # largest number of blocks whose order is judged


def stationarity(results: Sequence[Result], blocks: Blocks) -> Check:
    """Check block maxima for a trend, a busier quarter, or a run unlike the others."""
    order = np.array(few(blocks, _MERGED).max)
    traces = [result.trace.rows for result in results if result.trace]
    windows = [np.array([row[4] for row in rows]) for rows in traces if len(rows) >= _WINDOWS]
    faults = {
        "the maxima of blocks rise or fall with time": abs(_trend(order)) > EXTREME,
        "large samples are not spread evenly over the time": _quarters(order) > _CHI2_3,
        "the maxima of windows rise or fall with time": any(
            abs(_trend(maxima)) > EXTREME for maxima in windows
        ),
        "the runs differ": len(results) > 1 and _differ(results, blocks.samples),
    }
    wrong = [fault for fault, is_so in faults.items() if is_so]
    detail = "; ".join(wrong) or "no trend in the maxima, the same in all parts of the time"
    return Check(name="stationarity", passed=not wrong, detail=detail)


def _ranks(values: Floats) -> Floats:
    """Return standardised ranks, with mean ranks for ties; all 0 for a single value."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    spread = ranks.std()
    standard: Floats = (ranks - ranks.mean()) / (spread or 1.0)
    return standard


def _trend(values: Floats) -> float:
    """Return Spearman's rank correlation with the order, as a standard normal."""
    order = _ranks(np.arange(len(values), dtype=float))
    return float(np.mean(_ranks(values) * order) * np.sqrt(len(values)))


def follow(values: Floats) -> float:
    """Return the rank correlation of each value with the one before, as a standard normal."""
    ranks = _ranks(values)
    return float(np.sum(ranks[1:] * ranks[:-1]) / np.sqrt(len(ranks)))


def _quarters(values: Floats) -> float:
    """Return chi squared (three degrees of freedom) of the largest eighth over the quarters."""
    parts = np.array_split(values > np.quantile(values, 7 / 8), 4)
    seen, size = np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])
    if not seen.sum():
        return 0.0
    share = seen.sum() / size.sum()
    return float((((seen - size * share) ** 2) / (size * share * (1 - share))).sum())


def _differ(results: Sequence[Result], samples: int) -> bool:
    """Test whether maxima of runs differ (Kruskal and Wallis, at 0.5%)."""
    parts = [merged(b, samples // b.samples).max for result in results if (b := result.blocks)]
    ranks = _ranks(np.array([value for part in parts for value in part]))
    groups = np.split(ranks, np.cumsum([len(part) for part in parts])[:-1])
    statistic = sum(len(group) * group.mean() ** 2 for group in groups if len(group))
    free = 2 / (9 * (len(parts) - 1))  # the quantile by Wilson and Hilferty
    return bool(statistic > (len(parts) - 1) * (1 - free + ABOVE * free**0.5) ** 3)
