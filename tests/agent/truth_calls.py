"""How long calls of a lower-priority task delay a higher-priority one, from their costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tests.agent.speak import figures, pick
from tests.agent.truth import (
    WAKE_UP,
    Agent,
    C,
    answers,
    holds,
    ns,
    per,
    raw,
    series,
    truth,
)

MS = 1_000_000
STARTED = C.task_create + C.switch  # when the measuring task starts
LEAD = 2 * MS
SEND, RECEIVE, MALLOC = 307, 709, 1103  # ps for each byte
MODEL = [per("queue_send", SEND), per("queue_receive", RECEIVE), per("malloc", MALLOC)]


def rounds(size: int) -> dict[str, list[int]]:
    """Return the calls of a round by kind; none is interrupted.  At the end L reads the time."""
    blocks = [ns(1000 * C.malloc + MALLOC * 16 * i) for i in range(1, 9)]
    out, into = ns(1000 * C.queue_send + SEND * size), ns(1000 * C.queue_receive + RECEIVE * size)
    calls = {
        "queue": [out, into],
        "heap": [*blocks, *8 * [C.free]],
        "task": [C.child_create, C.child_kill, C.child_reap],
    }
    return {kind: [*calls, C.time] for kind, calls in calls.items()}


def lateness(calls: list[int], n: int, created: int) -> tuple[list[int], int]:
    """Return how late H runs each of n times, and how many rounds L completes meanwhile."""
    now = STARTED + C.task_create
    left: Iterable[int] = itertools.cycle(calls)
    delays: list[int] = []

    def until(release: int, first: Iterable[int] = ()) -> int:
        """Let H sleep and L make its calls; the interrupt takes effect after one of them."""
        nonlocal now, left
        now += C.sleep + C.switch
        left = itertools.chain(first, left)
        for call in left if now < release else ():
            now += call
            delays.append(call)
            if now >= release:
                break
        now += WAKE_UP
        return now

    # H has waited for L's first call, and L is somewhere within a round.
    until(now + C.time + MS, [created])
    now += C.time
    release = now - C.time + LEAD
    before = delays.count(C.time)
    late = []
    for _ in range(n):
        late.append(until(release) - release)
        release += MS
        now += C.time
    return late, delays.count(C.time) - before


@truth("dk.schedlat")
def every_delay_is_what_is_left_of_a_call(agent: Agent) -> None:
    for size in (64, 5120):
        for kind, calls in rounds(size).items():
            records, values = raw(
                agent, f"dk.schedlat calls={kind} size={size} samples=300 warmup=0", *MODEL
            )
            expected, count = lateness(calls, 300, C.queue_create)
            assert values == expected
            holds(records, expected)
            assert list(figures(records).values()) == [count]
            assert (records["series"], records["missed"]) == (kind, 0)


@truth("dk.schedlat")
def the_longest_call_shows_in_the_maximum(agent: Agent) -> None:
    """A request comes anywhere during a call, so sometimes nearly at its beginning."""
    for size in (64, 16384):
        series_record = series(agent, f"dk.schedlat size={size} samples=3000", *MODEL)
        assert list(series_record) == ["queue", "heap", "task"]
        for kind, calls in rounds(size).items():
            longest = series_record[kind]["max"] - WAKE_UP
            assert 0.95 * max(calls) < longest < max(calls)
            assert series_record[kind]["min"] >= WAKE_UP


@truth("dk.schedlat")
def kinds_that_a_system_has_not(agent: Agent) -> None:
    """`all` leaves them out; asked for by name they are unsupported."""
    model = ["lacks=heap"]
    assert list(series(agent, "dk.schedlat samples=20", *model)) == ["queue", "task"]
    (end,) = pick(answers(agent, "case 1 dk.schedlat calls=heap", model=model), "end")
    assert (end["status"], end["reason"].partition(": ")[2]) == (
        "unsupported",
        "the modelled system does not have it",
    )
