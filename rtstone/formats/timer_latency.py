"""What latmus and Xenomai's latency share: their benches, and latencies below zero.

A timer that is set too early makes them.  Both tools count such latencies by their size in the
cells of their histograms, which then hold what they should not.
"""

from __future__ import annotations

from typing import Any

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import Series, result
from rtstone.formats.source import Source
from rtstone.wire.records import Bench, Param

CELL_NS = 1000
EARLY = "some latencies are below zero: the histogram, which mixes them with others, is left out"
XENOMAI = {  # what it calls contexts
    "periodic user-mode task": "user", "in-kernel periodic task": "kernel",
    "in-kernel timer handler": "irq",
}  # fmt: skip
_CONTEXTS = {
    "irq": "an interrupt handler", "sirq": "the handler of a synthetic interrupt",
    "kernel": "a kernel thread", "user": "a thread", "oob-gpio": "an answer on a GPIO line",
    "inband-gpio": "an answer on a GPIO line, in-band",
}  # fmt: skip


def us_as_ns(text: str) -> int:
    """Return a time in us, printed with three decimals, in ns."""
    return int(text.replace(".", ""))


def timer_bench(context: str, tool: str) -> Bench:
    """Return the bench of a context of these tools."""
    noun = _CONTEXTS.get(context, context)
    return Bench(
        f"{tool}.{context}", f"Latency of {noun} as {tool} measures it", tool,
        f"From the time of a timer's shot or a signal to {noun}.",
        params=[Param("interval", "duration", "ns", help="Period of the timer.")],
    )  # fmt: skip


def timer_result(
    source: Source,
    bench: Bench,
    series: Series,
    *,
    evidence: dict[str, Value],
    period_ns: int,
    overruns: int,
    lost: bool = False,
) -> Result:
    """Return the result of latencies in ns, which may be below zero.

    ``overruns``: periods that passed during a late one.  ``lost``: samples lack in n.  Raises
    UsageError if the series contradicts itself.
    """
    low, mean = series.min, series.mean
    early = low is not None and low < 0
    if early:
        if series.max is not None and (series.max < 0 or (mean is not None and mean > series.max)):
            source.refuse(f"a maximum of {series.max} ns, but a mean of {mean} ns")
        series = Series(name=series.name, n=series.n, counts={}, unit_ns=1, max=series.max)
    below: dict[str, Any] = {}
    if early and low is not None:
        below = {"min": float(low), "mean": mean}
    flags = [name for name, holds in (("omission", overruns), ("samples_lost", lost)) if holds]
    return result(
        source, bench.id, series, params={"interval": period_ns}, evidence=evidence, flags=flags,
        missed=overruns, **below,
    )  # fmt: skip
