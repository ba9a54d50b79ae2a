"""Check the rates that a load achieved while a case ran."""

from __future__ import annotations

from rtstone.wire.records import Rate

TOLERANCE = 0.2  # of its rate that a part of a load may miss (design, rules of measuring)


def lacking(rates: list[Rate] | None) -> str | None:
    """Return how a load fell short while a case ran, None if it did not."""
    if not rates:
        return "it did not run"
    for rate in rates:
        if not rate.alive:
            return f"{rate.component} ended, {rate.why or 'it is not known why'}"
        if rate.wanted and abs(rate.achieved / rate.wanted - 1) > TOLERANCE:
            reached = f"{rate.achieved:.4g} of {rate.wanted:.4g} {rate.unit} per second"
            return f"{rate.component} missed its rate by more than {TOLERANCE:.0%}: {reached}"
        if rate.achieved <= 0:
            return f"{rate.component} did nothing"
    return None
