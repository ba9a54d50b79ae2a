"""Find the changes of the series of a target, when runs of it have come.

A target is analysed as a whole, as `rtstone check --trend` does: the level is shared by all of its
series, so that of targets that do not change at most 5% show any change.  The newest WINDOW runs
are analysed; changes that were found before them, or in their first quarter, stay as they were
found: with few runs before it, a change could not be seen any more.  Of large runs, fewer than
WINDOW are analysed, so that whoever pushes them cannot use up the server's memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from time import time
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sql
from sqlalchemy.engine import Connection

from rtstone import structures
from rtstone.documents.observation import Observation, observed
from rtstone.documents.trend import Change, Series
from rtstone.errors import UsageError
from rtstone.server.database import Database, one_writer
from rtstone.server.indexing import seconds, series_row
from rtstone.server.projects import Places
from rtstone.server.schema import analyses, changes, projects, runs, series, targets
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST
from rtstone.stats.trend.series import lines, usual
from rtstone.stats.trend.trend import TrendRequest, follow
from rtstone.store.decoding import uncollected
from rtstone.store.layout import RUN
from rtstone.store.rundir import load

WINDOW = 200  # newest runs of a target that are analysed
BYTES = 256 << 20  # of their documents, which take ten times as much memory: else fewer runs
_CLAIM_S = 600.0  # after which another server takes over what one had claimed

# Of a result, what no trend reads.
_SLIM: dict[str, Any] = {
    "worst": [], "trace": None, "blocks": None, "batches": None,
    "tables": [], "load_rates": [], "until": None,
}  # fmt: skip


class _Task(NamedTuple):
    """A target to analyse.  ``dirty``: when its last run came, as was known at the begin."""

    project: int
    name: str
    target: str
    dirty: float


class _Window(NamedTuple):
    """The runs that are analysed: when they began, in order; changes before ``settled`` stay."""

    begun: list[float]
    settled: float

    def place(self, begun: float) -> int:
        """Return the place of the run that began at a time, in s."""
        return bisect_left(self.begun, begun)


def analyse_next(database: Database, places: Places) -> bool:
    """Analyse a target that has new runs; return whether there was one."""
    task = _claimed(database)
    if task is None:
        return False
    with uncollected():
        observations, window = _read(database, places, task)
        through = lines(observations, figures=False)
        level = LEVEL / max(1, sum(len(usual(line)) for line in through))
        options = TrendRequest(level=level)
        trends = [
            follow([line], options, lambda observation: observation.result).series
            for line in through
        ]
    with database.writing() as connection:
        one_writer(connection, task.project)
        for line, by_metric in zip(through, trends, strict=True):
            key = series_row(line)["key"]
            mine = series.c.project == task.project, series.c.key == key
            row = connection.execute(sql.select(series).where(*mine)).first()
            if row is not None:  # else the series of single runs are separated otherwise
                _write(connection, row, by_metric, window)
        done = sql.update(targets).where(*_row(task))
        connection.execute(done.where(targets.c.dirty == task.dirty).values(dirty=None))
        connection.execute(done.values(claimed=None))
    return True


def _claimed(database: Database) -> _Task | None:
    """Claim the target that has waited longest, so that no other server analyses it."""
    now = time()
    free = sql.or_(targets.c.claimed.is_(None), targets.c.claimed < now - _CLAIM_S)
    query = (
        sql.select(targets.c.project, projects.c.name, targets.c.name.label("target"),
                   targets.c.dirty)
        .join(projects, projects.c.id == targets.c.project)
        .where(targets.c.dirty.is_not(None), free)
        .order_by(targets.c.dirty)
        .limit(1)
    )  # fmt: skip
    with database.writing() as connection:
        row = connection.execute(query).first()
        if row is None:
            return None
        task = _Task(*row)
        claim = sql.update(targets).where(*_row(task), free).values(claimed=now)
        return task if connection.execute(claim).rowcount else None


def _row(task: _Task) -> tuple[Any, Any]:
    return targets.c.project == task.project, targets.c.name == task.target


def _read(database: Database, places: Places, task: _Task) -> tuple[list[Observation], _Window]:
    """Return the results of the newest runs in their order, and when these began."""
    query = (
        sql.select(runs.c.run_id, runs.c.begun)
        .where(runs.c.project == task.project, runs.c.series_target == task.target)
        .order_by(runs.c.begun.desc(), runs.c.id.desc())
        .limit(WINDOW)
    )
    with database.reading() as connection:
        newest = connection.execute(query).all()
    left, number = BYTES, 0
    for row in newest:
        with suppress(OSError):  # removed since
            left -= (places.run(task.name, row.run_id) / RUN).stat().st_size
        if left < 0 and number:
            break
        number += 1
    taken = newest[:number][::-1]
    observations: list[Observation] = []
    for row in taken:
        try:
            run = load(places.run(task.name, row.run_id))
        except UsageError:  # removed or damaged since; `serve --verify` says so
            continue
        run = msgspec.structs.replace(run, run_id=row.run_id, slopes=[], notes=[], command=[])
        observations += [
            observation._replace(result=msgspec.structs.replace(observation.result, **_SLIM))
            for observation in observed(run)
            if observation.result.n or observation.result.status != "ok"
        ]
    begun = [row.begun for row in taken]
    full = len(begun) == WINDOW or len(begun) < len(newest)
    return observations, _Window(begun, begun[len(begun) // 4] if full else -inf)


def _write(
    connection: Connection, entry: sql.Row[Any], trends: Sequence[Series], window: _Window
) -> None:
    """Replace analyses and changes of a series, except settled changes; notified ones stay so.

    ``entry``: the row of the series.
    """
    _adopt_former(connection, entry)
    mine = sql.and_(changes.c.project == entry.project, changes.c.key == entry.key)
    query = sql.select(*(changes.c[name] for name in ("id", "metric", "at_run", "begun", "verdict",
                                                      "found", "notified")))  # fmt: skip
    earlier = connection.execute(query.where(mine)).all()
    settled = {(row.metric, row.at_run) for row in earlier if row.begun < window.settled}
    loose = [row for row in earlier if row.begun >= window.settled]
    seen = {}  # when the last analysed run began, in s, by metric
    query = sql.select(analyses.c.metric, analyses.c.document).where(analyses.c.series == entry.id)
    for metric, text in connection.execute(query):
        if places := structures.decode(text, Series).places:
            seen[metric] = seconds(places[-1].created, -inf)
    connection.execute(sql.delete(changes).where(mine, changes.c.begun >= window.settled))
    connection.execute(sql.delete(analyses).where(analyses.c.series == entry.id))
    now = time()
    rows = []
    for trend in trends:
        document = msgspec.json.encode(trend).decode()
        analysis = {
            "series": entry.id, "metric": trend.metric, "made": now, "runs": trend.runs,
            "least": trend.least, "document": document,
        }  # fmt: skip
        connection.execute(sql.insert(analyses).values(**analysis))
        for place, change in enumerate(trend.changes):
            row = _change(trend, place, change)
            past = row["begun"] < window.settled and row["begun"] <= seen.get(trend.metric, -inf)
            if past or (trend.metric, row["at_run"]) in settled:
                continue
            same = _same(loose, row, window)
            rows.append({
                **row, "project": entry.project, "key": entry.key,
                "found": same.found if same else now, "notified": same.notified if same else None,
            })  # fmt: skip
    if rows:
        connection.execute(sql.insert(changes), rows)


def _adopt_former(connection: Connection, entry: sql.Row[Any]) -> None:
    """Give a series the changes under its former key, unless they came with another target's run.

    They were announced, and those before the runs that are analysed are nowhere else.
    """
    if entry.former is None:
        return
    elsewhere = sql.select(runs.c.run_id).where(
        runs.c.project == entry.project, runs.c.series_target != entry.target
    )
    mine = changes.c.project == entry.project, changes.c.key == entry.former
    update = sql.update(changes).where(*mine, changes.c.at_run.not_in(elsewhere))
    connection.execute(update.values(key=entry.key))


def _same(loose: list[Any], row: dict[str, Any], window: _Window) -> Any:
    """Remove from ``loose`` and return the earlier row of a change, None if the change is new.

    With further runs it may be found a run or two from where it was; two that are different lie
    further from each other.
    """
    at = window.place(row["begun"])

    def far(change: Any) -> tuple[bool, int]:
        return change.at_run != row["at_run"], abs(window.place(change.begun) - at)

    key = row["metric"], row["verdict"]
    alike = [
        change for change in loose
        if (change.metric, change.verdict) == key and far(change)[1] < SHORTEST
    ]  # fmt: skip
    if not alike:
        return None
    same = min(alike, key=far)
    loose.remove(same)
    return same


def _change(trend: Series, place: int, change: Change) -> dict[str, Any]:
    """Return the row of a change, which is at this place of the changes of its trend."""
    effect = change.effect
    return {
        "metric": trend.metric,
        "at_run": change.after,
        "before_run": change.before,
        "begun": seconds(change.created, time()),
        "verdict": effect.verdict,
        "before_value": trend.segments[place].value,
        "after_value": trend.segments[place + 1].value,
        "size": effect.ratio if effect.ratio is not None else effect.difference,
        "change": msgspec.json.encode(change).decode(),
    }
