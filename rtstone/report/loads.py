"""What loads do to a case: each case that a run took under several, with load none or the first.

Verdicts are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

from rtstone.model.comparison import SIGNS, Verdict
from rtstone.model.documents import Distribution, Run
from rtstone.model.loads import NONE
from rtstone.report.findings import Subject, seen
from rtstone.report.words import count, observed, quantity, rounded
from rtstone.stats.pool import pooled

APART, ALIKE = 0.10, 0.02  # from a ratio of 1: a difference beyond, and none within
STATISTICS = {"p99": "p99", "p50": "p50"}  # member, name: the first that all of a case have
STRONG = 10.0  # times the first load's: from there a cell has the fullest colour
RULE = (
    "by the samples of this run alone: + better or - worse where they differ by more than 10% and "
    "their 95% intervals do not overlap, = no difference within 2%, else ? inconclusive; how runs "
    "differ from each other is not in it, which rtstone compare weighs"
)


class Met(NamedTuple):
    """A case under a load: its samples, the ratio to the first load, and what that is worth."""

    load: str
    subjects: list[Subject]  # several if the case was repeated under it
    whole: Distribution
    ratio: float | None = None
    word: Verdict | None = None

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
    def verdict(self) -> str:
        """``- worse, 2.3 times``; nothing of the load that the others are compared with."""
        if self.word is None:
            return ""
        ratio = "" if self.ratio is None else f", {rounded(self.ratio)} times"
        return f"{SIGNS[self.word]} {self.word}{ratio}"

    @property
    def strength(self) -> float:
        """How much colour, from 0 to 1 at ``STRONG`` times the first load's."""
        if not self.ratio or self.ratio < 0 or self.word not in ("better", "worse"):
            return 0.0
        return min(abs(log(self.ratio)) / log(STRONG), 1.0)


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
    return ByLoad(loads, [_case(found, loads) for found in several])


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
    first = next(cells[load] for load in loads if load in cells)
    compared = {load: _against(cell, first, member) for load, cell in cells.items()}
    title = first.subjects[0].title
    return Case(title, member, [compared.get(load) for load in loads])


def _against(cell: Met, first: Met, member: str) -> Met:
    if cell is first:
        return cell
    own, base = (getattr(of.whole, member) for of in (cell, first))
    ratio = own / base if own is not None and base is not None and base > 0 else None
    return cell._replace(ratio=ratio, word=_word(cell, first, member, ratio))


def _word(cell: Met, first: Met, member: str, ratio: float | None) -> Verdict:
    own, base = _interval(cell, member), _interval(first, member)
    if own is None or base is None or ratio is None:
        return "inconclusive"
    if 1 - ALIKE <= ratio <= 1 + ALIKE:
        return "no difference"
    if own[0] > base[1] and ratio > 1 + APART:
        return "worse"
    return "better" if own[1] < base[0] and ratio < 1 - APART else "inconclusive"


def _interval(cell: Met, member: str) -> tuple[float, float] | None:
    """The 95% interval of the samples; of several results from the least to the largest end."""
    found = [s.result.ci95.get(member) for s in cell.subjects]
    known = [ends for ends in found if ends]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def lines(run: Run) -> Iterator[str]:
    """The same for the terminal: a line for each case."""
    matrix = by_load(run)
    if matrix is None:
        return
    yield f"against load {matrix.loads[0]}, {RULE}:"
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
