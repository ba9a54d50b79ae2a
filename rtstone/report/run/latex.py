"""The results of a run as a table in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator

from rtstone.documents.case_name import result_names
from rtstone.documents.imported import bucket_ns
from rtstone.documents.origin import origin
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
    beside = [samples for r in run.results for _, samples in _rows(r)]
    names = [
        name for name in ("p50", "p99", "p999", "max")
        if name == "max" or any(getattr(samples, name) is not None for samples in beside)
    ]  # fmt: skip
    times = {observed(r) for r in sampled}
    apart = len(times) > 1
    heads = [Head("", "n + missed" if missed else "n"), *([Head("", "time")] if apart else [])]
    heads += [Head("", LABELS[name]) for name in names]
    notes = latex_cells.Footnotes([r.flags for r in sampled])
    cases = list(zip(run.results, result_names(run), strict=True))
    rows = []
    for result, name in cases:
        for word, samples in _rows(result):
            count = latex_cells.whole(samples.n)
            if missed and samples is result and result.missed is not None:
                count += f" + {latex_cells.whole(result.missed)}"
            texts = [count, *([observed(result) or "-"] if apart else [])]
            texts += [
                latex_cells.number(getattr(samples, n), result.unit, bucket_ns([result]))
                for n in names
            ]
            label = latex_cells.named(", ".join(filter(None, (str(name), word))), result.unit)
            state = "not begun" if result.not_begun else result.status
            marked = notes.marked(label, state, result.reason, result.flags)
            rows.append((Head("", marked.marked), [Cell(text) for text in texts]))
    corrected = any(correction(r) for r in sampled)
    none = bool(sampled) and all(r.missed == 0 for r in sampled)
    time = next(iter(times), None)
    text = [
        f"{origin(run)}.",
        latex_cells.circumstances([(name, r.params) for r, name in cases if r.n], run.benches),
        f"Measured for {time}." if time and len(sampled) == 1 else "",
        f"Each case measured for {time}." if time and not apart and len(sampled) > 1 else "",
        latex_cells.units(r.unit for r in sampled),
        "No activation was missed." if none else "",
        "Corrected numbers include the missed activations." if corrected else "", notes.shared,
    ]  # fmt: skip
    called = f"{run.name} ({run.target.title})" if run.name else run.target.title
    section = Section(
        "results", f"Results of {called}",
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
