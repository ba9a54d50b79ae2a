"""A CPU quota that a control group sets to the agent, where this system has such groups."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.agent.rights import as_root
from tests.agent.speak import AGENT, QUICK, Json, command_lines, pick, records
from tests.kinds.kinds import control_group, inside, without

pytestmark = [pytest.mark.machine, as_root]
BUSY = "det.bintime time=1000000000 samples=0"
QUOTA = "cpu.cfs_quota_us"


def measured(group: Path, case: str = BUSY) -> list[Json]:
    fair = without("sys_nice", "sys_resource")  # no real time
    done = subprocess.run(
        [*inside(group), *fair, str(AGENT), QUICK],
        input=command_lines("conditions", f"case 1 {case}", "bye"),
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return records(done.stdout)


def test_held_back_periods_are_counted_over_the_case() -> None:
    with control_group({QUOTA: "20000"}) as group:
        answers = measured(group)
        counted = (group / "cpu.stat").read_text().split()
    (end,) = pick(answers, "end")
    assert end["status"] == "ok", end
    most = int(counted[counted.index("nr_throttled") + 1])
    assert 5 <= end["evidence"]["quota_periods"] <= most  # of 1 s in periods of 0.1 s
    (conditions,) = pick(answers, "conditions")
    assert conditions["values"]["cgroup.cpu_quota"].split(", ")[0] == "20000 of 100000 us"


def test_a_quota_that_suffices_holds_nothing_back() -> None:
    with control_group({QUOTA: "400000"}) as group:
        (end,) = pick(measured(group), "end")
    assert end["evidence"]["quota_periods"] == 0


@pytest.mark.parametrize(("before", "after"), [("-1", "20000"), ("20000", "-1")])
def test_a_quota_that_is_set_or_lifted_while_it_measures_counts(before: str, after: str) -> None:
    """One that was set later went unseen, and one that was lifted took back what was counted."""
    with control_group({QUOTA: before}) as group:
        change = f"sleep 1; echo {after} >{group}/{QUOTA}"
        if not (group / QUOTA).exists():
            pytest.skip("the quota of cgroup v2 has another file")
        with subprocess.Popen(["sh", "-c", change]) as changing:
            (end,) = pick(measured(group, "det.bintime time=2000000000 samples=0"), "end")
        assert changing.returncode == 0
    assert end["status"] == "ok", end
    assert end["evidence"]["quota_periods"] > 0
