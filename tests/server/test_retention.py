"""Runs go by rule or on request, with a record that outlives the index."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from time import time

import pytest
import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.server.analysis import analyse_next
from rtstone.server.database import Database
from rtstone.server.projects import DELETED, MAIN, Places
from rtstone.server.reconcile import rebuild, reconcile, verify
from rtstone.server.retention import apply, remove
from rtstone.server.schema import deletions, runs, targets
from rtstone.server.settings_file import Retention
from tests.server.conftest import BEGUN, DAY, Copied, counts

AGE = (time() - BEGUN) / DAY  # days since the first of November


def stored_runs(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(sql.select(runs.c.run_id)).scalars())


def test_a_run_goes_with_all_its_rows_and_leaves_a_record(
    database: Database, copied: Copied, places: Places
) -> None:
    path, other = copied("20261101-a"), copied("20261101-b", day=1)
    reconcile(database, places)
    before = counts(database)
    remove(database, places, MAIN, "20261101-a", by="ann", why="wrong board")
    assert not path.exists()
    assert (other / "run.json").exists()
    after = counts(database)
    assert (before["runs"], after["runs"]) == (2, 1)
    assert 2 * after["points"] == before["points"]
    assert 2 * after["tags"] == before["tags"]
    line = json.loads((places.store / DELETED).read_text())
    assert (line["run_id"], line["by"], line["why"]) == ("20261101-a", "ann", "wrong board")
    rebuild(database, places)
    with database.reading() as connection:
        row = connection.execute(sql.select(deletions)).mappings().one()
        target = connection.execute(sql.select(targets)).mappings().one()
    assert (row["run_id"], row["fingerprint"]) == ("20261101-a", line["fingerprint"])
    assert target["runs"] == 1
    assert verify(database, places) == []


def test_the_first_rule_counts_and_named_and_newest_runs_stay(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("old-named", day=AGE - 40, name="release")
    for n in range(5):
        copied(f"old-{n}", day=AGE - 39 + n)
    copied("new", day=AGE - 1)
    for n in range(3):
        copied(f"lab-{n}", day=AGE - 100 + n, project="lab")
    reconcile(database, places)
    rules = [Retention("main", 30 * DAY, 3, "older than 30 days"), Retention("*", 200 * DAY, 1)]
    assert apply(database, places, rules) == [f"main/old-{n}" for n in range(3)]
    assert stored_runs(database) == {
        "old-named",
        "old-3",
        "old-4",
        "new",
        "lab-0",
        "lab-1",
        "lab-2",
    }
    assert apply(database, places, rules) == []
    assert apply(database, places, [Retention("*", 50 * DAY, 1)]) == ["lab/lab-0", "lab/lab-1"]
    with database.reading() as connection:
        reasons = set(connection.execute(sql.select(deletions.c.why)).scalars())
    assert "older than 30 days" in reasons


def test_what_cannot_be_removed_stays_whole(
    database: Database, copied: Copied, places: Places
) -> None:
    path = copied("20261101-a")
    reconcile(database, places)
    with (path / "wire.log").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="still goes on"):
            remove(database, places, MAIN, "20261101-a", by="ann", why="")
    assert (path / "run.json").exists()
    assert verify(database, places) == []
    reconcile(database, places)
    assert counts(database)["deletions"] == 0
    with pytest.raises(UsageError, match="no run"):
        remove(database, places, MAIN, "20261101-z", by="ann", why="")


def test_a_run_that_stays_keeps_no_others(
    database: Database, copied: Copied, places: Places
) -> None:
    paths = [copied(f"old-{n}", day=AGE - 60 + n) for n in range(4)]
    log = paths[1] / "wire.log"  # those of copies are one file, which has one lock
    text = log.read_bytes()
    log.unlink()
    log.write_bytes(text)
    reconcile(database, places)
    with log.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        gone = apply(database, places, [Retention("main", 30 * DAY, 1)])
    assert gone == ["main/old-0", "main/old-2"]
    assert stored_runs(database) == {"old-1", "old-3"}


def test_with_the_last_run_of_a_target_its_series_go(
    database: Database, copied: Copied, places: Places
) -> None:
    copied("20261101-a")
    reconcile(database, places)
    analyse_next(database, places)
    assert counts(database)["analyses"] == 7  # "missed" of the one series that counts them
    remove(database, places, MAIN, "20261101-a", by="ann", why="")
    after = counts(database)
    assert {after[name] for name in ("targets", "series", "analyses", "points", "tags")} == {0}


def test_a_record_is_never_written_through_a_link(
    database: Database, copied: Copied, places: Places, tmp_path: Path
) -> None:
    copied("20261101-a")
    reconcile(database, places)
    (places.store / DELETED).symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match="cannot note"):
        remove(database, places, MAIN, "20261101-a", by="ann", why="")
    assert not (tmp_path / "victim").exists()
    assert verify(database, places) == []
