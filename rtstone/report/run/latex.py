"""The results of a run as a table in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator

from rtstone.documents.case_name import result_names
from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import Distribution, Result, Run
from rtstone.report.parts import latex_cells, model_latex
from rtstone.report.parts.model import Cell, Grid, Head, Notes, Page, Section
from rtstone.report.parts.shapes import correction
from rtstone.report.parts.words import observed
from rtstone.summary import COLUMNS, LABELS


def latex(run: Run) -> str:
    """Return the results that have samples, with as many columns as fit a column of a paper."""
    sampled = [r for r in run.results if r.n]
    missed = any(r.missed for r in sampled)
    names = ["p50", "p999", "max"] if missed else ["p50", "p99", "p999", "max"]
    timed = any(observed(r) for r in sampled)
    heads = [Head("", "n"), *([Head("", "time")] if timed else [])]
    heads += [Head("", LABELS[name]) for name in names]
    heads += [Head("", "missed")] if missed else []
    notes = latex_cells.Footnotes([r.flags for r in sampled])
    rows = []
    for result, name in zip(run.results, result_names(run), strict=True):
        for word, samples in _rows(result):
            texts = [latex_cells.whole(samples.n), *([observed(result) or "-"] if timed else [])]
            texts += [
                latex_cells.number(getattr(samples, n), result.unit, bucket_ns([result]))
                for n in names
            ]
            if missed:
                count = result.missed if samples is result else None
                texts.append("-" if count is None else latex_cells.whole(count))
            label = latex_cells.named(", ".join(filter(None, (str(name), word))), result.unit)
            state = "not begun" if result.not_begun else result.status
            marked = notes.marked(label, state, result.reason, result.flags)
            rows.append((Head("", marked.marked), [Cell(text) for text in texts]))
    none = bool(sampled) and all(r.missed == 0 for r in sampled)
    text = [
        latex_cells.units(r.unit for r in sampled),
        "No activation was missed." if none else "", notes.shared,
    ]  # fmt: skip
    section = Section(
        "results", f"Results of {run.target.title}",
        [Grid("case", heads, rows), Notes(notes.texts, "footnotes")],
        " ".join(filter(None, text)),
    )  # fmt: skip
    missing = [label for member, label in COLUMNS.items() if member not in names]
    lines = latex_cells.comments(
        [f"run {run.run_id}, {run.created}"], missing,
        f"`rtstone export {run.run_id} --format csv` has them",
    )  # fmt: skip
    title = f"Run {run.run_id} on {run.target.title}"
    return model_latex.write(Page(title, [section], {}, notes=lines), run.name or run.run_id)


def _rows(result: Result) -> Iterator[tuple[str, Result | Distribution]]:
    """Yield the samples of a result, and what is computed beside them."""
    if not result.n:
        return
    yield "", result
    for word, other in (("corrected", correction(result)), ("single calls", result.single)):
        if other:
            yield word, other
