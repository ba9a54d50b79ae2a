"""What a task set did, on a terminal: the answer, then tasks, chains, and what ran meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.tasks_run import ChainRun, NeedRun, Outcome, TaskRun, TasksRun
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Finding as Line
from rtstone.report.parts.model import Findings, Section, Table
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import count, counted, trimmed

STYLES: dict[Outcome, str] = {"holds": "green", "inconclusive": "yellow", "fails": "bold red"}
SIGNS: dict[Outcome, str] = {"holds": "+", "inconclusive": "?", "fails": "-"}
LISTED = 5  # schedules around misses


def run_lines(document: TasksRun, name: str, width: int) -> Iterator[RenderableType]:
    """Yield what a set did on a terminal of a width; ``name``: of its run."""
    yield from sentences(Text(f"{document.sentence}.", STYLES[document.outcome]), width, "  ")
    for section in sections(document, name):
        yield Text()
        yield Text(section.title, style="bold cyan")
        yield from block_lines(section.blocks, width)


def sections(document: TasksRun, name: str) -> list[Section]:
    """Return the sections of what a set did."""
    parts = [Section("tasks", "Tasks", [tasks_table(document.tasks)])]
    parts.append(Section("jitter", "Jitter", [jitter_table(document.tasks)]))
    if unmet := list(_unmet(document.tasks)):
        parts.append(Section("needs", "Needs", [Findings(unmet)]))
    if document.chains:
        parts.append(Section("chains", "Chains", [chains_table(document.chains)]))
    if document.windows:
        parts.append(
            Section("meanwhile", "What ran meanwhile", [Findings(list(_meanwhile(document)))])
        )
    notes = [Line(note.replace("{run}", name)) for note in document.notes]
    notes.append(Line(f"rtstone show {name} has the distributions"))
    parts.append(Section("notes", "Notes", [Findings(notes)]))
    return parts


def tasks_table(tasks: Iterable[TaskRun]) -> Table:
    """Return a row for each task: jobs, misses, start and response, deadline."""
    rows = [
        [
            f"{SIGNS[task.outcome]} {task.task}", count(task.jobs), count(task.missed),
            time(task.start.max_ns), time(task.response.p50_ns), time(task.response.max_ns),
            time(task.deadline_ns),
        ]
        for task in tasks
    ]  # fmt: skip
    return Table(["task", "jobs", "missed", "start ≤", "response p50", "≤", "deadline"], rows)


def jitter_table(tasks: Iterable[TaskRun]) -> Table:
    """Return a row for each task: how much its starts and ends vary, and its longest wait."""
    rows = [
        [task.task, time(task.release_jitter_ns), time(task.finish_jitter_ns),
         time(task.blocked.max_ns) if task.blocked else "-"]
        for task in tasks
    ]  # fmt: skip
    columns = ["task", "release jitter", "finish jitter", "waited for resources ≤"]
    return Table(columns, rows)


def chains_table(chains: Iterable[ChainRun]) -> Table:
    """Return a row for each chain: the largest latency, reaction and age."""
    rows = [
        [
            f"{SIGNS[chain.outcome]} {chain.chain}", time(chain.latency.max_ns),
            time(chain.reaction.max_ns), time(chain.age.max_ns), time(chain.deadline_ns),
            chain.reason or "",
        ]
        for chain in chains
    ]  # fmt: skip
    columns = ["chain", "latency ≤", "reaction ≤", "age ≤", "deadline", ""]
    return Table(columns, rows, texts=(5,))


def time(value: int | None) -> str:
    """Return a time, ``-`` if there is none."""
    return "-" if value is None else "0" if value == 0 else trimmed(value, "ns")


def _unmet(tasks: Iterable[TaskRun]) -> Iterator[Line]:
    for task in tasks:
        for run in task.needs:
            if run.need.measure != "deadline":
                yield Line(f"{SIGNS[run.outcome]} {task.task}: {_need(run)}")


def _need(run: NeedRun) -> str:
    need = run.need
    text = f"{need.measure} {need.text}"
    if run.reason:
        return f"{text}, {run.reason}"
    if run.value is None:
        return text
    if need.measure == "missed":
        return f"{text}, {100 * run.value:.3g}% were"
    if need.measure == "weakly_hard":
        return f"{text}, {count(run.value)} at most were"
    return f"{text}, it was {trimmed(run.value, 'ns')}"


def _meanwhile(document: TasksRun) -> Iterator[Line]:
    """Yield the sentences of misses, of as many as fit, and else of the longest responses."""
    missed = [window for window in document.windows if window.reason == "missed"]
    for window in missed[:LISTED] or document.windows:
        yield Line(window.sentence)
    if left := max(0, len(missed) - LISTED) + document.unshown:
        yield Line(f"and {counted(left, 'missed job')} more")
