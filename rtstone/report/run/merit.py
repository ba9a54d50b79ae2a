"""The figures of merit of Hartstone and Rhealstone, one table for each, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rtstone.documents.breakdown import FIRST_MISS, Breakdown, breakdown
from rtstone.documents.run import BREAKDOWN, HARTSTONE, Figure, Run
from rtstone.report.parts.hartstone import curves as hartstone_curves
from rtstone.report.parts.typeset import figure
from rtstone.report.parts.words import breakdown_text, usual_load
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


def _found(run: Run) -> list[Subject]:
    return [s for s in subjects_of(run) if s.result.figures and not s.result.n]


def hartstone(run: Run) -> Merit | None:
    """Return the table of Hartstone's experiments, None if the run has none."""
    told = [
        s for s in _found(run)
        if s.result.bench.startswith(HARTSTONE)
        and {BREAKDOWN, "final test at"} & {*s.result.figures}
    ]  # fmt: skip
    if not told:
        return None
    labels = {_name(s, run).removeprefix(s.result.bench).strip() for s in told}
    same = f" ({labels.pop()})" if len(labels) == 1 and labels != {""} else ""
    names = [s.result.bench if same else _name(s, run) for s in told]
    rows = [
        MeritRow(name, s.place, [_cell(s, column) for column in _EXPERIMENT], s.result.flags,
                 list(hartstone_curves(s.result)))
        for name, s in zip(names, told, strict=True)
    ]  # fmt: skip
    title = f"Hartstone: the highest utilisation without a miss, in % of raw speed{same}"
    return Merit(title, "experiment", list(_EXPERIMENT), rows, _unreached(names, told))


def _unreached(names: Sequence[str], told: Sequence[Subject]) -> str:
    """Return which experiments ended before they broke down."""
    missing = [
        name
        for name, s in zip(names, told, strict=True)
        if not ((at := breakdown(s.result)) and at.broke)
    ]
    if not missing:
        return ""
    every = len(missing) == len(names)
    which = "No experiment broke" if every else f"{len(missing)} of {len(names)} did not break"
    return f"{which} down within its tests: {', '.join(missing)}."


def _name(subject: Subject, run: Run) -> str:
    """Return the name of an experiment, with its load if loads differ."""
    load = subject.result.load
    return subject.title if load == usual_load(run) else f"{subject.title} load={load}"


def _cell(subject: Subject, name: str) -> Cell:
    if name == BREAKDOWN:
        return _reached(breakdown(subject.result))
    told = subject.result.figures.get(name)
    return Cell("" if told is None else figure(told))


def _reached(at: Breakdown | None) -> Cell:
    if at is None:
        return Cell("none reached")
    if not at.broke:
        return Cell(f"none up to {breakdown_text(at._replace(broke=True))}")
    return Cell(breakdown_text(at), min(100 * at.held / FULL, 100))


def rhealstone(run: Run) -> list[Merit]:
    """Return a table with a row for each form of the components, and a column for each number."""
    forms: dict[tuple[str, ...], dict[str, Subject]] = {}
    for subject in _found(run):
        family, _, kind = subject.result.bench.partition(".")
        if family == "rheal" and kind in RHEALSTONE:
            forms.setdefault(_form(subject), {})[kind] = subject
    if not forms:
        return []
    telling = [len(set(values)) > 1 for values in zip(*forms, strict=True)]
    rows = []
    for form, of in forms.items():
        name = " ".join(part for part, tells in zip(form, telling, strict=True) if tells and part)
        first = next(iter(of.values()))
        cells = [_number(of.get(kind)) for kind in RHEALSTONE]
        rows.append(MeritRow(name or "all", first.place, cells))
    columns = [kind.replace("_", " ") for kind in RHEALSTONE]
    return [Merit("Rhealstone: numbers over its components", "form", columns, rows)]


def _form(subject: Subject) -> tuple[str, ...]:
    """Return what distinguishes one set of components from another."""
    r = subject.result
    params = (f"{name}={r.params[name]}" if name in r.params else "" for name in FORM)
    return (*params, f"load={r.load}")


def _number(subject: Subject | None) -> Cell:
    if subject is None:
        return Cell("")
    first: Figure = next(iter(subject.result.figures.values()))
    partial = " (partial)" if "partial" in subject.result.flags else ""
    return Cell(figure(first) + partial)
