"""The guarantee statement (Dankwardt, part 2): a latency that may be promised.

The source found no vendor willing to give one and sketched its form.  It is computed from runs of
one system; if anything speaks against it, the statement has that as a reason and promises nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rtstone.documents.case_key import GUARANTEED, CaseKey, case_key, without
from rtstone.documents.other_names import is_called
from rtstone.documents.run import Agent, Result, Run, Value, as_text
from rtstone.documents.sections import SectionsOfRun, defects
from rtstone.documents.worstcase import (
    Composed,
    Estimated,
    Guarantee,
    Nature,
    Tested,
    WorstCases,
)
from rtstone.errors import UsageError, unknown
from rtstone.results.flags import BY_NAME
from rtstone.stats.comparison.conditions import circumstances, differing, nature
from rtstone.stats.comparison.systems import System
from rtstone.stats.worstcase.extremes import PER_HOUR, worst_case
from rtstone.stats.worstcase.outcome import CONFIDENCE
from rtstone.units import NS_PER_S

# The benches of the statement: from a device's request, here a timer's, to the application.
REQUEST = ("dk.periodic", "int.latency.user")

_KERNEL = (
    "kernel.release", "kernel.version", "kernel.realtime", "kernel.preempt_dynamic",
    "kernel.cmdline", "tune", "sched.rt_runtime_us", "sched.fair_server", "sched.ext_server",
    "sched_ext.ops", "freertos.version", "freertos.tick_hz", "freertos.preemption",
    "freertos.time_slicing", "freertos.tickless",
)  # fmt: skip
_HARDWARE = (
    "machine.vendor", "machine.product", "machine.bios", "machine.virtual", "cpu.model",
    "cpu.microcode", "cpu.cores", "cpu.online", "cpu.isolated", "cpu.smt", "cpu.governor",
    "cpu.capacity", "cpu.types",
    "memory.total",
)  # fmt: skip
_COMPARED = {
    "machine.product", "machine.virtual", "cpu.model", "cpu.governor", "cpu.capacity",
    "cpu.types", "sched.fair_server", "sched.ext_server", "sched_ext.ops",
}  # by conditions.py  # fmt: skip
# Flags of results whose task lacked what the statement requires of an application, beside those
# that allow no bound.
_DISQUALIFIED = ("no_mlock", "shared_cpu", "no_spare_cpu")

# Objections that no number can overcome, by what was measured.
_AGAINST: dict[Nature, list[str]] = {
    "machine": [],
    "emulated": [
        "an emulated machine was measured: it shows what a system does, not how long that takes on "
        "hardware"
    ],
    "model": [
        "a model was measured: its worst case is what it was given, not that of the system it is "
        "made after"
    ],
}

EXCLUDED = [
    "time that is spent inside drivers of third parties, and in firmware (SMI)",
    "loads, devices, kernels and settings other than those named here",
    "the application's own computing, and the tasks and interrupts that it puts above itself",
    "hardware that fails, and what a hypervisor takes, if there is one",
]
VIOLATION = (
    "A latency beyond the bound, on a system as described and under the loads named, more often "
    "than stated, counts as a defect: of the system, or of this statement."
)
# int.latency.user waits by timerfd.
TIMERFD = (
    "On this kernel, PREEMPT_RT, a softirq wakes who waits for a timerfd, as int.latency.user "
    "does: it queues behind other softirqs, and the kernel bounds no such wait. What waits by "
    "clock_nanosleep() is woken by the interrupt itself; `rtstone guarantee --bench dk.periodic` "
    "is about that alone."
)
UNPROVEN = [
    "Measurement alone does not prove the bound. The longest path has to be shown to be bounded, "
    "and to have been exercised.",
    "The bound follows the samples beyond where they were seen. What did not happen in the hours "
    "tested has left no trace in it.",
]


def worst_cases(run: Run, sections: Iterable[SectionsOfRun] = ()) -> WorstCases:
    """Return the estimates of all results of a run that have samples.

    ``sections``: of its cases, as far as they are known.
    """
    composed = _composed(sections)
    cases = [_estimated([result], composed) for result in run.results if result.n]
    return WorstCases(run_id=run.run_id, cases=cases)


def guarantee(
    runs: Sequence[Run], bench: str | None = None, sections: Iterable[SectionsOfRun] = ()
) -> Guarantee:
    """Return the statement.  Raises UsageError for runs of several systems, or without a case.

    ``bench``: the bench that it is about, by default those from a request to the application.
    ``sections``: of cases of these runs, as far as they are known.
    """
    _alike(runs)
    groups = list(_cases(runs, bench).values())
    composed = _composed(sections)
    cases = [_estimated(group, composed) for group in groups]
    first = runs[0]
    flags = {flag for group in groups for result in group for flag in result.flags}
    lacking: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case.worst_case.reason:
            lacking[case.worst_case.reason].append(f"{case.bench} under load {case.load}")
    reasons = [
        *_AGAINST[nature(first)],
        *[BY_NAME[name].cause for name in _DISQUALIFIED if name in flags],
        *(f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in lacking.items()),
    ]
    bounds = [case.worst_case.bound for case in cases if case.worst_case.bound is not None]
    realtime = str(first.conditions.get("kernel.realtime")) == "1"
    named = "PREEMPT_RT" in str(first.conditions.get("kernel.version"))
    by_softirq = (realtime or named) and any(case.bench == "int.latency.user" for case in cases)
    return Guarantee(
        verdict="inconclusive" if reasons else "bound",
        reasons=reasons,
        bound=None if reasons else max(bounds),
        unit=cases[0].worst_case.unit,
        exceedance_per_hour=PER_HOUR,
        confidence=CONFIDENCE,
        runs=[run.run_id for run in runs],
        target=first.target.name,
        nature=nature(first),
        system=first.agent.os if first.agent else None,
        agent=first.agent,
        kernel=_facts(first, _KERNEL),
        hardware=_facts(first, _HARDWARE),
        drivers=as_text(first.conditions.get("drivers")),
        modules=as_text(first.conditions.get("modules")),
        application=_application(groups, is_rtos=is_rtos(first.agent)),
        loads=_tested(runs, groups),
        cases=cases,
        excluded=EXCLUDED,
        violation=VIOLATION,
        unproven=[*UNPROVEN, *([TIMERFD] if by_softirq else [])],
    )


# ---- runs that belong together ------------------------------------------------------------------


def _alike(runs: Sequence[Run]) -> None:
    """Check that kernel, hardware, drivers, agent and loads are equal.  Raises UsageError."""
    names = [run.run_id for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"run named twice, {twice}; name each once")
    systems = [System(run.run_id, [run]) for run in runs]
    differences = circumstances(systems)[1]
    for name in ("target", *_KERNEL, *_HARDWARE, "drivers", "modules"):
        if name in _COMPARED:
            continue
        values = []
        for run in runs:
            value = run.target.name if name == "target" else run.conditions.get(name)
            values.append((run.run_id, None if value is None else str(value)))
        if difference := differing(name, "care", values):
            differences.append(difference)
    if differences:
        parts = [
            f"{d.aspect} ({', '.join(f'{value.columns[0]} {value.value}' for value in d.values)})"
            for d in differences
        ]
        raise UsageError(
            f"the runs are not of one system, they differ in {'; '.join(parts)}; name runs that "
            "differ in nothing but the load"
        )


# ---- cases --------------------------------------------------------------------------------------


def _cases(runs: Sequence[Run], bench: str | None) -> dict[CaseKey, list[Result]]:
    """Return the results of each case over all runs, without unsupported ones."""
    benches = dict.fromkeys(result.bench for run in runs for result in run.results)
    if bench is not None and not any(is_called(each, bench) for each in benches):
        raise unknown("bench", bench, benches, "in these runs")
    groups: dict[CaseKey, list[Result]] = defaultdict(list)
    for run in runs:
        for result in run.results:
            wanted = (
                result.bench in REQUEST
                if bench is None
                else is_called(result.bench, bench, result.params)
            )
            if wanted and result.status != "unsupported":
                groups[_key(result)].append(result)
    if not groups:
        subject = bench or f"what leads from a request to the application, {' or '.join(REQUEST)}"
        raise UsageError(
            f"no result of {subject}, in {', '.join(run.run_id for run in runs)}; "
            "measure dk.periodic, or name another bench with --bench"
        )
    return groups


def _key(case: Result | SectionsOfRun) -> CaseKey:
    return case_key(case.bench, case.params, case.series, case.load, ignoring=GUARANTEED)


def _composed(sections: Iterable[SectionsOfRun]) -> dict[CaseKey, Composed]:
    """Return the largest composed bound of each case, of those that no wake-up contradicts."""
    largest: dict[CaseKey, Composed] = {}
    for document in sections:
        bound = document.bound
        if bound is None or defects(document):
            continue
        part = max((t for t in bound.terms if t.added), key=lambda term: term.longest)
        composed = Composed(
            longest=bound.longest, seen=bound.seen, most_of_it=" > ".join(part.begin)
        )
        key = _key(document)
        largest[key] = max(largest.get(key, composed), composed, key=lambda each: each.longest)
    return largest


def _estimated(results: Sequence[Result], composed: Mapping[CaseKey, Composed]) -> Estimated:
    first = results[0]
    missed = [result.missed for result in results if result.missed is not None]
    return Estimated(
        bench=first.bench,
        params=without(first.params, GUARANTEED),
        series=first.series,
        load=first.load,
        missed=sum(missed) if missed else None,
        worst_case=worst_case(results),
        composed=composed.get(_key(first)),
    )


# ---- what it is about ---------------------------------------------------------------------------


def _facts(run: Run, names: Iterable[str]) -> dict[str, Value]:
    """Return the known ones of these conditions."""
    return {name: v for name in names if (v := run.conditions.get(name)) not in (None, "")}


def is_rtos(agent: Agent | None) -> bool:
    """Return whether the system has no memory to lock, no drivers to load, and no policies."""
    return agent is not None and agent.port == "freertos"


def _application(groups: Iterable[Sequence[Result]], *, is_rtos: bool) -> list[str]:
    """Return what is required of the application, as it held for the measuring task."""
    results = [result for group in groups for result in group]
    policies, cpus = list[str](), list[str]()
    for evidence in (result.evidence for result in results):
        policy, prio, bound = (evidence.get(name) for name in ("sched", "prio", "cpus"))
        if is_rtos and isinstance(prio, int):
            policies.append(f"as a task of priority {prio}")
        elif isinstance(policy, str):
            at = f" at priority {prio}" if policy in {"fifo", "rr"} else ""
            policies.append(f"under SCHED_{policy.upper()}{at}")
        else:
            policies.append("under the highest priority")
        if isinstance(bound, list) and bound:
            cpus.append(", ".join(map(str, bound)))
    way = " or ".join(dict.fromkeys(policies))
    requirements = [f"it runs {way}, and nothing on its CPU is more urgent"]
    if cpus and not is_rtos:
        requirements.append(f"it is bound to CPU {' or '.join(dict.fromkeys(cpus))}")
    if not is_rtos:
        requirements.append(
            "its memory is locked and was touched before, so that it takes no page fault"
        )
    requirements += [
        "in its time-critical section it calls nothing that allocates, prints or waits",
        "its own driver, if it has one, is well behaved: it masks no interrupts for long",
    ]
    return requirements


def _tested(runs: Sequence[Run], groups: Iterable[Sequence[Result]]) -> list[Tested]:
    """Return the loads, with the hours tested under each."""
    under: dict[str, list[Result]] = defaultdict(list)
    for group in groups:
        for result in group:
            under[result.load].append(result)
    started = {loaded.load: loaded for run in runs for loaded in run.loads}
    tested = []
    for name, results in under.items():
        measured, load = _tested_s(results), started.get(name)
        tested.append(
            Tested(
                load=name,
                settings=dict(load.params) if load else {},
                parts=[part.name for part in load.components] if load else [],
                hours=None if measured is None else round(measured / 3600, 6),
                n=sum(result.n for result in results),
            )
        )
    return tested


def _tested_s(results: Sequence[Result]) -> float | None:
    """Return how long the results took in s, None if unknown for one.

    What counts instructions has a time, too: the virtual one of its board, which they make pass.
    """
    spans = [result.evidence.get("section_ns") for result in results]
    recorded = [span for span in spans if isinstance(span, int | float) and span > 0]
    return sum(recorded) / NS_PER_S if len(recorded) == len(spans) else None
