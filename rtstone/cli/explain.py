"""`rtstone explain`."""

from __future__ import annotations

import sys
from itertools import starmap
from pathlib import Path

import click
import msgspec

from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import BENCH, RUN, SAMPLE, Names, Word, choice
from rtstone.cli.progress import working
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.interrupt import Interrupt
from rtstone.printable import shown
from rtstone.program import typed
from rtstone.store.index import find
from rtstone.store.layout import run_name
from rtstone.store.rundir import load

FORMATS = {
    "text": "for a terminal",
    "html": "a page of its own",
    "folded": "stacks for flamegraph.pl and speedscope",
    "chrome": "trace events for Perfetto and chrome://tracing",
    "json": "the document",
}
_SUFFIXES = {".html": "html", ".folded": "folded", ".json": "json"}  # of files without --format


@click.command("explain")
@click.argument("run", type=RUN)
@click.argument("bench", type=BENCH, required=False)
@click.option(
    "--sample", default="worst", type=SAMPLE,
    help="The sample: worst (default), median, a percentile such as p99, or its number.",
)  # fmt: skip
@click.option(
    "--against", default="median", type=SAMPLE,
    help="The sample that it is compared with, named likewise; default: median.",
)  # fmt: skip
@click.option("--series", metavar="S", help="The series, of a case with several, such as 'cpu 1'.")
@click.option(
    "--format", "form", callback=choice("format", FORMATS, "--format"),
    type=Names("F", lambda: starmap(Word, FORMATS.items())),
    help=f"{', '.join(FORMATS)}; default: text, or what FILE ends with.",
)  # fmt: skip
@click.option(
    "-o", "output", type=OutputFile(), metavar="FILE",
    help="Output file; default: standard output.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(
    *,
    run: str,
    bench: str | None,
    sample: str,
    against: str,
    series: str | None,
    form: str | None,
    output: Path | None,
    json: bool,
) -> None:
    """Explain why a sample took so long: who ran meanwhile, function by function.

    BENCH is a bench or a family of the run; of several results (loads, CPUs, parameters) the one
    with the largest maximum is taken.  Without BENCH it is the latest wake-up from a timer
    (dk.periodic if it was measured), else the result whose maximum is the largest multiple of its
    median.

    On an emulated board the run is repeated, and its instructions are counted; of a live Linux a
    trace must have been recorded with the run.  The explanation is kept with the run, and
    `rtstone report` shows it.
    """
    from rtstone.explain.explain import answer
    from rtstone.stats.explainable import choose, sample_of

    path = find(run)
    document = load(path)
    chosen = choose(document, bench, series)
    subject = sample_of(chosen.result, sample, "--sample")
    reference = sample_of(chosen.result, against, "--against")
    if form is None:
        form = _SUFFIXES.get(output.suffix.lower(), "text") if output else "text"
    if form == "html":  # without the bundle there is no page: refused before anything is computed
        from rtstone.report.parts import frame

        frame.bundle()
    with working("explaining"), Interrupt() as interrupt:
        reply = answer(path, document, chosen.result, subject, reference, interrupt=interrupt)
    explanation = reply.explanation
    if reply.unkept:
        click.echo(f"not kept: {reply.unkept}", err=True)
    if reply.again:
        click.echo("explained before; this explanation was stored with the run", err=True)
    if chosen.among > 1:
        from rtstone.documents.case_name import result_names

        place = document.results.index(chosen.result)
        label = shown(result_names(document)[place].with_load)
        click.echo(f"{label}: the largest maximum of {chosen.among} results", err=True)
    if output is not None:
        if form == "text":
            import io

            from rtstone.report.explanation.text import explanation_lines
            from rtstone.report.parts.console import console

            stream = io.StringIO()
            out = console(stream)
            lines = explanation_lines(explanation, document, out.width, out.encoding)
            out.print(*lines, sep="\n")
            content: str | bytes = stream.getvalue()
        else:
            content = _bytes(explanation, document, form)
        save("the explanation", output, content, quiet=json)
    if json:
        print_document(explanation)
    elif output is None:
        if form != "text":
            sys.stdout.buffer.write(_bytes(explanation, document, form))
            sys.stdout.buffer.flush()
            return
        from rich.text import Text

        from rtstone.cli.pager import paged
        from rtstone.report.explanation.text import explanation_lines

        with paged(sys.stdout) as out:
            out.print(*explanation_lines(explanation, document, out.width, out.encoding), sep="\n")
            page = typed(f"on the page of the run: rtstone report {run_name(path, document.name)}")
            out.print("", Text(page, style="dim"), sep="\n")


def _bytes(explanation: Explanation, run: Run, form: str) -> bytes:
    """Return an explanation in a format other than text, encoded."""
    if form == "html":
        from rtstone.report.explanation.page import compose

        return compose(explanation, run).encode("utf-8", "replace")
    if form == "folded":
        from rtstone.formats.folded import folded

        return folded(explanation)
    if form == "chrome":
        from rtstone.formats.trace_event import trace_events

        return trace_events(explanation)
    return msgspec.json.format(msgspec.json.encode(explanation)) + b"\n"
