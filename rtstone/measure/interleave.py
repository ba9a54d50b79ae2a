"""Measure two targets interleaved, A B B A A B B A, so that drift affects both alike.

Whole passes of the suite alternate: linear drift within each four runs cancels, and variation from
one pass to the next is the noise that the comparison has to account for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run, Turn
from rtstone.errors import Inconclusive, RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.extent import expected_s
from rtstone.measure.listener import Listener
from rtstone.measure.start import execute
from rtstone.targets import find
from rtstone.targets.base import Target

PAIRS = 6  # with fewer no verdict is possible over a suite of 40 cases: docs/guides/comparing.md


class Side(NamedTuple):
    """One of the two sides: its target, and the plan that each of its runs carries out."""

    target: Target
    plan: Plan


class Next(NamedTuple):
    """The run that is about to start, and the estimated time left for all, if known."""

    number: int  # from 1
    total: int
    turn: Turn
    target: str
    left_s: float | None


class Taken(NamedTuple):
    """The completed runs in their order, and the error, if any."""

    runs: list[Run]
    error: RtstoneError | None


def order(session: str, pairs: int) -> list[Turn]:
    """Return the order of runs: A B, then B A, and so on."""
    sides: tuple[Literal["A", "B"], Literal["A", "B"]] = ("A", "B")
    return [
        Turn(session=session, side=side, pair=pair)
        for pair in range(1, pairs + 1)
        for side in (sides if pair % 2 else sides[::-1])
    ]


def check(sides: Sequence[Side]) -> None:
    """Raise UsageError if one target counts instructions and another one time."""
    for name in ("instructions_per_s", "icount"):
        first, other = (side.plan.target.detail.get(name) is not None for side in sides)
        if first != other:
            raise UsageError(
                f"instructions and time cannot be compared: {sides[0].target.name}, "
                f"{sides[1].target.name}; name targets of one kind"
            )


def measure_pairs(
    session: str,
    sides: tuple[Side, Side],
    pairs: int,
    *,
    interrupt: Interrupt,
    listener: Callable[[], Listener],
    announce: Callable[[Next], None],
) -> Taken:
    """Measure both sides interleaved.  Every run is stored like any other.

    Ends early if interrupted, or if a target or the store fails, but not if a case fails; completed
    runs are kept.
    """
    runs: list[Run] = []
    invalid: RtstoneError | None = None
    expected = [each for side in sides if (each := expected_s(side.plan)) is not None]
    average = sum(expected) / 2 if len(expected) == 2 else None
    begin = time.monotonic()
    turns = order(session, pairs)
    for number, turn in enumerate(turns, 1):
        side = _varied(sides[turn.side == "B"], turn.pair)
        if runs:
            average = (time.monotonic() - begin) / len(runs)
        left = None if average is None else average * (len(turns) - len(runs))
        announce(Next(number, len(turns), turn, side.target.name, left))
        plan = structs.replace(
            side.plan,
            run_id=f"{session}-{number:03}{turn.side}",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            surroundings=side.target.host_conditions(),
            turn=turn,
        )
        run, _, error = execute(plan, side.target, interrupt=interrupt, listener=listener())
        runs.append(run)
        invalid = invalid or error
        if error and not isinstance(error, Inconclusive):
            return Taken(runs, error)
    return Taken(runs, invalid)


def _varied(side: Side, pair: int) -> Side:
    """Return the side with the pair's number as seed, if its target has a seed and none was given.

    The same seed would only repeat the same numbers.
    """
    name = side.target.name
    if side.plan.target.detail.get("seed") is None or "+seed=" in name:
        return side
    target = find(f"{name}+seed={pair}")
    place = structs.replace(side.plan.target, name=target.name, detail=dict(target.detail()))
    return Side(target, structs.replace(side.plan, target=place))
