"""What a result says of its worst samples and stolen time, in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf

from rtstone.documents.run import Result, Worst
from rtstone.units import counted

_CHANCE = 0.01  # probability below which so much steal around the worst samples is no chance
_APART_S = 0.2  # two readings of the steal time


def with_steal(result: Result, *, concluded: bool = True) -> str:
    """Return around how many of the worst samples steal time grew, "" where that is not known.

    Samples of one stall are counted once, as they are tested.  Beside it is around how many of all
    readings it did: where it always does, it does around all samples, so a cause is only what it
    did around more of them than by chance.  What is shorter than a step of the count may not show.
    ``concluded``: with what follows from it.
    """
    times = [sample.steal_ns for sample in result.worst if sample.steal_ns is not None]
    if not times or len(times) < len(result.worst):
        return ""
    stalls = _stalls(result.worst)
    stolen, samples = sum(stalls), counted(len(times), "worst sample")
    several = f"{counted(len(stalls), 'separate stall')} (its {samples})"
    text = (
        "steal time, which counts in steps of 10 ms, grew around "
        f"{stolen or 'none'} of {f'its {samples}' if len(stalls) == len(times) else several}"
    )
    share = share_with_steal(result)
    if share is None:
        return text
    text = f"{text} and between {share:.1%} of all readings"
    if not concluded:
        return text
    if _at_least(stolen, len(stalls), share) < _CHANCE:
        return f"{text}: more than by chance, so it is a likely cause"
    chance = "no more than by chance, so " if stolen else ""
    return f"{text}: {chance}nothing shows that it delayed them"


def _stalls(worst: Sequence[Worst]) -> list[bool]:
    """Return of each stretch of worst samples whether steal time grew around one of them.

    Samples nearer to each other than steal time is read are of one stretch, as they share readings.
    """
    stalls: list[bool] = []
    last_s = -inf
    for sample in sorted(worst, key=lambda sample: sample.at_s):
        stolen = bool(sample.steal_ns)
        if sample.at_s - last_s < _APART_S:
            stalls[-1] |= stolen
        else:
            stalls.append(stolen)
        last_s = sample.at_s
    return stalls


def _at_least(successes: int, trials: int, share: float) -> float:
    """Return the probability of so many successes, or more, of trials that have this chance."""
    share = min(share, 1.0)
    return sum(
        comb(trials, k) * share**k * (1 - share) ** (trials - k)
        for k in range(successes, trials + 1)
    )


def share_with_steal(result: Result) -> float | None:
    """Return the share of the readings of steal time between which it grew, None if not known.

    How much was stolen is far less: readings are 100 ms apart, and a step of the count is 10 ms.
    """
    near, watched = (result.evidence.get(f"steal_{name}_ns") for name in ("near", "watched"))
    if not isinstance(near, int) or not isinstance(watched, int) or not watched:
        return None
    return near / watched
