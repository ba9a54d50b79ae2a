"""The overview of a project, and the list of projects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rtstone.documents.server import Overview, Projects, Seen, TargetState
from rtstone.report.parts.words import MARKS
from rtstone.report.trend.text import switch, value
from rtstone.server.access import require
from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.summary import LABELS as _NAMES
from rtstone.units import change_size, counted

_NAMED = 4  # targets that the first sentence names
LABELS: dict[str, str] = {**_NAMES, "missed": "missed"}


def projects(request: Request) -> Response:
    """List the projects; with only one, redirect to it."""
    state = request.app.state
    names = require(request, "read", None).readable(state.places.projects())
    with state.database.reading() as connection:
        listing = Projects(projects=queries.all_projects(connection, names))
    if wants_json(request):
        return document(listing)
    if len(names) == 1:
        return RedirectResponse(f"/p/{names[0]}/", 302)
    return page("server/projects.html", site(None), listing=listing, days=queries.DAYS)


def overview(request: Request) -> Response:
    """Show what got worse, the targets, and which of them are silent."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        state = queries.overview(connection, project)
        events = by_event(state.worse)
        sides = [
            queries.around(connection, project, event[0].series.target, event[0].at_run)
            for event in events
        ]
    if wants_json(request):
        return document(state)
    silent = [target for target in state.targets if target.silent_s is not None]
    grade = "bad" if events else "note" if silent else "good"
    basis = []
    if silent:
        names = ", ".join(target.name for target in silent[:5])
        rest = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        basis.append(f"Silent for more than {queries.LATE:g} times their usual gap: {names}{rest}.")
    if state.pending:
        basis.append(f"Runs of {counted(state.pending, 'target')} are still being analysed.")
    return page(
        "server/overview.html", site(project), state=state, basis=basis,
        grade=grade if state.targets else "info", says=_verdict(state, events, silent),
        events=[_event(project, *pair) for pair in zip(events, sides, strict=True)],
        targets=[_target(project, target) for target in state.targets],
        base=request.app.state.settings.base,
    )  # fmt: skip


_Event = list[Seen]  # the changes of the series of a target at one run


def by_event(changes: Iterable[Seen]) -> list[_Event]:
    """Return changes in groups, those that came with one run of a target, in their order."""
    groups: dict[tuple[str, str], _Event] = {}
    for change in changes:
        groups.setdefault((change.series.target, change.at_run), []).append(change)
    return list(groups.values())


def _verdict(state: Overview, events: Sequence[_Event], silent: Sequence[TargetState]) -> str:
    """Return the state of a project in a sentence."""
    if not state.targets:
        return "Nothing has been measured yet."
    total = counted(len(state.targets), "target")
    if not events:
        return f"Nothing got worse in {state.days} days, on {total}{_silent(silent)}."
    names = [event[0].series.target for event in events]
    where = dict.fromkeys(names)
    which = ", ".join(list(where)[:_NAMED]) + (" and others" if len(where) > _NAMED else "")
    return f"{len(where)} of {total} got worse in {state.days} days: {which}{_silent(silent)}."


def _silent(silent: Sequence[TargetState]) -> str:
    if not silent:
        return ""
    longest = max(target.silent_s or 0.0 for target in silent)
    verb = "has" if len(silent) == 1 else "have"
    return f"; {counted(len(silent), 'target')} {verb} not reported, for up to {span(longest)}"


def span(seconds: float) -> str:
    """Return a span of hours or days in words."""
    hours = max(1, round(seconds / 3600))
    if hours < 24:
        return counted(hours, "hour")
    return counted(round(hours / 24), "day")


def _event(project: str, event: _Event, sides: Sequence[Sequence[str]]) -> dict[str, Any]:
    first = max(event, key=lambda change: _ratio(change) or 0.0)
    explained = next((change for change in event if change.differences), event[0])
    differs = (
        switch(explained.differences[0]) if explained.differences else "no condition that is known"
    )
    return {
        "target": first.series.target,
        "target_link": target_link(project, first.series.target),
        "since": first.since,
        "run": f"/p/{project}/runs/{quote(first.at_run)}",
        "compare": f"/p/{project}/compare?"
        + "&".join("run=" + quote(",".join(side), safe=",") for side in sides),
        "largest": size(first),
        "differs": differs,
        "series": [
            {
                "link": f"/p/{project}/series/{change.series.key}",
                "title": f"{change.series.title}: {LABELS.get(change.metric, change.metric)}",
                "before": value(change.before, change.unit),
                "after": value(change.after, change.unit),
                "size": size(change),
            }
            for change in event
        ],
    }


def _ratio(change: Seen) -> float | None:
    """Return the level after a change divided by the one before, None if that is no number."""
    if change.unit == "%" or not change.before or change.after is None:
        return None
    return change.after / change.before


def target_link(project: str, name: str) -> str:
    """Return the address of the series of a target."""
    return f"/p/{project}/series?target={quote(name, safe='')}"


def size(change: Seen) -> str:
    """Return how much a level changed, in words."""
    shift = (change.after or 0.0) - (change.before or 0.0)
    return change_size(_ratio(change), shift, change.unit)


def _target(project: str, target: TargetState) -> dict[str, Any]:
    usual = "" if target.usual_gap_s is None else f"every {span(target.usual_gap_s)}"
    return {
        "name": target.name,
        "link": target_link(project, target.name),
        "grade": target.last.grade,
        "mark": MARKS[target.last.grade],
        "verdict": target.last.verdict,
        "run": f"/p/{project}/runs/{quote(target.last.run_id)}",
        "when": target.last.created,
        "runs": target.runs,
        "worse": target.worse,
        "silent": "" if target.silent_s is None else f"silent for {span(target.silent_s)}",
        "usual": usual,
    }
