"""`rtstone cite`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, save
from rtstone.cli.parameters import RUN
from rtstone.cli.remote_runs import local
from rtstone.documents.imported import tool
from rtstone.documents.run import Run
from rtstone.resources import path
from rtstone.store.rundir import load
from rtstone.store.selection import chosen

# The entries of a word in what the source of a bench is said to be.
_SOURCES = {
    "Sjöblom": ("sjoblom2008",),
    "Gutsalov": ("gutsalov2002",),
    "Obenland": ("obenland2001",),
    "Golatowski": ("golatowski1995",),
    "Dankwardt": ("dankwardt2002",),
    "Rhealstone": ("kar1989", "kar1990"),
    "Hartstone": ("weiderman1989", "weiderman1992"),
}
# The entries of a run's 95% intervals: of means, and of percentiles (docs/reference/estimates.md).
_INTERVALS = ("politis2004", "patton2009")
_PERCENTILES = ("korn1998",)


@click.command("cite")
@click.argument("runs", type=RUN, nargs=-1)
@click.option(
    "-o", "output", type=OutputFile(".bib"), metavar="FILE.bib",
    help="Output file; default: standard output.",
)  # fmt: skip
def command(runs: tuple[str, ...], output: Path | None) -> None:
    """Print how to cite rtstone at this version, as BibTeX, and what the given runs used.

    Of a run: the publications that define its benches, and the methods of its intervals.
    """
    documents = [load(path) for path in chosen(local(runs))]
    used = {"rtstone", *(key for run in documents for key in used_by(run))}
    text = "\n".join(entry for key, entry in entries().items() if key in used)
    if output is None:
        click.echo(text, nl=False)
    else:
        save("the references", output, text)


def entries() -> dict[str, str]:
    """Return the entries of references.bib by their keys."""
    text = path("references.bib").read_text("utf-8")
    keys = re.findall(r"(?ms)^@\w+\{(\w+),\n.*?^\}\n", text)
    parts = re.findall(r"(?ms)^@\w+\{\w+,\n.*?^\}\n", text)
    return dict(zip(keys, parts, strict=True))


def used_by(run: Run) -> Iterator[str]:
    """Yield the keys of what a run used; an imported run used no bench of a publication."""
    measured = [result for result in run.results if result.n or result.figures]
    benches = {result.bench for result in measured}
    if not tool(run):
        for bench in run.benches:
            if bench.id in benches:
                yield from _of_source(bench.source)
    names = {name for result in measured for name, ends in result.ci95.items() if ends}
    yield from _INTERVALS if names else ()
    yield from _PERCENTILES if names - {"mean"} else ()


def _of_source(source: str | None) -> Sequence[str]:
    words = source or ""
    return [key for word, keys in _SOURCES.items() if word in words for key in keys]
