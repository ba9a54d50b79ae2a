"""Drive an agent through a plan, one command at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rtstone.documents.plan import Case, LoadSpec, Plan
from rtstone.documents.run import BY_LIMIT, STOPPED
from rtstone.errors import Interrupted, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import GuardedListener
from rtstone.results.assembly import Assembly
from rtstone.results.identity import difference
from rtstone.store.rundir import RunDirectory
from rtstone.targets.base import Link, Target
from rtstone.wire import commands, records
from rtstone.wire.reader import MARK

POLL_S = 0.25  # interval in which an interrupt is noticed
PATIENCE_S = 120.0  # silence beyond the cases' time limits after which the agent is abandoned
SILENT_S = 7200.0  # time limit of a case that has none, until it first reports progress
HEARTBEAT_MS = 30_000  # interval of progress records, unless the listener wants a shorter one
NOISE = 16 << 20  # bytes of console noise that are stored
NUDGE_S = 5.0  # silence after which a case is asked for again, as its end may have been lost
DAMAGED_S = 1.0  # the same, if something was damaged
REPEATS = 10  # times that a case is asked for again
RESULTS = 1 << 18  # bytes of results, without samples, that a case hardly ever exceeds
LEASE_S = 60.0  # the agent ends if the host is silent for longer than this and the current case
OVERTIME = 2  # times its time limit, and PATIENCE_S, for which a case may report the same progress
QUIET_S = 600.0  # longest time for which a lease covers a case, so that the host is quiet meanwhile

_EXACT = {
    "int",
    "duration",
    "size",
    "bool",
    "choice",
}  # types whose values an agent repeats as they were sent


def not_the_same(differs: str) -> UsageError:
    """Return the error for resuming a run on a target that is not the same any more."""
    return UsageError(
        f"the target has changed since the run began: {differs}; undo that, or start a new run"
    )


def script(plan: Plan, cases: list[Case]) -> Iterator[str]:
    """Yield the commands of these cases, and `bye`, for a target that takes them at its start."""
    load = LoadSpec()
    yield from _first_lines(plan)
    for case in cases:
        yield from _lines(plan, case, load)
        load = plan.call(case)
    yield commands.BYE


def _first_lines(plan: Plan) -> Iterator[str]:
    """Yield the commands that concern all cases."""
    if plan.trace:
        yield commands.trace(plan.trace.above_ns, plan.trace.keep, stacks=plan.trace.stacks)


def _lines(plan: Plan, case: Case, load: LoadSpec) -> Iterator[str]:
    """Yield the commands of a case; ``load`` is the load of the case before."""
    call = plan.call(case)
    if call != load:
        yield commands.load(call.name, call.params)
    if plan.requirement is not None:
        yield commands.limit(*plan.limits_ns(case))
    yield commands.case(case.id, case.bench, case.params)


@dataclass(kw_only=True)
class AgentSession:
    """Run the cases on an agent: send commands, read and store lines, notify a listener.

    A command is sent only when the case before has ended and its results are stored, so that the
    host is quiet while the agent measures.  What was damaged on the wire is asked for again.
    A scripted target has all commands already, and cannot be asked.
    """

    plan: Plan
    link: Link
    target: Target
    assembly: Assembly
    directory: RunDirectory
    notify: GuardedListener
    interrupt: Interrupt
    sent: int = 0
    load: LoadSpec = field(default_factory=LoadSpec)  # the load that was requested last
    lead_s: float = 0.0  # ramp-up: extra time for the case sent last, whose load starts first
    noise: int = 0
    heard: float = field(default_factory=time.monotonic)
    moved: float = field(default_factory=time.monotonic)  # when anything new was heard last
    progress: records.Progress | None = None  # the last progress
    began: int = 0  # the case that last reported its start
    progressing: int = 0  # the case that last reported progress
    lease_until: float = 0.0
    nudged: float = 0.0
    repeats: int = 0  # of asking for the case
    arriving: int = 0  # bytes of the record that was arriving at the last look
    settled: int = 0  # the last case that nothing more is expected of
    settled_at: int = -1  # the number of the last record before that
    stopped: bool = False
    over: bool = False  # a sample was above the latency that ends the run

    def __post_init__(self) -> None:
        self.left = self.assembly.due
        self.cases = {case.id: case for case in self.left}
        self.commands = commands.Commands(self.link.send, self.link.newest)

    def run(self) -> None:
        """Run until the agent's orderly end.  Raises TargetError, StoreError, UsageError."""
        if self.target.scripted:
            self.sent = len(self.left) + 1
            for case in self.left[:1]:
                self._expect_load(case)
        else:
            self._promise(LEASE_S)
            self.commands.say(commands.progress(self.notify.progress_ms or HEARTBEAT_MS))
            for command in _first_lines(self.plan):
                self.commands.say(command)
        self._send_next()
        while (line := self.link.read(POLL_S)) != b"":
            if self.interrupt.insisted:
                self.link.abandon()
                raise Interrupted("interrupted")
            if self.interrupt.requested:
                if not self.stopped and not self.target.scripted:
                    self.commands.say(commands.STOP)
                    self.commands.say(commands.BYE)
                self.stopped = True
                self.link.stop()
            if line:
                self._store(line)
                for body in self.assembly.received.feed(line):
                    self.heard = time.monotonic()
                    self._note_progress(body)
                    self._take(body)
                if self.assembly.received.reader.restarted:
                    raise TargetError(commands.FORGOTTEN)
            self._keep_going()
        if not self.directory.begun and not self.interrupt.requested:
            self._begin()
        bye = self.assembly.received.bye
        ran = bye.cases if bye and bye.cases is not None else self._ended()
        if senseless := self.assembly.received.reader.malformed:
            raise TargetError(f"the agent sent what cannot be, {senseless}; the rest was kept")
        if not self.interrupt.requested and not self.over and ran < len(self.cases):
            raise TargetError(f"the agent ended before all cases had run{self.link.last_words()}")

    def _promise(self, seconds: float) -> None:
        """Renew the lease: promise to speak again before it ends."""
        self.commands.say(commands.alive(round(seconds * 1000)))
        self.lease_until = time.monotonic() + seconds

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
        # The agent of a resumed run is checked by `_begin`.
        listed_by = self.plan.listed_by if self.assembly.earlier is None else None
        match body:
            case records.Hello(version) if version != records.VERSION:
                raise commands.other_version(version)
            case records.Hello(source=source) if listed_by not in {None, source}:
                raise TargetError(
                    f"the running agent has source {source}, the one that listed the benches "
                    f"{listed_by}; rebuild both with `make agent` and `rtstone lab build`"
                )
            case records.Case() | records.Result() | records.Bye() if not self.directory.begun:
                if self.target.scripted or not self.assembly.lost():
                    self._begin()
        match body:
            case records.Hello(line=longest):
                self.commands.longest = longest
            case records.Heard() if not self.target.scripted:
                self.commands.echoed(body)
            case records.Case(id) if id in self.cases:
                self._check_case(self.cases[id], body)
                self.began = id
                case = self.assembly.case_of(id)
                self.notify(lambda to: to.case_started(case))
            case records.Progress(id) if id in self.cases:
                self.progressing = id
                unit = self.assembly.received.clock.unit if self.assembly.received.clock else "ns"
                case = self.assembly.case_of(id)
                self.notify(lambda to: to.progress(case, body, unit))
            case records.End(id) if id in self.cases and id > self.settled:
                if self._repeat(id):
                    return
                self._settle(id)
                if self.target.resident and body.reason == STOPPED and not self.stopped:
                    raise TargetError(
                        "the agent has ended the case, as it had not heard its host for longer "
                        "than promised; what it had measured is kept"
                    )
            case records.Log(_, text):
                self._take_refusal(text)

    def _check_case(self, case: Case, begun: records.Case) -> None:
        """Raise TargetError if the agent runs something other than a case it was sent."""
        if begun.bench != case.bench:
            raise TargetError(f"the agent ran {begun.bench} where it was asked for {case.bench}")
        table = self.plan.benches[case.bench]
        for name, value in case.params.items():
            param, used = table.param(name), begun.params.get(name)
            if param is not None and param.type in _EXACT and used != value:
                raise TargetError(
                    f"the agent ran {case.bench} with {name}={used}, where it was asked for "
                    f"{name}={value}"
                )

    def _take_refusal(self, text: str) -> None:
        """Go on without the records of a case that the agent cannot send again.

        Raises TargetError if it cannot trace.
        """
        if any(text == commands.refused(line) for line in _first_lines(self.plan)):
            raise TargetError(
                f"target '{self.plan.target.name}' cannot trace, as it is no Linux; leave out "
                "--trace"
            )
        limit = commands.refused(commands.limit(0, 0)).removesuffix("0 0")
        if text.startswith(limit) and self.plan.requirement is not None:
            raise TargetError(
                f"target '{self.plan.target.name}' has no memory to count misses of a limit; leave "
                "out --limit, and check the maximum of the run"
            )
        for case in self._pending():
            if text == commands.refused(commands.again(case.id)):
                self._settle(case.id)

    def _settle(self, wire_id: int) -> None:
        """Take a wire case as ended, damaged or not: it is a case, or a round of one."""
        self.settled, self.repeats = wire_id, 0
        self.settled_at = self.assembly.received.reader.newest
        self.directory.sync()
        case = self.assembly.case_of(wire_id)
        results = self.assembly.case_results(case)
        if not self.target.scripted and any(result.ended == BY_LIMIT for result in results):
            self.over = True
            del self.left[self._ended() :]
        following = None if self.over else self.assembly.following(wire_id)
        if following is None or self.interrupt.requested:
            self.notify(lambda to: to.case_ended(case, results))
        else:
            self.left.insert(self.sent, following)
            self.cases[following.id] = following
            self.notify(lambda to: to.round_ended(case, results))
        if self.target.scripted and (ended := self._ended()) < len(self.left):
            self._expect_load(self.left[ended])

    def _repeat(self, wire_id: int) -> bool:
        """Ask for the records of a case once more if some were damaged; return whether it was."""
        if self.target.scripted or self.repeats >= REPEATS or self.interrupt.requested:
            return False
        lost, damage = bool(self.assembly.lost()), self.assembly.damage(wire_id)
        if not lost and (damage is None or damage.for_good):
            return False
        for number in [0] * lost + [wire_id]:  # the repeated end of the case is the end of both
            self.commands.say(commands.again(number))
        self.repeats += 1
        return True

    def _begin(self) -> None:
        """Begin to store, after checking that a resumed run is still on the same target.

        Raises UsageError if it is not, TargetError if that cannot be determined.
        """
        if lost := self.assembly.lost():
            raise TargetError(
                "cannot determine whether the target is still the same, as records of the agent "
                f"were lost: {', '.join(lost)}; try again"
            )
        now = self.assembly.received.heads
        then = self.assembly.earlier.all_heads if self.assembly.earlier else now
        if differs := difference(then.as_far_as(now), now.as_far_as(then)):
            raise not_the_same(differs)
        self.directory.begin()

    def _ended(self) -> int:
        """Return how many of the cases to run have ended."""
        last = self.assembly.received.ended if self.target.scripted else self.settled
        return sum(case.id <= last for case in self.left)

    def _keep_going(self) -> None:
        """Send what is due; abandon an agent that has been silent for too long."""
        if (arriving := self.link.coming()) > self.arriving:
            # A large record takes its time on a slow line.
            self.heard = self.moved = time.monotonic()
        self.arriving = arriving
        silent = time.monotonic() - self.heard - self.lead_s
        cases = self._pending()
        limits = [self._limit_s(case) for case in cases]
        patience_s = PATIENCE_S
        for case, limit in zip(cases, limits, strict=True):
            # Some have no limit, and an agent without a CPU of its own does not report progress.
            waited_for = case.id == self.began or self.assembly.received.reader.damaged
            unlimited_s = SILENT_S if waited_for and case.id != self.progressing else 0.0
            patience_s += unlimited_s if limit is None else limit
        if silent > patience_s:
            words = self.link.last_words()
            raise TargetError(
                f"the agent has been silent for {silent:.0f} s; it was stopped{words}"
            )
        if cases and None not in limits:  # though the agent says that it runs
            idle = time.monotonic() - self.moved - self.lead_s - self._transfer_s()
            if idle > PATIENCE_S + OVERTIME * sum(limit or 0 for limit in limits):
                raise TargetError(
                    f"{cases[0].bench} should have ended long ago, and the agent has reported "
                    f"the same progress for {idle:.0f} s; it was stopped{self.link.last_words()}"
                )
        if self.target.scripted:
            return
        if not self.stopped:
            due = sum(limit or HEARTBEAT_MS / 1000 for limit in limits)
            self._nudge(silent, due, cases)
            if self.lease_until - time.monotonic() < LEASE_S / 2 and self.sent <= len(self.left):
                self._promise(LEASE_S)
            self._send_next()
        self.commands.keep()
        over = self.target.resident and self.sent > len(self.left) and self.commands.heard
        if over and silent > NUDGE_S:
            self.link.stop()  # what is missing is the answer to `bye`

    def _note_progress(self, body: records.Body) -> None:
        """Note when the case got further: the same progress again may be all that is left of it."""
        match body:
            case records.Log() | records.Heard() | records.Hello():
                return
            case records.Progress():
                if body == self.progress:
                    return
                self.progress = body
        self.moved = time.monotonic()

    def _nudge(self, silent: float, due: float, cases: list[Case]) -> None:
        """Ask for the case again whose end seems to have been lost, and at last go on without."""
        reader = self.assembly.received.reader
        # Whether a record came since the last case ended that may have been its end.
        senseless = any(
            defect.for_good and defect.first > self.settled_at for defect in reader.defects
        )
        waited = min(silent, time.monotonic() - self.nudged)
        if not cases or not self.commands.heard:
            return
        if waited < (DAMAGED_S if reader.damaged else NUDGE_S + (0 if senseless else due)):
            return
        self.nudged = time.monotonic()
        if self.repeats < REPEATS and not senseless:
            self.repeats += 1
            self.commands.say(commands.again(cases[0].id))
        else:
            self._settle(cases[0].id)

    def _pending(self) -> list[Case]:
        """Return the case that was sent and has not ended, if any."""
        ended = self._ended()
        return self.left[ended : ended + 1 if self.target.scripted else self.sent]

    def _limit_s(self, case: Case) -> float | None:
        limit = self.plan.limit_s(case)
        return None if limit is None else limit * self.target.pace

    def _transfer_s(self) -> float:
        """Return how long results take, in s, during which a board may not hear its host."""
        return RESULTS / self.target.bytes_per_s if self.target.bytes_per_s else 0.0

    def _send_next(self) -> None:
        """Send the commands of the next case once the one before has ended; at last `bye`."""
        if self.target.scripted or self.interrupt.requested or self.sent > self._ended():
            return
        self.sent += 1
        if self.sent > len(self.left):
            self.commands.say(commands.BYE)
            return
        case = self.left[self.sent - 1]
        before = self.load
        self._expect_load(case)
        limit = self._limit_s(case)
        if limit is not None and limit < QUIET_S:
            self._promise(limit + self.lead_s + self._transfer_s() + LEASE_S)
        for line in _lines(self.plan, case, before):
            self.commands.say(line)

    def _expect_load(self, case: Case) -> None:
        """Note that the agent changes the load, if the case does not run under the current one."""
        call = self.plan.call(case)
        self.lead_s = 0.0 if call == self.load else self.target.load_s
        if call != self.load:
            self.load = call
            self.notify(lambda to: to.load_starting(case.load))
