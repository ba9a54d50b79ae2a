"""Carry out a campaign: lease jobs, have an engine do them, store their runs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.campaign.engines import Carried, Engine, drop, drop_left
from rtstone.campaign.job_table import LEASE_S, Table, incomplete_run
from rtstone.campaign.jobs import CORE, WHOLE, Job
from rtstone.campaign.work import Outcome
from rtstone.errors import Interrupted, StoreError
from rtstone.interrupt import Interrupt
from rtstone.store.index import arrivals
from rtstone.store.intake import is_whole, refusal, take_in
from rtstone.store.layout import runs

ATTEMPTS = 3  # of a job, after which it has failed
RESTS_S = (5.0, 20.0, 60.0, 120.0)  # of a target that failed, once after the other; then it is gone
GIVEN_UP = "target given up"  # begins the reason of its jobs
POLL_S = 0.1  # interval in which an interrupt is noticed
RECLAIM_S = 2.0  # interval of looking for jobs of runners that are gone
RENEW_S = LEASE_S / 4
PATIENCE_S = 30.0  # for workers of a cluster to come


class Limits(NamedTuple):
    """When to begin no further job: after so many s, and so many jobs; None: no limit."""

    seconds: float | None = None
    jobs: int | None = None


class Event(NamedTuple):
    """What happened to a job, for a listener; ``state``: as in the table, or "again"."""

    job: Job
    state: str
    reason: str | None
    took_s: float


class Ended(NamedTuple):
    """How a campaign ended: what was done now, and why no more was begun, None if all was."""

    begun: int
    early: str | None


Listener = Callable[[Event], None]


class _Trouble(NamedTuple):
    """How often a target failed in succession, and until when it is left alone."""

    times: int = 0
    until: float = 0.0


class Runner:
    """Carries out the jobs of a table.  Several may do so at once."""

    def __init__(
        self, table: Table, engine: Engine, interrupt: Interrupt, listener: Listener
    ) -> None:
        self._table, self._engine = table, engine
        self._interrupt, self._listener = interrupt, listener
        self._flying: dict[Future[Carried], Job] = {}
        self._trouble: dict[str, _Trouble] = {}
        self._targets = table.targets()
        self._arrival = arrivals()
        self._begun, self._stopped = 0, False
        self._renewed = self._reclaimed = time.monotonic()
        self._full: StoreError | None = None
        self._early: str | None = None
        self._able = time.monotonic()  # when the engine last could begin something
        drop_left(table.name)

    def run(self, limits: Limits) -> Ended:
        """Carry out jobs until none is left that can be.  Raises StoreError, Interrupted."""
        end = None if limits.seconds is None else time.monotonic() + limits.seconds
        try:
            while self._goes_on(limits, end):
                if not self._flying:
                    time.sleep(POLL_S)
                done, _ = wait(self._flying, POLL_S, FIRST_COMPLETED)
                for future in done:
                    self._ended(self._flying.pop(future), future)
                now = time.monotonic()
                if self._flying and now - self._renewed > RENEW_S:
                    self._renewed = now
                    self._table.renew()
                if now - self._reclaimed > RECLAIM_S:
                    self._reclaimed = now
                    self._table.reclaim()
        finally:
            self._engine.close()
            for future, job in self._flying.items():
                if future.done() and not future.cancelled() and not future.exception():
                    drop(future.result().home)
                with suppress(StoreError):
                    self._table.again(job.key, None, counts=False)
        if self._full:
            raise self._full
        if self._interrupt.requested:
            raise Interrupted("interrupted")
        return Ended(self._begun, self._early)

    # ---- beginning --------------------------------------------------------------------------

    def _goes_on(self, limits: Limits, end: float | None) -> bool:
        """Begin what can be begun, and return whether there is anything to wait for."""
        if self._interrupt.requested and not self._stopped:
            self._stopped = True
            self._engine.stop()
        if self._interrupt.insisted:
            return False
        if self._interrupt.requested or self._full:
            return bool(self._flying)
        if end is not None and time.monotonic() >= end:
            self._early = "the hours of [limits] are over"
        while not self._early and self._begin():
            if limits.jobs is not None and self._begun >= limits.jobs:
                self._early = "the runs of [limits] have been made"
        if self._flying:
            return True
        if self._early:
            return False
        left = self._table.left()
        return bool(left["planned"] or left["leased"])

    def _begin(self) -> bool:
        """Begin the next job that can run beside those that do; return whether there was one.

        Ends the campaign if the engine has had nobody for any of the next jobs for a while.
        """
        lanes = Counter(job.lane for job in self._flying.values())
        now = time.monotonic()
        heads = []
        for target in self._targets:
            head = self._table.first_rank(target)
            if head and self._trouble.get(target, _Trouble()).until <= now:
                heads.append((*head, target))
        why = [self._engine.lacks(target, lane) for _, lane, target in heads]
        if self._flying or not why or None in why:
            self._able = now
        elif now - self._able > PATIENCE_S:
            self._early = str(why[0])
        for _, lane, target in sorted(heads):
            if self._engine.lacks(target, lane):
                continue
            here = self._engine.here
            if lane == CORE:
                fits = not (here and lanes[WHOLE]) and lanes[CORE] < self._engine.slots()
            else:
                fits = not lanes[lane] and not (here and lane == WHOLE and lanes[CORE])
            if fits:
                if job := self._table.lease(target):
                    if is_whole(runs() / job.run_id):  # its runner ended before it could note it
                        self._table.done(job.key, None)
                    else:
                        self._flying[self._engine.submit(job)] = job
                        self._begun += 1
                    return True
            elif lane == WHOLE and here:
                lanes[CORE] += self._engine.slots()  # it waits for those that run, not for others
        return False

    # ---- ending -----------------------------------------------------------------------------

    def _ended(self, job: Job, future: Future[Carried]) -> None:
        """Take in the run of a job that has ended, or note why there is none."""
        try:
            outcome, home = future.result()
        except StoreError as error:
            self._halt(job, error)
            return
        if outcome.fault is None and (why := refusal(home / "runs" / job.run_id)):
            outcome = Outcome(fault="defect", reason=f"no run of this job came: {why}")
        try:
            reason = outcome.reason or "no reason was reported"
            target = job.cell.target
            match outcome.fault:
                case None:
                    self._arrival += 1
                    take_in(home / "runs" / job.run_id, self._arrival)
                    self._table.done(job.key, outcome.took_s, outcome.reason)
                    self._trouble.pop(target, None)
                    self._listener(Event(job, "done", outcome.reason, outcome.took_s))
                case "interrupted":
                    self._table.again(job.key, None, counts=False)
                case "store":
                    raise StoreError(reason)
                case "job":
                    self._fail(job, reason, outcome.took_s, home)
                case _:
                    if self._table.attempts(job.key) < ATTEMPTS:
                        self._table.again(job.key, reason, counts=True)
                        self._listener(Event(job, "again", reason, outcome.took_s))
                    else:
                        self._fail(job, reason, outcome.took_s, home)
                    # Leave a target that failed alone, longer each time; at last give up.
                    if outcome.fault == "target":
                        times = self._trouble.get(target, _Trouble()).times
                        if times < len(RESTS_S):
                            until = time.monotonic() + RESTS_S[times]
                            self._trouble[target] = _Trouble(times + 1, until)
                        else:
                            reason = f"{GIVEN_UP}, {times + 1} failures: {reason}"
                            self._table.give_up(target, reason)
        except StoreError as error:
            self._halt(job, error)
        finally:
            drop(home)

    def _halt(self, job: Job, error: StoreError) -> None:
        """Begin nothing more, as nothing can be stored."""
        self._full = self._full or error
        with suppress(StoreError):
            self._table.again(job.key, str(error), counts=False)

    def _fail(self, job: Job, reason: str, took_s: float, home: Path) -> None:
        """Give a job up, and keep what there is of its run."""
        directory = home / "runs" / job.run_id
        if directory.is_dir():
            incomplete = incomplete_run(job.campaign, job.run_id)
            with suppress(OSError):
                incomplete.parent.mkdir(exist_ok=True)
                drop(incomplete)
                directory.rename(incomplete)
        self._table.failed(job.key, reason, took_s)
        self._listener(Event(job, "failed", reason, took_s))
