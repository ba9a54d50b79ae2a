"""The report: runs and their comparison as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rtstone.documents.explanation import Explanation
from rtstone.documents.sections import SectionsOfRun
from rtstone.report.comparison.charts import charted
from rtstone.report.parts.frame import Site, framed
from rtstone.report.parts.shapes import trace_budget
from rtstone.report.run.details import Forms, flag_texts
from rtstone.report.run.html import page_of
from rtstone.report.run.html import template_values as run_values
from rtstone.stats.evaluate import Evaluation

MOST = 200  # results shown one by one below a comparison; with more, each run has its own page
OPEN = 4  # results whose details are open from the start


def compose(
    evaluation: Evaluation,
    explanations: Mapping[str, Sequence[Explanation]] | None = None,
    site: Site | None = None,
    sections: Mapping[str, Sequence[SectionsOfRun]] | None = None,
) -> str:
    """Return the page as text.

    ``explanations``: of samples of these runs, by their id; ``sections``: of their cases, likewise.
    ``site``: of a server's page.
    """
    runs = evaluation.runs
    forms, results = Forms(), [r for evaluated in runs for r in evaluated.run.results]
    rows = trace_budget(results)
    beside = charted(evaluation.comparison, evaluation.behind) if evaluation.comparison else None
    brief = beside is not None and len(results) > MOST
    pages = [
        page_of(evaluated, f"r{index}", rows, forms, (explanations or {}).get(run_id, ()),
                sections=(sections or {}).get(run_id, ()), brief=brief,
                unfolded=len(results) <= OPEN)
        for index, evaluated in enumerate(runs)
        for run_id in [evaluated.run.run_id]
    ]  # fmt: skip
    charts = {key: chart for page in pages for key, chart in page.charts.items()}
    data = {
        "charts": charts | (beside.charts if beside else {}),
        "details": {key: detail for page in pages for key, detail in page.details.items()},
        "forms": forms.data,
        "flags": flag_texts(results),
    }
    return framed(
        "page.html",
        data,
        site,
        pages=pages,
        compared=beside,
        uncompared=evaluation.incomparable,
        **run_values(),
    )
