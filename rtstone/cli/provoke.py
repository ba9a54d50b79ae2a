"""`rtstone provoke`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from msgspec import structs

from rtstone.cli.causes import cause_of_worst
from rtstone.cli.measuring import listener_for, report_error
from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import RUN, TARGET, Names, Word, choice
from rtstone.cli.progress import working
from rtstone.cli.streams import maybe_unread, say
from rtstone.documents.provocation import (
    CONSENTS,
    Consent,
    Provocation,
    Provoked,
    System,
    supported,
)
from rtstone.documents.run import LOCAL, Run
from rtstone.errors import Inconclusive, Interrupted, RtstoneError, Unfit, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.actions import ACTIONS, CONTROL
from rtstone.measure.provocation import Measured, design, is_lab, measure
from rtstone.printable import arguments
from rtstone.store.explanations import explanations
from rtstone.store.index import find as find_run
from rtstone.store.selection import members
from rtstone.targets import find as find_target
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.measure.listener import Listener

EXPLAINED = 5  # actions of the lab whose worst wake-up is explained
_ACTION = Names("ACTION", lambda: (Word(a.name, f"while {a.meanwhile}") for a in ACTIONS))
_GRANTS: dict[str, tuple[Consent, ...]] = {"shared": CONSENTS[:2], "system": CONSENTS[:3]}


@click.command("provoke")
@click.argument("actions", type=_ACTION, nargs=-1)
@click.option(
    "--target", "targets", multiple=True, type=TARGET,
    help="Where to measure; see `rtstone list targets`.  Default: local.  Repeat the option to "
    "measure one after the other and see them side by side.",
)  # fmt: skip
@click.option(
    "--consent", callback=choice("consent", _GRANTS, "--consent"),
    type=Names("C", lambda: map(Word, _GRANTS)),
    help="Also do what slows others or leaves their caches cold (shared), or changes settings, "
    "which are restored at the end, also if rtstone is killed (system).  A guest of the lab needs "
    "no consent.",
)  # fmt: skip
@click.option(
    "--run", "names", multiple=True, type=RUN,
    help="Show this stored run, of all its boots, instead of measuring.  Repeat the option to see "
    "two systems side by side.",
)  # fmt: skip
@click.option(
    "--resume", type=RUN,
    help="Go on with an interrupted measurement, named by any of its runs: the same command with "
    "this option.",
)  # fmt: skip
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(
    *,
    actions: tuple[str, ...],
    targets: tuple[str, ...],
    consent: str | None,
    names: tuple[str, ...],
    resume: str | None,
    output: Path | None,
    json: bool,
) -> int:
    """Show which actions of other processes or tasks delay a wake-up, each alone beside it.

    ACTION: default, all that the target may do without consent, or with the one given.  A machine
    is measured in blocks of random order, with controls in each; in the lab each action has a boot
    of its own, and the worst five are explained.
    """
    from rtstone.report.parts import frame

    if output is not None:
        frame.bundle()
    if names and (actions or targets or consent or resume):
        raise UsageError("--run shows stored runs as they are; leave out what else is to measure")
    specs = [] if names else list(dict.fromkeys(targets)) or [LOCAL]
    if resume and len(specs) > 1:
        raise UsageError("--resume goes on with the measurement of one target; leave out the rest")
    earlier = {run.run_id: run for run in members(resume)} if resume else {}
    request = _Request(actions, consent, json, earlier)
    systems = [_stored(name) for name in names]
    error: RtstoneError | None = None
    with Interrupt() as interrupt:
        for spec in specs:
            system, error = _measured(spec, request, interrupt)
            systems.append(system)
            if error:
                break
    document = Provocation(systems=systems)
    with maybe_unread():
        if json:
            print_document(document)
        else:
            from rtstone.report.parts.console import console
            from rtstone.report.provocation.text import provocation_lines

            out = console(sys.stdout)
            out.print(*provocation_lines(document, out.width), sep="\n")
    if output is not None:
        from rtstone.report.provocation.page import compose

        save("the page", output, compose(document), quiet=json)
    return report_error(error or next(filter(None, map(_lacking, systems)), None))


def _lacking(system: System) -> Inconclusive | None:
    """Return why nothing is known of a system, None if something is."""
    if system.actions and not supported(system):
        first = system.actions[0]
        return Unfit(
            f"target '{system.target}' supports none of {counted(len(system.actions), 'action')}, "
            f"{first.action.name}: {first.reason}"
        )
    if system.control is None or not any(row.levels for row in system.actions):
        return Inconclusive(
            f"no action, or no control, has a valid measurement, on target '{system.target}'"
        )
    return None


class _Request(NamedTuple):
    """The names of actions, the consent, and the runs of a measurement that goes on, by id."""

    actions: tuple[str, ...]
    consent: str | None
    json: bool
    earlier: Mapping[str, Run]


def _measured(
    spec: str, request: _Request, interrupt: Interrupt
) -> tuple[System, RtstoneError | None]:
    """Measure a target, and return what it shows, and why it ended early if it did."""
    from rtstone.stats.provocation import judged

    consents = (
        CONSENTS if is_lab(find_target(spec)) else _GRANTS.get(request.consent or "", CONSENTS[:1])
    )
    json, earlier = request.json, request.earlier
    with working(f"asking {spec} what it can measure"):
        session = next((run.session or run.run_id for run in earlier.values()), "")
        plan = design(spec, request.actions, consents, arguments(), interrupt, session=session)
    if not json or sys.stderr.isatty():
        cases = sum(len(part.plan.cases) for part in plan.parts)
        actions = counted(len(plan.system.actions), "action")
        say(f"{spec}: {actions}, {counted(cases, 'measurement')}")

    def listener(number: int, total: int) -> Listener:
        if total > 1 and not json:
            say(f"run {number} of {total}")
        return listener_for(quiet=json or total > 1)

    taken = measure(plan, interrupt=interrupt, listener=listener, earlier=earlier)
    system = judged(plan.system, CONTROL.load, taken.runs, taken.controls)
    if system.exact and taken.error is None:
        system = _explained(system, taken, interrupt)
    if isinstance(taken.error, Interrupted) and (taken.controls or taken.runs):
        last = [*taken.controls, *taken.runs][-1]
        say("what was measured until then is below; the same command with "
            f"--resume {last.session or last.run_id} goes on with it")  # fmt: skip
    return system, taken.error


def _stored(name: str) -> System:
    """Return what a stored measurement shows, with the causes that were explained then."""
    from rtstone.stats.provocation import stored

    runs = {run.run_id: run for run in members(name)}
    system = stored(list(runs.values()), CONTROL, ACTIONS)
    rows = [
        structs.replace(row, cause=_stored_cause(row, runs[row.run])) if row.run else row
        for row in system.actions
    ]
    return structs.replace(system, actions=rows)


def _stored_cause(row: Provoked, run: Run) -> str | None:
    (worst,) = [result.worst for result in run.results if result.case == row.case]
    try:
        path = find_run(run.run_id)
    except UsageError:  # a directory elsewhere, which was named by its path
        return None
    stored = explanations(path, run.run_id, row.case).explanations
    of_worst = [reply for reply in stored if worst and reply.way.sample.index == worst[0].index]
    return of_worst[0].sentence if of_worst else None


def _explained(system: System, taken: Measured, interrupt: Interrupt) -> System:
    """Return a system of the lab with the causes of the worst wake-ups of the first actions."""
    rows = list(system.actions)
    beyond = [number for number, row in enumerate(rows) if row.outcome == "beyond"][:EXPLAINED]
    runs = {run.run_id: run for run in taken.runs}
    with working("explaining") as line:
        for step, number in enumerate(beyond):
            line.steps(step, len(beyond))
            rows[number] = _with_cause(rows[number], runs, interrupt)
    return structs.replace(system, actions=rows)


def _with_cause(row: Provoked, runs: dict[str, Run], interrupt: Interrupt) -> Provoked:
    assert row.run is not None
    run = runs[row.run]
    (result,) = [result for result in run.results if result.case == row.case]
    return structs.replace(row, cause=cause_of_worst(find_run(row.run), run, result, interrupt))
