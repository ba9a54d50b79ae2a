"""`rtstone campaign`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.output import OutputFile, default_page, print_document, save
from rtstone.cli.parameters import JSON
from rtstone.cli.progress import working
from rtstone.cli.pushing import PUSH, Reporter, destination
from rtstone.cli.streams import say
from rtstone.errors import Inconclusive, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rtstone.campaign.engines import Engine
    from rtstone.campaign.matrix import Campaign
    from rtstone.campaign.planning import Planned
    from rtstone.campaign.running import Event
    from rtstone.documents.campaign import CampaignState
    from rtstone.interrupt import Interrupt

WATCH_S = 1.0
_FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@click.group("campaign")
def command() -> None:
    """Measure a matrix of targets, loads, parameters and seeds.

    FILE describes the campaign (docs/guides/campaigns.md), and its name begins the ids of the runs.
    Runs that are stored are never measured again: an interrupted campaign continues where it
    stopped.
    """


@command.command("plan")
@_FILE
@JSON
def plan_command(file: Path, json: bool) -> None:
    """Show what would be measured, and about how long that takes; ask targets, measure nothing."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import planned
    from rtstone.interrupt import Interrupt

    campaign = read(file)
    with Interrupt() as interrupt:
        plan = _planned(campaign, interrupt)
    _show(planned(campaign, plan), json)


@command.command("run")
@_FILE
@click.option(
    "--engine", default="local", metavar="E",
    help="What carries out the jobs: local (default), processes on this machine, or dask:ADDRESS, "
    "the workers of a dask cluster.",
)  # fmt: skip
@PUSH
@JSON
def run_command(file: Path, engine: str, push: str | None, json: bool) -> int:
    """Carry out all jobs that are planned and not done yet.

    It may be started again at any time, and several times at once.
    """
    return _carry_out(file, json, push, engine=engine)


@command.command("work")
@_FILE
@click.option(
    "--shard", required=True, metavar="K/N",
    help="Which part of the jobs: 3/8 is the third of eight, as of a Slurm array or a CI matrix.",
)  # fmt: skip
@PUSH
@JSON
def work_command(file: Path, shard: str, push: str | None, json: bool) -> int:
    """Carry out one part of the jobs on this machine, without a table that others share.

    Afterwards `campaign pull` brings the runs together, unless all parts store them in a directory
    that they share (RTSTONE_HOME).
    """
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", shard)
    if not match or int(match[1]) > int(match[2]):
        raise UsageError(
            f"bad part '{shard}', in --shard; write K/N, as 3/8 for the third of eight"
        )
    return _carry_out(file, json, push, shard=(int(match[1]), int(match[2])))


def _carry_out(
    file: Path, json: bool, push: str | None, *, engine: str = "local",
    shard: tuple[int, int] | None = None,
) -> int:  # fmt: skip
    """Carry out the jobs of a campaign, or of one part of them, and print its state.

    A target that did not answer is asked again after all others, and so on as long as one more
    answers.  Returns the exit code.
    """
    from rtstone.campaign.dask_cluster import address
    from rtstone.campaign.job_table import Table
    from rtstone.campaign.matrix import read
    from rtstone.campaign.running import Limits, Runner
    from rtstone.campaign.status import note_absent, status
    from rtstone.interrupt import Interrupt
    from rtstone.store.layout import runs
    from rtstone.units import seconds

    campaign, scheduler, server = read(file), address(engine), destination(push)
    reporter = Reporter(server, campaign) if server else None
    duration_s = None if campaign.hours is None else campaign.hours * 3600
    number, parts = shard or (1, 1)

    def show_event(event: Event) -> None:
        why = f": {event.reason}" if event.reason else ""
        say(f"{event.state}  {event.job.title}, {seconds(event.took_s)}{why}")
        if reporter and event.state == "done":
            reporter.ended(runs() / event.job.run_id)

    with Interrupt() as interrupt:
        plan = _planned(campaign, interrupt)
        table = Table(campaign.name, f"shard-{number}-{parts}" if shard else "jobs")
        try:
            table.register()
            while True:
                table.adopt(list(enumerate(plan.jobs))[number - 1 :: parts], plan.absent)
                table.settle()
                note_absent(table, plan)
                workers = _engine(scheduler, campaign, table.owner)
                runner = Runner(table, workers, interrupt, show_event)
                early = runner.run(Limits(duration_s, campaign.runs)).early
                if early or not plan.absent:
                    break
                again = _planned(campaign, interrupt)
                if again.absent.keys() == plan.absent.keys():
                    break
                plan = again
        finally:
            table.close()
    state = status(campaign)
    if reporter:
        reporter.report(state, last=True)
    _show(state, json)
    if early:
        say(f"{early}; `rtstone campaign run {file}` goes on")
        return 0
    return Inconclusive.exit_code if state.jobs.failed or state.absent else 0


def _planned(campaign: Campaign, interrupt: Interrupt) -> Planned:
    """Ask the targets of a campaign what they are, and return its plan."""
    from rtstone.campaign.planning import plan

    with working("asking the targets"):
        return plan(campaign, interrupt)


def _engine(scheduler: str | None, campaign: Campaign, owner: str) -> Engine:
    """Return the engine of a dask scheduler, or without one that of this machine."""
    if scheduler is None:
        from rtstone.campaign.engines import Local

        return Local(campaign.name, owner, campaign.folder)
    from rtstone.campaign.dask_engine import Dask

    return Dask(scheduler, campaign.name, owner, campaign.folder)


@command.command("status")
@_FILE
@click.option(
    "--watch", is_flag=True, help="Update the display every second until all jobs are done."
)
@JSON
def status_command(file: Path, watch: bool, json: bool) -> None:
    """Show how far a campaign has come, also while it runs: what is missing, and why."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import status

    campaign = read(file)
    if not watch or json or not sys.stdout.isatty():
        _show(status(campaign), json)
        return
    from time import sleep

    from rich.console import Group
    from rich.live import Live

    from rtstone.report.parts.console import console

    with Live(console=console(sys.stdout), auto_refresh=False) as live:
        while True:
            state = status(campaign)
            live.update(Group(*_lines(state)), refresh=True)
            if not (state.jobs.planned or state.jobs.running):
                return
            sleep(WATCH_S)


@command.command("retry")
@_FILE
def retry_command(file: Path) -> None:
    """Plan failed jobs again; `campaign run` then carries them out."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import tables
    from rtstone.units import counted

    number = 0
    for table in tables(read(file)):
        number += table.retry()
        table.close()
    click.echo(f"{counted(number, 'job')} planned again; `rtstone campaign run {file}` goes on")


@command.command("report")
@_FILE
@click.option(
    "-o", "output", type=OutputFile(), metavar="FILE.html",
    help="The page to write; default: NAME.html beside FILE, which replaces nothing but such a "
    "page.",
)  # fmt: skip
@JSON
def report_command(file: Path, output: Path | None, json: bool) -> None:
    """Write the matrix as one page: a verdict for each cell, what is missing, and why."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import status
    from rtstone.report.campaign.page import compose
    from rtstone.report.campaign.verdicts import judged
    from rtstone.store.layout import runs
    from rtstone.store.rundir import load

    campaign = read(file)
    if output is None and not json:
        output = default_page(file.with_suffix(".html"))
    state = status(campaign)
    with working("making the page") as line:
        verdicts = judged(state, lambda run_id: load(runs() / run_id), line.steps)
        page = compose(verdicts) if output else ""
    if json:
        print_document(verdicts)
    if output:
        save("the report", output, page, quiet=json)


@command.command("pull")
@_FILE
@click.argument("source", metavar="HOST:[DIR] or DIR")
def pull_command(file: Path, source: str) -> None:
    """Bring the runs of the campaign from another machine, by ssh, or another directory.

    DIR is what RTSTONE_HOME names there; runs that are here already are left as they are.
    """
    from rtstone.campaign.matrix import read
    from rtstone.campaign.pull import pull
    from rtstone.units import counted

    campaign = read(file)
    with working("pulling runs"):
        pulled = pull(campaign.name, source)
    for why in pulled.refused:
        say(f"left out: {why}")
    click.echo(f"{counted(pulled.taken, 'run')} taken, {pulled.present} here already")


def _show(state: CampaignState, json: bool) -> None:
    """Print the state of a campaign, as text or as a document."""
    if json:
        print_document(state)
        return
    from rtstone.report.parts.console import console

    console(sys.stdout).print(*_lines(state), sep="\n")


def _lines(state: CampaignState) -> Iterator[RenderableType]:
    """Return the lines of the state of a campaign, with how long the rest takes here."""
    from rtstone.report.campaign.page import lines
    from rtstone.units import roughly

    left = "how long the rest takes is not known: something in it was never measured"
    if state.left_s is not None:
        left = f"about {roughly(state.left_s)} left on this machine"
    return lines(state, left)
