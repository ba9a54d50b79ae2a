"""A run, several runs compared, and the files of a run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sql
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.report import page as report
from rtstone.server.pages.queries import project_id
from rtstone.server.pages.site import document, project_of, site, wants_json
from rtstone.server.projects import Places
from rtstone.server.schema import runs as table
from rtstone.stats.evaluate import Evaluation, evaluate_runs
from rtstone.store.decoding import uncollected
from rtstone.store.explanations import explanations
from rtstone.store.intake import FILES
from rtstone.store.rundir import load

MOST = 8  # runs that are compared
_KEPT = 48 << 20  # bytes of pages that are kept


class _Pages:
    """The pages that were made last, by what they were made from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._size = 0

    def get(self, key: tuple[object, ...], make: Callable[[], str]) -> bytes:
        """Return the page of a key, made if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        page = make().encode()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = page
                self._size += len(page)
            while self._size > _KEPT:
                self._size -= len(self._kept.popitem(last=False)[1])
        return page


_PAGES = _Pages()


def run(request: Request) -> Response:
    """Show the report of a run."""
    project, run_id = project_of(request), request.path_params["run_id"]
    places: Places = request.app.state.places
    path = places.run(project, run_id)
    if wants_json(request):
        return document(load(_run_directory(request, project, run_id)))
    fingerprint = _fingerprint(request, project, run_id)

    def make() -> str:
        with uncollected():
            explained = explanations(path, run_id).explanations
            return _compose([[load(path)]], {run_id: explained}, project)

    changed = tuple(sorted(file.name for file in path.glob("explanation-*.json")))
    return HTMLResponse(_PAGES.get((project, run_id, fingerprint, changed), make))


def compare(request: Request) -> Response:
    """Compare runs: each `run` is one, or several of a system with commas between them."""
    project = project_of(request)
    named = [text.split(",") for text in request.query_params.getlist("run") if text]
    every = [run_id for group in named for run_id in group]
    if not 2 <= len(named) <= MOST or len(every) > 4 * MOST:
        raise HTTPException(
            400, f"name 2 to {MOST} systems: ?run=ID&run=ID, or run=ID,ID for runs of one system"
        )
    fingerprints = tuple(_fingerprint(request, project, run_id) for run_id in every)
    places: Places = request.app.state.places

    def groups() -> list[list[Run]]:
        return [[load(places.run(project, run_id)) for run_id in group] for group in named]

    if wants_json(request):
        evaluation = _evaluated(groups())
        if evaluation.comparison is None:
            raise UsageError(f"these runs are not compared: {evaluation.incomparable}")
        return document(evaluation.comparison)
    key = (project, tuple(map(tuple, named)), fingerprints)
    return HTMLResponse(_PAGES.get(key, lambda: _compose(groups(), {}, project)))


def _compose(groups: list[list[Run]], explained: dict[str, list[Explanation]], project: str) -> str:
    return report.compose(_evaluated(groups), explained, site(project, "-"))


def _evaluated(groups: list[list[Run]]) -> Evaluation:
    return evaluate_runs([group if len(group) > 1 else group[0] for group in groups])


def _fingerprint(request: Request, project: str, run_id: str) -> str:
    """Return the fingerprint of a run.  Raises HTTPException 404."""
    with request.app.state.database.reading() as connection:
        mine = table.c.project == project_id(connection, project), table.c.run_id == run_id
        fingerprint = connection.execute(sql.select(table.c.fingerprint).where(*mine)).scalar()
    if fingerprint is None:
        raise HTTPException(404, f"no run '{run_id}', in project {project}")
    return str(fingerprint)


def _run_directory(request: Request, project: str, run_id: str) -> Path:
    """Return the directory of an indexed run.  Raises HTTPException 404."""
    _fingerprint(request, project, run_id)
    places: Places = request.app.state.places
    return places.run(project, run_id)


def file(request: Request) -> Response:
    """Return a file of a run as it is stored: its plan, a log, or its document."""
    project, name = project_of(request), request.path_params["name"]
    if not FILES.fullmatch(name):
        raise HTTPException(404, f"no file '{name}' of a run; plan.json, run.json or wire.log")
    path = _run_directory(request, project, request.path_params["run_id"]) / name
    if not path.is_file() or path.is_symlink():
        raise HTTPException(404, f"the run has no {name}")
    kind = "application/json" if name.endswith(".json") else "text/plain; charset=utf-8"
    return FileResponse(path, media_type=kind)
