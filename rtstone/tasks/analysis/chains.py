"""Bounds of chains of tasks that hand data on.

A task that another wakes continues it; between tasks with periods of their own, data wait until
they are read.  A bound of the reaction is the sum of periods and responses (Davare and others
2007): each task reads at latest a period after the data came, and has written a response later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """A task with a period, and those that it wakes one after the other.

    ``period``: the distance of its arrivals, None if it has no largest; ``response``: from an
    arrival to the end of the last of them.
    """

    period: int | None
    response: int


class Bounds(NamedTuple):
    """Bounds of a chain; None: there is none."""

    latency: int | None
    reaction: int | None
    age: int | None


def bounds(parts: Sequence[Part]) -> Bounds:
    """Return the bounds of a chain of parts.

    ``latency``: from an arrival of the first part to the first output that is based on it: any
    other part reads at latest a period later.  ``reaction``: from a change at the input, which
    the first part reads at latest a period later; one that arrives with the change, as a sporadic
    task does, reads it at once.  ``age``: from an arrival to the last output based on it: what a
    job reads is no older than a period and a response of the part before.
    """
    responses = sum(part.response for part in parts)
    later = _sum(parts[1:])
    earlier = _sum(parts[:-1])
    latency = None if later is None else responses + later
    first = parts[0].period or 0
    return Bounds(
        latency=latency,
        reaction=None if latency is None else latency + first,
        age=None if earlier is None else responses + earlier,
    )


def _sum(parts: Sequence[Part]) -> int | None:
    """Return the sum of the periods, None if one has no largest."""
    periods = [part.period for part in parts]
    return None if None in periods else sum(period or 0 for period in periods)
