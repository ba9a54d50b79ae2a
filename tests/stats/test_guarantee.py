from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.run import Run, Target
from rtstone.errors import UsageError
from rtstone.report.worstcase.guarantee import guarantee_markdown
from rtstone.stats.worstcase.extremes import worst_case
from rtstone.stats.worstcase.guarantee import guarantee, worst_cases
from tests.stats.lab import lab, result
from tests.stats.recorded import latencies, run


def test_the_largest_bound_under_any_load_is_the_statements() -> None:
    idle, heavy = latencies(), latencies(20_000.0, load="heavy", seed=2)
    statement = guarantee([run("a", idle, heavy), run("b", latencies(seed=3))])
    assert (statement.verdict, statement.reasons) == ("bound", [])
    bounds = {case.load: case.worst_case.bound for case in statement.cases}
    assert statement.bound == bounds["heavy"] == worst_case([heavy]).bound
    hours = {load.load: (load.hours, load.n) for load in statement.loads}
    assert hours == {"none": (2.0, 80_000), "heavy": (1.0, 40_000)}  # the idle ones are pooled
    heavy_load = next(load for load in statement.loads if load.load == "heavy")
    assert (heavy_load.parts, heavy_load.settings) == (["cpu"], {"place": "other"})
    assert statement.drivers == "pci:ahci, pci:e1000e"
    assert "SCHED_FIFO at priority 98" in statement.application[0]
    assert statement.kernel["kernel.release"] == "6.1.0-rt"


@pytest.mark.parametrize(
    ("bench", "conditions", "says"),
    [
        ("int.latency.user", {}, True),  # recorded.py's kernel is PREEMPT_RT by its version
        ("int.latency.user", {"kernel.version": "#1 SMP PREEMPT"}, False),
        ("int.latency.user", {"kernel.version": "#1 SMP", "kernel.realtime": "1"}, True),
        ("int.latency.user", {"kernel.version": "#1 SMP", "kernel.realtime": "0"}, False),
        ("dk.periodic", {}, False),
    ],
)
def test_a_timerfd_on_preempt_rt_has_no_guarantee(
    bench: str, conditions: dict[str, Any], says: bool
) -> None:
    case = structs.replace(latencies(), bench=bench)
    measured = run("a", case, latencies(load="heavy", seed=2))
    measured = structs.replace(measured, conditions=measured.conditions | conditions)
    unproven = guarantee([measured]).unproven
    assert any("timerfd" in sentence for sentence in unproven) is says


def test_of_an_rtos_nothing_is_said_that_only_linux_has() -> None:
    linux = run("a", latencies())
    text = guarantee_markdown(guarantee([linux]), [])
    for words in ("SCHED_FIFO", "memory is locked", "## Drivers in use", "bound to CPU"):
        assert words in text
    assert linux.agent
    rtos = structs.replace(
        linux,
        agent=structs.replace(linux.agent, port="freertos", os="FreeRTOS V11.2.0"),
        conditions={"freertos.tick_hz": 1000},
    )
    text = guarantee_markdown(guarantee([rtos]), [])
    for words in ("SCHED_", "memory is locked", "Drivers in use", "bound to CPU"):
        assert words not in text
    assert "it runs as a task of priority 98, and nothing" in text
    assert "freertos.tick_hz: 1" in text


def test_the_time_of_an_emulated_run_is_virtual() -> None:
    counted = structs.replace(latencies(section_s=90.0), unit="instructions")
    measured = structs.replace(
        run("a", counted), target=Target(name="qemu:x", detail={"board": "virt-a53"})
    )
    text = guarantee_markdown(guarantee([measured]), [])
    assert "| 90.0 s of virtual time |" in text and "not recorded" not in text


def test_one_load_without_a_bound_and_nothing_is_guaranteed() -> None:
    short = latencies(load="heavy", section_s=5.0)
    statement = guarantee([run("a", latencies(), short)])
    assert (statement.verdict, statement.bound) == ("inconclusive", None)
    assert len(statement.reasons) == 1
    assert statement.reasons[0].startswith("dk.periodic under load heavy: measured for 5 s")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"flags": ["no_rt"]}, "without real-time privileges"),
        ({"flags": ["no_mlock"]}, "without locked memory"),
        ({"flags": ["server"]}, "under a deadline server"),
        ({"flags": ["other_run"]}, "another run of rtstone"),
        ({"status": "incomplete", "reason": "load died"}, "load died"),
        ({"status": "failed", "reason": "no timer"}, "no timer"),
    ],
)
def test_what_stands_against_it_is_said(changes: dict[str, Any], says: str) -> None:
    spoilt = structs.replace(latencies(), **changes)
    statement = guarantee([run("a", spoilt)])
    assert statement.verdict == "inconclusive"
    assert any(says in reason for reason in statement.reasons)


def test_a_model_and_an_emulated_machine_guarantee_nothing() -> None:
    model = structs.replace(
        run("a", latencies()), target=Target(name="sim:x", detail={"model": "x"})
    )
    statement = guarantee([model])
    assert (statement.nature, statement.bound) == ("model", None)
    assert "a model was measured" in statement.reasons[0]
    board = lab("linux-6.1-rt", [result("dk.periodic", [400.0] * 50 + [500.0] * 50)])
    statement = guarantee([board])
    assert (statement.nature, statement.unit) == ("emulated", "instructions")
    assert "not how long" in statement.reasons[0]
    assert "a rate per hour" in statement.reasons[1]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (run("b", latencies(), **{"kernel.release": "6.6"}), "kernel.release (a 6.1.0-rt, b 6.6)"),
        (run("b", latencies(), **{"cpu.model": "B"}), "CPU (a a CPU, b B)"),
        (run("b", latencies(), drivers="pci:nvme"), "drivers"),
        (run("b", latencies(), drivers=None), "drivers (a pci:ahci, pci:e1000e, b unknown)"),
        (structs.replace(run("b", latencies()), target=Target(name="ssh:x")), "target"),
        (run("a", latencies()), "named twice"),
    ],
)
def test_runs_of_several_systems_are_refused(other: Run, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        guarantee([run("a", latencies()), other])
    assert says in str(refused.value)


def test_what_it_is_about() -> None:
    sleep = structs.replace(latencies(), bench="dk.nanosleep")
    lacking = structs.replace(latencies(), status="unsupported", n=0, load="heavy")
    both = run("a", latencies(), sleep, lacking)
    assert [case.bench for case in guarantee([both]).cases] == ["dk.periodic"]
    assert [case.bench for case in guarantee([both], "dk.nanosleep").cases] == ["dk.nanosleep"]
    with pytest.raises(UsageError, match=r"did you mean 'dk\.periodic'"):
        guarantee([both], "dk.periodi")
    with pytest.raises(UsageError, match="from a request to the application"):
        guarantee([run("a", sleep)])


def test_a_case_with_another_priority_is_another_case() -> None:
    lower = structs.replace(latencies(), params={"period": 1_000_000, "prio": 50, "time": 5})
    longer = structs.replace(latencies(seed=5), params={"period": 1_000_000, "prio": 98, "time": 5})
    statement = guarantee([run("a", latencies(), lower, longer)])
    assert [case.worst_case.n for case in statement.cases] == [80_000, 40_000]


def test_estimates_of_a_run_are_of_all_that_has_samples() -> None:
    empty = structs.replace(latencies(), n=0)
    estimated = worst_cases(run("a", latencies(), empty, latencies(load="heavy")))
    assert [case.load for case in estimated.cases] == ["none", "heavy"]
