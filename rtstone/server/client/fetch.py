"""Fetch runs from a results server: the plan and the logs, from which the document is made here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.documents.server import SeriesView
from rtstone.errors import TargetError, UsageError
from rtstone.report.trend import text
from rtstone.server.client.address import Address, address
from rtstone.server.client.http import LARGEST, Refused, Server
from rtstone.store.layout import LOG, PLAN, RUN_ID

_RUN = re.compile(rf"/runs/({RUN_ID.pattern})")
_SERIES = re.compile(r"(?:/series/)?([0-9a-f]{16})")
MOST = 20  # runs of a series that a run is compared with
_LOGS = 1000  # of one run: it was resumed as often


class Named(NamedTuple):
    """A run or a series on a server; the other is None."""

    at: Address
    run: str | None = None
    series: str | None = None


def named(url: str) -> Named:
    """Return the run or the series that a URL names.  Raises UsageError."""
    at = address(url)
    if run := _RUN.fullmatch(at.rest):
        return Named(at, run=run[1])
    if series := _SERIES.fullmatch(at.rest or at.fragment):
        return Named(at, series=series[1])
    raise UsageError(
        f"'{url[:200]}' names no run and no series; write https://HOST/p/PROJECT/runs/ID"
    )


def fetch(source: Named, into: Path) -> Path:
    """Fetch a run to a new directory, and return it.

    ``into``: a directory that only this process writes to.  Raises UsageError, TargetError.
    """
    assert source.run is not None
    with Server(source.at) as server:
        return _fetch(server, source.run, into)


def _fetch(server: Server, run_id: str, into: Path) -> Path:
    if not RUN_ID.fullmatch(run_id):  # the server says it
        raise TargetError(f"{server.where} names a run as none is called: '{run_id[:150]}'")
    path = into / run_id
    path.mkdir(mode=0o700)
    size = 0
    names = [PLAN, LOG, *(f"wire-{number}.log" for number in range(2, _LOGS))]
    for name in names:
        try:
            response = server.get(server.address.path("runs", run_id, name))
        except Refused as error:
            if error.status == 404 and name not in (PLAN, LOG):
                return path
            raise
        size += len(response.body)
        if size > LARGEST:
            raise TargetError(f"{server.where} sends more than {LARGEST} bytes of run {run_id}")
        with (path / name).open("xb") as file:
            file.write(response.body)
    raise TargetError(f"{server.where}: run {run_id} has more than {_LOGS} logs")


class Earlier(NamedTuple):
    """Runs that another is compared with; ``remark``: what they leave out, empty if nothing."""

    runs: list[Path]
    remark: str = ""


def earlier(url: str, into: Path, run_id: str = "") -> Earlier:
    """Fetch the runs that a URL names for comparing: a single one, or those of a series.

    ``run_id``: of the run that is compared with them.  Raises UsageError, TargetError.
    """
    source = named(url)
    return Earlier([fetch(source, into)]) if source.run else baseline(source, MOST, into, run_id)


def baseline(source: Named, most: int, into: Path, run_id: str) -> Earlier:
    """Fetch the newest runs of a series since its last change, oldest first.

    ``most``: how many at most.  ``run_id``: the run that is compared with them; if the series has
    it already, only those before it are fetched.  Raises UsageError, TargetError.
    """
    assert source.series is not None
    with Server(source.at) as server:
        response = server.get(server.address.path("series", f"{source.series}.json"))
        view = response.json(SeriesView)
        ids = since_last_change(view, run_id)
        if not ids:
            raise UsageError(f"no valid result, of series {source.series} on {server.where}")
        runs = [_fetch(server, run_id, into) for run_id in ids[-most:]]
    return Earlier(runs, _without_those_before(view, ids[0]))


def _without_those_before(view: SeriesView, first: str) -> str:
    """Return that the runs begin with a change, and which; empty if they do not.

    What is passed beside runs that are worse themselves may be worse than those before them.
    """
    shifts = [
        (trend, number, change)
        for trend in view.trends
        for number, change in enumerate(trend.changes)
        if change.after == first
    ]
    if not shifts:
        return ""
    texts = []
    for trend, number, change in shifts:
        before, after = (part.value for part in trend.segments[number : number + 2])
        amount = text.size(before, after, trend.unit)
        texts.append(f"{text.metric(trend)} became {change.effect.verdict} ({amount})")
    since = shifts[0][2].created[:16].replace("T", " ")
    return (
        f"compared only with runs since {since} (run {first}), when {', '.join(texts)}: those "
        "before that are no part of this verdict"
    )


def since_last_change(view: SeriesView, run_id: str = "") -> Sequence[str]:
    """Return the runs of a series since the last of its changes, each once, oldest first.

    ``run_id``: where the series ends, without this run.
    """
    ids = list(dict.fromkeys(point.run_id for point in view.points if point.status == "ok"))
    ids = ids[: ids.index(run_id)] if run_id in ids else ids
    changes = [change.after for trend in view.trends for change in trend.changes]
    begins = [ids.index(first) for first in changes if first in ids]
    return ids[max(begins, default=0) :]
