"""What stands out in a run: one rule for each kind of finding.

Words are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from rtstone.documents.run import Result, Run, Slope
from rtstone.report.parts import words
from rtstone.units import count, counted, quantity, rounded

Grade = Literal["bad", "note", "good", "info"]
GRADES: tuple[Grade, ...] = ("bad", "note", "good", "info")  # gravest first
ADVERSE = ("bad", "note")  # those that tell of something to look at
MOST = 3  # that stand at the top

# Units of parameters that are an amount of work: that time grows with them is no finding.
WORK = {"B", "KiB", "MiB", "byte"}
GRANULES = 10  # steps of the clock below which a ratio tells the clock, not the system
LEAST_RATIO = 3  # of p99.9 to the median that is worth a finding
INTERVALS = {
    "dk.latencytest"
}  # periodic, but its values are whole periods, not how late they began
GROWTH = "growth"  # where the evidence of a slope stands


class Finding(NamedTuple):
    """A sentence: how grave, what, the details, and its evidence: place of a result, or GROWTH."""

    grade: Grade
    head: str
    text: str
    evidence: int | str


class Subject(NamedTuple):
    """A result with its place in the run, and what tells it from others of its bench."""

    place: int
    result: Result
    label: str

    @property
    def title(self) -> str:
        """The bench with what tells this result from others of it."""
        label = self.label.removesuffix(f"load={self.result.load}")  # always told beside it
        return f"{self.result.bench} {label}".strip()

    @property
    def circumstances(self) -> str:
        """n, time, load and flags, as every worst case must be told."""
        r, observed = self.result, words.observed(self.result)
        unknown = (
            "over a time that was not recorded" if r.unit == "ns" else f"in {r.unit}, not in time"
        )
        span = f"over {observed}" if observed else unknown
        flags = f", flags: {', '.join(r.flags)}" if r.flags else ""
        return f"{self.title}; n = {count(r.n)}, {span}, load {r.load}{flags}"


class Seen(NamedTuple):
    """What the rules look at."""

    run: Run
    subjects: list[Subject]

    @property
    def periodic(self) -> list[Subject]:
        """Those that are woken by a timer, and so can miss an activation."""
        return [s for s in self.subjects if s.result.missed is not None and s.result.n]

    @property
    def wakeups(self) -> list[Subject]:
        """Of these, those whose values say how late the task woke up."""
        return [s for s in self.periodic if s.result.bench not in INTERVALS]


def seen(run: Run) -> Seen:
    """The results of a run, named."""
    pairs = zip(run.results, words.labels(run), strict=True)
    return Seen(run, [Subject(place, *pair) for place, pair in enumerate(pairs)])


def largest(subjects: Iterable[Subject], value: Callable[[Result], float | None]) -> Subject | None:
    """The one with the largest value, of those that have one; of equals the first."""
    known = [(v, -s.place, s) for s in subjects if (v := value(s.result)) is not None]
    return max(known)[2] if known else None


def worst_wakeup(seen: Seen) -> Iterable[Finding]:
    """The largest maximum among the tasks that a timer wakes, if no other finding tells it."""
    found, late = largest(seen.wakeups, lambda r: r.max), _latest(seen)
    if found and found != late:
        worst = quantity(found.result.max, found.result.unit)
        yield Finding("note", f"Worst wake-up {worst}", found.circumstances, found.place)


def longest_delay(seen: Seen) -> Iterable[Finding]:
    """Among the rest, the sample that lies furthest above the median of its kind."""

    def delay(r: Result) -> float | None:
        known = r.missed is None and r.max is not None and r.p50 is not None
        return r.max - r.p50 if known else None  # type: ignore[operator]

    for unit in dict.fromkeys(s.result.unit for s in seen.subjects):
        found = largest((s for s in seen.subjects if s.result.unit == unit), delay)
        if found and (excess := delay(found.result)):
            head = f"Longest delay of one sample {quantity(excess, unit)}"
            text = f"so far above the median of {quantity(found.result.p50, unit)}; "
            yield Finding("note", head, text + found.circumstances, found.place)


def least_predictable(seen: Seen) -> Iterable[Finding]:
    """Where p99.9 stands furthest above the median, of those medians that the clock resolves."""
    clock = seen.run.clock
    granule = clock.resolution_ns if clock else 0.0

    def spread(r: Result) -> float | None:
        resolved = r.p50 is not None and r.p50 > 0 and r.p50 * r.batch >= GRANULES * granule
        return r.p999 / r.p50 if resolved and r.p999 is not None else None  # type: ignore[operator]

    found = largest(seen.subjects, spread)
    ratio = spread(found.result) if found else None
    if found and ratio is not None and ratio >= LEAST_RATIO:
        r = found.result
        yield Finding(
            "note",
            f"Least predictable: p99.9 is {rounded(ratio)} times the median",
            f"{quantity(r.p999, r.unit)} against {quantity(r.p50, r.unit)}; {found.circumstances}",
            found.place,
        )


def _latest(seen: Seen) -> Subject | None:
    """The one that missed most activations, None if none did."""
    found = largest(seen.periodic, lambda r: r.missed)
    return found if found and found.result.missed else None


def missed_activations(seen: Seen) -> Iterable[Finding]:
    """Activations that never happened."""
    total = sum(s.result.missed or 0 for s in seen.periodic)
    if found := _latest(seen):
        r = found.result
        share = "all" if r.missed == total else count(r.missed or 0)
        worst = "" if r.max is None else f"; maximum {quantity(r.max, r.unit)}"
        text = f"{share} of them in {found.circumstances}{worst}"
        yield Finding("bad", counted(total, "missed activation"), text, found.place)
    elif periodic := seen.periodic:
        n = sum(s.result.n for s in periodic)
        text = f"{counted(len(periodic), 'periodic result')}, n = {count(n)} activations in all"
        yield Finding("good", "No activation missed", text, periodic[0].place)


def growth_with_tasks(seen: Seen) -> Iterable[Finding]:
    """Times that grow with a number of tasks, not with work: of those, the steepest."""
    pairs = zip(seen.run.slopes, words.growths(seen.run), strict=True)
    fitted = [(s, told) for s, told in pairs if s.points and told.per not in WORK]
    growing = [(s, told) for s, told in fitted if not s.constant and s.slope > 0]
    if growing:
        slope, told = max(growing, key=lambda pair: _relative(pair[0]))
        head = f"{told.name} {told.verdict} by {told.rate.removeprefix('+')}"
        text = f"{told.interval}, load {slope.load}"
        if len(growing) > 1:
            text += f"; {len(growing)} of {len(fitted)} such slopes rise"
        yield Finding("note", head, text, GROWTH)
    elif fitted:
        over = ", ".join(dict.fromkeys(s.over for s, _ in fitted))
        text = f"{counted(len(fitted), 'slope')} over {over}, no 95% interval above 0"
        yield Finding("good", "No growth found", text, GROWTH)


def _relative(slope: Slope) -> float:
    """How much it adds over its parameter's range, against the least mean."""
    least = min(y for _, y in slope.points)
    reach = max(x for x, _ in slope.points) - min(x for x, _ in slope.points)
    return slope.slope * reach / max(abs(least), 1e-9)


def not_ok(seen: Seen) -> Iterable[Finding]:
    """Results that are missing, by status."""
    gravity: list[tuple[str, Grade]] = [
        ("failed", "bad"), ("incomplete", "bad"), ("unsupported", "info"),
    ]  # fmt: skip
    for status, grade in gravity:
        found = [s for s in seen.subjects if s.result.status == status]
        if found:
            names = list(dict.fromkeys(s.result.bench for s in found))
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            head = f"{counted(len(found), 'result')} {status}"
            yield Finding(grade, head, ", ".join(names[:4]) + more, found[0].place)


RULES: list[Callable[[Seen], Iterable[Finding]]] = [
    missed_activations,
    worst_wakeup,
    longest_delay,
    least_predictable,
    growth_with_tasks,
    not_ok,
]


def findings(run: Run) -> list[Finding]:
    """All that the rules find, the gravest first."""
    what = seen(run)
    found = [finding for rule in RULES for finding in rule(what)]
    return sorted(found, key=lambda finding: GRADES.index(finding.grade))


def split(found: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The few worst, and the rest."""
    worst = [finding for finding in found if finding.grade in ADVERSE][:MOST]
    return worst, [finding for finding in found if finding not in worst]
