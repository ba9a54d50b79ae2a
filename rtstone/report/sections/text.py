"""Sections on the terminal: the longest of each kind first, then all of them, ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.case_name import result_names
from rtstone.documents.run import Run
from rtstone.documents.sections import (
    KINDS,
    PARTS,
    Bound,
    Change,
    Section,
    Sections,
    SectionsCompared,
    SectionsOfRun,
    Term,
    defects,
)
from rtstone.report.parts.console import sentences
from rtstone.units import count, counted

ROWS = 10  # of a kind
CHANGES = 24
UNSEEN = 5  # names; the document has them all
CALLERS = 6  # innermost functions of a stack; the document has them all
INDENT = " " * 4
_HEAD = ("longest", "n", "mean", "at")


def sections_lines(document: SectionsOfRun, run: Run, width: int) -> Iterator[RenderableType]:
    """Yield the sections of a run, of each kind the longest."""
    yield from sentences(Text(document.sentence, style="bold"), width)
    if document.bound is not None:
        yield from sentences(Text(document.bound.sentence, style="bold"), width)
    for line in _basis(document, run):
        yield from sentences(Text(line, style="dim"), width)
    for defect in defects(document):
        text = f"{defect}: a defect, please report it."
        yield from sentences(Text(text, style="bold red"), width)
    if document.bound is not None:
        yield ""
        yield from _bound(document.bound, width)
    elif document.no_bound:
        yield from sentences(Text(f"No bound: {document.no_bound}.", style="dim"), width)
    for kind in document.kinds:
        yield ""
        yield from _kind(kind, document.instructions, width)
    if (unseen := document.unseen) is not None:
        names = ", ".join(unseen.names[:UNSEEN])
        further = ", ..." if unseen.unseen > UNSEEN else ""
        text = f"Of {counted(unseen.functions, 'function')} of the kernel that mask interrupts "
        text += f"{count(unseen.unseen)} began no section here: {names or 'none'}{further}"
        yield ""
        yield from sentences(Text(text, style="dim"), width)
    for note in document.notes:
        yield from sentences(Text(f"note: {note}"), width)


def _basis(document: SectionsOfRun, run: Run) -> Iterator[str]:
    """Yield what was looked at and how, a sentence each."""
    keys = [(r.case, r.series) for r in run.results]
    label = result_names(run)[keys.index((document.case, document.series))].with_load
    largest = "" if document.max is None else f"; its largest sample is {count(document.max)}"
    yield f"{label}{largest}. All numbers are instructions."
    seen = "By replay: every section was seen that began between the first sample and the last, "
    seen += f"{count(document.instructions)} instructions."
    if document.interrupts is not None:
        seen += f" Of {counted(document.interrupts, 'interrupt')} in them "
        seen += f"{count(document.while_masked)} came while they were masked."
    yield seen


def _bound(bound: Bound, width: int) -> Iterator[RenderableType]:
    """Yield what a bound is composed of, and what was seen."""
    head = (
        f"from due until the first switch to the task: at most {count(bound.longest)} of what ran"
    )
    yield from sentences(Text(head, style="bold"), width)
    heads = ("longest", "n")
    rows = [(count(term.longest), count(term.n)) for term in bound.terms]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield Text(f"  {_row(heads, widths)}  part", style="dim")
    for term, cells in zip(bound.terms, rows, strict=True):
        where = f": {places(term)}" if term.begin else ""
        sign = "+ " if term.added else "  "
        yield from _hung(
            f"{sign}{_row(cells, widths)}  ", Text(f"{PARTS[term.part]}{where}"), width
        )
        if term.stack:
            yield from _hung(INDENT, Text(_stack(term), style="dim"), width)
    text = f"The parts with + add up. Of {counted(bound.switched, 'wake-up')} "
    if bound.seen is not None and bound.after is not None:
        text += (
            f"the longest is {count(bound.seen)}, sample {bound.sample}; from the switch to the "
        )
        text += f"end of a sample it was up to {count(bound.after)} more."
    else:
        text += "none was seen."
    if bound.running:
        text += f" {counted(bound.running, 'sample')} was due while its task ran."
    yield from sentences(Text(text, style="dim"), width)


def _stack(section: Section | Term) -> str:
    left_out = "... > " if len(section.stack) > CALLERS else ""
    return f"in {left_out}{' > '.join(section.stack[-CALLERS:])}"


def _kind(kind: Sections, whole: int, width: int) -> Iterator[RenderableType]:
    title = KINDS[kind.kind]
    if not kind.sections:
        yield Text(f"{title}: none", style="bold")
        return
    share = f"{kind.total / whole:.2%}" if whole else "0%"
    head = f"{title}: {counted(kind.n, 'section')}, {share} of the instructions"
    yield from sentences(Text(head, style="bold"), width)
    rows = [_cells(section) for section in kind.sections[:ROWS]]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]

    yield Text(f"{_row(_HEAD, widths)}  from ... to", style="dim")
    for section, cells in zip(kind.sections, rows, strict=False):
        yield from _hung(f"{_row(cells, widths)}  ", Text(places(section)), width)
        if section.stack:
            yield from _hung(INDENT, Text(_stack(section), style="dim"), width)
    if (rest := len(kind.sections) - ROWS) > 0:
        yield Text(f"and between {counted(rest, 'other pair')} of places", style="dim")


def _cells(section: Section) -> tuple[str, ...]:
    mean = round(section.total / section.n)
    return tuple(map(count, (section.longest, section.n, mean, section.at)))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{text:>{room}}" for text, room in zip(cells, widths, strict=True))


def places(section: Section | Change | Term) -> str:
    """Return where sections begin and end."""
    return f"{' > '.join(section.begin)} ... {' > '.join(section.end)}"


def _hung(head: str, text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text behind a head; what does not fit in the first stands below it."""
    for number, line in enumerate(sentences(text, max(width - len(head), 1))):
        yield Text(" " * len(head) if number else head).append_text(line)


def change_lines(document: SectionsCompared, width: int) -> Iterator[RenderableType]:
    """Yield what changed between the sections of two runs."""
    yield from sentences(Text(document.sentence, style="bold"), width)
    basis = f"{document.bench} on {document.target}, run {document.run_id}, compared with "
    basis += f"{document.against_target}, run {document.against_run_id}. All numbers are "
    basis += "instructions, of the longest section between two places."
    yield from sentences(Text(basis, style="dim"), width)
    if not document.changes:
        return
    yield ""
    head = ("now", "before", "change")
    rows = [
        (
            count(change.longest) if change.n else "-",
            count(change.against_longest) if change.against_n else "-",
            f"{'+' if change.longer > 0 else ''}{count(change.longer)}",
        )
        for change in document.changes[:CHANGES]
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    yield Text(f"{_row(head, widths)}  from ... to", style="dim")
    for change, cells in zip(document.changes, rows, strict=False):
        text = f"{places(change)}, {KINDS[change.kind]}"
        yield from _hung(f"{_row(cells, widths)}  ", Text(text), width)
    if (rest := len(document.changes) - CHANGES) > 0:
        yield Text(f"and {counted(rest, 'other change')}", style="dim")
