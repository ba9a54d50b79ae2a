"""Why a task set was slower than its analysis: the answer, the parts of each task, their costs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.tasks_explanation import TaskExplanation, TasksExplanation
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Block, Findings, Page, Section
from rtstone.report.parts.model import Finding as Line
from rtstone.report.parts.model_html import write
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import counted, trimmed

_PHASES = "as the worst phase did not come"
_METHOD = {
    "Analysis": "The worst response of any job in any phase, if nothing costs anything.",
    "No costs": "The worst in a simulation of the very jobs that ran, if nothing costs anything: "
    "below the analysis if their phases were not the worst, or the analysis is a bound.",
    "Part": "What it adds to that worst response, as the mean over all orders in which the parts "
    "are switched on (Shapley 1953). Costs are drawn from what was measured on the target, "
    "the same ones in each order; phases of ticks and the times of stalls at random.",
    "Unexplained": "Measured, less all of these. It has every cost that is none of the parts, or "
    "that was not measured. Within chance: no more than one drawing differs from another; if "
    "all costs were in the parts, a measurement above all 19 drawings would come once in 20.",
}


def explanation_lines(document: TasksExplanation, width: int) -> Iterator[RenderableType]:
    """Yield the explanation on a terminal of a width."""
    yield from sentences(Text(answer(document), "bold"), width, "  ")
    for note in _notes(document):
        yield from sentences(Text(note, "dim"), width, "  ")
    for section in _sections(document):
        yield Text()
        yield Text(section.title, style="bold cyan")
        yield from block_lines(section.blocks, width)


def compose(document: TasksExplanation) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    page = Page(
        title=f"{document.title}: {counted(len(document.tasks), 'task')}",
        kicker=f"Analysis and measurement of run {document.run_id}, target {document.target}, "
        f"load {document.load}",
        verdict=f"{answer(document)}.",
        remarks=list(_notes(document)),
        sections=_sections(document),
        method=_METHOD,
    )
    return write(page)


# ---- the answer ---------------------------------------------------------------------------------


def answer(document: TasksExplanation) -> str:
    """Return by how much the task furthest above its analysis is so, and what of."""
    above = [(task.above_ns, task) for task in document.tasks if task.unexplained_ns is not None]
    bounded = [(ns, task) for ns, task in above if ns is not None]
    if bounded:
        ns, task = max(bounded, key=lambda pair: pair[0])
        if ns > 0:
            text = f"{task.task}'s worst response is {trimmed(ns, 'ns')} above the analysis'"
            return f"{text}: {_parts(task)}"
        rest = f"{trimmed(-ns, 'ns')} below" if ns else "equal to it"
        return f"no task's worst response is above the analysis'; {task.task}'s is closest, {rest}"
    slower = [
        (task.measured_ns - task.free_ns, task)
        for _, task in above
        if task.measured_ns is not None and task.free_ns is not None
    ]
    if slower:
        ns, task = max(slower, key=lambda pair: pair[0])
        return (
            f"no task has a bound; {task.task}'s worst response is {trimmed(ns, 'ns')} above the "
            f"simulation without costs: {_parts(task)}"
        )
    task = document.tasks[0]
    return f"nothing can be explained: of {task.task}, {task.reason}"


def _parts(task: TaskExplanation) -> str:
    """Return what the difference to the analysis consists of: ``20 us ticks, 13 us unexplained``.

    What is nothing is left out, but not that nothing is left unexplained.
    """
    pieces = sorted(((share.ns, share.part) for share in task.shares), reverse=True)
    words = [f"{_signed(ns)} {part}" for ns, part in pieces if ns]
    if task.bound_ns is not None and task.free_ns != task.bound_ns:
        words.append(f"{_signed((task.free_ns or 0) - task.bound_ns)} {_PHASES}")
    rest = task.unexplained_ns or 0
    chance = "" if task.sure or not rest else ", within chance"
    return ", ".join([*words, f"{_signed(rest) if rest else 'nothing'} unexplained{chance}"])


def _signed(ns: int) -> str:
    return f"-{trimmed(-ns, 'ns')}" if ns < 0 else trimmed(ns, "ns") if ns else "0"


def _notes(document: TasksExplanation) -> Iterator[str]:
    """Yield what is to be read beside the answer."""
    missing = [cost.part for cost in document.parts if not cost.measured]
    if missing:
        yield f"Not measured, and so in what is unexplained: {', '.join(missing)}."
    yield from document.notes


# ---- the rest -----------------------------------------------------------------------------------


def _sections(document: TasksExplanation) -> list[Section]:
    tasks = [Line(_way(task), label=task.task) for task in document.tasks]
    return [
        Section("tasks", "Worst responses", [Findings(tasks)]),
        Section("parts", "Costs", [_costs(document)]),
    ]


def _way(task: TaskExplanation) -> str:
    """Return the way from the analysis of a task to what was measured."""
    bound = "no bound" if task.bound_ns is None else f"{trimmed(task.bound_ns, 'ns')} by analysis"
    measured = "" if task.measured_ns is None else f", {trimmed(task.measured_ns, 'ns')} measured"
    if task.reason is not None:
        return f"{bound}{measured}; {task.reason}"
    free = "" if task.bound_ns is not None else f", {_signed(task.free_ns or 0)} without costs"
    return f"{bound}{free}{measured}: {_parts(task)}"


def _costs(document: TasksExplanation) -> Block:
    lines = []
    for cost in document.parts:
        sizes = ""
        if cost.mean_ns is not None and cost.max_ns is not None:
            sizes = f"{trimmed(cost.mean_ns, 'ns')} on average, {_signed(cost.max_ns)} at most; "
        lines.append(Line(f"{sizes}{cost.source}", label=cost.part))
    lines.append(Line(f"{document.drawings} drawings from seed {document.seed}", label="drawn"))
    return Findings(lines)
