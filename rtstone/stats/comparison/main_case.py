"""What decides between two systems: their worst wake-ups, else the case that differs most.

Which load is the worst may differ from system to system, so each system's worst value over the same
wake-ups is compared.  A wake-up that was lost may have been worse than all that were seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log
from typing import Literal, NamedTuple

from msgspec import structs

from rtstone.documents.comparison import (
    WOKEN,
    Cell,
    Effect,
    MainCase,
    MainEffect,
    Place,
    Row,
    Verdict,
)
from rtstone.documents.imported import WAKE_UPS
from rtstone.documents.plan import INTERVALS
from rtstone.documents.run import LOST_STATUSES
from rtstone.stats.comparison.effects import LOST
from rtstone.stats.comparison.judgement import Content, Pool, usable
from rtstone.stats.standouts import PERIODIC

_PARTS = ("missed", "maximum", "tail")  # of wake-ups, what decides first
_NEAREST = ("tail", "median", "maximum")  # of a single case, the same if nothing is certain
_DIFFERENT: tuple[Verdict, ...] = ("better", "worse")
_SIGN: Mapping[Verdict, int] = {"better": 1, "worse": -1}
_SEVERAL = 3  # systems of which the best two are looked for

_State = Literal["measured", "lost", "both", "absent"]  # both: measured in some runs only


class Wakeups(NamedTuple):
    """The wake-ups that two columns were to run, by index of the row.

    ``rows``: those with results of the first column, and of the other.  ``lost``, ``alone``: as in
    the document, by column and row.  ``beside``: whether rows have effects of these two columns.
    """

    first: int
    other: int
    rows: tuple[list[int], list[int]]
    lost: list[tuple[int, int]]
    alone: list[tuple[int, int]]
    beside: bool = True

    @property
    def pool(self) -> Pool | None:
        """The rows whose worst are compared; None if a side has none, or a row decides alone."""
        one_row = self.rows[0] == self.rows[1] and len(self.rows[0]) == 1
        decides = one_row and self.beside
        return None if decides or not all(self.rows) else Pool(self.first, self.other, self.rows)


def wakeups(contents: Sequence[Content]) -> list[Wakeups]:
    """Return the wake-ups of every two columns, those of the first that has any before the others.

    They are those of dk.periodic or, without it, of the first bench that both were to run.
    """
    wakes = [_wakes(content) for content in contents]
    benches = list(dict.fromkeys(
        content.row.bench for content, wake in zip(contents, wakes, strict=True) if wake
    ))  # fmt: skip
    benches.sort(key=lambda bench: bench != PERIODIC)
    by_bench = {
        bench: [
            (place, content)
            for place, (content, wake) in enumerate(zip(contents, wakes, strict=True))
            if content.row.bench == bench and wake is not False
        ]
        for bench in benches
    }
    columns = range(len(contents[0].columns)) if contents else range(0)
    measured = [
        column for column in columns
        if any(
            _state(content, column) in ("measured", "both")
            for several in by_bench.values() for _, content in several
        )
    ]  # fmt: skip
    pairs = []
    for place, base in enumerate(measured):
        # After the first, only those that have numbers of their own can be among the best.
        partners = measured[place + 1 :] if place else [c for c in columns if c > base]
        for column in partners:
            for rows_of_bench in by_bench.values():
                if pair := _pair(rows_of_bench, base, column):
                    pairs.append(pair._replace(beside=not place))
                    break
    return pairs


def _wakes(content: Content) -> bool | None:
    """Return whether a row is of wake-ups by a timer; None if nothing of it was measured."""
    results = [
        r for runs in content.columns for own in runs for r in own if r.n or r.missed or r.figures
    ]
    if not results:
        return None
    return content.row.figure is None and all(
        (r.missed is not None or r.bench in WAKE_UPS) and r.bench not in INTERVALS for r in results
    )


def _state(content: Content, column: int) -> _State:
    """Return what became of a case of a column; one that was not begun is not lost."""
    runs = content.columns[column]
    measured = any(usable(runs))
    lost = any(r.status in LOST_STATUSES and not r.not_begun for own in runs for r in own)
    if measured:
        return "both" if lost else "measured"
    return "lost" if lost else "absent"


def _pair(rows: Sequence[tuple[int, Content]], first: int, other: int) -> Wakeups | None:
    """Return the wake-ups of two columns in rows of a bench; None if they have none in common."""
    states = [(place, _state(row, first), _state(row, other)) for place, row in rows]
    both = [(place, a, b) for place, a, b in states if "absent" not in (a, b)]
    if not both:
        return None
    sides = list(zip((first, other), ([(p, a) for p, a, _ in both], [(p, b) for p, _, b in both]),
                     strict=True))  # fmt: skip
    measured = tuple([p for p, state in own if state != "lost"] for _, own in sides)
    return Wakeups(
        first, other, (measured[0], measured[1]),
        [(column, p) for column, own in sides for p, state in own if state in ("lost", "both")],
        [(first if b == "absent" else other, p) for p, a, b in states
         if (a == "absent") != (b == "absent")],
    )  # fmt: skip


def main_cases(
    labels: Sequence[str],
    rows: Sequence[Row],
    pairs: Sequence[Wakeups],
    pooled: Sequence[Sequence[Effect]],
) -> list[MainCase]:
    """Return what decides between each two systems that are compared.

    ``labels``: of the columns.  ``pooled``: the effects of those ``pairs`` that have a pool.
    """
    main: dict[tuple[str, str | None], MainCase] = {}
    remaining = iter(pooled)
    woken = {
        (pair.first, pair.other): _woken(labels, rows, pair, next(remaining) if pair.pool else [])
        for pair in pairs
    }
    best = finalists(woken, len(labels))
    for pair in pairs:
        case = woken[pair.first, pair.other]
        if best and set(best) == {pair.first, pair.other}:
            case = structs.replace(case, final=labels[best[0]])
        elif not pair.beside:
            continue
        main[case.column, case.against] = case
    several = dict.fromkeys((e.column, e.against) for row in rows for e in row.effects)
    for column, against in several:
        if (column, against) not in main and (case_ := _foremost(rows, column, against)):
            main[column, against] = case_
    return sorted(
        main.values(),
        key=lambda c: (c.final is None, c.against is not None, labels.index(c.column)),
    )


def finalists(woken: Mapping[tuple[int, int], MainCase], columns: int) -> tuple[int, int] | None:
    """Return the best two of more than two columns by their worst wake-ups, the better one first.

    They are those that more of the others are worse than, beyond doubt; among equals, as far as was
    seen.  None if not every two were compared.  ``woken``: by index of both columns.
    """
    pairs = list(combinations(range(columns), 2))
    if columns < _SEVERAL or any(pair not in woken for pair in pairs):
        return None
    sure, seen, whole = Counter[int](), Counter[int](), dict.fromkeys(range(columns), True)
    for (first, other), case in woken.items():
        sign = _SIGN.get(case.verdict, 0)
        sure.update({other: sign, first: -sign})
        sign = next(filter(None, (_seen(e.effect) for e in case.effects)), 0)
        seen.update({other: sign, first: -sign})
        lost = {place.column for place in case.lost}
        whole[other] &= case.column not in lost
        whole[first] &= lost <= {case.column}
    best = sorted(range(columns), key=lambda c: (not whole[c], -sure[c], -seen[c], c))
    return best[0], best[1]


def _seen(effect: Effect) -> int:
    """Return +1 if a column's number is less than that which it is compared with, -1 if more."""
    change = effect.difference if effect.ratio is None else log(effect.ratio)
    return 0 if not change else -1 if change > 0 else 1


# ---- wake-ups -----------------------------------------------------------------------------------


def _woken(
    labels: Sequence[str], rows: Sequence[Row], pair: Wakeups, pooled: Sequence[Effect]
) -> MainCase:
    column, against = labels[pair.other], labels[pair.first] if pair.first else None
    if pair.pool or not all(pair.rows):
        own = [MainEffect(effect=e, rows=_worst(rows, pair, e)) for e in pooled]
    else:
        (row,) = pair.rows[0]
        effects = [e for e in rows[row].effects if (e.column, e.against) == (column, against)]
        own = [MainEffect(effect=e, rows=(row, row)) for e in effects if e.part in _PARTS]
    own.sort(key=lambda entry: _PARTS.index(entry.effect.part))
    lost = {place for place, _ in pair.lost}
    return MainCase(
        column=column, against=against, kind=WOKEN,
        verdict=_verdict([entry.effect for entry in own], pair.first in lost, pair.other in lost),
        effects=own, lost=[Place(column=labels[c], row=row) for c, row in pair.lost],
        alone=[Place(column=labels[c], row=row) for c, row in pair.alone],
    )  # fmt: skip


def _worst(rows: Sequence[Row], pair: Wakeups, effect: Effect) -> tuple[int, int]:
    """Return the rows where the values that an effect compares are the largest of their columns.

    A column that missed nothing is beside the other in the row where that missed most.
    """
    name = "missed_share" if effect.part == "missed" else effect.statistic

    def value(place: int, column: int) -> tuple[float, float]:
        cell: Cell | None = rows[place].cells[column]
        number, maximum = getattr(cell, name, None), cell.max if cell else None
        return number or 0.0, maximum or 0.0  # the maximum where that statistic is not known

    def worst(places: Sequence[int], column: int) -> int:
        return max(places, key=lambda place: value(place, column))

    first, other = (
        worst(places, column)
        for places, column in zip(pair.rows, (pair.first, pair.other), strict=True)
    )
    if effect.part == "missed" and not value(first, pair.first)[0] and other in pair.rows[0]:
        return other, other
    if effect.part == "missed" and not value(other, pair.other)[0] and first in pair.rows[1]:
        return first, first
    return first, other


def _verdict(effects: Sequence[Effect], first_lost: bool, other_lost: bool) -> Verdict:
    """Return the verdict on worst wake-ups, ``effects`` being in the order of _PARTS."""
    verdict = _of_effects(effects)
    # Nothing is known of a system's worst but that it is no better than what was seen.
    seen_only = {"worse", "no difference"} if first_lost else set()
    seen_only |= {"better", "no difference"} if other_lost else set()
    return "inconclusive" if verdict in seen_only else verdict


def _of_effects(effects: Sequence[Effect]) -> Verdict:
    directions = {e.verdict for e in effects if e.verdict in _DIFFERENT}
    if len(directions) == 1:
        (verdict,) = directions
        against = 1 if verdict == "better" else -1
        open_ended = any(
            e.part == "missed" and e.verdict == "inconclusive"
            and against * (e.difference or 0.0) > LOST
            for e in effects
        )  # fmt: skip
        return "inconclusive" if open_ended else verdict
    if directions:
        first = effects[0]
        sure = first.part == "missed" and first.verdict in _DIFFERENT
        return first.verdict if sure else "inconclusive"
    same = bool(effects) and all(e.verdict == "no difference" for e in effects)
    return "no difference" if same else "inconclusive"


# ---- without wake-ups ---------------------------------------------------------------------------


def _foremost(rows: Sequence[Row], column: str, against: str | None) -> MainCase | None:
    """Return the case that differs most, else that which is nearest to a verdict, if any is.

    Where there is no difference in any, it is the one in which most is still possible.
    """
    effects = [
        (place, e)
        for place, row in enumerate(rows)
        for e in row.effects
        if (e.column, e.against) == (column, against)
    ]
    if differ := [(place, e) for place, e in effects if e.verdict in _DIFFERENT]:
        place, effect = max(differ, key=lambda entry: entry[1].weight)
        return _of_one(place, effect, "largest")
    if effects and all(e.verdict == "no difference" for _, e in effects):
        place, effect = max(effects, key=lambda entry: entry[1].possible or 0.0)
        return _of_one(place, effect, "nearest")
    candidates = [(p, e) for p, e in effects if e.ratio and e.verdict != "no difference"]
    if not candidates:
        return None
    if len({place for place, _ in candidates}) == 1:
        place, effect = min(
            candidates, key=lambda c: (not c[1].ci95, _NEAREST.index(c[1].part))
        )  # fmt: skip
    else:
        place, effect = max(candidates, key=lambda c: _apartness(c[1]))
    return _of_one(place, effect, "nearest")


def _of_one(place: int, effect: Effect, kind: Literal["largest", "nearest"]) -> MainCase:
    return MainCase(
        column=effect.column, against=effect.against, kind=kind, verdict=effect.verdict,
        effects=[MainEffect(effect=effect, rows=(place, place))],
    )  # fmt: skip


def _apartness(effect: Effect) -> float:
    """Return how far from equality an effect is, in halves of its interval."""
    ratio, ends = effect.ratio, effect.ci95
    if not ratio or not ends or min(ends) <= 0:
        return 0.0
    low, high = map(log, ends)
    return abs(log(ratio)) / ((high - low) / 2) if high > low else 0.0
