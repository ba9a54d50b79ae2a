"""What a page consists of: a subject builds its page once, and writers show it.

Text is plain: a writer escapes and typesets it.  ``model_terminal`` writes blocks on a terminal,
``model_html`` a page as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """A place of a table; ``below``: what is smaller, in a line of its own.

    ``link``: the key of a section of this page that the text leads to.
    """

    text: str
    below: str = ""
    link: str = ""


class Table(NamedTuple):
    """Rows whose first cell is their heading; ``title``: empty if the section's says enough.

    ``style``: of the headings of rows on a terminal.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    style: str = ""


class Chart(NamedTuple):
    """A chart; ``words``: what it shows, for whoever does not see it.

    ``key``: on the page.  ``data``: as the page's script reads them.  ``picture``: returns its
    lines on a terminal of a width and an encoding; without it a terminal shows none.
    """

    key: str
    words: str
    data: dict[str, Any]
    caption: str = ""
    picture: Callable[[int, str | None], list[str]] | None = None


class Charts(NamedTuple):
    """Charts of the same lines, side by side, which share their legend.

    ``table``: what a terminal shows instead.
    """

    charts: Sequence[Chart]
    table: Table


class Finding(NamedTuple):
    """A sentence; ``label``: what kind of finding it is; ``notes``: what is known about it.

    ``style``: of its label, or of the whole if it has none, on a terminal.
    """

    text: str
    label: str = ""
    notes: Sequence[str] = ()
    style: str = ""


class Findings(NamedTuple):
    """A list of findings, which is numbered if their order is that of a chart's marks."""

    findings: Sequence[Finding]
    numbered: bool = False


class Notes(NamedTuple):
    """Paragraphs in small print."""

    texts: Sequence[str]


class Text(NamedTuple):
    """A paragraph that begins with a verdict, or has none."""

    text: str
    verdict: str = ""


class Section(NamedTuple):
    """A part of a page; ``key``: on the page; ``text``: what its title is followed by."""

    key: str
    title: str
    blocks: Sequence[Block]
    text: str = ""
    short: str = ""  # of the title, in the navigation

    @property
    def drawn(self) -> Iterator[Chart]:
        """The charts in it."""
        for block in self.blocks:
            match block:
                case Chart():
                    yield block
                case Charts():
                    yield from block.charts
                case Section():
                    yield from block.drawn


Block = Table | Chart | Charts | Findings | Notes | Text | Section


class Page(NamedTuple):
    """A page: its verdict with the remarks it rests on, facts, sections, and how it was made.

    ``kicker``: what kind of page it is.  ``first``: the chart beside the verdict, one of those of
    the sections.  ``method``: terms and what they mean.
    """

    title: str
    verdict: str
    sections: Sequence[Section]
    method: dict[str, str]
    kicker: str = ""
    remarks: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    first: Chart | None = None
