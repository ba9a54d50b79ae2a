from __future__ import annotations

from typing import Any

import pytest

from rtstone.assemble.flags import BY_NAME, FLAGS, Seen, flags
from rtstone.wire.records import Result

CLEAN: dict[str, Any] = {
    "sched": "fifo", "locked": True, "tasks": 1, "nivcsw": 0, "minflt": 0, "majflt": 0,
    "migrations": 0, "steal_ns": 0, "smi": None, "shared": False, "section_ns": 10**9,
    "cpu_ns": 10**8,
}  # fmt: skip
LIMIT = {"sched.rt_runtime_us": "950000", "sched.rt_period_us": "1000000"}


def seen(result: dict[str, Any], evidence: dict[str, Any], clock: str = "tsc") -> Seen:
    base: dict[str, Any] = {
        "id": 1,
        "series": "",
        "hz": 10**9,
        "n": 1,
        "sum": 9,
        "bits": 7,
        "min": 9,
        "max": 9,
    }
    return Seen(Result(**base | result), CLEAN | evidence, LIMIT, clock)


def test_a_clean_result_has_no_flag() -> None:
    assert flags(seen({}, {})) == []


def test_nothing_known_raises_no_flag() -> None:
    assert flags(seen({}, dict.fromkeys(CLEAN))) == []
    assert flags(seen({}, dict.fromkeys(CLEAN, "what?"))) == []


@pytest.mark.parametrize(
    ("name", "result", "evidence"),
    [
        ("no_rt", {}, {"sched": "other"}),
        ("no_mlock", {}, {"locked": False}),
        ("page_faults", {}, {"minflt": 1, "locked": None}),
        ("faults_locked", {}, {"minflt": 1}),
        ("faults_locked", {}, {"majflt": 1, "minflt": None}),
        ("other_run", {}, {"others": 1}),
        ("traced", {}, {"snapshots": 0}),
        ("preempted", {}, {"nivcsw": 1}),
        ("migrated", {}, {"migrations": 1}),
        ("steal", {}, {"steal_ns": 10**7}),
        ("smi", {}, {"smi": 1}),
        ("throttled", {"max": 50_000_000}, {"cpu_ns": 950_000_000}),
        ("shared_cpu", {}, {"shared": True}),
        ("shared_cpu", {}, {"shared": True, "cpus": [0]}),
        ("no_spare_cpu", {}, {"shared": True, "cpus": [0, 1]}),
        ("missed", {"missed": 1}, {}),
        ("negative", {"negative": 1}, {}),
        ("overflow", {"overflow": 1}, {}),
        ("batched", {"batch": 2}, {}),
        ("clock_backwards", {"max": 2**63}, {}),
        ("cut_short", {"figures": [["tests that the time did not allow", 3.0, ""]]}, {}),
        ("scaled", {"figures": [["time scale", 0.5, ""]]}, {}),
        ("clock_set", {"figures": [["wake-ups at which the clock was set", 1.0, ""]]}, {}),
    ],
)
def test_each_flag_has_its_cause(
    name: str, result: dict[str, Any], evidence: dict[str, Any]
) -> None:
    assert flags(seen(result, evidence)) == [name]


def test_who_has_but_one_cpu_cannot_share_it_otherwise() -> None:
    shared = seen({}, {"shared": True})
    for online, found in (("0", []), ("0-1", ["shared_cpu"])):
        assert flags(shared._replace(conditions={**LIMIT, "cpu.online": online})) == found


def test_the_clock_of_the_system_is_told() -> None:
    assert flags(seen({}, {}, clock="vdso")) == ["vdso_clock"]
    assert flags(seen({}, {})._replace(params={"clock": "realtime"})) == ["wall_clock"]


def test_who_asks_for_time_sharing_has_no_rights_to_miss() -> None:
    shared = seen({}, {"sched": "other"})
    assert flags(shared._replace(params={"policy": "other"})) == []
    assert flags(shared._replace(params={"policy": "rr"})) == ["no_rt"]


@pytest.mark.parametrize(
    ("result", "evidence"),
    [
        ({}, {"nivcsw": 5, "tasks": 2}),
        ({}, {"sched": "fifo", "cpu_ns": 950_000_000}),
        ({"max": 50_000_000}, {}),
        ({"figures": [["tests that the time did not allow", 0.0, ""]]}, {}),
        ({"figures": [["time scale", 1.0, ""]]}, {}),
        ({"figures": [["wake-ups at which the clock was set", 0.0, ""]]}, {}),
    ],
)
def test_no_flag_without_its_whole_cause(result: dict[str, Any], evidence: dict[str, Any]) -> None:
    assert flags(seen(result, evidence)) == []


def test_every_flag_says_what_to_do() -> None:
    assert len(BY_NAME) == len(FLAGS)
    assert all(flag.cause and flag.advice for flag in FLAGS)


@pytest.mark.parametrize(
    ("result", "median", "coarse"),
    [
        ({"overhead": 100}, 359, True),  # 259 ticks net, 10 steps are 260
        ({"overhead": 100}, 360, False),
        ({"overhead": 100}, None, False),
        ({"overhead": 100, "batch": 2}, 200, False),
        ({"overhead": 0}, 200, False),  # lateness, or a bench of the clock itself
    ],
)
def test_intervals_too_short_for_the_clock(
    result: dict[str, Any], median: float | None, coarse: bool
) -> None:
    found = seen(result, {})._replace(granule=26, median=median)
    assert ("coarse" in flags(found)) is coarse
