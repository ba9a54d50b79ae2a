"""When time was stolen: an agent that reads a made-up /proc/stat, in a namespace of its own."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.agent.rights import as_root
from tests.agent.speak import AGENT, QUICK, Json, command_lines, pick, records

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = [
    pytest.mark.machine,
    as_root,
    pytest.mark.skipif(len(CPUS) < 2, reason="an agent on the measured CPU does not look"),
]
TICK_NS = 10_000_000
PERIOD = f"dk.periodic samples=16 warmup=0 period=40000000 prio=50 cpus={CPUS[-1]}"


def written(stat: Path, ticks: int) -> None:
    """Write steal time of the measured CPU; the length stays, so that no reader sees half of it."""
    numbers = f"1 0 1 1 0 0 0 {ticks:09} 0 0"
    lines = [f"cpu  {numbers}", *(f"cpu{cpu} {numbers}" for cpu in CPUS)]
    with stat.open("r+") as file:
        file.write("\n".join(lines) + "\n")


def measured(stat: Path, ticks: int, extra: int, case: str = PERIOD) -> tuple[Json, Json]:
    """Return result and evidence of 0.6 s in whose middle so many ticks are stolen."""
    stat.touch()
    written(stat, ticks)
    plant = f"mount --bind {stat} /proc/stat && exec {AGENT} {QUICK}"
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", plant], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin and agent.stdout
        agent.stdin.write(command_lines(f"case 1 {case}", "bye"))
        agent.stdin.flush()
        lines = b""
        while b'"t":"case"' not in lines:
            lines += agent.stdout.readline()
        time.sleep(0.35)
        written(stat, ticks + extra)
        lines += agent.stdout.read()
    all_records = records(lines)
    return pick(all_records, "result")[0], pick(all_records, "end")[0]["evidence"]


def test_each_of_the_worst_samples_has_what_was_stolen_around_it(tmp_path: Path) -> None:
    result, evidence = measured(tmp_path / "stat", 7, 3)
    assert evidence["steal_ns"] == 3 * TICK_NS
    assert 0 < evidence["steal_near_ns"] < evidence["steal_watched_ns"]
    assert set(result["worst_steal"]) == {0, 3 * TICK_NS}
    # All 16 samples are among the worst, 40 ms apart: those between the looks have it.
    near = [at for (_, _, at), steal in zip(result["worst"], result["worst_steal"], strict=True)
            if steal]  # fmt: skip
    assert len(result["worst_steal"]) == 16
    assert len(near) < 16
    assert max(near) - min(near) <= evidence["steal_near_ns"] + TICK_NS


@pytest.mark.parametrize("case", [PERIOD, f"{PERIOD} config=1cpu"])
def test_there_are_no_looks_where_they_disturb_or_nothing_is_ever_stolen(
    tmp_path: Path, case: str
) -> None:
    result, evidence = measured(tmp_path / "stat", 5 * (case != PERIOD), 3, case)
    assert result["worst_steal"] is None
    assert evidence.get("steal_watched_ns") is None
