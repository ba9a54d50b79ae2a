"""Check the rates that a load achieved while a case ran."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.wire.records import Rate

TOLERANCE = 0.2  # of its rate that a part of a load may miss (design, rules of measuring)


def lacking(rates: Sequence[Rate] | None, *, may_starve: bool = False) -> str | None:
    """Return how a load fell short while a case ran, None if it did not.

    Where a bench counts only parts of its case, their rates decide.  ``may_starve``: the case is
    meant to take all CPU time, also that of a load below its tasks.
    """
    if not rates:
        return "it did not run"
    for rate in rates:
        if not rate.alive:
            return f"{rate.component} ended, {rate.why or 'it is not known why'}"
        if may_starve:
            continue
        achieved = rate.achieved if rate.counted is None else rate.counted
        if rate.wanted and abs(achieved / rate.wanted - 1) > TOLERANCE:
            reached = f"{achieved:.4g} of {rate.wanted:.4g} {rate.unit} per second"
            return f"{rate.component} missed its rate by more than {TOLERANCE:.0%}: {reached}"
        if achieved <= 0:
            return f"{rate.component} did nothing"
    return None
