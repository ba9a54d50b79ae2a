"""`rtstone tasks run`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.measuring import listener_for
from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import JSON, LOAD, TARGET
from rtstone.cli.progress import working
from rtstone.cli.streams import maybe_unread
from rtstone.cli.task_files import SET, read
from rtstone.documents.check import FAILED
from rtstone.documents.plan import NONE, Plan
from rtstone.documents.run import LOCAL
from rtstone.errors import Inconclusive
from rtstone.interrupt import Interrupt
from rtstone.printable import arguments, shown
from rtstone.targets.base import Target
from rtstone.wire.parameters import duration

if TYPE_CHECKING:
    from rtstone.documents.tasks import Schedulability, TaskSet


@click.command("run")
@click.argument("file", type=SET)
@click.option(
    "--target", type=TARGET, default=LOCAL, metavar="T",
    help="Where to run it; see `rtstone list targets`.  Default: local.",
)  # fmt: skip
@click.option("--load", type=LOAD, default=NONE, metavar="L", help="Load to run beside it.")
@click.option(
    "--time", default="10s", metavar="S",
    help="Run it for this long, in seconds without a unit.  Default: 10s.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 10**12), default=1, metavar="N",
    help="Seed of random arrivals, jitters and work: the same jobs on every target.",
)  # fmt: skip
@click.option(
    "--name", metavar="NAME",
    help="Name of the run, shown everywhere and accepted wherever RUN is: `rtstone show NAME`.",
)  # fmt: skip
@JSON
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
def run_command(
    file: Path,
    *,
    target: str,
    load: str,
    time: str,
    seed: int,
    name: str | None,
    json: bool,
    output: Path | None,
) -> int:
    """Run a task set on a target, and say whether its needs were met, and what ran meanwhile.

    FILE is a task set, or a file of rt-app, FILE.json.  Exit code: 0 if all needs were met, 1 if
    one was not, 3 if so few jobs do not tell.
    """
    if output is not None:
        from rtstone.report.parts import frame

        frame.bundle()
    from rtstone.store.layout import run_name
    from rtstone.tasks.run import measure

    tasks = read(file)
    duration_ns = duration(time, "--time")
    with Interrupt() as interrupt, ExitStack() as asking:
        asking.enter_context(working(f"asking {target} what it can measure"))

        def approve(plan: Plan, target: Target) -> None:
            asking.close()

        document, path = measure(
            tasks, file=shown(str(file)), target=target, load=load, duration_ns=duration_ns,
            seed=seed, name=name, interrupt=interrupt, listener=listener_for(quiet=json),
            command=arguments(), approve=approve,
        )  # fmt: skip
    with maybe_unread():
        if json:
            print_document(document)
        else:
            from rtstone.report.parts.console import console
            from rtstone.report.tasks.run import run_lines

            screen = console(sys.stdout)
            lines = run_lines(document, run_name(path, name), screen.width)
            screen.print(*lines, sep="\n")
    if output is not None:
        from rtstone.report.tasks.run_page import compose

        page = compose(document, _analysis(tasks, shown(str(file))), run_name(path, name))
        save("the page", output, page, quiet=json)
    codes = {"holds": 0, "fails": FAILED, "inconclusive": Inconclusive.exit_code}
    return codes[document.outcome]


def _analysis(tasks: TaskSet, file: str) -> Schedulability | None:
    """Return what the analysis says of a set, None if the time of its work is not known."""
    from rtstone.documents.tasks import Costs
    from rtstone.tasks.analysis.check import check

    if any(task.work.kwi is not None for task in tasks.tasks):
        return None
    return check(tasks, Costs(), file)
