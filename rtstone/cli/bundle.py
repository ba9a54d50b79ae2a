"""`rtstone bundle`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone import __version__
from rtstone.cli.output import OutputFile, save
from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import local
from rtstone.errors import Inconclusive, UsageError
from rtstone.printable import shown
from rtstone.store.selection import chosen
from rtstone.units import counted, file_size

if TYPE_CHECKING:
    from rtstone.store.bundle import Checked


@click.command("bundle")
@click.argument("runs", type=RUN, nargs=-1)
@click.option(
    "-o", "output", type=OutputFile(".zst"), metavar="FILE.tar.zst", help="The bundle to write."
)
@click.option(
    "--check", "checked", type=click.Path(path_type=Path), metavar="FILE",
    help="Instead: check a bundle, its files against their SHA-256 and its documents against their "
    "logs.",
)  # fmt: skip
def command(runs: tuple[str, ...], output: Path | None, checked: Path | None) -> int:
    """Bundle runs with their plans and logs in a file that others can check, repeat and import.

    The same runs give the same file.  `rtstone import FILE` stores its runs.
    """
    from rtstone.store import bundle

    if checked is not None:
        if runs or output:
            raise UsageError("--check reads a bundle and packs none; leave out RUN and -o")
        with working("checking"):
            result = bundle.check(checked)
        return _report(checked, result)
    if not runs or output is None:
        raise UsageError("no run or no file to write; write rtstone bundle RUN... -o FILE.tar.zst")
    paths = chosen(local(runs))
    with working("bundling"):
        data = bundle.pack(paths, __version__)
    save("the bundle", output, data)
    return 0


def _report(path: Path, checked: Checked) -> int:
    """Print whether a bundle is sound, then its runs; return the exit code."""
    contents = checked.bundle
    differing = {run.run_id: run.results for run in checked.differing}
    files = sum(len(run.files) for run in contents.runs)
    number = counted(len(contents.runs), "run")
    summary = f"{number}, {counted(files, 'file')}, {file_size(checked.size)}"
    if differing:
        documents = counted(len(differing), "document")
        verdict = (
            f"? undecided: every file is as it was bundled, but {documents} not what this version "
            "makes of the logs"
        )
    else:
        verdict = "+ sound: every file is as it was bundled"
        if len(checked.without_logs) < len(contents.runs):
            verdict += ", every document is what its logs say"
    click.echo(f"{verdict}; {summary}, {shown(str(path))}")
    for run in contents.runs:
        facts = [
            f"on {run.target}",
            *([f"agent's whole source {run.source}"] if run.source else []),
        ]
        if run.run_id in checked.without_logs:
            facts.append("no logs to check its document by")
        if run.run_id in differing:
            facts.append(f"not as in its logs: {counted(differing[run.run_id], 'result')}")
        click.echo(shown(f"{run.run_id}{f' ({run.name})' if run.name else ''}: {', '.join(facts)}"))
    return Inconclusive.exit_code if differing else 0
