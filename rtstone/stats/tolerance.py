"""Judge a number by a limit that is relative to several earlier runs of the system.

Such a limit is a tolerance on the centre of those runs.  A run that is beyond it fails only if it
is also beyond what one more run of an unchanged system may show by chance, all relative limits of
a gate together.  docs/guides/gate.md has how often that is wrong, and what it detects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, inf, log, log1p, sqrt
from statistics import fmean
from typing import NamedTuple

from rtstone.documents.check import Verdict
from rtstone.stats.limits import Span
from rtstone.stats.prediction import WIDEST, Observed, Rules

EPISODE = 1.25  # a run may be this many times as far off as any run of the baseline was
WIDE = 3.0  # a limit can be judged if chance goes at most so many times as far as the limit
MOST = 100  # runs of a baseline

_ROUNDING = 1e-9
_HUGE = 700.0  # a logarithm


class Number(NamedTuple):
    """A number of a run with its limit: ``factor`` times the centre of the values ``before``.

    ``kind``: numbers of one kind scatter alike.  ``own``: the value; its interval, if that is not
    part of the scatter of ``before``.  ``bound``: "<=" or ">=".  ``step``: of the clock, in the
    unit of the values, which differ by that for no reason.
    """

    kind: str
    own: Span
    before: Sequence[float]
    factor: float
    bound: str = "<="
    step: float = 0.0

    @property
    def ratio(self) -> bool:
        """True if it is judged by logarithms, as all values are above zero."""
        return min(*self.before, self.own.low, self.factor) > 0

    @property
    def turned(self) -> Observed:
        """The values before, turned so that larger is worse; of a ratio."""
        turn = -1 if self.bound == ">=" else 1
        return Observed(self.kind, [value**turn for value in self.before])


class Outcome(NamedTuple):
    """A verdict; ``centre``: of the values before; ``allowed``: the limit as a value.

    ``detectable``: the smallest worsening against the centre, as a share, that would have failed;
    None: nothing could have.  ``missing_runs``: how many more runs of the baseline would settle it.
    """

    verdict: Verdict
    reason: str | None
    centre: float
    allowed: float
    detectable: float | None
    missing_runs: int | None = None


class _Lines(NamedTuple):
    """Distances from the centre, larger is worse; logarithms of a ratio.

    ``low``, ``value``, ``high``: of the number.  ``tolerance``: the limit.  ``chance``: as far as
    one more run of an unchanged system may lie.  ``reach``: the same with episodes of noise.
    """

    low: float
    value: float
    high: float
    tolerance: float
    chance: float
    reach: float

    @property
    def base(self) -> float:
        """From where chance counts: an unchanged system, or one that just meets the limit."""
        return min(self.tolerance, 0.0)

    @property
    def failing(self) -> float:
        """The line beyond which a number fails."""
        return max(self.tolerance, self.base + self.reach) + _ROUNDING

    @property
    def passing(self) -> float:
        """The line up to which a number passes: chance may be beyond the limit, but not far."""
        close = self.chance <= WIDE * self.tolerance
        return (max(self.tolerance, self.chance) if close else self.tolerance) + _ROUNDING


class Tolerance:
    """The rule for all numbers of a gate with relative limits; each has the same runs before it."""

    def __init__(self, numbers: Sequence[Number]) -> None:
        seen = [number.turned for number in numbers if number.ratio]
        self._limits = len(numbers)
        self._rules = Rules(seen, self._limits)
        # How far above the others any run was, in its expected deviations from them.
        self._furthest = 0.0
        for place in range(max((len(observed.values) for observed in seen), default=0)):
            rest = [
                Observed(observed.kind, [*observed.values[:place], *observed.values[place + 1 :]])
                for observed in seen
            ]
            rules = Rules(rest, self._limits)
            for number, remaining in zip(seen, rest, strict=True):
                k = len(remaining.values)
                square = rules.scatter(remaining).value * (1 + 1 / k) if k > 1 else 0.0
                if square:
                    away = log(number.values[place]) - fmean(map(log, remaining.values))
                    self._furthest = max(self._furthest, away / sqrt(square))

    def judged(self, number: Number) -> Outcome:
        """Return the verdict on one of the numbers."""
        lines, centre = self._lines(number)
        turn = -1 if number.bound == ">=" else 1
        fails = lines.failing + lines.value - lines.low
        if number.ratio:
            allowed = centre * number.factor
            share = turn * expm1(turn * fails) if fails < _HUGE else inf
        else:
            allowed = centre + (number.factor - 1) * abs(centre)
            share = fails / abs(centre) if centre else inf
        outcome = Outcome("passed", None, centre, allowed, share if share < inf else None)
        if lines.chance == inf:
            return outcome._replace(
                verdict="inconclusive", detectable=None,
                reason="runs of the baseline differ too much for any verdict",
                missing_runs=self._missing(number, lines),
            )  # fmt: skip
        if lines.low > lines.failing:
            return outcome._replace(verdict="failed")
        if lines.high <= lines.passing:
            over = lines.value > lines.tolerance + _ROUNDING
            return outcome._replace(
                reason="less than unchanged runs may differ by" if over else None
            )
        runs = self._missing(number, lines)
        if lines.low < lines.value:
            reason = "its interval holds the limit"
        elif lines.value > lines.base + lines.chance:
            reason = "hardly further off than single runs of the baseline were"
        else:
            always = "" if runs else ", however many are in the baseline"
            reason = f"unchanged runs may differ by as much{always}"
        return outcome._replace(verdict="inconclusive", reason=reason, missing_runs=runs)

    def _lines(self, number: Number) -> tuple[_Lines, float]:
        """Return the lines of a number, and the centre of the values before."""
        turn = -1 if number.bound == ">=" else 1
        before, k = number.before, len(number.before)
        if number.ratio:
            centre, seen = exp(fmean(map(log, before))), number.turned
            value, *ends = (turn * log(end / centre) for end in number.own)
            tolerance = turn * log(number.factor)
            chance = log(self._rules.factor(seen))
            deviation = sqrt(self._rules.scatter(seen).value * (1 + 1 / k))
            episode = min(EPISODE * self._furthest * deviation, log(WIDEST))
            least = max(episode, log1p(number.step / centre))
        else:
            centre = fmean(before)
            value, *ends = (turn * (end - centre) for end in number.own)
            tolerance, least = turn * (number.factor - 1) * abs(centre), number.step
            chance = self._rules.above([turn * (v - centre) for v in before])
        return _Lines(min(ends), value, max(ends), tolerance, chance, max(chance, least)), centre

    def _missing(self, number: Number, lines: _Lines) -> int | None:
        """Return how many more runs before would settle it, if they scatter as these do."""
        if not number.ratio or lines.low < lines.value:
            return None
        k = len(number.before)
        scatter = self._rules.scatter(number.turned)
        for runs in range(k + 1, MOST + 1):
            narrowed = scatter._replace(freedom=scatter.freedom * (runs - 1) / (k - 1))
            distance = self._rules.distance(narrowed, runs)
            settled = lines._replace(chance=distance, reach=distance)
            if distance < log(WIDEST) and (
                lines.low > settled.failing or lines.high <= settled.passing
            ):
                return runs - k
        return None
