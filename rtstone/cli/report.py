"""`rtstone report`."""

from __future__ import annotations

import stat
from pathlib import Path

import click

from rtstone.cli.fetched import local
from rtstone.cli.working import working
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.store.explanations import explanations
from rtstone.store.rundir import load
from rtstone.store.session import named

DEFAULT = Path("report.html")
_MARK = b'<meta name="generator" content="rtstone">'  # of a page; see templates/frame.html
_HEAD = 4096  # bytes at the beginning of a page that have the mark


def _page(context: click.Context, parameter: click.Parameter, text: str | None) -> Path:
    if text == "":
        raise UsageError("empty file name, in -o; write -o FILE.html")
    if text is None and not _replaceable(DEFAULT):
        raise UsageError(f"{DEFAULT} exists and is no page of rtstone; write -o FILE.html")
    return DEFAULT if text is None else Path(text)


def _replaceable(path: Path) -> bool:
    """Return whether a file is not there, or a page of an earlier report."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            return _MARK in file.read(_HEAD)
    except FileNotFoundError:
        return not path.is_symlink()
    except OSError:
        return False


@click.command("report")
@click.argument("runs", metavar="RUN[,RUN]...", nargs=-1, required=True)
@click.option(
    "-o", "output", callback=_page, metavar="FILE.html",
    help=f"The page to write; default: {DEFAULT}, which then may only replace such a page.",
)  # fmt: skip
def command(runs: tuple[str, ...], output: Path) -> None:
    """Write one or more runs as one self-contained HTML page; several runs are compared.

    Runs are named as for `rtstone compare`: runs of one system may be joined by commas, and any run
    measured by `compare --run` stands for its whole session.  A run of which samples were explained
    (`rtstone explain`) has their explanations on its page.
    """
    from rtstone.report import page
    from rtstone.report.parts import frame
    from rtstone.stats.evaluate import evaluate_runs

    frame.bundle()
    runs = local(runs)
    with working("making the page"):
        explained: dict[str, list[Explanation]] = {}
        documents = named(runs, lambda path: _read(path, explained))
        try:
            size = page.render(evaluate_runs(documents), output, explained)
            regular = stat.S_ISREG(output.stat().st_mode)
        except OSError as error:
            raise UsageError(f"cannot write the report, {output}: {error.strerror}") from error
    click.echo(f"{shown(str(output))}: {size / 1e6:.1f} MB", err=not regular)


def _read(path: Path, explained: dict[str, list[Explanation]]) -> Run:
    """Return the run in a directory, and take note of its explanations."""
    run = load(path)
    if run.run_id not in explained:
        kept = explanations(path, run.run_id)
        explained[run.run_id] = kept.explanations
        for why in kept.damaged:
            click.echo(f"left out: {shown(why)}", err=True)
    return run
