"""Blocks of a page on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from rtstone.report.parts.console import ENDLESS, plain_table, sentences
from rtstone.report.parts.model import Block, Chart, Charts, Finding, Findings, Notes, Table


def fact_lines(facts: Iterable[tuple[str, str]]) -> Iterator[Text]:
    """Yield the facts of a page, a line each."""
    for name, value in facts:
        yield Text(f"{name}: {value}", style="dim")


def block_lines(
    blocks: Iterable[Block], width: int = ENDLESS, encoding: str | None = None
) -> Iterator[RenderableType]:
    """Yield blocks, without headings; texts are split at a width, charts if they have a picture.

    ``encoding``: of the terminal; None: it has all characters.
    """
    for block in blocks:
        match block:
            case Table() | Charts():
                table = block if isinstance(block, Table) else block.table
                if table.title:
                    yield Text()
                yield rich_table(table)
            case Chart(picture=picture) if picture is not None:
                yield from map(Text, picture(width, encoding))
            case Findings():
                for number, finding in enumerate(block.findings, 1):
                    lead = f"{number}. " if block.numbered else ""
                    yield from _finding_lines(finding, lead, width)
            case Notes():
                for text in block.texts:
                    yield from sentences(Text(text, "dim"), width, "   ")


def rich_table(table: Table) -> RichTable:
    """Return a table whose columns but the first are right-aligned."""
    rows = plain_table(title=table.title or None, title_justify="left", title_style="bold")
    for number, name in enumerate(table.columns):
        rows.add_column(
            name, justify="right" if number else "left", no_wrap=True,
            style="" if number else table.style,
        )  # fmt: skip
    for row in table.rows:
        rows.add_row(*(Text(cell if isinstance(cell, str) else cell.text) for cell in row))
    return rows


def _finding_lines(finding: Finding, lead: str, width: int) -> Iterator[Text]:
    label = f"{finding.label}: " if finding.label else ""
    text = Text(f"{lead}{label}{finding.text}", "" if label else finding.style)
    if label:
        text.stylize(finding.style, 0, len(label))
    yield from sentences(text, width, "   ")
    for note in finding.notes:
        yield from sentences(Text(f"   {note}"), width, "     ")
