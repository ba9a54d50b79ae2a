"""Responses of tasks that may move between several CPUs, by sufficient tests."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.tasks.analysis.multiprocessor import dense, response
from rtstone.tasks.analysis.problem import OTHER, RESERVED, Item, Place
from rtstone.tasks.analysis.single import OVERLOAD, TOO_LONG, Extra, Response, without_bound
from rtstone.tasks.analysis.streams import Stream, TooLong, utilisation

FIXED = "global fixed priorities, a sufficient test"
DENSITY = "global earliest deadline first, a sufficient test"


def responses(place: Place, ticks: Sequence[Stream], extra: Extra) -> dict[str, Response]:
    """Return the responses of the tasks of several CPUs."""
    items = [item for item in place.items if item.task.server is None]
    covered = {item.name: why for item in items if (why := _not_covered(item, place, extra))}
    levels = sorted({item.level for item in items}, reverse=True)
    answers: dict[str, Response] = {}
    obstacle = ""  # why nothing is known of what is less urgent
    for level in levels:
        here = [item for item in items if item.level == level]
        reason = obstacle or next((covered[i.name] for i in here if i.name in covered), "")
        if level == OTHER:
            answers |= {i.name: without_bound(i, "policy other promises no time") for i in here}
        elif reason:
            answers |= {item.name: without_bound(item, reason) for item in here}
            obstacle = reason
        elif level == RESERVED:
            answers |= _reserved(here, len(place.cpus), ticks)
            if len(levels) > 1:
                obstacle = "no method covers fixed priorities below reservations on several CPUs"
        else:
            answers |= _fixed(here, [i for i in items if i.level > level], answers, place, ticks)
            late = next((i for i in here if not _in_time(i, answers[i.name])), None)
            obstacle = f"'{late.name}', as urgent or more, is not shown to hold" if late else ""
            if late:  # the bounds of others as urgent rest on its deadline
                answers |= {
                    item.name: without_bound(item, obstacle, FIXED)
                    for item in here if item is not late
                }  # fmt: skip
    bounded = [item for item in items if item.bounded and item.level > OTHER]
    if utilisation(item.raw() for item in bounded) > len(place.cpus):
        return {
            item.name: Response(item.bare, reason=OVERLOAD, overload=item.bare > item.period)
            for item in items
        }
    return answers


def _not_covered(item: Item, place: Place, extra: Extra) -> str | None:
    if item.task.uses:
        return f"no method covers the resources of '{item.name}' on several CPUs"
    if not item.bounded:
        return f"the arrivals of '{item.name}' have no least distance"
    if place.servers:
        return "no method covers servers on several CPUs"
    if extra.get(item.name, 0) != 0 or item.task.arrival == "woken":
        return f"no method covers '{item.name}', which another task wakes, on several CPUs"
    if item.deadline is not None and item.deadline > item.period:
        return f"no method covers the deadline of '{item.name}' above its period on several CPUs"
    return None


def _fixed(
    here: Sequence[Item], above: Sequence[Item], answers: dict[str, Response], place: Place,
    ticks: Sequence[Stream],
) -> dict[str, Response]:  # fmt: skip
    """Return the responses of a level; others as urgent are taken to meet their deadlines."""
    higher = [(item.stream(), answers[item.name].bound or 0) for item in above]
    answers = {}
    for item in here:
        equal = [(other.stream(), _due(other).deadline) for other in here if other is not item]
        try:
            bound = response(_due(item), [*higher, *equal], len(place.cpus), ticks)
        except TooLong:
            answers[item.name] = without_bound(item, TOO_LONG, FIXED)
            continue
        attained = item.bare + item.task.jitter_ns
        if bound > _due(item).deadline:
            reason = "its bound is above its deadline"
            answers[item.name] = Response(attained, FIXED, reason=reason)
        else:
            answers[item.name] = Response(attained, FIXED, bound + item.jitter, bound)
    return answers


def _reserved(
    here: Sequence[Item], cpus: int, ticks: Sequence[Stream]
) -> dict[str, Response]:  # fmt: skip
    if ticks:
        reason = "no method covers the costs of a tick beside reservations on several CPUs"
        return {item.name: without_bound(item, reason, DENSITY) for item in here}
    if not dense([_due(item) for item in here], cpus):
        reason = "the density of the reservations is above what is known to hold"
        return {item.name: without_bound(item, reason, DENSITY) for item in here}
    return {
        item.name: Response(
            item.bare, DENSITY, _due(item).deadline + item.jitter, _due(item).deadline
        )
        for item in here
    }


def _due(item: Item) -> Stream:
    deadline = item.period if item.deadline is None else min(item.deadline, item.period)
    return Stream(item.work, item.period, 0, deadline)


def _in_time(item: Item, answer: Response) -> bool:
    return answer.bound is not None and answer.bound <= _due(item).deadline
