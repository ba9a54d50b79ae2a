"""`rtstone compare`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from rtstone.cli.run import Request, assignments, listener_for, prepared, told
from rtstone.cli.streams import maybe_unread
from rtstone.errors import Interrupted, UsageError
from rtstone.interrupt import Interrupt
from rtstone.runner.interleave import PAIRS, Next, Side, check, measure_pairs
from rtstone.store.index import find
from rtstone.store.rundir import load
from rtstone.store.session import named, several

if TYPE_CHECKING:
    from rtstone.documents.comparison import Comparison


@click.command("compare")
@click.argument("names", metavar="RUN[,RUN]... or SUITE or BENCH...", nargs=-1)
@click.option(
    "--run", "targets", nargs=2, metavar="A B",
    help="Measure the targets A and B in turn (A B B A), and compare that; what stands without an "
    "option is then what to measure, as for `rtstone run`.",
)  # fmt: skip
@click.option(
    "--pairs", type=click.IntRange(2), metavar="N",
    help=f"With --run: how often each is measured, best an even number; default {PAIRS}.",
)  # fmt: skip
@click.option("--load", "loads", multiple=True, metavar="L", help="With --run: as for run.")
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="With --run: as for run.",
)  # fmt: skip
@click.option("--time", metavar="S", help="With --run: as for run.")
@click.option("--cpus", metavar="LIST", help="With --run: as for run.")
@click.option(
    "--floor",
    multiple=True,
    metavar="RUN,RUN...",
    help="Runs of one system, which tell how far single runs scatter without any difference.",
)
@click.option("--json", is_flag=True, help="Print the comparison document.")
def command(
    names: tuple[str, ...],
    targets: tuple[str, str] | None,
    pairs: int | None,
    floor: tuple[str, ...],
    json: bool,
    **measured: object,
) -> int:
    """How systems differ, case by case, and how certain that is.

    Each column is compared with the first. Runs of one system joined by commas, or that differ in
    nothing but the seed, are one column. One run that --run has measured stands for all of them.
    `rtstone report RUN...` draws the same.
    """
    if targets:
        if floor:
            raise UsageError("--floor is for stored runs; pairs tell their own noise: leave it out")
        options = {"names": list(names), "json": json, **measured}
        asked = [msgspec.convert(options | {"target": one}, Request) for one in targets]
        return _measured(asked, pairs or PAIRS)
    given = {"--pairs": pairs, **{f"--{name}": value for name, value in measured.items()}}
    if wrong := [name for name, value in given.items() if value]:
        name = {"--loads": "--load", "--params": "-p"}.get(wrong[0], wrong[0])
        raise UsageError(f"{name} is for measuring; name two targets with --run A B")
    if not names:
        raise click.MissingParameter(param_hint="'RUN...'", param_type="argument")
    from rtstone.stats.comparison.compare import compare

    beside = [load(find(name)) for text in floor for name in several(text)]
    _show(compare(named(names), beside), json)
    return 0


def _measured(asked: list[Request], pairs: int) -> int:
    json = asked[0].json
    with Interrupt() as interrupt:
        first, other = (Side(*prepared(request, interrupt)) for request in asked)
        check((first, other))
        runs, error = measure_pairs(
            first.plan.run_id, (first, other), pairs, interrupt=interrupt,
            listener=lambda: listener_for(json), tell=lambda coming: _tell(coming, json),
        )  # fmt: skip
        from rtstone.stats.comparison.compare import compare
        from rtstone.stats.comparison.systems import in_pairs

        if both := in_pairs(runs):
            with maybe_unread():
                _show(compare(both), json)
        status = told(error)
        return Interrupted.exit_code if interrupt.requested else status


def _tell(coming: Next, json: bool) -> None:
    """One line on stderr before each run."""
    if json and not sys.stderr.isatty():
        return
    from rtstone.units import seconds

    turn = coming.turn
    left = "" if coming.left_s is None else f", about {seconds(max(1, round(coming.left_s)))} left"
    print(
        f"run {coming.number} of {coming.of}: pair {turn.pair}, {turn.side}, {coming.target}{left}",
        file=sys.stderr, flush=True,
    )  # fmt: skip


def _show(comparison: Comparison, json: bool) -> None:
    if json:
        from rtstone.cli.output import print_document

        print_document(comparison)
        return
    from rtstone.report.comparison.text import lines
    from rtstone.report.run.terminal import console

    out = console(sys.stdout)
    out.print(*lines(comparison, out.width), sep="\n")
