"""What stands out in a run, in words: one sentence for each kind of finding.

Words are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rtstone.documents.case_key import family
from rtstone.documents.case_name import CaseName, result_names
from rtstone.documents.run import LOCAL, Result, Run
from rtstone.report.parts import words
from rtstone.report.parts.words import Grade
from rtstone.results.steal import share_with_steal
from rtstone.stats.comparison.loads import LoadMatrix
from rtstone.stats.evaluate import RunEvaluation
from rtstone.stats.standouts import Excess, Standouts
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, quantity, rounded, trimmed

GRADES: tuple[Grade, ...] = ("bad", "note", "good", "info")  # gravest first
ADVERSE = ("bad", "note")  # grades of findings worth a look
MOST = 3  # findings shown at the top
GROWTH = "growth"  # evidence of findings about slopes
LEAST_GROWTH = 1.1  # ratio of the ends of a slope that is worth reporting
LEAST_SLOWER = 1.5  # ratio of a case under a load to the first load that is worth reporting
_ALWAYS = 0.5  # share of the time with steal, from which steal around a sample says nothing of it
_NAMED = 3  # results named in a finding about several
_MISSING_NAMED = 4  # and in one about what is missing
_MISSING: dict[str, Grade] = {"failed": "bad", "incomplete": "bad", "unsupported": "info"}

# What to do about delays, by the beginning of a bench's id.
ADVICE = {
    "mem.malloc": "allocate before the real-time part begins",
    "mem.free": "free memory after the real-time part has ended",
    "proc.": "create tasks before the real-time part begins",
    "posix.thread": "create threads before the real-time part begins",
}
TAKEN = "det."  # benches that look for times at which the CPU does something else
DOCTOR = "`rtstone doctor --problems` names suspects"


class Finding(NamedTuple):
    """A finding: grade, head, details, and its evidence: the index of a result, or GROWTH.

    ``family``: of the benches it is about.  ``times``: how many times beyond what is usual.
    ``stolen``: the same in a few words, if a hypervisor caused it.
    """

    grade: Grade
    head: str
    text: str
    evidence: int | str
    family: str = ""
    times: float = 0.0
    stolen: str = ""


class Subject(NamedTuple):
    """A result with its index in the run, and its name."""

    place: int
    result: Result
    name: CaseName

    @property
    def family(self) -> str:
        """The family of the bench."""
        return family(self.result.bench)

    @property
    def circumstances(self) -> str:
        """n, time, load and flags, without which no worst case is reported."""
        r, observed = self.result, words.observed(self.result)
        unknown = (
            "over a time that was not recorded" if r.unit == "ns" else f"in {r.unit}, not in time"
        )
        span = f"over {observed}" if observed else unknown
        flags = f", flags: {', '.join(r.flags)}" if r.flags else ""
        return f"n = {count(r.n)}, {span}, load {r.load}{flags}"


def subjects_of(run: Run) -> list[Subject]:
    """Return the results of a run as subjects."""
    pairs = zip(run.results, result_names(run), strict=True)
    return [Subject(place, *pair) for place, pair in enumerate(pairs)]


class Evidence(NamedTuple):
    """What findings are derived from."""

    run: Run
    subjects: list[Subject]
    standouts: Standouts
    by_load: LoadMatrix | None


def longest_delays(seen: Evidence) -> Iterable[Finding]:
    """Yield the results whose maximum is further above the median than is usual in the run."""
    for subject, excess in _by_family(seen, seen.standouts.delays):
        r = subject.result
        name = subject.name.without_load
        head = f"{name}: {quantity(r.max, r.unit)} at worst"
        if r.bench == "det.bintime":
            head = f"The CPU was taken away for {quantity(r.max, r.unit)} ({name})"
        text = f"median {quantity(r.p50, r.unit)}"
        if excess.usual is not None:
            above = quantity(excess.usual, r.unit)
            text += f" (in the other results the maximum is usually {above} above the median)"
        brief = f"{quantity(r.max, r.unit)} at worst in {name}"
        yield _delay(
            seen, subject, Finding("note", head, text, 0, stolen=brief, times=excess.times)
        )


def least_predictable(seen: Evidence) -> Iterable[Finding]:
    """Yield the results with a large ratio of p99.9 to a median that the clock resolves."""
    for subject, excess in _by_family(seen, seen.standouts.spreads):
        r = subject.result
        head = f"{subject.name.without_load}: p99.9 is {rounded(excess.value)} times the median"
        text = f"{quantity(r.p999, r.unit)} against {quantity(r.p50, r.unit)}"
        brief = f"{quantity(r.p999, r.unit)} at p99.9 in {subject.name.without_load}"
        finding = Finding("note", head, text, 0, stolen=brief, times=excess.times)
        yield _delay(seen, subject, finding, r.p999)


def _by_family(seen: Evidence, excesses: Sequence[Excess]) -> Iterator[tuple[Subject, Excess]]:
    """Yield the foremost of each family of benches."""
    families: dict[str, Excess] = {}
    for excess in excesses:
        families.setdefault(seen.subjects[excess.place].family, excess)
    for excess in families.values():
        yield seen.subjects[excess.place], excess


def _delay(
    seen: Evidence, subject: Subject, finding: Finding, beyond: float | None = None
) -> Finding:
    """Return a finding about delays, with its circumstances, and what to do where that is known.

    ``beyond``: it is about the samples from this value on; None: about the worst alone.
    """
    r, stolen = subject.result, ""
    reached = [s for s in r.worst if beyond is not None and s.value >= beyond] or r.worst[:1]
    steal = [s.steal_ns for s in reached if s.steal_ns]
    always = (share_with_steal(r) or 0.0) > _ALWAYS
    if 2 * len(steal) > len(reached) and not always:  # no advice on the bench's work can change it
        cause = f"the hypervisor took {trimmed(max(steal), 'ns')} around it"
        if beyond is not None:
            most = f"up to {trimmed(max(steal), 'ns')}"
            worst = f"{len(steal)} of its {len(reached)} worst samples"
            cause = f"the hypervisor took {most} around {worst}"
        parts = (finding.text, cause, subject.circumstances)
        over = f" in {span}" if (span := words.observed(r)) else ""
        stolen = f"{finding.stolen} (n {count(r.n)}{over}, load {r.load})"
    else:
        local = r.bench.startswith(TAKEN) and seen.run.target.name == LOCAL
        own = (advice for start, advice in ADVICE.items() if r.bench.startswith(start))
        parts = (finding.text, subject.circumstances, next(own, DOCTOR if local else ""))
    return finding._replace(
        text="; ".join(filter(None, parts)), evidence=subject.place, family=subject.family,
        stolen=stolen,
    )  # fmt: skip


def of_one_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, those that a hypervisor caused as one, if there are several."""
    by_result: dict[int | str, Finding] = {}  # the foremost of each
    for finding in sorted(findings, key=lambda finding: -finding.times):
        if finding.stolen:
            by_result.setdefault(finding.evidence, finding)
    stolen = list(by_result.values())
    if len(stolen) < 2:
        return list(findings)
    rest = f"; and {len(stolen) - _NAMED} more" if len(stolen) > _NAMED else ""
    merged = Finding(
        "note", f"The hypervisor took the CPU away in {len(stolen)} results",
        f"{'; '.join(finding.stolen for finding in stolen[:_NAMED])}{rest}; steal time grew around "
        "each", stolen[0].evidence, "steal", stolen[0].times,
    )  # fmt: skip
    return [*(finding for finding in findings if not finding.stolen), merged]


def missed_elsewhere(seen: Evidence) -> Iterable[Finding]:
    """Yield how many activations never happened beside those that the verdict counts."""
    missing = {p: n for p in seen.standouts.periodic if (n := seen.run.results[p].missed)}
    if len(missing) > 1:
        places = [place for place in missing if place != seen.standouts.unfit]
        subject = seen.subjects[places[0]]
        head = f"Activations were missed in {counted(len(places), 'more result')}"
        each = [f"{count(missing[p])} in {seen.subjects[p].name.with_load}" for p in places]
        rest = f" and {len(each) - 3} more" if len(each) > 3 else ""
        yield Finding("bad", head, "; ".join(each[:3]) + rest, subject.place, subject.family)


def under_load(seen: Evidence) -> Iterable[Finding]:
    """Yield for each load the case that it slows most, beyond doubt.

    The parts of a load that was taken apart have a section of their own.
    """
    if seen.run.attribution is not None:
        return
    slower: dict[str, list[tuple[float, int, str]]] = {}  # ratio, index of a result, statistic
    for case in seen.by_load.cases if seen.by_load else []:
        for cell in filter(None, case.cells):
            effect = cell.effect
            ratio = effect.ratio or 0.0 if effect and effect.verdict == "worse" else 0.0
            if effect and ratio >= LEAST_SLOWER:
                entry = ratio, cell.places[0], COLUMNS[effect.statistic]
                slower.setdefault(cell.load, []).append(entry)
    for load, entries in slower.items():
        ratio, place, statistic = max(entries, key=lambda entry: entry[0])
        subject = seen.subjects[place]
        name = subject.name.without_load
        head = f"Load {load} makes {name} {rounded(ratio)} times slower ({statistic})"
        yield Finding("note", head, subject.circumstances, place, f"load {load}", ratio)


def growth_with_tasks(seen: Evidence) -> Iterable[Finding]:
    """Yield the steepest growth of a time with a number of tasks."""
    slopes, standouts = seen.run.slopes, seen.standouts
    growing = [slope for slope in standouts.growing if slope.times >= LEAST_GROWTH]
    if growing:
        steepest = growing[0].place
        growth = words.growths(seen.run)[steepest]
        head = f"{growth.name} {growth.verdict} by {growth.rate.removeprefix('+')}"
        text = f"{growth.interval}, load {slopes[steepest].load}"
        if len(growing) > 1:
            text += f"; {len(growing)} of {len(standouts.fitted)} such slopes rise"
        yield Finding("note", head, text, GROWTH, family(slopes[steepest].bench), growing[0].times)
    elif standouts.fitted:
        over = ", ".join(dict.fromkeys(slopes[place].over for place in standouts.fitted))
        text = f"{counted(len(standouts.fitted), 'slope')} over {over}, none rises by 10% or more"
        yield Finding("good", "No growth found", text, GROWTH)


def not_ok(seen: Evidence) -> Iterable[Finding]:
    """Yield the results that are missing, by status: as cases, of many the benches."""
    for status, places in seen.standouts.missing.items():
        names, separator = [seen.subjects[place].name.with_load for place in places], "; "
        benches = list(dict.fromkeys(seen.run.results[place].bench for place in places))
        if len(names) > _MISSING_NAMED and len(benches) > 1:
            names, separator = benches, ", "
        rest = f" and {len(names) - _MISSING_NAMED} more" if len(names) > _MISSING_NAMED else ""
        head = f"{counted(len(places), 'result')} {status}"
        text = separator.join(names[:_MISSING_NAMED]) + rest
        yield Finding(_MISSING[status], head, text, places[0])


RULES: list[Callable[[Evidence], Iterable[Finding]]] = [
    missed_elsewhere,
    longest_delays,
    least_predictable,
    under_load,
    growth_with_tasks,
    not_ok,
]


def findings(evaluated: RunEvaluation) -> list[Finding]:
    """Return all that stands out, the gravest first, then what is furthest beyond the usual."""
    evidence = Evidence(
        evaluated.run, subjects_of(evaluated.run), evaluated.standouts, evaluated.by_load
    )
    unsorted = of_one_cause([finding for rule in RULES for finding in rule(evidence)])
    return sorted(unsorted, key=lambda finding: (GRADES.index(finding.grade), -finding.times))


def split(results: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the MOST worst findings, each about another family, and the rest."""
    worst: dict[str, Finding] = {}
    for finding in results:
        if finding.grade in ADVERSE:
            worst.setdefault(finding.family or finding.head, finding)
    foremost = list(worst.values())[:MOST]
    adverse = {finding.evidence for finding in foremost}
    rest = [f for f in results if f not in foremost and f.evidence not in adverse]
    return foremost, rest
