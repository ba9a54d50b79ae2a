"""A run on the terminal: its summary with the table of results, and its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rtstone.documents.origin import model, system
from rtstone.documents.run import Run, Value
from rtstone.printable import shown
from rtstone.program import typed
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model_terminal import block_lines
from rtstone.report.parts.words import known_as, words
from rtstone.report.run.answer import answer
from rtstone.report.run.attribution import ratios
from rtstone.report.run.brief import brief
from rtstone.report.run.notes import details, experiments, footnotes
from rtstone.report.run.results_table import table
from rtstone.stats.evaluate import RunEvaluation
from rtstone.units import counted

# Keys of a target's detail that other lines show.
_SHOWN_ELSEWHERE = {"title", "label", "model", "system"}


def summary(
    evaluated: RunEvaluation, width: int, encoding: str | None = None
) -> Iterator[RenderableType]:
    """Yield the parts of a run's summary: the answer, then all results and what they mean."""
    run = evaluated.run
    yield from brief(evaluated, width, encoding)
    if run.attribution is not None:
        yield from block_lines(ratios(run), width)
        single = f"{counted(len(run.results), 'single result')}: in --json and the report"
        yield Text(single, style="dim")
        return
    for part in (list(experiments(run)), list(table(run, width))):
        if part:
            yield ""
            yield from part
    yield ""
    run_answer = answer(evaluated)
    yield from details(run, run_answer, width, encoding)
    for text in footnotes(evaluated, run_answer):
        yield from sentences(text, width)


def stored(place: Path, name: str, width: int) -> Iterator[Text]:
    """Yield where a run is stored, and how to make a page of it; ``name``: on a command line."""
    yield from _beside(
        [f"stored in {shown(str(place))}", f"a page of it: rtstone report {name}"], width
    )


def followed(name: str, width: int) -> Iterator[Text]:
    """Yield what to do after a run; ``name``: of the run on a command line.

    Both name the run, so that they stay right when another one is the last.
    """
    yield from _beside(
        [f"all results: rtstone show {name}", f"a page: rtstone report {name}"], width
    )


def _beside(pieces: list[str], width: int) -> Iterator[Text]:
    """Yield them in one line, or each in its own, so that no command is broken."""
    lines = [typed(piece) for piece in pieces]
    whole = "; ".join(lines)
    yield from (Text(line, style="dim") for line in ([whole] if len(whole) <= width else lines))


def conditions(run: Run) -> Table:
    """Return everything known about the circumstances of a run."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    facts: dict[str, Value] = {
        "run": known_as(run),
        "created": run.created,
        "command": " ".join(run.command),
        "target": run.target.title,
    }
    if model(run):
        facts["system"] = system(run)
    detail = run.target.detail.items()
    facts |= {name: v for name, v in detail if name not in _SHOWN_ELSEWHERE and v is not None}
    if run.agent:
        facts |= {"agent": f"{run.agent.version}, port {run.agent.port}, source {run.agent.source}"}
        facts |= {"compiler": run.agent.compiler, "flags": run.agent.flags}
    for name, value in (facts | run.conditions).items():
        table.add_row(name, Text(words(value)))
    return table
