"""Responses of the tasks of one CPU: reservations before fixed priorities, the rest last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rtstone.documents.tasks import Resource
from rtstone.tasks.analysis import edf, fixed, offsets
from rtstone.tasks.analysis.blocking import entangled, longest, longest_of, reach
from rtstone.tasks.analysis.problem import OTHER, RESERVED, Item, Place
from rtstone.tasks.analysis.streams import (
    Stream,
    TooLong,
    busy_period,
    fixed_point,
    requested,
    utilisation,
)

# What chains add to the jitter of tasks that others wake; None: it has no bound.
Extra = Mapping[str, int | None]

FIXED = "response-time analysis"
OVERLOAD = "more is asked than the CPU has"
TOO_LONG = "the busy period is too long to be analysed"


@dataclass(frozen=True)
class Response:
    """What is known of the response of a task.

    ``bound``: no job takes longer from its arrival, of a woken task from the earliest time at which
    it may be released; None: see ``reason``.  ``local``: no job takes longer from its release.
    ``attained``: some job may take as long from its arrival.  ``method``: of the bound.
    ``overload``: responses grow for ever.
    """

    attained: int
    method: str = FIXED
    bound: int | None = None
    local: int | None = None
    blocking: int = 0
    reason: str | None = None
    overload: bool = False


def without_bound(item: Item, reason: str, method: str = "none") -> Response:
    """Return that nothing is known but that a job takes its own time."""
    return Response(item.bare + item.task.jitter_ns, method, reason=reason)


@dataclass(frozen=True)
class Cpu:
    """One CPU with its tasks; ``switch``: the cost of a switch, of each turn of ``quantum``."""

    place: Place
    resources: Mapping[str, Resource]
    ticks: Sequence[Stream]
    quantum: int
    switch: int
    extra: Extra
    punctual: dict[tuple[int, int | None], bool] = field(default_factory=dict)  # of levels

    @property
    def items(self) -> list[Item]:
        """The tasks that run on it by themselves, without a server."""
        return [item for item in self.place.items if item.task.server is None]

    def responses(self) -> dict[str, Response]:
        """Return the responses of all tasks without a server."""
        return {item.name: self._response(item) for item in self.items} | self._phased()

    def _response(self, item: Item) -> Response:
        if item.level == OTHER:
            return without_bound(item, "policy other promises no time")
        attained = self._attained(item)
        level = entangled(item.level, self.place.users, self.resources)
        if level == OTHER:
            why = "it may wait for a resource without a protocol that policy other holds"
            return Response(attained, reason=why)
        if reason := self._endless(item, level):
            return Response(attained, reason=reason)
        try:
            reserved = item.level == RESERVED
            answer = self._reserved(item) if reserved else self._fixed(item, level)
        except TooLong:
            overload = utilisation(o.raw() for o in self.items if o.level >= item.level) > 1
            why = OVERLOAD if utilisation(self._streams(level)) > 1 else TOO_LONG
            return Response(attained, reason=why, overload=overload)
        return replace(answer, attained=attained)

    def _endless(self, item: Item, level: int) -> str | None:
        """Return why there may be no end to what is no less urgent than a level."""
        for other in self.items:
            if other.level >= level:
                whose = "its arrivals" if other is item else f"the arrivals of '{other.name}'"
                if not other.bounded:
                    return f"{whose} have no least distance"
                if self.extra.get(other.name, 0) is None:
                    return f"what wakes '{other.name}' has no bound"
        return None

    # ---- streams --------------------------------------------------------------------------------

    def _stream(self, item: Item) -> Stream:
        stream = item.stream(self.extra.get(item.name) or 0)
        # A reservation is kept apart by at least its period, however late its task wakes.
        return stream._replace(jitter=0) if item.level == RESERVED else stream

    def _streams(self, level: int) -> list[Stream]:
        """Return what is no less urgent than a level, with the costs."""
        tasks = [self._stream(item) for item in self.items if item.level >= level]
        return [*self.ticks, *self.place.server_streams(level), *tasks]

    # ---- fixed priorities -----------------------------------------------------------------------

    def _fixed(self, item: Item, level: int) -> Response:
        """Return the bounds of a task; ``level``: of all for which it may have to wait."""
        woken = self._woken_above(item)
        own = item.stream(self.extra.get(item.name) or 0)
        own = own._replace(wakes=sum(other.work for other in woken))
        blocking = longest(level, self.place.users, self.resources)
        if level < item.level:
            busy = busy_period(self._streams(level), blocking)
            method = "the busy period of all that may run while it waits without a protocol"
            return Response(0, method, busy + own.jitter, busy, blocking)
        higher = [*self.ticks, *self.place.server_streams(level)]
        higher += [self._stream(other) for other in self._above(level) if other not in woken]
        peers = [other for other in self._level(level) if other is not item]
        equal = [self._stream(other) for other in peers]
        if self._is_punctual(level, blocking):  # any other has one job at most that came before
            first = sum(stream.work for stream in equal)
            return _analysed(own, higher, blocking, first)
        # Others as urgent may go first whenever they come.
        answer = _analysed(own, [*higher, *equal], blocking)
        turns = all(other.task.policy == "rr" for other in (item, *peers))
        if turns and not item.sections:
            own = fixed.with_turns(own, len(peers), self.quantum + 2 * self.switch)
            with suppress(TooLong):
                shared = _analysed(own, higher, blocking)
                answer = min(answer, shared, key=lambda answer: answer.bound or 0)
        return answer

    def _woken_above(self, item: Item) -> list[Item]:
        """Return the tasks that a task wakes, or those it wakes, while all are more urgent.

        Their jobs end before the next job of the task begins, and never delay the one that woke
        them.
        """
        woken: list[Item] = []
        todo = [item]
        while todo:
            waker = todo.pop()
            todo += [
                other for other in self._above(item.level)
                if other.task.arrival == "woken" and other.waker == waker.name
            ]  # fmt: skip
            woken += [other for other in todo if other not in woken]
        return woken

    def _above(self, level: int) -> list[Item]:
        return [item for item in self.items if item.level > level]

    def _level(self, level: int) -> list[Item]:
        return [item for item in self.items if item.level == level]

    def _is_punctual(self, level: int, blocking: int | None) -> bool:
        """Return whether jobs of a level are served in the order of their releases, one by task.

        So they are unless a task waits for a resource after it began, or a job is released before
        the one before it ended: it then follows at once, whoever else waits.  ``blocking``: None,
        to look at tasks without it and without costs.
        """
        key = level, blocking
        if key not in self.punctual:
            self.punctual[key] = self._served_in_order(level, blocking)
        return self.punctual[key]

    def _served_in_order(self, level: int, blocking: int | None) -> bool:
        peers = self._level(level)
        if len(peers) == 1:
            return True
        if any(peer.task.policy != "fifo" or self._may_wait(peer) for peer in peers):
            return False
        if blocking is None:
            streams = [peer.raw() for peer in peers]
            higher = [item.raw() for item in self._above(level)]
        else:
            streams = [self._stream(peer) for peer in peers]
            higher = [*self.ticks, *self.place.server_streams(level)]
            higher += [self._stream(item) for item in self._above(level)]
        together = sum(stream.work for stream in streams)
        for own in streams:
            first = (blocking or 0) + together - own.work
            try:
                if fixed.response(own, higher, first).from_arrival >= own.period:
                    return False
            except TooLong:
                return False
        return True

    def _may_wait(self, item: Item) -> bool:
        """Return whether a task may wait for a resource once it has begun."""
        return any(self.resources[s.resource].protocol == "inherit" for s in item.sections)

    def _unprotected(self, item: Item) -> bool:
        """Return whether a task may wait while less urgent ones run."""
        return any(self.resources[s.resource].protocol == "none" for s in item.sections)

    def _attained(self, item: Item) -> int:
        """Return a response from the arrival that some job may have, whatever the phases."""
        free = [
            other.raw()
            for other in self._above(item.level)
            if _is_free(other) and not self._unprotected(other)
        ]
        alone = item.bare + item.task.jitter_ns
        if item.task.arrival == "woken":
            return item.bare
        if not item.bounded:
            return alone
        if item.level == RESERVED:
            return self._attained_reserved(item, alone)
        try:
            if item.sections:  # jobs that come in its last section may end after it
                last = max(section.length for section in item.sections)
                return item.task.jitter_ns + fixed_point(
                    lambda time: item.bare + requested(free, max(time - last, 1)), item.bare
                )
            first = sum(
                peer.bare
                for peer in self._level(item.level)
                if peer is not item
                and _is_free(peer)
                and not peer.sections
                and self._is_punctual(item.level, None)
            )
            return fixed.response(item.raw(), free, first).from_arrival
        except TooLong:
            return alone

    # ---- reservations ---------------------------------------------------------------------------

    def _reserved(self, item: Item) -> Response:
        method = "processor demand of the reservations"
        items = [other for other in self.items if other.level == RESERVED]
        if any(map(self._unprotected, items)):
            return without_bound(item, "a reservation uses a resource without a protocol")
        if item.task.runtime_ns is not None and item.bare > item.task.runtime_ns:
            return Response(0, method, reason="a job takes longer than its runtime", overload=True)
        streams = [_due(other) for other in items] + self.place.server_streams(RESERVED)
        most = self._late_blocking(None)
        beside = (streams, self.ticks, self._late_blocking, most)
        try:
            response = edf.response(items.index(item), *beside)
        except TooLong:
            if not self._in_time(*beside):
                raise
            response = _due(item).deadline
        # The kernel counts the deadline from when the task wakes.
        woken = self.extra.get(item.name) or 0
        return Response(0, method, response + item.jitter + woken, response + woken, most)

    def _in_time(self, *beside: Any) -> bool:
        """Return whether no reservation misses its deadline, by the demand."""
        key = RESERVED, None
        if key not in self.punctual:
            self.punctual[key] = edf.missed(*beside) is None
        return self.punctual[key]

    def _late_blocking(self, time: int | None) -> int:
        """Return how long what is due later than a time may block what is due within it.

        None: the longest at any time.
        """
        due = {item.name: _due(item).deadline for item in self.items if item.level == RESERVED}
        users = dict(zip((item.name for item in self.place.items), self.place.users, strict=True))
        soon = [user for name, user in users.items()
                if name in due and (time is None or due[name] <= time)]  # fmt: skip
        late = [user for name, user in users.items()
                if name not in due or time is None or due[name] > time]  # fmt: skip
        everyone = list(users.values())
        return longest_of(late, reach(soon, everyone), everyone, self.resources)

    def _attained_reserved(self, item: Item, alone: int) -> int:
        items = [other for other in self.items if other.level == RESERVED]
        if any(other.sections or not _is_free(other) for other in items):
            return alone
        streams = [_due(other)._replace(work=other.bare) for other in items]
        try:
            return edf.response(items.index(item), streams) + item.task.jitter_ns
        except TooLong:
            return alone

    # ---- known phases ---------------------------------------------------------------------------

    def _phased(self) -> dict[str, Response]:
        """Return the responses of tasks of known phase, by the whole schedule if it can be had."""
        items = [item for item in self.items if item.level > OTHER]
        plain = not self.ticks and not self.place.servers and all(map(_is_phased, items))
        levels = [item.level for item in items]
        if not plain or not any(item.task.offset_ns for item in items):
            return {}
        reserved = [level == RESERVED for level in levels]
        if any(reserved) and not all(reserved):
            return {}
        if not any(reserved):
            if len(set(levels)) < len(levels):
                return {}
            items.sort(key=lambda item: -item.level)
            while utilisation(item.raw() for item in items) > 1:
                items.pop()  # whose responses grow for ever
        phased = [
            offsets.Phased(item.work, item.period, item.task.offset_ns or 0,
                           _due(item).deadline, -item.level)
            for item in items
        ]  # fmt: skip
        try:
            longest_each = offsets.responses(phased, "edf" if any(reserved) else "fixed")
        except TooLong:
            return {}
        return {
            item.name: Response(response, "the whole schedule, by its offsets", response, response)
            for item, response in zip(items, longest_each, strict=True)
        }


def _analysed(own: Stream, higher: list[Stream], blocking: int, first: int = 0) -> Response:
    """Return the bounds of a task; ``first``: what others as urgent do before it."""
    longest = fixed.response(own, higher, blocking + first)
    return Response(0, FIXED, longest.from_arrival, longest.from_release, blocking)


def _is_free(item: Item) -> bool:
    """Return whether a task may arrive at any time, so that it may do so together with others."""
    return item.task.arrival == "sporadic" or (
        item.task.arrival == "periodic" and item.task.offset_ns is None
    )


def _is_phased(item: Item) -> bool:
    """Return whether all releases of a task are known, and nothing but the CPU delays it."""
    task = item.task
    timely = task.arrival == "periodic" and task.offset_ns is not None and item.jitter == 0
    return timely and not task.uses and task.policy != "rr" and item.work == item.bare


def _due(item: Item) -> Stream:
    """Return the stream of a reservation; without a deadline, it is due at the end of a period."""
    deadline = item.period if item.deadline is None else item.deadline
    return Stream(item.work, item.period, 0, deadline)
