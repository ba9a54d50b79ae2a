"""Index run directories: what the database says of a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sql
from sqlalchemy.engine import Connection

from rtstone.documents.observation import observed
from rtstone.documents.plan import NONE
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.report.parts.words import Named, telling
from rtstone.report.run.answer import answer
from rtstone.results.omitted import whole
from rtstone.server.database import one_writer, pairs, unless_there
from rtstone.server.schema import points, runs, series, tags, targets
from rtstone.stats.evaluate import evaluate_run
from rtstone.stats.trend.series import Line, identity, label, lines
from rtstone.store.layout import LOG, PLAN
from rtstone.store.rundir import load, logs

STATISTICS = ("p50", "p99", "p999", "max", "missed")
_LONGEST = 400  # characters of a tag: no target, load or kernel needs more
_JOB = re.compile(r"(.+)\.[0-9a-f]{16}")  # the id of a run of a campaign
_RECENT = 21  # runs of a target whose gaps are its usual one


class Found(NamedTuple):
    """A run as it is indexed: its row, its tags, and its results by series."""

    row: dict[str, Any]
    tags: set[tuple[str, str]]
    series: list[tuple[dict[str, Any], list[dict[str, Any]]]]


def fingerprint(path: Path) -> str:
    """Return a hash of what was measured in a directory: its plan and logs, in their order.

    The number of arrival is left out, which every store gives anew.  Of a run without a plan or a
    log, as a copied document, it is that of the document.  Raises UsageError.
    """
    if not ((path / PLAN).exists() and (path / LOG).exists()):
        return hashlib.sha256(msgspec.json.encode(load(path))).hexdigest()
    plan, texts = logs(path)
    told = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(plan, arrival=0)))
    for text in texts:
        told.update(hashlib.sha256(text).digest())
    return told.hexdigest()


# ---- reading ------------------------------------------------------------------------------------


def examine(path: Path, arrived: float) -> Found:
    """Return what is indexed of a directory.  Raises UsageError."""
    # Known by its directory, which may be a copy.
    run = msgspec.structs.replace(load(path), run_id=path.name)
    told = answer(evaluate_run(run)) if run.results else None
    name, _ = identity(run)
    row = {
        "run_id": run.run_id,
        "fingerprint": fingerprint(path),
        "created": run.created[:64],
        "begun": seconds(run.created, arrived),
        "arrived": arrived,
        "target": _short(run.target.called or run.target.name),
        "series_target": _short(name),
        "kernel": _short(label(run, "kernel")),
        "suite": _short(run.suite, 200),
        "label": _short(run.name),
        "campaign": _campaign(run.run_id),
        "status": run.status,
        "ok": sum(result.status == "ok" for result in run.results),
        "results": len(run.results),
        "grade": told.grade if told else "info",
        "verdict": told.verdict if told else run.reason or "It has no results.",
    }
    return Found(row, set(_tags(run, row)), list(_series(run)))


def seconds(created: str, otherwise: float) -> float:
    """Return a time in ISO 8601 in s since 1970; without a zone it is UTC."""
    try:
        told = datetime.fromisoformat(created)
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return otherwise


def _short(text: str | None, longest: int = _LONGEST) -> Any:
    return text if text is None else text[:longest]


def _campaign(run_id: str) -> str | None:
    found = _JOB.fullmatch(run_id)
    return found[1][:200] if found else None


def _tags(run: Run, row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "target", row["target"]
    yield "target", row["series_target"]
    for kind in ("kernel", "label"):
        if row[kind]:
            yield kind, row[kind]
    for result in run.results:
        yield "bench", result.bench[:_LONGEST]
        yield "load", result.load[:_LONGEST]
        for flag in result.flags:
            yield "flag", flag[:_LONGEST]


def _series(run: Run) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the row of each series that has results of the run, and the rows of these."""
    seen = [one for one in observed(run) if one.result.n or one.result.status != "ok"]
    for line in lines(seen):
        yield series_row(line), [_point(one.place, one.result) for one in line.runs[0]]


def series_row(line: Line) -> dict[str, Any]:
    """Return the row of a series without its project."""
    key = line.key
    params = msgspec.json.encode(line.params, order="sorted").decode()
    told = msgspec.json.encode(dict(key.identity), order="sorted").decode()
    named = (key.target, told, key.case.bench, params, key.case.series, key.case.load, key.unit)
    return {
        "key": hashlib.sha256("\0".join(named).encode()).hexdigest()[:16],
        "target": key.target[:_LONGEST],
        "identity": told,
        "bench": key.case.bench[:100],
        "params": params,
        "series": key.case.series[:200],
        "load": key.case.load[:_LONGEST],
        "unit": key.unit[:20],
        "exact": line.exact,
        "label": _label(line),
    }


def _label(line: Line) -> str:
    """Return what tells a series from others of its bench, in words."""
    case = line.key.case
    tables = [table for one in line.runs[0] if (table := one.table)]
    return telling(tables, [Named(case.bench, line.params, case.series, case.load)], NONE)[0]


def _point(place: int, result: Result) -> dict[str, Any]:
    corrected = whole(result)  # as trends follow them
    return {
        "place": place, "status": result.status, "n": result.n,
        **{name: getattr(corrected, name) for name in STATISTICS},
    }  # fmt: skip


# ---- writing ------------------------------------------------------------------------------------


def add(connection: Connection, project: int, found: Sequence[Found]) -> list[int | None]:
    """Write runs, and return their numbers; None for those that are there with that content."""
    one_writer(connection, project)
    known = _known(connection, project, [one.row["run_id"] for one in found])
    fresh = [one for one in found if known.get(one.row["run_id"]) != one.row["fingerprint"]]
    drop(connection, project, [f.row["run_id"] for f in fresh if f.row["run_id"] in known])
    numbers: dict[str, int] = {}
    if fresh:
        rows = [{"project": project, **one.row} for one in fresh]
        connection.execute(sql.insert(runs), rows)
        ids = [one.row["run_id"] for one in fresh]
        query = sql.select(runs.c.run_id, runs.c.id).where(
            runs.c.project == project, runs.c.run_id.in_(ids)
        )
        numbers = pairs(connection, query)
        _add_tags(connection, project, fresh, numbers)
        _add_points(connection, project, fresh, numbers)
        refresh_targets(connection, project, {one.row["series_target"] for one in fresh})
    return [numbers.get(one.row["run_id"]) for one in found]


def _known(connection: Connection, project: int, ids: Sequence[str]) -> dict[str, str]:
    query = sql.select(runs.c.run_id, runs.c.fingerprint).where(
        runs.c.project == project, runs.c.run_id.in_(ids)
    )
    return pairs(connection, query)


def drop(connection: Connection, project: int, ids: Iterable[str]) -> None:
    """Remove runs from the index."""
    wanted = list(ids)
    if not wanted:
        return
    one_writer(connection, project)
    mine = sql.and_(runs.c.project == project, runs.c.run_id.in_(wanted))
    gone = set(connection.execute(sql.select(runs.c.series_target).where(mine)).scalars())
    connection.execute(sql.delete(runs).where(mine))
    refresh_targets(connection, project, gone)


def drop_bare_series(connection: Connection, project: int | None = None) -> None:
    """Remove the series that have no results any more, with their changes; of all projects if None.

    Not for runs that merely are not there: a store may come back, and its changes were told.
    """
    having = sql.select(points.c.series).where(points.c.series == series.c.id).exists()
    mine = sql.true() if project is None else series.c.project == project
    connection.execute(sql.delete(series).where(mine, ~having))


def _add_tags(
    connection: Connection, project: int, fresh: Sequence[Found], numbers: dict[str, int]
) -> None:
    rows = [
        {"project": project, "kind": kind, "value": value, "run": numbers[one.row["run_id"]]}
        for one in fresh
        for kind, value in one.tags
    ]
    connection.execute(sql.insert(tags), rows)


def _add_points(
    connection: Connection, project: int, fresh: Sequence[Found], numbers: dict[str, int]
) -> None:
    of = _series_numbers(connection, project, [row for one in fresh for row, _ in one.series])
    rows = [
        {"series": of[row["key"]], "run": numbers[one.row["run_id"]], **point}
        for one in fresh
        for row, values in one.series
        for point in values
    ]
    if rows:
        connection.execute(sql.insert(points), rows)


def _series_numbers(
    connection: Connection, project: int, rows: Sequence[dict[str, Any]]
) -> dict[str, int]:
    """Return the number of each series by its key.

    New ones are added, the others brought up to date.
    """
    wanted = {row["key"]: row for row in rows}
    there = _there(connection, project, list(wanted))
    if new := [{"project": project, **row} for key, row in wanted.items() if key not in there]:
        connection.execute(unless_there(connection, series, ["project", "key"]), new)
        there = _there(connection, project, list(wanted))
    for key, row in wanted.items():
        if any(there[key][name] != value for name, value in row.items()):
            mine = sql.and_(series.c.project == project, series.c.key == key)
            connection.execute(sql.update(series).where(mine).values(**row))
    return {key: row["id"] for key, row in there.items()}


def _there(connection: Connection, project: int, keys: Sequence[str]) -> dict[str, sql.RowMapping]:
    """Return the rows of those series that there are, by their keys."""
    found: dict[str, sql.RowMapping] = {}
    for begin in range(0, len(keys), 500):
        query = sql.select(series).where(
            series.c.project == project, series.c.key.in_(keys[begin : begin + 500])
        )
        found |= {row["key"]: row for row in connection.execute(query).mappings()}
    return found


def refresh_targets(connection: Connection, project: int, names: Iterable[str]) -> None:
    """Make the rows of targets anew from their runs, to be analysed."""
    now = datetime.now(UTC).timestamp()
    for name in sorted(names):
        mine = sql.and_(runs.c.project == project, runs.c.series_target == name)
        count = connection.execute(sql.select(sql.func.count()).where(mine)).scalar_one()
        one = sql.and_(targets.c.project == project, targets.c.name == name)
        if not count:
            connection.execute(sql.delete(targets).where(one))
            continue
        query = sql.select(runs.c.id, runs.c.begun).where(mine)
        last = connection.execute(
            query.order_by(runs.c.begun.desc(), runs.c.id.desc()).limit(_RECENT)
        )
        recent = last.all()
        told = {
            "runs": count, "last_run": recent[0].id, "last_begun": recent[0].begun,
            "usual_gap": _gap([row.begun for row in recent]), "dirty": now,
        }  # fmt: skip
        if not connection.execute(sql.update(targets).where(one).values(**told)).rowcount:
            connection.execute(sql.insert(targets).values(project=project, name=name, **told))


def _gap(begun: Sequence[float]) -> float | None:
    """Return the median of the times between runs, newest first; None of one run."""
    gaps = sorted(later - earlier for later, earlier in pairwise(begun))
    return gaps[len(gaps) // 2] if gaps else None


def of_directory(path: Path, arrived: float) -> Found | None:
    """Return what is indexed of a directory, None if it has no run that can be read."""
    try:
        return examine(path, arrived)
    except UsageError:
        return None
