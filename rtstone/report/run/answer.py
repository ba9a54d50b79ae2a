"""The answer of a run: what it says about the system, in a sentence, and the basis of that.

Words are plain, for the terminal; the page sets them (``typeset``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rtstone import resources, units
from rtstone.documents import origin
from rtstone.documents.breakdown import breakdown
from rtstone.documents.capacity import KIND, one_of_several
from rtstone.documents.check import Gate
from rtstone.documents.imported import WAKE_UPS, bucket_ns, tool
from rtstone.documents.other_names import missed_called
from rtstone.documents.plan import NONE, wake_ups
from rtstone.documents.run import (
    BREAKDOWN,
    BY_LIMIT,
    LOCAL,
    LOST_STATUSES,
    NO_REASON,
    UNREACHED,
    Result,
    Run,
    as_text,
)
from rtstone.documents.worstcase import WorstCase
from rtstone.report.parts import words
from rtstone.report.parts.bound import outcome
from rtstone.report.parts.words import Grade, lacking_rights
from rtstone.report.run import sole_bench
from rtstone.report.run.findings import Finding, Subject, findings, split, subjects_of
from rtstone.results import flags
from rtstone.results.steal import share_with_steal, with_steal
from rtstone.stats.evaluate import RunEvaluation
from rtstone.stats.standouts import largest, long_enough, observed_s
from rtstone.system.rights import granting, refused
from rtstone.units import count, counted, quantity, seconds

_EXPERIMENT = frozenset({BREAKDOWN, UNREACHED})  # figures of one of Hartstone, of which it has one

_NAMED = 3  # cases named in a sentence

# Flags whose cause is a lack of rights, which one command grants.
_RIGHTS = ("no_rt", "page_faults")

# Each right that a run may lack: the condition that says whether it held the capability for it.
_CAPABILITIES = (
    ("real-time scheduling", "rights.nice", "CAP_SYS_NICE"),
    ("locked memory", "rights.lock", "CAP_IPC_LOCK"),
)

# Flags of disturbances from outside the measured system, or that make values incredible.
DISTURBED = ("steal", "smi", "suspended", "other_run", "throttled", "server", "clock_backwards")


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
    """The verdict with its grade and basis, findings, and estimates of worst cases.

    ``rests``: what was measured and what disturbed it, in one sentence.  ``basis``: the same in
    several, with the observed worst case.  ``foremost``: the result that the verdict is about, or
    the worst of a run of one bench.
    """

    grade: Grade
    verdict: str
    rests: str
    basis: list[str]
    worst: list[Finding]
    other_findings: list[Finding]
    estimates: list[Estimated]
    foremost: Subject | None


def answer(evaluated: RunEvaluation) -> Answer:
    """Return the answer of a run."""
    run, subjects = evaluated.run, subjects_of(evaluated.run)
    standouts = evaluated.standouts
    wakeups = [subjects[place] for place in standouts.wakeups]
    measured = words.measured(run)
    worst, other_findings = split(findings(evaluated))
    estimated = [Estimated(subjects[place], c) for place, c in evaluated.worst_cases.items()]
    grade, verdict = _verdict(evaluated, wakeups)
    tool_wakeups = [s.place for s in subjects if tool(run) and s.result.bench in WAKE_UPS]
    place = largest(run, standouts.wakeups or tool_wakeups, lambda r: r.max)
    basis = [*_left_out(wakeups)]
    if place is not None:
        longest = subjects[place]
        r = longest.result
        over = f" over {span}" if (span := words.observed(r)) else ""
        basis.append(
            f"Worst wake-up observed: {quantity(r.max, r.unit)}; {longest.name.without_load}, "
            f"{_under(r.load)}{over}, n = {count(r.n)}. Longer observation can only raise it."
        )
        basis += [estimate.sentence for estimate in estimated if estimate.subject == longest]
    loads = list(dict.fromkeys(r.load for r in measured))
    if loads == [NONE]:
        basis.append("No load ran beside it: under load the worst case may be far larger.")
    elif loads:
        apart = run.attribution
        named = ", ".join(loads) if apart is None else f"{apart.load}, and its parts"
        basis.append(f"Loads: {named}.")
    basis += _disturbed(run)
    if standouts.unfit is not None:
        foremost: Subject | None = subjects[standouts.unfit]
    else:  # what missed most activations or has the largest maximum
        single = len({r.bench for r in measured}) == 1
        judged = wakeups or [s for s in subjects if s.result.n and single]
        judged = [s for s in judged if not flags.spoilt(s.result.flags)] or judged
        judged = [s for s in judged if s.result.max is not None] or judged
        foremost = max(
            judged, key=lambda s: (s.result.missed or 0, s.result.max or 0, -s.place), default=None
        )
    return Answer(
        grade=grade, verdict=verdict, rests=_rests(run, wakeups), basis=basis,
        worst=worst, other_findings=other_findings, estimates=estimated, foremost=foremost,
    )  # fmt: skip


def _rests(run: Run, wakeups: list[Subject]) -> str:
    """Return what the verdict rests on, in one line."""
    ran = words.measured(run)
    kind = one_of_several(run)
    parts = (
        tool(run), origin.system(run), as_text(run.conditions.get("cpu.model")),
        f"{KIND}: {kind}" if kind else None,
    )  # fmt: skip
    where = ", ".join(part for part in parts if part)
    loads = [load for load in dict.fromkeys(r.load for r in ran) if load != NONE]
    under = "without load" if len(loads) < len({r.load for r in ran}) or not loads else ""
    if loads:
        under += " and " if under else ""
        under += (
            f"under {counted(len(loads), 'load')} ({', '.join(loads)})"
            if run.attribution is None
            else f"under load {run.attribution.load} and its parts"
        )
    took = "" if run.duration_s is None else f" in {seconds(run.duration_s)}"
    results = f"{counted(len(ran), 'result')}{took} {under}" if ran else "no result"
    name = f"{run.name} ({run.target.title})" if run.name else run.target.title
    head = f"{name}: {where}" if where else name
    if meaning := words.emulated(run):
        head = f"{head}; {meaning}"
    rest = [text.rstrip(".") for text in (*_left_out(wakeups), *_disturbed(run))]
    return "; ".join([head, results, *(text[0].lower() + text[1:] for text in rest)]) + "."


def _verdict(evaluated: RunEvaluation, wakeups: list[Subject]) -> tuple[Grade, str]:
    run = evaluated.run
    if not words.measured(run):
        why = why_nothing(run)
        return "bad", f"No verdict: nothing was measured{f', {why}' if why else '.'}"
    if evaluated.requirement is not None:
        return _required(run, evaluated.requirement)
    if words.counted_units(run):
        return "info", _in_instructions(run, wakeups)
    if words.emulated(run):
        return "info", "No verdict: the emulator ran freely, so its times say nothing."
    experiments = [r for r in run.results if r.figures.keys() & _EXPERIMENT]
    judged = [s.result for s in wakeups] or experiments
    model = "in the model, " if origin.model(run) else ""
    if (place := evaluated.standouts.unfit) is not None:
        late = subjects_of(run)[place]
        r, flag, period = late.result, flags.spoilt(late.result.flags), _period(late)
        head, at = f"Not fit for {period}", ""
        if flag:
            head = f"Not fit as it was run ({flag.spoils.removeprefix('measured ')})"
            at = f" at {period}"
        sentence = (
            f"{head}: {model}{_missed(run, [late])}{at}, "
            f"{_which(late, wakeups)}{_incomplete(r)}.{_stolen(run, late)}"
        )
        return "bad", f"{sentence} {_remedy(run, flag)}" if flag else sentence
    if judged and (flag := spoilt(judged)):
        if wakeups and flag.name in _RIGHTS and not any(s.result.missed for s in wakeups):
            shortest = min(wakeups, key=lambda s: _period_ns(s) or float("inf"))
            loads = [s.result.load for s in wakeups]
            none = _missed(run, wakeups)
            return "info", (
                f"{none[0].upper()}{none[1:]} at {_period(shortest)}, {model}{_among(loads)}; "
                f"no verdict, as it was {flag.spoils}. {_remedy(run, flag)}"
            )
        return "info", f"No verdict: {flag.spoils}. {_remedy(run, flag)}"
    if not wakeups:
        return "info", _breakdown(run) or _without_wakeups(run)
    if lost := _lost(run, wakeups):
        return "info", lost
    fit = [s for s in wakeups if not flags.spoilt(s.result.flags)]
    shortest = min(fit, key=lambda s: _period_ns(s) or float("inf"))
    worst = max(fit, key=lambda s: (s.result.max or 0, -s.place))
    results = [s.result for s in fit]
    grade, seen = _seen(results)
    return grade, (
        f"Fit for {_period(shortest)}, {model}{seen}: {_missed(run, fit)}.{_stolen(run, worst)}"
    )


def _in_instructions(run: Run, wakeups: Sequence[Subject]) -> str:
    """Return what a run that counts instructions says of its periodic tasks, else its numbers."""
    judged = [s for s in wakeups if not flags.spoilt(s.result.flags)]
    if not judged or _per_second(run) is None:
        if numbers := sole_bench.sentence(run):
            return f"{numbers.rstrip('.')}; counts of an emulated machine, no verdict about time."
        return "No verdict about time: these numbers are counts of an emulated machine."
    worst = max(judged, key=lambda s: (s.result.missed or 0, s.result.max or 0, -s.place))
    text = _missed(run, [worst] if worst.result.missed else judged)
    return (
        f"{text[0].upper()}{text[1:]} at {_period(worst)}{_at_worst(run, worst)}, "
        f"{_under(worst.result.load)}. {_as_time(run)}: no verdict about time."
    )


def _missed(run: Run, subjects: Sequence[Subject]) -> str:
    """Return how many activations were missed, in the word of the trade if it has one.

    ``none of 15 000 activations missed``; ``2 dropouts (2 of 15 000 activations missed)``.
    """
    missed = sum(s.result.missed or 0 for s in subjects)
    due = missed + sum(s.result.n for s in subjects)
    text = f"{count(missed) if missed else 'none'} of {count(due)} activations missed"
    return _called(run, subjects, missed, text)


def _called(run: Run, subjects: Sequence[Subject], missed: int, text: str) -> str:
    """Return what was missed, preceded by its number in the word of the trade if it has one."""
    names = {missed_called(s.result.bench, s.result.params, run.run_id) for s in subjects}
    name = names.pop() if len(names) == 1 else ""
    return f"{counted(missed, name) if missed else f'no {name}s'} ({text})" if name else text


def _per_second(run: Run) -> int | None:
    """Return how many instructions stand for a second of a run that counts them, None for time."""
    rate = run.target.detail.get("instructions_per_s")
    return rate if isinstance(rate, int) and words.counted_units(run) else None


def _as_time(run: Run) -> str:
    """Return what periods and shares of them rest on where instructions are counted."""
    return f"A second is taken for {count(_per_second(run) or 0)} instructions"


def _at_worst(run: Run, subject: Subject) -> str:
    """Return the largest sample, with its share of the period where instructions are counted.

    Starts with "; " or is empty.
    """
    result, period, rate = subject.result, _period_ns(subject), _per_second(run)
    if result.max is None:
        return ""
    text = f"; {quantity(result.max, result.unit)}"
    if rate is None or period is None or result.unit == "ns":
        return f"{text} at worst"
    whole = period * rate / units.NS_PER_S
    due = units.trimmed(whole, result.unit).removesuffix(" instr")
    return f"{text} at worst, {_share(result.max / whole)} of {due}"


def _share(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 1 else f"{share:.1f} periods"


def _without_wakeups(run: Run) -> str:
    """Return why a run has no wake-up to judge, or that nothing in it was to be judged."""
    if name := (tool(run) or "").partition(" ")[0]:
        late = [r for r in run.results if r.bench in WAKE_UPS and r.max is not None]
        uncounted = any(r.bench in WAKE_UPS for r in run.results)
        cause = "does not count the activations that were missed"
        cause = f"{name} {cause}" if uncounted else f"none was measured by {name}"
        return f"{_latest(late)}No verdict on deadlines: {cause}."
    due = [s for s in subjects_of(run) if s.result.bench in wake_ups(run.benches)]
    if lost := _lost(run, due):
        return lost
    if not due:
        return sole_bench.sentence(run) or (
            "Nothing to judge by a deadline: no task of this run is woken by a timer."
        )
    first = next((s for s in due if s.result.not_begun), due[0])
    case = f"{first.name.without_load}, {_under(first.result.load)}"
    if first.result.not_begun:
        return f"No verdict on deadlines: {case}, was not begun."
    why = f": {first.result.reason.rstrip('.')}" if first.result.reason else ""
    return f"No verdict on deadlines: {case}, {first.result.status}{why}."


def _latest(results: Sequence[Result]) -> str:
    """Return the largest of another tool's samples, and what lies beyond its histogram.

    ``13.2 ms at worst; 187 of 4 638 samples at or above 400 µs, beyond its histogram. ``
    """
    if not results:
        return ""
    worst = max(results, key=lambda r: r.max or 0)
    text = f"{quantity(worst.max, worst.unit)} at worst"
    if "beyond" in worst.flags:
        number = count(worst.overflow) if worst.overflow else "an unknown number"
        end = max((value for value, _ in worst.histogram), default=None)
        at = f" at or above {quantity(end + bucket_ns([worst]), worst.unit)}," if end else ""
        text += f"; {number} of {count(worst.n)} samples{at} beyond its histogram"
    return f"{text}. "


def _seen(results: Sequence[Result]) -> tuple[Grade, str]:
    """Return for how long no deadline was missed: so far, where that is not long enough."""
    if not all(map(long_enough, results)):
        return "info", "so far"
    least = min(observed_s(result) or 0.0 for result in results)
    return "good", f"seen for {seconds(least)}{' and longer' if len(results) > 1 else ''}"


def _required(run: Run, gate: Gate) -> tuple[Grade, str]:
    """Return whether a run met the latency that was required of it."""
    required = run.requirement
    latency = units.trimmed(required.latency, required.unit) if required else ""
    concerned = [s for s in subjects_of(run) if s.result.required]
    singly = [r if (r := s.result).batch == 1 else r.single or r for s in concerned]
    due = count(sum(r.n + (r.missed or 0) for r in singly))
    noun = "samples" if any(r.missed is None for r in singly) else "activations"
    model = "in the model, " if origin.model(run) else ""
    missed = [s for s in concerned if s.result.required and s.result.required.n]
    if missed:
        worst = max(missed, key=lambda s: (s.result.max or 0, -s.place))
        flag = flags.spoilt(worst.result.flags)
        how = f" as it was run ({flag.spoils.removeprefix('measured ')})" if flag else ""
        ended = "; the run ended there" if worst.result.ended == BY_LIMIT else ""
        telling = [s for s in concerned if _says_something(s.result)]
        loads = dict.fromkeys([worst.result.load, *(s.result.load for s in telling)])
        each = {
            load: _misses(run, [s for s in telling if s.result.load == load], noun)
            for load in loads
        }
        head = f"{each.pop(worst.result.load)}{_at_worst(run, worst)}, {_which(worst, concerned)}"
        head += _incomplete(worst.result)
        elsewhere = "".join(f"; {text}, {_under(load)}" for load, text in each.items())
        basis = f" {_as_time(run)}." if _per_second(run) else ""
        sentence = (
            f"{latency} not met{how}: {model}{head}{elsewhere}{ended}.{basis}{_stolen(run, worst)}"
        )
        return "bad", f"{sentence} {_remedy(run, flag)}" if flag else sentence
    if gate.verdict != "passed":
        if concerned and (flag := spoilt([s.result for s in concerned])):
            if flag.name not in _RIGHTS:
                return "info", f"No verdict on {latency}: {flag.spoils}. {_remedy(run, flag)}"
            under = _among(s.result.load for s in concerned)
            return "info", (
                f"None of {due} {noun} later than {latency}, {model}{under}; "
                f"no verdict, as it was {flag.spoils}. {_remedy(run, flag)}"
            )
        why = next((check.reason for check in gate.ordered if check.reason), "nothing was due")
        return "info", f"No verdict on {latency}: {(why or '').rstrip('.')}."
    grade, seen = _seen([s.result for s in concerned])
    basis = f" {_as_time(run)}." if _per_second(run) else ""
    return grade, f"{latency} met, {model}{seen}: none of {due} {noun} later.{basis}"


def _incomplete(result: Result) -> str:
    """Return that a result which a sentence rests on is not whole; empty if it is."""
    return "" if result.status == "ok" else f", in a result that is {result.status}"


def _says_something(result: Result) -> bool:
    """Return whether a verdict may rest on a result: bad conditions void only what is good."""
    if flags.spoilt(result.flags) is None:
        return True
    if result.required:
        return bool(result.required.n)
    return bool(flags.unfit(result.flags, result.n, result.missed))


def _misses(run: Run, subjects: Sequence[Subject], noun: str) -> str:
    """Return what these results missed of a limit, in the word of the trade if it has one.

    ``5 of 1 000 activations missed: 3 later, 2 never``.
    """
    results = [s.result for s in subjects]
    singly = [r if r.batch == 1 else r.single or r for r in results]
    due = count(sum(r.n + (r.missed or 0) for r in singly))
    misses = [r.required for r in results if r.required]
    late = sum(m.late for m in misses)
    never = sum(m.n for m in misses) - late
    if never and late:
        text = (
            f"{count(late + never)} of {due} {noun} missed: {count(late)} later, "
            f"{count(never)} never"
        )
    elif never:
        text = f"{count(never)} of {due} {noun} never came"
    else:
        text = f"{count(late) if late else 'none'} of {due} {noun} later"
    return _called(run, subjects, late + never, text)


def _among(loads: Iterable[str]) -> str:
    """Return under which loads something was, in words."""
    return " and ".join(_under(load) for load in dict.fromkeys(loads))


def _lost(run: Run, wakeups: Sequence[Subject]) -> str | None:
    """Return why a run says nothing of tasks that a timer wakes although some were never late.

    A case that was lost may be the one that could not keep up.
    """
    benches = {s.result.bench for s in wakeups}
    lost = [
        s
        for s in subjects_of(run)
        if s.result.bench in benches and s.result.status in LOST_STATUSES and not s.result.not_begun
    ]
    if not lost:
        return None
    many = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    why = (lost[0].result.reason or NO_REASON).rstrip(".")
    return (
        f"No verdict: {lost[0].name.without_load}{many}, {_under(lost[0].result.load)}, "
        f"{lost[0].result.status}: {why}."
    )


def why_nothing(run: Run) -> str | None:
    """Return why a run has no valid result, with how many other reasons there are."""
    alike: dict[str, str] = {}  # reasons that differ only in the bench that they name
    for r in run.results:
        if r.reason:
            alike.setdefault(r.reason.removesuffix(f" {r.bench}"), r.reason)
    texts = [*alike.values(), *filter(None, [run.reason])]
    if words.measured(run) or not texts:
        return None
    rest = f"; {counted(len(texts) - 1, 'other reason')}" if len(texts) > 1 else ""
    return f"{texts[0].rstrip('.')}{rest}."


def spoilt(results: Sequence[Result]) -> flags.Flag | None:
    """Return why none of these results allows a verdict; None if one does."""
    causes = [flags.spoilt(result.flags) for result in results]
    return None if None in causes else causes[0]


def _remedy(run: Run, flag: flags.Flag) -> str:
    """Return what to do, as a command where there is one."""
    if flag.name in _RIGHTS and (remedy := grants(run)):
        return remedy
    return f"{flag.advice[0].upper()}{flag.advice[1:]}."


def grants(run: Run) -> str:
    """Return the command that grants the rights to measure, or why none does.

    Empty for other targets.
    """
    if run.target.name != LOCAL:
        return ""
    for right, condition, capability in _CAPABILITIES:
        held = right in lacking_rights(run) and run.conditions.get(condition) is True
        if held and (cause := refused(capability)):
            return f"{capability} is held, and yet it is refused: {cause}."
    return f"This grants them: {granting(resources.local_agent())}"


def _stolen(run: Run, subject: Subject) -> str:
    """Return what came with steal on a virtual machine, in a sentence; empty if nothing did."""
    result = subject.result
    stolen = any(sample.steal_ns for sample in result.worst) or share_with_steal(result)
    if run.conditions.get("machine.virtual") is False or not stolen:
        return ""
    text = with_steal(result)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _breakdown(run: Run) -> str | None:
    """Return what Hartstone experiments say about deadlines, None if there are none.

    Experiments that the time limit ended before they broke down are named, as they hide nothing.
    """
    judged = [r for r in run.results if not flags.spoilt(r.flags)]
    left = [r for r in run.results if r.figures.keys() & _EXPERIMENT and flags.spoilt(r.flags)]
    reached = [(at, r.bench) for r in judged if (at := breakdown(r)) is not None]
    broke = [(at, bench) for at, bench in reached if at.broke]
    held = [(at, bench) for at, bench in reached if not at.broke]
    if not broke and not held:
        return None
    unbroken = ", ".join(f"{bench} (up to {at.held:.1f} %)" for at, bench in held)
    if not broke:
        sentence = f"No deadline was missed, as far as the time allowed: {unbroken}."
        return sentence + _not_counted(left)
    least, bench = min(broke)
    sentence = (
        f"Deadlines held up to {least.held:.1f} % of raw speed: "
        f"the least of {counted(len(broke), 'breakdown')}, {bench}."
    )
    if least.again is not None:
        sentence += (
            f" It missed some at {least.missed or 0:.1f} % and held again at "
            f"{least.again:.1f} %: a disturbance, or the breakdown lies between."
        )
    rest = f" Not broken down in the time: {unbroken}." if held else ""
    return sentence + rest + _not_counted(left)


def _not_counted(left: Sequence[Result]) -> str:
    """Return how many experiments no verdict rests on and why, empty if none is left out."""
    flag = spoilt(left) if left else None
    return f" {counted(len(left), 'experiment')} not counted: {flag.spoils}." if flag else ""


def _under(load: str) -> str:
    return "without load" if load == NONE else f"under load {load}"


def _which(subject: Subject, peers: Sequence[Subject]) -> str:
    """Return under which load a result was measured, after its name if its peers differ."""
    under = _under(subject.result.load)
    beside = [s.name for s in peers if s.result.load == subject.result.load]
    if len({name.without_load for name in beside}) < 2:
        return under
    one_bench = len({name.bench for name in beside}) == 1
    own = subject.name.within_bench if one_bench else subject.name.without_load
    return f"{own or subject.name.without_load}, {under}"


def _period_ns(subject: Subject) -> float | None:
    params = subject.result.params
    period = params.get("period", params.get("interval"))  # of cyclictest
    return period if isinstance(period, int | float) else None


def _period(subject: Subject) -> str:
    ns = _period_ns(subject)
    return "its period" if ns is None else f"a period of {units.trimmed(ns, 'ns')}"


def _left_out(wakeups: Sequence[Subject]) -> Iterator[str]:
    """Yield which wake-ups were left out of a verdict that is based on others."""
    left = [s for s in wakeups if not _says_something(s.result)]
    if left and len(left) < len(wakeups) and (flag := flags.spoilt(left[0].result.flags)):
        names = "; ".join(s.name.with_load for s in left[:_NAMED])
        rest = f"; and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        yield (
            f"Left out of the verdict: {len(left)} of {counted(len(wakeups), 'case')} "
            f"({names}{rest}), {flag.spoils}."
        )


def _disturbed(run: Run) -> Iterator[str]:
    """Yield what disturbed results from outside, and how many."""
    measured = words.measured(run)
    times = Counter(name for result in measured for name in set(result.flags))
    causes = [
        f"{flags.BY_NAME[name].cause}, in {times[name]} of {counted(len(measured), 'result')}"
        for name in DISTURBED
        if times[name]
    ]
    if causes:
        yield f"Disturbed: {'; '.join(causes)} ({', '.join(n for n in DISTURBED if times[n])})."
