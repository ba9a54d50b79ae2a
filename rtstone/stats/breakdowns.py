"""Breakdowns of Hartstone experiments: measured, simulated, and what lies between.

The simulation has the task set, the arrivals, the rules and the raw speed of the measurement, and
no operating system: what an experiment reaches less is what the operating system costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple

from rtstone.documents.breakdown import Breakdown, breakdown
from rtstone.documents.reproduction import Shown
from rtstone.documents.run import Result
from rtstone.documents.simulation import Cost
from rtstone.results.flags import spoilt
from rtstone.simulate.hartask import as_measured
from rtstone.simulate.hartstone import Ask, experiment
from rtstone.units import rounded

What = Literal["measured", "rm", "edf", "gap"]


class _Ends(NamedTuple):
    """Utilisations in %: of the last test before the first miss, and of the first with one.

    ``first``: None if no test had a miss, so that the breakdown is above ``last``.
    """

    last: float
    first: float | None


def shown(quantity: What, results: Sequence[Result]) -> Shown:
    """Return the interval that a breakdown is in, or the gap, of all these results.

    ``quantity``: "measured", or simulated under the policy "rm" or "edf", or the "gap": simulated
    under the policy of the measurement less measured, in points of %.  A gap that something outside
    the system may have widened is undetermined.
    """
    several = [(result, reached) for result in results if (reached := breakdown(result))]
    if not several:
        return Shown(value=None, unit="%")
    if quantity == "gap":
        return _gap(several)
    if quantity == "measured":
        ends = [_Ends(reached.held, reached.missed) for _, reached in several]
    else:
        asks = [as_measured(result).ask for result, _ in several]
        ends = [_simulated(replace(ask, policy=quantity)) for ask in asks]
    low = min(end.last for end in ends)
    firsts = [end.first for end in ends if end.first is not None]
    if len(firsts) < len(ends):
        return Shown(value=f"above {rounded(low)}", unit="%")
    return Shown(value=low, most=max(firsts), unit="%")


@cache
def _simulated(ask: Ask) -> _Ends:
    free = experiment(ask, Cost())
    return _Ends(free.breakdown or 0.0, free.first_miss)


def _gap(several: Sequence[tuple[Result, Breakdown]]) -> Shown:
    """Return the least and the most that lies between the simulation and the measurement."""
    lows, highs = [], []
    for result, reached in several:
        measured = as_measured(result)
        if measured.disturbed or spoilt(result.flags):
            return Shown(value="undetermined", unit="%")
        free = _simulated(measured.ask)
        if free.first is None or reached.missed is None:
            return Shown(value="undetermined", unit="%")
        lows.append(free.last - reached.missed)
        highs.append(free.first - reached.held)
    low, high = (round(end, 4) + 0.0 for end in (min(lows), max(highs)))  # + 0.0: never -0
    return Shown(value=low, most=high, unit="%")
