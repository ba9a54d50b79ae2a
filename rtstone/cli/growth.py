"""`rtstone growth`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli import run as running
from rtstone.cli.measuring import Options, report_error, status_of
from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import RUN_LIST, TARGET, Names, Word
from rtstone.documents.run import LOCAL, QEMU
from rtstone.errors import Inconclusive, UsageError, unknown
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.store.selection import named
from rtstone.targets import find as find_target

if TYPE_CHECKING:
    from rtstone.documents.run import Run

SUITE = "growth"
ROUNDS = 6  # of a target whose costs have noise: so few that 95% of growths have their class


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
@click.option(
    "--target", "targets", type=TARGET, multiple=True,
    help="Where to measure.  Default: local.  Repeat the option to see several side by side; those "
    "that differ only in the seed are one system.",
)  # fmt: skip
@click.option(
    "--run", "stored", type=RUN_LIST, multiple=True,
    help="Show this stored run instead of measuring.  Repeat the option to see several side by "
    "side; runs of one system may be joined by commas.",
)  # fmt: skip
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
@click.option("--json", is_flag=True, help="Print only the growth document, as JSON.")
def command(
    *,
    services: tuple[str, ...],
    things: tuple[str, ...],
    targets: tuple[str, ...],
    stored: tuple[str, ...],
    output: Path | None,
    json: bool,
) -> int:
    """Show how costs grow with what is in the system: constant, logarithmic, linear, worse.

    Each SERVICE, by default all: fork, futex, wakeup and others of `rtstone list benches`, without
    the grow. of their names.  A target whose costs have noise is measured in rounds.  Of several
    systems, the first line says where classes differ.
    """
    from rtstone.report.parts import frame

    if output is not None:
        frame.bundle()
    if stored:
        if services or things or targets:
            raise UsageError("--run shows a stored run as it is; leave out what else is to measure")
        return _show(named(stored), 0, output, json=json)
    pairs = select(services, things)
    targets = targets or (LOCAL,)
    runs: list[Run | list[Run]] = []
    status = 0
    with Interrupt() as interrupt:
        places = [find_target(target) for target in targets]
        for target, place in zip(targets, places, strict=True):
            exact = place.simulates_time or place.name.startswith(QEMU)
            request = Options(
                names=(SUITE,), pairs=pairs, target=target, json=json, yes=True,
                loads=("none",) * (1 if exact else ROUNDS),
            )  # fmt: skip
            finished = running.carry_out(request, interrupt)
            status = status or status_of(interrupt, finished, target if places[1:] else "")
            runs.append(finished.run)
            if interrupt.requested:
                break
    return _show(runs, status, output, json=json)


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


def _show(
    runs: Sequence[Run | Sequence[Run]], status: int, output: Path | None, *, json: bool
) -> int:
    """Print the classes of runs, and return the exit code: not 0 unless a pair has a class."""
    from rtstone.report.growth import comparison, terminal, words
    from rtstone.report.growth.page import compose
    from rtstone.report.parts.console import console
    from rtstone.stats.comparison.systems import systems
    from rtstone.stats.growth import growth_table
    from rtstone.stats.growth_changes import growth_changes

    tables = [growth_table(system) for system in systems(runs)]
    if lacking := [table for table in tables if not table.pairs]:
        raise UsageError(
            f"run {lacking[0].runs[0]} has no case of grow.*; measure with `rtstone growth`"
        )
    changes = growth_changes(tables) if len(tables) > 1 else None
    out = console(sys.stdout)
    if json:
        print_document(changes or tables[0])
    elif changes:
        out.print(*terminal.changes_lines(tables, changes, out.width), sep="\n")
    else:
        out.print(*terminal.growth_lines(tables[0], out.width), sep="\n")
    if output is not None:
        save("the page", output, compose(tables, changes), quiet=json)
    why = comparison.undetermined(changes) if changes else words.unclassified(tables[0])
    if status in (0, Inconclusive.exit_code) and why:
        place = "" if changes else f"{tables[0].target}: "
        return report_error(Inconclusive(f"{place}{why}"))
    return status
