"""The overview of a project, and the list of projects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rtstone.documents.server import Overview, Projects, Seen, TargetState
from rtstone.documents.trend import Metric
from rtstone.report.trend.text import switch
from rtstone.server.access import require
from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.statistics import LABELS
from rtstone.units import counted, quantity

WORDS = {"bad": "Not fit.", "note": "To be looked at.", "good": "Fit.", "info": ""}
_LABELS: dict[Metric | str, str] = {**LABELS, "missed": "missed"}


def projects(request: Request) -> Response:
    """List the projects; with only one, lead to it."""
    state = request.app.state
    names = require(request, "read", None).of(state.places.projects())
    with state.database.reading() as connection:
        told = Projects(projects=queries.all_projects(connection, names))
    if wants_json(request):
        return document(told)
    if len(names) == 1:
        return RedirectResponse(f"/p/{names[0]}/", 302)
    return page("server/projects.html", site(None), told=told, days=queries.DAYS)


def overview(request: Request) -> Response:
    """Show what got worse, the targets, and which of them are silent."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        told = queries.overview(connection, project)
    if wants_json(request):
        return document(told)
    silent = [one for one in told.targets if one.silent_s is not None]
    grade = "bad" if told.worse_total else "note" if silent else "good"
    return page(
        "server/overview.html", site(project), told=told,
        grade=grade if told.targets else "info",
        says=_says(told, silent), basis=_basis(told, silent),
        worse=[_worse(project, one) for one in told.worse],
        targets=[_target(project, one) for one in told.targets],
        base=request.app.state.settings.base,
    )  # fmt: skip


def _says(told: Overview, silent: Sequence[TargetState]) -> str:
    """Return the answer in a sentence."""
    if not told.targets:
        return "Nothing has been measured yet."
    where = sum(bool(one.worse) for one in told.targets)
    of = counted(len(told.targets), "target")
    if told.worse_total:
        many = counted(told.worse_total, "change")
        told_worse = f"{many} for the worse in {told.days} days, on {where} of {of}"
    else:
        told_worse = f"Nothing got worse in {told.days} days, on {of}"
    return f"{told_worse}{_silent(silent)}."


def _silent(silent: Sequence[TargetState]) -> str:
    if not silent:
        return ""
    longest = max(one.silent_s or 0.0 for one in silent)
    verb = "has" if len(silent) == 1 else "have"
    return f"; {counted(len(silent), 'target')} {verb} not reported, for up to {span(longest)}"


def _basis(told: Overview, silent: Sequence[TargetState]) -> list[str]:
    lines = []
    if silent:
        names = ", ".join(one.name for one in silent[:5])
        more = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        lines.append(f"Silent for more than {queries.LATE:g} times their usual gap: {names}{more}.")
    if told.pending:
        lines.append(f"Runs of {counted(told.pending, 'target')} are still being analysed.")
    return lines


def span(seconds: float) -> str:
    """Return a span of hours or days in words."""
    if seconds < 2 * queries.DAY:
        return counted(max(1, round(seconds / 3600)), "hour")
    return counted(round(seconds / queries.DAY), "day")


def _worse(project: str, one: Seen) -> dict[str, Any]:
    metric = _LABELS.get(one.metric, one.metric)
    return {
        "link": f"/p/{project}/series/{one.series.key}",
        "title": f"{one.series.title}: {metric}",
        "target": one.series.target,
        "since": one.since,
        "run": f"/p/{project}/runs/{quote(one.at_run)}",
        "before": value(one.before, one.unit),
        "after": value(one.after, one.unit),
        "size": size(one),
        "differs": switch(one.differences[0]) if one.differences else "no condition that is known",
    }


def value(number: float | None, unit: str) -> str:
    """Return a value with its unit."""
    if number is None:
        return "unknown"
    return f"{number:.3g} %" if unit == "%" else quantity(number, unit)


def size(one: Seen) -> str:
    """Return how much a level changed."""
    if one.before and one.after is not None and one.unit != "%":
        return f"{100 * (one.after / one.before - 1):+.3g}%"
    apart = (one.after or 0.0) - (one.before or 0.0)
    return f"{apart:+.3g} {'points' if one.unit == '%' else one.unit}"


def _target(project: str, one: TargetState) -> dict[str, Any]:
    usual = "" if one.usual_gap_s is None else f"every {span(one.usual_gap_s)}"
    return {
        "name": one.name,
        "link": f"/p/{project}/series?target={quote(one.name, safe='')}",
        "grade": one.last.grade,
        "word": WORDS[one.last.grade],
        "verdict": one.last.verdict,
        "run": f"/p/{project}/runs/{quote(one.last.run_id)}",
        "when": one.last.created,
        "runs": one.runs,
        "worse": one.worse,
        "silent": "" if one.silent_s is None else f"silent for {span(one.silent_s)}",
        "usual": usual,
    }
