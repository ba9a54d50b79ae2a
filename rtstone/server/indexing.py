"""Index run directories: read what the database holds of a run, and write it."""

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

from rtstone.documents.case_name import case_names
from rtstone.documents.observation import observed
from rtstone.documents.plan import NONE
from rtstone.documents.run import LOCAL, Run
from rtstone.report.run.answer import answer
from rtstone.results.omitted import whole
from rtstone.server.database import one_writer, pairs, unless_there
from rtstone.server.schema import changes, points, runs, series, tags, targets
from rtstone.stats.evaluate import evaluate_run
from rtstone.stats.trend.series import Line, identity, label, lines
from rtstone.store.layout import LOG, PLAN
from rtstone.store.rundir import load, logs

STATISTICS = ("p50", "p99", "p999", "max", "missed")
_LONGEST = 400  # characters of a tag: no target, load or kernel needs more
_JOB = re.compile(r"(.+)\.[0-9a-f]{16}")  # the id of a run of a campaign
_RECENT = 21  # runs of a target whose gaps are its usual one


class IndexEntry(NamedTuple):
    """A run as it is indexed: its row, its tags, and the rows of its results by series."""

    row: dict[str, Any]
    tags: set[tuple[str, str]]
    series: list[tuple[dict[str, Any], list[dict[str, Any]]]]


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a run's plan and logs, in their order.

    The number of arrival is left out, as every store gives its own.  A run without a plan or a
    log, as an imported one, has the hash of its document.  Raises UsageError.
    """
    if not ((path / PLAN).exists() and (path / LOG).exists()):
        return hashlib.sha256(msgspec.json.encode(load(path))).hexdigest()
    plan, texts = logs(path)
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(plan, arrival=0)))
    for text in texts:
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()


# ---- reading ------------------------------------------------------------------------------------


def examine(path: Path, arrived: float) -> IndexEntry:
    """Return the index entry of a run directory; ``arrived``: when, in s.  Raises UsageError."""
    # Its directory names it, which may be a copy.
    run = msgspec.structs.replace(load(path), run_id=path.name)
    summary = answer(evaluate_run(run)) if run.results else None
    name, _ = identity(run)
    job = _JOB.fullmatch(run.run_id)
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
        "campaign": job[1][:200] if job else None,
        "status": run.status,
        "ok": sum(result.status == "ok" for result in run.results),
        "results": len(run.results),
        "grade": summary.grade if summary else "info",
        "verdict": summary.verdict if summary else run.reason or "It has no results.",
    }
    tags = {("target", row["target"]), ("target", row["series_target"])}
    tags |= {(kind, row[kind]) for kind in ("kernel", "label") if row[kind]}
    for result in run.results:
        tags |= {("bench", result.bench[:_LONGEST]), ("load", result.load[:_LONGEST])}
        tags |= {("flag", flag[:_LONGEST]) for flag in result.flags}
    return IndexEntry(row, tags, list(_series(run)))


def seconds(created: str, otherwise: float) -> float:
    """Return a time in ISO 8601 in s since 1970; without a zone it is UTC.

    ``otherwise``: returned for what is no time.
    """
    try:
        moment = datetime.fromisoformat(created)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return otherwise


def _short(text: str | None, longest: int = _LONGEST) -> Any:
    return text if text is None else text[:longest]


def _series(run: Run) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the row of each series of a run, and the rows of its results."""
    for line in lines(list(observed(run)), figures=False):
        rows = []
        for observation in line.runs[0]:
            result = observation.result
            corrected = whole(result)  # as trends follow them
            rows.append({
                "place": observation.place, "status": result.status, "n": result.n,
                **{name: getattr(corrected, name) for name in STATISTICS},
            })  # fmt: skip
        yield series_row(line), rows


def series_row(line: Line) -> dict[str, Any]:
    """Return the row of a series without its project."""
    key = line.key
    params = msgspec.json.encode(line.params, order="sorted").decode()
    conditions = msgspec.json.encode(dict(key.identity), order="sorted").decode()
    case = key.case
    measured = line.runs[0][0].run.target
    local = measured.name == LOCAL and not measured.called
    parts = (conditions, case.bench, params, case.series, case.load, key.unit)
    tables = [table for observation in line.runs[0] if (table := observation.table)]
    (name,) = case_names([(case.bench, line.params, case.series, case.load)], tables, NONE)
    load = "" if name.usual else f"load={case.load}"
    return {
        "key": _hash(key.target, *parts),
        "former": _hash(LOCAL, *parts) if local else None,
        "target": key.target[:_LONGEST],
        "identity": conditions,
        "bench": case.bench[:100],
        "params": params,
        "series": case.series[:200],
        "load": case.load[:_LONGEST],
        "unit": key.unit[:20],
        "exact": line.exact,
        # Part of a document, which keeps its spelling.
        "label": " ".join(filter(None, (name.within_bench, load))),
    }


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


# ---- writing ------------------------------------------------------------------------------------


def add(connection: Connection, project: int, entries: Sequence[IndexEntry]) -> list[int | None]:
    """Write runs, and return their numbers; None for those indexed already with that content."""
    one_writer(connection, project)
    query = sql.select(runs.c.run_id, runs.c.fingerprint).where(
        runs.c.project == project, runs.c.run_id.in_([entry.row["run_id"] for entry in entries])
    )
    fingerprints = pairs(connection, query)
    fresh = [
        entry
        for entry in entries
        if fingerprints.get(entry.row["run_id"]) != entry.row["fingerprint"]
    ]
    ids = [entry.row["run_id"] for entry in fresh]
    drop(connection, project, [run_id for run_id in ids if run_id in fingerprints])
    numbers: dict[str, int] = {}
    if fresh:
        rows = [{"project": project, **entry.row} for entry in fresh]
        connection.execute(sql.insert(runs), rows)
        query = sql.select(runs.c.run_id, runs.c.id).where(
            runs.c.project == project, runs.c.run_id.in_(ids)
        )
        numbers = pairs(connection, query)
        rows = [
            {"project": project, "kind": kind, "value": value, "run": numbers[entry.row["run_id"]]}
            for entry in fresh
            for kind, value in entry.tags
        ]
        connection.execute(sql.insert(tags), rows)
        numbers_of_series = _series_numbers(
            connection, project, [row for entry in fresh for row, _ in entry.series]
        )
        rows = [
            {"series": numbers_of_series[row["key"]], "run": numbers[entry.row["run_id"]], **point}
            for entry in fresh
            for row, values in entry.series
            for point in values
        ]
        if rows:
            connection.execute(sql.insert(points), rows)
        refresh_targets(connection, project, {entry.row["series_target"] for entry in fresh})
    return [numbers.get(entry.row["run_id"]) for entry in entries]


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


def drop_bare_series(connection: Connection, project: int) -> None:
    """Remove the series of a project that have no results any more, with their changes.

    Not for runs that are merely missing: a store may come back, and its changes were announced.
    """
    having = sql.select(points.c.series).where(points.c.series == series.c.id).exists()
    bare = series.c.project == project, ~having
    keys = sql.select(series.c.key).where(*bare)
    mine = changes.c.project == project, changes.c.key.in_(keys)
    connection.execute(sql.delete(changes).where(*mine))
    connection.execute(sql.delete(series).where(*bare))


def _series_numbers(
    connection: Connection, project: int, rows: Sequence[dict[str, Any]]
) -> dict[str, int]:
    """Return the number of each series by its key.

    New ones are added, the others brought up to date.
    """
    wanted = {row["key"]: row for row in rows}
    stored = _series_rows(connection, project, list(wanted))
    if new := [{"project": project, **row} for key, row in wanted.items() if key not in stored]:
        connection.execute(unless_there(connection, series, ["project", "key"]), new)
        stored = _series_rows(connection, project, list(wanted))
    for key, row in wanted.items():
        if any(stored[key][name] != value for name, value in row.items()):
            mine = sql.and_(series.c.project == project, series.c.key == key)
            connection.execute(sql.update(series).where(mine).values(**row))
    return {key: row["id"] for key, row in stored.items()}


def _series_rows(
    connection: Connection, project: int, keys: Sequence[str]
) -> dict[str, sql.RowMapping]:
    """Return the rows of those series that are in the database, by their keys."""
    rows: dict[str, sql.RowMapping] = {}
    for begin in range(0, len(keys), 500):
        query = sql.select(series).where(
            series.c.project == project, series.c.key.in_(keys[begin : begin + 500])
        )
        rows |= {row["key"]: row for row in connection.execute(query).mappings()}
    return rows


def refresh_targets(connection: Connection, project: int, names: Iterable[str]) -> None:
    """Make the rows of targets anew from their runs, and mark them to be analysed."""
    now = datetime.now(UTC).timestamp()
    for name in sorted(names):
        mine = sql.and_(runs.c.project == project, runs.c.series_target == name)
        count = connection.execute(sql.select(sql.func.count()).where(mine)).scalar_one()
        target = sql.and_(targets.c.project == project, targets.c.name == name)
        if not count:
            connection.execute(sql.delete(targets).where(target))
            continue
        query = sql.select(runs.c.id, runs.c.begun).where(mine)
        last = connection.execute(
            query.order_by(runs.c.begun.desc(), runs.c.id.desc()).limit(_RECENT)
        )
        recent = last.all()
        gaps = sorted(later.begun - earlier.begun for later, earlier in pairwise(recent))
        values = {
            "runs": count, "last_run": recent[0].id, "last_begun": recent[0].begun,
            "usual_gap": gaps[len(gaps) // 2] if gaps else None, "dirty": now,
        }  # fmt: skip
        if not connection.execute(sql.update(targets).where(target).values(**values)).rowcount:
            connection.execute(sql.insert(targets).values(project=project, name=name, **values))
