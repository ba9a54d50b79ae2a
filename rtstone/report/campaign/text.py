"""A campaign on the terminal: how far it has come, and what is missing and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from rtstone.documents.campaign import CampaignState, Counts
from rtstone.report.parts.console import plain_table
from rtstone.units import count, counted

MOST = 40  # cells, or reasons, that are listed one by one


def head(state: CampaignState) -> Text:
    """Return the first line."""
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
    return Text(f"{state.title}: {', '.join([share, *more])}", style="bold")


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


def reasons(state: CampaignState) -> Iterator[Text]:
    """Yield a line for each reason why jobs of a target have no run."""
    found: dict[tuple[str, str, str], int] = {}
    for target, one in state.absent.items():
        found["missing", target, one.reason] = one.jobs
    for cell in state.cells:
        kind = "failed" if cell.jobs.failed else "unsupported" if cell.jobs.unsupported else "waits"
        for one in cell.missing:
            place = kind, cell.target, one.reason
            found[place] = found.get(place, 0) + one.jobs
    for (kind, target, reason), jobs in list(found.items())[:MOST]:
        style = "red" if kind in {"failed", "missing"} else "dim"
        yield Text.assemble((f"{kind}: ", style), f"{target}, {counted(jobs, 'job')}: {reason}")
    if len(found) > MOST:
        yield Text(f"and {len(found) - MOST} more reasons", style="dim")
