"""`rtstone campaign`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.working import working
from rtstone.errors import Inconclusive

if TYPE_CHECKING:
    from rtstone.campaign.planning import Planned
    from rtstone.campaign.running import Event
    from rtstone.campaign.table import Table
    from rtstone.documents.campaign import CampaignState
    from rtstone.inputs.campaign import Campaign
    from rtstone.interrupt import Interrupt

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
    from rtstone.campaign.status import planned
    from rtstone.inputs.campaign import read
    from rtstone.interrupt import Interrupt

    campaign = read(file)
    with Interrupt() as interrupt:
        found = _planned(campaign, interrupt)
    _show(planned(campaign, found), json)


@command.command("run")
@_FILE
@_JSON
def run_command(file: Path, json: bool) -> int:
    """Carry out what is planned and has not been done, until nothing is left.

    May be started again at any time, and several times at once.
    """
    return _carry_out(file, json)


def _carry_out(file: Path, json: bool) -> int:
    from rtstone.campaign.status import status
    from rtstone.campaign.table import Table
    from rtstone.inputs.campaign import read
    from rtstone.interrupt import Interrupt

    campaign = read(file)
    with Interrupt() as interrupt:
        found = _planned(campaign, interrupt)
        table = Table(campaign.name)
        try:
            table.register()
            early = _rounds(campaign, found, table, interrupt)
        finally:
            table.close()
    state = status(campaign)
    _show(state, json)
    if early:
        click.echo(f"{early}; `rtstone campaign run {file}` goes on", err=True)
        return 0
    return Inconclusive.exit_code if state.jobs.failed or state.absent else 0


def _planned(campaign: Campaign, interrupt: Interrupt) -> Planned:
    from rtstone.campaign.planning import plan

    with working("asking the targets"):
        return plan(campaign, interrupt)


def _rounds(campaign: Campaign, found: Planned, table: Table, interrupt: Interrupt) -> str | None:
    """Carry out the jobs, and once more if a target answers that did not before.

    Returns why it ended before all was done, None if it did not.
    """
    from rtstone.campaign.engines import Local
    from rtstone.campaign.running import Limits, Runner
    from rtstone.campaign.status import note_absent

    limits = Limits(None if campaign.hours is None else campaign.hours * 3600, campaign.runs)
    while True:
        table.adopt(enumerate(found.jobs))
        table.settle()
        note_absent(table, found)
        engine = Local(campaign.name, table.owner, campaign.folder)
        ended = Runner(table, engine, interrupt, _tell).run(limits)
        if ended.early or not found.absent:
            return ended.early
        again = _planned(campaign, interrupt)
        if again.absent.keys() == found.absent.keys():
            return None
        found = again


def _tell(event: Event) -> None:
    from rtstone.units import seconds

    why = f": {event.reason}" if event.reason else ""
    click.echo(f"{event.state}  {event.job.title}, {seconds(event.took_s)}{why}", err=True)


@command.command("status")
@_FILE
@_JSON
def status_command(file: Path, json: bool) -> None:
    """Say how far it has come, also while it goes on: what is missing, and why."""
    from rtstone.campaign.status import status
    from rtstone.inputs.campaign import read

    _show(status(read(file)), json)


def _show(state: CampaignState, json: bool) -> None:
    if json:
        from rtstone.cli.output import print_document

        print_document(state)
        return
    from rtstone.report.campaign.text import lines
    from rtstone.report.parts.console import console
    from rtstone.runner.extent import roughly

    left = "how long the rest takes is not known: something in it was never measured"
    if state.left_s is not None:
        left = f"about {roughly(state.left_s)} left on this machine"
    console(sys.stdout).print(*lines(state, left), sep="\n")
