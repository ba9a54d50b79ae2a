"""The tables of a page in LaTeX, with the rules of booktabs, for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rtstone.report.parts.model import Grid, Notes, Page, Section, Table

PACKAGES = tuple(rf"\usepackage{{{name}}}" for name in ("booktabs", "graphicx", "longtable"))
_GAP = r" \quad "
_WIDE = 70  # letters of a row that fit a page of 10 points; a longer one is scaled to it
_BETWEEN = 2  # letters between two columns
_FOLDED = 36  # most letters of a line of a column
_TEXT = r"p{0.36\textwidth}"  # a column of longer cells, which are folded
_LONG = 45  # rows of a page; a longer table is a longtable, which goes on on the next
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "\xb5": r"\ensuremath{\mu}", "\u03bc": r"\ensuremath{\mu}", "\xb1": r"\ensuremath{\pm}",
    "\xd7": r"\ensuremath{\times}", "\u2212": r"\ensuremath{-}", "\u2264": r"\ensuremath{\le}",
    "\u2265": r"\ensuremath{\ge}", "\u201c": "``", "\u201d": "''", "\u2019": "'", "\u2013": "--",
    "\u2026": r"\ldots{}", "\u202f": r"\,", "\u2009": r"\,",
}  # fmt: skip
_MARK = re.compile(r" ?\[(\d{1,3})\]$")  # of a footnote, at the end of a cell


def escaped(text: str) -> str:
    """Return a text in one line, in which nothing is a command of LaTeX.

    Letters that no font of pdfLaTeX has by itself become question marks.
    """
    return "".join(map(_letter, " ".join(text.replace("\xa0", " ").split())))


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    return letter if letter.isascii() or "\xa1" <= letter <= "\u017f" else "?"


def write(page: Page, label: str) -> str:
    """Return the tables of a page, one for each section that has any; others are left out.

    ``label``: what the labels of the tables begin with.
    """
    lines = [f"% {escaped(page.title)}", f"% needs {' '.join(PACKAGES)}"]
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
    tables = [block for block in section.blocks if isinstance(block, Grid | Table)]
    for number, block in enumerate(tables, 1):
        title = getattr(block, "title", "") or section.title
        caption = f"{title}. {section.text}" if section.text else title
        yield from table(
            block, caption, label if len(tables) == 1 else f"{label}-{number}",
            notes if number == len(tables) else [],
        )  # fmt: skip


def table(block: Grid | Table, caption: str, label: str, notes: Sequence[str] = ()) -> list[str]:
    """Return a table as a float with its caption, and the footnotes that its cells refer to."""
    if isinstance(block, Grid):
        heads = [block.stub, *map(str, block.heads)]
        rows = [[str(head), *map(str, cells)] for head, cells in block.rows]
        texts: Iterable[int] = ()
    else:
        heads = list(block.columns)
        rows = [list(map(str, row)) for row in block.rows]
        texts = block.texts
    longest = [max(len(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    alignment = "".join(
        _TEXT if size > _FOLDED else "l" if n == 0 or n in texts else "r"
        for n, size in enumerate(longest)
    )
    letters = sum(min(size, _FOLDED) + _BETWEEN for size in longest)
    begin, end = [rf"\begin{{tabular}}{{{alignment}}}"], [r"\end{tabular}"]
    if letters > _WIDE:
        begin, end = [r"\resizebox{\textwidth}{!}{%", *begin], [r"\end{tabular}}"]
    numbered = [rf"\textsuperscript{{{n}}} {escaped(text)}" for n, text in enumerate(notes, 1)]
    below = [rf"\par\smallskip\footnotesize\raggedright {_GAP.join(numbered)}"]
    title = [rf"\caption{{{escaped(caption)}}}", rf"\label{{{_key(label)}}}"]
    if len(rows) > _LONG:
        small = [r"{\scriptsize\setlength{\tabcolsep}{2pt}"] if letters > _WIDE else ["{"]
        return [
            "", *small, rf"\begin{{longtable}}{{{alignment}}}", *title, r"\\", r"\toprule",
            _row(heads), r"\midrule", r"\endhead", *map(_row, rows), r"\bottomrule",
            r"\end{longtable}", *(below if numbered else []), "}",
        ]  # fmt: skip
    return [
        "", r"\begin{table}", r"\centering", *title, *begin, r"\toprule", _row(heads), r"\midrule",
        *map(_row, rows), r"\bottomrule", *end, *(below if numbered else []), r"\end{table}",
    ]  # fmt: skip


def _key(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9:.-]", "-", label)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(text: str) -> str:
    """Return a cell; one that begins as an option of the row before would be taken for it."""
    marks: list[str] = []
    while match := _MARK.search(text):
        marks.insert(0, match[1])
        text = text[: match.start()]
    written = escaped(text)
    written = f"{{}}{written}" if written[:1] in {"[", "*"} else written
    return written + (rf"\textsuperscript{{{','.join(marks)}}}" if marks else "")
