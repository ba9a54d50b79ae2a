"""The results of a run as a table in LaTeX."""

from __future__ import annotations

from rtstone.documents.run import Run
from rtstone.report.parts import model_latex
from rtstone.report.parts.model import Page, Section, Table
from rtstone.report.run.results_table import FIGURES, rows


def latex(run: Run) -> str:
    """Return the results that have samples, with every column that any of them has."""
    lines = rows(run)
    used = [name for name in FIGURES if any(line.figures.get(name, "-") != "-" for line in lines)]
    flagged = any(line.flags for line in lines)
    columns = ["bench", "parameters, load", *used, *(["flags"] if flagged else [])]
    cells = [
        [
            line.bench, line.label, *(line.figures.get(name, "") for name in used),
            *([line.flags] if flagged else []),
        ]
        for line in lines
    ]  # fmt: skip
    texts = [1, *([len(columns) - 1] if flagged else [])]
    name = run.name or run.run_id
    text = f"Run {run.run_id} on {run.target.title}, {run.created}."
    section = Section("results", f"Results of {name}", [Table(columns, cells, texts=texts)], text)
    return model_latex.write(Page(f"Run {run.run_id} on {run.target.title}", [section], {}), name)
