"""The one table of the statistics of a distribution.

Everything that computes, limits, drafts, exports or shows statistics uses it.  A new percentile is
a line here, a member of the documents' distributions and an attribute of ``api.Measured``.
"""

from __future__ import annotations

from typing import NamedTuple

from rtstone.units import count

WHOLE = 10_000  # the denominator of shares, which keeps ranks exact
ENOUGH = 10  # a percentile needs as many samples beyond it


class Statistic(NamedTuple):
    """A statistic: its document member, its label, and how it is used."""

    name: str
    label: str
    share: int | None = None  # of a percentile: the share of samples up to it, in 1/WHOLE
    text: str = ""  # what it is, except for percentiles
    column: bool = False  # is a column in the tables of results
    repeats: bool = True  # varies so little from run to run that a limit of it may be drafted
    line: bool = False  # the agent counts each batch's samples beyond it (docs/reference/wire.md)

    @property
    def least_n(self) -> int:
        """The minimum number of samples: 10/(1-q) for a percentile q."""
        return 2 if self.share is None else -(-ENOUGH * WHOLE // (WHOLE - self.share))

    @property
    def help(self) -> str:
        """What the statistic is, in a sentence."""
        if self.share is None:
            return f"The {self.text}."
        share, least = f"{self.share * 100 / WHOLE:g}%", count(self.least_n)
        return f"The value that {share} of the samples do not exceed; needs n >= {least}."


TABLE = (
    Statistic("min", "min", text="smallest sample", column=True),
    Statistic("mean", "mean", text="mean of the samples"),
    Statistic("sd", "sd", text="standard deviation of the samples"),
    Statistic("p50", "p50", 5000, column=True, line=True),
    Statistic("p90", "p90", 9000, line=True),
    Statistic("p99", "p99", 9900, column=True, line=True),
    Statistic("p999", "p99.9", 9990, column=True, line=True),
    Statistic("p9999", "p99.99", 9999, repeats=False, line=True),
    Statistic("max", "max", text="largest sample of this run, not a bound for others", column=True),
)

NAMES = tuple(s.name for s in TABLE)
LABELS = {s.name: s.label for s in TABLE}
COLUMNS = {s.name: s.label for s in TABLE if s.column}
PERCENTILES = {s.name: s.share for s in TABLE if s.share is not None}
LINES = tuple(s.name for s in TABLE if s.line)  # in the order of the wire
# Beyond this share not given for samples that are means: their tails are not those of single
# operations.
SINGLE = 9900
EXTREME = tuple(name for name, share in PERCENTILES.items() if share > SINGLE)
ESTIMATED = ("mean", *PERCENTILES)  # have an interval
MEDIAN = "p50"
# Columns above the median, highest first: a comparison of tails takes the first that all runs have.
TAILS = tuple(s.name for s in reversed(TABLE) if s.column and (s.share or 0) > PERCENTILES[MEDIAN])
DRAFTED = tuple(s.name for s in reversed(TABLE) if s.share is not None and s.repeats)

BY_NAME = {s.name: s for s in TABLE}


def least_n(name: str) -> int:
    """Return the minimum number of samples of a statistic."""
    return BY_NAME[name].least_n


def is_supported(share: int, n: int) -> bool:
    """Return whether this many samples are enough for the percentile at a share."""
    return n * (WHOLE - share) >= ENOUGH * WHOLE
