"""How long calls of a less urgent task keep the CPU from a more urgent one, by what they cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tests.agent.truth import (
    WAKE_UP,
    Agent,
    C,
    answers,
    figures_of,
    holds,
    ns,
    per,
    raw,
    series,
    truth,
)

MS = 1_000_000
STARTED = C.task_create + C.switch  # when the measuring task runs
LEAD = 2 * MS
SEND, RECEIVE, MALLOC = 307, 709, 1103  # ps for each byte
MODEL = [per("queue_send", SEND), per("queue_receive", RECEIVE), per("malloc", MALLOC)]


def rounds(size: int) -> dict[str, list[int]]:
    """The calls of one round of each kind; none is interrupted.  With the last L reads the time."""
    blocks = [ns(1000 * C.malloc + MALLOC * 16 * i) for i in range(1, 9)]
    out, into = ns(1000 * C.queue_send + SEND * size), ns(1000 * C.queue_receive + RECEIVE * size)
    of = {
        "queue": [out, into],
        "heap": [*blocks, *8 * [C.free]],
        "task": [C.child_create, C.child_kill, C.child_reap],
    }
    return {kind: [*calls, C.time] for kind, calls in of.items()}


def lateness(calls: list[int], n: int, created: int) -> tuple[list[int], int]:
    """How late H runs each of n times, and how many rounds L makes meanwhile."""
    now = STARTED + C.task_create
    left: Iterable[int] = itertools.cycle(calls)
    made: list[int] = []

    def until(release: int, first: Iterable[int] = ()) -> int:
        """H sleeps, L makes its calls, the interrupt comes behind one of them."""
        nonlocal now, left
        now += C.sleep + C.switch
        left = itertools.chain(first, left)
        for call in left if now < release else ():
            now += call
            made.append(call)
            if now >= release:
                break
        now += WAKE_UP
        return now

    # Once L has made a call, H has waited for it, and L is somewhere in a round.
    until(now + C.time + MS, [created])
    now += C.time
    release = now - C.time + LEAD
    before = made.count(C.time)
    late = []
    for _ in range(n):
        late.append(until(release) - release)
        release += MS
        now += C.time
    return late, made.count(C.time) - before


@truth("dk.schedlat")
def every_delay_is_what_is_left_of_a_call(agent: Agent) -> None:
    for size in (64, 5120):
        for kind, calls in rounds(size).items():
            found, values = raw(
                agent, f"dk.schedlat calls={kind} size={size} samples=300 warmup=0", *MODEL
            )
            expected, made = lateness(calls, 300, C.queue_create)
            assert values == expected
            holds(found, expected)
            assert list(figures_of(found).values()) == [made]
            assert (found["series"], found["missed"]) == (kind, 0)


@truth("dk.schedlat")
def the_longest_call_shows_in_the_maximum(agent: Agent) -> None:
    """A request comes anywhere in a call, and so nearly at its beginning at times."""
    for size in (64, 16384):
        found = series(agent, f"dk.schedlat size={size} samples=3000", *MODEL)
        assert list(found) == ["queue", "heap", "task"]
        for kind, calls in rounds(size).items():
            longest = found[kind]["max"] - WAKE_UP
            assert 0.95 * max(calls) < longest < max(calls)
            assert found[kind]["min"] >= WAKE_UP


@truth("dk.schedlat")
def kinds_that_a_system_has_not(agent: Agent) -> None:
    """They are left out of all, and unsupported if asked for."""
    model = ["lacks=heap"]
    assert list(series(agent, "dk.schedlat samples=20", *model)) == ["queue", "task"]
    (end,) = (
        r for r in answers(agent, "case 1 dk.schedlat calls=heap", model=model) if r["t"] == "end"
    )
    assert (end["status"], end["reason"].partition(": ")[2]) == (
        "unsupported",
        "the modelled system does not have it",
    )
