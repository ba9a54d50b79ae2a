"""The rule of equal conditions: same machine, same source, same optimisation, same parameters.

Runs that must not be compared at all are refused; other differences are named with their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from rtstone.documents.capacity import KIND, named
from rtstone.documents.comparison import Difference, Grade, Holds
from rtstone.documents.imported import tool
from rtstone.documents.pauses import has_servers, servers, throttling
from rtstone.documents.run import Run, Value, rights_in
from rtstone.documents.worstcase import Nature
from rtstone.results.flags import TRACED
from rtstone.stats.comparison.systems import System, called
from rtstone.units import trimmed
from rtstone.wire.parameters import quantity
from rtstone.wire.records import Param

TIME = "ns"
RIGHTS, IDLE = "rights", "/dev/cpu_dma_latency"
_WITHOUT_RIGHTS = {IDLE}  # what a run also loses that has lost its rights
_OPTIMISATION = re.compile(r"-O\S*|-flto\S*")


def unit(run: Run) -> str | None:
    """Return the unit of the run's times, None if it measured nothing."""
    if run.clock:
        return run.clock.unit
    return next((result.unit for result in run.results if result.n), None)


# ---- what is refused ----------------------------------------------------------------------------


def incompatibility(systems: Sequence[System]) -> str | None:
    """Return why these cannot be compared at all, None if they can."""
    if parts := _parted(systems, lambda run: _COUNTED.get(unit(run) or "")):
        return f"instructions and time cannot be compared: {parts}; name runs of one kind"
    if parts := _parted(systems, lambda run: _FREE if free(run) else _OTHERWISE):
        return (
            f"an emulator that runs freely cannot be compared with anything else: {parts}; "
            "run all of them without --icount off"
        )
    return None


def mixed(runs: Sequence[Run]) -> str | None:
    """Return why these are not runs of one system, None if they are."""
    apart = [System(run.run_id, [run]) for run in runs]
    if why := incompatibility(apart):
        return why
    for aspect, read in (("target", called), ("kernel", condition("kernel.release"))):
        if differing(aspect, "care", [(run.run_id, _words(read(run))) for run in runs]):
            return f"{aspect} is not the same"
    for difference in circumstances(apart)[1]:
        if difference.grade == "care" and difference.aspect != SEEDS:
            return f"{difference.aspect} is not the same"
    return None


def counted(run: Run) -> bool:
    """Return whether numbers depend on the system alone: instructions, or a model."""
    return not free(run) and (unit(run) == "instructions" or nature(run) == "model")


SEEDS = "seeds"
_NATURES: dict[Nature, str] = {
    "machine": "a machine", "emulated": "an emulated machine", "model": "a model",
}  # fmt: skip
_COUNTED = {"ns": "measured time", "instructions": "counted instructions"}
_FREE, _OTHERWISE = "ran freely (icount off)", "did not"


def free(run: Run) -> bool:
    """Return whether an emulator ran without counting instructions (icount off)."""
    return run.target.detail.get("icount") is False


def _parted(systems: Sequence[System], kind_of: Callable[[Run], str | None]) -> str | None:
    """Return the kinds of systems with their labels, None if all are of one kind."""
    kinds = _by_value((system.label, kind_of(system.first)) for system in systems)
    kinds.pop(None, None)
    if len(kinds) < 2:
        return None
    return ", ".join(f"{' and '.join(labels)} {kind}" for kind, labels in kinds.items())


# ---- what differs -------------------------------------------------------------------------------


class _Named(Protocol):
    """A difference in an aspect."""

    @property
    def aspect(self) -> str: ...


_D = TypeVar("_D", bound=_Named)


def in_order(differences: Iterable[_D]) -> list[_D]:
    """Return differences in the order in which they are named, otherwise as they are.

    Rights are first, as no other condition changes a latency as much, then what is lost with them.
    """
    differences = list(differences)
    if all(difference.aspect != RIGHTS for difference in differences):
        return differences

    def place(difference: _D) -> int:
        return 0 if difference.aspect == RIGHTS else 2 - (difference.aspect in _WITHOUT_RIGHTS)

    return sorted(differences, key=place)


class Aspect(NamedTuple):
    """A circumstance of a run, and how serious a difference in it is.

    ``linux``: of Linux only: other systems are left out, and an unknown value is only a note.
    ``absent``: what a run without a value has, where another one has a value.
    """

    name: str
    grade: Grade
    read: Callable[[Run], Value]
    linux: bool = False
    absent: str | None = None  # None: it is unknown


def detail(name: str) -> Callable[[Run], Value]:
    """Return what reads a member of a target's detail."""
    return lambda run: run.target.detail.get(name)


def _qemu(run: Run) -> str | None:
    version = run.target.detail.get("qemu")
    return version.removeprefix("QEMU emulator version ") if isinstance(version, str) else None


def condition(name: str) -> Callable[[Run], Value]:
    """Return what reads a condition of a run."""
    return lambda run: run.conditions.get(name)


def agent(name: str) -> Callable[[Run], Value]:
    """Return what reads a member of a run's agent, None if it has none."""
    return lambda run: getattr(run.agent, name) if run.agent else None


def _optimisation(run: Run) -> str | None:
    return None if run.agent is None else " ".join(_OPTIMISATION.findall(run.agent.flags)) or "none"


def _other_flags(run: Run) -> str | None:
    if run.agent is None:
        return None
    return " ".join(_OPTIMISATION.sub("", run.agent.flags).split()) or "none"


def _rights(run: Run) -> str | None:
    """Return the rights of the measuring task, None if another tool did not record them.

    A system without such rights grants them all.
    """
    evidence = [result.evidence for result in run.results]
    if tool(run) and not any("sched" in e for e in evidence):
        return None
    return rights_in(evidence)


def nature(run: Run) -> Nature:
    """Return the kind of system that the numbers come from."""
    if run.target.detail.get("model") or run.conditions.get("model"):
        return "model"
    return "emulated" if emulated(run) else "machine"


def emulated(run: Run) -> bool:
    """Return whether it is a run of the lab."""
    return run.target.detail.get("board") is not None


def _left_to_others(run: Run) -> str | None:
    """Return for how long others get the CPU of a busy real-time task, by whatever means.

    What differs is the time: 50 ms of a second are RT throttling in one kernel, a deadline server
    in the next.
    """
    conditions = run.conditions
    lists = [result.evidence.get("cpus") for result in run.results]
    cpus = {cpu for cpus in lists if isinstance(cpus, list) for cpu in cpus if isinstance(cpu, int)}
    served, throttled = servers(conditions, cpus), throttling(conditions)
    if served is None or conditions.get("sched.rt_runtime_us") is None:
        return None
    times = {(pause.length_ns, pause.period_ns) for pause in served}
    if throttled and (throttled.length_ns, throttled.period_ns) not in times:
        if has_servers(conditions) and conditions.get("sched.rt_group_sched") is None:
            return None  # this kernel may have RT throttling or not
        times.add((throttled.length_ns, throttled.period_ns))
    texts = [f"{trimmed(a, 'ns')} of {trimmed(b, 'ns')}" for a, b in sorted(times)]
    return ", ".join(texts) or "nothing"


def _scheduler(run: Run) -> str | None:
    """Return the scheduler of tasks that are not real-time."""
    if "sched_ext.state" not in run.conditions:
        return None
    state = run.conditions["sched_ext.state"]
    if state in (None, "", "disabled"):
        return "the kernel's"
    return f"sched_ext {run.conditions.get('sched_ext.ops') or '(unknown)'}, {state}"


def _until(run: Run) -> str | None:
    """Return the precision that ended the cases of a run, None if none did."""
    texts = (f"{u.statistic} to {u.asked:.3g}" for r in run.results if (u := r.until))
    return ", ".join(dict.fromkeys(texts)) or None


def _stop_above(run: Run) -> str | None:
    """Return the latency that ended a run, None if none did."""
    required = run.requirement
    return trimmed(required.stop_above, required.unit) if required and required.stop_above else None


def _traced(run: Run) -> str | None:
    return "yes" if any(TRACED in result.flags for result in run.results) else None


_EVERYWHERE = [
    Aspect("numbers come from", "care", lambda run: _NATURES[nature(run)]),
    Aspect("architecture", "care", agent("arch")),
    # The source that all ports share, else all of the agent's source.
    Aspect(
        "agent's common source", "care", lambda run: agent("common")(run) or agent("source")(run)
    ),
    Aspect("compiler", "care", agent("compiler")),
    Aspect("traced", "care", _traced, absent="no"),
    Aspect("stop above", "care", _stop_above, absent="nothing"),
    Aspect("until", "care", _until, absent="the limits of each case"),
    Aspect("optimisation", "care", _optimisation),
    Aspect("other compiler flags", "note", _other_flags),
    Aspect(RIGHTS, "care", _rights),
    Aspect("CPU left to others by busy real-time tasks", "care", _left_to_others, True),
    Aspect("scheduler of other tasks", "care", _scheduler, True),
    Aspect("slice extension", "care", condition("rseq.slice_extension"), True),
    Aspect("length of a slice extension", "care", condition("rseq.slice_extension_ns"), True),
    Aspect("proxy execution", "care", condition("sched.proxy_exec"), True),
    Aspect("RT_GROUP_SCHED", "care", condition("sched.rt_group_sched"), True),
]
_IN_THE_LAB = [
    Aspect("board", "care", detail("board")),
    Aspect("shift", "care", detail("shift")),
    Aspect("QEMU", "care", _qemu),
    Aspect("hypervisor", "care", detail("hypervisor"), absent="none"),
    Aspect("its command line", "care", detail("hypervisor_command"), absent="none"),
    Aspect("system beside", "care", detail("beside"), absent="none"),
    Aspect("its load", "care", detail("beside_load"), absent="none"),
    Aspect("device", "care", detail("device"), absent="none"),
]
_IN_TIME = [
    Aspect(KIND, "care", lambda run: named(run, run.results), True),
    Aspect("CPU", "care", condition("cpu.model")),
    Aspect("machine", "care", condition("machine.product")),
    Aspect("host", "care", condition("machine.host")),  # of imports
    Aspect("virtual machine", "care", condition("machine.virtual")),
    Aspect("clock", "care", lambda run: run.clock.source if run.clock else None),
    Aspect(IDLE, "care", condition("cpu_dma_latency")),
    Aspect("governor", "note", condition("cpu.governor")),
]


def circumstances(systems: Sequence[System]) -> tuple[dict[str, str], list[Difference]]:
    """Return the circumstances that all share, and those that differ; without unknown ones."""
    lab = any(emulated(system.first) for system in systems)
    equal: dict[str, str] = {}
    differences: list[Difference] = []
    for aspect in [*(_IN_THE_LAB if lab else _IN_TIME), *_EVERYWHERE]:
        values = [
            (system.label, _words(aspect.read(system.first)))
            for system in systems
            if not aspect.linux or "kernel.release" in system.first.conditions
        ]
        texts = [value for _, value in values if value is not None]
        if texts and aspect.absent:
            values = [(label, value or aspect.absent) for label, value in values]
        note = aspect.linux and len(set(texts)) < 2
        if difference := differing(aspect.name, "note" if note else aspect.grade, values):
            differences.append(difference)
        elif texts:
            equal[aspect.name] = texts[0]
    # Systems without random numbers have no seed, which does not count as a difference.
    seeds = [(s.label, ", ".join(map(str, sorted(s.seeds)))) for s in systems if s.seeds]
    if difference := differing(SEEDS, "care", seeds):
        differences.append(difference)
    return equal, differences + _ports(systems) + _loads(systems)


def differing(
    aspect: str, grade: Grade, values: Iterable[tuple[str, str | None]], bench: str | None = None
) -> Difference | None:
    """Return the difference in an aspect, None if all values are equal; ``values``: by label."""
    holders = _by_value(values)
    if len(holders) < 2:
        return None
    return Difference(
        aspect=aspect,
        grade=grade,
        values=[Holds(value=v or "unknown", columns=labels) for v, labels in holders.items()],
        benches=[] if bench is None else [bench],
    )


def _by_value(pairs: Iterable[tuple[str, str | None]]) -> dict[str | None, list[str]]:
    labels: dict[str | None, list[str]] = {}
    for label, value in pairs:
        labels.setdefault(value, []).append(label)
    return labels


def _words(value: Value) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value in (None, "", []) else str(value)


def _ports(systems: Sequence[System]) -> list[Difference]:
    """Return differences between ports of the same name; those of other names always differ."""
    agents = [(system.label, agent) for system in systems if (agent := system.first.agent)]
    differences = [
        differing(
            f"port {name}", "care", [(label, a.source) for label, a in agents if a.port == name]
        )
        for name in dict.fromkeys(agent.port for _, agent in agents)
        if len({agent.common for _, agent in agents if agent.port == name} - {None}) == 1
    ]
    return [difference for difference in differences if difference]


# ---- loads --------------------------------------------------------------------------------------


def _loads(systems: Sequence[System]) -> list[Difference]:
    """Return differences between loads of the same name: parameters and components."""
    names = dict.fromkeys(loaded.load for s in systems for run in s.runs for loaded in run.loads)
    differences = []
    for name in names:
        started = [
            (
                s.label,
                [x for run in s.runs for x in run.loads if (x.load, x.status) == (name, "ok")],
            )
            for s in systems
        ]
        present = [(label, loads) for label, loads in started if loads]
        params = dict.fromkeys(param for _, loads in present for x in loads for param in x.params)
        for param in (None, *params):
            values = []
            for label, loads in present:
                texts = [part.name for loaded in loads for part in loaded.components]
                if param is not None:  # all its values, if the load was started in several ways
                    texts = [value(None, loaded.params.get(param)) for loaded in loads]
                values.append((label, ", ".join(dict.fromkeys(texts))))
            if difference := differing(f"load {name}, {param or 'parts'}", "care", values):
                differences.append(difference)
    return differences


def value(param: Param | None, setting: Value) -> str:
    """Return a parameter's value as users write it."""
    if isinstance(setting, bool):
        return "on" if setting else "off"
    return quantity(param, setting) if param and setting is not None else str(setting)
