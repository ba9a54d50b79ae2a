"""What loads do to a case: each case that a run took under several, with load none or the first.

Verdicts are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

from rtstone.assemble.pool import pooled
from rtstone.documents.comparison import SIGNS, Effect
from rtstone.documents.plan import NONE
from rtstone.documents.run import Distribution, Run
from rtstone.report.parts.words import STATISTICS as NAMES
from rtstone.report.parts.words import observed
from rtstone.report.run.findings import Subject, seen
from rtstone.stats.comparison import verdicts
from rtstone.stats.comparison.direction import SMALLER, direction
from rtstone.stats.comparison.effects import UNKNOWN
from rtstone.stats.comparison.judge import side
from rtstone.stats.comparison.systems import System
from rtstone.units import count, quantity, rounded

STATISTICS = {"p99": "p99", "p50": "p50"}  # member, name: the first that all of a case have
STRONG = 10.0  # times the first load's: from there a cell has the fullest colour
RULE = (
    "that of rtstone compare, as between single runs: + better, - worse, = no difference, "
    "? inconclusive, of the median where the tail tells nothing; measured once under a load, only "
    f"medians beyond a ratio of {1 + UNKNOWN:g} are called different, for nothing tells how far it "
    "would scatter: name the loads several times, or compare runs"
)


class Met(NamedTuple):
    """A case under a load: its samples, and how they compare with those under the first load."""

    load: str
    subjects: list[Subject]  # several if the case was repeated under it
    whole: Distribution
    effect: Effect | None = None  # the one that tells most: tail, or median

    @property
    def place(self) -> int:
        """Of the first result, in the run."""
        return self.subjects[0].place

    @property
    def unit(self) -> str:
        """Of the values."""
        return self.subjects[0].result.unit

    @property
    def observed(self) -> str | None:
        """How long was measured."""
        spans = [observed(s.result) for s in self.subjects]
        return " and ".join(span for span in spans if span) or None

    @property
    def word(self) -> str:
        """The verdict, empty for the load that the others are compared with."""
        return self.effect.verdict if self.effect else ""

    @property
    def verdict(self) -> str:
        """``- worse, p50 5.3 times``; nothing of the load that the others are compared with."""
        effect = self.effect
        if effect is None:
            return ""
        told = f"{SIGNS[effect.verdict]} {effect.verdict}"
        if effect.ratio is None:
            return told
        return f"{told}, {NAMES.get(effect.statistic, '')} {rounded(effect.ratio)} times"

    @property
    def strength(self) -> float:
        """How much colour, from 0 to 1 at ``STRONG`` times the first load's."""
        ratio = self.effect.ratio if self.effect else None
        if not ratio or self.word not in ("better", "worse"):
            return 0.0
        return min(abs(log(ratio)) / log(STRONG), 1.0)


class Case(NamedTuple):
    """A case with what it did under each load, in their order; None: not measured under it."""

    title: str
    statistic: str  # the member that is compared
    cells: list[Met | None]


class ByLoad(NamedTuple):
    """The cases that were measured under several loads."""

    loads: list[str]  # the first is what the others are compared with
    cases: list[Case]


def by_load(run: Run) -> ByLoad | None:
    """Bench by load, None if no case was measured under several."""
    cases: dict[tuple[str, str, str, str], dict[str, list[Subject]]] = {}
    for subject in seen(run).subjects:
        r = subject.result
        if r.n:
            key = (r.bench, r.series, str(sorted(r.params.items())), r.unit)
            cases.setdefault(key, {}).setdefault(r.load, []).append(subject)
    several = [found for found in cases.values() if len(found) > 1]
    if not several:
        return None
    loads = _order(load for found in several for load in found)
    return ByLoad(loads, _judged(run, [_case(found, loads) for found in several]))


def _order(loads: Iterable[str]) -> list[str]:
    """As they first occur, with load none first."""
    return sorted(dict.fromkeys(loads), key=lambda load: load != NONE)


def _case(found: dict[str, list[Subject]], loads: list[str]) -> Case:
    cells = {
        load: Met(load, subjects, pooled([s.result for s in subjects]))
        for load, subjects in found.items()
    }
    member = next(
        (m for m in STATISTICS if all(getattr(c.whole, m) is not None for c in cells.values())),
        "p50",
    )
    title = next(iter(cells.values())).subjects[0].title
    return Case(title, member, [cells.get(load) for load in loads])


def _judged(run: Run, cases: list[Case]) -> list[Case]:
    """With the verdicts of a comparison in which each load is a system."""
    system = System(run.target.name, [run])
    asked = []
    for row, case in enumerate(cases):
        first, *others = [cell for cell in case.cells if cell]
        better = direction(None, first.unit) or SMALLER
        sides = {
            cell.load: side(system, [[s.result] for s in cell.subjects], cell.load)
            for cell in (first, *others)
        }
        asked += [
            verdicts.Case(row, o.load, None, better, sides[first.load], sides[o.load], False, [])
            for o in others
        ]
    effects, _ = verdicts.judged(asked)
    return [
        case._replace(cells=[cell and _told(cell, effects[row]) for cell in case.cells])
        for row, case in enumerate(cases)
    ]


def _told(cell: Met, effects: Iterable[Effect]) -> Met:
    """With the effect that is conclusive, the tail's before the median's."""
    own = [effect for effect in effects if effect.column == cell.load]

    def order(effect: Effect) -> tuple[bool, bool, bool]:
        return effect.verdict == "inconclusive", effect.ratio is None, effect.part != "tail"

    return cell._replace(effect=min(own, key=order, default=None))


def lines(run: Run) -> Iterator[str]:
    """The same for the terminal: a line for each case."""
    matrix = by_load(run)
    if matrix is None:
        return
    yield f"against load {matrix.loads[0]}; the verdict is {RULE}:"
    for case in matrix.cases:
        yield f"{case.title}: {'; '.join(_cell(cell, case) for cell in case.cells if cell)}"


def _cell(cell: Met, case: Case) -> str:
    value = quantity(getattr(cell.whole, case.statistic), cell.unit)
    verdict = f" ({cell.verdict})" if cell.verdict else ""
    told = f"{cell.load} {STATISTICS[case.statistic]} {value}{verdict}"
    if cell.whole.max is None:
        return f"{told}, n {count(cell.whole.n)}"
    over = f" in {cell.observed}" if cell.observed else ""
    return f"{told}, max {quantity(cell.whole.max, cell.unit)}{over}, n {count(cell.whole.n)}"
