"""What the index says of runs, and that it agrees with their directories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing

import msgspec
import pytest
import sqlalchemy as sql

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.server import reconcile as reconcile_module
from rtstone.server.database import Database
from rtstone.server.projects import MAIN, Places
from rtstone.server.reconcile import Reconciler, rebuild, reconcile, verify
from rtstone.server.schema import points, runs, series, tags, targets, tokens
from rtstone.store.layout import LOG, PLAN, RUN
from tests.server.conftest import BEGUN, DAY, Copied, Template, at_once, counts, index


def test_a_run_is_indexed_with_what_it_says(
    database: Database, copied: Copied, template: Template
) -> None:
    path = copied("20261101-a", scale=2.0, name="tuned", conditions={"kernel.release": "6.1-rt"})
    number = index(database, MAIN, path, arrived=5.0)
    with database.reading() as connection:
        row = connection.execute(sql.select(runs)).mappings().one()
        indexed = {(t.kind, t.value) for t in connection.execute(sql.select(tags))}
        rows = connection.execute(
            sql.select(series.c.bench, points).join(series, series.c.id == points.c.series)
        ).mappings()
        values = {(point["bench"], point["place"]): point for point in rows}
    assert row["id"] == number
    assert (row["run_id"], row["begun"], row["arrived"]) == ("20261101-a", BEGUN, 5.0)
    assert (row["kernel"], row["label"], row["campaign"]) == ("6.1-rt", "tuned", None)
    assert (row["ok"], row["results"]) == (3, 3)
    assert row["verdict"].startswith("Fit for a period of 1 ms, in the model")
    assert row["grade"] == "info"  # so far: of 20 activations
    assert {value for kind, value in indexed if kind == "bench"} == {
        "sched.yield", "sem.post.higher", "dk.periodic",
    }  # fmt: skip
    assert {
        ("load", "none"),
        ("target", "sim"),
        ("kernel", "6.1-rt"),
        ("label", "tuned"),
    } <= indexed
    assert len(values) == 3
    for place, result in enumerate(template.run.results):
        point = values[result.bench, place]
        assert point["n"] == result.n
        assert point["p50"] == pytest.approx(2 * (result.p50 or 0.0))
        assert point["missed"] == result.missed


def test_the_same_run_is_indexed_once_and_another_content_again(
    database: Database, copied: Copied
) -> None:
    path = copied("20261101-a")
    assert index(database, MAIN, path, arrived=1.0) is not None
    before = counts(database)
    assert index(database, MAIN, path, arrived=2.0) is None
    assert counts(database) == before
    with (path / "wire.log").open("rb") as log:
        text = log.read()
    (path / "wire.log").unlink()
    (path / "wire.log").write_bytes(text + b"further\n")
    assert index(database, MAIN, path, arrived=3.0) is not None
    assert counts(database) == before


def test_equal_cases_share_a_series_and_targets_do_not(database: Database, copied: Copied) -> None:
    for n in range(3):
        index(database, MAIN, copied(f"20261101-a{n}", day=n), arrived=n)
    assert counts(database)["series"] == 3
    index(database, MAIN, copied("20261101-b", target="another"), arrived=9)
    index(database, "lab", copied("20261101-a0", project="lab"), arrived=9)
    assert counts(database)["series"] == 6  # a model is known by its name, not by what it is called
    with database.reading() as connection:
        rows = connection.execute(sql.select(targets).order_by(targets.c.runs)).mappings().all()
    assert [row["runs"] for row in rows] == [1, 4]
    assert rows[1]["usual_gap"] == pytest.approx(DAY)
    assert rows[1]["last_begun"] == BEGUN + 2 * DAY
    assert all(row["dirty"] for row in rows)


def test_many_servers_index_one_run_once(
    database: Database, copied: Copied, places: Places
) -> None:
    paths = [copied(f"20261101-{n}", day=n) for n in range(6)]

    def work() -> None:
        for path in paths:
            index(database, MAIN, path, arrived=1.0)

    at_once(work, 3)
    assert (counts(database)["runs"], counts(database)["points"]) == (6, 18)
    assert verify(database, places) == []


def test_what_is_no_run_is_refused(database: Database, places: Places) -> None:
    path = places.runs(MAIN) / "20261101-a"
    path.mkdir(parents=True)
    (path / RUN).write_text('{"schema": "rtstone.run/1"')
    with pytest.raises(UsageError, match=r"run\.json"):
        index(database, MAIN, path, arrived=1.0)
    assert counts(database)["runs"] == 0


# ---- agreement ----------------------------------------------------------------------------------


def test_runs_that_come_and_go_are_noticed(
    database: Database, copied: Copied, places: Places
) -> None:
    for n in range(3):
        copied(f"20261101-{n}")
    copied("20261101-x", project="lab")
    reconciler = Reconciler(database, places)
    assert reconciler.run() == (4, 0)
    assert reconciler.run() == (0, 0)
    shutil.rmtree(places.run(MAIN, "20261101-1"))
    copied("20261101-4")
    assert reconciler.run() == (1, 1)
    assert verify(database, places) == []


def test_a_run_that_goes_on_is_taken_up_when_it_has_ended(
    database: Database, copied: Copied, places: Places
) -> None:
    path = copied("20261101-0")
    text = (path / RUN).read_bytes()
    (path / RUN).unlink()
    reconciler = Reconciler(database, places)
    assert reconciler.run() == (0, 0)
    (path / RUN).write_bytes(text)
    assert reconciler.run() == (1, 0)


def test_a_run_that_is_being_copied_is_taken_up_as_it_is_at_the_end(
    database: Database, copied: Copied, places: Places
) -> None:
    path = copied("20261101-0")
    document, log = ((path / name).read_bytes() for name in (RUN, LOG))
    (path / LOG).unlink()
    (path / RUN).write_bytes(document[:1000])
    reconciler = Reconciler(database, places)
    assert reconciler.run() == (0, 0)
    with (path / RUN).open("ab") as file:  # neither directory has another time by that
        file.write(document[1000:])
    assert reconciler.run() == (1, 0)
    assert reconciler.run() == (0, 0)
    (path / LOG).write_bytes(log)
    reconciler.run()
    assert verify(database, places) == []


def test_a_run_that_comes_within_a_tick_of_the_clock_is_noticed(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("20261101-0")
    reconciler, folder = Reconciler(database, places), places.runs(MAIN)
    status = folder.stat()
    assert reconciler.run() == (1, 0)
    copied("20261101-1")
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reconciler.run() == (1, 0)


def test_runs_of_a_project_that_is_gone_are_told_and_dropped(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("20261101-0")
    copied("20261101-1", project="lab")
    reconcile(database, places)
    shutil.rmtree(places.home("lab"))
    assert [line.partition(":")[0] for line in verify(database, places)] == ["lab/20261101-1"]
    assert reconcile(database, places) == (0, 1)
    assert verify(database, places) == []


def test_a_rebuilt_index_has_what_series_say_now(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("20261101-0")
    reconcile(database, places)
    with database.writing() as connection:
        before = connection.execute(sql.select(series)).all()
        connection.execute(sql.update(series).values(label="as it was once", unit="s"))
        row = {**before[0]._mapping, "id": 99, "key": "0" * 16}
        connection.execute(sql.insert(series).values(**row))
    rebuild(database, places)
    with database.reading() as connection:
        assert connection.execute(sql.select(series)).all() == before


Fault = Callable[[Database, Places], None]


def _unindexed(database: Database, places: Places) -> None:
    with database.writing() as connection:
        connection.execute(sql.delete(runs).where(runs.c.run_id == "20261101-1"))


def _gone(database: Database, places: Places) -> None:
    shutil.rmtree(places.run(MAIN, "20261101-1"))


def _other_point(database: Database, places: Places) -> None:
    with database.writing() as connection:
        connection.execute(sql.update(points).values(p99=1.0))


def _other_tag(database: Database, places: Places) -> None:
    with database.writing() as connection:
        connection.execute(sql.update(tags).where(tags.c.kind == "load").values(value="heavy"))


def _other_verdict(database: Database, places: Places) -> None:
    with database.writing() as connection:
        connection.execute(sql.update(runs).values(verdict="Fit."))


def _other_plan(database: Database, places: Places) -> None:
    path = places.run(MAIN, "20261101-1") / PLAN
    path.write_bytes(path.read_bytes().replace(b'"keep_idle":', b'"keep_idle" :').replace(
        b"false", b"true", 1))  # fmt: skip


FAULTS = [_unindexed, _gone, _other_point, _other_tag, _other_verdict, _other_plan]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_disagreement_is_told_and_mended(
    database: Database, copied: Copied, places: Places, fault: Fault
) -> None:
    for n in range(3):
        copied(f"20261101-{n}")
    reconcile(database, places)
    assert verify(database, places) == []
    fault(database, places)
    assert any("main/20261101-1: " in line for line in verify(database, places))
    with database.writing() as connection:
        connection.execute(sql.insert(tokens).values(
            id="a", hash="b", name="c", scope="read", created=1.0))  # fmt: skip
    rebuild(database, places)
    assert verify(database, places) == []
    assert counts(database)["tokens"] == 1


def test_many_runs_are_read_by_several_processes(
    copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile_module, "_MANY", 4)
    monkeypatch.setattr(reconcile_module, "_AT_ONCE", 2)
    for n in range(5):
        copied(f"20261101-{n}", scale=1.0 + n)
    (places.run(MAIN, "20261101-1") / RUN).write_bytes(b"{")
    with closing(Database(None, places.store)) as database:
        assert reconcile(database, places) == (4, 0)
        _other_point(database, places)
        faults = [line.partition(":")[0] for line in verify(database, places)]
        assert faults == [f"main/20261101-{n}" for n in range(5)]


def test_postgresql_knows_its_tables_after_many_runs(
    copied: Copied, places: Places, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plans a search by their statistics, which it gathers only now and then."""
    monkeypatch.setattr(reconcile_module, "_AT_ONCE", 2)
    for n in range(3):
        copied(f"20261101-{n}")
    query = sql.text("SELECT reltuples FROM pg_class WHERE relname = 'runs'")  # -1: unknown
    with closing(Database(postgres, places.store)) as database:
        reconcile(database, places)
        with database.reading() as connection:
            assert connection.execute(query).scalar() == 3


def test_a_look_that_is_over_goes_on_with_the_next(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile_module, "_AT_ONCE", 2)
    for n in range(5):
        copied(f"20261101-{n}")
    os.utime(places.runs(MAIN), (1.0, 1.0))
    reconciler = Reconciler(database, places, over=lambda: True)
    assert [reconciler.run().added for _ in range(4)] == [2, 2, 1, 0]


def test_damaged_runs_keep_no_others_out(
    database: Database, copied: Copied, places: Places
) -> None:
    for n in range(3):
        copied(f"20261101-{n}")
    (places.run(MAIN, "20261101-1") / RUN).write_bytes(b"\xff" * 100)
    (places.runs(MAIN) / "not a run").mkdir()
    (places.runs(MAIN) / "pipe").symlink_to("/dev/zero")
    assert reconcile(database, places) == (2, 0)
    assert [line.partition(":")[0] for line in verify(database, places)] == ["main/20261101-1"]


def test_a_run_without_results_is_indexed(
    database: Database, copied: Copied, places: Places
) -> None:
    path = copied("20261101-0")
    run = msgspec.json.decode((path / RUN).read_bytes(), type=Run)
    empty = msgspec.structs.replace(run, results=[], status="incomplete", reason="no agent")
    (path / RUN).write_bytes(msgspec.json.encode(empty))
    assert reconcile(database, places) == (1, 0)
    with database.reading() as connection:
        row = connection.execute(sql.select(runs)).mappings().one()
    assert (row["grade"], row["verdict"]) == ("info", "no agent")
