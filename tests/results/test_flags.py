from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from rtstone.results.flags import BY_NAME, FLAGS, Seen, flags
from rtstone.wire.records import Rate, Result, TextTable

CLEAN: dict[str, Any] = {
    "sched": "fifo", "locked": True, "tasks": 1, "nivcsw": 0, "minflt": 0, "majflt": 0,
    "migrations": 0, "steal_ns": 0, "quota_periods": 0, "smi": None, "shared": False,
    "section_ns": 10**9, "cpu_ns": 10**8,
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


@pytest.mark.parametrize("name", CLEAN)
def test_a_damaged_piece_of_evidence_is_no_error(name: str) -> None:
    """Each may be any value of the wire, a list of lists too."""
    for value in ([[0, 1]], [None], "text", 1.5, None, True):
        assert isinstance(flags(seen({}, {name: value})), list)


def under(rates: list[Rate], section_ns: int, figures: tuple[tuple[str, float, str], ...]) -> Seen:
    seen_figures = seen({"figures": figures}, {"section_ns": section_ns})
    return seen_figures._replace(load=rates)


def test_a_case_under_load_has_to_see_some_bursts_of_it() -> None:
    rates = [Rate("cpu", "bursts", achieved=10.0, window_s=1.0, wanted=10.0)]
    assert flags(under(rates, 499_999_999, ())) == ["brief_load"]
    assert flags(under(rates, 500_000_000, ())) == flags(under([], 1, ())) == []


def test_hartstone_may_starve_a_load_and_says_so() -> None:
    starved = [Rate("cpu", "bursts", achieved=7.9, window_s=1.0, wanted=10.0)]
    reached = (("breakdown utilisation", 60.0, "%"),)
    assert flags(under(starved, 10**9, reached)) == ["load_starved"]
    unbroken = (("no breakdown up to", 0.0, "%"),)
    assert flags(under(starved, 10**9, unbroken)) == ["load_starved"]
    assert flags(under(starved, 10**9, ())) == []  # its result is incomplete
    enough = [structs.replace(starved[0], achieved=8.0)]
    # What it got while deadlines held decides, not what was left of it above the breakdown.
    for counted, flagged in ((8.0, []), (7.9, ["load_starved"])):
        parts = [structs.replace(starved[0], achieved=2.0, counted=counted, counted_s=1.0)]
        assert flags(under(parts, 10**9, reached)) == flagged
        parts = [structs.replace(starved[0], achieved=10.0, counted=counted, counted_s=1.0)]
        assert flags(under(parts, 10**9, reached)) == flagged
    assert flags(under(enough, 10**9, reached)) == []


def test_runs_of_one_case_differ_by_a_tenth_at_most() -> None:
    def flags_of(highest: float) -> list[str]:
        return flags(
            under([], 10**9, (("lowest of 3", 2.0, "ns"), ("highest of 3", highest, "ns")))
        )

    assert (flags_of(2.2), flags_of(2.21)) == ([], ["differing_runs"])


@pytest.mark.parametrize(
    ("independence", "flagged"),
    [
        ("independent", []),
        ("by no timer: the program itself requests each", []),
        ("dependent: a timer of the scheduler", ["dependent_source"]),
    ],
)
def test_a_source_of_interrupts_that_is_a_timer_of_the_system(
    independence: str, flagged: list[str]
) -> None:
    source = TextTable("any", ["source", "independence"], [["x", independence]])
    assert flags(seen({"tables": [source]}, {})) == flagged
    assert flags(seen({"tables": [TextTable("any", ["source"], [[independence]])]}, {})) == []


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
        ("quota", {}, {"quota_periods": 1}),
        ("smi", {}, {"smi": 1}),
        ("suspended", {}, {"suspended_ns": 1}),
        ("suspended", {}, {"stops": 1}),
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


@pytest.mark.parametrize(
    ("series", "cpus", "expected"),
    [
        ("", [3], []),
        ("", [4], ["smaller_cpu"]),
        ("", [5], ["smaller_cpu"]),
        ("", [0, 3], []),
        ("", [3, 4], ["mixed_cpus"]),
        ("cpu3", [3, 4], []),
        ("cpu4", [3, 4], ["smaller_cpu"]),
        ("cpu4 task1", [3, 4], ["smaller_cpu"]),
        ("", [9], []),  # nothing is known of it
        ("", [], []),
    ],
)
def test_a_smaller_cpu_and_a_mixture_are_told(
    series: str, cpus: list[int], expected: list[str]
) -> None:
    kinds = {"cpu.capacity": ["0-3: 1024", "4: 600", "5: 300"]}
    case = seen({"series": series}, {"cpus": cpus})
    assert flags(case._replace(conditions=LIMIT | kinds)) == expected
    assert flags(case._replace(conditions=LIMIT | {"cpu.capacity": ["0-5: 1024"]})) == []
    assert flags(case) == []


# hw.latency that never rests beside a load, in guests of the lab (see docs/guides/environment.md):
# the longest gap in instructions, section and CPU time in ns, and what the guest recorded.
SPUN: dict[str, tuple[int | None, int, int, dict[str, Any]]] = {
    "6.1": (3_105_846, 3_998_683_920, 3_850_242_016,
            LIMIT | {"kernel.release": "6.1.0-56-arm64", "sched.fair_server": "none",
                     "sched.rt_group_sched": "no"}),
    "6.12": (3_419_702, 4_005_405_904, 3_791_154_496,
             LIMIT | {"kernel.release": "6.12.117+deb13-arm64", "sched.rt_group_sched": "no",
                      "sched.fair_server": ["0: 50000000/1000000000"]}),
    "enlarged": (12_818_732, 4_005_626_576, 3_190_910_976,
                 LIMIT | {"kernel.release": "6.12.117+deb13-arm64", "sched.rt_group_sched": "no",
                          "sched.fair_server": ["0: 200000000/1000000000"]}),
    "off": (None, 3_998_517_648, 3_998_146_272,
            LIMIT | {"kernel.release": "6.12.117+deb13-arm64", "sched.rt_group_sched": "no",
                     "sched.fair_server": ["0: 0/1000000000"]}),
}  # fmt: skip


def spun(name: str, **members: Any) -> Seen:
    longest, section, cpu, conditions = SPUN[name]
    samples = {"max": longest} if longest else {"n": 0, "sum": 0, "min": None, "max": None}
    case = seen(samples | {"hz": 62_500_000}, {"section_ns": section, "cpu_ns": cpu})
    return case._replace(conditions=conditions | members)


@pytest.mark.parametrize(
    ("name", "members", "expected"),
    [
        ("6.1", {}, ["throttled"]),
        ("6.12", {}, ["server"]),
        ("6.12", {"sched.rt_runtime_us": "-1"}, ["server"]),
        ("6.12", {"sched.fair_server": None, "sched.rt_runtime_us": "-1"}, ["server"]),
        ("6.12", {"sched.fair_server": None}, ["server"]),
        # a kernel that has both says which it may have been
        ("6.12", {"sched.rt_group_sched": "on"}, ["throttled", "server"]),
        ("6.12", {"sched.rt_group_sched": None}, ["throttled", "server"]),
        ("6.12", {"sched.rt_group_sched": "on", "sched.fair_server": ["0: 0/1000000000"]},
         ["throttled"]),
        ("enlarged", {}, ["server"]),
        ("enlarged", {"sched.rt_group_sched": "on"}, ["server"]),
        ("off", {}, []),
        ("off", {"sched.rt_runtime_us": "-1"}, []),
    ],
)  # fmt: skip
def test_who_paused_a_busy_task(name: str, members: dict[str, Any], expected: list[str]) -> None:
    assert flags(spun(name, **members)) == expected


def test_the_server_is_that_of_the_measured_cpu() -> None:
    case = spun("6.12", **{"sched.fair_server": ["0: 0/1000000000", "1: 50000000/1000000000"]})
    for cpus, expected in (([0], []), ([1], ["server"]), ([0, 1], ["server"])):
        assert flags(case._replace(evidence={**case.evidence, "cpus": cpus})) == expected


def test_two_busy_cpus_have_two_seconds_each() -> None:
    evidence = {"cpus": [0, 1], "section_ns": 10**9, "cpu_ns": 19 * 10**8, "tasks": 2}
    case = seen({"max": 50_000_000}, evidence)
    assert flags(case._replace(conditions=SPUN["6.12"][3] | {"sched.fair_server": None})) == [
        "server"
    ]


def test_a_gap_that_was_not_taken_from_the_tasks_own_time_is_no_pause() -> None:
    """A hypervisor's or the firmware's counts as CPU time of the task."""
    case, longest = spun("6.12"), 54_715_232
    for lost, expected in ((longest / 2 - 2, []), (longest / 2 + 2, ["server"])):
        cpu = case.evidence["section_ns"] - lost
        assert flags(case._replace(evidence={**case.evidence, "cpu_ns": cpu})) == expected


@pytest.mark.parametrize(
    ("longest_ms", "share", "expected"),
    [(25.1, 0.91, ["server"]), (24.9, 0.91, []), (99.9, 0.91, ["server"]), (100.1, 0.91, []),
     (50, 0.9026, ["server"]), (50, 0.9024, [])],
)  # fmt: skip
def test_a_pause_has_its_length_and_its_share(
    longest_ms: float, share: float, expected: list[str]
) -> None:
    case = seen({"max": round(longest_ms * 1e6)}, {"section_ns": 10**10, "cpu_ns": share * 1e10})
    assert flags(case._replace(conditions=SPUN["6.12"][3])) == expected


def test_who_has_but_one_cpu_cannot_share_it_otherwise() -> None:
    shared = seen({}, {"shared": True})
    for online, expected in (("0", []), ("0-1", ["shared_cpu"])):
        assert flags(shared._replace(conditions={**LIMIT, "cpu.online": online})) == expected


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
    seen_figures = seen(result, {})._replace(granule=26, median=median)
    assert ("coarse" in flags(seen_figures)) is coarse
