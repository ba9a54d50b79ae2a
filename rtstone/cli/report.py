"""`rtstone report`."""

from __future__ import annotations

import stat
from pathlib import Path

import click

from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.store.session import named


def _page(context: click.Context, parameter: click.Parameter, text: str) -> Path:
    if not text:
        raise UsageError("empty file name, in -o; write -o FILE.html")
    return Path(text)


@click.command("report")
@click.argument("runs", metavar="RUN[,RUN]...", nargs=-1, required=True)
@click.option(
    "-o", "output", required=True, callback=_page, metavar="FILE.html", help="The page to write."
)
def command(runs: tuple[str, ...], output: Path) -> None:
    """Write one or more runs as one self-contained HTML page; several runs are compared.

    Runs are named as for `rtstone compare`: runs of one system may be joined by commas, and any run
    measured by `compare --run` stands for its whole session.
    """
    from rtstone.report import page
    from rtstone.report.parts import frame
    from rtstone.stats.evaluate import evaluate_runs

    frame.bundle()
    documents = named(runs)
    try:
        size = page.render(evaluate_runs(documents), output)
        regular = stat.S_ISREG(output.stat().st_mode)
    except OSError as error:
        raise UsageError(f"cannot write the report, {output}: {error.strerror}") from error
    click.echo(f"{shown(str(output))}: {size / 1e6:.1f} MB", err=not regular)
