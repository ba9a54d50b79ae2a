"""`rtstone check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.store.index import find
from rtstone.store.rundir import load

_FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("--budget", type=_FILE, metavar="FILE", help="The limits, a TOML file.")
@click.option(
    "--baseline", "asked", multiple=True, metavar="RUN",
    help="What relative limits are relative to; several are runs of one system.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print the document of the check.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write it as JUnit XML as well.")
@click.option(
    "--markdown", type=_FILE, metavar="FILE",
    help="Write it as Markdown as well, for the summary of a CI job.",
)  # fmt: skip
@click.option(
    "--write-budget", type=_FILE, metavar="FILE",
    help="Instead: draft a budget from these runs of one system, that one more keeps; five do.",
)  # fmt: skip
@click.option("--margin", metavar="SHARE", help="What a drafted limit leaves; default 20%.")
def command(
    *,
    names: tuple[str, ...],
    budget: Path | None,
    asked: tuple[str, ...],
    json: bool,
    junit: Path | None,
    markdown: Path | None,
    write_budget: Path | None,
    margin: str | None,
) -> int:
    """Hold a run against a budget.

    Ends with 0 if all limits are kept, 1 if one is not, 3 if that cannot be told.
    """
    if write_budget is not None:
        others = {"--budget": budget, "--baseline": asked, "--json": json, "--junit": junit,
                 "--markdown": markdown}  # fmt: skip
        if given := [name for name, value in others.items() if value]:
            raise UsageError(f"--write-budget checks nothing; leave out {given[0]}")
        return _draft(names, write_budget, margin or "20%")
    if margin is not None:
        raise UsageError("--margin is for --write-budget")
    if budget is None:
        raise UsageError("no budget named; write --budget FILE, or --write-budget FILE to get one")
    if len(names) > 1:
        raise UsageError(f"one run is checked at a time, not {len(names)}; name the last")
    from rtstone.inputs.budget import load as load_budget
    from rtstone.stats.gate import check
    from rtstone.store.baseline import baselines

    limits = load_budget(budget)
    document = load(find(names[0]))
    before = [load(find(name)) for name in asked] or baselines(limits.baselines, budget)
    gate = check(document, limits, before)
    from rtstone.report.check import text as checked

    if junit:
        from rtstone.report.check.junit import junit as as_junit

        _write(as_junit(gate), junit)
    if markdown:
        _write(checked.markdown(gate), markdown)
    if json:
        from rtstone.cli.output import print_document

        print_document(gate)
    else:
        from rtstone.report.run.terminal import console

        console(sys.stdout).print(*checked.lines(gate), sep="\n")
    return gate.exit_code


def _draft(names: tuple[str, ...], path: Path, margin: str) -> int:
    from rtstone.inputs.budget import margin as share
    from rtstone.stats.draft import draft, from_too_few

    if path.exists():
        raise UsageError(f"there is a file already, {path}; name a new one")
    runs = [load(find(name)) for name in names]
    text = draft(runs, share(margin))
    _write(text, path)
    if warning := from_too_few(runs):
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"{shown(str(path))}: {text.count('[[case]]')} cases")
    return 0


def _write(text: str, path: Path) -> None:
    from rtstone.report.parts.output import write

    try:
        write(text, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
