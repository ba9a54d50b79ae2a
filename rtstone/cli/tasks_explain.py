"""`rtstone tasks explain`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import JSON, RUN
from rtstone.cli.progress import working


@click.command("explain")
@click.argument("run", type=RUN)
@click.option(
    "--costs-from", "costs", type=RUN,
    help="Run that measured what each part costs on that target, under the same load: "
    "sched.yield.pair, det.bintime, hw.latency, wakeup, dk.lat_ctx.  Default: the run itself.",
)  # fmt: skip
@JSON
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
def explain_command(run: str, costs: str | None, json: bool, output: Path | None) -> None:
    """Say why tasks of a run of `tasks run` were slower than by analysis, in parts.

    Ticks, switches, late timers, stalls, throttling and cache are switched on one by one in a
    simulation of the jobs that ran, with the costs that were measured on the target.  What is left
    is unexplained.
    """
    if output is not None:
        from rtstone.report.parts import frame

        frame.bundle()
    from rtstone.simulate.engine import require
    from rtstone.store.index import find
    from rtstone.tasks.explaining import explanation

    require()
    with working("simulating"):
        document = explanation(find(run), find(costs) if costs is not None else None)
    if json:
        print_document(document)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.tasks.explanation import explanation_lines

        screen = console(sys.stdout)
        screen.print(*explanation_lines(document, screen.width), sep="\n")
    if output is not None:
        from rtstone.report.tasks.explanation import compose

        save("the page", output, compose(document), quiet=json)
