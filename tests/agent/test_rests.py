"""Busy benches rest: none runs into a limit of the time that real-time tasks may have."""

from __future__ import annotations

import subprocess

import pytest

from tests.agent.speak import SIM, command_lines, listed, pick, records
from tests.agent.truth import C

# As RT throttling by default: 950 ms of each second.
LIMIT = "throttle=950000000"
# Their busy tasks are not real-time where there is such a limit; each sample of bg50 takes long.
# Those of grow.yield are ready all the time, which is what it is about: of its 15 samples.
# An antagonist of iso.* never rests: how the limit takes from the reserved task is what they show.
SHARED = ("sched.bg50.", "dk.schedlat", "grow.yield", "iso.")
BENCHES = [b["id"] for b in listed("bench", SIM) if not b["id"].startswith(SHARED)]
LONG = "mq.throughput"  # one sample is of thousands of messages


def costs(times: int) -> list[str]:
    """Return so many times the costs of other checks, so that seconds have few samples."""
    works = {"add": 1000, "copy": 10_000, "set": 10_000, "kwi": 1_000_000}
    return [
        *(f"cost.{name.rstrip('_')}.fixed={1000 * times * ns}" for name, ns in C._asdict().items()),
        *(f"cost.{work}.amount=0:0,1:{ps}" for work, ps in works.items()),
    ]


def pauses(bench: str, times: int) -> int:
    """Return how often real-time tasks of a case had used up their share of a second."""
    commands = command_lines(f"case 1 {bench} samples=0 time=2300000000", "bye")
    done = subprocess.run(
        [SIM, *costs(times), LIMIT], input=commands, capture_output=True, timeout=60, check=True
    )
    (end,) = pick(records(done.stdout), "end")
    assert end["status"] in {"ok", "unsupported"}
    return done.stderr.count(b"throttled\n")


@pytest.mark.parametrize("bench", BENCHES)
def test_no_bench_is_throttled(bench: str) -> None:
    assert pauses(bench, 1 if bench == LONG else 30) == 0


def test_a_sample_that_takes_longer_than_rests_leave_is_throttled() -> None:
    assert pauses(LONG, 90) > 0
