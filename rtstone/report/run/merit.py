"""The figures of merit of Hartstone and Rhealstone, one table for each, for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rtstone.documents.run import Figure, Run
from rtstone.report.parts.typeset import figure
from rtstone.report.parts.words import usual_load
from rtstone.report.run.findings import Subject, subjects_of

BREAKDOWN = "breakdown utilisation"
HARTSTONE = (BREAKDOWN, "first miss at", "final test at", "baseline", "step", "raw speed")
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
    """An experiment, or a form of the components."""

    name: str
    place: int
    cells: list[Cell]


@dataclass(frozen=True)
class Merit:
    """One table."""

    title: str
    head: str
    columns: list[str]
    rows: list[MeritRow]


def merits(run: Run) -> list[Merit]:
    """Return the tables for which a run has figures."""
    found = [s for s in subjects_of(run) if s.result.figures and not s.result.n]
    return [*_hartstone(run, found), *_rhealstone(found)]


def _hartstone(run: Run, found: Sequence[Subject]) -> Iterator[Merit]:
    told = [
        s for s in found
        if s.result.bench.startswith("hart.") and {BREAKDOWN, "final test at"} & {*s.result.figures}
    ]  # fmt: skip
    if told:
        labels = {_name(s, run).removeprefix(s.result.bench).strip() for s in told}
        same = f" ({labels.pop()})" if len(labels) == 1 and labels != {""} else ""
        names = [s.result.bench if same else _name(s, run) for s in told]
        rows = [
            MeritRow(name, s.place, [_cell(s, column) for column in HARTSTONE])
            for name, s in zip(names, told, strict=True)
        ]
        title = f"Hartstone: the highest utilisation without a miss, in % of raw speed{same}"
        yield Merit(title, "experiment", list(HARTSTONE), rows)


def _name(subject: Subject, run: Run) -> str:
    """Return the name of an experiment, with its load if loads differ."""
    load = subject.result.load
    return subject.title if load == usual_load(run) else f"{subject.title} load={load}"


def _cell(subject: Subject, name: str) -> Cell:
    told = subject.result.figures.get(name)
    if told is None:
        return Cell("no breakdown" if name == BREAKDOWN else "")
    bar = name == BREAKDOWN and told.value is not None
    return Cell(figure(told), min(100 * told.value / FULL, 100) if bar else None)  # type: ignore[operator]


def _rhealstone(found: Sequence[Subject]) -> Iterator[Merit]:
    """Yield a row for each form of the components, with a column for each combined number."""
    forms: dict[tuple[str, ...], dict[str, Subject]] = {}
    for subject in found:
        family, _, kind = subject.result.bench.partition(".")
        if family == "rheal" and kind in RHEALSTONE:
            forms.setdefault(_form(subject), {})[kind] = subject
    if not forms:
        return
    telling = [len(set(values)) > 1 for values in zip(*forms, strict=True)]
    rows = []
    for form, told in forms.items():
        name = " ".join(part for part, tells in zip(form, telling, strict=True) if tells and part)
        first = next(iter(told.values()))
        cells = [_number(told.get(kind)) for kind in RHEALSTONE]
        rows.append(MeritRow(name or "all", first.place, cells))
    columns = [kind.replace("_", " ") for kind in RHEALSTONE]
    yield Merit("Rhealstone: numbers over its components", "form", columns, rows)


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
