"""A campaign as one self-contained page: the matrix, its verdicts, what is missing and why."""

from __future__ import annotations

from typing import Any

from rtstone.documents.campaign import CampaignCell, CampaignState, Spread
from rtstone.report.campaign.text import causes, progress
from rtstone.report.parts.frame import Site, framed
from rtstone.units import count, counted, quantity

_MARKS = {"bad": "✗", "note": "!", "good": "✓", "info": "·"}
_WORDS = {"bad": "not fit", "note": "to be looked at", "good": "fit", "info": "no verdict in time"}


def compose(state: CampaignState, site: Site | None = None) -> str:
    """Return the page as text; ``site``: of a server's page.  Raises MissingBundleError."""
    targets = list(dict.fromkeys([*(cell.target for cell in state.cells), *state.absent]))
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for number, cell in enumerate(state.cells):
        rows.setdefault(what(cell), {})[cell.target] = _cell(cell, f"c{number}")
    cells = [cell for row in rows.values() for cell in row.values()]
    return framed(
        "campaign.html",
        {"charts": {}, "details": {}, "forms": {}, "flags": {}},
        site,
        title=state.title,
        verdict=progress(state),
        basis=_basis(state, cells),
        targets=targets,
        rows=rows,
        judged=[cell for cell in cells if cell["judged"]],
        causes=causes(state),
    )


def what(cell: CampaignCell) -> str:
    """Return what is measured in a cell, in words."""
    under = [] if cell.load is None else [f"load {cell.load}"]
    return ", ".join([cell.measure, *under, *(f"{k}={v}" for k, v in cell.params.items())])


def _basis(state: CampaignState, cells: list[dict[str, Any]]) -> list[str]:
    told = []
    for grade, word in _WORDS.items():
        if n := sum(cell["grade"] == grade for cell in cells):
            told.append(f"{counted(n, 'cell')} {word}")
    lines = [f"{', '.join(told)}."] if told else ["Nothing has been measured yet."]
    if state.earlier:
        lines.append(
            f"{counted(state.earlier, 'job')} of earlier plans, of other kernels, agents or cells, "
            "not in this matrix."
        )
    return lines


def _cell(cell: CampaignCell, key: str) -> dict[str, Any]:
    judged, jobs = cell.judged, cell.jobs
    return {
        "key": key,
        "what": what(cell),
        "target": cell.target,
        "grade": judged.grade if judged else "",
        "mark": _MARKS[judged.grade] if judged else "-",
        "word": _WORDS[judged.grade] if judged else _nothing(cell),
        "runs": f"{count(jobs.done)} of {count(jobs.total)}" if jobs.total else "",
        "whole": jobs.done == jobs.total,
        "judged": judged,
        "results": [_result(one) for one in judged.results] if judged else [],
        "remarks": cell.remarks,
        "missing": cell.missing,
    }


def _nothing(cell: CampaignCell) -> str:
    jobs = cell.jobs
    return "failed" if jobs.failed else "not supported" if jobs.unsupported else "not yet"


def _result(one: Spread) -> dict[str, str]:
    return {
        "title": one.title,
        "runs": count(one.runs),
        "n": count(one.n),
        "p50": _range(one.p50, one.unit),
        "p99": _range(one.p99, one.unit),
        "max": "-" if one.max is None else quantity(one.max, one.unit),
        "missed": "-" if one.missed is None else count(one.missed),
    }


def _range(values: tuple[float, float] | None, unit: str) -> str:
    if values is None:
        return "-"
    least, most = (quantity(value, unit) for value in values)
    return least if least == most else f"{least} to {most}"
