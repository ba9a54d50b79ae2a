"""The growth of costs on a terminal: the answer, what any user can do, and a row for each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.growth import GrowthsCompared, GrowthTable
from rtstone.report.growth import comparison, words
from rtstone.report.parts.console import plain_table, sentences
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import quantity


def growth_lines(table: GrowthTable, width: int) -> Iterator[RenderableType]:
    """Yield the answer and the table of all pairs, for a terminal of this width."""
    yield from sentences(Text(words.answer(table), "bold"), width)
    if verdict := words.unprivileged(table):
        yield from sentences(Text(verdict), width)
    yield Text()
    rows = plain_table()
    rows.add_column("service: n of what", overflow="fold", max_width=26)
    rows.add_column("cost at 1", justify="right", no_wrap=True)
    rows.add_column("at n", justify="right", no_wrap=True)
    rows.add_column("n", justify="right", no_wrap=True)
    rows.add_column("growth", overflow="fold")
    for pair in table.pairs:
        if not pair.points:
            continue
        last = pair.points[-1]
        growth = words.growth(pair, exact=table.exact)
        rows.add_row(
            words.title(pair),
            quantity(pair.points[0].cost, pair.unit),
            quantity(last.cost, pair.unit),
            str(last.n),
            f"{growth}; worst: {words.worst(pair)}" if pair.worst else growth,
        )
    yield rows
    for text in (*words.ends(table), words.basis(table), *words.about_worst(table)):
        yield from sentences(Text(text), width)


def changes_lines(
    tables: Sequence[GrowthTable], compared: GrowthsCompared, width: int
) -> Iterator[RenderableType]:
    """Yield the answer and all pairs side by side, for a terminal of this width."""
    yield from sentences(Text(comparison.answer(compared), "bold"), width)
    yield Text()
    if compared.rows:
        yield from block_lines([comparison.grid(compared)], width)
        yield Text()
    for text in comparison.notes(tables, compared):
        yield from sentences(Text(text, "dim"), width)
