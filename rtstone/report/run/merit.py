"""The figures of merit of Hartstone and Rhealstone, one table for each, for the page."""

from __future__ import annotations

from dataclasses import dataclass, field

from rtstone.documents.breakdown import FIRST_MISS, breakdown
from rtstone.documents.run import BREAKDOWN, HARTSTONE, Run
from rtstone.report.parts.hartstone import curves as hartstone_curves
from rtstone.report.parts.typeset import figure
from rtstone.report.parts.words import breakdown_text
from rtstone.report.run.findings import Subject, subjects_of

_EXPERIMENT = (BREAKDOWN, FIRST_MISS, "final test at", "baseline", "step", "raw speed")
# Benches of Rhealstone whose first figure combines all components, see assemble/rhealstone.py.
RHEALSTONE = ("sum_time", "weighted_time", "rate", "weighted_rate", "mean_rate")
FORM = ("form", "variant", "lock", "config")  # parameters of the components
FULL = 150.0  # % of raw speed, the most that an experiment demands


@dataclass(frozen=True)
class Cell:
    """A figure as text; ``share``: the length of the bar behind it, in % of the cell."""

    text: str
    share: float | None = None


@dataclass(frozen=True)
class MeritRow:
    """An experiment, or a form of the components; ``charts``: the kinds of its curves."""

    name: str
    place: int
    cells: list[Cell]
    flags: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Merit:
    """One table; ``note``: what it does not show."""

    title: str
    head: str
    columns: list[str]
    rows: list[MeritRow]
    note: str = ""


def _figured(run: Run) -> list[Subject]:
    """Return the results that consist of figures alone."""
    return [s for s in subjects_of(run) if s.result.figures and not s.result.n]


def hartstone(run: Run) -> Merit | None:
    """Return the table of Hartstone's experiments, None if the run has none."""
    subjects = [
        s for s in _figured(run)
        if s.result.bench.startswith(HARTSTONE)
        and {BREAKDOWN, "final test at"} & {*s.result.figures}
    ]  # fmt: skip
    if not subjects:
        return None
    labels = {s.name.label for s in subjects}
    same = f" ({labels.pop()})" if len(labels) == 1 and labels != {""} else ""
    names = [s.result.bench if same else str(s.name) for s in subjects]
    rows = [
        MeritRow(name, s.place, [_cell(s, column) for column in _EXPERIMENT], s.result.flags,
                 list(hartstone_curves(s.result)))
        for name, s in zip(names, subjects, strict=True)
    ]  # fmt: skip
    title = f"Hartstone: the highest utilisation without a miss, in % of raw speed{same}"
    missing = [
        name
        for name, s in zip(names, subjects, strict=True)
        if not ((at := breakdown(s.result)) and at.broke)
    ]
    note = ""
    if missing:
        every = len(missing) == len(names)
        head = "No experiment broke" if every else f"{len(missing)} of {len(names)} did not break"
        note = f"{head} down within its tests: {'; '.join(missing)}."
    return Merit(title, "experiment", list(_EXPERIMENT), rows, note)


def _cell(subject: Subject, name: str) -> Cell:
    if name != BREAKDOWN:
        value = subject.result.figures.get(name)
        return Cell("" if value is None else figure(value))
    at = breakdown(subject.result)
    if at is None:
        return Cell("none reached")
    if not at.broke:
        return Cell(f"none up to {breakdown_text(at._replace(broke=True))}")
    return Cell(breakdown_text(at), min(100 * at.held / FULL, 100))


def rhealstone(run: Run) -> list[Merit]:
    """Return a table with a row for each form of the components, and a column for each number."""
    forms: dict[tuple[str, ...], dict[str, Subject]] = {}
    for subject in _figured(run):
        r = subject.result
        family, _, kind = r.bench.partition(".")
        if family == "rheal" and kind in RHEALSTONE:
            params = (f"{name}={r.params[name]}" if name in r.params else "" for name in FORM)
            forms.setdefault((*params, f"load={r.load}"), {})[kind] = subject
    if not forms:
        return []
    differing = [len(set(values)) > 1 for values in zip(*forms, strict=True)]
    rows = []
    for form, subjects in forms.items():
        name = " ".join(part for part, shown in zip(form, differing, strict=True) if shown and part)
        cells = []
        for kind in RHEALSTONE:
            text = ""
            if kind in subjects:
                r = subjects[kind].result
                partial = " (partial)" if "partial" in r.flags else ""
                text = figure(next(iter(r.figures.values()))) + partial
            cells.append(Cell(text))
        rows.append(MeritRow(name or "all", next(iter(subjects.values())).place, cells))
    columns = [kind.replace("_", " ") for kind in RHEALSTONE]
    return [Merit("Rhealstone: numbers over its components", "form", columns, rows)]
