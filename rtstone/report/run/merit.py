"""The figures of merit of Hartstone and Rhealstone, one section for each, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rtstone.documents.breakdown import FIRST_MISS, breakdown
from rtstone.documents.run import BREAKDOWN, HARTSTONE, Run
from rtstone.report.parts.model import Block, Cell, Chart, Charts, Notes, Section, Table
from rtstone.report.parts.typeset import figure
from rtstone.report.parts.words import breakdown_text
from rtstone.report.run.findings import Subject, subjects_of

_EXPERIMENT = (BREAKDOWN, FIRST_MISS, "final test at", "baseline", "step", "raw speed")
# Benches of Rhealstone whose first figure combines all components, see results/rhealstone.py.
RHEALSTONE = ("sum_time", "weighted_time", "rate", "weighted_rate", "mean_rate")
FORM = ("form", "variant", "lock", "config")  # parameters of the components
FULL = 150.0  # % of raw speed, the most that an experiment demands


def _figured(run: Run) -> list[Subject]:
    """Return the results that consist of figures alone."""
    return [s for s in subjects_of(run) if s.result.figures and not s.result.n]


def _experiments(run: Run) -> tuple[list[tuple[Subject, str]], str]:
    """Return Hartstone's experiments with their names, and what all of these have in common."""
    subjects = [
        s
        for s in _figured(run)
        if s.result.bench.startswith(HARTSTONE)
        and {BREAKDOWN, "final test at"} & {*s.result.figures}
    ]
    labels = {s.name.label for s in subjects}
    if len(labels) != 1 or labels == {""}:
        return [(s, str(s.name)) for s in subjects], ""
    return [(s, s.result.bench) for s in subjects], f" ({labels.pop()})"


def hartstone(run: Run, key: str) -> Section | None:
    """Return the table of Hartstone's experiments, None if the run has none.

    ``key``: of the run's page, to whose results rows lead.
    """
    experiments, same = _experiments(run)
    if not experiments:
        return None
    rows: list[list[str | Cell]] = []
    missing = []
    for s, name in experiments:
        at = breakdown(s.result)
        if at is None:
            highest = Cell("none reached")
        elif not at.broke:
            highest = Cell(f"none up to {breakdown_text(at._replace(broke=True))}")
        else:
            highest = Cell(breakdown_text(at), share=min(100 * at.held / FULL, 100))
        values = [s.result.figures.get(column) for column in _EXPERIMENT[1:]]
        texts = ["" if value is None else figure(value) for value in values]
        flags = " ".join(s.result.flags)
        rows.append([Cell(name, link=f"{key}-{s.place}"), highest, *texts, flags])
        missing += [] if at and at.broke else [name]
    title = f"Hartstone: the highest utilisation without a miss, in % of raw speed{same}"
    columns = ("experiment", *_EXPERIMENT, "flags")
    blocks: list[Block] = [Table(columns, rows, title, texts=(len(columns) - 1,))]
    if missing:
        every = len(missing) == len(experiments)
        head = (
            "No experiment broke"
            if every
            else f"{len(missing)} of {len(experiments)} did not break"
        )
        blocks.append(Notes([f"{head} down within its tests: {'; '.join(missing)}."], "small"))
    return Section(f"{key}-hartstone", "Hartstone", blocks)


def curves(run: Run, key: str, charts: Mapping[str, dict[str, Any]]) -> Section | None:
    """Return the curves of the experiments that missed deadlines, None without any.

    ``charts``: of the run's page.
    """
    drawn = [
        Chart(f"{key}-{s.place}-deadlines", f"Share of deadlines missed and skipped over "
              f"utilisation, {name}", charts[f"{key}-{s.place}-deadlines"], name)
        for s, name in _experiments(run)[0]
        if f"{key}-{s.place}-deadlines" in charts
    ]  # fmt: skip
    lead = (
        "From the last two tests before the first miss on: the share of its deadlines that each "
        "task missed or skipped."
    )
    return Section(f"{key}-curves", "Past the breakdown", [Charts(drawn)], lead) if drawn else None


def rhealstone(run: Run, key: str) -> Section | None:
    """Return a table with a row for each form of the components, and a column for each number.

    None if the run has none.
    """
    forms: dict[tuple[str, ...], dict[str, Subject]] = {}
    for subject in _figured(run):
        r = subject.result
        family, _, kind = r.bench.partition(".")
        if family == "rheal" and kind in RHEALSTONE:
            params = (f"{name}={r.params[name]}" if name in r.params else "" for name in FORM)
            forms.setdefault((*params, f"load={r.load}"), {})[kind] = subject
    if not forms:
        return None
    differing = [len(set(values)) > 1 for values in zip(*forms, strict=True)]
    rows: list[list[str | Cell]] = []
    for form, subjects in forms.items():
        name = " ".join(part for part, shown in zip(form, differing, strict=True) if shown and part)
        link = f"{key}-{next(iter(subjects.values())).place}"
        texts = []
        for kind in RHEALSTONE:
            text = ""
            if kind in subjects:
                r = subjects[kind].result
                partial = " (partial)" if "partial" in r.flags else ""
                text = figure(next(iter(r.figures.values()))) + partial
            texts.append(text)
        rows.append([Cell(name or "all", link=link), *texts])
    columns = ["form", *(kind.replace("_", " ") for kind in RHEALSTONE)]
    table = Table(columns, rows, "Rhealstone: numbers over its components")
    lead = "The distributions of the components are in their details."
    return Section(f"{key}-merit", "Rhealstone", [table], lead)
