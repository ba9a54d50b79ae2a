"""Pictures of ratios: those of all effects on one axis, beside their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

from rtstone.documents.comparison import SIGNS, Effect, Verdict
from rtstone.report.comparison.words import Judged

ORDER: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "no difference")  # in the table
WIDTH = 200  # of a picture
NARROWEST = 1.1  # end of an axis
_EDGE = 8  # margin at each side of it, for arrows
_WIDEST = 20.0  # ratios beyond it, or its inverse, become an arrow
_TICKS = (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20)
_APART = 16  # least distance of two ticks' texts, in % of the width


class Axis(NamedTuple):
    """The logarithmic axis of ratios that all rows share, symmetric about 1."""

    end: float

    def x(self, ratio: float) -> float:
        """Return the coordinate of a ratio, clipped to the edges."""
        share = log(max(ratio, 1e-12)) / log(self.end)
        return round(WIDTH / 2 + max(-1.0, min(share, 1.0)) * (WIDTH / 2 - _EDGE), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Position in % and text of ticks that are not too close; 1 is always one of them."""
        texts: list[tuple[float, str]] = []
        inner = (tick for tick in _TICKS if 1 / self.end <= tick <= self.end)
        for tick in sorted(inner, key=lambda tick: abs(log(tick))):
            at = self.x(tick) / WIDTH * 100
            if all(abs(at - other) >= _APART for other, _ in texts):
                texts.append((round(at, 1), f"{tick:g}"))
        return sorted(texts)


class Forest(NamedTuple):
    """The table of verdicts with its pictures: the worst first.

    ``counts``: verdicts with their signs and numbers.
    """

    rows: list[Judged]
    systems: int
    axis: Axis
    counts: list[tuple[Verdict, str, int]]

    def picture(self, row: Judged) -> dict[str, float | bool] | None:
        """Return coordinates of interval and ratio, and whether it extends beyond the axis."""
        e = row.effect
        if e.ratio is None:
            return None
        low, high = e.ci95 or (e.ratio, e.ratio)
        return {
            "low": self.axis.x(low), "at": self.axis.x(e.ratio), "high": self.axis.x(high),
            "below": low < 1 / self.axis.end, "above": high > self.axis.end,
        }  # fmt: skip


def forest(effects: Sequence[Judged], systems: int) -> Forest:
    """Return the table of effects."""
    most, widest = extent(entry.effect for entry in effects)
    end = max(most, min(widest, most**2)) * 1.05  # for all ratios, and intervals within reason
    number = Counter(entry.effect.verdict for entry in effects)
    return Forest(
        rows=sorted(effects, key=lambda e: (ORDER.index(e.effect.verdict), -e.weight)),
        systems=systems,
        axis=Axis(min(max(end, NARROWEST), _WIDEST)),
        counts=[(v, f"{SIGNS[v]} {v}", number[v]) for v in ORDER if number[v]],
    )


def extent(effects: Iterable[Effect]) -> tuple[float, float]:
    """Return the ratio farthest from 1, and the farthest end of an interval; both above 1."""
    several = list(effects)
    most = max((max(e.ratio, 1 / e.ratio) for e in several if e.ratio), default=1.0)
    ends = [end for e in several for end in e.ci95 or () if end > 0]
    return most, max((max(end, 1 / end) for end in ends), default=1.0)
