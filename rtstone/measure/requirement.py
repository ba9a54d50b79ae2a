"""Parse `--limit` and `--stop-above`: the latency that is a miss, and the one that ends the run."""

from __future__ import annotations

from rtstone.documents.run import Requirement
from rtstone.errors import UsageError
from rtstone.units import quantity
from rtstone.wire.parameters import duration


def parse(limit: str | None, stop_above: str | None) -> Requirement | None:
    """Return what is required; None if neither is named.  Raises UsageError.

    A run that ends above a latency requires that latency, unless it requires a smaller one.
    """
    stop = None if stop_above is None else _latency(stop_above, "--stop-above")
    latency = stop if limit is None else _latency(limit, "--limit")
    if latency is None:
        return None
    if stop is not None and stop < latency:
        raise UsageError(
            f"--stop-above {stop_above} is below --limit {limit}, so that no miss could be seen; "
            f"write {quantity(latency, 'ns')} or more"
        )
    return Requirement(latency_ns=latency, stop_above_ns=stop)


def _latency(text: str, option: str) -> int:
    """Return a latency in ns.  Raises UsageError, also without a unit: few are of seconds."""
    if text.strip().replace(".", "", 1).isdigit():
        raise UsageError(f"no unit, in {option} {text}; write one, such as {option} 100us")
    latency = duration(text, f"in {option}")
    if not latency:
        raise UsageError(f"no latency is below {text}, in {option}; write one such as 100us")
    return latency
