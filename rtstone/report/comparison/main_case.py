"""What decides between two systems, in a sentence, and the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import (
    WOKEN,
    Cell,
    Comparison,
    Effect,
    MainCase,
    MainEffect,
    Place,
    Verdict,
)
from rtstone.documents.plan import NONE
from rtstone.documents.run import NO_REASON
from rtstone.report.comparison import words
from rtstone.report.comparison.words import Judged, number_of, share_text
from rtstone.report.parts.model import Answer
from rtstone.report.parts.words import Grade
from rtstone.results import flags
from rtstone.stats.comparison.effects import LOST
from rtstone.summary import COLUMNS, LABELS, PERCENTILES
from rtstone.units import count, quantity, seconds

_NUMBERS = ("p99", "p999", "max", "missed")  # of the numbers that a sentence rests on
_THAN: dict[Verdict, str] = {
    "worse": "worse than", "better": "better than", "no difference": "no different from",
    "inconclusive": "not certainly different from",
}  # fmt: skip
_GRADES: dict[Verdict, Grade] = {
    "worse": "bad", "better": "good", "no difference": "info", "inconclusive": "info",
}  # fmt: skip


class Sentences:
    """What decides between each two systems of a comparison, in words."""

    def __init__(self, comparison: Comparison, names: Sequence[CaseName]) -> None:
        self._comparison, self._names = comparison, names
        self._columns = {column.label: n for n, column in enumerate(comparison.columns)}
        self._first = comparison.columns[0].label

    def best(self) -> Answer | None:
        """Return which of more than two systems is best, and whether beyond doubt; None of two."""
        case = next((case for case in self._comparison.main if case.final), None)
        if case is None:
            return None
        best, number = case.final, len(self._comparison.columns)
        second = case.column if case.column != best else case.against or self._first
        if case.verdict in ("better", "worse"):
            where = " in what both ran" if case.alone else ", the second"
            text = f"Best of {number}: {best}, certainly better than {second}{where}"
            return Answer(f"{text}{self._seeds(case)}{self._size(case)}.", "good")
        if case.verdict == "no difference":
            return Answer(f"Best of {number}: {best} and {second}, with no difference.", "info")
        text = f"Best of {number}, as far as seen: {best}, not certainly better than {second}."
        return Answer(text, "info")

    def _seeds(self, case: MainCase) -> str:
        """Return which seeds a verdict holds for: ``, for seed 1``; empty of any other.

        Numbers of one seed repeat exactly, so that its verdict is certain, and says nothing of
        another seed.  Of several on each side the verdict is from their scatter.
        """
        labels = {case.column, case.against or self._first}
        seeds = {s for c in self._comparison.columns if c.label in labels for s in c.seeds}
        sure = [e.effect for e in case.effects if e.effect.verdict != "inconclusive"]
        if not seeds or not sure or any(effect.basis != "exact" for effect in sure):
            return ""
        return f", for {words.seeds_text(sorted(seeds))}"

    def _size(self, case: MainCase) -> str:
        """Return how many samples each of its cases has, and in what time: ``(n 100 each)``."""
        cells = [cell for _, _, cell in self._cells(case)]
        if not cells:
            return ""
        numbers = [cell.n for cell in cells]
        low, high = count(min(numbers)), count(max(numbers))
        n = f"n {low} each" if low == high else f"n {low} to {high}"
        spans = sorted({cell.section_s for cell in cells if cell.section_s is not None})
        ends = dict.fromkeys(map(seconds, (spans[0], spans[-1]))) if spans else {}
        span = f" in {' to '.join(ends)}" if ends else ""
        return f" ({n}{span})"

    def answer(self, case: MainCase) -> Answer:
        """Return what decides between two systems, and the verdict on that."""
        other, grade = self._other(case), self._grade(case)
        if case.kind == WOKEN:
            text, notes = self._woken(case, other)
            return Answer(" ".join(filter(None, (text, self._contrary(case)))), grade, notes)
        (entry,) = case.effects
        if case.verdict == "no difference":
            text = f"shows no difference from {other}{self._excluded(entry)}"
        elif case.kind == "nearest":
            text = self._nearest(case, entry, other)
        else:
            name = self._names[entry.rows[0]]
            text = f"differs most from {other} in {name}: {self._difference(entry)}"
        return Answer(f"{case.column} {text}.", grade)

    def _grade(self, case: MainCase) -> Grade:
        """Return the grade of the verdict, if no effect on a case says the contrary."""
        verdicts = {effect.verdict for effect in self._effects(case)}
        if case.kind == WOKEN:
            verdicts.add(case.verdict)
        return "info" if {"better", "worse"} <= verdicts else _GRADES[case.verdict]

    def _effects(self, case: MainCase) -> list[Effect]:
        """Return the effects on the cases of two systems."""
        return [
            e for row in self._comparison.rows for e in row.effects
            if (e.column, e.against) == (case.column, case.against)
        ]  # fmt: skip

    def _contrary(self, case: MainCase) -> str:
        """Return in what cases say the contrary of the verdict, empty if none does."""
        contraries: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
        contrary = contraries.get(case.verdict)
        judged = [
            e for e in words.judged(self._comparison, self._names)
            if (e.effect.column, e.effect.against) == (case.column, case.against)
        ]  # fmt: skip
        if contrary is None or not any(e.effect.verdict == contrary for e in judged):
            return ""
        return f"But it is {contrary} in {words.by_part(judged, contrary)}."

    def numbers(self) -> list[str]:
        """Return the numbers that sentences on worst wake-ups rest on: a line for each of these.

        ``linux-6.1, load heavy: n 101 in 100 ms, p99 -, p99.9 -, max 1.20 ms, missed 2 (1.9%)``
        """
        places = {
            (column, row): cell
            for case in self._comparison.main if case.kind == WOKEN
            for column, row, cell in self._cells(case)
        }  # fmt: skip
        return [self._line(*place, places[place]) for place in sorted(places)]

    def _cells(self, case: MainCase) -> Iterator[tuple[int, int, Cell]]:
        """Yield the cells that a verdict on worst wake-ups rests on, with column and row."""
        first = self._columns[case.against or self._first]
        for entry in case.effects:
            for column, row in product((first, self._columns[case.column]), entry.rows):
                if cell := self._comparison.rows[row].cells[column]:
                    yield column, row, cell

    def _line(self, column: int, row: int, cell: Cell) -> str:
        unit = self._comparison.rows[row].unit
        time = "" if cell.section_s is None else f" in {seconds(cell.section_s)}"
        pieces = [f"n {count(cell.n)}{time}"]
        numbers = [name for name in _NUMBERS if getattr(cell, name) is not None]
        texts = [f"{COLUMNS.get(name, name)} {number_of(cell, name, unit)}" for name in numbers]
        tails = sum(name in PERCENTILES for name in numbers)
        if cell.corrected and tails:
            texts[:tails] = [f"{' and '.join(texts[:tails])} with the missed ones"]
        pieces += texts
        if flag := flags.spoilt(cell.flags):
            pieces.append(flag.spoils)
        label = self._comparison.columns[column].label
        return f"{label}, {self._names[row].with_load}: {', '.join(pieces)}"

    # ---- wake-ups -------------------------------------------------------------------------------

    def _woken(self, case: MainCase, other: str) -> tuple[str, list[str]]:
        """Return the verdict with what decides first and what was lost, and what else there is."""
        rows = {row for entry in case.effects for row in entry.rows}
        alike = len(rows) == 1
        where = f", {self._where(next(iter(rows)))}" if alike else ""
        than = _THAN[case.verdict]
        text = f"The worst wake-ups of {case.column} are {than} those of {other}{where}"
        text += "" if case.verdict == "inconclusive" else self._seeds(case)
        phrases: list[str] = []
        for entry in case.effects:
            same = None if phrases else self._alike(case, entry)
            for each in filter(None, (same, entry)):
                if phrase := self._phrase(case, each):
                    placed = alike or len(set(each.rows)) > 1 or phrase == each.effect.reason
                    phrases.append(phrase if placed else f"{phrase} ({self._where(each.rows[0])})")
        phrases = list(dict.fromkeys(phrases))
        if rows and self._none_missed(case):
            phrases.append("none missed on either")
        text = f"{text}: {phrases[0]}." if phrases else f"{text}."
        notes = [f"Also: {'; '.join(phrases[1:])}."] if phrases[1:] else []
        return " ".join([text, *self._lost(case)]), [*notes, *self._alone(case)]

    def _phrase(self, case: MainCase, entry: MainEffect) -> str:
        """Return what an effect says, empty if that is nothing beside the others."""
        effect = entry.effect
        decided = case.verdict in ("better", "worse")
        if effect.part == "missed":
            small = abs(effect.difference or 0.0) <= LOST
            return "" if effect.verdict == "inconclusive" and small else self._difference(entry)
        if effect.verdict in ("better", "worse", "no difference"):
            return self._difference(entry)
        if effect.ratio is None:
            return "" if decided else effect.reason or ""
        if decided:
            return f"{self._difference(entry)}, which is not certain"
        return words.estimate(self._judged(entry), "{}", "equal")

    def _none_missed(self, case: MainCase) -> bool:
        first = self._columns[case.against or self._first]
        cells = [
            self._comparison.rows[row].cells[column]
            for entry in case.effects
            for column, row in zip((first, self._columns[case.column]), entry.rows, strict=True)
        ]
        return all(cell is not None and cell.missed == 0 for cell in cells)

    def _lost(self, case: MainCase) -> Iterator[str]:
        """Yield what was lost, so that the worst of a system is not known."""
        for column in dict.fromkeys(place.column for place in case.lost):
            places = [place for place in case.lost if place.column == column]
            cell = self._cell(places[0])
            rest = f", and {len(places) - 1} more" if len(places) > 1 else ""
            yield (
                f"{column} lost {self._names[places[0].row].with_load} ({cell.status}: "
                f"{cell.reason or NO_REASON}){rest}: its worst is not known."
            )

    def _alone(self, case: MainCase) -> Iterator[str]:
        """Yield what is not considered."""
        for column in dict.fromkeys(place.column for place in case.alone):
            names = [self._names[p.row].with_load for p in case.alone if p.column == column]
            rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
            pair = (case.against or self._first, case.column)
            other = next(label for label in pair if label != column)
            yield f"Not considered, as {other} did not run it: {names[0]}{rest}."

    def _cell(self, place: Place) -> Cell:
        cell = self._comparison.rows[place.row].cells[self._columns[place.column]]
        assert cell
        return cell

    # ---- effects --------------------------------------------------------------------------------

    def _alike(self, case: MainCase, entry: MainEffect) -> MainEffect | None:
        """Return the effect under the load that is the worst of both systems, None without one.

        Where each has its worst under a load of its own, this is the same load for both.  What is
        worst of both is worst of one, so that the other is no further from it at its own worst.
        Rows that differ in more than the load, as in the CPU, have none: of the better system its
        worst would be hidden.
        """
        first, other = (self._names[row].without_load for row in entry.rows)
        if entry.rows[0] == entry.rows[1] or first != other:
            return None
        columns = (self._columns[case.against or self._first], self._columns[case.column])

        def value(place: tuple[int, int]) -> float:
            cell = self._comparison.rows[place[1]].cells[place[0]]
            return getattr(cell, entry.effect.statistic, None) or 0.0

        row = max(zip(columns, entry.rows, strict=True), key=value)[1]
        return next((
            MainEffect(effect=effect, rows=(row, row))
            for effect in self._comparison.rows[row].effects
            if (effect.column, effect.against) == (case.column, case.against)
            and (effect.part, effect.statistic) == (entry.effect.part, entry.effect.statistic)
            and effect.verdict == entry.effect.verdict
        ), None)  # fmt: skip

    def _difference(self, entry: MainEffect) -> str:
        """Return a difference with both values: ``p99.9 1.60 ms against 78.1 µs, 20.5 times …``."""
        effect = entry.effect
        first, other = self._values(entry)
        judged = self._judged(entry)
        if effect.part == "missed":
            sure = effect.verdict != "inconclusive"
            doubt = "" if sure else f" (not certain: {effect.reason})"
            return f"missed {other} of its activations against {first}{doubt}"
        change = " ".join(filter(None, (judged.change, judged.interval)))
        both = f"{other} against {first}" if first and other else ""
        name = LABELS.get(effect.statistic, "")
        return f"{name} {', '.join(filter(None, (both, change)))}".strip()

    def _values(self, entry: MainEffect) -> tuple[str, str]:
        """Return both values in words, with the loads if these differ; empty if unknown."""
        effect, rows = entry.effect, entry.rows
        unit = self._comparison.rows[rows[0]].unit
        values: Sequence[float | None] = effect.values or self._of_cells(entry)
        texts = []
        for value, row in zip(values, rows, strict=True):
            if effect.part == "missed":
                text = share_text(value) if value else "none"
            else:
                text = "" if value is None else quantity(value, unit)
            texts.append(f"{text} ({self._where(row)})" if text and rows[0] != rows[1] else text)
        return texts[0], texts[1]

    def _of_cells(self, entry: MainEffect) -> list[float | None]:
        effect, row = entry.effect, self._comparison.rows[entry.rows[0]]
        labels = (effect.against or self._first, effect.column)
        name = "min" if effect.statistic == "value" else effect.statistic
        return [getattr(row.cells[self._columns[label]], name, None) for label in labels]

    def _excluded(self, entry: MainEffect) -> str:
        """Return the largest difference that is possible, empty if numbers are equal."""
        judged = self._judged(entry)
        most = judged.effect.possible
        if not most:
            return ""
        at = f"{judged.statistic} of {judged.name}".removeprefix(" of ")
        return f": at most {100 * most:.2g}% is possible ({at})"

    def _nearest(self, case: MainCase, entry: MainEffect, other: str) -> str:
        judged = self._judged(entry)
        several = len({
            row for row, r in enumerate(self._comparison.rows)
            if any((e.column, e.against) == (case.column, case.against) for e in r.effects)
        }) > 1  # fmt: skip
        where = f" of {judged.name}, which is nearest to a verdict" if several else ""
        return words.estimate(judged, f"is {{}} than {other}", f"equals {other}", where)

    def _judged(self, entry: MainEffect) -> Judged:
        row = entry.rows[0]
        return Judged(self._names[row], entry.effect, self._comparison.rows[row], row)

    def _where(self, row: int) -> str:
        """Return the load of a wake-up, with its name if there are others."""
        name = self._names[row]
        bench = [n for n in self._names if n.bench == name.bench]
        if len({n.without_load for n in bench}) > 1:
            return name.with_load
        return "without load" if name.load == NONE else f"load {name.load}"

    def _other(self, case: MainCase) -> str:
        if case.against is None:
            return self._first
        beside_first = any(
            other.against is None and other.kind == case.kind and other.column == case.column
            for other in self._comparison.main
        )
        return case.against if beside_first else f"{case.against} (in what {self._first} lacks)"
