"""`rtstone growth`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rtstone.cli import run as running
from rtstone.cli.measuring import Options, report_error, status_of
from rtstone.cli.output import print_document
from rtstone.cli.parameters import RUN, TARGET, Names, Word
from rtstone.documents.run import LOCAL, QEMU
from rtstone.errors import Inconclusive, UsageError, unknown
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.store.index import find
from rtstone.store.rundir import load
from rtstone.targets import find as find_target

if TYPE_CHECKING:
    from rtstone.documents.run import Run

SUITE = "growth"
ROUNDS = 5  # of a target whose costs have noise: so few that a trend is seen, and an interval


def _offered() -> dict[str, list[str]]:
    """Return the things of each bench of the suite."""
    offered: dict[str, list[str]] = {}
    for case in suite.load(suite.shipped()[SUITE]).cases:
        over = case.params["over"]
        offered.setdefault(case.bench, []).extend(over if isinstance(over, list) else [str(over)])
    return offered


def _services(offered: dict[str, list[str]]) -> list[str]:
    """Return the names of services and of their families."""
    names = [bench.removeprefix("grow.") for bench in offered]
    return sorted({*names, *(name.partition(".")[0] for name in names)})


def _things(offered: dict[str, list[str]]) -> list[str]:
    return list(dict.fromkeys(thing for over in offered.values() for thing in over))


SERVICE = Names("SERVICE", lambda: map(Word, _services(_offered())))
THING = Names("THING", lambda: map(Word, _things(_offered())))


@click.command("growth")
@click.argument("services", type=SERVICE, nargs=-1)
@click.option(
    "--over", "things", type=THING, multiple=True,
    help="Only beside this: maps, waiters, timers-due-together; repeat the option for several.",
)  # fmt: skip
@click.option("--target", type=TARGET, help="Where to measure.  Default: local.")
@click.option("--run", "stored", type=RUN, help="Show this stored run instead of measuring.")
@click.option("--json", is_flag=True, help="Print only the growth document, as JSON.")
def command(
    services: tuple[str, ...],
    things: tuple[str, ...],
    target: str | None,
    stored: str | None,
    json: bool,
) -> int:
    """Show how costs grow with what is in the system: constant, logarithmic, linear, worse.

    Each SERVICE, by default all: fork, futex, wakeup and others of `rtstone list benches`, without
    the grow. of their names.  A target whose costs have noise is measured in rounds.
    """
    if stored is not None:
        if services or things or target:
            raise UsageError("--run shows a stored run as it is; leave out what else is to measure")
        return _show(load(find(stored)), 0, json=json)
    pairs = select(services, things)
    target = target or LOCAL
    place = find_target(target)
    exact = place.simulates_time or place.name.startswith(QEMU)
    request = Options(
        names=(SUITE,), pairs=pairs, target=target, loads=("none",) * (1 if exact else ROUNDS),
        json=json, yes=True,
    )  # fmt: skip
    with Interrupt() as interrupt:
        finished = running.carry_out(request, interrupt)
        status = status_of(interrupt, finished)
    return _show(finished.run, status, json=json)


def select(services: Sequence[str], things: Sequence[str]) -> dict[str, list[str]]:
    """Return the things of each bench of the suite that are to be measured.  Raises UsageError."""
    offered = _offered()
    names, every = _services(offered), _things(offered)
    for name in services:
        if name not in names:
            raise unknown("service", name, names)
    for thing in things:
        if thing not in every:
            raise unknown("thing", thing, every, "in --over")
    pairs = {
        bench: [thing for thing in over if not things or thing in things]
        for bench, over in offered.items()
        if not services
        or any(f"{bench.removeprefix('grow.')}.".startswith(f"{name}.") for name in services)
    }
    pairs = {bench: over for bench, over in pairs.items() if over}
    if not pairs:
        raise UsageError(
            f"no {' or '.join(services)} is measured beside {' or '.join(things)}; "
            "`rtstone growth` alone measures all pairs"
        )
    return pairs


def _show(run: Run, status: int, *, json: bool) -> int:
    """Print the classes of a run, and return the exit code: not 0 unless a pair has a class."""
    from rtstone.report.growth.terminal import growth_lines, unclassified
    from rtstone.report.parts.console import console
    from rtstone.stats.growth import growth_table

    table = growth_table(run)
    if not table.pairs:
        raise UsageError(f"run {run.run_id} has no case of grow.*; measure with `rtstone growth`")
    if json:
        print_document(table)
    else:
        out = console(sys.stdout)
        out.print(*growth_lines(table, out.width), sep="\n")
    if status == 0 and (why := unclassified(table)):
        return report_error(Inconclusive(f"{table.target}: {why}"))
    return status
