"""Queries of the pages, and of what programs read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from time import time
from typing import Any, NamedTuple, cast

import msgspec
import sqlalchemy as sql
from sqlalchemy.engine import Connection
from starlette.exceptions import HTTPException

from rtstone import structures
from rtstone.documents.campaign import CampaignState
from rtstone.documents.other_names import OTHER_NAMES
from rtstone.documents.run import Value
from rtstone.documents.server import (
    Campaigns,
    ListedCampaign,
    ListedRun,
    MainCase,
    Overview,
    Point,
    Project,
    Search,
    Seen,
    SeriesHead,
    SeriesList,
    SeriesView,
    TargetState,
)
from rtstone.documents.trend import Change, Metric
from rtstone.documents.trend import Series as Followed
from rtstone.report.parts.words import WORST_FIRST
from rtstone.server.database import pairs
from rtstone.server.indexing import seconds as _seconds
from rtstone.server.schema import (
    SERIES_OF_CHANGE,
    analyses,
    campaigns,
    changes,
    points,
    projects,
    runs,
    series,
    tags,
    targets,
)
from rtstone.stats.standouts import PERIODIC

DAYS = 30  # for which the overview shows what became worse
NEWS_DAYS = 7  # a change that began before is no news: an old store was served for the first time
DAY = 86_400.0
MOST_CHANGES = 50  # on the overview
LATE = 3.0  # a target is silent after so many times its usual gap, and a day at least
POINTS = 1000  # newest results of a series that are listed
PAGE = 50  # runs on a page of search
VALUES = 200  # of a kind that search offers
KINDS = ("target", "kernel", "bench", "load", "label", "flag")
PREFIXED = {"target", "kernel", "label"}  # are also found by their beginning
_LATEST = 20  # newest runs of a target that have its latest results
_PARAMETERS = 50 * _LATEST  # ids in a query
_COMPARED = 5  # runs on each side of a change that are compared
_LAST = "\U0010ffff"
_RUN = [
    runs.c[name]
    for name in ("run_id", "created", "series_target", "kernel", "suite", "label", "status", "ok",
                 "results", "grade", "verdict")
]  # fmt: skip
_SERIES = [series.c[name] for name in SeriesHead.__struct_fields__]
# With their series, as `_change` takes them.
_CHANGES = sql.select(*_SERIES, *(column for column in changes.c if column.name != "key")).join(
    series, SERIES_OF_CHANGE
)


def iso_time(seconds: float) -> str:
    """Return a point in time in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def seconds(created: str) -> float:
    """Return a point in time in s since 1970; 0 if it is none."""
    return _seconds(created, 0.0)


def project_id(connection: Connection, name: str) -> int:
    """Return the number of a project.  Raises HTTPException 404."""
    query = sql.select(projects.c.id).where(projects.c.name == name)
    number = connection.execute(query).scalar()
    if number is None:
        raise HTTPException(404, f"no project '{name}'")
    return int(number)


def _run(row: Any) -> ListedRun:
    return ListedRun(
        run_id=row.run_id, created=row.created, target=row.series_target, kernel=row.kernel,
        suite=row.suite, label=row.label, status=row.status, ok=row.ok, results=row.results,
        grade=row.grade, verdict=row.verdict,
    )  # fmt: skip


def _head(row: Any) -> SeriesHead:
    return SeriesHead(
        key=row.key, target=row.target, bench=row.bench, label=row.label, series=row.series,
        load=row.load, unit=row.unit, exact=row.exact,
        identity=structures.decode(row.identity, dict[str, str]),
        params=cast("dict[str, Value]", msgspec.json.decode(row.params)),
    )  # fmt: skip


def _series(connection: Connection, name: str, key: str) -> Any:
    """Return the row of a series: its number and its head.  Raises HTTPException 404.

    A former key still leads to it, as badges and gates have its address.
    """
    project = project_id(connection, name)
    row = connection.execute(
        sql.select(series.c.id, *_SERIES)
        .where(series.c.project == project, sql.or_(series.c.key == key, series.c.former == key))
        .order_by(series.c.key != key, series.c.id)
        .limit(1)
    ).first()
    if row is None:
        raise HTTPException(404, f"no series '{key}', in project {name}")
    return row


# ---- overview -----------------------------------------------------------------------------------


def all_projects(connection: Connection, names: Iterable[str]) -> list[Project]:
    """Return the state of projects, in the order of their names here."""
    since = time() - DAYS * DAY
    listing = []
    for name in names:
        query = sql.select(projects.c.id).where(projects.c.name == name)
        number = connection.execute(query).scalar()
        if number is None:
            listing.append(Project(name=name, runs=0, targets=0, worse=0, last=None))
            continue
        mine = targets.c.project == number
        counted = sql.select(sql.func.count(), sql.func.sum(targets.c.runs),
                             sql.func.max(targets.c.last_begun)).where(mine)  # fmt: skip
        many, total, last = connection.execute(counted).one()
        followed = sql.select(sql.func.count()).select_from(changes).join(series, SERIES_OF_CHANGE)
        worse = followed.where(_worse(number, since))
        listing.append(Project(
            name=name, runs=total or 0, targets=many,
            worse=connection.execute(worse).scalar_one(),
            last=None if last is None else iso_time(last),
        ))  # fmt: skip
    return listing


def _worse(project: int, since: float) -> Any:
    """Return the condition that selects a project's changes for the worse since a time, in s."""
    return sql.and_(
        changes.c.project == project, changes.c.verdict == "worse", changes.c.begun >= since
    )


def overview(connection: Connection, name: str) -> Overview:
    """Return the state of a project."""
    project, now = project_id(connection, name), time()
    since = now - DAYS * DAY
    by_target = (
        sql.select(series.c.target, sql.func.count())
        .join(changes, SERIES_OF_CHANGE)
        .where(_worse(project, since))
        .group_by(series.c.target)
    )
    worse = pairs(connection, by_target)
    query = (
        sql.select(targets, *_RUN)
        .join(runs, runs.c.id == targets.c.last_run)
        .where(targets.c.project == project)
        .order_by(targets.c.name)
    )
    rows = connection.execute(query).all()
    main = _main_cases(connection, name, since)
    judged = _verdicts(connection, project, [case.run_id for case in main.values()])
    analysed = _analysed(connection, project)

    def silent(row: Any) -> float | None:
        gap, since = row.usual_gap, now - row.last_begun
        return since if gap is not None and since > max(DAY, LATE * gap) else None

    states = [
        TargetState(
            name=row.name,
            runs=row.runs,
            last=_run(row),
            usual_gap_s=row.usual_gap,
            silent_s=silent(row),
            worse=worse.get(row.name, 0),
            main=main.get(row.name),
            judged=_judged(_run(row), main.get(row.name), judged),
            analysed=analysed.get(row.name, (None, None))[0],
            needed=analysed.get(row.name, (None, None))[1],
        )
        for row in rows
    ]
    return Overview(
        project=name, made=iso_time(now), days=DAYS, runs=sum(row.runs for row in rows),
        targets=sorted(states, key=_rank),
        worse=list(_seen(connection, project, since, MOST_CHANGES)),
        worse_total=sum(worse.values()), most=MOST_CHANGES,
        pending=sum(row.dirty is not None for row in rows),
    )  # fmt: skip


def _verdicts(connection: Connection, project: int, ids: Sequence[str]) -> dict[str, ListedRun]:
    """Return runs by their ids."""
    listed: dict[str, ListedRun] = {}
    for begin in range(0, len(ids), _PARAMETERS):
        mine = runs.c.project == project, runs.c.run_id.in_(ids[begin : begin + _PARAMETERS])
        query = sql.select(*_RUN).where(*mine)
        listed |= {row.run_id: _run(row) for row in connection.execute(query)}
    return listed


def _judged(last: ListedRun, main: MainCase | None, listed: dict[str, ListedRun]) -> ListedRun:
    """Return the run whose verdict a target has: its last one, or that of its main case.

    The last one may be of other benches, which have no deadline: beside missed activations "nothing
    to judge" is no verdict.
    """
    measured = listed.get(main.run_id) if main else None
    if measured is None:
        return last
    graver = WORST_FIRST.index(last.grade) < WORST_FIRST.index(measured.grade)
    return last if last.grade != "info" and graver else measured


def _analysed(connection: Connection, project: int) -> dict[str, tuple[int, int]]:
    """Return by target how many runs its best known series has, and how many it takes to judge."""
    query = (
        sql.select(series.c.target, analyses.c.runs, analyses.c.least)
        .join(analyses, analyses.c.series == series.c.id)
        .where(series.c.project == project)
        .distinct()
    )
    by_target: dict[str, tuple[int, int]] = {}
    for target, number, least in connection.execute(query):
        had = by_target.get(target)
        if had is None or number - least > had[0] - had[1]:
            by_target[target] = number, least
    return by_target


def _rank(target: TargetState) -> tuple[Any, ...]:
    """Return a key that sorts targets: first those that are silent, the longest, then the worst."""
    lost = _lost(target.main) if target.main else 0.0
    fit = target.judged.grade not in {"bad", "note"}
    grade = "good" if fit else target.judged.grade  # no verdict is no worse than a good one
    rank = WORST_FIRST.index(grade if target.last.ok else "bad")
    return -(target.silent_s or 0.0), rank, -lost, -target.worse, target.name


def _lost(row: Any) -> float:
    """Return the share of missed activations of a result."""
    missed = row.missed or 0
    return float(missed / (missed + row.n)) if missed else 0.0


def _main_cases(connection: Connection, name: str, since: float) -> dict[str, MainCase]:
    """Return by target its main case, with its results since a time, in s."""
    by_target: dict[str, list[Any]] = {}
    for row in latest_points(connection, name):
        if row.max is not None:
            by_target.setdefault(row.target, []).append(row)
    chosen: dict[str, Any] = {}
    for target, latest in by_target.items():
        newest = max(latest, key=lambda row: seconds(row.created))
        rows = [row for row in latest if row.identity == newest.identity]  # of one machine
        periodic = [row for row in rows if row.bench == PERIODIC]
        timed = periodic or [row for row in rows if row.missed is not None] or rows
        chosen[target] = max(timed, key=lambda row: (_lost(row), row.p999 or row.max, row.max))
    metric_of: dict[str, Metric] = {
        row.key: "p999" if row.p999 is not None else "max" for row in chosen.values()
    }
    recent: dict[str, list[tuple[str, float]]] = {key: [] for key in metric_of}
    keys = list(metric_of)
    for begin in range(0, len(keys), _PARAMETERS):
        query = (
            sql.select(series.c.key, runs.c.created, points.c.p999, points.c.max)
            .join(points, points.c.series == series.c.id)
            .join(runs, runs.c.id == points.c.run)
            .where(series.c.project == project_id(connection, name), points.c.status == "ok",
                   series.c.key.in_(keys[begin : begin + _PARAMETERS]), runs.c.begun >= since)
            .order_by(runs.c.begun, points.c.run, points.c.place)
        )  # fmt: skip
        for row in connection.execute(query):
            value = getattr(row, metric_of[row.key])
            if value is not None:
                recent[row.key].append((row.created, value))
    return {
        target: MainCase(
            series=_head(row), run_id=row.run_id, created=row.created, n=row.n, p50=row.p50,
            p99=row.p99, p999=row.p999, max=row.max, missed=row.missed, metric=metric_of[row.key],
            recent=recent[row.key],
        )
        for target, row in chosen.items()
    }  # fmt: skip


def _seen(connection: Connection, project: int, since: float, most: int) -> Iterable[Seen]:
    query = _CHANGES.where(_worse(project, since))
    query = query.order_by(changes.c.begun.desc(), changes.c.id).limit(most)
    return map(_change, connection.execute(query))


def _change(row: Any) -> Seen:
    change = structures.decode(row.change, Change)
    return Seen(
        series=_head(row), metric=row.metric, unit="%" if row.metric == "missed" else row.unit,
        verdict=row.verdict, since=change.created, at_run=row.at_run, before_run=row.before_run,
        before=row.before_value, after=row.after_value, differences=change.differences,
    )  # fmt: skip


def around(connection: Connection, name: str, target: str, at_run: str) -> list[list[str]]:
    """Return the ids of the runs of a target around a run: those before it, it and those after it.

    At most 5 on each side, those next to it.
    """
    project = project_id(connection, name)
    mine = runs.c.project == project, runs.c.series_target == target
    begun = sql.select(runs.c.begun).where(*mine, runs.c.run_id == at_run).scalar_subquery()
    sides = (
        (runs.c.begun < begun, runs.c.begun.desc()), (runs.c.begun >= begun, runs.c.begun),
    )  # fmt: skip
    return [
        list(connection.execute(
            sql.select(runs.c.run_id).where(*mine, side).order_by(order).limit(_COMPARED)
        ).scalars())
        for side, order in sides
    ]  # fmt: skip


def worse(connection: Connection, name: str, days: int, most: int) -> Iterable[Seen]:
    """Return the changes for the worse of a project's last days, newest first."""
    project = project_id(connection, name)
    return _seen(connection, project, time() - days * DAY, most)


class Unannounced(NamedTuple):
    """A change that was not announced yet; ``news``: it is not long past."""

    number: int
    seen: Seen
    news: bool


def unannounced(connection: Connection, name: str) -> list[Unannounced]:
    """Return the changes for the worse that were not announced, oldest first."""
    query = (
        _CHANGES.join(projects, projects.c.id == changes.c.project)
        .where(projects.c.name == name, changes.c.verdict == "worse", changes.c.notified.is_(None))
        .order_by(changes.c.begun, changes.c.id)
    )
    since = time() - NEWS_DAYS * DAY
    rows = connection.execute(query).all()
    return [Unannounced(row.id, _change(row), row.begun >= since) for row in rows]


class Standing(NamedTuple):
    """The state of a series.

    ``worse_since``: since when it is worse, None if it is not.  ``followed``: its changes of this
    metric are sought, and it has runs enough for one to be found.
    """

    title: str
    unit: str
    latest: float | None
    worse_since: str | None
    followed: bool


def standing(connection: Connection, name: str, key: str, metric: str) -> Standing:
    """Return the state of a series: it is worse until it becomes better.

    Raises HTTPException 404.
    """
    row = _series(connection, name, key)
    newest = (
        sql.select(points.c[metric])
        .join(runs, runs.c.id == points.c.run)
        .where(points.c.series == row.id, points.c.status == "ok")
        .order_by(runs.c.begun.desc(), points.c.run.desc())
        .limit(1)
    )
    last = connection.execute(
        sql.select(changes.c.verdict, changes.c.begun)
        .join(series, SERIES_OF_CHANGE)
        .where(series.c.id == row.id, changes.c.metric == metric)
        .order_by(changes.c.begun.desc())
        .limit(1)
    ).first()
    analysed = connection.execute(
        sql.select(analyses.c.runs, analyses.c.least).where(
            analyses.c.series == row.id, analyses.c.metric == metric
        )
    ).first()
    return Standing(
        followed=analysed is not None and analysed.runs >= analysed.least,
        title=_head(row).title, unit="activations" if metric == "missed" else row.unit,
        latest=connection.execute(newest).scalar(),
        worse_since=iso_time(last.begun) if last and last.verdict == "worse" else None,
    )  # fmt: skip


def with_runs(connection: Connection, names: Iterable[str]) -> list[str]:
    """Return those of the projects that have or had runs."""
    indexed = set(connection.execute(sql.select(projects.c.name)).scalars())
    return [name for name in names if name in indexed]


def latest_points(connection: Connection, name: str) -> list[Any]:
    """Return the newest result of each series among the last 20 runs of its target."""
    project = project_id(connection, name)
    names = connection.execute(sql.select(targets.c.name).where(targets.c.project == project))
    newest_of = [
        row.id
        for (target,) in names.all()
        for row in connection.execute(
            sql.select(runs.c.id)
            .where(runs.c.project == project, runs.c.series_target == target)
            .order_by(runs.c.begun.desc(), runs.c.id.desc())
            .limit(_LATEST)
        )
    ]
    values = [points.c[n] for n in ("n", "p50", "p99", "p999", "max", "missed")]
    query = (
        sql.select(*_SERIES, *values, runs.c.run_id, runs.c.created)
        .join(points, points.c.series == series.c.id)
        .join(runs, runs.c.id == points.c.run)
        .where(points.c.status == "ok")
        .order_by(runs.c.begun, runs.c.id)
    )
    newest: dict[str, Any] = {}
    for begin in range(0, len(newest_of), _PARAMETERS):  # the newest of a target stay together
        condition = points.c.run.in_(newest_of[begin : begin + _PARAMETERS])
        newest |= {row.key: row for row in connection.execute(query.where(condition))}
    return sorted(newest.values(), key=lambda row: (row.target, row.bench, row.key))


def named_benches(names: Iterable[str]) -> set[str]:
    """Return names of benches and families, with those that some are other names of."""
    names = set(names)
    return names | {OTHER_NAMES[name].bench for name in names if name in OTHER_NAMES}


def runs_with(connection: Connection, name: str, benches: Sequence[str]) -> list[str]:
    """Return the ids of runs with one of these benches, families or other names of both.

    They are in order of arrival.
    """
    project = project_id(connection, name)
    named = [
        sql.or_(tags.c.value == bench, _begins(f"{bench}.")) for bench in named_benches(benches)
    ]
    mine = sql.select(tags.c.run).where(
        tags.c.project == project, tags.c.kind == "bench", sql.or_(*named)
    )
    query = sql.select(runs.c.run_id).where(runs.c.project == project, runs.c.id.in_(mine))
    return list(connection.execute(query.order_by(runs.c.id)).scalars())


# ---- series -------------------------------------------------------------------------------------


def followed(connection: Connection, name: str) -> dict[str, int]:
    """Return how many series are followed of each target, one of each metric of a case."""
    query = (
        sql.select(series.c.target, sql.func.count().label("n"))
        .join(analyses, analyses.c.series == series.c.id)
        .where(series.c.project == project_id(connection, name))
        .group_by(series.c.target)
    )
    return {row.target: row.n for row in connection.execute(query)}


def series_list(connection: Connection, name: str, target: str) -> SeriesList:
    """Return the series of a target.  Raises HTTPException 404."""
    project = project_id(connection, name)
    mine = sql.and_(series.c.project == project, series.c.target == target)
    query = sql.select(*_SERIES).where(mine).order_by(series.c.bench, series.c.id)
    heads = [_head(row) for row in connection.execute(query)]
    if not heads:
        raise HTTPException(404, f"no series of target '{target}', in project {name}")
    counted = (
        sql.select(series.c.key, sql.func.count())
        .join(changes, SERIES_OF_CHANGE)
        .where(mine, changes.c.verdict == "worse")
        .group_by(series.c.key)
    )
    worse = standing_worse(connection, mine)
    heads.sort(key=lambda head: -growth(worse[head.key]) if head.key in worse else 0.0)
    most = sql.func.max(analyses.c.runs)
    analysed = (
        sql.select(series.c.key, most, analyses.c.least)
        .join(analyses, analyses.c.series == series.c.id)
        .where(mine)
        .group_by(series.c.key, analyses.c.least)
        .having(most < analyses.c.least)
    )
    return SeriesList(
        project=name, target=target, series=heads, changes=pairs(connection, counted), worse=worse,
        lacking={key: (had, least) for key, had, least in connection.execute(analysed)},
    )  # fmt: skip


def standing_worse(connection: Connection, mine: Any) -> dict[str, Seen]:
    """Return by key of series its largest change for the worse that no better one has followed."""
    newest: dict[tuple[str, str], Seen] = {}
    for row in connection.execute(_CHANGES.where(mine).order_by(changes.c.begun, changes.c.id)):
        change = _change(row)
        if change.verdict in {"worse", "better"}:
            newest[change.series.key, change.metric] = change
    largest: dict[str, Seen] = {}
    for (key, _), change in newest.items():
        if change.verdict == "worse" and (
            key not in largest or growth(change) > growth(largest[key])
        ):
            largest[key] = change
    return largest


def growth(change: Seen) -> float:
    """Return by how much of its level a series became worse: 0.5 is half as much again."""
    if not change.before or change.after is None or change.unit == "%":
        return ((change.after or 0.0) - (change.before or 0.0)) / 100
    return change.after / change.before - 1


def series_view(connection: Connection, name: str, key: str) -> SeriesView:
    """Return a series.  Raises HTTPException 404."""
    row = _series(connection, name, key)
    query = (
        sql.select(analyses.c.document)
        .where(analyses.c.series == row.id)
        .order_by(analyses.c.metric)
    )
    trends = [structures.decode(text, Followed) for text in connection.execute(query).scalars()]
    current = {(trend.metric, change.after) for trend in trends for change in trend.changes}
    earlier = [
        _change(change)
        for change in connection.execute(
            _CHANGES.where(series.c.id == row.id).order_by(changes.c.begun.desc())
        )
        if (change.metric, change.at_run) not in current
    ]
    values = [points.c[column] for column in Point.__struct_fields__[2:]]
    newest = (
        sql.select(runs.c.run_id, runs.c.created, *values)
        .join(runs, runs.c.id == points.c.run)
        .where(points.c.series == row.id)
        .order_by(runs.c.begun.desc(), points.c.run.desc(), points.c.place.desc())
        .limit(POINTS)
    )
    count = sql.select(sql.func.count()).select_from(points).where(points.c.series == row.id)
    return SeriesView(
        project=name, series=_head(row), trends=trends, earlier=earlier,
        points=[Point(**point._mapping) for point in connection.execute(newest)][::-1],
        of=connection.execute(count).scalar_one(),
    )  # fmt: skip


# ---- search -------------------------------------------------------------------------------------


def search(
    connection: Connection, name: str, wanted: dict[str, str], after: str | None = None
) -> Search:
    """Return the runs of a project that have these tags, newest first.

    ``after``: where the page before ended.  Raises HTTPException 400.
    """
    project = project_id(connection, name)
    query = sql.select(runs.c.id, runs.c.begun, *_RUN).where(runs.c.project == project)
    for kind, value in wanted.items():
        same = _begins(value) if kind in PREFIXED else tags.c.value == value
        mine = sql.select(tags.c.run).where(tags.c.project == project, tags.c.kind == kind, same)
        query = query.where(runs.c.id.in_(mine))
    if after is not None:
        text, _, number_text = after.rpartition("-")  # begin, in s, and number of the last run
        try:
            begun, number = float(text), int(number_text)
        except ValueError:
            raise HTTPException(400, "bad 'after'; take it from the page before") from None
        earlier = sql.and_(runs.c.begun == begun, runs.c.id < number)
        query = query.where(sql.or_(runs.c.begun < begun, earlier))
    query = query.order_by(runs.c.begun.desc(), runs.c.id.desc()).limit(PAGE + 1)
    rows = connection.execute(query).all()
    following = f"{rows[PAGE - 1].begun!r}-{rows[PAGE - 1].id}" if len(rows) > PAGE else None
    return Search(
        project=name, asked=wanted, runs=[_run(row) for row in rows[:PAGE]], after=following
    )  # fmt: skip


def _begins(text: str) -> Any:
    """Return the condition that a tag begins with a text."""
    return sql.and_(tags.c.value >= text, tags.c.value < text + _LAST)


def known_values(connection: Connection, name: str) -> dict[str, list[str]]:
    """Return the values that can be searched for, by kind, ``VALUES`` of each at most."""
    project = project_id(connection, name)
    by_kind = {}
    for kind in KINDS:
        values: list[str] = []
        value = ""
        while len(values) < VALUES:  # one step along the index each: tags are many, values few
            query = sql.select(sql.func.min(tags.c.value)).where(
                tags.c.project == project, tags.c.kind == kind, tags.c.value > value
            )
            following = connection.execute(query).scalar()
            if following is None:
                break
            values.append(value := following)
        by_kind[kind] = values
    return by_kind


# ---- campaigns ----------------------------------------------------------------------------------


def all_campaigns(connection: Connection, name: str) -> Campaigns:
    """Return the campaigns of a project."""
    project = project_id(connection, name)
    counted = (
        sql.select(runs.c.campaign, sql.func.count(), sql.func.max(runs.c.begun))
        .where(runs.c.project == project, runs.c.campaign.is_not(None))
        .group_by(runs.c.campaign)
    )
    counts = {row[0]: (row[1], row[2]) for row in connection.execute(counted)}
    states = {
        row.name: (row.told, structures.decode(row.state, CampaignState))
        for row in connection.execute(sql.select(campaigns).where(campaigns.c.project == project))
    }
    listing = []
    for campaign in counts.keys() | states.keys():
        number, last = counts.get(campaign, (0, None))
        when, state = states.get(campaign, (None, None))
        newest = max((seconds for seconds in (last, when) if seconds is not None), default=0.0)
        listing.append((newest, ListedCampaign(
            name=campaign, title=state.title if state else campaign, runs=number,
            jobs=state.jobs.total if state else None, told=None if when is None else iso_time(when),
            last=None if last is None else iso_time(last),
        )))  # fmt: skip
    listing.sort(key=lambda entry: (-entry[0], entry[1].name))
    return Campaigns(project=name, campaigns=[campaign for _, campaign in listing])


def campaign_state(
    connection: Connection, name: str, campaign: str
) -> tuple[CampaignState | None, Sequence[Any]]:
    """Return the state that a campaign reported, if any, and the rows of its runs in their order.

    Raises HTTPException 404 if there is neither.
    """
    project = project_id(connection, name)
    row = connection.execute(
        sql.select(campaigns).where(campaigns.c.project == project, campaigns.c.name == campaign)
    ).first()
    query = (
        sql.select(*_RUN)
        .where(runs.c.project == project, runs.c.campaign == campaign)
        .order_by(runs.c.begun, runs.c.id)
    )
    rows = connection.execute(query).all()
    if row is None and not rows:
        raise HTTPException(404, f"no campaign '{campaign}', in project {name}")
    state = None if row is None else structures.decode(row.state, CampaignState)
    return state, rows
