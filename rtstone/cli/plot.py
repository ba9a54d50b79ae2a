"""`rtstone plot`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, save
from rtstone.cli.parameters import BENCH, FIGURE, LOAD, RUN, choice
from rtstone.cli.progress import working
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.plot.choose import subject
from rtstone.plot.draw import FORMATS, KINDS, Request, plot, render
from rtstone.plot.publication import Publication
from rtstone.printable import shown
from rtstone.stats.published.layout import names as publications
from rtstone.store.measurements import before
from rtstone.store.rundir import load
from rtstone.store.selection import chosen

_LENGTHS = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72}
_LENGTH = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)\s*([a-z]+)")
_LEAST, _MOST = 30, 1000  # mm


def _length(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    match = _LENGTH.fullmatch(text.strip())
    factor = _LENGTHS.get(match[2]) if match else None
    mm = float(match[1]) * factor if match and factor else 0
    if not _LEAST <= mm <= _MOST:
        raise UsageError(
            f"bad length '{text}', in --{parameter.name}; write {_LEAST}mm to {_MOST}mm "
            f"({', '.join(_LENGTHS)})"
        )
    return mm


@click.command("plot")
@click.argument("runs", type=RUN, nargs=-1, required=True)
@click.option(
    "-o", "output", required=True, type=OutputFile(*(f".{form}" for form in FORMATS)),
    metavar="FILE", help="Write FILE.svg, .pdf or .png.",
)  # fmt: skip
@click.option(
    "--kind", callback=choice("kind", KINDS, "--kind"), type=FIGURE,
    help=f"{', '.join(KINDS)}; default: what the runs are about: of a publication's suite its "
    "figures, else wake-up latency, Hartstone's breakdowns or Rhealstone's components.",
)  # fmt: skip
@click.option(
    "--bench", metavar="B", type=BENCH, help="The bench to draw; default: the wake-up latency."
)
@click.option(
    "--load", "loads", multiple=True, type=LOAD, help="Only results under L; default: all loads."
)
@click.option(
    "--figure", metavar="NAME",
    help="Only figures of the publication with this in their title: 'figure 7a'.",
)  # fmt: skip
@click.option(
    "--width", default="84mm", callback=_length, metavar="W",
    help="Width; default 84mm, a column of a paper.",
)  # fmt: skip
@click.option(
    "--height", callback=_length, metavar="H", help="Height; default: what the content needs."
)
def command(
    *,
    runs: tuple[str, ...],
    output: Path,
    kind: str | None,
    bench: str | None,
    loads: tuple[str, ...],
    figure: str | None,
    width: float,
    height: float | None,
) -> None:
    """Draw runs as a figure for a paper: what they are about, or all results of one bench.

    Prints what belongs in its caption: n, time, maximum, omitted activations, flags.
    """
    documents = [load(path) for path in chosen(runs)]
    kind = kind or subject(documents, publications(), bench, loads)
    published = None
    if kind == "publication":
        published = _published(documents)
    elif figure is not None:
        raise UsageError(
            "--figure selects figures of a publication; name a run of its suite, or leave it out"
        )
    form = output.suffix.removeprefix(".").lower()
    with working("drawing"):
        drawn = plot(documents, Request(kind, bench, loads, width, height, published, figure))
        picture = render(drawn, form)
    written = save("the figure", output, picture)
    for line in drawn.caption:
        click.echo(shown(line), err=not written.regular)


def _published(runs: list[Run]) -> Publication:
    """Return the publication whose suite all runs are of, with their numbers.

    Raises UsageError.
    """
    from rtstone.stats.reproduce import reproduce

    sources = {run.suite for run in runs}
    source = sources.pop() if len(sources) == 1 else None
    if source is None or source not in publications():
        raise UsageError(
            "no runs of one publication's suite, in --kind publication; measure them with "
            f"`rtstone run SUITE`, of {', '.join(publications())}"
        )
    with working("reproducing"):
        return Publication(*reproduce(source, runs, before))
