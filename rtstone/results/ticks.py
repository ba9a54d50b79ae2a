"""Convert readings of the agent's clock to the unit of a result: ns, or instructions in a lab."""

from __future__ import annotations

from typing import NamedTuple

from rtstone.documents.plan import Plan
from rtstone.documents.run import Clock, Figure
from rtstone.units import NS_PER_S
from rtstone.wire import records as wire

INSTRUCTIONS = "instructions"


class Net(NamedTuple):
    """Convert ticks to net units of one operation.

    ``whole``: the unit comes in whole numbers, so that a reading stands for the nearest of them.
    """

    overhead: int
    per_tick: float
    batch: int = 1
    whole: bool = False

    def value(self, ticks: float | None) -> float | None:
        """Return the net value; never clamped.  The tenth of a picosecond is below every clock."""
        return None if ticks is None else self.exactly(ticks)

    def exactly(self, ticks: float) -> float:
        """Return the net value, None for None."""
        return round((self.gross(ticks) - self.gross(self.overhead)) / self.batch, 4)

    def mean(self, total: int, n: int) -> float:
        """Return the net value of a mean, which is not a single reading."""
        return round((total / n * self.per_tick - self.gross(self.overhead)) / self.batch, 4)

    def gross(self, ticks: float) -> float:
        """Return the raw value of the clock: overhead and batch included."""
        units = ticks * self.per_tick
        return round(units) if self.whole else units


class Scale(NamedTuple):
    """The conversion of ticks of one agent's clock.

    ``clock`` None: its record has not come.  ``instructions_per_s``: what the target's clock really
    counts, 0 if it is time.
    """

    clock: wire.Clock | None
    instructions_per_s: float

    @classmethod
    def for_plan(cls, plan: Plan, clock: wire.Clock | None) -> Scale:
        """Return the scale of a clock on the plan's target."""
        rate = plan.target.detail.get("instructions_per_s")
        return cls(clock, rate if isinstance(rate, int | float) else 0)

    @property
    def unit(self) -> str:
        """The unit of results: "instructions", or the clock's own; "ns" while that is unknown."""
        if self.instructions_per_s:
            return INSTRUCTIONS
        return self.clock.unit if self.clock else "ns"

    def net(self, hz: int, overhead: int = 0, batch: int = 1) -> Net:
        """Return the conversion of ticks of ``hz``; ``overhead`` ticks of each are the clock's."""
        per_tick = NS_PER_S / hz if self.unit == "ns" else 1.0
        if self.instructions_per_s:
            per_tick = self.instructions_per_s / hz
        return Net(overhead, per_tick, batch, whole=self.instructions_per_s > 0)

    def latency(self, ns: int | None) -> int | None:
        """Return a latency that was limited, as its user wrote it: see Plan.limits_ns."""
        if ns is None or not self.instructions_per_s:
            return ns
        return int(ns * self.instructions_per_s // NS_PER_S)

    def figure(self, value: float | None, unit: str) -> Figure:
        """Return a figure of the agent; times become instructions where those are counted."""
        if unit == "ns" and value is not None and self.instructions_per_s:
            return Figure(
                value=round(value * self.instructions_per_s / NS_PER_S, 4), unit=INSTRUCTIONS
            )
        return Figure(value=value, unit=unit)

    def document(self) -> Clock | None:
        """Return the run document's clock."""
        if (clock := self.clock) is None:
            return None
        net = self.net(clock.hz)
        return Clock(
            source=clock.source,
            hz=clock.hz,
            resolution_ns=round(clock.granule * net.per_tick, 4),
            overhead_ns=round(net.gross(clock.overhead), 4),
            unit=self.unit,
        )
