"""Carries out a plan: the one place where target, wire, model and store meet."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from rtstone.errors import Inconclusive, Interrupted, RtstoneError, StoreError, TargetError
from rtstone.interrupt import Interrupt
from rtstone.model.assemble import Assembly
from rtstone.model.documents import Result, Run
from rtstone.model.plan import Case, Plan
from rtstone.store.rundir import RunDirectory
from rtstone.targets.base import Link, Options, Target
from rtstone.wire import commands, records
from rtstone.wire.reader import Reader, Record

POLL_S = 0.25  # how soon a wish to stop is seen
PATIENCE_S = 120.0  # silence beyond the expected time of a case, after which the agent is given up
NUDGE_S = 5.0  # silence beyond it, after which the next command is sent: an end may have been lost


class Listener:
    """Told of the course of a run; this one does not care."""

    progress_ms = 0  # how often it wants to hear of the case that runs; 0: never

    def started(self, plan: Plan) -> None:
        """The agent is about to be started."""

    def case_started(self, case: Case) -> None:
        """A case has begun."""

    def progress(self, case: Case, record: records.Progress, unit: str) -> None:
        """Where a case stands."""

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """A case has ended, with these results."""

    def ended(self) -> None:
        """The agent has ended, or was given up."""


class Outcome(NamedTuple):
    """The document, and what the run's exit code has to tell of."""

    run: Run
    error: RtstoneError | None


def catalogue(target: Target, interrupt: Interrupt) -> dict[str, records.Bench]:
    """The benches that the target's agent offers.  Raises TargetError, Interrupted."""
    benches: dict[str, records.Bench] = {}
    with target.start(Options(catalogue=True)) as link:
        reader, last = Reader(), time.monotonic()
        while (line := link.read(POLL_S)) != b"":
            if interrupt.requested:
                raise Interrupted("interrupted before the run began")
            if line is None and time.monotonic() - last > PATIENCE_S:
                raise TargetError(f"the agent lists no benches, on target '{target.name}'")
            for event in reader.feed(line or b""):
                if isinstance(event, Record) and isinstance(event.body, records.Bench):
                    benches[event.body.id] = event.body
    if not benches or any(defect.costs for defect in reader.defects):
        raise TargetError(f"the agent's list of benches is damaged, on target '{target.name}'")
    return benches


def measure(
    plan: Plan,
    target: Target,
    *,
    cpus: frozenset[int] | None,
    directory: RunDirectory,
    listener: Listener,
    interrupt: Interrupt,
) -> Outcome:
    """Runs all cases of the plan, keeps what comes, and returns the document in any event."""
    error: RtstoneError | None = None
    assembly = Assembly(plan)
    begin = time.monotonic()
    listener.started(plan)
    try:
        if not interrupt.requested:
            with target.start(Options(keep_idle=plan.keep_idle, cpus=cpus)) as link:
                _Dialogue(
                    plan=plan,
                    link=link,
                    assembly=assembly,
                    directory=directory,
                    listener=listener,
                    interrupt=interrupt,
                ).carry_on()
    except StoreError as lost:
        kept = f"{assembly.complete} of {len(plan.cases)} cases are kept"
        error = StoreError(f"{lost}; {kept}")
    except RtstoneError as failed:
        error = failed
    if interrupt.requested and not isinstance(error, StoreError):
        error = Interrupted("interrupted")
    listener.ended()
    whole = error is None or assembly.complete == len(plan.cases)
    run = assembly.run(None if whole else str(error), time.monotonic() - begin)
    try:
        directory.finish(run)
    except StoreError as lost:
        error = error or lost
    return Outcome(run, error or _inconclusive(run))


def _inconclusive(run: Run) -> Inconclusive | None:
    bad = [result for result in run.results if result.status in {"failed", "incomplete"}]
    if not bad:
        return None
    first = f"{bad[0].bench}: {bad[0].reason or bad[0].status}"
    return Inconclusive(
        f"{len(bad)} of {len(run.results)} results are not valid, first {first}; "
        "the summary says why"
    )


@dataclass(kw_only=True)
class _Dialogue:
    """Sends commands, takes lines.

    A command is sent only when the case before has ended and its results are stored, so that the
    host is quiet while the agent measures; but damage on the wire must not let both wait forever.
    """

    plan: Plan
    link: Link
    assembly: Assembly
    directory: RunDirectory
    listener: Listener
    interrupt: Interrupt
    sent: int = 0
    heard: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.cases = {case.id: case for case in self.plan.cases}

    def carry_on(self) -> None:
        """Until the agent's orderly end.  Raises TargetError, StoreError."""
        if self.listener.progress_ms:
            self.link.send(commands.progress(self.listener.progress_ms))
        self._send_upto(1)
        while (line := self.link.read(POLL_S)) != b"":
            if self.interrupt.requested:
                self.link.stop()
            if line:
                self.directory.append(line)
                for body in self.assembly.feed(line):
                    self.heard = time.monotonic()
                    self._take(body)
            self._keep_going()
        bye = self.assembly.bye
        ran = bye.cases if bye and bye.cases is not None else self.assembly.ended
        if not self.interrupt.requested and ran < len(self.cases):
            raise TargetError("the agent ended before all cases had run")

    def _take(self, body: records.Body) -> None:
        match body:
            case records.Hello(version) if version != records.VERSION:
                raise TargetError(
                    f"the agent speaks wire {version}, this is for {records.VERSION}; "
                    "`make agent` builds the right one"
                )
            case records.Case(id) if id in self.cases:
                self.listener.case_started(self.cases[id])
            case records.Progress(id) if id in self.cases:
                unit = self.assembly.clock.unit if self.assembly.clock else "ns"
                self.listener.progress(self.cases[id], body, unit)
            case records.End(id) if id in self.cases:
                self.directory.sync()
                case = self.cases[id]
                self.listener.case_ended(case, self.assembly.case_results(case))

    def _keep_going(self) -> None:
        """Sends what is due; gives up an agent that has been silent for too long."""
        current = self.cases.get(self.sent)
        expected = self.plan.expected_s(current) if current else None
        silent = time.monotonic() - self.heard - (expected or 0)
        if silent > PATIENCE_S:
            raise TargetError(f"the agent has been silent for {silent:.0f} s; it was ended")
        lost = self.assembly.reader.damaged or silent > NUDGE_S
        self._send_upto(self.assembly.ended + (2 if lost else 1))

    def _send_upto(self, last: int) -> None:
        """Sends the commands of the cases up to that one; behind the last case stands `bye`."""
        while self.sent < min(last, len(self.cases) + 1) and not self.interrupt.requested:
            self.sent += 1
            case = self.cases.get(self.sent)
            self.link.send(
                commands.case(case.id, case.bench, case.params) if case else commands.BYE
            )
