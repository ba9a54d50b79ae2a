"""The verdicts of a comparison on the page: answers, a table, and a forest plot of ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import Comparison, Effect, Verdict
from rtstone.report.comparison import text_verdicts as plainly
from rtstone.report.comparison.text import row_names
from rtstone.report.parts.typeset import typeset
from rtstone.report.parts.words import Grade
from rtstone.units import rounded

ORDER: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "no difference")  # in the table
WIDTH = 200  # of the picture of a ratio
_EDGE = 8  # margin at each side of it, for arrows
_WIDEST = 20.0  # ratios beyond it, or its inverse, become an arrow
_NARROWEST = 1.1
_TICKS = (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20)
LARGEST, LEAST = 12, 4  # effects in the chart of ratios: in all, and of each system
_SHARP = 100.0  # an interval wider than this factor to either side says nothing about the size
_APART = 16  # least distance of two ticks' texts, in % of the width


@dataclass(frozen=True)
class Axis:
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


@dataclass(frozen=True)
class VerdictRow:
    """A row of the table of verdicts; texts are plain."""

    link: str
    name: CaseName
    effect: Effect
    unit: str

    @property
    def part(self) -> str:
        """The part: ``tail p99.9``; empty for a figure."""
        statistic = plainly.statistic(self.effect)
        if self.effect.part == "missed":
            return statistic
        return f"{self.effect.part} {statistic}" if statistic else "figure"

    @property
    def verdict(self) -> str:
        """The verdict with its sign."""
        return plainly.verdict_text(self.effect)

    @property
    def change(self) -> str:
        """The change from the first column."""
        return plainly.change(self.effect, self.unit)

    @property
    def interval(self) -> str:
        """The interval of the change; empty for numbers that repeat exactly."""
        exact = self.effect.basis == "exact"
        return "exact" if exact else plainly.interval(self.effect, self.unit)

    @property
    def floor(self) -> str:
        """The noise floor of the ratio."""
        floor = self.effect.floor
        return f"{rounded(100 * floor)}%" if floor else ""

    @property
    def reason(self) -> str:
        """The reason why there is no verdict."""
        return plainly.reason(self.effect)

    @property
    def title(self) -> str:
        """The row's name, with the statistic."""
        return f"{self.name}: {plainly.statistic(self.effect)}"

    @property
    def sharp(self) -> bool:
        """True if the interval is narrow enough to be drawn as a size."""
        ratio, ci = self.effect.ratio, self.effect.ci95
        return bool(ratio and ci and ci[0] > ratio / _SHARP and ci[1] < ratio * _SHARP)

    @property
    def weight(self) -> float:
        """The size of the effect, for sorting."""
        return plainly.weight(self.effect)


@dataclass(frozen=True)
class Summary:
    """The verdicts of one column in short."""

    grade: Grade
    head: str


@dataclass(frozen=True)
class Verdicts:
    """What the template reads."""

    rows: list[VerdictRow]
    axis: Axis
    summaries: list[Summary]
    counts: dict[Verdict, int]
    advice: str | None
    rules: str | None
    remarks: list[str]

    @property
    def floors(self) -> bool:
        """True if any row has a noise floor."""
        return any(row.floor for row in self.rows)

    @property
    def reasons(self) -> bool:
        """True if any row has no verdict."""
        return any(row.reason for row in self.rows)

    @property
    def certain(self) -> bool:
        """True if anything is better or worse."""
        return bool(self.counts["better"] or self.counts["worse"])

    @property
    def largest(self) -> dict[str, Any] | None:
        """The chart of the largest ratios: of what differs, else of what is most likely to."""
        wanted = ("better", "worse") if self.certain else ("inconclusive",)
        candidates = [
            row for row in self.rows
            if row.effect.ratio and row.effect.verdict in wanted and (self.certain or row.sharp)
        ]  # fmt: skip
        columns = list(dict.fromkeys(plainly.column(row.effect) for row in self.rows))
        each = max(LARGEST // len(columns), LEAST)
        shown = [
            row
            for column in columns
            for row in sorted(
                (row for row in candidates if plainly.column(row.effect) == column),
                key=lambda row: -row.weight,
            )[:each]
        ]
        if not shown:
            return None
        rows = []
        for row in shown:
            e = row.effect
            system = f" · {plainly.column(e)}" if len(columns) > 1 else ""
            texts = (("verdict", row.verdict), ("change", row.change),
                     ("interval", row.interval or "not known"))  # fmt: skip
            rows.append({
                "label": row.title + system, "ratio": e.ratio, "ci95": e.ci95, "verdict": e.verdict,
                "link": row.link, "told": [[name, typeset(text)] for name, text in texts],
            })  # fmt: skip
        most, widest = _extent([row.effect for row in shown])
        end = max(most * 1.1, min(widest * 1.05, most * 3), _NARROWEST)  # intervals within reason
        return {"kind": "ratios", "over": "ratio", "end": end, "rows": rows}

    def picture(self, row: VerdictRow) -> dict[str, float | bool] | None:
        """Return coordinates of interval and ratio, and whether it extends beyond the axis."""
        e = row.effect
        if e.ratio is None:
            return None
        low, high = e.ci95 or (e.ratio, e.ratio)
        return {
            "low": self.axis.x(low), "at": self.axis.x(e.ratio), "high": self.axis.x(high),
            "below": low < 1 / self.axis.end, "above": high > self.axis.end,
        }  # fmt: skip


def verdicts(comparison: Comparison) -> Verdicts | None:
    """Return the part of the page about verdicts, None if there are none."""
    names = row_names(comparison)
    rows = [
        VerdictRow(f"#c-{place}", name, effect, row.unit)
        for place, (row, name) in enumerate(zip(comparison.rows, names, strict=True))
        for effect in row.effects
    ]
    if not rows:
        return None
    number = Counter(row.effect.verdict for row in rows)
    most, widest = _extent([row.effect for row in rows])
    end = max(most, min(widest, most**2)) * 1.05  # for all ratios, and intervals within reason
    summaries = []
    for answer in plainly.answers(comparison, [str(name) for name in names]):
        directions = {effect.verdict for effect in answer.effects} & {"better", "worse"}
        grade: Grade = "info"  # unless all differences point the same way
        if len(directions) == 1:
            grade = "bad" if "worse" in directions else "good"
        summaries.append(Summary(grade, f"{answer.sentence}."))
    return Verdicts(
        rows=sorted(rows, key=lambda row: (ORDER.index(row.effect.verdict), -row.weight)),
        axis=Axis(min(max(end, _NARROWEST), _WIDEST)),
        summaries=summaries,
        counts={verdict: number[verdict] for verdict in ORDER},
        advice=plainly.advice(comparison),
        rules=plainly.rules(comparison),
        remarks=comparison.rules.remarks if comparison.rules else [],
    )


def _extent(effects: Sequence[Effect]) -> tuple[float, float]:
    """Return the ratio farthest from 1, and the farthest end of an interval; both above 1."""
    most = max((max(e.ratio, 1 / e.ratio) for e in effects if e.ratio), default=1.0)
    ends = [end for e in effects for end in e.ci95 or () if end > 0]
    return most, max((max(end, 1 / end) for end in ends), default=1.0)
