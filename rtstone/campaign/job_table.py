"""The job table: an SQLite file beside the runs that says which job is whose.

Whether a job is done only the run directories say: its run is there as a whole, or not at all.  The
table adds what they cannot: order, leases, attempts, and why a job failed.  It can be made anew at
any time from a campaign and the runs.

A lease lasts until its time, or until its runner has ended, which another one on this machine sees
at once (``owners.py``).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from rtstone import structures
from rtstone.campaign.jobs import CORE, Job
from rtstone.campaign.matrix import Cell
from rtstone.campaign.owners import Owner, is_dead
from rtstone.errors import StoreError
from rtstone.folders import results
from rtstone.store.layout import runs

State = Literal["planned", "leased", "done", "failed", "unsupported"]
LEASE_S = 60.0  # after which the job of a runner that nobody can see any more is another's
BUSY_S = 30.0  # time limit for another process to end its write
_VERSION = 1
_MAKE = f"""
DROP TABLE IF EXISTS jobs;
DROP TABLE IF EXISTS facts;
CREATE TABLE jobs (
    key TEXT PRIMARY KEY, rank INTEGER, target TEXT, cell TEXT, lane TEXT, expected REAL, job BLOB,
    state TEXT, until REAL, owner TEXT, attempts INTEGER DEFAULT 0, reason TEXT, took_s REAL,
    ended REAL
) WITHOUT ROWID;
CREATE INDEX next ON jobs (target, state, rank);
CREATE INDEX lanes ON jobs (lane, state);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
PRAGMA user_version={_VERSION};
"""


class Row(NamedTuple):
    """A job of the present plan, with its outcome; jobs of a cell share its object."""

    key: str
    rank: int
    cell: Cell
    lane: str
    expected_s: float | None
    state: State
    reason: str | None


def folder(name: str) -> Path:
    """Return the directory of a campaign's table."""
    return results() / "campaigns" / name


def incomplete_run(name: str, run_id: str) -> Path:
    """Return the directory of the incomplete run of a failed job."""
    return folder(name) / "failed" / run_id


class Table:
    """The table of a campaign; ``part``: which of its tables, for runners that share none.

    All methods raise StoreError if it cannot be read or written.
    """

    def __init__(self, name: str, part: str = "jobs", *, fresh: bool = True) -> None:
        """Open the table.  ``fresh``: make it if it is not there, else raise StoreError."""
        self.name = name
        self.path = folder(name) / f"{part}.db"
        self._owner: Owner | None = None
        try:
            if fresh:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = self._opened(fresh)
        except (OSError, sqlite3.Error) as error:
            raise self._lost(error) from error

    @property
    def owner(self) -> str:
        """Return the name of this runner, nothing unless it is registered."""
        return self._owner.name if self._owner else ""

    @staticmethod
    def exists(name: str) -> bool:
        """Return whether a campaign has a table."""
        return (folder(name) / "jobs.db").exists()

    def _opened(self, fresh: bool) -> sqlite3.Connection:
        try:
            return self._connected(fresh)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or not fresh:
                raise
            for tail in ("", "-wal", "-shm"):  # damaged: what it held is in the run directories
                self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
            return self._connected(fresh)

    def _connected(self, fresh: bool) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")  # a lost commit is a job done twice
            if not self._sound(database):
                if not fresh:
                    raise sqlite3.DatabaseError("no table of this version; `campaign run` makes it")
                database.execute("BEGIN EXCLUSIVE")
                if not self._sound(database):  # another one has made it meanwhile
                    for statement in _MAKE.split(";"):
                        database.execute(statement)
                database.execute("COMMIT")
        except BaseException:
            database.close()
            raise
        return database

    @staticmethod
    def _sound(database: sqlite3.Connection) -> bool:
        """Return whether the tables are of this version."""
        return bool(database.execute("PRAGMA user_version").fetchone() == (_VERSION,))

    def _lost(self, error: Exception) -> StoreError:
        words = getattr(error, "strerror", None) or str(error)
        return StoreError(
            f"the table of jobs cannot be used, {self.path}: {words}; make room there, or see to "
            "its rights: nothing that was measured is lost"
        )

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Change the table as a whole, or not at all."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._lost(error) from error

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._lost(error) from error

    def close(self) -> None:
        """Close it, and end the leases of this runner."""
        if self._owner:
            with suppress(StoreError), self._changing() as database:
                database.execute(
                    "UPDATE jobs SET state='planned', owner=NULL WHERE state='leased' AND owner=?",
                    (self.owner,),
                )
            self._owner.close()
        with suppress(sqlite3.Error):
            self._database.close()

    # ---- plans ------------------------------------------------------------------------------

    def adopt(self, jobs: Iterable[tuple[int, Job]], absent: Collection[str] = ()) -> None:
        """Take over the jobs of a plan with their ranks; known ones keep what they have.

        ``absent``: targets that did not answer, whose jobs of the plan before stay in it.
        """
        with self._changing() as database:
            targets = [name for (name,) in database.execute("SELECT DISTINCT target FROM jobs")]
            database.executemany(
                "UPDATE jobs SET rank=NULL WHERE rank IS NOT NULL AND target=?",
                [(name,) for name in targets if name not in absent],
            )
            database.executemany(
                "INSERT INTO jobs (key, rank, target, cell, lane, expected, job, state, reason) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "rank=excluded.rank, target=excluded.target, cell=excluded.cell, "
                "lane=excluded.lane, expected=excluded.expected, job=excluded.job",
                (
                    (
                        job.key, rank, job.cell.target, msgspec.json.encode(job.cell).decode(),
                        job.lane, job.expected_s, msgspec.json.encode(job),
                        "unsupported" if job.lacks else "planned", job.lacks,
                    )
                    for rank, job in jobs
                ),
            )  # fmt: skip

    def fact(self, name: str) -> str | None:
        """Return the fact noted under a name, None if there is none."""
        rows = self._rows("SELECT value FROM facts WHERE name=?", name)
        return rows[0][0] if rows else None

    def note(self, name: str, value: str) -> None:
        """Note a fact under a name."""
        with self._changing() as database:
            database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def settle(self) -> None:
        """Bring the states in line with the run directories: what is there is done."""
        keys = arrived(self.name)
        rows = self._rows("SELECT key, state FROM jobs")
        done = [(key,) for key, state in rows if state != "done" and key in keys]
        gone = [(key,) for key, state in rows if state == "done" and key not in keys]
        if done or gone:
            with self._changing() as database:
                database.executemany(
                    "UPDATE jobs SET state='done', reason=NULL, owner=NULL WHERE key=?", done
                )
                database.executemany(
                    "UPDATE jobs SET state='planned', attempts=0 WHERE key=? AND state='done'", gone
                )

    def rows(self) -> list[Row]:
        """Return the jobs of the present plan, in order."""
        cells: dict[str, Cell] = {}
        decode = structures.decoder(Cell).decode
        rows = []
        for key, rank, text, *rest in self._rows(
            "SELECT key, rank, cell, lane, expected, state, reason FROM jobs "
            "WHERE rank IS NOT NULL ORDER BY rank"
        ):
            if (cell := cells.get(text)) is None:
                cell = cells[text] = decode(text)
            rows.append(Row(key, rank, cell, *rest))
        return rows

    def earlier(self) -> int:
        """Return how many jobs are of earlier plans only."""
        return int(self._rows("SELECT count(*) FROM jobs WHERE rank IS NULL")[0][0])

    def targets(self) -> list[str]:
        """Return the targets that have jobs in the present plan."""
        query = "SELECT DISTINCT target FROM jobs WHERE rank IS NOT NULL"
        return [name for (name,) in self._rows(query)]

    # ---- leases -----------------------------------------------------------------------------

    def register(self) -> None:
        """Become a runner, whose end others see, and end the leases of runners that are gone."""
        try:
            self._owner = Owner(self.path.parent)
        except OSError as error:
            raise self._lost(error) from error
        self.reclaim()

    def reclaim(self) -> int:
        """End the leases of runners that are gone, or whose time is over; return how many."""
        owners = [
            name for (name,) in self._rows("SELECT DISTINCT owner FROM jobs WHERE state='leased'")
        ]
        dead = [
            (name,) for name in owners if name != self.owner and is_dead(self.path.parent, name)
        ]
        with self._changing() as database:
            again = "UPDATE jobs SET state='planned', owner=NULL WHERE state='leased' AND "
            count = database.executemany(f"{again} owner=?", dead).rowcount if dead else 0
            late = f"{again} until < ? AND owner != ?"
            count += database.execute(late, (time.time(), self.owner)).rowcount
        if self._owner:
            self._owner.sweep()
        return count

    def lease(self, target: str) -> Job | None:
        """Lease the next job of a target, None if there is none that can run now.

        A machine that is not shared by the CPU has one job at a time, whoever runs it.
        """
        query = (
            "SELECT key, job, lane FROM jobs WHERE target=? AND state='planned' "
            "AND rank IS NOT NULL ORDER BY rank LIMIT 1"
        )
        if not self._rows(query, target):  # without a write
            return None
        with self._changing() as database:
            row = database.execute(query, (target,)).fetchone()
            if row is None:
                return None
            key, text, lane = row
            taken = "SELECT 1 FROM jobs WHERE lane=? AND state='leased' LIMIT 1"
            if lane != CORE and database.execute(taken, (lane,)).fetchone():
                return None
            database.execute(
                "UPDATE jobs SET state='leased', owner=?, until=?, attempts=attempts+1 WHERE key=?",
                (self.owner, time.time() + LEASE_S, key),
            )
        return structures.decode(text, Job)

    def first_rank(self, target: str) -> tuple[int, str] | None:
        """Return rank and lane of the next job of a target."""
        rows = self._rows(
            "SELECT rank, lane FROM jobs WHERE target=? AND state='planned' AND rank IS NOT NULL "
            "ORDER BY rank LIMIT 1", target,
        )  # fmt: skip
        return rows[0] if rows else None

    def renew(self) -> None:
        """Renew the leases of this runner."""
        with self._changing() as database:
            database.execute(
                "UPDATE jobs SET until=? WHERE state='leased' AND owner=?",
                (time.time() + LEASE_S, self.owner),
            )

    def left(self) -> Counter[str]:
        """Return how many jobs of the present plan are in each state."""
        return Counter(dict(
            self._rows("SELECT state, count(*) FROM jobs WHERE rank IS NOT NULL GROUP BY state")
        ))  # fmt: skip

    # ---- ends -------------------------------------------------------------------------------

    def done(self, key: str, took_s: float | None, note: str | None = None) -> None:
        """Note that the run of a job is there; ``note``: a remark on it."""
        self._end(key, "done", note, took_s)

    def failed(self, key: str, reason: str, took_s: float | None = None) -> None:
        """Note that a job is not to be tried again, and why."""
        self._end(key, "failed", reason, took_s)

    def again(self, key: str, reason: str | None, *, counts: bool) -> None:
        """Give a job back, to be tried again; ``counts``: whether this was an attempt."""
        with self._changing() as database:
            database.execute(
                "UPDATE jobs SET state='planned', owner=NULL, reason=?, attempts=attempts-? "
                "WHERE key=? AND state='leased' AND owner=?",
                (reason, 0 if counts else 1, key, self.owner),
            )

    def _end(self, key: str, state: State, reason: str | None, took_s: float | None) -> None:
        with self._changing() as database:
            database.execute(
                "UPDATE jobs SET state=?, owner=NULL, reason=?, took_s=?, ended=? WHERE key=? "
                "AND state != 'done'",
                (state, reason, took_s, time.time(), key),
            )

    def attempts(self, key: str) -> int:
        """Return how often a job was tried."""
        return int(self._rows("SELECT attempts FROM jobs WHERE key=?", key)[0][0])

    def give_up(self, target: str, reason: str) -> int:
        """Fail all jobs that a target still has; return how many."""
        with self._changing() as database:
            return database.execute(
                "UPDATE jobs SET state='failed', reason=?, ended=? WHERE target=? "
                "AND state='planned' AND rank IS NOT NULL",
                (reason, time.time(), target),
            ).rowcount

    def retry(self) -> int:
        """Plan all failed jobs again; return how many."""
        with self._changing() as database:
            return database.execute(
                "UPDATE jobs SET state='planned', reason=NULL, attempts=0 "
                "WHERE state='failed' AND rank IS NOT NULL"
            ).rowcount


def arrived(campaign: str) -> set[str]:
    """Return the keys of a campaign's runs that are in the store."""
    start = f"{campaign}."
    try:
        with os.scandir(runs()) as directory:
            names = [entry.name for entry in directory]
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise StoreError(f"cannot read the runs, {runs()}: {error.strerror}") from error
    return {name.removeprefix(start) for name in names if name.startswith(start)}
