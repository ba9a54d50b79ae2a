"""What loads do to a case, in words.

Verdicts are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import NamedTuple

from rtstone.documents.comparison import SIGNS, Effect
from rtstone.documents.run import Distribution
from rtstone.report.parts.words import observed
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.stats.comparison.effects import UNKNOWN
from rtstone.stats.comparison.loads import LoadCell
from rtstone.stats.evaluate import RunEvaluation
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, difference, quantity, rounded

STRONG = 10.0  # ratio to the first load at which a cell has the strongest colour
SLIGHT = 0.1  # smaller differences are not shown on the terminal
RULE = (
    "that of rtstone compare for single runs: + better, - worse, = no difference, ? inconclusive, "
    "of missed activations if they differ, else of the tail, or of the median if the tail is "
    "inconclusive; with one measurement per load the "
    f"scatter is unknown, and only medians beyond a ratio of {1 + UNKNOWN:g} are called different: "
    "name the loads several times, or compare runs"
)


class LoadEffect(NamedTuple):
    """A case under a load: its samples, and how they compare with those under the first load."""

    load: str
    subjects: list[Subject]  # several if the case was repeated under it
    whole: Distribution
    effect: Effect | None  # of missed activations, tail or median

    @property
    def place(self) -> int:
        """The index of the first result in the run."""
        return self.subjects[0].place

    @property
    def unit(self) -> str:
        """The unit of the values."""
        return self.subjects[0].result.unit

    @property
    def observed(self) -> str | None:
        """The measured time in words, None if unknown."""
        spans = [observed(s.result) for s in self.subjects]
        return " and ".join(span for span in spans if span) or None

    @property
    def missed(self) -> int:
        """The activations that were missed, of what was required if something was."""
        results = [s.result for s in self.subjects]
        return sum((r.required.n if r.required else r.missed) or 0 for r in results)

    @property
    def word(self) -> str:
        """The verdict, empty for the first load."""
        return self.effect.verdict if self.effect else ""

    @property
    def verdict(self) -> str:
        """The verdict in words: ``- worse, p50 5.3 times``; empty for the first load."""
        effect = self.effect
        if effect is None:
            return ""
        verdict = f"{SIGNS[effect.verdict]} {effect.verdict}"
        if self._lost:
            return f"{verdict}, missed {difference(effect.difference or 0.0, '%')}"
        if effect.ratio is None:
            return verdict
        return f"{verdict}, {COLUMNS.get(effect.statistic, '')} {rounded(effect.ratio)} times"

    @property
    def _lost(self) -> bool:
        """Whether the effect is that of missed activations."""
        return self.effect is not None and self.effect.part == "missed"

    @property
    def changed(self) -> bool:
        """Whether it differs from that under the first load beyond doubt, by enough to report."""
        if self._lost:
            return self.word in ("better", "worse")
        ratio = self.effect.ratio if self.effect else None
        return self.word in ("better", "worse") and bool(ratio) and abs(log(ratio or 1)) > SLIGHT

    @property
    def strength(self) -> float:
        """The strength of the colour, from 0 to 1 at ``STRONG`` times the first load.

        It is 1 where missed activations differ.
        """
        if self._lost:
            return 1.0 if self.changed else 0.0
        ratio = self.effect.ratio if self.effect else None
        if not ratio or self.word not in ("better", "worse"):
            return 0.0
        return min(abs(log(ratio)) / log(STRONG), 1.0)


class CaseByLoad(NamedTuple):
    """A case with a cell for each load, None if it was not measured under it."""

    title: str
    statistic: str  # the one compared
    cells: list[LoadEffect | None]

    @property
    def missed_differ(self) -> bool:
        """Whether more activations were missed under one load than under another."""
        return len({cell.missed for cell in self.cells if cell}) > 1


class ByLoad(NamedTuple):
    """The cases that were measured under several loads."""

    loads: list[str]  # the first is what the others are compared with
    cases: list[CaseByLoad]


def by_load(evaluated: RunEvaluation) -> ByLoad | None:
    """Return the cases measured under several loads in words, None if there are none."""
    matrix = evaluated.by_load
    if matrix is None:
        return None
    subjects = subjects_of(evaluated.run)

    def worded(cell: LoadCell) -> LoadEffect:
        return LoadEffect(cell.load, [subjects[p] for p in cell.places], cell.whole, cell.effect)

    cases = []
    for case in matrix.cases:
        cells = [cell and worded(cell) for cell in case.cells]
        # The title of the first result, whatever its load.
        first = min((cell for cell in cells if cell), key=lambda cell: cell.place)
        cases.append(CaseByLoad(first.subjects[0].name.without_load, case.statistic, cells))
    return ByLoad(matrix.loads, cases)


def load_effects(evaluated: RunEvaluation) -> Iterator[str]:
    """Yield what loads do to cases for the terminal: one line per case that a load changes."""
    matrix = by_load(evaluated)
    if matrix is None:
        return
    changed = [
        case for case in matrix.cases
        if case.missed_differ or any(cell and cell.changed for cell in case.cells)
    ]  # fmt: skip
    for case in changed:
        texts = []
        for cell in filter(None, case.cells):
            value = quantity(getattr(cell.whole, case.statistic), cell.unit)
            text = f"{cell.load} {case.statistic} {value}"
            text += f" ({cell.verdict})" if cell.verdict else ""
            if cell.whole.max is not None:
                over = f" in {cell.observed}" if cell.observed else ""
                text += f", max {quantity(cell.whole.max, cell.unit)}{over}"
            text += f", missed {count(cell.missed)}" if case.missed_differ else ""
            texts.append(f"{text}, n {count(cell.whole.n)}")
        yield f"{case.title}: {'; '.join(texts)}"
    same = [case for case in matrix.cases if case not in changed]
    if same:
        unchanged = counted(len(same), "other case" if changed else "case")
        yield (
            f"no difference of medians shown between loads in {unchanged}: of single measurements "
            f"only medians beyond a ratio of {1 + UNKNOWN:g} are called different, and tails and "
            "maxima are not judged"
            if all(len(cell.subjects) == 1 for case in same for cell in filter(None, case.cells))
            else f"no difference shown between loads in {unchanged}"
        )
