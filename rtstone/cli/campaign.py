"""`rtstone campaign`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.output import OutputFile, default_page, print_document, save
from rtstone.cli.progress import working
from rtstone.cli.pushing import PUSH, Reporter, checked
from rtstone.cli.streams import say
from rtstone.errors import Inconclusive, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rtstone.campaign.engines import Engine
    from rtstone.campaign.job_table import Table
    from rtstone.campaign.matrix import Campaign
    from rtstone.campaign.planning import Planned
    from rtstone.campaign.running import Ended, Event
    from rtstone.documents.campaign import CampaignState
    from rtstone.documents.run import Run
    from rtstone.interrupt import Interrupt

WATCH_S = 1.0
_FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
_JSON = click.option("--json", is_flag=True, help="Print only one document, as JSON.")


@click.group("campaign")
def command() -> None:
    """Measure a matrix of targets, loads, parameters and seeds, whatever ends in between.

    FILE says what (docs/campaigns.md).  Its name begins the ids of the runs.  Runs that are there
    are never made again, so that `run` goes on where it ended, however that was.
    """


@command.command("plan")
@_FILE
@_JSON
def plan_command(file: Path, json: bool) -> None:
    """Say what would be measured, and about how long it takes; ask all targets, measure nothing."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import planned
    from rtstone.interrupt import Interrupt

    campaign = read(file)
    with Interrupt() as interrupt:
        found = _planned(campaign, interrupt)
    _show(planned(campaign, found), json)


@command.command("run")
@_FILE
@click.option(
    "--engine", default="local", metavar="E",
    help="What carries out the jobs: local (default), processes of this machine, or dask:ADDRESS, "
    "the workers of a dask cluster.",
)  # fmt: skip
@PUSH
@_JSON
def run_command(file: Path, engine: str, push: str | None, json: bool) -> int:
    """Carry out what is planned and has not been done, until nothing is left.

    May be started again at any time, and several times at once.
    """
    return _carry_out(file, json, push, engine=engine)


@command.command("work")
@_FILE
@click.option(
    "--shard", required=True, metavar="K/N",
    help="Which part of the jobs: 3/8 is the third of eight, as of a Slurm array or a CI matrix.",
)  # fmt: skip
@PUSH
@_JSON
def work_command(file: Path, shard: str, push: str | None, json: bool) -> int:
    """Carry out one part of the jobs on this machine, without a table that others share.

    Afterwards `campaign pull` brings the runs together; in a directory that all parts share
    (RTSTONE_HOME) they are together already.
    """
    return _carry_out(file, json, push, shard=_shard(shard))


def _shard(text: str) -> tuple[int, int]:
    """Return number and count of a part.  Raises UsageError."""
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if not found or int(found[1]) > int(found[2]):
        raise UsageError(f"bad part '{text}', in --shard; write K/N, as 3/8 for the third of eight")
    return int(found[1]), int(found[2])


def _carry_out(
    file: Path, json: bool, push: str | None, *, engine: str = "local",
    shard: tuple[int, int] | None = None,
) -> int:  # fmt: skip
    from rtstone.campaign.dask_cluster import address
    from rtstone.campaign.job_table import Table
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import status
    from rtstone.interrupt import Interrupt

    campaign, place, to = read(file), address(engine), checked(push)
    reporter = Reporter(to, campaign) if to else None
    with Interrupt() as interrupt:
        found = _planned(campaign, interrupt)
        table = Table(campaign.name, f"shard-{shard[0]}-{shard[1]}" if shard else "jobs")
        try:
            table.register()
            rounds = _Rounds(
                campaign, table, interrupt, place=place, shard=shard or (1, 1), reporter=reporter
            )
            early = rounds.run(found)
        finally:
            table.close()
    state = status(campaign)
    if reporter:
        reporter.tell(state, last=True)
    _show(state, json)
    if early:
        say(f"{early}; `rtstone campaign run {file}` goes on")
        return 0
    return Inconclusive.exit_code if state.jobs.failed or state.absent else 0


def _planned(campaign: Campaign, interrupt: Interrupt) -> Planned:
    from rtstone.campaign.planning import plan

    with working("asking the targets"):
        return plan(campaign, interrupt)


class _Rounds:
    """The carrying out of a campaign, and once more if a target answers that did not before."""

    def __init__(
        self, campaign: Campaign, table: Table, interrupt: Interrupt, *,
        place: str | None, shard: tuple[int, int], reporter: Reporter | None,
    ) -> None:  # fmt: skip
        """``place``: of a dask scheduler.  ``shard``: which part of the jobs, of how many.

        ``reporter``: of the results server, None if there is none.
        """
        self._reporter = reporter
        self._campaign, self._table, self._interrupt = campaign, table, interrupt
        self._place, self._shard = place, shard

    def run(self, found: Planned) -> str | None:
        """Carry out a plan, and return why it ended before all was done, None if it did not."""
        while True:
            ended = self._once(found)
            if ended.early or not found.absent:
                return ended.early
            again = _planned(self._campaign, self._interrupt)
            if again.absent.keys() == found.absent.keys():
                return None
            found = again

    def _once(self, found: Planned) -> Ended:
        from rtstone.campaign.running import Limits, Runner
        from rtstone.campaign.status import note_absent

        number, parts = self._shard
        self._table.adopt(list(enumerate(found.jobs))[number - 1 :: parts], found.absent)
        self._table.settle()
        note_absent(self._table, found)
        hours = self._campaign.hours
        limits = Limits(None if hours is None else hours * 3600, self._campaign.runs)
        return Runner(self._table, self._engine(), self._interrupt, self._tell).run(limits)

    def _engine(self) -> Engine:
        names = self._campaign.name, self._table.owner, self._campaign.folder
        if self._place is None:
            from rtstone.campaign.engines import Local

            return Local(*names)
        from rtstone.campaign.dask_engine import Dask

        return Dask(self._place, *names)

    def _tell(self, event: Event) -> None:
        from rtstone.store.layout import runs
        from rtstone.units import seconds

        why = f": {event.reason}" if event.reason else ""
        say(f"{event.state}  {event.job.title}, {seconds(event.took_s)}{why}")
        if self._reporter and event.state == "done":
            self._reporter.ended(runs() / event.job.run_id)


@command.command("status")
@_FILE
@click.option("--watch", is_flag=True, help="Show it anew every second until all is done.")
@_JSON
def status_command(file: Path, watch: bool, json: bool) -> None:
    """Say how far it has come, also while it goes on: what is missing, and why."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import status

    campaign = read(file)
    if watch and not json and sys.stdout.isatty():
        _watch(campaign)
    else:
        _show(status(campaign), json)


def _watch(campaign: Campaign) -> None:
    from time import sleep

    from rich.console import Group
    from rich.live import Live

    from rtstone.campaign.status import status
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
    """Plan the jobs again that have failed; `campaign run` then carries them out."""
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
    help="The page to write; default: NAME.html beside FILE, which then may only replace such a "
    "page.",
)  # fmt: skip
@_JSON
def report_command(file: Path, output: Path | None, json: bool) -> None:
    """Write the matrix as one page: a verdict for each cell, what is missing, and why."""
    from rtstone.campaign.matrix import read
    from rtstone.campaign.status import status
    from rtstone.report.campaign.page import compose
    from rtstone.report.campaign.verdicts import judged

    campaign = read(file)
    if output is None and not json:
        output = default_page(file.with_suffix(".html"))
    state = status(campaign)
    with working("making the page") as line:
        verdicts = judged(state, _loaded, line.steps)
        page = compose(verdicts) if output else ""
    if json:
        print_document(verdicts)
    if output:
        save("the report", output, page, quiet=json)


def _loaded(run_id: str) -> Run:
    from rtstone.store.layout import runs
    from rtstone.store.rundir import load

    return load(runs() / run_id)


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
        found = pull(campaign.name, source)
    for why in found.refused:
        say(f"left out: {why}")
    click.echo(f"{counted(found.taken, 'run')} taken, {found.known} here already")


def _show(state: CampaignState, json: bool) -> None:
    if json:
        print_document(state)
        return
    from rtstone.report.parts.console import console

    console(sys.stdout).print(*_lines(state), sep="\n")


def _lines(state: CampaignState) -> Iterator[RenderableType]:
    from rtstone.measure.extent import roughly
    from rtstone.report.campaign.page import lines

    left = "how long the rest takes is not known: something in it was never measured"
    if state.left_s is not None:
        left = f"about {roughly(state.left_s)} left on this machine"
    return lines(state, left)
