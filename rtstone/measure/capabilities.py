"""Distinguish what a target lacks from what rtstone does not know: only that is a usage error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from msgspec import structs

from rtstone.documents.plan import NONE, LoadSpec
from rtstone.documents.run import Value
from rtstone.wire.parameters import Catalogue, allowed, quantity
from rtstone.wire.records import Param, Table


class Missing(NamedTuple):
    """Why a case cannot run on a target, and the parameters that are the cause."""

    reason: str
    params: Mapping[str, Value] = {}


# What a capability of the agent's (RTS_EACH_CAP in agent/core/port.h) is to its user.
WORDS: Mapping[str, str] = {
    "priorities": "tasks of different priority",
    "round_robin": "time slicing",
    "process": "processes",
    "sem_named": "named semaphores",
    "sem_pshared": "semaphores that processes share",
    "heap": "a heap",
    "clock_library": "a clock of its library",
    "clock_syscall": "a system call that reads the clock",
    "lock_protect": "mutexes with a priority ceiling",
    "cpu_time": "the CPU time of tasks",
    "smp": "a second CPU",
    "signals": "real-time signals",
    "files": "a file system",
    "network": "a network",
    "deadline": "scheduling by deadline",
    "posix": "calls of POSIX",
    "children": "tasks that are created without running at once",
    "event": "periodic hardware events",
    "irq_timer": "a timer whose handler reads its counter",
    "suspend": "suspension of another task",
    "soft_irq": "interrupts on request",
    "rwlock": "read-write locks",
    "barrier": "barriers",
    "spin": "spin locks",
    "cold_cache": "caches that can be emptied",
    "footprint": "figures of its memory",
    "sem_sysv": "semaphores of System V",
}

# Values of parameters that take a capability, in whichever bench they are a choice.
CHOICES: Mapping[tuple[str, str], str] = {
    ("entity", "process"): "process",
    ("kind", "clone"): "process",
    ("kind", "fork"): "process",
    ("kind", "spawn"): "process",
    ("kind", "vfork"): "process",
    ("type", "named"): "sem_named",
    ("type", "pshared"): "sem_pshared",
    ("type", "sysv"): "sem_sysv",
    ("mechanism", "sysv"): "posix",
    ("mechanism", "pipe"): "posix",
    ("mechanism", "fifo"): "posix",
    ("mechanism", "unix"): "posix",
    ("protocol", "protect"): "lock_protect",
    ("lock", "protect"): "lock_protect",
    ("policy", "rr"): "round_robin",
    ("policy", "deadline"): "deadline",
    ("clock", "library"): "clock_library",
    ("clock", "syscall"): "clock_syscall",
}

_T = TypeVar("_T", bound=Table)


def merge_catalogues(here: Catalogue, elsewhere: Catalogue) -> Catalogue:
    """Return the union of two catalogues; defaults and, where present, texts are ``here``'s."""
    return Catalogue(_merged(here.benches, elsewhere.benches), _merged(here.loads, elsewhere.loads))


def lack(
    bench: str,
    params: Mapping[str, Value],
    call: LoadSpec,
    here: Catalogue,
    everywhere: Catalogue,
) -> Missing | None:
    """Return what ``here`` lacks for a case of ``everywhere``; None if it lacks nothing."""
    if bench not in here.benches:
        reasons = [why for start, why in here.apart.items() if bench.startswith(start)]
        reasons += _unmet(everywhere.benches.get(bench), here)
        return Missing(next(iter(reasons), f"this target has no bench {bench}"))
    if call.name != NONE:
        if call.name not in here.loads:
            unmet = _unmet(everywhere.loads.get(call.name), here)
            reasons = [f"load {call.name} {why}" for why in unmet]
            return Missing(next(iter(reasons), f"this target has no load {call.name}"))
        whole = not any(value is False for value in call.params.values())
        if whole and call.name in here.beyond:
            return Missing(f"load {call.name} {here.beyond[call.name]}")
        if missing := _missing(here.loads[call.name], call.params, here):
            return Missing(f"load {call.name}: {'; '.join(missing.values())}")
    missing = _missing(here.benches[bench], params, here)
    if not missing:
        return None
    return Missing("; ".join(missing.values()), {name: params[name] for name in missing})


def _unmet(table: Table | None, here: Catalogue) -> list[str]:
    """Say what another system's bench or load needs that this one lacks; nothing if not known."""
    if table is None or here.capabilities is None:
        return []
    unmet = [WORDS.get(need, need) for need in table.needs if need not in here.capabilities]
    names = " and ".join(filter(None, (", ".join(unmet[:-1]), *unmet[-1:])))
    return [f"needs {names}, which this system does not have"] if unmet else []


def _missing(table: Table, params: Mapping[str, Value], here: Catalogue) -> dict[str, str]:
    """Return the parameters whose value a table of ``here`` does not allow, with the reason."""
    missing = {}
    for name, value in params.items():
        param = table.param(name)
        if param is None:
            missing[name] = f"{table.id} has no parameter {name} on this target"
            continue
        if param.type == "choice" and param.choices:
            fits = value in param.choices
            allowance = f"it has {', '.join(param.choices)}"
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            low, high = param.min, param.max
            fits = not number or not (
                (low is not None and value < low) or (high is not None and value > high)  # type: ignore[operator]
            )
            allowance = f"it may be {allowed(param)}"
        if fits:
            continue
        need = CHOICES.get((name, str(value))) if param.type == "choice" else None
        if need and here.capabilities is not None and need not in here.capabilities:
            why = f"needs {WORDS[need]}, which this system does not have"
        else:
            why = f"is not supported here, {allowance}"
        missing[name] = f"{name}={quantity(param, value)} {why}"
    return missing


def _merged(here: Mapping[str, _T], elsewhere: Mapping[str, _T]) -> dict[str, _T]:
    """Return the union of two lists of tables; a parameter of both allows the values of both."""
    tables = {**elsewhere, **here}
    for name in here.keys() & elsewhere.keys():
        own, other = here[name], elsewhere[name]
        params: list[Param] = []
        for param in own.params:
            beside = other.param(param.name)
            if beside is not None:
                param = structs.replace(param, help=param.help or beside.help)  # noqa: PLW2901
            if beside is not None and beside.type == param.type:
                choices = [*(param.choices or []), *(beside.choices or [])]
                param = structs.replace(  # noqa: PLW2901
                    param,
                    choices=param.choices and [*dict.fromkeys(choices)],
                    min=_outer(min, param.min, beside.min),
                    max=_outer(max, param.max, beside.max),
                )
            params.append(param)
        params += [param for param in other.params if own.param(param.name) is None]
        tables[name] = structs.replace(
            own,
            title=own.title or other.title,
            source=own.source or other.source,
            help=own.help or other.help,
            params=params,
        )
    return tables


def _outer(
    outer: Callable[[float, float], float], own: float | None, other: float | None
) -> float | None:
    """Return the outer of two bounds; None means unbounded."""
    return None if own is None or other is None else outer(own, other)
