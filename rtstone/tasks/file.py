"""Task sets: TOML files, which docs/guides/tasks.md describes.

All functions raise UsageError: one line that says what, where, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from msgspec import structs

from rtstone import toml
from rtstone.cpus import cpu_set
from rtstone.documents.tasks import (
    Chain,
    Need,
    Policy,
    Protocol,
    Resource,
    ResourceKind,
    Server,
    ServerKind,
    Task,
    TaskSet,
    Use,
    Wake,
    Work,
)
from rtstone.errors import UsageError, unknown
from rtstone.files import content
from rtstone.summary import ESTIMATED
from rtstone.units import counted
from rtstone.wire.parameters import duration

SCHEMA = "rtstone.tasks/1"
QUANTUM = "100ms"  # of policy rr, Linux's default
MOST_TASKS = 200
MOST = 1000  # of anything else in a file
PRIORITIES = range(1, 100)
ASSIGNED = ("rm", "dm")
STATISTICS = (*ESTIMATED, "max")  # of a response

_KEYS: dict[str, type] = {
    "schema": str, "title": str, "quantum": object,
    "task": list, "resource": list, "chain": list, "server": list,
}  # fmt: skip
_TASK: dict[str, type] = {
    "name": str, "period": object, "sporadic": str, "offset": object, "jitter": object,
    "deadline": object, "work": object, "histogram": str, "kwi": object, "priority": object,
    "policy": str, "runtime": object, "cpu": object, "uses": list, "needs": dict, "server": str,
}  # fmt: skip
_USE: dict[str, type] = {"resource": str, "after": object, "for": object}
_NEEDS: dict[str, type] = {
    "missed": object, "response": dict, "jitter": object, "weakly_hard": str,
}  # fmt: skip
_RESOURCE: dict[str, type] = {"name": str, "kind": str, "protocol": str}
_CHAIN: dict[str, type] = {"name": str, "path": list, "deadline": object, "by": str}
_SERVER: dict[str, type] = {
    "name": str, "kind": str, "budget": object, "period": object, "priority": object,
    "cpu": object,
}  # fmt: skip

_RANGE = re.compile(r"\s*([\d.]+\s*[A-Za-zµμ]*)\s*\.\.\s*([\d.]+\s*([A-Za-zµμ]*))\s*")
_SPORADIC = re.compile(r"(min|poisson)\s+(.+)")
_WITHIN = re.compile(r"(\d{1,9})\s+in\s+(\d{1,9})")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def load(path: Path) -> TaskSet:
    """Read a task set."""
    table = toml.read(path, "task set")
    return parse(table, path)


def parse(table: Mapping[str, Any], path: Path) -> TaskSet:
    """Return the task set of a file's table."""
    toml.check_keys(table, _KEYS, str(path))
    if table.get("schema", SCHEMA) != SCHEMA:
        raise UsageError(f"schema is '{table['schema']}', not {SCHEMA}, in {path}")
    if not table.get("task"):
        raise UsageError(f"no tasks, in {path}; add [[task]] tables, as `rtstone tasks new` does")
    for key, most in (("task", MOST_TASKS), ("resource", MOST), ("chain", MOST), ("server", MOST)):
        if len(table.get(key, [])) > most:
            number = counted(len(table[key]), key)
            raise UsageError(f"{number}, in {path}; at most {most} can be analysed")
    tasks = TaskSet(
        title=table.get("title", path.stem),
        quantum_ns=_positive(table.get("quantum", QUANTUM), "quantum", str(path)),
        resources=_each(table, "resource", path, _resource),
        servers=_each(table, "server", path, _server),
        chains=_each(table, "chain", path, _chain),
        tasks=_each(table, "task", path, lambda entry, where: _task(entry, where, path)),
    )
    return checked(tasks, str(path))


def _each(
    table: Mapping[str, Any], key: str, path: Path, read: Callable[[dict[str, Any], str], Any]
) -> list[Any]:
    """Return what ``read`` makes of each table of a list, whose names differ."""
    entries, names = [], set()
    for place, entry in enumerate(table.get(key, []), 1):
        if not isinstance(entry, dict):
            raise UsageError(f"{key} {place} is no table, in {path}; write [[{key}]]")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f'no name of {key} {place}, in {path}; write name = "…"')
        if name in names:
            raise UsageError(f"two {key}s are named '{name}', in {path}; rename one")
        names.add(name)
        entries.append(read(entry, f"{key} '{name}', {path}"))
    return entries


# ---- tables -------------------------------------------------------------------------------------


def _task(entry: dict[str, Any], where: str, path: Path) -> Task:
    toml.check_keys(entry, _TASK, where)
    policy = _choice(entry, "policy", get_args(Policy), "fifo", where)
    arrival, period = _arrival(entry, where)
    work = _work(entry, where, path)
    deadline = _optional(entry, "deadline", where)
    served = entry.get("server")
    if served is not None and (extra := [k for k in ("policy", "priority", "cpu") if k in entry]):
        raise UsageError(
            f"'{extra[0]}' beside server '{served}', in {where}; the server has one, leave it out"
        )
    if "offset" in entry and arrival != "periodic":
        raise UsageError(f"an offset without a period, in {where}; leave it out")
    if "jitter" in entry and arrival not in {"periodic", "sporadic"}:
        raise UsageError(f"a jitter without a period or a least distance, in {where}; leave it out")
    return Task(
        name=entry["name"],
        arrival=arrival,  # type: ignore[arg-type]
        period_ns=period,
        offset_ns=_time(entry["offset"], "offset", where) if "offset" in entry else None,
        jitter_ns=_time(entry.get("jitter", "0s"), "jitter", where),
        deadline_ns=deadline,
        work=work,
        policy=policy,  # type: ignore[arg-type]
        priority=None if served is not None else _priority(entry, policy, where),
        runtime_ns=_runtime(entry, policy, where),
        cpus=_cpus(entry, where),
        uses=[_use(use, where, work.most_ns) for use in _list(entry, "uses", where)],
        needs=_needs(entry.get("needs", {}), where),
        server=served,
    )


def _arrival(entry: Mapping[str, Any], where: str) -> tuple[str, int | None]:
    """Return how a task arrives, and the time that goes with it."""
    if "period" in entry and "sporadic" in entry:
        raise UsageError(f"both 'period' and 'sporadic', in {where}; leave out one")
    if "period" in entry:
        return "periodic", _positive(entry["period"], "period", where)
    if "sporadic" not in entry:
        return "woken", None
    match = _SPORADIC.fullmatch(entry["sporadic"].strip())
    if not match:
        raise UsageError(
            f"bad arrivals '{entry['sporadic']}' for 'sporadic', in {where}; write the least "
            'distance, "min 5ms", or the mean one of random arrivals, "poisson 20ms"'
        )
    kind = "sporadic" if match[1] == "min" else "poisson"
    return kind, _positive(match[2], "sporadic", where)


def _work(entry: Mapping[str, Any], where: str, path: Path) -> Work:
    """Return the work of ``work``, ``histogram`` or ``kwi``."""
    keys = [key for key in ("work", "histogram", "kwi") if key in entry]
    if len(keys) != 1:
        raise UsageError(
            f"{'no work' if not keys else 'both ' + ' and '.join(keys)}, in {where}; write one of "
            'work = "200us", work = "60..200us", histogram = "FILE", kwi = 12'
        )
    if keys == ["kwi"]:
        kwi = entry["kwi"]
        if not isinstance(kwi, int | Decimal) or not 0 < kwi <= 10**9:
            raise UsageError(f"bad number '{kwi}' for 'kwi', in {where}; write one above 0")
        return Work(kwi=float(kwi))
    if keys == ["histogram"]:
        return _histogram(path.parent / entry["histogram"], where)
    text = str(entry["work"])
    match = _RANGE.fullmatch(text)
    if not match:
        most = _positive(text, "work", where)
        return Work(least_ns=most, most_ns=most)
    first = match[1] if re.search(r"[A-Za-zµμ]", match[1]) else match[1] + match[3]
    least, most = _positive(first, "work", where), _positive(match[2], "work", where)
    if least > most:
        raise UsageError(f"bad range '{text}' for 'work', in {where}; write the least first")
    return Work(least_ns=least, most_ns=most)


def _histogram(path: Path, where: str) -> Work:
    """Return the work of a histogram: lines of a time and how often it was taken."""
    try:
        lines = content(path).decode("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {path}, histogram of {where}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"not a histogram, {path}: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not re.fullmatch(r"[0-9]{1,18}", words[1]):
            raise UsageError(
                f"bad line '{line.strip()[:40]}', in {path}, line {number}; write a time and how "
                "often it was taken: 180us 9120"
            )
        rows.append((_positive(words[0], "histogram", f"{path}, line {number}"), int(words[1])))
    taken = [row for row in rows if row[1]]
    if not taken:
        raise UsageError(f"an empty histogram, {path}; write lines of a time and a number")
    times = [time for time, _ in taken]
    return Work(least_ns=min(times), most_ns=max(times), histogram=taken)


def _priority(entry: Mapping[str, Any], policy: str, where: str) -> Any:
    priority = entry.get("priority")
    if policy in {"deadline", "other"}:
        if priority is not None:
            raise UsageError(f"a priority with policy {policy}, in {where}; leave it out")
        return None
    if priority is None:
        raise UsageError(
            f"no priority, in {where}; write a number, 1 to 99, larger is more urgent, or "
            '"rm" or "dm"'
        )
    if priority not in ASSIGNED and not (isinstance(priority, int) and priority in PRIORITIES):
        raise UsageError(
            f"bad priority '{priority}', in {where}; write a number, 1 to 99, larger is more "
            'urgent, or "rm" or "dm"'
        )
    return priority


def _runtime(entry: Mapping[str, Any], policy: str, where: str) -> int | None:
    if "runtime" in entry and policy != "deadline":
        raise UsageError(f"a runtime with policy {policy}, in {where}; leave it out")
    return _optional(entry, "runtime", where)


def _cpus(entry: Mapping[str, Any], where: str) -> list[int]:
    cpu = entry.get("cpu", 0)
    if not isinstance(cpu, int | str):
        raise UsageError(f"bad CPU '{cpu}', in {where}; write a number or a list such as \"0-3\"")
    try:
        return sorted(cpu_set(str(cpu)))
    except UsageError as error:
        raise UsageError(f"{error}, in {where}") from None


def _use(use: Any, where: str, most: int | None) -> Use:
    if not isinstance(use, dict):
        raise UsageError(
            f'bad use, in {where}; write {{ resource = "bus", after = "50us", for = "20us" }}'
        )
    toml.check_keys(use, _USE, where)
    if lacking := [key for key in ("resource", "for") if key not in use]:
        raise UsageError(f"no '{lacking[0]}' of a use, in {where}; write it")
    after = _time(use.get("after", "0s"), "after", where)
    length = _positive(use["for"], "for", where)
    if most is not None and after + length > most:
        raise UsageError(
            f"'{use['resource']}' is held beyond the work of a job, in {where}; make 'after' and "
            "'for' no longer than the work together"
        )
    return Use(resource=use["resource"], after_ns=after, for_ns=length)


def _needs(table: Mapping[str, Any], where: str) -> list[Need]:
    toml.check_keys(table, _NEEDS, f"needs of {where}")
    needs = []
    if "missed" in table:
        text = str(table["missed"]).strip()
        share = _SHARE.fullmatch(text)
        limit = 0.0 if text == "0" else float(share[1]) / 100 if share else -1.0
        if not 0 <= limit <= 1:
            raise UsageError(
                f"bad share '{text}' for 'missed', needs of {where}; write \"0\" or such as \"1%\""
            )
        needs.append(Need(measure="missed", text=text, limit=limit))
    for name, value in table.get("response", {}).items():
        if name not in STATISTICS:
            raise unknown("statistic", name, STATISTICS, f"response in needs of {where}")
        limit_ns = _positive(value, f"response.{name}", where)
        needs.append(Need(measure=f"response.{name}", text=str(value), limit=float(limit_ns)))
    if "jitter" in table:
        limit_ns = _time(table["jitter"], "jitter", where)
        needs.append(Need(measure="jitter", text=str(table["jitter"]), limit=float(limit_ns)))
    if "weakly_hard" in table:
        text = table["weakly_hard"].strip()
        match = _WITHIN.fullmatch(text)
        if not match or int(match[1]) >= int(match[2]):
            raise UsageError(
                f"bad number of misses '{text}' for 'weakly_hard', needs of {where}; write such as "
                '"2 in 100"'
            )
        needs.append(
            Need(measure="weakly_hard", text=text, limit=float(match[1]), within=int(match[2]))
        )
    return needs


def _resource(entry: dict[str, Any], where: str) -> Resource:
    toml.check_keys(entry, _RESOURCE, where)
    kind = _choice(entry, "kind", get_args(ResourceKind), "mutex", where)
    default = "inherit" if kind == "mutex" else "none"
    protocol = _choice(entry, "protocol", get_args(Protocol), default, where)
    if kind != "mutex" and protocol != "none":
        raise UsageError(
            f"protocol {protocol} of a {kind}, which nobody owns, in {where}; make it a mutex, or "
            'write protocol = "none"'
        )
    return Resource(name=entry["name"], kind=kind, protocol=protocol)  # type: ignore[arg-type]


def _chain(entry: dict[str, Any], where: str) -> Chain:
    toml.check_keys(entry, _CHAIN, where)
    path = _list(entry, "path", where)
    if len(path) < 2 or not all(isinstance(name, str) for name in path):
        raise UsageError(f'bad path, in {where}; write names of tasks: path = ["sense", "act"]')
    by = _choice(entry, "by", get_args(Wake), "semaphore", where)
    return Chain(name=entry["name"], path=path, deadline_ns=_optional(entry, "deadline", where),
                 by=by)  # type: ignore[arg-type]  # fmt: skip


def _server(entry: dict[str, Any], where: str) -> Server:
    toml.check_keys(entry, _SERVER, where)
    if lacking := [key for key in ("kind", "budget", "period") if key not in entry]:
        raise UsageError(f"no '{lacking[0]}', in {where}; write it")
    kind = _choice(entry, "kind", get_args(ServerKind), "", where)
    budget = _positive(entry["budget"], "budget", where)
    period = _positive(entry["period"], "period", where)
    if budget > period:
        raise UsageError(f"a budget above the period, in {where}; make it smaller")
    priority = _priority(entry, "deadline" if kind == "cbs" else "fifo", where)
    return Server(name=entry["name"], kind=kind, budget_ns=budget,  # type: ignore[arg-type]
                  period_ns=period, priority=priority, cpus=_cpus(entry, where))  # fmt: skip


# ---- values -------------------------------------------------------------------------------------


def _time(value: object, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise UsageError(f"'{key}' is no time, in {where}; write such as \"200us\"")
    return duration(str(value), f"{key} of {where}")


def _positive(value: object, key: str, where: str) -> int:
    time = _time(value, key, where)
    if time == 0:
        raise UsageError(f"'{key}' is 0, in {where}; make it longer")
    return time


def _optional(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    return _positive(entry[key], key, where) if key in entry else None


def _choice(
    entry: Mapping[str, Any], key: str, choices: Sequence[str], default: str, where: str
) -> str:
    value: str = entry.get(key, default)
    if value not in choices:
        raise unknown(key, value, choices, f"in {where}")
    return value


def _list(entry: Mapping[str, Any], key: str, where: str) -> list[Any]:
    values: list[Any] = entry.get(key, [])
    if len(values) > MOST:
        raise UsageError(f"{len(values)} entries in '{key}', in {where}; at most {MOST}")
    return values


# ---- the whole ----------------------------------------------------------------------------------


def checked(tasks: TaskSet, where: str) -> TaskSet:
    """Return a task set whose parts fit together."""
    _check_names(tasks, where)
    _check_chains(tasks, where)
    for task in tasks.tasks:
        at = f"task '{task.name}', {where}"
        _check_sections(task, tasks, at)
        if task.policy == "deadline":
            _check_reservation(task, tasks, at)
    priorities = [task.priority for task in tasks.tasks]
    priorities += [server.priority for server in tasks.servers]
    words = {str(priority) if priority in ASSIGNED else "a number"
             for priority in priorities if priority is not None}  # fmt: skip
    if len(words) > 1:
        raise UsageError(
            f"priorities by {' and '.join(sorted(words))}, in {where}; write all in one way, as "
            "nobody knows which of two kinds is more urgent"
        )
    cpus = {server.name: server.cpus for server in tasks.servers}
    served = [
        structs.replace(task, cpus=cpus[task.server]) if task.server is not None else task
        for task in tasks.tasks
    ]
    return structs.replace(tasks, tasks=served)


def _check_names(tasks: TaskSet, where: str) -> None:
    """Refuse names of what does not exist."""
    names = {
        "task": [task.name for task in tasks.tasks],
        "resource": [resource.name for resource in tasks.resources],
        "server": [server.name for server in tasks.servers],
    }
    for chain in tasks.chains:
        for name in chain.path:
            if name not in names["task"]:
                raise unknown("task", name, names["task"], f"in chain '{chain.name}', {where}")
    for task in tasks.tasks:
        at = f"in task '{task.name}', {where}"
        for use in task.uses:
            if use.resource not in names["resource"]:
                raise unknown("resource", use.resource, names["resource"], at)
        if task.server is not None and task.server not in names["server"]:
            raise unknown("server", task.server, names["server"], at)


def _check_chains(tasks: TaskSet, where: str) -> None:
    """Refuse chains in a circle, tasks that nobody wakes, and tasks that two wake."""
    wakers: dict[str, set[str]] = {}
    for chain in tasks.chains:
        if twice := next((n for n in chain.path if chain.path.count(n) > 1), None):
            raise UsageError(
                f"a cycle: '{twice}' comes twice in chain '{chain.name}', in {where}; end the path "
                "before it comes again"
            )
        for before, name in zip(chain.path, chain.path[1:], strict=False):
            if tasks.task(name).arrival == "woken":
                wakers.setdefault(name, set()).add(before)
    for task in tasks.tasks:
        if task.arrival == "woken" and task.name not in wakers:
            raise UsageError(
                f"nothing releases task '{task.name}', in {where}; write a period or sporadic, or "
                "a chain in which it follows the task that wakes it"
            )
        if len(wakers.get(task.name, ())) > 1:
            both = " and ".join(f"'{name}'" for name in sorted(wakers[task.name]))
            raise UsageError(
                f"{both} wake task '{task.name}', in {where}; let one do it, or give it a period"
            )
        path = [task.name]
        while path[-1] in wakers:
            path.append(next(iter(wakers[path[-1]])))
            if path[-1] in path[:-1]:
                circle = ", ".join(f"'{name}'" for name in reversed(path))
                raise UsageError(
                    f"a cycle of tasks that wake each other, {circle}, in {where}; give one of "
                    "them a period"
                )


def _check_sections(task: Task, tasks: TaskSet, where: str) -> None:
    """Refuse critical sections that overlap, and resources that are not to be held."""
    if task.uses and task.server is not None:
        raise UsageError(
            f"a task of server '{task.server}' holds a resource, in {where}; give it a priority of "
            "its own, as others would wait for the server's budget"
        )
    for use in task.uses:
        resource = next(r for r in tasks.resources if r.name == use.resource)
        if resource.kind == "queue":
            raise UsageError(
                f"queue '{use.resource}' cannot be held, in {where}; use a mutex or a semaphore"
            )
    for number, first in enumerate(task.uses):
        end = first.after_ns + first.for_ns
        for second in task.uses[number + 1 :]:
            other = second.after_ns + second.for_ns
            apart = end <= second.after_ns or other <= first.after_ns
            inside = first.after_ns <= second.after_ns and other <= end
            outside = second.after_ns <= first.after_ns and end <= other
            if not (apart or inside or outside):
                raise UsageError(
                    f"'{first.resource}' and '{second.resource}' are held in part together, in "
                    f"{where}; let one end before the other begins, or within it"
                )
            if first.resource == second.resource and not apart:
                raise UsageError(
                    f"'{first.resource}' is taken while it is held, in {where}; take it once"
                )


def _check_reservation(task: Task, tasks: TaskSet, where: str) -> None:
    """Refuse what sched_setattr() does."""
    period = tasks.source(task.name).period_ns or 0
    deadline = task.deadline_ns or period
    runtime = task.runtime_ns or task.work.most_ns
    if deadline > period:
        raise UsageError(
            f"a deadline above the period with policy deadline, in {where}; the kernel refuses it, "
            "make it no longer than the period"
        )
    if runtime is not None and runtime > deadline:
        raise UsageError(
            f"a runtime above the deadline, in {where}; the kernel refuses it, make runtime or "
            "work shorter"
        )
