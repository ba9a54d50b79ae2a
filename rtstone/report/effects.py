"""The verdicts of a comparison as the page shows them: a sentence, a table, a forest of ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, log10

from rtstone.model.comparison import Comparison, Effect, Verdict
from rtstone.report.comparison import Name, names
from rtstone.report.findings import Grade
from rtstone.report.words import count, counted, quantity, rounded

SIGNS: dict[Verdict, str] = {"better": "+", "worse": "-", "no difference": "=", "inconclusive": "?"}
ORDER: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "no difference")  # of the table
NAMES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}
WIDTH, HEIGHT = 200, 16  # of the picture of a ratio
_EDGE = 8  # free at each side of it, for the arrows of what lies beyond
_WIDEST = 20.0  # ratios beyond it, or its inverse, get an arrow
_NARROWEST = 1.1
_TICKS = (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20)
_APART = 0.16  # of the width between two ticks' texts, at least


@dataclass(frozen=True)
class Axis:
    """The logarithmic axis of ratios that all rows share, symmetric about 1."""

    end: float

    def x(self, ratio: float) -> float:
        """Where a ratio stands; beyond the ends at the edge."""
        share = log(max(ratio, 1e-12)) / log(self.end)
        return round(WIDTH / 2 + max(-1.0, min(share, 1.0)) * (WIDTH / 2 - _EDGE), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Place in % and text, no two too close."""
        found: list[tuple[float, str]] = []
        inner = sorted((t for t in _TICKS if 1 / self.end <= t <= self.end), key=lambda t: t != 1)
        for tick in inner:
            at = self.x(tick) / WIDTH * 100
            if all(abs(at - other) >= 100 * _APART for other, _ in found):
                found.append((round(at, 1), f"{tick:g}"))
        return sorted(found)


@dataclass(frozen=True)
class Told:
    """A row of the table of verdicts."""

    link: str
    name: Name
    effect: Effect
    unit: str

    @property
    def sign(self) -> str:
        """Of the verdict."""
        return SIGNS[self.effect.verdict]

    @property
    def part(self) -> str:
        """``median p50``; a figure has no parts."""
        e = self.effect
        return f"{e.part} {NAMES[e.statistic]}" if e.statistic in NAMES else "figure"

    @property
    def size(self) -> str:
        """The ratio, or where there is none the difference."""
        e = self.effect
        if e.ratio is not None:
            return f"{rounded(e.ratio)}"
        return "" if e.difference is None else f"by {quantity(e.difference, self.unit)}"

    @property
    def interval(self) -> str:
        """From where to where."""
        e = self.effect
        if e.basis == "exact":
            return "exact"
        if e.ci95 is not None:
            return " to ".join(rounded(end) for end in e.ci95)
        if e.difference_ci95 is not None:
            return " to ".join(quantity(end, self.unit) for end in e.difference_ci95)
        return ""

    @property
    def floor(self) -> str:
        """What noise alone makes of a ratio."""
        return "" if self.effect.floor is None else f"{rounded(100 * self.effect.floor)}%"

    @property
    def wanting(self) -> str:
        """Why there is no verdict, and what is missing to one."""
        e = self.effect
        missing = f"about {count(e.missing)} more samples a side" if e.missing else ""
        return "; ".join(filter(None, (e.reason, missing)))

    @property
    def weight(self) -> float:
        """How large the effect is, to sort by."""
        ratio = self.effect.ratio
        return abs(log(ratio)) if ratio and ratio > 0 else 0.0


@dataclass(frozen=True)
class Summary:
    """What comes of one column beside the first."""

    grade: Grade
    head: str
    lines: list[str]


@dataclass(frozen=True)
class Verdicts:
    """What the template reads."""

    rows: list[Told]
    axis: Axis
    summaries: list[Summary]
    counts: dict[Verdict, int]
    rules: list[str]

    def picture(self, told: Told) -> dict[str, float | bool] | None:
        """The places of an interval and its ratio, and whether it reaches beyond the axis."""
        e = told.effect
        if e.ratio is None:
            return None
        low, high = e.ci95 or (e.ratio, e.ratio)
        return {
            "low": self.axis.x(low), "at": self.axis.x(e.ratio), "high": self.axis.x(high),
            "below": low < 1 / self.axis.end, "above": high > self.axis.end,
        }  # fmt: skip


def verdicts(comparison: Comparison) -> Verdicts | None:
    """The part of the page about verdicts, None if there are none."""
    told = [
        Told(f"#c-{place}", name, effect, row.unit)
        for place, (row, name) in enumerate(zip(comparison.rows, names(comparison), strict=True))
        for effect in row.effects
    ]
    if not told:
        return None
    number = Counter(one.effect.verdict for one in told)
    return Verdicts(
        rows=sorted(told, key=lambda one: (ORDER.index(one.effect.verdict), -one.weight)),
        axis=_axis([one.effect for one in told]),
        summaries=list(_summaries(comparison, told)),
        counts={verdict: number[verdict] for verdict in ORDER},
        rules=list(_rules(comparison)),
    )


def _axis(effects: Sequence[Effect]) -> Axis:
    """Wide enough for all ratios, and for their intervals as far as that helps."""
    reach = [max(e.ratio, 1 / e.ratio) for e in effects if e.ratio]
    wide = [max(high, 1 / low) for e in effects if e.ci95 for low, high in [e.ci95] if low > 0]
    most = max(reach, default=1.0)
    end = max(most * 1.05, min(max(wide, default=1.0) * 1.05, most**2), _NARROWEST)
    return Axis(min(round(end, 3 - int(log10(end))), _WIDEST))


def _summaries(comparison: Comparison, told: Sequence[Told]) -> Iterator[Summary]:
    first = comparison.columns[0].label
    for column in comparison.columns[1:]:
        own = [one for one in told if one.effect.column == column.label]
        if not own:
            continue
        number = Counter(one.effect.verdict for one in own)
        parts = [f"{number[v]} {v}" for v in ("better", "worse", "no difference", "inconclusive")]
        head = f"{column.label} against {first}: {', '.join(parts)}."
        yield Summary(_grade(number), head, [*_largest(own), *_why(own)])


def _grade(number: Counter[Verdict]) -> Grade:
    """Bad or good if all differences point the same way."""
    if bool(number["worse"]) == bool(number["better"]):
        return "info"
    return "bad" if number["worse"] else "good"


def _largest(own: Sequence[Told]) -> Iterator[str]:
    for verdict in ("worse", "better"):
        found = [one for one in own if one.effect.verdict == verdict]
        if found:
            one = max(found, key=lambda one: one.weight)
            case = " ".join(filter(None, (one.name.bench, one.name.case)))
            times = f"{one.size} times" if one.effect.ratio is not None else one.size
            yield (
                f"Largest {verdict}: {case}, load {one.name.load}, {one.part}: {times} "
                f"({one.interval})."
            )


def _why(own: Sequence[Told]) -> Iterator[str]:
    """The most frequent reason for no verdict."""
    reasons = Counter(one.effect.reason for one in own if one.effect.verdict == "inconclusive")
    if reasons:
        reason, times = reasons.most_common(1)[0]
        yield f"Inconclusive most often, {times} times, because: {reason or 'no reason given'}."


def _rules(comparison: Comparison) -> Iterator[str]:
    rules = comparison.rules
    if rules is None:
        return
    yield (
        f"{counted(rules.effects, 'effect')} judged together ({rules.correction}): of comparisons "
        f"of equal systems at most {rules.level:.0%} find any difference."
    )
    yield f"A ratio within {rules.margin:.0%} of 1, or within the noise floor, is no difference."
    if rules.floor:
        yield f"Noise floor: {rules.floor}."
    yield from rules.remarks
