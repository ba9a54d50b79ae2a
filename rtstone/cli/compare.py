"""`rtstone compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone import structures
from rtstone.cli.measuring import (
    Options,
    assignments,
    listener_for,
    refuse_empty,
    report_error,
)
from rtstone.cli.output import OutputFile, save
from rtstone.cli.parameters import LOAD, RUN, RUN_SUITE_OR_BENCH, TARGET
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import local
from rtstone.cli.streams import maybe_unread
from rtstone.documents.run import Run
from rtstone.errors import Interrupted, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.interleave import PAIRS, Next, Side, check, measure_pairs
from rtstone.measure.planner import build_plan
from rtstone.store.index import find
from rtstone.store.measurements import before
from rtstone.store.rundir import load
from rtstone.store.selection import named, several
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.documents.comparison import Comparison


@click.command("compare")
@click.argument("names", type=RUN_SUITE_OR_BENCH, nargs=-1)
@click.option(
    "--run", "targets", nargs=2, metavar="A B", type=TARGET,
    help="Measure targets A and B interleaved (A B B A) and compare the results; the arguments "
    "then name what to measure, as for `rtstone run`.",
)  # fmt: skip
@click.option(
    "--pairs", type=click.IntRange(2), metavar="N",
    help=f"With --run: number of runs of each target, preferably even; default {PAIRS}.",
)  # fmt: skip
@click.option("--load", "loads", multiple=True, type=LOAD, help="With --run: as for `run`.")
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="With --run: as for `run`.",
)  # fmt: skip
@click.option("--time", metavar="S", help="With --run: as for `run`.")
@click.option("--cpus", metavar="LIST", help="With --run: as for `run`.")
@click.option(
    "--floor",
    multiple=True,
    metavar="RUN,RUN...",
    type=RUN,
    help="Several runs of one system, from which to estimate the noise between single runs.",
)
@click.option("--all", "everything", is_flag=True, help="Show every row, not only the differences.")
@click.option("--json", is_flag=True, help="Print only the comparison document, as JSON.")
@click.option(
    "-o", "output", type=OutputFile(".tex"), metavar="FILE.tex",
    help="Also write the table of all cases for a paper, in LaTeX.",
)  # fmt: skip
def command(
    names: tuple[str, ...],
    targets: tuple[str, str] | None,
    pairs: int | None,
    floor: tuple[str, ...],
    *,
    everything: bool,
    json: bool,
    output: Path | None,
    **measured: object,
) -> int:
    """Compare systems case by case, and say how certain each difference is.

    Each column is compared with the first.  Runs of one system that are joined by commas, or that
    differ only in the seed, form one column.  Any run measured by --run stands for its whole
    session.  `rtstone report RUN...` draws the same comparison.
    """
    if targets:
        if floor:
            raise UsageError(
                "--floor is for stored runs; pairs measure their own noise, so leave it out"
            )
        options = {"names": list(names), "json": json, **measured}
        both = [structures.convert(options | {"target": target}, Options) for target in targets]
        return _measure(both, pairs or PAIRS, everything, output)
    refused = {"--pairs": pairs, **{f"--{name}": value for name, value in measured.items()}}
    if wrong := [name for name, value in refused.items() if value]:
        name = {"--loads": "--load", "--params": "-p"}.get(wrong[0], wrong[0])
        raise UsageError(f"{name} applies only when measuring; name two targets with --run A B")
    if not names:
        raise click.MissingParameter(param_hint="'RUN...'", param_type="argument")
    from rtstone.stats.comparison.compare import compare

    names = local(names)
    with working(f"comparing {counted(len(names), 'run')}"):
        beside = [load(find(name)) for text in floor for name in several(text)]
        columns = named(names)
        every = (
            run for column in columns for run in ([column] if isinstance(column, Run) else column)
        )
        refuse_empty(run for run in every if run.turn is None)  # a pair may have lost a side
        comparison = compare(columns, beside, before)
    _show(comparison, json, everything, output)
    return 0


def _measure(both: list[Options], pairs: int, everything: bool, output: Path | None) -> int:
    json = both[0].json
    with Interrupt() as interrupt:
        with working(f"asking {' and '.join(options.target for options in both)}"):
            first, other = (Side(*build_plan(options, interrupt)) for options in both)
        check((first, other))
        runs, error = measure_pairs(
            first.plan.run_id, (first, other), pairs, interrupt=interrupt,
            listener=lambda: listener_for(json), announce=lambda run: _announce(run, json),
        )  # fmt: skip
        from rtstone.stats.comparison.compare import compare
        from rtstone.stats.comparison.systems import in_pairs

        columns = in_pairs(runs)
        if not columns and error is None and not interrupt.requested:
            refuse_empty(runs)
        if columns:
            with maybe_unread():
                _show(compare(columns), json, everything, output)
        status = report_error(error)
        return Interrupted.exit_code if interrupt.requested else status


def _announce(run: Next, json: bool) -> None:
    """Print one line on stderr before each run."""
    if json and not sys.stderr.isatty():
        return
    from rtstone.units import roughly

    turn = run.turn
    left = "" if run.left_s is None else f", about {roughly(run.left_s)} left"
    print(
        f"run {run.number} of {run.total}: pair {turn.pair}, {turn.side}, {run.target}{left}",
        file=sys.stderr, flush=True,
    )  # fmt: skip


def _show(comparison: Comparison, json: bool, everything: bool, output: Path | None) -> None:
    if output:
        from rtstone.report.comparison.latex import latex

        save("the table", output, latex(comparison), quiet=True)
    if json:
        from rtstone.cli.output import print_document

        print_document(comparison)
        return
    from rtstone.cli.pager import paged
    from rtstone.report.comparison.page import comparison_lines

    with paged(sys.stdout) as out:
        lines = comparison_lines(comparison, out.width, everything)
        out.print(*lines, sep="\n", soft_wrap=True)  # they fit, but for a command to copy
