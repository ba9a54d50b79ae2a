"""Find the changes of the series of a target, when runs of it have come.

A target is analysed as a whole, as `rtstone check --trend` does: the level is shared by all of its
series, so that of targets that do not change at most 5% show any change.  The newest WINDOW runs
are looked at; changes that were found before them, or in their first quarter, stay as they were
found: with few runs before it, a change could not be seen any more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from time import time
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sql
from sqlalchemy.engine import Connection

from rtstone.documents.observation import Observation, observed
from rtstone.documents.run import Run
from rtstone.documents.trend import Change, Series
from rtstone.errors import UsageError
from rtstone.server.database import Database, one_writer
from rtstone.server.indexing import seconds, series_row
from rtstone.server.projects import Places
from rtstone.server.schema import analyses, changes, projects, runs, series, targets
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST
from rtstone.stats.trend.series import Line, lines, usual
from rtstone.stats.trend.trend import TrendRequest, follow
from rtstone.store.decoding import uncollected
from rtstone.store.rundir import load

WINDOW = 200  # newest runs of a target that are analysed
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
    """The runs that are looked at: when they began, in order; changes before ``settled`` stay."""

    begun: list[float]
    settled: float

    def place(self, begun: float) -> int:
        """Return the place of the run that began then."""
        return bisect_left(self.begun, begun)


def analyse_next(database: Database, places: Places) -> bool:
    """Analyse a target that has new runs; return whether there was one."""
    task = _claimed(database)
    if task is None:
        return False
    with uncollected():
        observations, window = _read(database, places, task)
        through = lines(observations)
        level = LEVEL / max(1, sum(len(usual(line)) for line in through))
        made = [_followed(line, level) for line in through]
    with database.writing() as connection:
        one_writer(connection, task.project)
        for line, found in zip(through, made, strict=True):
            number = _number(connection, task.project, line)
            if number is not None:
                _write(connection, task.project, number, found, window)
        done = sql.update(targets).where(*_row(task))
        connection.execute(done.where(targets.c.dirty == task.dirty).values(dirty=None))
        connection.execute(done.values(claimed=None))
    return True


def _claimed(database: Database) -> _Task | None:
    """Claim the target that has waited longest; no other server has it meanwhile."""
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
        newest = connection.execute(query).all()[::-1]
    found: list[Observation] = []
    for row in newest:
        try:
            run = load(places.run(task.name, row.run_id))
        except UsageError:  # removed or damaged since; `serve --verify` says so
            continue
        found += _observed(msgspec.structs.replace(run, run_id=row.run_id))
    begun = [row.begun for row in newest]
    full = len(begun) == WINDOW
    return found, _Window(begun, begun[WINDOW // 4] if full else -inf)


def _observed(run: Run) -> Iterator[Observation]:
    for one in observed(msgspec.structs.replace(run, slopes=[], notes=[], command=[])):
        if one.result.n or one.result.status != "ok":
            yield one._replace(result=msgspec.structs.replace(one.result, **_SLIM))


def _followed(line: Line, level: float) -> Sequence[Series]:
    return follow([line], TrendRequest(level=level), lambda one: one.result).series


def _number(connection: Connection, project: int, line: Line) -> int | None:
    """Return the number of a series; None of one that single runs are not told apart as."""
    query = sql.select(series.c.id).where(
        series.c.project == project, series.c.key == series_row(line)["key"]
    )
    return connection.execute(query).scalar()


def _write(
    connection: Connection, project: int, number: int, found: Sequence[Series], window: _Window
) -> None:
    """Replace what is known of a series but for what is settled; what was notified stays so."""
    mine = changes.c.series == number
    query = sql.select(*(changes.c[name] for name in ("id", "metric", "at_run", "begun", "verdict",
                                                      "found", "notified")))  # fmt: skip
    known = connection.execute(query.where(mine)).all()
    settled = {(one.metric, one.at_run) for one in known if one.begun < window.settled}
    loose = [one for one in known if one.begun >= window.settled]
    seen = _seen_until(connection, number)
    connection.execute(sql.delete(changes).where(mine, changes.c.begun >= window.settled))
    connection.execute(sql.delete(analyses).where(analyses.c.series == number))
    now = time()
    rows = []
    for one in found:
        document = msgspec.json.encode(one).decode()
        told = {"series": number, "metric": one.metric, "made": now, "document": document}
        connection.execute(sql.insert(analyses).values(**told))
        for place, change in enumerate(one.changes):
            row = _change(one, place, change)
            past = row["begun"] < window.settled and row["begun"] <= seen.get(one.metric, -inf)
            if past or (one.metric, row["at_run"]) in settled:
                continue
            same = _same(loose, row, window)
            rows.append({
                **row, "project": project, "series": number,
                "found": same.found if same else now, "notified": same.notified if same else None,
            })  # fmt: skip
    if rows:
        connection.execute(sql.insert(changes), rows)


def _seen_until(connection: Connection, number: int) -> dict[str, float]:
    """Return when the last run began that was looked at for changes of each metric."""
    query = sql.select(analyses.c.metric, analyses.c.document).where(analyses.c.series == number)
    found = {}
    for metric, text in connection.execute(query):
        document = msgspec.json.decode(text, type=Series)
        if document.places:
            found[metric] = seconds(document.places[-1].created, -inf)
    return found


def _same(loose: list[Any], row: dict[str, Any], window: _Window) -> Any:
    """Take out what was known of a change, None if it is new.

    With further runs it may be found a run or two from where it was; two that are different lie
    further from each other.
    """
    at = window.place(row["begun"])

    def far(one: Any) -> tuple[bool, int]:
        return one.at_run != row["at_run"], abs(window.place(one.begun) - at)

    alike = [
        one for one in loose
        if (one.metric, one.verdict) == (row["metric"], row["verdict"]) and far(one)[1] < SHORTEST
    ]  # fmt: skip
    if not alike:
        return None
    same = min(alike, key=far)
    loose.remove(same)
    return same


def _change(of: Series, place: int, change: Change) -> dict[str, Any]:
    effect = change.effect
    return {
        "metric": of.metric,
        "at_run": change.after,
        "before_run": change.before,
        "begun": seconds(change.created, time()),
        "verdict": effect.verdict,
        "before_value": of.segments[place].value,
        "after_value": of.segments[place + 1].value,
        "size": effect.ratio if effect.ratio is not None else effect.difference,
        "change": msgspec.json.encode(change).decode(),
    }
