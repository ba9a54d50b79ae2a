"""Write task sets as TOML files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rtstone.cpus import cpu_list
from rtstone.documents.tasks import Need, Task, TaskSet
from rtstone.printable import shown
from rtstone.tasks.file import QUANTUM, SCHEMA
from rtstone.units import DURATION
from rtstone.wire.parameters import duration


def toml_text(
    tasks: TaskSet, comments: Mapping[str, Sequence[str]] | None = None, head: Sequence[str] = ()
) -> str:
    """Return a task set as the file of which it can be read again.

    ``comments``: lines before each task, by its name; ``head``: those before all.  Histograms
    become ranges.
    """
    return "\n".join([*map(_comment, head), *_lines(tasks, comments or {})]) + "\n"


def _comment(text: str) -> str:
    return f"# {shown(text)}".rstrip()


def _lines(tasks: TaskSet, comments: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f'schema = "{SCHEMA}"'
    yield f"title = {_text(tasks.title)}"
    if tasks.quantum_ns != duration(QUANTUM, "quantum"):
        yield f"quantum = {_time(tasks.quantum_ns)}"
    for task in tasks.tasks:
        yield from _table("task", _task(task), comments.get(task.name, ()))
    for resource in tasks.resources:
        yield from _table("resource", {
            "name": _text(resource.name), "kind": _text(resource.kind),
            "protocol": _text(resource.protocol),
        })  # fmt: skip
    for chain in tasks.chains:
        deadline = chain.deadline_ns
        yield from _table("chain", {
            "name": _text(chain.name),
            "path": f"[{', '.join(map(_text, chain.path))}]",
            "deadline": None if deadline is None else _time(deadline),
            "by": _text(chain.by),
        })  # fmt: skip
    for server in tasks.servers:
        yield from _table("server", {
            "name": _text(server.name), "kind": _text(server.kind),
            "budget": _time(server.budget_ns), "period": _time(server.period_ns),
            "priority": _priority(server.priority), "cpu": _cpus(server.cpus),
        })  # fmt: skip


def _table(
    name: str, members: dict[str, str | None], comments: Sequence[str] = ()
) -> Iterator[str]:
    yield ""
    yield from map(_comment, comments)
    yield f"[[{name}]]"
    yield from (f"{key} = {value}" for key, value in members.items() if value is not None)


def _task(task: Task) -> dict[str, str | None]:
    arrival: dict[str, str | None] = {}
    if task.arrival == "periodic":
        arrival["period"] = _time(task.period_ns or 0)
    elif task.arrival != "woken":
        kind = "min" if task.arrival == "sporadic" else "poisson"
        arrival["sporadic"] = f'"{kind} {DURATION.format(task.period_ns or 0)}"'
    served = task.server is not None
    return {
        "name": _text(task.name),
        **arrival,
        "offset": None if task.offset_ns is None else _time(task.offset_ns),
        "jitter": _time(task.jitter_ns) if task.jitter_ns else None,
        "deadline": None if task.deadline_ns is None else _time(task.deadline_ns),
        **_work(task),
        "policy": None if served else _text(task.policy),
        "priority": _priority(task.priority),
        "runtime": None if task.runtime_ns is None else _time(task.runtime_ns),
        "cpu": None if served else _cpus(task.cpus),
        "uses": _uses(task),
        "needs": _needs(task.needs),
        "server": _text(task.server) if task.server is not None else None,
    }


def _work(task: Task) -> dict[str, str]:
    work = task.work
    if work.kwi is not None:
        return {"kwi": f"{work.kwi:.15g}"}
    least, most = (DURATION.format(time or 0) for time in (work.least_ns, work.most_ns))
    return {"work": f'"{most}"' if least == most else f'"{least}..{most}"'}


def _uses(task: Task) -> str | None:
    uses = [
        f"{{ resource = {_text(use.resource)}, after = {_time(use.after_ns)}, "
        f"for = {_time(use.for_ns)} }}"
        for use in task.uses
    ]
    return f"[{', '.join(uses)}]" if uses else None


def _needs(needs: list[Need]) -> str | None:
    """Return the needs as written."""
    parts = [f"{need.measure} = {_text(need.text)}" for need in needs]
    return f"{{ {', '.join(parts)} }}" if parts else None


def _priority(priority: Any) -> str | None:
    return None if priority is None else json.dumps(priority)


def _cpus(cpus: list[int]) -> str:
    return str(cpus[0]) if len(cpus) == 1 else _text(cpu_list(cpus))


def _time(time: int) -> str:
    return f'"{DURATION.format(time)}"'


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
