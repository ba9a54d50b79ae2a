"""Blocks of a page on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from rich.console import JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from rtstone.report.parts import model
from rtstone.report.parts.console import ENDLESS, folded, plain_table, sentences
from rtstone.report.parts.model import (
    Block,
    Chart,
    Charts,
    Findings,
    Grid,
    Notes,
    Page,
    Table,
)


def page_lines(page: Page, width: int) -> Iterator[RenderableType]:
    """Yield a page that has a lead, with its headings; its verdict comes first, if it has one."""
    yield from _wrapped(page.verdict, width, "bold")
    yield from _wrapped(page.lead, width, "" if page.verdict else "bold")
    for system in page.systems:
        yield Text(str(system.head), style="bold cyan")
        for text in system.texts:
            yield from _wrapped(text, width, "dim", "  ")
    for note in page.notes:
        yield from _wrapped(note, width, "dim")
    for section in page.sections:
        yield Text()
        heading = f"{section.title} ({section.text})" if section.text else section.title
        yield from _wrapped(heading, width, "bold cyan")
        for block in section.blocks:
            match block:
                case Findings():
                    for finding in block.findings:
                        yield from _wrapped(f"{finding.label}: {finding.text}", width, "dim")
                case Notes():
                    style = "italic" if block.kind == "quote" else "dim"
                    for number, text in enumerate(block.texts, 1):
                        mark = f"[{number}] " if block.kind == "footnotes" else ""
                        yield from _wrapped(f"{mark}{text}", width, style)
                case _:
                    yield from block_lines([block], width)
    if page.flags:
        yield Text()
    for name, cause in page.flags.items():
        yield from _wrapped(f"{name}: {cause}", width, "dim")


def _wrapped(text: str, width: int, style: str, indent: str = "") -> Iterator[Text]:
    room = max(width, len(indent) + 20)
    yield from (Text(line, style) for line in folded(text, room, indent, f"{indent}  "))


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
            case (Table() as table) | Charts(table=Table() as table):
                if table.title:
                    yield Text()
                yield rich_table(table)
            case Grid():
                yield from _grid_lines(block, width)
            case Chart(picture=picture) if picture is not None:
                yield from map(Text, picture(width, encoding))
            case Findings():
                for number, finding in enumerate(block.findings, 1):
                    lead = f"{number}. " if block.numbered else ""
                    label = f"{finding.label}: " if finding.label else ""
                    sentence = f"{lead}{label}{finding.text}"
                    line = Text(sentence, "" if label else finding.style)
                    if label:
                        line.stylize(finding.style, 0, len(label))
                    yield from sentences(line, width, "   ")
                    for note in finding.notes:
                        yield from sentences(Text(f"   {note}"), width, "     ")
            case Notes():
                for text in block.texts:
                    yield from sentences(Text(text, "dim"), width, "   ")
            case model.Special():
                if block.lines is not None:
                    yield from block.lines(width)
            case Chart() | Charts() | model.Bars() | model.Boxes() | model.Text():
                pass  # on pages only, as the following
            case model.Folded() | model.Section():
                pass
            case _:
                assert_never(block)


def rich_table(table: Table) -> RichTable:
    """Return a table whose columns but the first are right-aligned."""
    rows = plain_table(title=table.title or None, title_justify="left", title_style="bold")
    for number, name in enumerate(table.columns):
        breaks = bool(table.style) if number else table.narrow
        rows.add_column(
            name, justify="right" if number else "left", no_wrap=not breaks,
            overflow="fold" if table.narrow and not number else "ellipsis",
            style="" if number else table.style,
        )  # fmt: skip
    for row in table.rows:
        rows.add_row(*(Text(cell if isinstance(cell, str) else cell.text) for cell in row))
    return rows


# ---- numbers of several sources -----------------------------------------------------------------

_GAP = "  "


def _grid_lines(grid: Grid, width: int) -> Iterator[RenderableType]:
    """Yield the table; if it is too wide, n is below the numbers, and columns come in turns.

    If a cell is nearly as wide as the terminal, each cell has a line of its own.
    """
    lead = 2 if any(head.kind for head, _ in grid.rows) else 1  # rows that are systems have a kind
    for split in (False, True):
        kinds = ["", *[""] * (lead - 1), *(head.kind for head in grid.heads)]
        labels = [grid.stub, *["from"] * (lead - 1), *(head.label for head in grid.heads)]
        heads = [*([("dim", kinds)] if any(kinds) else []), ("bold", labels)]
        rows: list[tuple[str, list[str]]] = []  # style and cells of lines, not yet padded
        for head, values in grid.rows:
            before = [head.label, head.kind][:lead]
            rows.append(("", [*before, *(cell.marked if split else str(cell) for cell in values)]))
            if split and any(cell.below for cell in values):
                rows.append(("dim", [*[""] * lead, *(cell.below for cell in values)]))
        columns = list(zip(*(cells for _, cells in rows), strict=True))
        widths = [max(map(len, column)) for column in columns]
        for place, texts in enumerate(zip(*(texts for _, texts in heads), strict=True)):
            pieces = [piece for text in texts for piece in (text.split() if split else [text])]
            widths[place] = max(widths[place], *map(len, ["", *pieces]))
        turns = list(_turns(widths, lead, width))
        if len(turns) == 1 or (split and turns):
            for number, turn in enumerate(turns):
                if number:
                    yield Text()
                own = [widths[place] for place in turn]
                yield _turn([*heads, *rows], turn, own, lead)
            return
    for head, cells in grid.rows:
        yield Text(str(head), style="bold")
        for column, cell in zip(grid.heads, cells, strict=True):
            yield from _wrapped(f"{column}: {cell}", width, "", "  ")


def _turns(widths: Sequence[int], lead: int, width: int) -> Iterator[list[int]]:
    """Yield per turn the columns that fit beside the leading ones; nothing if one does not."""
    fixed = sum(widths[:lead]) + len(_GAP) * (lead - 1)
    if fixed + len(_GAP) + max(widths[lead:], default=0) > width:
        return
    turn, used = list(range(lead)), fixed
    for place in range(lead, len(widths)):
        if used + len(_GAP) + widths[place] > width:
            yield turn
            turn, used = list(range(lead)), fixed
        turn.append(place)
        used += len(_GAP) + widths[place]
    yield turn


def _turn(
    rows: Iterable[tuple[str, list[str]]], turn: Sequence[int], widths: Sequence[int], lead: int
) -> RichTable:
    """Return the table of a turn, without rows that are empty in it."""
    table = plain_table(show_header=False)
    for place, width in enumerate(widths):
        justify: JustifyMethod = "left" if place < lead else "right"
        table.add_column(width=width, justify=justify, vertical="bottom", overflow="fold")
    for style, cells in rows:
        own = [cells[place] for place in turn]
        if any(own):
            table.add_row(*map(Text, own), style=style)
    return table
