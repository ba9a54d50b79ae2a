"""The words of a comparison: names of its rows, numbers, differences and effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rtstone.documents.case_name import Case, CaseName, case_names
from rtstone.documents.comparison import (
    SIGNS,
    Cell,
    Column,
    Comparison,
    Difference,
    Effect,
    Row,
    Verdict,
)
from rtstone.documents.imported import PLACE
from rtstone.documents.run import NO_REASON
from rtstone.report.parts.console import figure
from rtstone.report.parts.words import WITH_MISSED
from rtstone.stats.comparison.effects import NO_FLOOR
from rtstone.stats.comparison.verdicts import MISSED
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, difference, relative_change, rounded, seconds

INSTRUCTIONS = "instructions"
NUMBERS = ("min", "p50", "max")
NOT_RUN = "not run"
_UNBOUNDED = 1000.0  # an end of an interval that is so many times the ratio says nothing
TIMES = {"ns": ("longer", "shorter"), INSTRUCTIONS: ("more", "fewer")}
OTHERS = ("larger", "smaller")
_PARTS = {  # of the distribution, in a sentence
    "median": "the median", "tail": "the tail", "maximum": "the maximum",
    MISSED: "missed activations", "figure": "figures",
}  # fmt: skip
_TWICE = 2.0  # ratios from here, or below the inverse, are shown as ratios, not in %
_TIMES = 10.0  # ratios from here on are multiples elsewhere
_NAMED = 3  # benches named in a difference, and runs named in a column
_EXACT = 1e5  # fewer instructions are shown exactly


def row_names(comparison: Comparison) -> list[CaseName]:
    """Return the names of the rows; where a row is of a figure, the series is followed by it."""
    cases: list[Case] = [
        (row.bench, row.params, " ".join(filter(None, (row.series, row.figure))), row.load)
        for row in comparison.rows
    ]
    return case_names(cases, comparison.benches)


def loads(comparison: Comparison) -> list[str]:
    """Return the loads that occur, in order."""
    return list(dict.fromkeys(row.load for row in comparison.rows))


def imported(comparison: Comparison) -> list[str]:
    """Return the labels of the columns that another tool measured."""
    return [column.label for column in comparison.columns if column.target.startswith(PLACE)]


def difference_text(difference: Difference) -> str:
    """Return a difference in words: ``shift: 4 on A and B, 7 on C``."""
    values = (f"{held.value} on {_and(held.columns)}" for held in difference.values)
    benches = difference.benches
    where = ""
    if benches:
        rest = f" and {len(benches) - _NAMED} more" if len(benches) > _NAMED else ""
        where = f" (in {', '.join(benches[:_NAMED])}{rest})"
    return f"{difference.aspect}: {', '.join(values)}{where}"


def _and(labels: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def runs_text(column: Column) -> str:
    """Return number, seeds and ids of a column's runs, after the address of what has a name."""
    several = len(column.runs) > _NAMED
    ids = f"{column.runs[0]} to {column.runs[-1]}" if several else ", ".join(column.runs)
    seeds = f", {seeds_text(column.seeds)}"
    address = f"{column.target}, " if column.called else ""
    return f"{address}{counted(len(column.runs), 'run')}{seeds if column.seeds else ''} ({ids})"


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds in words: ``seed 1``, ``seeds 1, 2``."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


# ---- numbers ------------------------------------------------------------------------------------


def number_text(value: float | None, unit: str, bucket: float = 0.0) -> str:
    """Return a value; instructions without their unit, which is in the table's heading.

    ``bucket``: the width of the buckets of another tool.
    """
    exact = value is not None and abs(value) < _EXACT and unit == INSTRUCTIONS
    if value is not None and exact and (value == int(value) or abs(value) >= 1000):
        return count(value)
    return figure(value, unit, bucket).removesuffix("instr").rstrip()


def with_missed(comparison: Comparison) -> str:
    """Return that numbers include what was missed, empty if none of them does."""
    cells = (cell for row in comparison.rows for cell in row.cells if cell)
    corrected = any(cell.corrected for cell in cells)
    return WITH_MISSED if corrected else ""


def numbers(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the numbers of a cell, with missed activations where any are counted."""
    cells = [cell for row in comparison.rows for cell in row.cells if cell]
    counted_too = any(cell.missed is not None for cell in cells)
    return (*NUMBERS, MISSED) if counted_too else NUMBERS


def number_of(cell: Cell, name: str, unit: str) -> str:
    """Return a number of a cell; missed activations with their share: ``300 (30%)``."""
    value: float | None = getattr(cell, name)
    if name != MISSED:
        return number_text(value, unit, cell.bucket_ns)
    share = f" ({share_text(cell.missed_share or 0.0)})" if value else ""
    return "-" if value is None else f"{count(value)}{share}"


def samples_text(cell: Cell) -> str:
    """Return how many samples there are: of how many that were due if percentiles include these.

    ``884 of 1 000``
    """
    due = f" of {count(cell.n + (cell.missed or 0))}" if cell.corrected else ""
    return f"{count(cell.n)}{due}"


def share_text(percent: float) -> str:
    """Return a share of activations: ``30%``, ``0.012%``."""
    return f"{percent:.3g}%" if percent < 10 else f"{percent:.0f}%"


class Entry(NamedTuple):
    """What a table has of a cell: its numbers, or a text instead.

    ``values``: the numbers, exactly.  ``note``: the number of the reason why they are not valid.
    """

    texts: list[str]
    values: list[float | None]
    status: str
    note: int | None

    @property
    def marked(self) -> list[str]:
        """The texts, the last of them with the number of the reason."""
        *texts, last = self.texts
        return [*texts, f"{last} [{self.note}]" if self.note else last]


class Line(NamedTuple):
    """A row of the table; number of samples and measured time of each system if they differ."""

    name: CaseName
    n: str
    time: str
    entries: list[Entry]


def table(comparison: Comparison, names: Sequence[CaseName]) -> tuple[list[Line], list[str]]:
    """Return the rows of the table, and why numbers are not valid: ``failed on A and B: why``."""
    labels: dict[tuple[str, str], list[str]] = {}  # of columns, by status and reason
    members = numbers(comparison)

    def entry(row: Row, label: str, cell: Cell | None) -> Entry:
        if cell is None:
            return Entry([NOT_RUN], [], "absent", None)
        note = None
        if cell.status != "ok":
            reason = (cell.status, cell.reason or NO_REASON)
            columns = labels.setdefault(reason, [])
            columns += [] if label in columns else [label]
            note = list(labels).index(reason) + 1
        if row.figure is not None and cell.runs:
            low, high = (number_text(value, row.unit) for value in (cell.min, cell.max))
            text = low if cell.min == cell.max else f"{low} to {high}"
            return Entry([text], [], cell.status, note)
        if not cell.n and not cell.missed:
            return Entry([cell.status], [], cell.status, note)
        texts = [number_of(cell, name, row.unit) for name in members]
        return Entry(texts, [getattr(cell, name) for name in members], cell.status, note)

    lines = []
    for row, name in zip(comparison.rows, names, strict=True):
        measured = [cell for cell in row.cells if cell and (cell.n or cell.missed)]
        times = [None if c.section_s is None else seconds(c.section_s) for c in measured]
        n = _shared(map(samples_text, measured)) if measured else ""
        time = _shared(times) if any(times) else ""
        pairs = zip(comparison.columns, row.cells, strict=True)
        lines.append(Line(name, n, time, [entry(row, c.label, cell) for c, cell in pairs]))
    reasons = labels.items()
    return lines, [f"{status} on {_and(columns)}: {why}" for (status, why), columns in reasons]


def _shared(values: Iterable[str | None]) -> str:
    """Return the value that all systems share, or each one's in the order of the columns."""
    each = ["-" if value is None else value for value in values]
    return each[0] if len(set(each)) == 1 else "/".join(each)


# ---- effects ------------------------------------------------------------------------------------


def bounded(end: float, ratio: float) -> bool:
    """Return whether an end of a ratio's interval says anything."""
    return ratio / _UNBOUNDED < end < ratio * _UNBOUNDED


def twofold(ratio: float) -> bool:
    """Return True if a ratio is shown as such, not in %."""
    return not 1 / _TWICE < ratio < _TWICE


def percent(ratio: float) -> str:
    """Return the change that a ratio is in %, however large: ``+811%``, ``-90%``."""
    if 1 / _TWICE <= ratio < _TIMES:
        return relative_change(ratio)
    return f"{'+' if ratio > 1 else ''}{count(100 * (ratio - 1))}%"


class Judged(NamedTuple):
    """An effect with the name of its row, the row, and its number."""

    name: CaseName
    effect: Effect
    row: Row
    place: int

    @property
    def system(self) -> str:
        """The column of the effect, and the one it is compared with if not the first."""
        effect = self.effect
        return effect.column + (f" against {effect.against}" if effect.against else "")

    @property
    def verdict(self) -> str:
        """The verdict with its sign: ``+ better``."""
        return f"{SIGNS[self.effect.verdict]} {self.effect.verdict}"

    @property
    def statistic(self) -> str:
        """The label of the statistic: ``p99.9``, ``missed``; empty for a figure."""
        missed = self.effect.part == "missed"
        return MISSED if missed else COLUMNS.get(self.effect.statistic, "")

    @property
    def change(self) -> str:
        """The change: ``+12%``, ``6.1 times longer`` or, without a ratio, ``+1.20 ns``.

        Of missed activations it is ``+12 points``.
        """
        effect = self.effect
        if effect.ratio is None:
            certain = effect.difference is not None
            return difference(effect.difference or 0.0, self._unit) if certain else ""
        if not twofold(effect.ratio):
            return relative_change(effect.ratio)
        longer, shorter = TIMES.get(self.row.unit, OTHERS)
        way = longer if effect.ratio > 1 else shorter
        return f"{rounded(max(effect.ratio, 1 / effect.ratio))} times {way}"

    @property
    def interval(self) -> str:
        """The interval of the change, in its terms: ``[+8%, +16%]``; ``-``: unbounded.

        It is empty if the numbers repeat exactly.
        """
        effect, ends = self.effect, list[str]()
        if effect.basis == "exact":
            return ""
        if effect.ci95 and effect.ratio:
            ratio = effect.ratio
            for end in effect.ci95:
                if not bounded(end, ratio):
                    ends.append("-")
                elif not twofold(ratio):
                    ends.append(percent(end))
                else:
                    ends.append(rounded(end if ratio > 1 else 1 / end))
            if twofold(ratio) and ratio < 1:  # of the inverse
                ends.reverse()
        elif effect.difference_ci95:
            ends = [difference(end, self._unit) for end in effect.difference_ci95]
        return f"[{', '.join(ends)}]" if ends else ""

    @property
    def _unit(self) -> str:
        return "%" if self.effect.part == "missed" else self.row.unit

    @property
    def reason(self) -> str:
        """Why there is no verdict, about how many samples are missing, and what is excluded."""
        effect, missing = self.effect, ""
        if effect.missing:
            number = count(float(f"{effect.missing:.2g}"))
            missing = f"{number} more sample{'s' * (effect.missing > 1)}"
        text = ": ".join(filter(None, (effect.reason, missing)))
        if effect.within is None:
            return text
        return f"no difference above {100 * effect.within:.2g}%; {text}"

    @property
    def part(self) -> str:
        """The part of the distribution: ``tail p99.9``; "figure" without samples."""
        if self.effect.part == "missed":
            return self.statistic
        return f"{self.effect.part} {self.statistic}" if self.statistic else "figure"

    @property
    def floor(self) -> str:
        """The noise floor of the ratio."""
        return f"{rounded(100 * self.effect.floor)}%" if self.effect.floor else ""

    @property
    def weight(self) -> float:
        """The size of the effect, for sorting: missed activations before all ratios."""
        return self.effect.weight


def by_part(effects: Sequence[Judged], verdict: Verdict) -> str:
    """Return in which parts effects have a verdict, and of how many cases: those with most first.

    ``the median (3 of 3 cases), missed activations (1 of 2)``.
    """
    pairs = [(_PARTS.get(e.part.partition(" ")[0], e.part), e.effect.verdict) for e in effects]
    parts = Counter(part for part, _ in pairs)
    verdicts = Counter(part for part, each in pairs if each == verdict)
    texts = list[str]()
    for part, number in verdicts.most_common():
        cases = counted(parts[part], "case") if not texts else str(parts[part])
        texts.append(f"{part} ({number} of {cases})")
    return ", ".join(texts)


def amount(ratio: float, unit: str) -> str:
    """Return a ratio in words: ``1.0% slower``."""
    rising, falling = ("slower", "faster") if unit in TIMES else OTHERS
    way = rising if ratio >= 1 else falling
    if twofold(ratio):
        return f"{rounded(max(ratio, 1 / ratio))} times {way}"
    return f"{relative_change(ratio).lstrip('+-')} {way}"


def estimate(judged: Judged, differs: str, equals: str, where: str = "") -> str:
    """Return an estimate, what is possible, what is excluded, and what would settle the rest.

    ``1.0% slower at p99; between 46% faster and 91% slower is possible; about 45 pairs of runs
    taken in turn would settle it``.  ``differs``: has {} for the amount; ``equals``: instead of it
    if there is none.  ``where``: follows the statistic.
    """
    effect, unit = judged.effect, judged.row.unit
    ratio = effect.ratio or 1.0
    text = equals if ratio == 1 else differs.format(amount(ratio, unit))
    at = f" at {judged.statistic}{where}" if judged.statistic or where else ""
    least = why = ""
    if effect.verdict != "no difference":
        least = "" if effect.within is None else f"no difference above {100 * effect.within:.2g}%"
        why = effect.reason or ""
        if why.startswith("about "):
            why = f"{why} would settle it"
        elif why == NO_FLOOR:
            why = "how far runs of one system differ is not known"
        elif effect.pairs:
            why = f"about {count(effect.pairs)} pairs of runs taken in turn would settle it"
    return "; ".join(filter(None, (f"{text}{at}", _possible(effect, unit), least, why)))


def _possible(effect: Effect, unit: str) -> str:
    """Return the interval in words: ``between 46% faster and 91% slower is possible``."""
    if effect.floor is None or not effect.ci95:  # it is of the samples of single runs alone
        return ""
    ratio = effect.ratio or 1.0
    if not all(bounded(end, ratio) for end in effect.ci95):
        return "how far it may be off is not known"
    if effect.ci95 == (1.0, 1.0):
        return ""
    low, high = (amount(end, unit) for end in effect.ci95)
    return f"between {low} and {high} is possible"


def judged(comparison: Comparison, names: Sequence[CaseName]) -> list[Judged]:
    """Return all effects, row by row."""
    rows = enumerate(zip(comparison.rows, names, strict=True))
    return [Judged(name, e, row, place) for place, (row, name) in rows for e in row.effects]
