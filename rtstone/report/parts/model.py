"""What a page consists of: a subject builds its page once, and writers show it.

Text is plain: a writer escapes and typesets it.  ``model_terminal`` writes blocks on a terminal,
``model_markdown`` and ``model_html`` pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rich.text import Text as Line


class Cell(NamedTuple):
    """A place of a table; ``below``: what is smaller, in a line of its own.

    ``link``: the key of a section of this page that the text leads to.  ``marks``: numbers of
    footnotes of the section.  ``code``: whether it is a name in a program.  On a page only:
    ``share``, the length of a bar behind it in %; ``depth``, its indent; ``swatch``, the class of a
    colour before it.
    """

    text: str
    below: str = ""
    link: str = ""
    marks: Sequence[int] = ()
    code: bool = False
    share: float | None = None
    depth: int = 0
    swatch: str = ""

    @property
    def marked(self) -> str:
        """The text with its marks."""
        return " ".join([self.text, *(f"[{mark}]" for mark in self.marks)])

    def __str__(self) -> str:
        words = [self.text, f"({self.below})" if self.below else ""]
        return " ".join(filter(None, [*words, *(f"[{mark}]" for mark in self.marks)]))


class Head(NamedTuple):
    """The heading of a column or row: where its numbers are from, and what they are of.

    ``kind``: "printed 1998", "here", "model"; empty if it is not of a source.
    """

    kind: str
    label: str

    @property
    def source(self) -> str:
        """The first word of the kind."""
        return re.split(r"\W", self.kind)[0]

    def __str__(self) -> str:
        return f"{self.label} ({self.kind})" if self.kind else self.label


class Grid(NamedTuple):
    """A table of numbers of several sources, which are its columns or its rows.

    In LaTeX a row without cells is the heading of those below it, and a cell that is alone in its
    row, a reason why there are no numbers, takes the width of all columns.
    """

    stub: str
    heads: Sequence[Head]
    rows: Sequence[tuple[Head, Sequence[Cell]]]


class Table(NamedTuple):
    """Rows whose first cell is their heading; ``title``: empty if the section's says enough.

    ``style``: of the headings of rows on a terminal, which then stay whole before all else.
    ``narrow``: whether headings of rows are broken on a narrow terminal.  ``texts``: the columns
    that hold words, beside the first.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    style: str = ""
    narrow: bool = False
    texts: Sequence[int] = ()


class Chart(NamedTuple):
    """A chart; ``words``: what it shows, for whoever does not see it.

    ``key``: on the page.  ``data``: as the page's script reads them.  ``picture``: returns its
    lines on a terminal of a width and an encoding; without it a terminal shows none.  ``views``:
    other charts of the same by key, to choose from.  ``link``: where its numbers are.  ``note``:
    below it.  ``corrected``: what its second colour stands for.
    """

    key: str
    words: str
    data: dict[str, Any]
    caption: str = ""
    picture: Callable[[int, str | None], list[str]] | None = None
    views: Mapping[str, dict[str, Any]] = {}
    link: str = ""
    note: str = ""
    corrected: str = ""

    @property
    def drawings(self) -> dict[str, dict[str, Any]]:
        """The data of all views by key."""
        return {self.key: self.data, **self.views}


class Charts(NamedTuple):
    """Charts side by side.

    ``table``: what a terminal shows instead.  ``legend``: names of the lines in the order of their
    colours, if it is above the charts.  ``shared``: all have the same lines, so that the switches
    of the first are those of all.
    """

    charts: Sequence[Chart]
    table: Table | None = None
    legend: Sequence[str] = ()
    shared: bool = False


class Bar(NamedTuple):
    """A bar; ``share``: of the axis in %, None if there is only ``text``."""

    head: Head
    text: str
    share: float | None


class Bars(NamedTuple):
    """Groups of bars by name, on a page only; ``axis``: the meaning of a bar's length."""

    groups: Sequence[tuple[str, Sequence[Bar]]]
    axis: str


@dataclass(frozen=True)
class Box:
    """A box; ``left`` and ``width`` in per cent of the whole; ``title``: all about it.

    ``look``: classes of its colours; ``strength``: how much of them, 0 to 1.
    """

    left: float
    width: float
    row: int
    name: str
    title: str
    look: str = ""
    strength: float = 0.0


class Boxes(NamedTuple):
    """A chart of boxes, on a page only, which its script widens; ``rows``: one below the other.

    ``ticks``: places on the axis in per cent, and their texts.  ``legend``: classes of colours, and
    what they mean.
    """

    title: str
    boxes: Sequence[Box]
    rows: int
    ticks: Sequence[tuple[float, str]] = ()
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()


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
    """Paragraphs in small print.

    ``kind``: "quote": of a publication; "list": what holds for a table; "footnotes": numbered, what
    the marks of cells lead to; "small": what holds for a chart.
    """

    texts: Sequence[str]
    kind: Literal["note", "quote", "list", "footnotes", "small"] = "note"


class Text(NamedTuple):
    """A paragraph that begins with a verdict, or has none; ``notes``: folded below an alarm."""

    text: str
    verdict: str = ""
    notes: Sequence[str] = ()


class Special(NamedTuple):
    """A block of one subject alone, with its writers.

    ``template``: of the page, which reads ``data``.  ``lines``: returns its lines on a terminal of
    a width; without it a terminal shows none.
    """

    template: str
    data: Any = None
    lines: Callable[[int], Iterable[Line]] | None = None


class Command(NamedTuple):
    """A remark that ends in a command to copy."""

    text: str
    command: str

    def __str__(self) -> str:
        return f"{self.text} {self.command}".rstrip()


class Answer(NamedTuple):
    """One of several verdicts of a page; without a grade, a sentence that follows them.

    ``notes``: what it rests on.  ``blocks``: what a terminal shows of it.
    """

    text: str
    grade: str = ""
    notes: Sequence[str] = ()
    blocks: Sequence[Block] = ()


class Folded(NamedTuple):
    """Blocks that a page shows on demand, on a page only."""

    summary: str
    blocks: Sequence[Block]


class Section(NamedTuple):
    """A part of a page; ``key``: on the page; ``text``: what its title is followed by.

    ``folded``: what stands beside the title while the section is folded; empty: it never is.
    ``paper``: it is unfolded on paper.
    """

    key: str
    title: str
    blocks: Sequence[Block]
    text: str = ""
    short: str = ""  # of the title, in the navigation
    folded: str = ""
    paper: bool = False

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


Block = (
    Table | Grid | Chart | Charts | Bars | Boxes | Findings | Notes | Text
    | Folded | Section | Special
)  # fmt: skip


class System(NamedTuple):
    """What numbers of a page are of; ``texts``: what it is, and what to know before reading them.

    ``alarms``: what must not be overlooked.
    """

    head: Head
    texts: Sequence[str]
    alarms: Sequence[Text] = ()


class Page(NamedTuple):
    """A page: its verdict with the remarks it rests on, facts, sections, and how it was made.

    ``kicker``: what kind of page it is.  ``first``: the chart beside the verdict, one of those of
    the sections.  ``method``: terms and what they mean; ``flags``: of results, likewise.  ``lead``,
    ``notes``: what to read first, on a page that needs no verdict.  ``answers``: if there are
    several verdicts.  ``alarms``: what must not be overlooked.
    """

    title: str
    sections: Sequence[Section]
    method: dict[str, str]
    verdict: str = ""
    lead: str = ""
    kicker: str = ""
    remarks: Sequence[str | Command] = ()
    facts: Sequence[tuple[str, str]] = ()
    first: Chart | None = None
    systems: Sequence[System] = ()
    notes: Sequence[str] = ()
    flags: Mapping[str, str] = {}
    alarms: Sequence[Text] = ()
    answers: Sequence[Answer] = ()

    @property
    def charts(self) -> dict[str, dict[str, Any]]:
        """The data of all charts by key."""
        drawn = [self.first] if self.first else []
        drawn += [chart for section in self.sections for chart in section.drawn]
        return {key: data for chart in drawn for key, data in chart.drawings.items()}
