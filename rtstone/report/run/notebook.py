"""A run, or some results of it, as a notebook shows it: verdict and a small table, in HTML."""

from __future__ import annotations

from html import escape

from msgspec import structs

from rtstone.documents.case_name import result_names
from rtstone.documents.run import Run
from rtstone.printable import line
from rtstone.report.parts.shapes import correction
from rtstone.report.parts.words import WITH_MISSED, known_as
from rtstone.report.run.answer import answer
from rtstone.results.omitted import whole
from rtstone.stats.evaluate import evaluate_run
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, quantity

ROWS = 40  # more of them nobody reads in a notebook


def notebook(run: Run) -> str:
    """Return a run as HTML; its texts are escaped."""
    # Of some results it is said what they say, not what all cases of the run do.
    said = answer(evaluate_run(structs.replace(run, slopes=[])))
    heads = ["bench", "", "load", "n", *COLUMNS.values(), "missed", "flags"]
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    pairs = list(zip(run.results, result_names(run), strict=True))
    rows = ""
    for r, name in pairs[:ROWS]:
        cells = [_cell(text, "left") for text in (r.bench, name.within_bench, r.load)]
        cells.append(_cell(count(r.n) if r.n else r.status))
        corrected = whole(r)
        for column in COLUMNS:
            value = getattr(r if column in {"min", "max"} else corrected, column)
            cells.append(_cell("" if value is None else quantity(value, r.unit)))
        cells.append(_cell("" if r.missed is None else count(r.missed)))
        cells.append(_cell(" ".join(r.flags), "left"))
        rows += f"<tr>{''.join(cells)}</tr>"
    rest = f"<p>and {counted(len(pairs) - ROWS, 'result')} more</p>" if len(pairs) > ROWS else ""
    missed = any(correction(r) for r, _ in pairs[:ROWS])
    caption = f"<caption>{WITH_MISSED}</caption>" if missed else ""
    where = f"{run.target.title}, run {known_as(run)}"
    return (
        f"<p><strong>{_text(said.verdict)}</strong><br>{_text(where)}</p>"
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"
    )


def _cell(text: str, side: str = "right") -> str:
    return f'<td style="text-align:{side}">{_text(text)}</td>'


def _text(text: str) -> str:
    return escape(line(text))
