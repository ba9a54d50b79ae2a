"""The overview of a project, and the list of projects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rtstone.documents.server import Overview, Projects, Seen, TargetState
from rtstone.report.trend.text import switch
from rtstone.server.access import require
from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.summary import LABELS as _NAMES
from rtstone.units import change_size, counted, quantity

_MARKS = {"bad": "✗", "note": "!", "good": "✓", "info": "·"}
_NAMED = 4  # targets that the first sentence names
LABELS: dict[str, str] = {**_NAMES, "missed": "missed"}


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
        events = by_event(told.worse)
        sides = [
            queries.around(connection, project, event[0].series.target, event[0].at_run)
            for event in events
        ]
    if wants_json(request):
        return document(told)
    silent = [one for one in told.targets if one.silent_s is not None]
    grade = "bad" if events else "note" if silent else "good"
    return page(
        "server/overview.html", site(project), told=told, basis=_basis(told, silent),
        grade=grade if told.targets else "info", says=_says(told, events, silent),
        events=[_event(project, *one) for one in zip(events, sides, strict=True)],
        targets=[_target(project, one) for one in told.targets],
        base=request.app.state.settings.base,
    )  # fmt: skip


_Event = list[Seen]  # the changes of the series of a target at one run


def by_event(changes: Iterable[Seen]) -> list[_Event]:
    """Return the changes that came with the same run of a target together, in their order."""
    found: dict[tuple[str, str], _Event] = {}
    for one in changes:
        found.setdefault((one.series.target, one.at_run), []).append(one)
    return list(found.values())


def _says(told: Overview, events: Sequence[_Event], silent: Sequence[TargetState]) -> str:
    """Return the answer in a sentence."""
    if not told.targets:
        return "Nothing has been measured yet."
    of = counted(len(told.targets), "target")
    if not events:
        return f"Nothing got worse in {told.days} days, on {of}{_silent(silent)}."
    names = [event[0].series.target for event in events]
    where = dict.fromkeys(names)
    which = ", ".join(list(where)[:_NAMED]) + (" and others" if len(where) > _NAMED else "")
    return f"{len(where)} of {of} got worse in {told.days} days: {which}{_silent(silent)}."


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
    hours = max(1, round(seconds / 3600))
    if hours < 24:
        return counted(hours, "hour")
    return counted(round(hours / 24), "day")


def _event(project: str, event: _Event, sides: Sequence[Sequence[str]]) -> dict[str, Any]:
    first = max(event, key=lambda one: _ratio(one) or 0.0)
    told = next((one for one in event if one.differences), event[0])
    differs = switch(told.differences[0]) if told.differences else "no condition that is known"
    return {
        "target": first.series.target,
        "target_link": _target_link(project, first.series.target),
        "since": first.since,
        "run": f"/p/{project}/runs/{quote(first.at_run)}",
        "compare": f"/p/{project}/compare?"
        + "&".join("run=" + quote(",".join(side), safe=",") for side in sides),
        "largest": size(first),
        "differs": differs,
        "series": [_worse(project, one) for one in event],
    }


def _ratio(one: Seen) -> float | None:
    """Return the level after a change divided by the one before, None if that is no number."""
    if one.unit == "%" or not one.before or one.after is None:
        return None
    return one.after / one.before


def _worse(project: str, one: Seen) -> dict[str, Any]:
    return {
        "link": f"/p/{project}/series/{one.series.key}",
        "title": f"{one.series.title}: {LABELS.get(one.metric, one.metric)}",
        "before": value(one.before, one.unit),
        "after": value(one.after, one.unit),
        "size": size(one),
    }


def _target_link(project: str, name: str) -> str:
    return f"/p/{project}/series?target={quote(name, safe='')}"


def value(number: float | None, unit: str) -> str:
    """Return a value with its unit."""
    if number is None:
        return "unknown"
    return f"{number:.3g} %" if unit == "%" else quantity(number, unit)


def size(one: Seen) -> str:
    """Return how much a level changed."""
    return change_size(_ratio(one), (one.after or 0.0) - (one.before or 0.0), one.unit)


def _target(project: str, one: TargetState) -> dict[str, Any]:
    usual = "" if one.usual_gap_s is None else f"every {span(one.usual_gap_s)}"
    return {
        "name": one.name,
        "link": _target_link(project, one.name),
        "grade": one.last.grade,
        "mark": _MARKS[one.last.grade],
        "verdict": one.last.verdict,
        "run": f"/p/{project}/runs/{quote(one.last.run_id)}",
        "when": one.last.created,
        "runs": one.runs,
        "worse": one.worse,
        "silent": "" if one.silent_s is None else f"silent for {span(one.silent_s)}",
        "usual": usual,
    }
