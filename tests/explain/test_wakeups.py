"""When what a sample waited for was due, as the bound has it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtstone.explain.bound import recorded_handlers, wakeups
from rtstone.explain.recording import RECORD, Kind, Recording
from rtstone.explain.samples import Moment


class Samples:
    """One sample, due at 1000 and taken at 1300."""

    buckets = (0,)
    raw = SimpleNamespace(bits=7)

    def __init__(self, per_tick: float) -> None:
        self.per_tick = per_tick

    def moment(self, index: int) -> Moment:
        assert index == 0
        return Moment(1300, 300, True)


def recording(*rows: tuple[int, int, int, int]) -> Recording:
    return Recording.parse(np.array(list(rows), RECORD).tobytes(), b"")


@pytest.mark.parametrize(("per_tick", "step"), [(1.0, 0), (0.5, 0), (6.25, 6)])
@pytest.mark.parametrize(
    ("held", "idle", "late"), [(0, 0, 20), (12, 0, 8), (500, 0, 0), (500, 1004, 4)]
)  # fmt: skip
def test_the_timer_is_late_by_up_to_a_step_of_its_clock_more(
    per_tick: float, step: int, held: int, idle: int, late: int
) -> None:
    """But not while interrupts were masked up to its handler, unless the processor waited."""
    rows = [(990, 1, 0, Kind.SWITCHED), (1020, 1100, held, Kind.HANDLED),
            (1200, 2, 0, Kind.SWITCHED)]  # fmt: skip
    recorded = recording(*([(idle, 0, 0, Kind.IDLED)] if idle else []), *rows)
    every: Any = Samples(per_tick)
    result = wakeups(every, recorded, recorded_handlers(recorded))
    assert result.longest == 200
    assert result.late == (late + step if late else 0)
