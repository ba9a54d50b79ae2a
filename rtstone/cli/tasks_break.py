"""`rtstone tasks break`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import structs

from rtstone.cli.measuring import report_error
from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import JSON, LOAD, TARGET, Names, Word
from rtstone.cli.streams import maybe_unread, say
from rtstone.cli.task_files import read
from rtstone.documents.breakdown_curve import BreakdownCurve
from rtstone.documents.plan import NONE
from rtstone.documents.run import HARTSTONE, LOCAL, QEMU
from rtstone.errors import Inconclusive, RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.printable import arguments, shown


def _experiments() -> Iterator[Word]:
    from rtstone.simulate.hartsets import EXPERIMENTS

    return (Word(f"{HARTSTONE}{name}") for name in EXPERIMENTS)


SET_OR_EXPERIMENT = Names("FILE", _experiments, file=True)
SCALE = Names("work|rates|TASK", lambda: map(Word, ("work", "rates")))


@click.command("break")
@click.argument("file", type=SET_OR_EXPERIMENT)
@click.option(
    "--target", type=TARGET, default=LOCAL, metavar="T",
    help="Where to run it; see `rtstone list targets`.  Default: local.",
)  # fmt: skip
@click.option(
    "--scale", type=SCALE,
    help="What to multiply: all work, all rates, or the work of one task.  Default: work.",
)  # fmt: skip
@click.option("--load", type=LOAD, default=NONE, metavar="L", help="Load to run beside it.")
@JSON
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
def break_command(
    *, file: str, target: str, scale: str | None, load: str, json: bool, output: Path | None
) -> int:
    """Search for the utilisation at which a task set misses deadlines on a target.

    FILE is a task set, a file of rt-app, FILE.json, or an experiment of Hartstone, as hart.PH.2,
    whose tests are then searched instead of made one after the other.  What the set demands is
    multiplied until 1% of the jobs miss; where nothing has noise, until one does.  Each test is a
    stored run.
    """
    if output is not None:
        from rtstone.report.parts import frame

        frame.bundle()
    with Interrupt() as interrupt:
        document, error = _last(_curves(file, target, scale, load, interrupt))
    if document is None:
        assert error is not None
        raise error
    if error is not None:
        document = structs.replace(document, early=str(error))
    if json:
        print_document(document)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.tasks.breakdown import breakdown_lines

        with maybe_unread():
            screen = console(sys.stdout)
            screen.print(*breakdown_lines(document, screen.width), sep="\n")
    if output is not None:
        from rtstone.report.tasks.breakdown import compose

        save("the page", output, compose(document), quiet=json)
    if error is not None:
        return report_error(error)
    if document.high is None:
        return Inconclusive.exit_code
    return 0


def _curves(
    file: str, target: str, scale: str | None, load: str, interrupt: Interrupt
) -> Iterator[BreakdownCurve]:
    """Yield what is known after each level."""
    from rtstone.measure.listener import Listener
    from rtstone.targets import find
    from rtstone.tasks import breakdown, hartstone

    place = find(target)
    exact = place.simulates_time or place.name.startswith(QEMU)
    if file in {each.word for each in _experiments()}:
        if scale is not None:
            raise UsageError(f"--scale {scale}: {file} has its own; leave it out")
        return hartstone.break_down(
            file, target=target, load=load, exact=exact, interrupt=interrupt, listener=Listener(),
            command=arguments(),
        )  # fmt: skip
    path = Path(file)
    return breakdown.break_down(
        read(path), file=shown(file), target=target, scale=scale or "work", load=load, exact=exact,
        interrupt=interrupt, listener=Listener(), command=arguments(),
    )  # fmt: skip


def _last(
    curves: Iterator[BreakdownCurve],
) -> tuple[BreakdownCurve | None, RtstoneError | None]:
    """Return the last curve, telling of each, and the error that ended the search, if one did."""
    from rtstone.report.tasks.breakdown import answer

    last = None
    try:
        for last in curves:
            say(f"{last.tests} tests: {answer(last)}")
    except RtstoneError as error:
        return last, error
    return last, None
