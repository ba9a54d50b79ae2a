from __future__ import annotations

import pytest

from rtstone.documents.plan import Plan, Trace
from rtstone.documents.run import Requirement, Target
from rtstone.errors import UsageError
from rtstone.measure import trace
from rtstone.measure.requirement import Unit, parse
from rtstone.results.ticks import Scale
from rtstone.units import NS_PER_S


@pytest.mark.parametrize(
    ("limit", "stop_above", "required"),
    [
        (None, None, None),
        ("100us", None, Requirement(latency=100_000)),
        (" 1.5ms ", "2ms", Requirement(latency=1_500_000, stop_above=2_000_000)),
        ("100us", "100us", Requirement(latency=100_000, stop_above=100_000)),
        (None, "200us", Requirement(latency=200_000, stop_above=200_000)),
    ],
)
def test_what_may_be_required(
    limit: str | None, stop_above: str | None, required: Requirement | None
) -> None:
    assert parse(limit, stop_above) == required


@pytest.mark.parametrize(
    ("limit", "stop_above", "message"),
    [
        ("100", None, "no unit, in --limit 100; write one, such as --limit 100us"),
        ("1.5", None, "no unit, in --limit 1.5"),
        (None, "100", "no unit, in --stop-above 100"),
        ("0us", None, "no latency is below 0us, in --limit"),
        ("soon", None, "bad time 'soon', in --limit"),
        ("200us", "100us", "--stop-above 100us is below --limit 200us"),
    ],
)
def test_what_cannot_be_required(limit: str | None, stop_above: str | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(limit, stop_above)
    assert message in str(error.value)


def test_the_tracer_waits_for_the_sample_that_ends_the_run() -> None:
    assert trace.parse("worst", 200_000) == Trace(above_ns=200_000, keep=1)
    assert trace.parse("worst") == Trace(above_ns=0, keep=1)
    assert trace.parse("above=50us", 200_000) == Trace(above_ns=50_000, keep=trace.KEEP)


@pytest.mark.parametrize(
    ("limit", "number"), [("20k instr", 20_000), ("750instr", 750), (" 1.5M instr", 1_500_000)]
)
def test_a_target_that_counts_instructions_is_limited_by_them(limit: str, number: int) -> None:
    required = Requirement(latency=number, unit="instructions")
    assert parse(limit, None, "instructions") == required


@pytest.mark.parametrize(
    ("limit", "unit", "message"),
    [
        (
            "100us",
            "instructions",
            "bad number '100us' of a target that counts instructions, in --l",
        ),
        ("11G instr", "instructions", "write one such as --limit '20k instr'"),
        ("0.5 instr", "instructions", "bad number '0.5 instr'"),
        ("0 instr", "instructions", "no latency is below 0 instr"),
        ("200", "instructions", "no unit, in --limit 200; write one, such as --limit '20k instr'"),
        ("20k instr", "ns", "the target measures time, not '20k instr', in --limit"),
    ],
)
def test_a_limit_in_the_unit_of_another_target(limit: str, unit: Unit, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(limit, None, unit)
    assert message in str(error.value)


@pytest.mark.parametrize("shift", [4, 7])
@pytest.mark.parametrize("number", [1, 3, 750, 20_000, 10**10])
def test_instructions_come_back_as_they_were_written(shift: int, number: int) -> None:
    """An agent takes ns; where its clock counts instructions, a sample of one more is above."""
    per_s = NS_PER_S >> shift
    target = Target(name="qemu:x", detail={"instructions_per_s": per_s})
    plan = Plan(run_id="r", created="", command=[], suite=None, target=target, keep_idle=False,
                cases=[], benches={})  # fmt: skip
    required = Requirement(latency=number, stop_above=number + 1, unit="instructions")
    miss, stop = plan.in_ns(required)
    scale = Scale.for_plan(plan, None)
    assert (scale.latency(miss), scale.latency(stop)) == (number, number + 1)
    assert miss * per_s // NS_PER_S == number  # as the agent makes ticks of it
    assert plan.in_ns(Requirement(latency=5)) == (5, 0)
