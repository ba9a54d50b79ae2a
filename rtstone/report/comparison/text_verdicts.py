"""Verdicts in words, and as lines for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from rich.text import Text

from rtstone.documents.comparison import SIGNS, Comparison, Effect, Row, Verdict
from rtstone.report.parts.console import packed
from rtstone.statistics import COLUMNS
from rtstone.units import count, counted, quantity

STYLES: dict[Verdict, str] = {
    "better": "green", "worse": "red", "no difference": "", "inconclusive": "dim",
}  # fmt: skip
LARGEST = 5  # effects that the answer names
_ORDER: tuple[Verdict, ...] = ("worse", "better", "no difference", "inconclusive")
_TWICE = 2.0  # ratios from here, or below the inverse, are shown as ratios, not in %

# ---- words --------------------------------------------------------------------------------------


def verdict_text(effect: Effect) -> str:
    """Return the verdict with its sign: ``+ better``."""
    return f"{SIGNS[effect.verdict]} {effect.verdict}"


def column(effect: Effect) -> str:
    """Return the column of an effect, and the one it is compared with if not the first."""
    return effect.column + (f" against {effect.against}" if effect.against else "")


def statistic(effect: Effect) -> str:
    """Return the label of the statistic: ``p99.9``; empty for a figure."""
    return COLUMNS.get(effect.statistic, "")


def change(effect: Effect, unit: str) -> str:
    """Return the change: ``+12%``, ``x6.1`` or, without a ratio, ``+1.20 ns``; or nothing."""
    if effect.ratio is not None:
        return _times(effect.ratio, _twofold(effect))
    return "" if effect.difference is None else _more(effect.difference, unit)


def interval(effect: Effect, unit: str) -> str:
    """Return the interval of the change: ``[+8%, +16%]``."""
    if effect.ci95:
        ends = [_times(end, _twofold(effect)) for end in effect.ci95]
    elif effect.difference_ci95:
        ends = [_more(end, unit) for end in effect.difference_ci95]
    else:
        return ""
    return f"[{', '.join(ends)}]"


def reason(effect: Effect) -> str:
    """Return why there is no verdict, and about how many samples are missing."""
    missing = f"{_about(effect.missing)} more samples" if effect.missing else ""
    return ": ".join(filter(None, (effect.reason, missing)))


def _about(n: int) -> str:
    return count(float(f"{n:.2g}"))


def _twofold(effect: Effect) -> bool:
    ratio = effect.ratio or 1.0
    return not 1 / _TWICE < ratio < _TWICE


def _times(ratio: float, whole: bool) -> str:
    if whole or ratio >= 10:
        return f"x{ratio:.3g}" if ratio < 1000 else f"x{count(float(f'{ratio:.3g}'))}"
    percent = round(100 * (ratio - 1), 1)
    return f"{percent:+.0f}%" if abs(percent) >= 10 else f"{percent:+.1f}%"


def _more(value: float, unit: str) -> str:
    return f"{'+' if value > 0 else ''}{quantity(value, unit)}"


# ---- the answer ---------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The verdicts of one column: a sentence, and its largest effects."""

    sentence: str
    largest: list[tuple[str, Effect, str]]  # name of the row, effect, unit
    effects: list[Effect]


def answers(comparison: Comparison, names: Sequence[str]) -> list[Answer]:
    """Return an answer per column but the first, then for what the first lacks."""
    first = comparison.columns[0].label
    pairs: list[tuple[str, str | None]] = [(c.label, None) for c in comparison.columns[1:]]
    pairs += [(e.column, e.against) for row in comparison.rows for e in row.effects]
    return [_answer(comparison, *pair, first, names) for pair in dict.fromkeys(pairs)]


def _answer(
    comparison: Comparison, label: str, against: str | None, first: str, names: Sequence[str]
) -> Answer:
    found = [
        (name, effect, row.unit)
        for row, name in zip(comparison.rows, names, strict=True)
        for effect in row.effects
        if (effect.column, effect.against) == (label, against)
    ]
    number = Counter(effect.verdict for _, effect, _ in found)
    said = ", ".join(f"{number[verdict]} {verdict}" for verdict in _ORDER)
    differ = [one for one in found if one[1].verdict in ("better", "worse")]
    largest = sorted(differ, key=lambda one: -_size(one[1]))[:LARGEST]
    to = f"{label} against {first}" if against is None else (
        f"{label} against {against}, in what {first} lacks"
    )  # fmt: skip
    sentence = f"{to}: of {counted(len(found), 'effect')} {said}"
    return Answer(sentence, largest, [effect for _, effect, _ in found])


def _size(effect: Effect) -> float:
    return abs(log(effect.ratio)) if effect.ratio else 0.0


def advice(comparison: Comparison) -> str | None:
    """Return what to do if the scatter of runs is unknown; None if it is known."""
    effects = [effect for row in comparison.rows for effect in row.effects]
    seeded = "instructions" in comparison.units and any(c.seeds for c in comparison.columns)
    if seeded and any(e.verdict == "inconclusive" and e.basis for e in effects):
        return (
            "Seeds are repetitions here: to settle what is inconclusive, run each system with more "
            "of them (`+seed=N` behind the target)."
        )
    if any(e.reason == "noise floor unknown" for e in effects):
        return (
            "The noise floor is unknown, as no run was repeated. Measure both in turn, with "
            "`rtstone compare --run A B`; or join several runs of a system by commas; or name "
            "several runs of one system with --floor."
        )
    return None


def rules(comparison: Comparison) -> str | None:
    """Return the basis of the verdicts, None if there are none."""
    told = comparison.rules
    if told is None or not told.floor:  # nothing could be judged
        return None
    return (
        f"Verdicts: intervals hold together with {1 - told.level:.0%} ({told.correction}, "
        f"{counted(told.effects, 'effect')}); within {told.margin:.0%}, or the noise floor up to "
        f"10%, is no difference. Noise floor {told.floor}."
    )


# ---- terminal -----------------------------------------------------------------------------------


def answer_lines(comparison: Comparison, names: Sequence[str]) -> Iterator[Text]:
    """Yield the answers, which are shown first."""
    if not any(row.effects for row in comparison.rows):
        return
    for answer in answers(comparison, names):
        yield Text(answer.sentence, style="bold")
        for name, effect, unit in answer.largest:
            pieces = (verdict_text(effect), name, statistic(effect), change(effect, unit),
                      interval(effect, unit))  # fmt: skip
            yield Text("  " + " ".join(filter(None, pieces)), style=STYLES[effect.verdict])
    if told := advice(comparison):
        yield Text(told, style="bold yellow")
    for remark in comparison.rules.remarks if comparison.rules else []:
        yield Text(f"with care: {remark}", style="bold yellow")
    if any(difference.grade == "care" for difference in comparison.differences):
        yield Text("Conditions differ: verdicts say that numbers differ, not why.", "bold yellow")


class _Line(NamedTuple):
    name: str
    cells: tuple[str, ...]  # column, statistic, verdict, change, interval, reason
    style: str


def verdict_lines(comparison: Comparison, names: Sequence[str], width: int) -> Iterator[Text]:
    """Yield a line for each effect: beside the name of its row if that fits, else below it."""
    lines = list(_lines(comparison, names))
    if not lines:
        return
    yield Text("Verdicts", style="bold")
    widths = [max(map(len, cells)) for cells in zip(*(line.cells for line in lines), strict=True)]
    first = max(len(line.name) for line in lines)
    whole = [(_row(line, widths), line) for line in lines]
    beside = all(first + 2 + len(text) <= width for text, _ in whole)
    last = ""
    for text, line in whole:
        name = line.name if line.name != last else ""
        last = line.name
        if beside:
            yield Text(f"{name:<{first}}  {text}", style=line.style)
            continue
        if name:
            yield Text(name, style="bold cyan")
        pieces = [text] if len(text) + 2 <= width else [cell for cell in line.cells if cell]
        yield from (Text(row, style=line.style) for row in packed(pieces, width))


def _row(line: _Line, widths: Sequence[int]) -> str:
    """Return the cells in columns; rich tables cannot have a reason across several."""
    *numbers, why = line.cells
    if not numbers[-1]:  # only a reason
        column, stat, verdict, *_ = numbers
        numbers = [column, stat, verdict]
    pairs = zip(numbers, widths, strict=False)
    return "  ".join([*(f"{cell:<{w}}" for cell, w in pairs if w), why]).rstrip()


def _lines(comparison: Comparison, names: Sequence[str]) -> Iterator[_Line]:
    several = len(comparison.columns) > 2
    for row, name in zip(comparison.rows, names, strict=True):
        for effect in row.effects:
            yield _Line(name, _cells(row, effect, several), STYLES[effect.verdict])


def _cells(row: Row, effect: Effect, several: bool) -> tuple[str, ...]:
    return (
        column(effect) if several else "", statistic(effect), verdict_text(effect),
        change(effect, row.unit), interval(effect, row.unit), reason(effect),
    )  # fmt: skip
