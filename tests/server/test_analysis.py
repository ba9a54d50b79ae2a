"""Changes that are planted are found, with their conditions; what does not change shows none."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import sqlalchemy as sql

from rtstone.documents.run import Run
from rtstone.documents.trend import Change, Series
from rtstone.server import analysis, indexing
from rtstone.server import reconcile as reconcile_module
from rtstone.server.analysis import analyse_next
from rtstone.server.background import Background
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.reconcile import rebuild, reconcile
from rtstone.server.schema import SERIES_OF_CHANGE, analyses, changes, series, targets
from rtstone.server.settings import Settings
from rtstone.server.upgrade import make_cache
from rtstone.stats.trend import series as trends
from rtstone.stats.trend.changepoints import fewest_runs
from rtstone.store.layout import RUN
from tests.server.conftest import BEGUN, DAY, Copied, counts


def all_changes(database: Database) -> list[sql.RowMapping]:
    query = (
        sql.select(series.c.bench, changes)
        .join(series, SERIES_OF_CHANGE)
        .order_by(changes.c.begun, series.c.bench, changes.c.metric)
    )
    with database.reading() as connection:
        return list(connection.execute(query).mappings())


def analysed(database: Database, places: Places) -> int:
    reconcile(database, places)
    n = 0
    while analyse_next(database, places):
        n += 1
    return n


def test_a_planted_step_of_a_model_is_found_with_its_condition(
    database: Database, copied: Copied, places: Places
) -> None:
    for n in range(8):
        word = "quiet" if n < 5 else "quiet skew_tick=1"
        scale = 1.0 if n < 5 else 1.5
        copied(f"20261101-{n}", day=n, scale=scale, conditions={"kernel.cmdline": word})
    assert analysed(database, places) == 1
    rows = all_changes(database)
    assert {(row["bench"], row["metric"]) for row in rows} >= {
        ("sched.yield", "p50"), ("sem.post.higher", "p50"), ("dk.periodic", "p50"),
    }  # fmt: skip
    for row in rows:
        assert (row["before_run"], row["at_run"]) == ("20261101-4", "20261101-5")
        assert (row["verdict"], row["begun"]) == ("worse", BEGUN + 5 * DAY)
        assert row["after_value"] == pytest.approx(1.5 * row["before_value"])
        change = msgspec.json.decode(row["change"], type=Change)
        assert change.differences[0].come == ["skew_tick=1"]
    with database.reading() as connection:
        documents = connection.execute(sql.select(analyses.c.document)).scalars().all()
    assert len(documents) == 7  # of three series, one counts missed activations
    for text in documents:
        assert msgspec.json.decode(text, type=Series).runs in (8, 0)


def test_what_does_not_change_shows_none_and_is_not_looked_at_again(
    database: Database, copied: Copied, places: Places
) -> None:
    for n in range(4):
        copied(f"20261101-{n}", day=n)
    assert analysed(database, places) == 1
    assert all_changes(database) == []
    assert analysed(database, places) == 0
    copied("20261101-9", day=9)
    assert analysed(database, places) == 1


def test_a_step_of_a_machine_is_found_beside_its_scatter(
    database: Database, copied: Copied, places: Places
) -> None:
    chance = np.random.default_rng(4)
    for n in range(40):
        level = 1.0 if n < 25 else 1.4
        path = copied(f"20261101-{n:02}", day=n, scale=level * chance.normal(1.0, 0.02))
        machine(path)
    analysed(database, places)
    rows = [row for row in all_changes(database) if row["metric"] == "p50"]
    assert len(rows) == 3
    for row in rows:
        assert row["verdict"] == "worse"
        assert row["size"] == pytest.approx(1.4, rel=0.05)
        assert abs((row["begun"] - BEGUN) / DAY - 25) <= 1


def test_changes_of_a_local_target_stay_announced_when_it_gets_the_name_of_its_machine(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(4)
    for n in range(40):
        level = 1.0 if n < 25 else 1.4
        machine(copied(f"20261101-{n:02}", day=n, scale=level * chance.normal(1.0, 0.02)))
    with monkeypatch.context() as patch:
        patch.setattr(trends, "_placed", lambda run: run.target.name)
        analysed(database, places)
    before = all_changes(database)
    assert before
    with database.writing() as connection:
        assert connection.execute(sql.select(targets.c.name)).scalars().all() == ["local"]
        connection.execute(sql.update(changes).values(notified=7.0))
        make_cache(connection)
    analysed(database, places)
    with database.reading() as connection:
        assert connection.execute(sql.select(targets.c.name)).scalars().all() == ["local (m)"]
    after = all_changes(database)
    same = ("bench", "metric", "at_run", "found")
    assert [[row[n] for n in same] for row in after] == [[row[n] for n in same] for row in before]
    assert {row["notified"] for row in after} == {7.0}
    assert {row["key"] for row in after}.isdisjoint(row["key"] for row in before)


def of_machine(run: Run) -> Run:
    """Return a run of a model as one of a machine, whose runs scatter."""
    agent = msgspec.structs.replace(run.agent, port="linux") if run.agent else None
    clock = msgspec.structs.replace(run.clock, source="tsc") if run.clock else None
    target = msgspec.structs.replace(run.target, name="local", detail={"machine": "m"})
    return msgspec.structs.replace(run, agent=agent, clock=clock, target=target, conditions={})


def machine(path: Path) -> None:
    """Make a stored run of a model one of a machine."""
    file = path / RUN
    measured = of_machine(msgspec.json.decode(file.read_bytes(), type=Run))
    file.unlink()
    file.write_bytes(msgspec.json.encode(measured))


def test_changes_older_than_the_window_stay_and_notices_are_kept(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "WINDOW", 6)
    for n in range(4):
        copied(f"20261101-{n:02}", day=n, scale=1.0 if n < 2 else 2.0)
    analysed(database, places)
    first = all_changes(database)
    assert {row["at_run"] for row in first} == {"20261101-02"}
    with database.writing() as connection:
        connection.execute(sql.update(changes).values(notified=7.0))
    for n in range(4, 14):
        copied(f"20261101-{n:02}", day=n, scale=2.0 if n < 12 else 1.0)
    analysed(database, places)
    rows = all_changes(database)
    assert {row["at_run"] for row in rows} == {"20261101-02", "20261101-12"}
    assert {row["notified"] for row in rows if row["at_run"] == "20261101-02"} == {7.0}
    assert {row["verdict"] for row in rows if row["at_run"] == "20261101-12"} == {"better"}
    copied("20261101-20", day=20, scale=1.0)
    analysed(database, places)
    keys = [(row["key"], row["metric"], row["at_run"], row["notified"]) for row in rows]
    again = all_changes(database)
    assert [(o["key"], o["metric"], o["at_run"], o["notified"]) for o in again] == keys


def test_of_large_runs_fewer_are_analysed_and_earlier_changes_stay(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [copied(f"20261101-{n:02}", day=n, scale=1.0 if n < 2 else 2.0) for n in range(4)]
    analysed(database, places)
    assert {row["at_run"] for row in all_changes(database)} == {"20261101-02"}
    monkeypatch.setattr(analysis, "BYTES", 6 * (paths[0] / RUN).stat().st_size + 1000)
    for n in range(4, 14):
        copied(f"20261101-{n:02}", day=n, scale=2.0 if n < 12 else 1.0)
    analysed(database, places)
    with database.reading() as connection:
        assert max(connection.execute(sql.select(analyses.c.runs)).scalars()) == 6
    assert {row["at_run"] for row in all_changes(database)} == {"20261101-02", "20261101-12"}
    monkeypatch.setattr(analysis, "BYTES", 1)  # the newest is analysed however large it is
    copied("20261101-14", day=14)
    analysed(database, places)
    with database.reading() as connection:
        assert max(connection.execute(sql.select(analyses.c.runs)).scalars()) == 1


def test_a_change_stays_while_the_window_passes_over_it(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "WINDOW", 32)
    chance, numbers = np.random.default_rng(4), iter(range(100))

    def come(runs: int, level: float) -> set[tuple[str, str]]:
        for number in islice(numbers, runs):
            scale = level * chance.normal(1.0, 0.02)
            machine(copied(f"20261101-{number:02}", day=number, scale=scale))
        analysed(database, places)
        return {(row["bench"], row["at_run"]) for row in all_changes(database)
                if row["metric"] == "p50"}  # fmt: skip

    come(18, 1.0)
    first = come(14, 1.5)
    assert len(first) == 3
    with database.writing() as connection:
        connection.execute(sql.update(changes).values(notified=7.0))
    for _ in range(5):
        assert come(5, 1.5) == first
    assert {row["notified"] for row in all_changes(database)} == {7.0}


def slower_from_the_sixth(copied: Copied) -> None:
    """Store eight runs, one a day, of which the last three are slower."""
    for n in range(8):
        copied(f"20261101-{n}", day=n, scale=1.0 if n < 5 else 1.5)


def test_a_change_that_is_found_a_run_further_is_not_told_again(
    database: Database, copied: Copied, places: Places
) -> None:
    slower_from_the_sixth(copied)
    analysed(database, places)
    with database.writing() as connection:  # as if fewer runs had shown it
        connection.execute(sql.update(changes).values(
            at_run="20261101-4", begun=BEGUN + 4 * DAY, found=3.0, notified=7.0))  # fmt: skip
    copied("20261101-8", day=8, scale=1.5)
    analysed(database, places)
    rows = all_changes(database)
    assert {row["at_run"] for row in rows} == {"20261101-5"}
    assert {(row["found"], row["notified"]) for row in rows} == {(3.0, 7.0)}


def test_a_rebuilt_index_tells_no_change_again(
    database: Database, copied: Copied, places: Places
) -> None:
    slower_from_the_sixth(copied)
    analysed(database, places)
    with database.writing() as connection:
        connection.execute(sql.update(changes).values(notified=7.0))
    before = [(row["at_run"], row["metric"], row["bench"]) for row in all_changes(database)]
    rebuild(database, places)
    analysed(database, places)
    rows = all_changes(database)
    assert [(row["at_run"], row["metric"], row["bench"]) for row in rows] == before
    assert {row["notified"] for row in rows} == {7.0}


def test_a_part_of_an_index_is_not_analysed(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while it is made anew: changes that it does not show would be announced once more."""
    slower_from_the_sixth(copied)
    analysed(database, places)
    with database.writing() as connection:
        connection.execute(sql.update(changes).values(notified=7.0))
        make_cache(connection)
    batches = iter(range(2))
    monkeypatch.setattr(reconcile_module, "_AT_ONCE", 2)
    indexed = indexing.add

    def without_room(*arguments: Any) -> object:
        if next(batches, None) is None:
            raise OSError("no room")
        return indexed(*arguments)

    monkeypatch.setattr(reconcile_module, "add", without_room)
    for _ in range(2):
        background = Background(database, places, Settings(places.store))
        background.start()
        background.settle()
        background.stop()
        with database.reading() as connection:
            assert set(connection.execute(sql.select(changes.c.notified)).scalars()) == {7.0}
        monkeypatch.setattr(reconcile_module, "add", indexed)
    assert {row["at_run"] for row in all_changes(database)} == {"20261101-5"}


def test_two_servers_never_analyse_the_same_target(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("20261101-0")
    reconcile(database, places)
    first = analysis._claimed(database)
    assert first is not None
    assert analysis._claimed(database) is None
    with database.writing() as connection:
        connection.execute(sql.update(targets).values(claimed=0.0))  # that server died
    assert analysis._claimed(database) == first


def test_a_run_that_comes_meanwhile_is_not_forgotten(
    database: Database, copied: Copied, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied("20261101-0")
    reconcile(database, places)
    read = analysis._read

    def slowly(*arguments: object) -> object:
        result = read(*arguments)  # type: ignore[arg-type]
        copied("20261101-1", day=1)
        reconcile(database, places)
        return result

    monkeypatch.setattr(analysis, "_read", slowly)
    assert analyse_next(database, places)
    monkeypatch.undo()
    assert analyse_next(database, places)
    assert not analyse_next(database, places)
    assert counts(database)["analyses"] == 7


def test_all_series_of_a_target_share_the_level(
    database: Database, copied: Copied, places: Places
) -> None:
    """Three benches, of which one counts missed activations: seven series."""
    machine(copied("20261101-0"))
    analysed(database, places)
    with database.reading() as connection:
        documents = connection.execute(sql.select(analyses.c.document)).scalars().all()
    least = {msgspec.json.decode(text, type=Series).least for text in documents}
    assert least == {fewest_runs(0.05 / 7)} == {11}
