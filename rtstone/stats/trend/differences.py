"""Find what differs between the runs on both sides of a change, most significant first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rtstone.documents import capacity
from rtstone.documents.run import Run, Value, rights_in
from rtstone.documents.trend import Switch
from rtstone.stats.comparison import conditions
from rtstone.stats.comparison.conditions import agent, detail

NEAR = 10  # runs on each side that are looked at
_MOSTLY = 0.8  # share of them that have the value of their side, if a change is some runs off
# Conditions that change by themselves.
_RESTLESS = {"machine.load", "memory.available", "cpu.mhz", "tune.since"}
_UNKNOWN: tuple[Value, ...] = (None, "", [])


class _Aspect(NamedTuple):
    """A condition: what it is called, and its value in a run.

    ``words``: it is a list of words, of which some may be new.  ``moves``: it may have another
    value in every run, and still be the reason of a change.  ``condition``: its name in the run.
    """

    name: str
    read: Callable[[Run], Value]
    words: bool = False
    moves: bool = False
    condition: str | None = None


def _condition(name: str, condition: str, *, words: bool = False, moves: bool = False) -> _Aspect:
    return _Aspect(name, conditions.condition(condition), words, moves, condition)


def _param(name: str) -> Callable[[Run], Value]:
    return lambda run: run.results[0].params.get(name) if run.results else None


def _load(run: Run) -> Value:
    """Return the parameters of the load, as it was started."""
    load = run.results[0].load if run.results else ""
    started = [loaded for loaded in run.loads if loaded.load == load and loaded.status == "ok"]
    return [f"{name}={value}" for loaded in started for name, value in loaded.params.items()]


# Most significant first.  Conditions that are not named here follow, in the order of the run.
_ASPECTS = (
    _Aspect(capacity.KIND, lambda run: capacity.named(run, run.results)),
    _condition("kernel", "kernel.release", moves=True),
    _condition("kernel build", "kernel.version", moves=True),
    _Aspect("kernel", detail("kernel"), moves=True),
    _Aspect("kernel image", detail("kernel_sha256"), moves=True),
    _condition("kernel command line", "kernel.cmdline", words=True, moves=True),
    _condition("kernel configuration", "kernel.config", words=True),
    _condition("preemption", "kernel.preempt_dynamic"),
    _Aspect("preemption", detail("preempt")),
    _condition("PREEMPT_RT", "kernel.realtime"),
    _condition("tuning", "tune", words=True),
    _condition("tuning lost", "tune.lost", words=True),
    _condition("isolated CPUs", "cpu.isolated"),
    _condition("CPUs without a tick", "cpu.nohz_full"),
    _condition("governor", "cpu.governor"),
    _condition("idle driver", "cpu.idle_driver"),
    _condition("idle governor", "cpu.idle_governor"),
    _condition("idle states", "cpu.idle_states", words=True),
    _condition(conditions.IDLE, "cpu_dma_latency"),
    _condition("SMT", "cpu.smt"),
    _condition("boost", "cpu.boost"),
    _condition("turbo off", "cpu.no_turbo"),
    _condition("RT throttling", "sched.rt_runtime_us"),
    _condition("deadline server (ns of a period)", "sched.fair_server"),
    _condition("deadline server of sched_ext (ns of a period)", "sched.ext_server"),
    _condition("sched_ext", "sched_ext.state"),
    _condition("scheduler of sched_ext", "sched_ext.ops"),
    _condition("slice extension", "rseq.slice_extension"),
    _condition("slice extension (ns)", "rseq.slice_extension_ns"),
    _condition("proxy execution", "sched.proxy_exec"),
    _condition("RT_GROUP_SCHED", "sched.rt_group_sched"),
    _condition("clocksource", "clocksource.current"),
    _condition("microcode", "cpu.microcode"),
    _condition("firmware", "machine.bios"),
    _condition("mitigations", "cpu.mitigations", words=True),
    _Aspect("model", detail("model_sha256")),
    _Aspect("emulator", detail("qemu")),
    _Aspect("emulator's command line", detail("emulator_command"), words=True),
    _Aspect("hypervisor", detail("hypervisor")),
    _Aspect("hypervisor's command line", detail("hypervisor_command"), words=True),
    _Aspect("compiler", agent("compiler")),
    _Aspect("compiler flags", agent("flags"), words=True),
    _Aspect("agent source", agent("source"), moves=True),
    _Aspect("agent", agent("version"), moves=True),
    _condition("C library", "libc"),
    _condition("drivers", "drivers", words=True),
    _condition("modules", "modules", words=True),
    _Aspect(
        conditions.RIGHTS,
        lambda run: rights_in([r.evidence for r in run.results]) if run.results else None,
    ),
    _Aspect("clock", lambda run: run.clock.source if run.clock else None),
    _Aspect("load", _load, words=True),
    _Aspect("samples", _param("samples")),
    _Aspect("time", _param("time")),
    _Aspect("warm-up", _param("warmup")),
    _Aspect("priority", _param("prio")),
    _Aspect("CPUs", _param("cpus")),
)
_NAMED = {aspect.condition for aspect in _ASPECTS} | {
    "kernel.build", capacity.CAPACITY, capacity.TYPE,  # the same facts
}  # fmt: skip


def differences(before: Sequence[Run], after: Sequence[Run]) -> list[Switch]:
    """Return the conditions that differ between the runs before and after a change.

    First are those that all runs near it share with their side; among these the most significant.
    What is unknown on a side does not count.
    """
    before, after = before[-NEAR:], after[:NEAR]
    names = dict.fromkeys(name for run in (*before, *after) for name in run.conditions)
    further = [_condition(name, name) for name in names if name not in _NAMED | _RESTLESS]
    switches = [
        switch
        for aspect in (*_ASPECTS, *further)
        if (switch := _switch(aspect, before, after)) is not None
    ]
    # Each once: two sources may report one.
    once: dict[tuple[str, str | None, str | None], Switch] = {}
    for switch in sorted(conditions.in_order(switches), key=lambda switch: not switch.stays):
        once.setdefault((switch.aspect, switch.before, switch.after), switch)
    return list(once.values())


_Reading = str | tuple[str, ...] | None  # a value; of an aspect of words, the words


def _switch(aspect: _Aspect, before: Sequence[Run], after: Sequence[Run]) -> Switch | None:
    former, latter = ([_reading(aspect, run) for run in side] for side in (before, after))
    if any(set(side) == {None} for side in (former, latter)):
        return None
    stays = set(former).isdisjoint(latter)
    steady = len(set(former)) == len(set(latter)) == 1
    if stays and (steady or aspect.moves):
        return _between(aspect, former[-1], latter[0], stays=True)
    (first, n), (then, m) = (Counter(side).most_common(1)[0] for side in (former, latter))
    if first != then and n >= _MOSTLY * len(former) and m >= _MOSTLY * len(latter):
        return _between(aspect, first, then, stays=stays)
    return None


def _between(aspect: _Aspect, former: _Reading, latter: _Reading, *, stays: bool) -> Switch:
    if not aspect.words:
        before, after = (str(value or "unknown") for value in (former, latter))
        return Switch(aspect=aspect.name, before=before, after=after, stays=stays)
    a, b = Counter(former or ()), Counter(latter or ())
    return Switch(
        aspect=aspect.name, before=" ".join(former or ()), after=" ".join(latter or ()),
        gone=list((a - b).elements()), come=list((b - a).elements()), stays=stays,
    )  # fmt: skip


def _reading(aspect: _Aspect, run: Run) -> _Reading:
    value = aspect.read(run)
    if value in _UNKNOWN:
        return None
    if isinstance(value, list):
        return tuple(map(str, value)) if aspect.words else ", ".join(map(str, value))
    if aspect.words:
        return tuple(str(value).split())
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
