"""`rtstone report`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.cli.output import OutputFile, default_page, save
from rtstone.cli.parameters import RUN_LIST
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import local
from rtstone.cli.stored_sections import stored_sections
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.documents.sections import SectionsOfRun
from rtstone.printable import shown
from rtstone.store.explanations import explanations
from rtstone.store.measurements import before
from rtstone.store.rundir import load
from rtstone.store.selection import named

DEFAULT = Path("report.html")


def _page(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path:
    return default_page(DEFAULT) if path is None else path


@click.command("report")
@click.argument("runs", type=RUN_LIST, nargs=-1, required=True)
@click.option(
    "-o", "output", type=OutputFile(), callback=_page, metavar="FILE.html",
    help=f"The page to write; default: {DEFAULT}, which replaces nothing but such a page.",
)  # fmt: skip
def command(runs: tuple[str, ...], output: Path) -> None:
    """Write one or more runs as one self-contained HTML page; several runs are compared.

    Runs are named as for `rtstone compare`: runs of one system may be joined by commas, and any run
    measured by `compare --run` stands for its whole session.  A run of which samples were explained
    (`rtstone explain`) has their explanations on its page, one whose sections were looked for
    (`rtstone sections`, `rtstone run --sections`) has these and their bound.
    """
    from rtstone.report import page
    from rtstone.report.parts import frame
    from rtstone.stats.evaluate import evaluate_runs

    explained: dict[str, list[Explanation]] = {}
    sections: dict[str, list[SectionsOfRun]] = {}

    def read(path: Path) -> Run:
        run = load(path)
        if run.run_id not in explained:
            stored = explanations(path, run.run_id)
            explained[run.run_id] = stored.explanations
            sections[run.run_id] = stored_sections(path, run)
            for why in stored.damaged:
                click.echo(f"left out: {shown(why)}", err=True)
        return run

    frame.bundle()
    runs = local(runs)
    with working("making the page"):
        documents = named(runs, read)
        text = page.compose(evaluate_runs(documents, before), explained, sections=sections)
    save("the report", output, text)
