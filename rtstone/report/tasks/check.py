"""The check of a task set on a terminal: the answer, then tasks, chains and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.cpus import cpu_list
from rtstone.documents.tasks import (
    WORDS,
    ChainCheck,
    Costs,
    NeedCheck,
    Schedulability,
    Task,
    TaskCheck,
    Verdict,
)
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Block, Findings, Section, Table
from rtstone.report.parts.model import Finding as Line
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import quantity, trimmed

STYLES: dict[Verdict, str] = {"holds": "green", "unknown": "yellow", "fails": "bold red"}
_SIGNS: dict[Verdict, str] = {"holds": "+", "unknown": "?", "fails": "-"}
_SYSTEMS = {"linux": "stock Linux", "linux-rt": "PREEMPT_RT", "freertos": "FreeRTOS"}
_MANY = 3  # names that are listed in the answer
_HUGE = 100.0  # a factor that is written in times


def check_lines(document: Schedulability, width: int) -> Iterator[RenderableType]:
    """Yield the check on a terminal of a width."""
    yield from sentences(Text(answer(document), STYLES[document.verdict]), width, "  ")
    for section in sections(document):
        yield Text()
        yield Text(section.title, style="bold cyan")
        yield from block_lines(section.blocks, width)


# ---- the answer ---------------------------------------------------------------------------------


def answer(document: Schedulability) -> str:
    """Return whether the set holds, by what margin, and what fails first."""
    if document.verdict == "holds":
        free = "" if document.costs.from_run else " on a system without costs"
        return f"{WORDS['holds']}{free}, {_margin(document)}"
    reasons = [*_task_reasons(document), *_chain_reasons(document), *_cpu_reasons(document)]
    own = [text for verdict, text in reasons if verdict == document.verdict]
    rest = f"; and {len(own) - 1} more" if len(own) > 1 else ""
    word = "not schedulable" if document.verdict == "fails" else "not known to be schedulable"
    return f"{word}: {own[0]}{rest}{_less(document)}"


def _margin(document: Schedulability) -> str:
    """Return the margin: ``by a margin of 12% (control is first to miss)``."""
    factor = document.factor
    if factor is None:
        return "whatever the work: it takes a thousand times as much, or needs nothing"
    margin = f"{factor:.0f} times the work" if factor > _HUGE else f"{100 * (factor - 1):.3g}%"
    return f"by a margin of {margin} ({_first(document.first)})"


def _less(document: Schedulability) -> str:
    """Return at how much of the work the set holds."""
    if document.factor is None:
        return "; with less work it is no better"
    return f"; it holds with {100 * document.factor:.3g}% of the work"


def _first(names: list[str]) -> str:
    """Return what fails first: ``control is first to miss``."""
    listed = names[:_MANY] + ([f"{len(names) - _MANY} more"] if len(names) > _MANY else [])
    *most, last = listed
    text = f"{', '.join(most)} and {last}" if most else last
    return f"{text} {'are' if most else 'is'} first to miss"


def _task_reasons(document: Schedulability) -> Iterator[tuple[Verdict, str]]:
    for task in document.tasks:
        for need in task.needs:
            if need.verdict != "holds":
                yield need.verdict, f"{task.task} {_unmet(task, need)}"


def _unmet(task: TaskCheck, check: NeedCheck) -> str:
    """Return what becomes of a need: ``misses its deadline, 830 µs of 800 µs``."""
    need = check.need
    deadline = need.measure in {"deadline", "missed", "weakly_hard"}
    limit = task.deadline_ns if deadline else need.limit
    name = {"deadline": "its deadline", "missed": "its deadline"}.get(need.measure, need.measure)
    sure = check.verdict == "fails"
    verb = "misses" if sure else "may miss"
    bound = task.response_ns if deadline else check.bound
    if bound is not None and limit is not None and bound > limit:
        values = f"{trimmed(bound, 'ns')} of {trimmed(limit, 'ns')}"
        return f"{verb} {name}, {values}"
    return f"{verb} {name}, {check.reason or task.reason or 'which is not shown'}"


def _chain_reasons(document: Schedulability) -> Iterator[tuple[Verdict, str]]:
    for chain in document.chains:
        if chain.verdict != "holds":
            text = chain.reason or ""
            if chain.reaction_ns is not None and chain.deadline_ns is not None:
                times = (trimmed(t, "ns") for t in (chain.reaction_ns, chain.deadline_ns))
                text = " of ".join(times)
            yield chain.verdict, f"chain '{chain.chain}' may miss its deadline, {text}"


def _cpu_reasons(document: Schedulability) -> Iterator[tuple[Verdict, str]]:
    for load in document.cpus:
        if load.verdict != "holds":
            yield load.verdict, f"CPU {cpu_list(load.cpus)}, {load.reason}"


# ---- the rest -----------------------------------------------------------------------------------


def sections(document: Schedulability) -> list[Section]:
    """Return the sections of a check."""
    parts = [
        Section("tasks", "Tasks", [_tasks(document)]),
        Section("cpus", "CPUs", [_cpus(document)]),
    ]
    if document.chains:
        parts.insert(1, Section("chains", "Chains", [_chains(document.chains)]))
    parts.append(Section("costs", "Costs", [_costs(document.costs)]))
    parts.append(Section("assumptions", "Assumed", list(_assumed(document))))
    return parts


def _tasks(document: Schedulability) -> Table:
    rows = []
    for task, check in zip(document.set.tasks, document.tasks, strict=True):
        rows.append([
            f"{_SIGNS[check.verdict]} {task.name}", _who(task), _work(task),
            _response(check), _time(check.deadline_ns), _time(check.slack_ns),
            _time(check.blocking_ns or None), _remark(check),
        ])  # fmt: skip
    columns = ["task", "priority", "work", "response", "deadline", "slack", "blocked", ""]
    return Table(columns, rows, texts=(1, 7))


def _who(task: Task) -> str:
    """Return what a task's urgency is: ``90``, ``rr 90``, ``deadline``, ``CPU 1``."""
    if task.server is not None:
        return f"server {task.server}"
    words: list[str] = [] if task.policy == "fifo" else [task.policy]
    words += [str(task.priority)] if task.priority is not None else []
    return " ".join([*words, *([f"CPU {cpu_list(task.cpus)}"] if task.cpus != [0] else [])])


def _work(task: Task) -> str:
    least, most = task.work.least_ns, task.work.most_ns
    if least == most:
        return _time(most)
    return f"{_time(least)} to {_time(most)}"


def _response(check: TaskCheck) -> str:
    if check.response_ns is None:
        return "no bound"
    sign = "=" if check.exact else "≤"
    return f"{sign} {trimmed(check.response_ns, 'ns')}"


def _remark(check: TaskCheck) -> str:
    """Return the needs of a task that are not its deadline, or why its response has no bound."""
    if check.response_ns is None:
        return check.reason or ""
    needs = [
        f"{_SIGNS[need.verdict]} {need.need.measure} {need.need.text}"
        for need in check.needs if need.need.measure != "deadline"
    ]  # fmt: skip
    return ", ".join(needs)


def _time(time: int | None) -> str:
    return "-" if time is None else "0" if time == 0 else trimmed(time, "ns")


def _chains(chains: Iterable[ChainCheck]) -> Table:
    rows = [
        [
            f"{_SIGNS[chain.verdict]} {chain.chain}", _time(chain.latency_ns),
            _time(chain.reaction_ns), _time(chain.age_ns), _time(chain.deadline_ns),
            chain.reason or "",
        ]
        for chain in chains
    ]  # fmt: skip
    return Table(["chain", "latency ≤", "reaction ≤", "age ≤", "deadline", ""], rows, texts=(5,))


def _cpus(document: Schedulability) -> Table:
    rows = [
        [f"{_SIGNS[load.verdict]} {cpu_list(load.cpus)}", f"{load.utilisation:.1%}",
         f"{load.reserved:.1%}", load.reason or ""]
        for load in document.cpus
    ]  # fmt: skip
    return Table(["CPU", "utilisation", "reserved", ""], rows, texts=(3,))


def _costs(costs: Costs) -> Block:
    if costs.from_run is None:
        return Findings([Line("none: this is the set on a system without costs")])
    inflated = (
        f"of run {costs.from_run}: switch {quantity(costs.switch_ns, 'ns')}, timer "
        f"{quantity(costs.timer_ns, 'ns')}, release {quantity(costs.release_ns, 'ns')}, tick "
        f"{quantity(costs.tick_cost_ns, 'ns')} of {quantity(costs.tick_ns, 'ns')}"
    )
    return Findings([Line(inflated), *(Line(source) for source in costs.sources)])


def _assumed(document: Schedulability) -> Iterator[Block]:
    lines = []
    for assumption in document.assumptions:
        by: dict[str, list[str]] = {}
        for system, text in assumption.systems.items():
            by.setdefault(text, []).append(_SYSTEMS[system])
        notes = [f"{', '.join(systems)}: {text}" for text, systems in by.items()]
        lines.append(Line(assumption.text, notes=notes))
    yield Findings(lines)
