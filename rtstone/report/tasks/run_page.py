"""What a task set did, as a page: the worst window, and responses beside those of the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rtstone.documents.tasks import Schedulability
from rtstone.documents.tasks_run import Job, TaskRun, TasksRun, Window
from rtstone.report.parts.model import (
    Bar,
    Bars,
    Block,
    Box,
    Boxes,
    Chart,
    Charts,
    Folded,
    Head,
    Notes,
    Page,
    Section,
)
from rtstone.report.parts.model_html import write
from rtstone.report.parts.shapes import floor_of, gridded, short
from rtstone.report.tasks.run import sections
from rtstone.units import trimmed

FURTHER = 4  # windows beside the worst
TICKS = 5  # places on the axis of a window
RAN, WAITED, READY, ELSE, OPEN = "k-handler", "k-blocking", "k-task", "k-irq", "k-switch"
_LEGEND = {
    RAN: "ran", WAITED: "waited for a resource", READY: "could not run: others did",
    ELSE: "nothing of the set ran", OPEN: "between its start and its end",
}  # fmt: skip
_METHOD = {
    "Window": "From the arrival of a job to its end; the worst is that of the job that used most "
    "of its deadline. Who had the CPU is what the records of jobs and the priorities imply.",
    "Response": "From the nominal arrival of a job to its end, of a woken task from when it was "
    "woken.",
    "Analysis": "No job takes longer on a system without costs, whatever the phases. A measured "
    "response above it is what the system costs; one below it says nothing of other phases.",
    "Seen": "What did not happen in this time may happen in a longer one.",
}


class _Piece(NamedTuple):
    """A part of a job's time: how it is drawn, and what it says."""

    begin: int
    end: int
    look: str
    text: str


def compose(document: TasksRun, analysis: Schedulability | None, name: str) -> str:
    """Return the page as text; ``name``: of the run.  Raises MissingBundleError."""
    page = Page(
        title=f"{document.set.title or document.file} on {document.target}",
        kicker=f"Task set, load {document.load}, "
        f"{trimmed(document.duration_ns, 'ns')}, seed {document.seed}",
        verdict=f"{document.sentence}.",
        sections=[
            *_windows(document),
            *_margins(document, analysis),
            *_responses(document, analysis),
            *sections(document, name),
        ],
        method=_METHOD,
    )
    return write(page)


# ---- windows ------------------------------------------------------------------------------------


def _windows(document: TasksRun) -> Iterator[Section]:
    """Yield the section of the worst window, with some others folded."""
    ordered = sorted(document.windows, key=lambda window: -_used(document, window))
    if not ordered:
        return
    worst, *further = ordered
    blocks: list[Block] = [_strip(document, worst), Notes([worst.sentence], "small")]
    for window in further[:FURTHER]:
        blocks.append(Folded(f"{window.task}, job {window.number}", [_strip(document, window)]))
    yield Section("window", "Worst window", blocks)


def _used(document: TasksRun, window: Window) -> float:
    """Return the response of a window's job as a share of its deadline."""
    task = next(task for task in document.tasks if task.task == window.task)
    length = window.to_ns - window.from_ns
    return length / task.deadline_ns if task.deadline_ns else 0.0


def _strip(document: TasksRun, window: Window) -> Boxes:
    """Return a row for each task that has a job in the window, and for what is not of the set."""
    rows = [task.task for task in document.tasks if any(j.task == task.task for j in window.jobs)]
    boxes: list[Box] = []
    looks = []
    for row, task in enumerate(rows):
        for job in (job for job in window.jobs if job.task == task):
            for piece in _pieces(job, window):
                looks.append(piece.look)
                boxes.append(_box(piece, row, task, window))
    idle = [each for each in window.running if not each.task]
    for each in idle:
        text = f"nothing of the set ran for {trimmed(each.to_ns - each.from_ns, 'ns')}"
        looks.append(ELSE)
        boxes.append(_box(_Piece(each.from_ns, each.to_ns, ELSE, text), len(rows), "", window))
    length = window.to_ns - window.from_ns
    deadline = next(task.deadline_ns for task in document.tasks if task.task == window.task)
    due = f", due after {trimmed(deadline, 'ns')}" if deadline else ""
    return Boxes(
        f"{window.task}, job {window.number}: {trimmed(length, 'ns')}{due}",
        [box for box in boxes if box.width > 0], len(rows) + bool(idle), _ticks(length),
        note=f"One row each, in the order of the file: {', '.join(rows)}.",
        legend=[(look, text) for look, text in _LEGEND.items() if look in looks],
    )  # fmt: skip


def _ticks(length: int) -> list[tuple[float, str]]:
    return [
        (round(100 * part / TICKS, 3), trimmed(length * part / TICKS, "ns") if part else "arrival")
        for part in range(TICKS + 1)
    ]


def _box(piece: _Piece, row: int, name: str, window: Window) -> Box:
    length = window.to_ns - window.from_ns
    begin, end = max(piece.begin, window.from_ns), min(piece.end, window.to_ns)
    left, width = 100 * (begin - window.from_ns) / length, 100 * (end - begin) / length
    return Box(round(left, 3), round(width, 3), row, name, piece.text, piece.look)


def _pieces(job: Job, window: Window) -> Iterator[_Piece]:
    """Yield what a job did in a window, from its arrival to its end."""
    end = window.to_ns if job.end_ns is None else job.end_ns
    name = f"{job.task}, job {job.number}"
    if not window.running:  # several CPUs: who had which is not known
        start = end if job.start_ns is None else job.start_ns
        yield _piece(job.arrival_ns, start, READY, f"{name} had not started")
        yield _piece(start, end, OPEN, f"{name} was between its start and its end")
        return
    ran = [
        (each.from_ns, each.to_ns) for each in window.running
        if each.task == job.task and each.to_ns > job.arrival_ns and each.from_ns < end
    ]  # fmt: skip
    waits = [
        (section.requested_ns, section.taken_ns, section.resource) for section in job.sections
        if section.taken_ns > section.requested_ns
    ]  # fmt: skip
    at = max(job.arrival_ns, window.from_ns)
    for begin, stop in [*ran, (end, end)]:
        yield from _stood(at, begin, waits, name)
        yield _piece(begin, stop, RAN, f"{name} ran")
        at = max(at, stop)


def _stood(
    begin: int, end: int, waits: Sequence[tuple[int, int, str]], name: str
) -> Iterator[_Piece]:
    """Yield why a job did not run in a time: for a resource, or because others ran."""
    for requested, taken, resource in waits:
        first, last = max(begin, requested), min(end, taken)
        if last > first:
            yield _piece(begin, first, READY, f"{name} could not run")
            yield _piece(first, last, WAITED, f"{name} waited for {resource}")
            begin = last
    yield _piece(begin, end, READY, f"{name} could not run")


def _piece(begin: int, end: int, look: str, text: str) -> _Piece:
    return _Piece(begin, end, look, f"{text} for {trimmed(max(0, end - begin), 'ns')}")


# ---- beside the analysis ------------------------------------------------------------------------


def _bounds(analysis: Schedulability | None) -> dict[str, int]:
    """Return the bounds of responses by task, where the analysis has one."""
    checks = analysis.tasks if analysis else []
    return {check.task: check.response_ns for check in checks if check.response_ns is not None}


def _margins(document: TasksRun, analysis: Schedulability | None) -> Iterator[Section]:
    """Yield the largest response of each task as a share of its deadline, beside the bound."""
    bounds = _bounds(analysis)
    groups = []
    for task in document.tasks:
        if task.deadline_ns is None:
            continue
        times = [
            ("here", "measured", task.response.max_ns),
            ("model", "analysis", bounds.get(task.task)),
        ]
        bars = [
            Bar(Head(kind, label), _margin(time, task.deadline_ns),
                min(100.0, 100 * time / task.deadline_ns))
            for kind, label, time in times if time is not None
        ]  # fmt: skip
        groups.append((task.task, bars))
    if groups:
        bars_block = Bars(groups, "largest response as a share of the deadline, to 100%")
        yield Section("margins", "Margins", [bars_block])


def _margin(time: int, deadline: int) -> str:
    """Return how far a response is from its deadline: ``612 us, 188 us below``."""
    distance = trimmed(abs(deadline - time), "ns") if time != deadline else "0 ns"
    return f"{trimmed(time, 'ns')}, {distance} {'above' if time > deadline else 'below'}"


def _responses(document: TasksRun, analysis: Schedulability | None) -> Iterator[Section]:
    """Yield the distributions of responses, with deadline and bound marked."""
    bounds = _bounds(analysis)
    charts = [
        _histogram(f"response{i}", task, bounds.get(task.task))
        for i, task in enumerate(document.tasks)
        if task.histogram
    ]
    if charts:
        yield Section("responses", "Responses", [Charts(charts)])


def _histogram(key: str, task: TaskRun, bound: int | None) -> Chart:
    pairs = [((low + below - 1) / 2, number) for low, below, number in task.histogram]
    values = {
        "p50": task.response.p50_ns, "max": task.response.max_ns, "analysis": bound,
        "deadline": task.deadline_ns,
    }  # fmt: skip
    marks = [[name, short(float(value))] for name, value in values.items() if value is not None]
    floor = floor_of([value for value, _ in pairs])
    data: dict[str, Any] = {"kind": "histogram", "unit": "ns", "marks": marks}
    data |= gridded([("observed", pairs)], floor)
    names = ", ".join(name for name, value in values.items() if value is not None)
    words = f"Responses of {task.task}, both axes logarithmic; marked: {names}"
    return Chart(key, words, data, f"{task.task}: {task.missed} of {task.jobs} jobs missed")
