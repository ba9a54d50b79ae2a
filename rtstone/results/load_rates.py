"""Check the rates that a load achieved while a case ran, and say where it ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtstone.cpus import cpu_list
from rtstone.documents.plan import STAND_INS
from rtstone.documents.run import Result
from rtstone.wire.records import Rate

TOLERANCE = 0.2  # of its rate that a part of a load may miss (design, rules of measuring)

_SHORT = "missed its rate"


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
            return f"{rate.component} {_SHORT} by more than {TOLERANCE:.0%}: {reached}"
        if achieved <= 0:
            return f"{rate.component} did nothing"
    return None


def rate_remedy(results: Iterable[Result]) -> str:
    """Return what to do about results that are incomplete as a load missed its rate, else ""."""
    short = (lighter(r.reason, r.load) for r in results if r.status == "incomplete")
    how = next(filter(None, short), "")
    return f"repeat {how}" if how else ""


def lighter(reason: str | None, load: str) -> str:
    """Return how to repeat what is incomplete as its load missed its rate, else ""."""
    if f" {_SHORT} " not in (reason or ""):
        return ""
    stand_in = STAND_INS.get(load)
    other = f"with --load {stand_in}" if stand_in else "under a lighter load"
    return f"while the machine does less, or {other}"


def load_place(result: Result) -> str:
    """Return on which CPUs the load of a result ran, and which were measured; "" if not known."""
    cpus = result.load_rates[0].cpus if result.load_rates else None
    measured = result.evidence.get("cpus")
    if not cpus or not isinstance(measured, list):
        return ""
    on = {cpu for cpu in measured if isinstance(cpu, int)}
    where = (
        "which was measured" if on == set(cpus) else f"the measured CPU {cpu_list(on)} among them"
        if on <= set(cpus) else f"beside the measured CPU {cpu_list(on)}"
    )  # fmt: skip
    return f"on CPU {cpu_list(cpus)}, {where}"
