"""Speed against determinism: a sentence over all cases, and a chart with a point for each.

The ratio of medians says how fast a system is beside another; the ratio of spreads, from the
median to the tail, how deterministic.  Nothing is claimed beyond the verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import Comparison, Effect, Verdict
from rtstone.report.comparison.forest import NARROWEST, extent
from rtstone.report.comparison.words import bounded
from rtstone.report.parts.model import Block, Chart, Notes
from rtstone.report.parts.typeset import typeset
from rtstone.stats.comparison.axes import points
from rtstone.stats.comparison.verdicts import MAXIMUM
from rtstone.summary import LABELS
from rtstone.units import counted, difference, rounded

TITLE = "Speed against determinism"
READING = (
    "A point for each case. Right: slower, left: faster; up: less deterministic, down: more. "
    "Lines: the intervals of both ratios, dashed where they decide nothing; an arrow: it goes on. "
    "Hollow: undetermined in either."
)
SPEED: dict[Verdict, str] = {
    "better": "faster", "worse": "slower", "no difference": "as fast",
    "inconclusive": "undetermined",
}  # fmt: skip
DETERMINISM: dict[Verdict, str] = {
    "better": "more deterministic", "worse": "less deterministic",
    "no difference": "as deterministic", "inconclusive": "undetermined",
}  # fmt: skip
_CORNERS = (  # above from left to right, then below
    "faster, less deterministic", "slower, less deterministic",
    "faster, more deterministic", "slower, more deterministic",
)  # fmt: skip
_DIFFERENT: tuple[Verdict, ...] = ("better", "worse")
_SETTLED = 3.0  # times the farthest ratio up to which an axis reaches for an interval
_REASONS = 3  # given together


class Point(NamedTuple):
    """A case of two systems in both axes; ``link``: to its numbers on the page."""

    label: str
    link: str
    unit: str
    speed: Effect
    spread: Effect


class Pair(NamedTuple):
    """Two systems, and the cases that both have; ``over``: what the ratios are of."""

    system: str
    other: str
    points: list[Point]
    over: tuple[str, str] = ("ratio of medians", "ratio of spreads")


def pairs(comparison: Comparison, names: Sequence[CaseName]) -> list[Pair]:
    """Return each column with the one that it is compared with, in the order of the columns."""
    first = comparison.columns[0].label
    by_pair: dict[tuple[str, str], list[Point]] = {}
    for row, speed, spread in points(comparison.rows):
        unit = comparison.rows[row].unit
        point = Point(str(names[row]), f"#c-{row}", unit, speed, spread)
        by_pair.setdefault((speed.column, speed.against or first), []).append(point)
    order = [column.label for column in comparison.columns]
    ranked = sorted(by_pair, key=lambda pair: (order.index(pair[1]), order.index(pair[0])))
    return [Pair(*pair, by_pair[pair]) for pair in ranked]


# ---- in words -----------------------------------------------------------------------------------


def sentence(pair: Pair) -> str:
    """Return how a system compares in both axes; what is undetermined is counted.

    ``b is faster than a in 12 of 20 cases (ratio of medians 0.5 to 0.9); it is less deterministic
    in 15 (ratio of spreads 1.2 to 7).  Undetermined: speed in 5, determinism in 3.``
    """
    speeds = [point.speed for point in pair.points]
    spreads = [point.spread for point in pair.points]
    cases = counted(len(pair.points), "case")
    speed = _axis(speeds, SPEED, pair.over[0], f" than {pair.other}", f" of {cases}")
    if not speed:
        same = all(effect.verdict == "no difference" for effect in speeds)
        scope = "any of " if len(pair.points) > 1 else ""
        speed = f"not certainly faster or slower than {pair.other} in {scope}{cases}"
        speed = f"as fast as {pair.other} in {cases}" if same else speed
    determinism = _axis(spreads, DETERMINISM, pair.over[1])
    if not determinism:
        same = all(effect.verdict == "no difference" for effect in spreads)
        determinism = "as deterministic in all" if same else "not certainly more or less "
        determinism += "" if same else "deterministic in any"
    text = f"{pair.system} is {speed}; it is {determinism}."
    for verdict, word in (("no difference", "No difference"), ("inconclusive", "Undetermined")):
        numbers = [(name, sum(effect.verdict == verdict for effect in effects))
                   for name, effects in (("speed", speeds), ("determinism", spreads))]  # fmt: skip
        counts = ", ".join(f"{name} in {n}" for name, n in numbers if n)
        text += f" {word}: {counts}." if counts else ""
    return text


def _axis(
    effects: Sequence[Effect], words: Mapping[Verdict, str], name: str,
    than: str = "", total: str = "",
) -> str:  # fmt: skip
    """Return how often a system is better and worse, the more frequent first; empty if never."""
    counts = Counter(effect.verdict for effect in effects)
    pieces = []
    for verdict in sorted(_DIFFERENT, key=lambda verdict: -counts[verdict]):
        if not counts[verdict]:
            continue
        ratios = [e.ratio for e in effects if e.verdict == verdict and e.ratio is not None]
        ends = dict.fromkeys(rounded(end(ratios)) for end in (min, max)) if ratios else {}
        span = f" ({name} {' to '.join(ends)})" if ratios else ""
        pieces.append(f"{words[verdict]}{than} in {counts[verdict]}{total}{span}")
        than = total = ""
    return " and ".join(pieces)


def sentences(comparison: Comparison, names: Sequence[CaseName]) -> list[str]:
    """Return the sentence of each two systems with common cases."""
    return [sentence(pair) for pair in pairs(comparison, names)]


# ---- the chart ----------------------------------------------------------------------------------


def blocks(pair: Pair, key: str, caption: str = "") -> Iterator[Block]:
    """Yield the chart of two systems, and below it the cases that it cannot draw, with reasons."""
    drawn = [point for point in pair.points if point.speed.ratio and point.spread.ratio]
    if drawn:
        yield chart(pair, drawn, key, caption)
    missing = [point for point in pair.points if point not in drawn]
    if not missing:
        return
    reasons = Counter(_reason(point) for point in missing)
    causes = "; ".join(f"{why} ({n})" for why, n in reasons.most_common(_REASONS))
    further = len(reasons) - _REASONS
    causes += f"; and {counted(further, 'more reason')}" if further > 0 else ""
    text = f"not drawn: {counted(len(missing), 'case')} without a ratio: {causes}"
    yield Notes([f"{caption}: {text}" if caption else text.capitalize()], "small")


def _reason(point: Point) -> str:
    """Return why a case has no ratio in an axis."""
    if not point.speed.ratio:
        return point.speed.reason or "a median of 0 or below"
    if point.spread.difference is not None:
        return "a spread of 0 on one side"
    return point.spread.reason or "no spread"


def chart(pair: Pair, drawn: Sequence[Point], key: str, caption: str = "") -> Chart:
    """Return the chart; its table has the cases that are drawn."""
    ends = []
    for effects in ([p.speed for p in drawn], [p.spread for p in drawn]):
        most, widest = extent(effects)
        ends.append(max(most * 1.1, min(widest * 1.05, most * _SETTLED), NARROWEST))
    rows: list[dict[str, Any]] = [
        {
            "label": point.label,
            "link": point.link,
            "ratios": [point.speed.ratio, point.spread.ratio],
            "ci95": [point.speed.ci95, point.spread.ci95],
            "verdicts": [point.speed.verdict, point.spread.verdict],
            "told": [[name, typeset(text)] for name, text in _facts(point)],
        }
        for point in drawn
    ]
    data = {
        "kind": "axes", "ends": ends, "rows": rows, "corners": _CORNERS,
        "over": pair.over,
    }  # fmt: skip
    words = f"{TITLE}: {pair.system} beside {pair.other}, a point for each case"
    return Chart(key, words, data, caption)


def _facts(point: Point) -> Iterator[tuple[str, str]]:
    """Yield what the tooltip and the table have of a case."""
    unit = point.unit
    of_maxima = point.spread.statistic == MAXIMUM
    high = LABELS.get(point.spread.statistic, point.spread.statistic)
    yield "speed", SPEED[point.speed.verdict]
    yield "ratio", _ratio(point.speed, unit)
    yield "of", LABELS.get(point.speed.statistic, point.speed.statistic)
    yield "interval of speed", _interval(point.speed, unit)
    yield "determinism", DETERMINISM[point.spread.verdict]
    yield "spread", f"{high} - mean" if of_maxima else f"{high} - p50"
    yield "ratio of spreads", _ratio(point.spread, unit)
    yield "interval of spread", _interval(point.spread, unit)
    yield "why undetermined", _why(point)


def _why(point: Point) -> str:
    """Return the reasons of what is undetermined."""
    axes = (("speed", point.speed), ("determinism", point.spread))
    reasons = [f"{name}: {e.reason}" for name, e in axes if e.verdict == "inconclusive"]
    return "; ".join(reasons) or "-"


def _ratio(effect: Effect, unit: str) -> str:
    if effect.ratio is not None:
        return rounded(effect.ratio)
    return "-" if effect.difference is None else difference(effect.difference, unit)


def _interval(effect: Effect, unit: str) -> str:
    if effect.basis == "exact":
        return "exact"
    if effect.ratio is not None and effect.ci95:
        ends = [rounded(end) if bounded(end, effect.ratio) else "-" for end in effect.ci95]
        return f"[{', '.join(ends)}]"
    if effect.difference_ci95:
        return f"[{', '.join(difference(end, unit) for end in effect.difference_ci95)}]"
    return "not known"
