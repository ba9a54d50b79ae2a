"""The clock of the samples: the counter, or the vDSO clock where it cannot be used."""

from __future__ import annotations

import os
import statistics

import pytest

from tests.agent.speak import BUILD, pick, talk

pytestmark = pytest.mark.machine


@pytest.mark.parametrize(("args", "source"), [((), ""), (("--clock=vdso",), "vdso")])
def test_every_stamp_is_of_the_clock_that_the_agent_names(
    args: tuple[str, ...], source: str
) -> None:
    """Successive readings add up to what passed by other clocks.

    That is at most the time of the section and, as they lack only what comes before the first one
    and after the last, at least the CPU time that it took: both are the same for an undisturbed
    task.  An interrupt before the first one counts as CPU time, so the median of the cases is
    compared with that.
    """
    records = talk(
        [f"case {i} det.bintime clock=counter samples=50000 warmup=0" for i in range(1, 21)], *args
    )
    clock = pick(records, "clock")[0]
    assert clock["source"] == source or not source
    if source == "vdso":
        assert clock["hz"] == 10**9
    of_cpu_time = []
    for result, end in zip(pick(records, "result"), pick(records, "end"), strict=True):
        assert end["status"] == "ok", end["reason"]
        assert result["hz"] == clock["hz"]
        sum_ns, evidence = result["sum"] / result["hz"] * 1e9, end["evidence"]
        assert sum_ns < 1.05 * evidence["section_ns"]
        of_cpu_time.append(sum_ns / evidence["cpu_ns"])
    assert statistics.median(of_cpu_time) > 0.95


def test_the_clock_is_measured_on_the_cpu_of_the_case() -> None:
    """Where that is of another kind, its overhead and granule are not the default CPU's."""
    begin = talk(["case 1 null samples=20"], agent=BUILD / "tests" / "kinds-agent")
    default = pick(begin, "end")[0]["evidence"]["cpus"][0]
    other_cpus = sorted(os.sched_getaffinity(0) - {default})
    if not other_cpus:
        pytest.skip("needs two CPUs")
    commands = [
        f"case {i} null samples=20 cpus={cpu}" for i, cpu in ((1, default), (2, other_cpus[0]))
    ]
    records = talk(commands, agent=BUILD / "tests" / "kinds-agent")
    (clock,) = pick(records, "clock")
    here, case_records = pick(records, "result")
    assert (here["overhead"], here.get("granule")) == (clock["overhead"], None)
    assert (case_records["overhead"], case_records["granule"]) == (77, 13)
