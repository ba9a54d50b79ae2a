"""Why a task set was slower than its analysis, in parts, schema rtstone.tasks-explanation/1.

Times are nanoseconds; unknown is ``None``.  A release may add members; a change of meaning changes
``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "rtstone.tasks-explanation/1"

Part = Literal["ticks", "switches", "late timers", "stalls", "throttling", "cache"]


class PartCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a part costs on the target, and the result that says so.

    ``measured``: whether it is known at all, also to be nothing; of the rest the cost stays in what
    is unexplained.  ``mean_ns``, ``max_ns``: each time that it comes.
    """

    part: Part
    measured: bool
    mean_ns: float | None = None
    max_ns: int | None = None
    source: str


class PartShare(msgspec.Struct, frozen=True, kw_only=True):
    """What a part adds to the worst response: its Shapley value, over all orders of switching on.

    ``alone_ns``: what it adds when nothing else costs anything.
    """

    part: Part
    ns: int
    alone_ns: int


class TaskExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The way from the analysis of a task to its measured response.

    ``measured_ns`` is ``free_ns`` and all ``shares`` and ``unexplained_ns``.  ``bound_ns``: worst
    response by analysis, if nothing costs anything; None: there is none.  ``free_ns``: worst in the
    simulation of the jobs that ran, likewise.  ``least_ns``, ``most_ns``: worst with all parts,
    over the drawings.  ``sure``: whether what is unexplained is more than one drawing differs from
    another.  ``reason``: why there is nothing but the bound.
    """

    task: str
    jobs: int
    bound_ns: int | None = None
    measured_ns: int | None = None
    free_ns: int | None = None
    shares: list[PartShare] = []
    least_ns: int | None = None
    most_ns: int | None = None
    unexplained_ns: int | None = None
    sure: bool = False
    reason: str | None = None

    @property
    def above_ns(self) -> int | None:
        """By how much the measured response is above the analysis'."""
        if self.measured_ns is None or self.bound_ns is None:
            return None
        return self.measured_ns - self.bound_ns


class TasksExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why the tasks of a run were slower than their analysis.

    ``run_id``: of the task set's run; ``costs_run_id``: of that which measured the costs.
    ``drawings``: simulations with costs drawn from what was measured, from ``seed`` on.
    """

    schema: str = SCHEMA
    version: str
    run_id: str
    costs_run_id: str
    title: str
    target: str
    load: str
    drawings: int
    seed: int
    parts: list[PartCost]
    tasks: list[TaskExplanation]
    notes: list[str] = []
