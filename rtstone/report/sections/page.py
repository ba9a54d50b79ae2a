"""Sections in a run's page: the bound beside what was seen, then all of them, ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rtstone.documents.case_name import result_names
from rtstone.documents.run import Run
from rtstone.documents.sections import KINDS, PARTS, Bound, Sections, SectionsOfRun, defects
from rtstone.report.parts.model import Block, Cell, Folded, Notes, Section, Table, Text
from rtstone.report.parts.typeset import count
from rtstone.units import counted

ROWS = 20  # of a kind
UNSEEN = 5  # names
LEAD = (
    "Every stretch of the run in which nothing could preempt, from the first sample to the last, "
    "whether a sample was due in it or not. All numbers are instructions."
)

Estimates = Mapping[tuple[int, str], str]  # what statistics say of a result, by case and series


def section(
    documents: Sequence[SectionsOfRun], run: Run, estimates: Estimates, key: str
) -> Section:
    """Return the section of a run's page; all cases but the first are folded away."""
    names = dict(zip(((r.case, r.series) for r in run.results), result_names(run), strict=True))
    shown: list[Block] = []
    for number, each in enumerate(documents):
        place = (each.case, each.series)
        label = names[place].with_load if place in names else each.bench
        blocks = list(_blocks(each, estimates.get(place, "none")))
        if number:
            shown.append(Folded(f"{label}: {each.sentence}", blocks))
        else:
            shown.append(Section(f"{key}-0", label, [Text("", each.sentence), *blocks]))
    return Section(key, "What nothing could preempt", shown, LEAD, "Sections")


def _blocks(document: SectionsOfRun, estimate: str) -> Iterator[Block]:
    """Yield what the page shows of a case below its sentence."""
    if wrong := defects(document):
        yield Notes([f"{clause}: a defect, please report it." for clause in wrong], "list")
    if document.bound is not None:
        yield from _bound(document.bound, document.max, estimate)
    elif document.no_bound:
        yield Notes([f"No bound: {document.no_bound}."], "small")
    for kind in document.kinds:
        yield from _kind(kind, document.instructions)
    if (unseen := document.unseen) is not None:
        names = ", ".join(unseen.names[:UNSEEN])
        further = ", ..." if unseen.unseen > UNSEEN else ""
        yield Notes([
            f"Of {counted(unseen.functions, 'function')} of the kernel that mask interrupts "
            f"{count(unseen.unseen)} began no section here: {names or 'none'}{further}"
        ], "small")  # fmt: skip


def _bound(bound: Bound, largest: float | None, estimate: str) -> Iterator[Block]:
    """Yield the bound beside what was seen and estimated, and what it is composed of."""
    yield Table(
        ("from when a wake-up was due", "instructions"),
        [
            ["until the first switch to the task, longest seen", _count(bound.seen)],
            ["the same, bound of what ran", _count(bound.longest)],
            ["largest sample, with what follows the switch", _count(largest)],
            ["largest sample, estimate by statistics", estimate],
        ],
        "Bound, seen, and estimated", texts=(1,),
    )  # fmt: skip
    rows: list[list[str | Cell]] = []
    added = sorted((t for t in bound.terms if t.added), key=lambda term: -term.longest)
    for term in [*added, *(t for t in bound.terms if not t.added)]:
        share = 100 * term.longest / bound.longest if term.added and bound.longest else None
        where = _places(term.begin, term.end) if term.begin else ""
        rows.append([
            PARTS[term.part], Cell(count(term.longest), share=share), count(term.n), where,
            "yes" if term.added else "no",
        ])  # fmt: skip
    columns = ("part", "longest", "n", "from ... to", "part of the bound")
    yield Table(columns, rows, "What the bound is composed of", texts=(3, 4))


def _kind(kind: Sections, whole: int) -> Iterator[Block]:
    """Yield the sections of a kind, the longest first."""
    title = KINDS[kind.kind]
    if not kind.sections:
        yield Notes([f"{title}: none"], "small")
        return
    share = f"{kind.total / whole:.2%}" if whole else "0%"
    head = f"{title}: {counted(kind.n, 'section')}, {share} of the instructions"
    rows: list[list[str | Cell]] = [
        [
            Cell(_places(each.begin, each.end), " > ".join(each.stack), code=True),
            Cell(count(each.longest), share=100 * each.longest / max(kind.longest, 1)),
            count(each.n), count(round(each.total / each.n)), count(each.at),
        ]
        for each in kind.sections[:ROWS]
    ]  # fmt: skip
    yield Table(("from ... to", "longest", "n", "mean", "at"), rows, head)
    if (rest := len(kind.sections) - ROWS) > 0:
        yield Notes([f"and between {counted(rest, 'other pair')} of places"], "small")


def _places(begin: Sequence[str], end: Sequence[str]) -> str:
    return f"{' > '.join(begin)} ... {' > '.join(end)}"


def _count(value: float | None) -> str:
    return "-" if value is None else count(value)
