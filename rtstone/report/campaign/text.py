"""A campaign on the terminal: how far it has come, and what is missing and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from rtstone.documents.campaign import CampaignState, Counts
from rtstone.report.parts.console import plain_table
from rtstone.units import count, counted

MOST = 40  # cells, or reasons, that are listed one by one


def head(state: CampaignState) -> Text:
    """Return the first line."""
    return Text(f"{state.title}: {progress(state)}", style="bold")


def progress(state: CampaignState) -> str:
    """Return how many jobs are in which state, in words."""
    jobs = state.jobs
    lost = sum(one.jobs for one in state.absent.values())
    share = f"{count(jobs.done)} of {counted(jobs.total + lost, 'job')} done"
    more = [
        f"{count(n)} {word}"
        for n, word in (
            (jobs.running, "running"), (jobs.planned, "planned"), (jobs.failed, "failed"),
            (lost, "of targets that did not answer"), (jobs.unsupported, "not supported"),
        )
        if n
    ]  # fmt: skip
    return ", ".join([share, *more])


def lines(state: CampaignState, left: str | None) -> Iterator[Text | Table]:
    """Yield the state; ``left``: how long the rest takes, in words."""
    yield head(state)
    if left and (state.jobs.planned or state.jobs.running):
        yield Text(left, style="dim")
    if state.earlier:
        yield Text(
            f"{counted(state.earlier, 'job')} of earlier plans, of other kernels, agents or cells",
            style="dim",
        )
    yield _targets(state)
    yield from reasons(state)


def _targets(state: CampaignState) -> Table:
    found: dict[str, list[Counts]] = {}
    for cell in state.cells:
        found.setdefault(cell.target, []).append(cell.jobs)
    table = plain_table()
    table.add_column("target", no_wrap=True, style="bold cyan")
    names = ("done", "running", "planned", "failed", "unsupported")
    for name in names:
        table.add_column(name, justify="right")
    for target, counts in found.items():
        sums = [sum(getattr(one, name) for one in counts) for name in names]
        table.add_row(target, *(count(n) if n else "" for n in sums))
    return table


class Cause(NamedTuple):
    """Why so many jobs of a target have no run.  ``kind``: what became of them, in a word."""

    kind: str
    target: str
    reason: str
    jobs: int


def causes(state: CampaignState) -> list[Cause]:
    """Return each reason why jobs of a target have no run, once."""
    found: dict[tuple[str, str, str], int] = {}
    for target, one in state.absent.items():
        found["no answer", target, one.reason] = one.jobs
    for cell in state.cells:
        jobs = cell.jobs
        kind = "failed" if jobs.failed else "not supported" if jobs.unsupported else "tried again"
        for one in cell.missing:
            place = kind, cell.target, one.reason
            found[place] = found.get(place, 0) + one.jobs
    return [Cause(*place, jobs) for place, jobs in found.items()]


def reasons(state: CampaignState) -> Iterator[Text]:
    """Yield a line for each cause."""
    found = causes(state)
    for kind, target, reason, jobs in found[:MOST]:
        style = "red" if kind in {"failed", "no answer"} else "dim"
        yield Text.assemble((f"{kind}: ", style), f"{target}, {counted(jobs, 'job')}: {reason}")
    if len(found) > MOST:
        yield Text(f"and {len(found) - MOST} more reasons", style="dim")
