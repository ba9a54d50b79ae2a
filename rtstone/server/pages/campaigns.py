"""Campaigns as a matrix that follows the runs as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from rtstone.documents.campaign import CampaignCell, CampaignState, Counts, Judged
from rtstone.report.campaign.page import compose
from rtstone.report.parts.words import WORST_FIRST
from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json

_REFRESH_S = 30


def campaigns(request: Request) -> Response:
    """List the campaigns."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        listing = queries.all_campaigns(connection, project)
    if wants_json(request):
        return document(listing)
    base = request.app.state.settings.base
    return page("server/campaigns.html", site(project, "campaigns"), listing=listing, base=base)


def campaign(request: Request) -> Response:
    """Show the matrix of a campaign: the runs here, and those still to come by its plan."""
    project, name = project_of(request), request.path_params["name"]
    with request.app.state.database.reading() as connection:
        plan, rows = queries.campaign_state(connection, project, name)
    state = _state(name, plan, rows)
    if wants_json(request):
        return document(state)
    left = state.jobs.planned + state.jobs.running
    frame = site(project, "campaigns", refresh_s=_REFRESH_S if left else None)
    return HTMLResponse(compose(state, frame))


def _state(name: str, plan: CampaignState | None, rows: Sequence[Any]) -> CampaignState:
    """Return the state of a campaign by the runs here, whatever its plan says of them."""
    runs = {row.run_id: row for row in rows}
    if plan is None:
        by_cell: dict[tuple[str, str], list[Any]] = {}
        for row in rows:
            by_cell.setdefault((row.series_target, row.suite or "benches"), []).append(row)
        cells = [
            CampaignCell(target=target, measure=measure, jobs=Counts(done=len(own)),
                         runs=[row.run_id for row in own], judged=_judged(own))
            for (target, measure), own in by_cell.items()
        ]  # fmt: skip
        return CampaignState(name=name, title=name, jobs=Counts(done=len(rows)), cells=cells)
    updated = []
    for cell in plan.cells:
        here = [runs[run_id] for run_id in cell.runs if run_id in runs]
        away = max(0, cell.jobs.done - len(here))  # done, and not here yet: they count as running
        jobs = structs.replace(cell.jobs, done=len(here), running=cell.jobs.running + away)
        ids = [row.run_id for row in here]
        updated.append(structs.replace(cell, jobs=jobs, runs=ids, judged=_judged(here)))
    counts = [cell.jobs for cell in updated]
    total = {name: sum(getattr(c, name) for c in counts) for name in Counts.__struct_fields__}
    return structs.replace(plan, cells=updated, jobs=Counts(**total))


def _judged(rows: Sequence[Any]) -> Judged | None:
    """Return the verdict of the worst run."""
    if not rows:
        return None
    worst = min(rows, key=lambda row: WORST_FIRST.index(row.grade))
    return Judged(grade=worst.grade, verdict=worst.verdict, run=worst.run_id, of=len(rows))
