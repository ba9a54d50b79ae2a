"""The answer of a run: what it says about the system, in a sentence, and the basis of that.

Words are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rtstone import resources, units
from rtstone.assemble import flags
from rtstone.documents.plan import NONE
from rtstone.documents.run import LOCAL, Result, Run
from rtstone.documents.worstcase import WorstCase
from rtstone.report.parts import words
from rtstone.report.parts.bound import outcome
from rtstone.report.parts.words import Grade
from rtstone.report.run.findings import Finding, Subject, findings, split, subjects_of
from rtstone.stats.evaluate import RunEvaluation
from rtstone.stats.standouts import largest
from rtstone.system.rights import granting
from rtstone.units import count, counted, quantity

# Classes of latencies, by the value in ns at which they end.
MAGNITUDES = (
    (1e3, "below a microsecond"),
    (1e4, "microseconds"),
    (1e5, "tens of microseconds"),
    (1e6, "hundreds of microseconds"),
    (1e7, "milliseconds"),
    (1e8, "tens of milliseconds"),
    (1e9, "hundreds of milliseconds"),
)
LONGEST = "seconds"

_BREAKDOWN = "breakdown utilisation"

# Flags whose cause is a lack of rights, which one command grants.
_RIGHTS = ("no_rt", "page_faults")

# Flags of disturbances from outside the measured system, or that make values incredible.
DISTURBED = ("steal", "smi", "other_run", "throttled", "clock_backwards")


class Estimated(NamedTuple):
    """A result with its worst-case estimate."""

    subject: Subject
    case: WorstCase

    @property
    def outcome(self) -> str:
        """The bound with its conditions, or `?` and why there is none."""
        return outcome(self.case) if self.case.bound is not None else f"? {outcome(self.case)}"

    @property
    def sentence(self) -> str:
        """The estimate in a sentence."""
        return f"Worst case, estimated: {outcome(self.case)}."


class Answer(NamedTuple):
    """The verdict with its grade and basis, findings, and estimates of worst cases."""

    grade: Grade
    verdict: str
    basis: list[str]
    worst: list[Finding]
    others: list[Finding]
    estimates: list[Estimated]


def answer(evaluated: RunEvaluation) -> Answer:
    """Return the answer of a run."""
    run, subjects = evaluated.run, subjects_of(evaluated.run)
    wakeups = [subjects[place] for place in evaluated.standouts.wakeups]
    worst, others = split(findings(evaluated))
    estimated = [Estimated(subjects[place], c) for place, c in evaluated.worst_cases.items()]
    grade, verdict = _verdict(evaluated, wakeups)
    longest = largest(run, evaluated.standouts.wakeups, lambda r: r.max)
    basis = [
        *_left_out(wakeups),
        *(_worst_case(subjects[longest.place], estimated) if longest else []),
        *_loads(run),
        *_disturbed(run),
    ]
    return Answer(grade, verdict, basis, worst, others, estimated)


def magnitude(ns: float) -> str:
    """Return the class of a latency: ``tens of microseconds``."""
    return next((name for end, name in MAGNITUDES if ns < end), LONGEST)


def _verdict(evaluated: RunEvaluation, wakeups: list[Subject]) -> tuple[Grade, str]:
    run = evaluated.run
    if not words.measured(run):
        return "bad", "No verdict: nothing was measured."
    if words.counted_units(run):
        return "info", "No verdict in time: these numbers are counts of an emulated machine."
    if words.emulated(run):
        return "info", "No verdict: the emulator ran freely, so its times say nothing."
    judged = [s.result for s in wakeups] or [r for r in run.results if _BREAKDOWN in r.figures]
    if judged and (flag := spoilt(judged)):
        return "info", f"No verdict: {flag.spoils}. {_remedy(run, flag)}"
    if not wakeups:
        return "info", _breakdown(run) or "No verdict on deadlines: no task was woken by a timer."
    return _fitness(run, [s for s in wakeups if not flags.spoilt(s.result.flags)])


def spoilt(results: Sequence[Result]) -> flags.Flag | None:
    """Return why none of these results allows a verdict; None if one does."""
    found = [flags.spoilt(result.flags) for result in results]
    return None if None in found else found[0]


def _remedy(run: Run, flag: flags.Flag) -> str:
    """Return what to do, as a command where there is one."""
    if flag.name in _RIGHTS and run.target.name == LOCAL:
        return f"This grants them: {granting(resources.local_agent())}"
    return f"{flag.advice[0].upper()}{flag.advice[1:]}."


def _fitness(run: Run, wakeups: list[Subject]) -> tuple[Grade, str]:
    where = "in the model, " if words.model(run) else ""
    late = max(wakeups, key=lambda s: (s.result.missed or 0, -s.place))
    if late.result.missed:
        missed, due = late.result.missed, late.result.n + late.result.missed
        return "bad", (
            f"Not fit for {_period(late)}: {where}{count(missed)} of {count(due)} "
            f"activations missed, under load {late.result.load}."
        )
    shortest = min(wakeups, key=lambda s: _period_ns(s) or float("inf"))
    n = sum(s.result.n for s in wakeups)
    seen = f"{where}as far as was seen"
    return "good", f"Fit for {_period(shortest)}, {seen}: none of {count(n)} activations missed."


def _breakdown(run: Run) -> str | None:
    """Return what Hartstone experiments say about deadlines, None if none broke down."""
    known = [
        (figure.value, r.bench)
        for r in run.results
        if (figure := r.figures.get(_BREAKDOWN))
        and figure.value is not None
        and not flags.spoilt(r.flags)
    ]
    if not known:
        return None
    least, bench = min(known)
    return (
        f"Deadlines held up to {units.plain(least)} % of raw speed: "
        f"the least of {counted(len(known), 'breakdown')}, {bench}."
    )


def _period_ns(subject: Subject) -> float | None:
    period = subject.result.params.get("period")
    return period if isinstance(period, int | float) else None


def _period(subject: Subject) -> str:
    ns = _period_ns(subject)
    return "its period" if ns is None else f"a period of {units.trimmed(ns, 'ns')}"


def _worst_case(found: Subject, estimated: list[Estimated]) -> Iterator[str]:
    """Yield the observed worst case with its load, time and n, and the estimated one."""
    r = found.result
    like = f", {magnitude(r.max)}" if r.unit == "ns" and r.max is not None else ""
    over = f" over {span}" if (span := words.observed(r)) else ""
    yield (
        f"Worst wake-up observed: {quantity(r.max, r.unit)}{like}; {found.title}, "
        f"under load {r.load}{over}, n = {count(r.n)}. Longer observation can only raise it."
    )
    yield from (one.sentence for one in estimated if one.subject == found)


def _loads(run: Run) -> Iterator[str]:
    loads = list(dict.fromkeys(r.load for r in words.measured(run)))
    if loads == [NONE]:
        yield "No load ran beside it: under load the worst case may be far larger."
    elif loads:
        yield f"Loads: {', '.join(loads)}."


def _left_out(wakeups: list[Subject]) -> Iterator[str]:
    """Yield how many wake-ups were left out of a verdict that is based on others."""
    bad = [flag for s in wakeups if (flag := flags.spoilt(s.result.flags))]
    if bad and len(bad) < len(wakeups):
        yield f"Left out of the verdict: {len(bad)} of {len(wakeups)} cases, {bad[0].spoils}."


def _disturbed(run: Run) -> Iterator[str]:
    """Yield what disturbed results from outside, and how many."""
    measured = words.measured(run)
    times = Counter(name for result in measured for name in set(result.flags))
    told = [
        f"{flags.BY_NAME[name].cause}, in {times[name]} of {counted(len(measured), 'result')}"
        for name in DISTURBED
        if times[name]
    ]
    if told:
        yield f"Disturbed: {'; '.join(told)} ({', '.join(n for n in DISTURBED if times[n])})."
