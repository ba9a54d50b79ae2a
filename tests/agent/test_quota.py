"""A CPU quota that a control group sets to the agent, where this system has such groups."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agent.rights import as_root
from tests.agent.speak import AGENT, QUICK, Json, asked, pick, records

pytestmark = [pytest.mark.machine, as_root]
BUSY = "det.bintime time=1000000000 samples=0"
FAIR = "--bounding-set=-sys_nice,-sys_resource --inh-caps=-sys_nice,-sys_resource"  # no real time
V1 = Path("/sys/fs/cgroup/cpu")
V2 = Path("/sys/fs/cgroup")


class Limit(NamedTuple):
    """A control group, made for a test, and what was written to it."""

    group: Path
    quota: str


@contextmanager
def limited(quota_us: int) -> Iterator[Limit]:
    """Make a control group with that quota of 100 ms, and remove it once it is empty."""
    mount, name = (V1, "cpu.cfs_quota_us") if V1.is_dir() else (V2, "cpu.max")
    group = mount / f"rtstone-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / name).write_text(str(quota_us))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group of CPU time can be made: {error}")
    try:
        yield Limit(group, f"{quota_us} of 100000 us")
    finally:
        end = time.monotonic() + 5
        while group.is_dir():  # an agent's helpers leave it shortly after it
            with suppress(OSError):
                group.rmdir()
            assert time.monotonic() < end
            time.sleep(0.01)


def measured(group: Path) -> list[Json]:
    enter = f"echo $$ >{group}/cgroup.procs && exec setpriv {FAIR} {AGENT} {QUICK}"
    done = subprocess.run(
        ["sh", "-c", enter], input=asked("conditions", f"case 1 {BUSY}", "bye"),
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return records(done.stdout)


def test_held_back_periods_are_counted_over_the_case() -> None:
    with limited(20_000) as limit:
        answers = measured(limit.group)
        counted = (limit.group / "cpu.stat").read_text().split()
    (end,) = pick(answers, "end")
    assert end["status"] == "ok", end
    most = int(counted[counted.index("nr_throttled") + 1])
    assert 5 <= end["evidence"]["quota_periods"] <= most  # of 1 s in periods of 0.1 s
    (conditions,) = pick(answers, "conditions")
    assert conditions["values"]["cgroup.cpu_quota"].split(", ")[0] == limit.quota


def test_a_quota_that_suffices_holds_nothing_back() -> None:
    with limited(400_000) as limit:
        (end,) = pick(measured(limit.group), "end")
    assert end["evidence"]["quota_periods"] == 0
