"""The overview of a project, and the list of projects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from time import time
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rtstone.documents.server import MainCase, Overview, Projects, Seen, TargetState
from rtstone.report.parts.words import MARKS
from rtstone.report.trend.text import size as change_of
from rtstone.report.trend.text import switch, value
from rtstone.server.access import require
from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.server.settings import Settings, token_command
from rtstone.summary import LABELS as _NAMES
from rtstone.units import counted, quantity

_NAMED = 4  # targets that the first sentence names
LABELS: dict[str, str] = {**_NAMES, "missed": "missed"}


def projects(request: Request) -> Response:
    """List the projects; the server's address redirects to the only one, or only one with runs."""
    state = request.app.state
    names = require(request, "read", None).readable(state.places.projects())
    with state.database.reading() as connection:
        every = queries.all_projects(connection, names)
        listing = Projects(projects=sorted(every, key=lambda each: not each.runs))
    if wants_json(request):
        return document(listing)
    used = [each.name for each in listing.projects if each.runs] or names
    if len(used) == 1 and request.url.path == "/":
        return RedirectResponse(f"/p/{used[0]}/", 302)
    return page("server/projects.html", site(None), listing=listing, days=queries.DAYS)


def overview(request: Request) -> Response:
    """Show what got worse, the targets, and which of them are silent."""
    project = project_of(request)
    settings = request.app.state.settings
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
    lacking = [target for target in state.targets if target.lacking]
    grade = "bad" if events else "note" if silent else "info" if lacking else "good"
    basis = []
    if silent:
        names = ", ".join(target.name for target in silent[:5])
        rest = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        basis.append(f"Silent for more than {queries.LATE:g} times their usual gap: {names}{rest}.")
    for target in lacking[:_NAMED]:
        if target.needed is not None:
            basis.append(
                f"{target.name}: {counted(target.analysed or 0, 'run')} of a case, of "
                f"{target.needed} that it takes to find a change."
            )
    if len(lacking) > _NAMED:
        basis.append(f"{len(lacking) - _NAMED} more have too few runs.")
    if state.pending:
        basis.append(f"Runs of {counted(state.pending, 'target')} are still being analysed.")
    return page(
        "server/overview.html", site(project), state=state, basis=basis,
        total=counted(state.runs, "run"),
        grade=grade if state.targets else "info", says=_verdict(state, events, silent),
        events=[_event(project, *pair) for pair in zip(events, sides, strict=True)],
        targets=[_target(project, target) for target in state.targets],
        base=settings.base, private=settings.is_private, make_token=_make_token(settings, project),
        worse=_no_events(state) if not events else "",
    )  # fmt: skip


def _make_token(settings: Settings, project: str) -> str:
    """Return the command that makes a token; only readers on its machine see where its store is."""
    if settings.is_private:
        return token_command(settings, "--project", project)
    return f"rtstone token new ci --project {project} --scope push"


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
        return f"{_nothing(state, total)}{_silent(silent)}."
    names = [event[0].series.target for event in events]
    where = dict.fromkeys(names)
    which = ", ".join(list(where)[:_NAMED]) + (" and others" if len(where) > _NAMED else "")
    return f"{len(where)} of {total} got worse in {state.days} days: {which}{_silent(silent)}."


def _nothing(state: Overview, total: str) -> str:
    """Return that nothing got worse, of those targets of which that can be said."""
    lacking = [target for target in state.targets if target.lacking]
    if not lacking:
        return f"Nothing got worse in {state.days} days, on {total}"
    if any(target.needed is None for target in lacking):
        return f"Nothing got worse in {state.days} days so far: runs are still being analysed"
    if len(lacking) == len(state.targets):
        return f"Too few runs to say whether anything got worse, on {total}"
    return (
        f"Nothing got worse in {state.days} days, on {len(state.targets) - len(lacking)} of "
        f"{total}; too few runs to say of {len(lacking)}"
    )


def _no_events(state: Overview) -> str:
    """Return what stands in place of the changes where there are none, "" without a target."""
    if not state.targets:
        return ""
    if state.pending:
        return f"None so far: runs of {counted(state.pending, 'target')} are still being analysed."
    lacking, total = sum(target.lacking for target in state.targets), len(state.targets)
    if not lacking:
        return "None."
    if lacking == total:
        return "Not known yet: too few runs."
    return f"None on {total - lacking} of {counted(total, 'target')}; too few runs of the others."


def _silent(silent: Sequence[TargetState]) -> str:
    if not silent:
        return ""
    longest = max(target.silent_s or 0.0 for target in silent)
    verb = "has" if len(silent) == 1 else "have"
    return f"; {counted(len(silent), 'target')} {verb} not reported, for up to {span(longest)}"


def span(seconds: float) -> str:
    """Return a span in words, in the largest unit of which it has one and a half."""
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    hours = round(seconds / 3600)
    if hours < 36:
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
    return change_of(change.before, change.after, change.unit)


def _target(project: str, target: TargetState) -> dict[str, Any]:
    usual = "" if target.usual_gap_s is None else f"every {span(target.usual_gap_s)}"
    return {
        "name": target.name,
        "link": target_link(project, target.name),
        "grade": target.judged.grade,
        "mark": MARKS[target.judged.grade],
        "verdict": target.judged.verdict,
        "run": f"/p/{project}/runs/{quote(target.judged.run_id)}",
        "when": target.judged.created,
        "last": target.last.created,
        "failed": ""
        if target.last.ok or target.last == target.judged
        else f"/p/{project}/runs/{quote(target.last.run_id)}",
        "worse": target.worse,
        "lacking": too_few(target.analysed or 0, target.needed) if target.lacking else "",
        "silent": "" if target.silent_s is None else f"silent for {span(target.silent_s)}",
        "usual": usual,
        "main": _main(project, target.main) if target.main else None,
    }


def too_few(runs: int, needed: int | None) -> str:
    """Return that with so many runs no change can be found; ``needed``: None if not analysed."""
    return "" if needed is None else f"too few runs: {runs} of {needed}"


def _main(project: str, case: MainCase) -> dict[str, Any]:
    """Return the number of a target: of its main case, with its course."""
    unit = case.series.unit
    values = [value for _, value in case.recent]
    course = [(queries.seconds(created), value) for created, value in case.recent]
    many = counted(len(values), "run")
    spread = many if values else ""
    if len(values) > 1:
        ends = list(dict.fromkeys(quantity(end, unit) for end in (min(values), max(values))))
        label = f"{LABELS[case.metric]} of the last {queries.DAYS} days"
        spread = f"{label}: {' to '.join(ends)}, {many}"
    return {
        "title": case.series.title,
        "link": f"/p/{project}/series/{case.series.key}",
        "numbers": [("p99.9", case.p999), ("max", case.max)],
        "unit": unit,
        "missed": case.missed,
        "n": case.n,
        "course": curve(course, time() - queries.DAYS * queries.DAY, time()),
        "spread": spread,
    }


WIDTH, HEIGHT = 120, 24  # of a sparkline, in its own units
_MARGIN = 2


def curve(course: Sequence[tuple[float, float]], begin: float, end: float) -> str:
    """Return the path of a sparkline, "" with fewer than two values: time across, logarithm up.

    ``course``: times, in s, and values.  Values that have no logarithm are drawn at the least one
    that has.
    """
    if len(course) < 2:
        return ""
    least = min((value for _, value in course if value > 0), default=1.0)
    heights = [log(max(value, least)) for _, value in course]
    low, high = min(heights), max(heights)
    middle, reach = (low + high) / 2, max(high - low, log(1.1))  # what differs by less is flat
    places = [
        (_MARGIN + (at - begin) / (end - begin) * (WIDTH - 2 * _MARGIN),
         HEIGHT / 2 - (height - middle) / reach * (HEIGHT - 2 * _MARGIN))
        for (at, _), height in zip(course, heights, strict=True)
    ]  # fmt: skip
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
