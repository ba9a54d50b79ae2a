"""Ask the agent of a target what it can measure."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rtstone.errors import Interrupted, TargetError
from rtstone.interrupt import Interrupt
from rtstone.results.derived import DERIVED
from rtstone.targets.base import LIST_S, Link, Options, Target
from rtstone.wire import commands, records
from rtstone.wire.parameters import Catalogue
from rtstone.wire.reader import Reader, Record

SILENCE_S = 10.0  # the longest between two records of a list behind a line
LIST_BYTES = 64 << 20  # of a list, at most; those of all boards have less than 1 MiB
POLL_S = 0.25  # interval in which an interrupt is noticed
TRIES = 20  # times that a damaged list is asked for
BYE_S = 2.0  # time limit for the end of an agent that has sent its list
AFTER_LIST = commands.progress(0)  # a command without effect, whose echo is the end of the list


def catalogue(target: Target, interrupt: Interrupt) -> Catalogue:
    """Return the benches and loads of the target's agent, and the derived benches.

    Raises TargetError, Interrupted.
    """
    options = Options(catalogue=True, interrupted=lambda: interrupt.requested)
    with target.start(options) as link:
        if target.resident:
            bodies = _Dialogue(target, link, interrupt).records()
        else:  # it was started for its list, which ends it
            bodies, reader, begin = [], Reader(), time.monotonic()
            for line in _lines(target, link, interrupt):
                if time.monotonic() - begin > LIST_S:
                    raise _late(target, LIST_S)
                bodies += [event.body for event in reader.feed(line) if isinstance(event, Record)]
            if not bodies and not reader.damaged:
                raise _no_agent(target)
            if reader.damaged or any(defect.costs for defect in reader.defects):
                raise _damaged(target)
    benches = {body.id: body for body in bodies if isinstance(body, records.Bench)}
    loads = {body.id: body for body in bodies if isinstance(body, records.Load)}
    if not benches:
        raise _damaged(target)
    derived = {name: entry.bench for name, entry in DERIVED.items()}
    hello = next((body for body in bodies if isinstance(body, records.Hello)), None)
    return Catalogue(
        benches | derived,
        loads,
        target.apart(),
        source=hello.source if hello else None,
        capabilities=frozenset(hello.caps) if hello else None,
        beyond=target.beyond(),
    )


def _damaged(target: Target) -> TargetError:
    return TargetError(f"the agent's list of benches is damaged, on target '{target.name}'")


def _no_agent(target: Target) -> TargetError:
    return TargetError(
        f"not an rtstone agent, {target.agent}: no record in its output; see RTSTONE_AGENT"
    )


def _late(target: Target, limit_s: float) -> TargetError:
    return TargetError(
        f"the agent did not finish its list of benches in {limit_s:.0f} s, "
        f"{target.agent}; it was stopped"
    )


def _lines(target: Target, link: Link, interrupt: Interrupt) -> Iterator[bytes]:
    """Yield what comes, b"" every ``POLL_S`` if nothing does, until the agent ends.

    Raises Interrupted, and TargetError for more than a list can be.
    """
    size = 0
    while (line := link.read(POLL_S)) != b"":
        if interrupt.requested:
            raise Interrupted("interrupted before the run began")
        size += len(line or b"")
        if size > LIST_BYTES:
            raise TargetError(
                f"the list of benches has no end: {size >> 20} MiB came, {target.agent}; "
                "it is no agent"
            )
        yield line or b""


class _Dialogue:
    """Ask an agent that runs already for its list, until all of it has come undamaged.

    A table is valid however many times it had to be asked for, so that each time adds to the list;
    the numbers of the echoes before and after it show how long it is.
    """

    def __init__(self, target: Target, link: Link, interrupt: Interrupt) -> None:
        self._target, self._link, self._interrupt = target, link, interrupt
        self._reader = Reader()
        self._commands = commands.Commands(link.send, link.newest)
        self._bodies: dict[tuple[type[records.Body], str], records.Body] = {}
        self._begin: int | None = None  # number of the echo before the list
        self._unlisted = 0  # records since that are not of the list
        self._heard = time.monotonic()
        self._tries = 0
        self._complete = False

    def records(self) -> list[records.Body]:
        """Return `hello` and the tables.  Raises TargetError, Interrupted."""
        self._ask()
        arriving = 0
        for line in _lines(self._target, self._link, self._interrupt):
            for event in self._reader.feed(line):
                if isinstance(event, Record):
                    self._heard = time.monotonic()
                    self._take(event)
            if arriving != (arriving := self._link.coming()):
                self._heard = time.monotonic()
            patience_s = SILENCE_S if self._commands.heard else 2 * commands.LONGEST_RESEND_S
            if time.monotonic() - self._heard > patience_s:
                raise _late(self._target, patience_s)
            self._commands.keep()
            if self._complete:
                break
        if not self._complete:
            if not self._bodies:
                raise _no_agent(self._target)
            raise TargetError(
                f"no list of benches came, {self._target.agent}{self._link.last_words()}"
            )
        # Say `bye`, and wait for its answer for a while: the next host says hello anyway.
        self._commands.say(commands.BYE)
        end = time.monotonic() + BYE_S
        while time.monotonic() < end and (reply := self._link.read(POLL_S)) != b"":
            for event in self._reader.feed(reply or b""):
                if isinstance(event, Record) and isinstance(event.body, records.Heard):
                    self._commands.echoed(event.body)
        return list(self._bodies.values())

    def _ask(self) -> None:
        if self._tries == TRIES:
            raise TargetError(
                f"the agent's list of benches was damaged {TRIES} times, {self._target.agent}; "
                "check the line: its speed, its cable, and what else writes to it"
            )
        self._tries, self._begin = self._tries + 1, None
        self._commands.say(commands.LIST)
        self._commands.say(AFTER_LIST)

    def _take(self, record: Record) -> None:
        match record.body:
            case records.Hello(version, line=longest) as hello:
                if version != records.VERSION:
                    raise commands.other_version(version)
                self._commands.longest = longest
                self._bodies[records.Hello, ""] = hello
            case records.Bench(id) | records.Load(id) as table:
                self._bodies[type(table), id] = table
            case records.Log():
                self._unlisted += 1
            case records.Heard(_, text) as echo:
                if not self._commands.echoed(echo):
                    self._unlisted += 1
                elif text == commands.LIST:
                    self._begin, self._unlisted = record.seq, 0
                elif self._commands.heard:
                    # The first echo of `list` may be lost, and the second one comes after the list.
                    begin = record.seq if self._begin is None else self._begin
                    tables = sum(kind is not records.Hello for kind, _ in self._bodies)
                    if 0 < record.seq - begin - 1 - self._unlisted <= tables:
                        self._complete = True
                    else:
                        self._ask()
