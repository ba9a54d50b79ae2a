"""The tables of a page in LaTeX, with the rules of booktabs, for a paper."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from math import ceil
from textwrap import wrap

from rtstone.report.parts.model import Grid, Notes, Page, Section, Table

PACKAGES = tuple(rf"\usepackage{{{name}}}" for name in ("booktabs", "graphicx"))
_GAP = r" \quad "
# Of a paper with one column or two: what is wider than the column is scaled to it.
_FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_FOLDED = 36  # most letters of a line of a column
_TEXT = r"p{0.36\linewidth}"  # a column of longer cells, which are folded
_COLUMNS = 6  # of numbers, beside the headings of the rows
_LINE = 15  # letters of a line of such a column, where a paper has two
# Lines of a page, of which head and rules take some; a longer table goes on in another float, as
# columns allow no longtable.
_LONG, _RULES = 45, 3
_SPACE = 0.5  # lines above a heading
_CAPTION, _NOTE = 45, 60  # letters of a line of a caption, and of a footnote, which is lower
_SMALL = 0.8
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "\xb5": r"\ensuremath{\mu}", "\u03bc": r"\ensuremath{\mu}", "\xb1": r"\ensuremath{\pm}",
    "\xd7": r"\ensuremath{\times}", "\u2212": r"\ensuremath{-}", "\u2264": r"\ensuremath{\le}",
    "\u2265": r"\ensuremath{\ge}", "\u201c": "``", "\u201d": "''", "\u2019": "'", "\u2013": "--",
    "\u2026": r"\ldots{}", "\u202f": r"\,", "\u2009": r"\,",
}  # fmt: skip
_BLANKS = re.compile(r"[^\S\u2009\u202f]+")  # but the narrow ones, which are within numbers
_MARK = re.compile(r" ?\[(\d{1,3})\]$")  # of a footnote, at the end of a cell


def escaped(text: str) -> str:
    """Return a text in one line, in which nothing is a command of LaTeX.

    Letters that no font of pdfLaTeX has by itself become question marks.
    """
    return "".join(map(_letter, _BLANKS.sub(" ", text).strip()))


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    return letter if letter.isascii() or "\xa1" <= letter <= "\u017f" else "?"


def write(page: Page, label: str) -> str:
    """Return the tables of a page, one for each section that has any; others are left out.

    ``label``: what the labels of the tables begin with.
    """
    lines = [f"% {escaped(page.title)}", f"% needs {' '.join(PACKAGES)}"]
    lines += [f"% {escaped(note)}" for note in page.notes]
    for section in page.sections:
        lines += _section(section, f"{label}:{section.key}")
    return "\n".join(lines) + "\n"


def _section(section: Section, label: str) -> Iterator[str]:
    notes = [
        text
        for block in section.blocks
        if isinstance(block, Notes) and block.kind == "footnotes"
        for text in block.texts
    ]
    tables = [
        part for block in section.blocks if isinstance(block, Grid | Table)
        for part in (_beside(block) if isinstance(block, Grid) else [block])
    ]  # fmt: skip
    marks = {
        mark for block in tables for row in _texts(block) for c in row for mark in _marks(c)[1]
    }
    loose = [number for number in range(1, len(notes) + 1) if str(number) not in marks]
    for number, block in enumerate(tables, 1):
        title = getattr(block, "title", "") or section.title
        caption = f"{title}. {section.text}" if section.text else title
        yield from table(
            block, caption, label if len(tables) == 1 else f"{label}-{number}", notes,
            loose if number == len(tables) else [],
        )  # fmt: skip


def _beside(grid: Grid) -> list[Grid | Table]:
    """Return a grid in as many parts as its columns take, each as wide as the others."""
    parts = ceil(len(grid.heads) / _COLUMNS) or 1
    each = ceil(len(grid.heads) / parts)
    return [
        Grid(
            grid.stub, grid.heads[start : start + each],
            [
                (head, cells if len(cells) < len(grid.heads) else cells[start : start + each])
                for head, cells in grid.rows
            ],
        )
        for start in range(0, max(len(grid.heads), 1), each or 1)
    ]  # fmt: skip


def _texts(block: Grid | Table) -> list[list[str]]:
    """Return the heads of a table, and its rows."""
    if isinstance(block, Grid):
        heads = [block.stub, *map(str, block.heads)]
        return [heads, *([str(head), *map(str, cells)] for head, cells in block.rows)]
    return [list(block.columns), *(list(map(str, row)) for row in block.rows)]


def table(
    block: Grid | Table, caption: str, label: str, notes: Sequence[str] = (),
    loose: Collection[int] = (),
) -> list[str]:  # fmt: skip
    """Return a table as floats with its caption, and the footnotes that their cells refer to.

    ``loose``: numbers of footnotes that no cell refers to, which stand below the last.
    """
    heads, *rows = _texts(block)
    texts = () if isinstance(block, Grid) else block.texts
    full = [row for row in [heads, *rows] if len(row) == len(heads)]
    longest = [max(len(row[n]) for row in full) for n in range(len(heads))]
    alignment = "".join(
        _TEXT if size > _FOLDED else "l" if n == 0 or n in texts else "r"
        for n, size in enumerate(longest)
    )
    folded = [n for n, size in enumerate(longest) if size > _FOLDED]
    lines = []
    continued = f"{caption.partition('. ')[0]}, continued"
    heights = [_height(row, folded) for row in rows]
    parts = list(_parts(rows, heights, notes, [caption, continued]))
    for number, part in enumerate(parts, 1):
        title, key = (caption, label) if number == 1 else (continued, f"{label}-part{number}")
        marks = {mark for row in part for cell in row for mark in _marks(cell)[1]}
        lines += [
            "", r"\begin{table}", r"\centering", rf"\caption{{{escaped(title)}}}",
            rf"\label{{{_key(key)}}}", r"\smallskip", _FITTED,
            rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", _row(heads), r"\midrule",
            *_body(part, len(heads)), r"\bottomrule", r"\end{tabular}}",
            *_below(
                (n, text) for n, text in enumerate(notes, 1)
                if str(n) in marks or (n in loose and number == len(parts))
            ),
            r"\end{table}",
        ]  # fmt: skip
    return lines


def _parts(
    rows: Sequence[list[str]], heights: Sequence[float], notes: Sequence[str],
    captions: Sequence[str],
) -> Iterator[Sequence[list[str]]]:  # fmt: skip
    """Yield the rows of each float; a heading stays with what is below it, and is repeated.

    ``heights``: of the rows, in lines.  ``captions``: of the first float, and of the others.
    """
    part: list[list[str]] = []
    heading: list[str] | None = None
    caption = captions[0]
    taken, marks = 0.0, set[str]()
    for place, row in enumerate(rows):
        room = _LONG - _RULES - ceil(len(caption) / _CAPTION)
        group = heights[place]
        if len(row) == 1:
            below = takewhile(
                lambda pair: len(pair[0]) > 1,
                zip(rows[place + 1 :], heights[place + 1 :], strict=True),
            )
            group += min(sum(height for _, height in below), room - group)
        own = {mark for cell in row for mark in _marks(cell)[1]}
        feet = sum(
            ceil(len(notes[int(mark) - 1]) / _NOTE) * _SMALL
            for mark in own - marks
            if int(mark) <= len(notes)
        )
        if part and taken + group + feet > room:
            yield part
            part = [heading] if heading and len(row) > 1 else []
            caption = captions[1]
            taken, marks = float(len(part)), set()
        heading = row if len(row) == 1 else heading
        part.append(row)
        taken += heights[place] + feet
        marks |= own
    yield part


def _height(row: Sequence[str], folded: Sequence[int]) -> float:
    """Return how many lines a row takes."""
    if len(row) == 1:
        return 1 + _SPACE
    return max([1, *(len(wrap(row[n], _LINE)) for n in folded if n < len(row))])


def _below(notes: Iterable[tuple[int, str]]) -> Iterator[str]:
    numbered = [rf"\textsuperscript{{{n}}} {escaped(text)}" for n, text in notes]
    if numbered:
        yield rf"\par\smallskip\footnotesize\raggedright {_GAP.join(numbered)}"


def _body(rows: Sequence[list[str]], columns: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if len(row) == 1:
            yield from [r"\addlinespace"] if number else []
            yield rf"\multicolumn{{{columns}}}{{l}}{{\emph{{{_cell(row[0])}}}}} \\"
        elif len(row) < columns:
            name, why = map(_cell, row)
            yield rf"{name} & \multicolumn{{{columns - 1}}}{{l}}{{{why}}} \\"
        else:
            yield _row(row)


def _key(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9:.-]", "-", label)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(text: str) -> str:
    """Return a cell; one that begins as an option of the row before would be taken for it."""
    text, marks = _marks(text)
    written = escaped(text)
    written = f"{{}}{written}" if written[:1] in {"[", "*"} else written
    return written + (rf"\textsuperscript{{{','.join(marks)}}}" if marks else "")


def _marks(text: str) -> tuple[str, list[str]]:
    """Return a cell's text, and the numbers of the footnotes that follow it."""
    marks: list[str] = []
    while match := _MARK.search(text):
        marks.insert(0, match[1])
        text = text[: match.start()]
    return text, marks
