"""Drive an agent through a plan, one command at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rtstone.assemble.assembly import Assembly
from rtstone.assemble.identity import difference
from rtstone.documents.plan import Case, LoadSpec, Plan
from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.runner.listener import GuardedListener
from rtstone.store.rundir import RunDirectory
from rtstone.targets.base import Link, Target
from rtstone.wire import commands, records
from rtstone.wire.reader import MARK

POLL_S = 0.25  # interval in which an interrupt is noticed
PATIENCE_S = 120.0  # silence beyond the cases' time limits after which the agent is abandoned
UNTOLD_S = 7200.0  # time limit of a case that has none, until it first reports progress
HEARTBEAT_MS = 30_000  # interval of progress records, unless the listener wants a shorter one
NOISE = 16 << 20  # bytes of console noise that are stored
NUDGE_S = 5.0  # silence after which the next command is sent, as an end may have been lost


def not_the_same(differs: str) -> UsageError:
    """Return the error for resuming a run on a target that is not the same any more."""
    return UsageError(
        f"the target has changed since the run began: {differs}; undo that, or start a new run"
    )


def script(plan: Plan, cases: list[Case]) -> Iterator[str]:
    """Yield the commands of these cases, and `bye`."""
    load = LoadSpec()
    for case in cases:
        yield from _lines(plan, case, load)
        load = plan.call(case)
    yield commands.BYE


def _lines(plan: Plan, case: Case, load: LoadSpec) -> Iterator[str]:
    """Yield the commands of a case; ``load`` is the load of the case before."""
    call = plan.call(case)
    if call != load:
        yield commands.load(call.name, call.params)
    yield commands.case(case.id, case.bench, case.params)


@dataclass(kw_only=True)
class AgentSession:
    """Run the cases on an agent: send commands, read and store lines, notify a listener.

    A command is sent only when the case before has ended and its results are stored, so that the
    host is quiet while the agent measures; damage on the wire must not make both wait forever.
    A scripted target has all commands already.
    """

    plan: Plan
    link: Link
    target: Target
    assembly: Assembly
    directory: RunDirectory
    tell: GuardedListener
    interrupt: Interrupt
    sent: int = 0
    load: LoadSpec = field(default_factory=LoadSpec)  # the load that was requested last
    lead_s: float = 0.0  # ramp-up: extra time for the case sent last, whose load starts first
    noise: int = 0
    heard: float = field(default_factory=time.monotonic)
    began: int = 0  # the case that last reported its start
    progressing: int = 0  # the case that last reported progress

    def __post_init__(self) -> None:
        self.left = self.assembly.due
        self.cases = {case.id: case for case in self.left}

    def run(self) -> None:
        """Run until the agent's orderly end.  Raises TargetError, StoreError, UsageError."""
        if self.target.scripted:
            self.sent = len(self.left) + 1
            for case in self.left[:1]:
                self._expect_load(case)
        else:
            self.link.send(commands.progress(self.tell.progress_ms or HEARTBEAT_MS))
        self._send_upto(1)
        while (line := self.link.read(POLL_S)) != b"":
            if self.interrupt.insisted:
                self.link.abandon()
                raise Interrupted("interrupted")
            if self.interrupt.requested:
                self.link.stop()
            if line:
                self._store(line)
                for body in self.assembly.received.feed(line):
                    self.heard = time.monotonic()
                    self._take(body)
            self._keep_going()
        if not self.directory.begun and not self.interrupt.requested:
            self._go_on()
        bye = self.assembly.received.bye
        ran = bye.cases if bye and bye.cases is not None else self._ended()
        if not self.interrupt.requested and ran < len(self.cases):
            raise TargetError(f"the agent ended before all cases had run{self.link.last_words()}")

    def _store(self, line: bytes) -> None:
        if MARK not in line:
            before, self.noise = self.noise, self.noise + len(line)
            if self.noise > NOISE:
                if before <= NOISE:
                    self.assembly.remarks.append(
                        f"console noise beyond {NOISE} bytes was not stored"
                    )
                return
        self.directory.append(line)

    def _take(self, body: records.Body) -> None:
        match body:
            case records.Hello(version) if version != records.VERSION:
                raise TargetError(
                    f"the agent uses wire version {version}, rtstone needs {records.VERSION}; "
                    "`make agent` builds the right one"
                )
            case records.Hello(source=source) if self._is_foreign(source):
                raise TargetError(
                    f"the running agent has source {source}, the one that listed the benches "
                    f"{self.plan.listed_by}; rebuild both with `make agent` and `rtstone lab build`"
                )
            case records.Case() | records.Result() | records.Bye() if not self.directory.begun:
                self._go_on()
        match body:
            case records.Case(id) if id in self.cases:
                self.began = id
                case = self.assembly.case_of(id)
                self.tell(lambda to: to.case_started(case))
            case records.Progress(id) if id in self.cases:
                self.progressing = id
                unit = self.assembly.received.clock.unit if self.assembly.received.clock else "ns"
                case = self.assembly.case_of(id)
                self.tell(lambda to: to.progress(case, body, unit))
            case records.End(id) if id in self.cases:
                self.directory.sync()
                self._end(id)
                if self.target.scripted and (following := self._current()):
                    self._expect_load(following)

    def _is_foreign(self, source: str) -> bool:
        """Return whether the agent differs from the one that listed the benches.

        A resumed run is checked by ``_go_on`` instead.
        """
        return self.assembly.earlier is None and self.plan.listed_by not in {None, source}

    def _end(self, wire_id: int) -> None:
        """Handle the end of a wire case: a case, or one round of it.

        Another round follows at once, unless the next case was already sent for lack of an answer.
        """
        case = self.assembly.case_of(wire_id)
        results = self.assembly.case_results(case)
        more = self.assembly.following(wire_id)
        if more is None or self.interrupt.requested or self.sent != self._ended():
            self.tell(lambda to: to.case_ended(case, results))
            return
        self.left.insert(self.sent, more)
        self.cases[more.id] = more
        self.tell(lambda to: to.round_ended(case, results))

    def _go_on(self) -> None:
        """Begin to store, after checking that a resumed run is still on the same target.

        Raises UsageError if it is not, TargetError if that cannot be determined.
        """
        if lost := self.assembly.lost():
            raise TargetError(
                "cannot determine whether the target is still the same, as records of the agent "
                f"were lost: {', '.join(lost)}; try again"
            )
        now = self.assembly.received.heads
        then = self.assembly.earlier.known if self.assembly.earlier else now
        if differs := difference(then.as_far_as(now), now.as_far_as(then)):
            raise not_the_same(differs)
        self.directory.begin()

    def _ended(self) -> int:
        """Return how many of the cases to run have ended."""
        return sum(case.id <= self.assembly.received.ended for case in self.left)

    def _keep_going(self) -> None:
        """Send the next commands when due; abandon an agent that has been silent for too long."""
        silent = time.monotonic() - self.heard - self.lead_s
        cases = self._on_their_way()
        if silent > PATIENCE_S + sum(self._longest_s(case) for case in cases):
            words = self.link.last_words()
            raise TargetError(
                f"the agent has been silent for {silent:.0f} s; it was stopped{words}"
            )
        damaged = self.assembly.received.reader.damaged and self.plan.until is None
        due = sum(self._limit_s(case) or HEARTBEAT_MS / 1000 for case in cases)
        lost = (
            damaged or silent > NUDGE_S + due
        )  # sending ahead would leave no room for another round
        self._send_upto(self._ended() + (2 if lost else 1))

    def _on_their_way(self) -> list[Case]:
        """Return the cases that were sent and have not ended: one, or two after damage."""
        ended = self._ended()
        return self.left[ended : ended + 1 if self.target.scripted else self.sent]

    def _limit_s(self, case: Case) -> float | None:
        limit = self.plan.limit_s(case)
        return None if limit is None else limit * self.target.pace

    def _longest_s(self, case: Case) -> float:
        """Return how long the agent may be silent while the case runs, in s.

        Some cases have no limit, and an agent without a CPU of its own does not report progress.
        """
        limit = self._limit_s(case)
        if limit is not None:
            return limit
        waited_for = case.id == self.began or self.assembly.received.reader.damaged
        return UNTOLD_S if waited_for and case.id != self.progressing else 0.0

    def _current(self) -> Case | None:
        """Return the case that is running, or whose load is being started."""
        number = self._ended() if self.target.scripted else self.sent - 1
        return self.left[number] if 0 <= number < len(self.left) else None

    def _send_upto(self, last: int) -> None:
        """Send the commands of the first ``last`` cases; `bye` follows the last of all."""
        while self.sent < min(last, len(self.left) + 1) and not self.interrupt.requested:
            self.sent += 1
            if self.sent > len(self.left):
                self.link.send(commands.BYE)
                return
            case = self.left[self.sent - 1]
            for line in _lines(self.plan, case, self.load):
                self.link.send(line)
            self._expect_load(case)

    def _expect_load(self, case: Case) -> None:
        """Note that the agent changes the load, if the case does not run under the current one."""
        call = self.plan.call(case)
        self.lead_s = 0.0 if call == self.load else self.target.load_s
        if call != self.load:
            self.load = call
            self.tell(lambda to: to.load_starting(case.load))
