"""Reservations on this machine: what is reserved arrives, and nothing of it is left behind."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.agent.speak import QUICK, Agent, figures, listed, pick, talk

GROUPS = Path("/sys/fs/cgroup")
BALANCE = GROUPS / "cpuset" / "cpuset.sched_load_balance"  # of cgroup v1
SHORT = "samples=20 warmup=2 period=2000000 budget=600000 share=1000000"
MECHANISMS = [bench["id"] for bench in listed("bench") if bench["id"].startswith("iso.")]
LIMITED = {"iso.deadline", "iso.deadline.reclaim", "iso.rtgroup"}  # by a budget that is declared

root = pytest.mark.skipif(os.geteuid() != 0, reason="reservations are root's")


def left_behind() -> list[str]:
    """Return the groups of cases, wherever they are, and whether v1's balance is off."""
    groups = [str(path) for path in GROUPS.rglob("rtstone-case-*")]
    off = BALANCE.exists() and BALANCE.read_text().strip() == "0"
    return [*groups, *(["balance off"] if off else [])]


def test_there_are_six_mechanisms() -> None:
    assert sorted(MECHANISMS) == [
        "iso.deadline", "iso.deadline.reclaim", "iso.partition", "iso.priorities", "iso.quota",
        "iso.rtgroup",
    ]  # fmt: skip


@root
@pytest.mark.parametrize("antagonist", ["overrun", "fork", "fault", "interrupts"])
@pytest.mark.parametrize("bench", MECHANISMS)
def test_a_reservation_is_measured_or_the_reason_is_named(bench: str, antagonist: str) -> None:
    # An antagonist on another CPU, time-sharing, has to get the CPU from what else runs there.
    words = "samples=120 warmup=2" if bench == "iso.partition" else SHORT
    records = talk([f"case 1 {bench} antagonist={antagonist} {words}"], QUICK)
    (end,) = pick(records, "end")
    assert not left_behind()
    if end["status"] == "unsupported":
        assert re.match("the (reservation|antagonist): |needs ", end["reason"])
        return
    assert end["status"] == "ok", end["reason"]
    series = {record["series"]: record for record in pick(records, "result")}
    assert list(series) == ["alone", "beside", "lost alone", "lost beside"]
    assert len({record["n"] for record in series.values()}) == 1
    shown = figures(series["alone"])
    assert shown["done by the antagonist"] > 0
    declared = {name for name in shown if name.startswith(("largest", "sums"))}
    assert bool(declared) == (bench in LIMITED or bench == "iso.quota")
    if bench in LIMITED:
        assert 80 <= shown["largest sum admitted"] <= 100
        assert shown["sums over 100% refused"] == 1
    if bench == "iso.quota":
        assert shown["largest sum admitted"] == 150
        assert shown["sums over 100% refused"] == 0


@root
@pytest.mark.parametrize("bench", ["iso.deadline", "iso.quota", "iso.rtgroup", "iso.partition"])
def test_nothing_is_left_of_a_reservation_whose_agent_is_killed(bench: str) -> None:
    (end,) = pick(talk([f"case 1 {bench} {SHORT}"], QUICK), "end")
    if end["status"] == "unsupported":
        pytest.skip(end["reason"])
    with Agent() as agent:
        agent.send(f"case 1 {bench} samples=4000 period=10000000")
        end_by = time.monotonic() + 60
        while not left_behind() and time.monotonic() < end_by:
            time.sleep(0.01)
        running = left_behind()
        agent.send_signal(signal.SIGKILL)
    if bench != "iso.deadline" or len(os.sched_getaffinity(0)) > 1:
        assert running
    end_by = time.monotonic() + 60
    while left_behind() and time.monotonic() < end_by:
        time.sleep(0.05)
    assert not left_behind()


@root
def test_a_budget_is_no_longer_than_its_period() -> None:
    for words in ("budget=3000000 period=2000000", "share=6000000 budget=1000000 period=5000000"):
        (end,) = pick(talk([f"case 1 iso.priorities {words}"], QUICK), "end")
        assert (end["status"], end["reason"]) == (
            "failed", "parameters budget, share: no longer than the period",
        )  # fmt: skip


@root
def test_edf_runs_by_default_where_a_partition_can_be_made() -> None:
    """On one of several CPUs; the same words without the rights to it name one cause."""
    (end,) = pick(talk(["case 1 iso.partition samples=120"], QUICK), "end")
    if end["status"] == "unsupported":
        pytest.skip(end["reason"])
    for words in ("hart.PH.1 policy=edf duration=100000000 start=1000000 stop=first",
                  "dk.periodic policy=deadline samples=20"):  # fmt: skip
        records = talk([f"case 1 {words}"], QUICK)
        (end,) = pick(records, "end")
        assert end["status"] == "ok", end["reason"]
    assert not left_behind()
