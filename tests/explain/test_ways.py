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


OOM = ["out_of_memory", "oom_kill_process", "dump_header", "dump_stack"]


@pytest.mark.parametrize(
    ("longest", "stack", "says"),
    [
        (
            20,
            OOM,
            "; 20 within dump_stack, called by dump_header < oom_kill_process < out_of_memory",
        ),
        (19, OOM, ""),
        (20, ["kthread"], "; 20 within kthread"),
        (20, [], ""),
    ],
)
def test_where_no_function_took_long_what_lasted_is_named(
    longest: int, stack: list[str], says: str
) -> None:
    """As of an OOM kill on linux-6.1-rt, whose report is printed with interrupts masked."""
    late = [
        Segment(kind="irq-delay", start=0, length=longest, stack=stack),
        Segment(kind="irq-delay", start=longest, length=longest - 1, stack=["other"]),
    ]
    length = sum(segment.length for segment in late)
    rest = [Segment(kind=kind, start=0, length=18) for kind in ("switch", "wakeup", "task")]
    stacks = [Stack(frames=[*stack, f"f{i}"], cost=10) for i in range(10)]
    sample = Sample(index=0, at_s=None, value=100, raw=100)
    all_of_it = Way(sample=sample, segments=[*late, *rest], stacks=stacks)
    expected = f"100 instructions, {length}% of them interrupt delivered late{says}"
    assert sentence(all_of_it) == expected
