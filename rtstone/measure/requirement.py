"""Parse `--limit` and `--stop-above`: the latency that is a miss, and the one that ends the run."""

from __future__ import annotations

from typing import Literal

from rtstone.documents.run import Requirement
from rtstone.errors import UsageError
from rtstone.units import INSTRUCTION_COUNT, quantity
from rtstone.wire.parameters import duration

Unit = Literal["ns", "instructions"]
MOST = 10**10  # instructions; less than an hour on every board
_SAMPLES: dict[Unit, str] = {"ns": "100us", "instructions": "'20k instr'"}


def parse(limit: str | None, stop_above: str | None, unit: Unit = "ns") -> Requirement | None:
    """Return what is required; None if neither is named.  Raises UsageError.

    A run that ends above a latency requires that latency, unless it requires a smaller one.
    ``unit``: of the target's results.
    """
    stop = None if stop_above is None else _latency(stop_above, "--stop-above", unit)
    latency = stop if limit is None else _latency(limit, "--limit", unit)
    if latency is None:
        return None
    if stop is not None and stop < latency:
        raise UsageError(
            f"--stop-above {stop_above} is below --limit {limit}, so that no miss could be seen; "
            f"write {quantity(latency, unit)} or more"
        )
    return Requirement(latency=latency, stop_above=stop, unit=unit)


def _latency(text: str, option: str, unit: Unit) -> int:
    """Return a latency.  Raises UsageError, also without a unit: few are of seconds."""
    if text.strip().replace(".", "", 1).isdigit():
        raise UsageError(
            f"no unit, in {option} {text}; write one, such as {option} {_SAMPLES[unit]}"
        )
    sample = f"write one such as {option} {_SAMPLES[unit]}"
    if unit == "instructions":
        latency = INSTRUCTION_COUNT.parse(text)
        if latency is None or not 0 <= latency <= MOST:
            raise UsageError(
                f"bad number '{text}' of a target that counts instructions, in {option}; {sample}"
            )
    elif "instr" in text:
        raise UsageError(f"the target measures time, not '{text}', in {option}; {sample}")
    else:
        latency = duration(text, f"in {option}")
    if not latency:
        raise UsageError(f"no latency is below {text}, in {option}; {sample}")
    return latency
