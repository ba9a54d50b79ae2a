"""Verdicts in words, and as lines for the terminal."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from rich.text import Text

from rtstone.documents.case_key import family
from rtstone.documents.comparison import SIGNS, Comparison, Effect, Row, Verdict
from rtstone.documents.imported import PLACE
from rtstone.documents.run import LOCAL
from rtstone.program import typed
from rtstone.report.parts.console import copied, packed
from rtstone.stats.comparison.effects import LOST, NO_FLOOR
from rtstone.stats.comparison.verdicts import MISSED
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, difference, quantity, relative_change, rounded

STYLES: dict[Verdict, str] = {
    "better": "green", "worse": "red", "no difference": "", "inconclusive": "dim",
}  # fmt: skip
LARGEST = 10  # effects that the answers name together, but LEAST for each column
LEAST = 3
_FAMILIES = 6  # families of benches that the answer names
_ORDER: tuple[Verdict, ...] = ("worse", "better", "no difference", "inconclusive")
_TWICE = 2.0  # ratios from here, or below the inverse, are shown as ratios, not in %
_UNBOUNDED = 1000.0  # an end of an interval that is so many times the ratio says nothing
_TIMES = {"ns": ("longer", "shorter"), "instructions": ("more", "fewer")}
_SUITE = re.compile(r"\d{8}-\d{6}\.\d{3}-([a-z_]+)-[0-9a-f]{4}$")  # the id of a run
_BEGUN = re.compile(r"\d{8}-\d{6}\.\d{3}(?=-)")  # the start of an id, which is enough of it
_MEASURE = "It is unknown how far runs of one system differ. To know it:"
_MEASURE_AND_IMPORT = (
    "It is unknown how far runs of one system differ. To know it, measure one of them three "
    "times more with its own tool, import the files and name those runs:"
)
_WHY = 2  # reasons given together
_BENCHES = 3  # named in a command
_OTHERS = ("larger", "smaller")
_FIRST = 1e6  # weight of missed activations, before the logarithm of any ratio

# ---- words --------------------------------------------------------------------------------------


def verdict_text(effect: Effect) -> str:
    """Return the verdict with its sign: ``+ better``."""
    return f"{SIGNS[effect.verdict]} {effect.verdict}"


def column(effect: Effect) -> str:
    """Return the column of an effect, and the one it is compared with if not the first."""
    return effect.column + (f" against {effect.against}" if effect.against else "")


def statistic(effect: Effect) -> str:
    """Return the label of the statistic: ``p99.9``, ``missed``; empty for a figure."""
    return MISSED if effect.part == "missed" else COLUMNS.get(effect.statistic, "")


def change(effect: Effect, unit: str) -> str:
    """Return the change: ``+12%``, ``6.1 times longer`` or, without a ratio, ``+1.20 ns``.

    Of missed activations it is ``+12 points``.
    """
    if effect.ratio is None:
        certain = effect.difference is not None
        return difference(effect.difference or 0.0, _unit(effect, unit)) if certain else ""
    if not _twofold(effect):
        return relative_change(effect.ratio)
    longer, shorter = _TIMES.get(unit, _OTHERS)
    way = longer if effect.ratio > 1 else shorter
    return f"{rounded(max(effect.ratio, 1 / effect.ratio))} times {way}"


def interval(effect: Effect, unit: str) -> str:
    """Return the interval of the change, in its terms: ``[+8%, +16%]``; ``-``: unbounded."""
    ends = []
    if effect.ci95 and effect.ratio:
        ratio = effect.ratio
        for end in effect.ci95:
            if not ratio / _UNBOUNDED < end < ratio * _UNBOUNDED:
                ends.append("-")
            elif not _twofold(effect):
                ends.append(relative_change(end))
            else:
                ends.append(rounded(end if ratio > 1 else 1 / end))
        if _twofold(effect) and ratio < 1:  # of the inverse
            ends.reverse()
    elif effect.difference_ci95:
        ends = [difference(end, _unit(effect, unit)) for end in effect.difference_ci95]
    return f"[{', '.join(ends)}]" if ends else ""


def _unit(effect: Effect, unit: str) -> str:
    """Return the unit of an effect's values; ``unit``: the row's."""
    return "%" if effect.part == "missed" else unit


def reason(effect: Effect) -> str:
    """Return why there is no verdict, about how many samples are missing, and what is excluded."""
    missing = ""
    if effect.missing:
        number = count(float(f"{effect.missing:.2g}"))
        missing = f"{number} more sample{'s' * (effect.missing > 1)}"
    text = ": ".join(filter(None, (effect.reason, missing)))
    if effect.within is None:
        return text
    return f"no difference above {100 * effect.within:.2g}%; {text}"


def _twofold(effect: Effect) -> bool:
    ratio = effect.ratio or 1.0
    return not 1 / _TWICE < ratio < _TWICE


# ---- the answer ---------------------------------------------------------------------------------


class RowEffect(NamedTuple):
    """An effect with the name of its row, and the row."""

    name: str
    effect: Effect
    row: Row


class Answer(NamedTuple):
    """The verdicts of one column: a sentence, and its largest effects, one of each row."""

    sentence: str
    largest: list[RowEffect]
    effects: list[Effect]


def answers(comparison: Comparison, names: Sequence[str]) -> list[Answer]:
    """Return an answer per column but the first, then for what the first lacks."""
    first = comparison.columns[0].label
    pairs: list[tuple[str, str | None]] = [(c.label, None) for c in comparison.columns[1:]]
    pairs += [(e.column, e.against) for row in comparison.rows for e in row.effects]
    several = dict.fromkeys(pairs)
    most = max(LEAST, LARGEST // max(len(several), 1))
    answered = []
    for label, against in several:
        effects = [
            RowEffect(name, effect, row)
            for row, name in zip(comparison.rows, names, strict=True)
            for effect in row.effects
            if (effect.column, effect.against) == (label, against)
        ]
        differ = [entry for entry in effects if entry.effect.verdict in ("better", "worse")]
        foremost: dict[str, RowEffect] = {}  # of each row
        for entry in sorted(differ, key=lambda entry: -weight(entry.effect)):
            foremost.setdefault(entry.name, entry)
        other = first if against is None else f"{against} (in what {first} lacks)"
        sentence = f"{label} has no case like {other}"
        if effects:
            estimate = None if differ else _estimate(effects, other)
            sentences = (_missed(effects, other), estimate, _balance(effects, other))
            sentence = f"{label} {'. It '.join(filter(None, sentences))}"
        largest = list(foremost.values())[:most]
        answered.append(Answer(sentence, largest, [entry.effect for entry in effects]))
    return answered


def _balance(effects: Sequence[RowEffect], other: str) -> str:
    """Return how a column compares with another: ``is slower than A in 25 of 27 effects``."""
    total = counted(len(effects), "effect")
    timed = all(entry.row.unit in _TIMES and entry.effect.part != "missed" for entry in effects)
    words = {"worse": "slower" if timed else "worse", "better": "faster" if timed else "better"}
    number = Counter(entry.effect.verdict for entry in effects)
    rest = ", ".join(f"{number[v]} {v}" for v in _ORDER[2:] if number[v])
    text = ""
    for verdict, word in words.items():
        side = [entry.row for entry in effects if entry.effect.verdict == verdict]
        families = list(dict.fromkeys(family(row.bench) for row in side))
        named = ", ".join(families[:_FAMILIES])
        if len(families) > _FAMILIES:
            named += f" and {len(families) - _FAMILIES} more"
        if side and not text:
            text = f"is {word} than {other} in {len(side)} of {total} ({named})"
        elif side:
            text += f" and {word} in {len(side)} ({named})"
    if not text:
        return f"differs from {other} beyond doubt in none of {total}: {rest}"
    return f"{text}; {rest}" if rest else text


def _missed(effects: Sequence[RowEffect], other: str) -> str | None:
    """Return what was missed where that differs, the most first: ``missed 30% of its activations``.

    A difference of more than LOST is reported even if it is not certain.
    """
    lost = []
    for entry in effects:
        effect = entry.effect
        certain = effect.verdict in ("better", "worse")
        if effect.part == "missed" and effect.values:
            lost += [entry] if certain or abs(effect.difference or 0) > LOST else []
    if not lost:
        return None
    worst = min(lost, key=lambda entry: (entry.effect.verdict == "inconclusive",
                                         -weight(entry.effect)))  # fmt: skip
    a, b = (
        "none" if not share else share_text(share) for share in worst.effect.values or (None, None)
    )
    certain = worst.effect.verdict != "inconclusive"
    doubt = "" if certain else f" (not certain: {worst.effect.reason})"
    rest = f", and {counted(len(lost) - 1, 'more case')} differs so" if len(lost) > 1 else ""
    where = f", in {worst.name}" if len({entry.name for entry in effects}) > 1 else ""
    return f"missed {b} of its activations, {other} {a}{where}{doubt}{rest}"


def share_text(percent: float) -> str:
    """Return a share of activations: ``30%``, ``0.012%``."""
    return f"{percent:.3g}%" if percent < 10 else f"{percent:.0f}%"


def _estimate(effects: Sequence[RowEffect], other: str) -> str | None:
    """Return the estimate of what is nearest to a verdict, if nothing has one for a difference.

    In a single case that is its tail, else its median.
    """
    candidates = [e for e in effects if e.effect.ratio and e.effect.basis != "exact"]
    if not candidates:
        return None
    if len({entry.name for entry in candidates}) == 1:
        parts = ("tail", "median", "maximum")
        nearest = min(candidates, key=lambda e: (not e.effect.ci95, parts.index(e.effect.part)))
        where = statistic(nearest.effect)
    else:
        nearest = max(candidates, key=lambda entry: _apartness(entry.effect))
        where = f"{statistic(nearest.effect)} of {nearest.name}, which is nearest to a verdict"
        where = where.strip()
    effect, unit = nearest.effect, nearest.row.unit
    text = f"is {_amount(effect.ratio or 1.0, unit)} {other} at {where}"
    if effect.ratio == 1:
        text = f"equals {other} at {where}"
    return "; ".join(filter(None, (text, _possible(effect, unit), _settling(effect))))


def _apartness(effect: Effect) -> float:
    """Return how far from equality an effect is, in halves of its interval."""
    if not effect.ratio or not effect.ci95 or min(effect.ci95) <= 0:
        return 0.0
    low, high = map(log, effect.ci95)
    return abs(log(effect.ratio)) / ((high - low) / 2) if high > low else 0.0


def _amount(ratio: float, unit: str, than: str = " than") -> str:
    """Return a ratio in words: ``1.0% slower than``."""
    rising, falling = ("slower", "faster") if unit in _TIMES else _OTHERS
    way = rising if ratio >= 1 else falling
    if not 1 / _TWICE < ratio < _TWICE:
        return f"{rounded(max(ratio, 1 / ratio))} times {way}{than}"
    return f"{relative_change(ratio).lstrip('+-')} {way}{than}"


def _possible(effect: Effect, unit: str) -> str:
    """Return the interval in words: ``between 46% faster and 91% slower is possible``."""
    if effect.floor is None or not effect.ci95:  # it is of the samples of single runs alone
        return ""
    ratio = effect.ratio or 1.0
    if not all(ratio / _UNBOUNDED < end < ratio * _UNBOUNDED for end in effect.ci95):
        return "how far it may be off is not known"
    if effect.ci95 == (1.0, 1.0):
        return ""
    low, high = (_amount(end, unit, "") for end in effect.ci95)
    return f"between {low} and {high} is possible"


def _settling(effect: Effect) -> str:
    """Return what is known all the same, and what would settle the rest."""
    if effect.verdict == "no difference":
        return ""
    least = "" if effect.within is None else f"no difference above {100 * effect.within:.2g}%"
    why = effect.reason or ""
    if why.startswith("about "):
        why = f"{why} would settle it"
    elif why == NO_FLOOR:
        why = "how far runs of one system differ is not known"
    return "; ".join(filter(None, (least, why)))


def weight(effect: Effect) -> float:
    """Return the size of an effect, for sorting: missed activations before all ratios."""
    if effect.part == "missed":
        return _FIRST + abs(effect.difference or 0.0)
    return abs(log(effect.ratio)) if effect.ratio else 0.0


def advice(comparison: Comparison) -> str | None:
    """Return what to do if the scatter of runs is unknown; None if it is known."""
    effects = [effect for row in comparison.rows for effect in row.effects]
    seeded = "instructions" in comparison.units and any(c.seeds for c in comparison.columns)
    if seeded:
        if any(e.verdict == "inconclusive" and e.basis for e in effects):
            return (
                "Seeds are repetitions here: to settle what is inconclusive, run each system with "
                "more of them (`+seed=N` behind the target)."
            )
        return None
    if command := repeating(comparison):
        return f"{_MEASURE_AND_IMPORT if imported(comparison) else _MEASURE} {command}"
    return None


def imported(comparison: Comparison) -> list[str]:
    """Return the labels of the columns that another tool measured."""
    return [column.label for column in comparison.columns if column.target.startswith(PLACE)]


def repeating(comparison: Comparison) -> str | None:
    """Return the command that measures how far runs of one system differ, None if it is known."""
    reasons = {effect.reason for row in comparison.rows for effect in row.effects}
    if NO_FLOOR not in reasons:
        return None
    targets = [shlex.quote(column.target) for column in comparison.columns]
    tools = imported(comparison)
    # The suite of the runs, which their ids name, or the benches.
    suites = {match[1] for column in comparison.columns for run in column.runs
              if (match := _SUITE.match(run))}  # fmt: skip
    names = list(dict.fromkeys(row.bench for row in comparison.rows))
    benches = " ".join(names[:_BENCHES])
    if len(suites) == 1 and not (suites & set(names)):
        benches = suites.pop()
    if len(targets) == 2 and targets[0] != targets[1] and not tools:
        return f"rtstone compare --run {' '.join(targets)} {benches}"
    ids = [run for column in comparison.columns for run in column.runs]
    shorts = {run: match[0] if (match := _BEGUN.match(run)) else run for run in ids}
    if len(set(shorts.values())) < len(set(ids)):
        shorts = {}
    # By name, by the start of the id, or by the id.
    runs = " ".join(
        ",".join(shlex.quote(column.names.get(run, shorts.get(run, run))) for run in column.runs)
        for column in comparison.columns
    )
    if tools:
        return f"rtstone compare {runs} --floor RUN,RUN,RUN"
    target = "" if targets[0] == LOCAL else f" --target {targets[0]}"
    return (
        f"for i in 1 2 3; do rtstone run {benches}{target}; done; "
        f"rtstone compare {runs} --floor last~2,last~1,last"
    )


def rules(comparison: Comparison) -> str | None:
    """Return the basis of the verdicts, None if there are none."""
    basis = comparison.rules
    if basis is None or not basis.floor:  # nothing could be judged
        return None
    return (
        f"Verdicts: intervals hold together with {1 - basis.level:.0%} ({basis.correction}, "
        f"{counted(basis.effects, 'effect')}); within {basis.margin:.0%}, or the noise floor up to "
        f"10%, is no difference. Noise floor {basis.floor}."
    )


# ---- terminal -----------------------------------------------------------------------------------


def answer_lines(comparison: Comparison, names: Sequence[str], width: int) -> Iterator[Text]:
    """Yield the answers, which are shown first."""
    if not any(row.effects for row in comparison.rows):
        return
    for answer in answers(comparison, names):
        yield Text(f"{answer.sentence}.", style="bold")
        yield from _differences(comparison, answer.largest, width)
    command = repeating(comparison)
    if text := advice(comparison):
        yield Text(text.removesuffix(command or "").rstrip(), style="bold yellow")
    if text and command:  # in one piece, to be copied
        yield from (Text(line, no_wrap=True) for line in copied(typed(command), width))
    for remark in comparison.rules.remarks if comparison.rules else []:
        yield Text(f"with care: {remark}", style="bold yellow")
    if any(difference.grade == "care" for difference in comparison.differences):
        yield Text("Conditions differ: verdicts say that numbers differ, not why.", "bold yellow")


def _differences(
    comparison: Comparison, largest: Sequence[RowEffect], width: int
) -> Iterator[Text]:
    """Yield the largest differences with both values, each in a line if there is room."""
    lines = [
        (verdict_text(e), name, statistic(e), change(e, row.unit), _interval(e, row.unit),
         _values(comparison, row, e))
        for name, e, row in largest
    ]  # fmt: skip
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    beside = sum(widths) + 2 * sum(map(bool, widths)) <= width
    for cells, entry in zip(lines, largest, strict=True):
        style = STYLES[entry.effect.verdict]
        if beside:
            pairs = zip(cells, widths, strict=True)
            text = "  ".join(f"{cell:<{w}}" for cell, w in pairs if w).rstrip()
            yield Text(f"  {text}", style=style)
            continue
        yield Text(f"  {cells[0]}  {cells[1]}", style=style)
        yield from (
            Text(f"      {row.strip()}", style)
            for row in packed([cell for cell in cells[2:] if cell], width - 6)
        )


def _interval(effect: Effect, unit: str) -> str:
    return "" if effect.basis == "exact" else interval(effect, unit)


def _values(comparison: Comparison, row: Row, effect: Effect) -> str:
    """Return the two values that an effect compares: ``32.9 µs -> 40.8 µs``."""
    if effect.part == "missed":
        return " -> ".join(share_text(share or 0.0) for share in effect.values or ())
    if effect.values:
        return (
            ""
            if None in effect.values
            else " -> ".join(quantity(value, row.unit) for value in effect.values)
        )
    places = {column.label: place for place, column in enumerate(comparison.columns)}
    cells = [row.cells[places[effect.against] if effect.against else 0],
             row.cells[places[effect.column]]]  # fmt: skip
    name = "min" if effect.statistic == "value" else effect.statistic
    values = [getattr(cell, name) if cell else None for cell in cells]
    if None in values:
        return ""
    return " -> ".join(quantity(value, row.unit) for value in values)


def folded_line(comparison: Comparison) -> str | None:
    """Return what is not shown without --all, None if nothing was judged."""
    effects = [effect for row in comparison.rows for effect in row.effects]
    if not effects:
        return None
    why = Counter(e.reason for e in effects if e.verdict == "inconclusive" and e.reason)
    causes = ", ".join(f"{reason} ({count(n)})" for reason, n in why.most_common(_WHY))
    reasons = f"; inconclusive mostly by: {causes}" if causes else ""
    return f"{counted(len(comparison.rows), 'row')} in all, shown by --all{reasons}"


class _Line(NamedTuple):
    name: str
    cells: tuple[str, ...]  # column, statistic, verdict, change, interval, reason
    style: str


def verdict_lines(comparison: Comparison, names: Sequence[str], width: int) -> Iterator[Text]:
    """Yield a line for each effect: beside the name of its row if that fits, else below it."""
    several = len(comparison.columns) > 2
    lines = []
    for row, name in zip(comparison.rows, names, strict=True):
        for effect in row.effects:
            cells = (
                column(effect) if several else "", statistic(effect), verdict_text(effect),
                change(effect, row.unit), _interval(effect, row.unit), reason(effect),
            )  # fmt: skip
            lines.append(_Line(name, cells, STYLES[effect.verdict]))
    if not lines:
        return
    yield Text("Verdicts", style="bold")
    widths = [max(map(len, cells)) for cells in zip(*(line.cells for line in lines), strict=True)]
    first = max(len(line.name) for line in lines)
    texts = []
    for line in lines:  # in columns; rich tables cannot have a reason across several
        *numbers, why = line.cells
        if not numbers[-1]:  # only a reason
            numbers = numbers[:3]  # column, statistic, verdict
        padded = [f"{cell:<{w}}" for cell, w in zip(numbers, widths, strict=False) if w]
        texts.append("  ".join([*padded, why]).rstrip())
    beside = all(first + 2 + len(text) <= width for text in texts)
    last = ""
    for text, line in zip(texts, lines, strict=True):
        name = line.name if line.name != last else ""
        last = line.name
        if beside:
            yield Text(f"{name:<{first}}  {text}", style=line.style)
            continue
        if name:
            yield Text(name, style="bold cyan")
        pieces = [text] if len(text) + 2 <= width else [cell for cell in line.cells if cell]
        yield from (Text(row, style=line.style) for row in packed(pieces, width))
