"""The sentence of a sample."""

from __future__ import annotations

import pytest

from rtstone.documents.explanation import Sample, Segment, Stack, Way
from rtstone.explain.description import sentence


def way(value: float, raw: float) -> Way:
    return Way(
        sample=Sample(index=0, at_s=None, value=value, raw=raw),
        segments=[Segment(kind="task", start=0, length=raw)] if raw else [],
        stacks=[Stack(frames=["main", "rts_now"], cost=raw)] if raw else [],
    )


@pytest.mark.parametrize(
    ("value", "raw", "begins"),
    [
        (90, 100, "90 instructions, 100% of them the measured tasks themselves; rts_now ran for"),
        (0, 4, "no more than reading the clock, 4 instructions, 100% of them the measured tasks"),
        (-2, 4, "no more than reading the clock, 4 instructions, 100%"),
        (0, 0, "0 instructions: it ended where it began"),
    ],
)
def test_how_long_it_was(value: float, raw: float, begins: str) -> None:
    assert sentence(way(value, raw)).startswith(begins)
