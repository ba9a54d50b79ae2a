"""What stands out in a run, in words: one sentence for each kind of finding.

Words are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rtstone.documents.run import Result, Run
from rtstone.report.parts import words
from rtstone.report.parts.words import Grade
from rtstone.stats.evaluate import RunEvaluation
from rtstone.stats.standouts import Standouts
from rtstone.units import count, counted, quantity, rounded

GRADES: tuple[Grade, ...] = ("bad", "note", "good", "info")  # gravest first
ADVERSE = ("bad", "note")  # grades of findings worth a look
MOST = 3  # findings shown at the top
GROWTH = "growth"  # evidence of findings about slopes
_MISSING: dict[str, Grade] = {"failed": "bad", "incomplete": "bad", "unsupported": "info"}


class Finding(NamedTuple):
    """A finding: grade, head, details, and its evidence: the index of a result, or GROWTH."""

    grade: Grade
    head: str
    text: str
    evidence: int | str


class Subject(NamedTuple):
    """A result with its index in the run, and what distinguishes it from others of its bench."""

    place: int
    result: Result
    label: str

    @property
    def title(self) -> str:
        """The bench, with what distinguishes this result from others of it."""
        label = self.label.removesuffix(f"load={self.result.load}")  # it is named separately
        return f"{self.result.bench} {label}".strip()

    @property
    def circumstances(self) -> str:
        """n, time, load and flags, without which no worst case is reported."""
        r, observed = self.result, words.observed(self.result)
        unknown = (
            "over a time that was not recorded" if r.unit == "ns" else f"in {r.unit}, not in time"
        )
        span = f"over {observed}" if observed else unknown
        flags = f", flags: {', '.join(r.flags)}" if r.flags else ""
        return f"{self.title}; n = {count(r.n)}, {span}, load {r.load}{flags}"


def subjects_of(run: Run) -> list[Subject]:
    """Return the results of a run as subjects."""
    pairs = zip(run.results, words.labels(run), strict=True)
    return [Subject(place, *pair) for place, pair in enumerate(pairs)]


class Evidence(NamedTuple):
    """What findings are derived from."""

    run: Run
    subjects: list[Subject]
    found: Standouts


def worst_wakeup(seen: Evidence) -> Iterable[Finding]:
    """Yield the largest maximum of wake-ups, if no other finding has it."""
    if seen.found.worst_wakeup is not None:
        found = seen.subjects[seen.found.worst_wakeup]
        worst = quantity(found.result.max, found.result.unit)
        yield Finding("note", f"Worst wake-up {worst}", found.circumstances, found.place)


def longest_delay(seen: Evidence) -> Iterable[Finding]:
    """Yield, per unit, the other result whose maximum is furthest above its median."""
    for place, excess in seen.found.delays:
        found = seen.subjects[place]
        unit = found.result.unit
        head = f"Longest delay of one sample {quantity(excess, unit)}"
        text = f"above the median of {quantity(found.result.p50, unit)}; "
        yield Finding("note", head, text + found.circumstances, place)


def least_predictable(seen: Evidence) -> Iterable[Finding]:
    """Yield the result with the largest ratio of p99.9 to a median that the clock resolves."""
    if seen.found.spread:
        place, ratio = seen.found.spread
        found = seen.subjects[place]
        r = found.result
        yield Finding(
            "note",
            f"Least predictable: p99.9 is {rounded(ratio)} times the median",
            f"{quantity(r.p999, r.unit)} against {quantity(r.p50, r.unit)}; {found.circumstances}",
            place,
        )


def missed_activations(seen: Evidence) -> Iterable[Finding]:
    """Yield how many activations never happened."""
    periodic = [seen.subjects[place] for place in seen.found.periodic]
    total = sum(s.result.missed or 0 for s in periodic)
    if seen.found.missed is not None:
        found = seen.subjects[seen.found.missed]
        r = found.result
        share = "all" if r.missed == total else count(r.missed or 0)
        worst = "" if r.max is None else f"; maximum {quantity(r.max, r.unit)}"
        text = f"{share} of them in {found.circumstances}{worst}"
        yield Finding("bad", counted(total, "missed activation"), text, found.place)
    elif periodic:
        n = sum(s.result.n for s in periodic)
        text = f"{counted(len(periodic), 'periodic result')}, n = {count(n)} activations in all"
        yield Finding("good", "No activation missed", text, periodic[0].place)


def growth_with_tasks(seen: Evidence) -> Iterable[Finding]:
    """Yield the steepest growth of a time with a number of tasks."""
    slopes, found = seen.run.slopes, seen.found
    if found.growing:
        steepest = found.growing[0]
        told = words.growths(seen.run)[steepest]
        head = f"{told.name} {told.verdict} by {told.rate.removeprefix('+')}"
        text = f"{told.interval}, load {slopes[steepest].load}"
        if len(found.growing) > 1:
            text += f"; {len(found.growing)} of {len(found.fitted)} such slopes rise"
        yield Finding("note", head, text, GROWTH)
    elif found.fitted:
        over = ", ".join(dict.fromkeys(slopes[place].over for place in found.fitted))
        text = f"{counted(len(found.fitted), 'slope')} over {over}, no 95% interval above 0"
        yield Finding("good", "No growth found", text, GROWTH)


def not_ok(seen: Evidence) -> Iterable[Finding]:
    """Yield the results that are missing, by status."""
    for status, places in seen.found.missing.items():
        names = list(dict.fromkeys(seen.run.results[place].bench for place in places))
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        head = f"{counted(len(places), 'result')} {status}"
        yield Finding(_MISSING[status], head, ", ".join(names[:4]) + more, places[0])


RULES: list[Callable[[Evidence], Iterable[Finding]]] = [
    missed_activations,
    worst_wakeup,
    longest_delay,
    least_predictable,
    growth_with_tasks,
    not_ok,
]


def findings(evaluated: RunEvaluation) -> list[Finding]:
    """Return all that stands out, the gravest first."""
    what = Evidence(evaluated.run, subjects_of(evaluated.run), evaluated.standouts)
    found = [finding for rule in RULES for finding in rule(what)]
    return sorted(found, key=lambda finding: GRADES.index(finding.grade))


def split(found: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the MOST worst findings, and the rest."""
    worst = [finding for finding in found if finding.grade in ADVERSE][:MOST]
    return worst, [finding for finding in found if finding not in worst]
