"""The statistics of a distribution: the one table that names them, for all that computes, limits,
drafts, exports or shows them.

A new percentile is a line here, and a member of the documents' distributions.
"""

from __future__ import annotations

from typing import NamedTuple

WHOLE = 10_000  # shares are parts of it, which keeps ranks exact
ENOUGH = 10  # samples beyond a percentile, without which it is not given


class Statistic(NamedTuple):
    """A statistic: its document member, its label, and the samples it needs."""

    name: str
    label: str
    share: int | None = None  # of the samples up to a percentile, in parts of WHOLE
    column: bool = False  # stands in the tables of results
    repeats: bool = True  # from run to run, so far that a limit of it may be drafted
    line: bool = False  # the agent counts each batch's samples beyond it (docs/wire.md)

    @property
    def least_n(self) -> int:
        """The minimum number of samples: 10/(1-q) for a percentile q."""
        return 2 if self.share is None else -(-ENOUGH * WHOLE // (WHOLE - self.share))


TABLE = (
    Statistic("min", "min", column=True),
    Statistic("mean", "mean"),
    Statistic("sd", "sd"),
    Statistic("p50", "p50", 5000, column=True, line=True),
    Statistic("p90", "p90", 9000, line=True),
    Statistic("p99", "p99", 9900, column=True, line=True),
    Statistic("p999", "p99.9", 9990, column=True, line=True),
    Statistic("p9999", "p99.99", 9999, repeats=False, line=True),
    Statistic("max", "max", column=True),
)

NAMES = tuple(s.name for s in TABLE)
LABELS = {s.name: s.label for s in TABLE}
COLUMNS = {s.name: s.label for s in TABLE if s.column}
PERCENTILES = {s.name: s.share for s in TABLE if s.share is not None}
LINES = tuple(s.name for s in TABLE if s.line)  # in the order of the wire
# Of means of several operations those beyond this share are no percentiles of operations.
SINGLE = 9900
EXTREME = tuple(name for name, share in PERCENTILES.items() if share > SINGLE)
ESTIMATED = ("mean", *PERCENTILES)  # each with an interval
MEDIAN = "p50"
# Columns above the median, the highest first: a comparison of tails takes what all runs have.
TAILS = tuple(s.name for s in reversed(TABLE) if s.column and (s.share or 0) > PERCENTILES[MEDIAN])
DRAFTED = tuple(s.name for s in reversed(TABLE) if s.share is not None and s.repeats)

_BY_NAME = {s.name: s for s in TABLE}


def least_n(name: str) -> int:
    """Return the minimum number of samples of a statistic."""
    return _BY_NAME[name].least_n


def given(share: int, n: int) -> bool:
    """Return whether this many samples are enough for the percentile at a share."""
    return n * (WHOLE - share) >= ENOUGH * WHOLE
