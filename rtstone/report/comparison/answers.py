"""What a comparison says: a sentence for each column, and what would settle the rest."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from math import log
from typing import NamedTuple

from rtstone.documents.case_key import family
from rtstone.documents.comparison import Comparison, Effect, Verdict
from rtstone.documents.run import LOCAL
from rtstone.report.comparison.words import (
    INSTRUCTIONS,
    OTHERS,
    TIMES,
    Judged,
    bounded,
    imported,
    share_text,
    twofold,
)
from rtstone.report.parts.words import Grade
from rtstone.stats.comparison.effects import LOST, NO_FLOOR
from rtstone.units import count, counted, relative_change, rounded

LARGEST = 10  # effects that the answers name together, but LEAST for each column
LEAST = 3
_FAMILIES = 6  # families of benches that the answer names
_ORDER: tuple[Verdict, ...] = ("worse", "better", "no difference", "inconclusive")
_SUITE = re.compile(r"\d{8}-\d{6}\.\d{3}-([a-z_]+)-[0-9a-f]{4}$")  # the id of a run
_BEGUN = re.compile(r"\d{8}-\d{6}\.\d{3}(?=-)")  # the start of an id, which is enough of it
_MEASURE = "It is unknown how far runs of one system differ. To know it:"
_MEASURE_AND_IMPORT = (
    "It is unknown how far runs of one system differ. To know it, measure one of them three "
    "times more with its own tool, import the files and name those runs:"
)
_SEEDS = (
    "Seeds are repetitions here: to settle what is inconclusive, run each system with more of them "
    "(`+seed=N` behind the target)."
)
_WHY = 2  # reasons given together
_BENCHES = 3  # named in a command


class Answer(NamedTuple):
    """The verdicts of one column: a sentence, its grade, and the largest effect of each row."""

    sentence: str
    grade: Grade
    largest: list[Judged]


def answers(comparison: Comparison, effects: Sequence[Judged]) -> list[Answer]:
    """Return an answer per column but the first, then for what the first lacks."""
    first = comparison.columns[0].label
    pairs: list[tuple[str, str | None]] = [(c.label, None) for c in comparison.columns[1:]]
    several = dict.fromkeys([*pairs, *((e.effect.column, e.effect.against) for e in effects)])
    most = max(LEAST, LARGEST // max(len(several), 1))
    answered = []
    for label, against in several:
        own = [e for e in effects if (e.effect.column, e.effect.against) == (label, against)]
        differ = [e for e in own if e.effect.verdict in ("better", "worse")]
        foremost: dict[str, Judged] = {}  # of each row
        for entry in sorted(differ, key=lambda entry: -entry.weight):
            foremost.setdefault(str(entry.name), entry)
        other = first if against is None else f"{against} (in what {first} lacks)"
        sentence = f"{label} has no case like {other}"
        if own:
            estimate = None if differ else _estimate(own, other)
            sentences = (_missed(own, other), estimate, _balance(own, other))
            sentence = f"{label} {'. It '.join(filter(None, sentences))}"
        directions = {entry.effect.verdict for entry in differ}
        grade: Grade = "info"  # unless all differences point the same way
        if len(directions) == 1:
            grade = "bad" if "worse" in directions else "good"
        answered.append(Answer(f"{sentence}.", grade, list(foremost.values())[:most]))
    return answered


def _balance(effects: Sequence[Judged], other: str) -> str:
    """Return how a column compares with another: ``is slower than A in 25 of 27 effects``."""
    total = counted(len(effects), "effect")
    timed = all(entry.row.unit in TIMES and entry.effect.part != "missed" for entry in effects)
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
    if not text and number["no difference"] == len(effects):
        return f"shows no difference from {other} in any of {total}"
    if not text:
        return f"shows no certain difference from {other} in any of {total}: {rest}"
    return f"{text}; {rest}" if rest else text


def _missed(effects: Sequence[Judged], other: str) -> str | None:
    """Return what was missed where that differs, the most first: ``missed 30% of its activations``.

    A difference of more than LOST is reported even if it is not certain.
    """
    lost = [
        entry
        for entry in effects
        if entry.effect.part == "missed" and entry.effect.values
        if entry.effect.verdict in ("better", "worse") or abs(entry.effect.difference or 0) > LOST
    ]
    if not lost:
        return None
    worst = min(lost, key=lambda e: (e.effect.verdict == "inconclusive", -e.weight))
    a, b = (share_text(share) if share else "none" for share in worst.effect.values or (0, 0))
    certain = worst.effect.verdict != "inconclusive"
    doubt = "" if certain else f" (not certain: {worst.effect.reason})"
    rest = f", and {counted(len(lost) - 1, 'more case')} differs so" if len(lost) > 1 else ""
    where = f", in {worst.name}" if len({entry.name for entry in effects}) > 1 else ""
    return f"missed {b} of its activations, {other} {a}{where}{doubt}{rest}"


def _estimate(effects: Sequence[Judged], other: str) -> str | None:
    """Return the estimate of what is nearest to a verdict, if nothing has one for a difference.

    In a single case that is its tail, else its median.
    """
    candidates = [e for e in effects if e.effect.ratio and e.effect.basis != "exact"]
    if not candidates:
        return None

    def apartness(entry: Judged) -> float:
        """Return how far from equality an effect is, in halves of its interval."""
        ratio, ends = entry.effect.ratio, entry.effect.ci95
        if not ratio or not ends or min(ends) <= 0:
            return 0.0
        low, high = map(log, ends)
        return abs(log(ratio)) / ((high - low) / 2) if high > low else 0.0

    if len({entry.name for entry in candidates}) == 1:
        parts = ("tail", "median", "maximum")
        nearest = min(candidates, key=lambda e: (not e.effect.ci95, parts.index(e.effect.part)))
        where = nearest.statistic
    else:
        nearest = max(candidates, key=apartness)
        where = f"{nearest.statistic} of {nearest.name}, which is nearest to a verdict"
        where = where.strip()
    effect, unit = nearest.effect, nearest.row.unit
    text = f"is {_amount(effect.ratio or 1.0, unit)} than {other} at {where}"
    if effect.ratio == 1:
        text = f"equals {other} at {where}"
    least = why = ""
    if effect.verdict != "no difference":  # what is known all the same, what would settle the rest
        least = "" if effect.within is None else f"no difference above {100 * effect.within:.2g}%"
        why = effect.reason or ""
        if why.startswith("about "):
            why = f"{why} would settle it"
        elif why == NO_FLOOR:
            why = "how far runs of one system differ is not known"
    return "; ".join(filter(None, (text, _possible(effect, unit), least, why)))


def _amount(ratio: float, unit: str) -> str:
    """Return a ratio in words: ``1.0% slower``."""
    rising, falling = ("slower", "faster") if unit in TIMES else OTHERS
    way = rising if ratio >= 1 else falling
    if twofold(ratio):
        return f"{rounded(max(ratio, 1 / ratio))} times {way}"
    return f"{relative_change(ratio).lstrip('+-')} {way}"


def _possible(effect: Effect, unit: str) -> str:
    """Return the interval in words: ``between 46% faster and 91% slower is possible``."""
    if effect.floor is None or not effect.ci95:  # it is of the samples of single runs alone
        return ""
    ratio = effect.ratio or 1.0
    if not all(bounded(end, ratio) for end in effect.ci95):
        return "how far it may be off is not known"
    if effect.ci95 == (1.0, 1.0):
        return ""
    low, high = (_amount(end, unit) for end in effect.ci95)
    return f"between {low} and {high} is possible"


def advice(comparison: Comparison) -> tuple[str, str]:
    """Return what to do if the scatter of runs is unknown, and the command; empty if known."""
    command = repeating(comparison)
    if INSTRUCTIONS in comparison.units and any(c.seeds for c in comparison.columns):
        effects = (effect for row in comparison.rows for effect in row.effects)
        unsettled = any(e.verdict == "inconclusive" and e.basis for e in effects)
        return (_SEEDS, command) if unsettled else ("", "")
    text = _MEASURE_AND_IMPORT if imported(comparison) else _MEASURE
    return (text, command) if command else ("", "")


def repeating(comparison: Comparison) -> str:
    """Return the command that measures how far runs of one system differ, empty if it is known."""
    if NO_FLOOR not in {effect.reason for row in comparison.rows for effect in row.effects}:
        return ""
    targets = [shlex.quote(column.target) for column in comparison.columns]
    # The suite of the runs, which their ids name, or the benches.
    ids = [run for column in comparison.columns for run in column.runs]
    suites = {match[1] for run in ids if (match := _SUITE.match(run))}
    names = list(dict.fromkeys(row.bench for row in comparison.rows))
    benches = " ".join(names[:_BENCHES])
    if len(suites) == 1 and not (suites & set(names)):
        benches = suites.pop()
    tools = imported(comparison)
    if len(targets) == 2 and targets[0] != targets[1] and not tools:
        return f"rtstone compare --run {' '.join(targets)} {benches}"
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


def rules(comparison: Comparison) -> str:
    """Return the basis of the verdicts, empty if there are none."""
    basis = comparison.rules
    if basis is None or not basis.floor:  # nothing could be judged
        return ""
    return (
        f"Verdicts: intervals hold together with {1 - basis.level:.0%} ({basis.correction}, "
        f"{counted(basis.effects, 'effect')}); within {basis.margin:.0%}, or the noise floor up to "
        f"10%, is no difference. Noise floor {basis.floor}."
    )


def folded_text(comparison: Comparison) -> str:
    """Return what is not shown without --all."""
    effects = (effect for row in comparison.rows for effect in row.effects)
    why = Counter(e.reason for e in effects if e.verdict == "inconclusive" and e.reason)
    causes = ", ".join(f"{reason} ({count(n)})" for reason, n in why.most_common(_WHY))
    text = f"{counted(len(comparison.rows), 'row')} in all, shown by --all"
    return f"{text}; inconclusive mostly by: {causes}" if causes else text
