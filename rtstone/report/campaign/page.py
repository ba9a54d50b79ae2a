"""A campaign: how far it has come, the verdicts on its cells, what is missing and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text as Line

from rtstone.documents.campaign import CampaignCell, CampaignState, Counts
from rtstone.report.parts.frame import Site
from rtstone.report.parts.model import (
    Block,
    Cell,
    Finding,
    Findings,
    Notes,
    Page,
    Section,
    Table,
    Text,
)
from rtstone.report.parts.model_html import write
from rtstone.report.parts.model_terminal import block_lines
from rtstone.report.parts.words import MARKS, range_text
from rtstone.units import count, counted, quantity

MOST = 40  # reasons that a terminal lists one by one
_WORDS = {
    "bad": "not fit",
    "note": "to be looked at",
    "good": "fit",
    "info": "no verdict about time",
}
_METHOD = {
    "Job": "A run of a cell with a seed and the number of a repeat. It is known by a hash of its "
    "cases, its target, agent and kernel: another kernel makes another job.",
    "Verdict": "That of the worst of the newest runs of a cell, at most 20, as the page of that "
    "run has it.",
    "Ranges": "From the least to the greatest value among the runs; percentiles are each run's "
    "own, never averaged.",
}


def compose(state: CampaignState, site: Site | None = None) -> str:
    """Return the page as text; ``site``: of a server's page.  Raises MissingBundleError."""
    words = [_word(cell) for cell in state.cells if cell.judged]
    grades = [
        f"{counted(words.count(word), 'cell')} {word}" for word in _WORDS.values() if word in words
    ]
    remarks = [f"{', '.join(grades)}." if grades else "Nothing has been measured yet."]
    if state.earlier:
        remarks.append(f"{_earlier(state)}, not in this matrix.")
    cells = [
        _cell_section(cell, f"c{number}") for number, cell in enumerate(state.cells) if cell.judged
    ]
    page = Page(
        title=state.title,
        kicker="A campaign: a matrix of runs",
        verdict=progress(state),
        remarks=remarks,
        sections=[
            _matrix(state),
            jobs(state),
            *([Section("cells", "Cells", cells)] if cells else []),
        ],
        method=_METHOD,
    )
    return write(page, site)


def lines(state: CampaignState, left: str | None) -> Iterator[RenderableType]:
    """Yield the state on a terminal; ``left``: how long the rest takes, in words."""
    yield Line(f"{state.title}: {progress(state)}", style="bold")
    if left and (state.jobs.planned or state.jobs.running):
        yield Line(left, style="dim")
    if state.earlier:
        yield Line(_earlier(state), style="dim")
    yield from block_lines(jobs(state, MOST).blocks)


def progress(state: CampaignState) -> str:
    """Return how many jobs are in which state, in words."""
    jobs = state.jobs
    lost = sum(missing.jobs for missing in state.absent.values())
    numbers = (
        (jobs.running, "running"), (jobs.planned, "planned"), (jobs.failed, "failed"),
        (lost, "of targets that did not answer"), (jobs.unsupported, "not supported"),
    )  # fmt: skip
    share = f"{count(jobs.done)} of {counted(jobs.total + lost, 'job')} done"
    return ", ".join([share, *(f"{count(n)} {word}" for n, word in numbers if n)])


def _earlier(state: CampaignState) -> str:
    return f"{counted(state.earlier, 'job')} of earlier plans, of other kernels, agents or cells"


def jobs(state: CampaignState, most: int | None = None) -> Section:
    """Return the jobs of each target by their state, and why some have no run.

    ``most``: reasons that are listed; None: all.
    """
    names = ("done", "running", "planned", "failed", "unsupported")
    targets: dict[str, list[Counts]] = {}
    for cell in state.cells:
        targets.setdefault(cell.target, []).append(cell.jobs)
    rows = [
        [target, *(count(n) if n else "" for n in (sum(getattr(c, name) for c in counts)
                                                    for name in names))]
        for target, counts in targets.items()
    ]  # fmt: skip
    blocks: list[Block] = [Table(["target", *names], rows, style="bold cyan")]
    reasons = causes(state)
    if reasons:
        blocks.append(Findings([
            Finding(f"{cause.target}, {counted(cause.jobs, 'job')}: {cause.reason}", cause.kind,
                    style="red" if cause.kind in {"failed", "no answer"} else "dim")
            for cause in reasons[:most]
        ]))  # fmt: skip
    if most is not None and len(reasons) > most:
        blocks.append(Notes([f"and {len(reasons) - most} more reasons"]))
    return Section("jobs", "Jobs, and why some have no run" if reasons else "Jobs", blocks,
                   short="Jobs")  # fmt: skip


class Cause(NamedTuple):
    """Why so many jobs of a target have no run.  ``kind``: what became of them, in a word."""

    kind: str
    target: str
    reason: str
    jobs: int


def causes(state: CampaignState) -> list[Cause]:
    """Return each reason why jobs of a target have no run, once."""
    numbers: dict[tuple[str, str, str], int] = {}
    for target, missing in state.absent.items():
        numbers["no answer", target, missing.reason] = missing.jobs
    for cell in state.cells:
        jobs = cell.jobs
        kind = "failed" if jobs.failed else "not supported" if jobs.unsupported else "tried again"
        for missing in cell.missing:
            key = kind, cell.target, missing.reason
            numbers[key] = numbers.get(key, 0) + missing.jobs
    return [Cause(*key, jobs) for key, jobs in numbers.items()]


def _matrix(state: CampaignState) -> Section:
    """Return what is measured, by target."""
    targets = list(dict.fromkeys([*(cell.target for cell in state.cells), *state.absent]))
    rows: dict[str, dict[str, Cell]] = {}
    for number, cell in enumerate(state.cells):
        jobs = cell.jobs
        mark = MARKS[cell.judged.grade] if cell.judged else "-"
        rows.setdefault(_case(cell), {})[cell.target] = Cell(
            f"{mark} {_word(cell)}",
            below=f"{count(jobs.done)} of {count(jobs.total)}" if jobs.total else "",
            link=f"c{number}" if cell.judged else "",
        )
    nothing = Cell("excluded, or no answer")
    return Section(
        "matrix",
        "Matrix",
        [Table(["measured", *targets],
               [[case, *(row.get(target, nothing) for target in targets)]
                for case, row in rows.items()])],
        text="The verdict on each cell is that of its worst run; below it, runs done of those "
        "planned.",
    )  # fmt: skip


def _case(cell: CampaignCell) -> str:
    """Return what is measured in a cell, in words."""
    load = [] if cell.load is None else [f"load {cell.load}"]
    return ", ".join([cell.measure, *load, *(f"{k}={v}" for k, v in cell.params.items())])


def _word(cell: CampaignCell) -> str:
    if cell.judged:
        return _WORDS[cell.judged.grade]
    return "failed" if cell.jobs.failed else "not supported" if cell.jobs.unsupported else "not yet"


def _cell_section(cell: CampaignCell, key: str) -> Section:
    """Return the verdict on a cell and its results."""
    judged, jobs = cell.judged, cell.jobs
    assert judged
    done = "" if jobs.done == jobs.total else f"; {count(jobs.done)} of {count(jobs.total)} done"
    blocks: list[Block] = [
        Text(f"Run {judged.run}, the worst of {judged.of}{done}.", verdict=judged.verdict),
        Notes([f"{remark.jobs} times: {remark.reason}" for remark in cell.remarks]),
    ]
    if judged.results:
        columns = ["result", "runs", "n", "p50", "p99", "max", "missed"]
        rows = [
            [
                result.title, count(result.runs), count(result.n),
                _range(result.p50, result.unit), _range(result.p99, result.unit),
                "-" if result.max is None else quantity(result.max, result.unit),
                "-" if result.missed is None else count(result.missed),
            ]
            for result in judged.results
        ]  # fmt: skip
        blocks.append(Table(columns, rows))
    return Section(key, f"{cell.target}: {_case(cell)}", blocks)


def _range(values: tuple[float, float] | None, unit: str) -> str:
    if values is None:
        return "-"
    return range_text(*(quantity(value, unit) for value in values))
