"""Which pauses of busy real-time tasks a kernel can make, by what a run recorded of it."""

from __future__ import annotations

from typing import Any

import pytest

from rtstone.documents.pauses import DEFAULT_SERVER, Pause, kernel_version, pauses, servers

LIMIT = {"sched.rt_runtime_us": "950000", "sched.rt_period_us": "1000000"}
OFF = LIMIT | {"sched.rt_runtime_us": "-1"}
NEW = {"kernel.release": "6.12.1-rt", "sched.rt_group_sched": "no"}
THROTTLED = Pause("throttling", 50e6, 1e9)


def fair(*entries: str) -> dict[str, Any]:
    return {"sched.fair_server": list(entries)}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, []),
        (LIMIT, [THROTTLED]),  # of a kernel that does not say which it is
        (LIMIT | {"kernel.release": "6.11.9"}, [THROTTLED]),
        (LIMIT | {"kernel.release": "6.11.9", "sched.rt_group_sched": "no"}, [THROTTLED]),
        (OFF | {"kernel.release": "6.11.9"}, []),
        (LIMIT | {"sched.rt_runtime_us": "1000000"}, []),
        (LIMIT | {"sched.rt_runtime_us": "0"}, []),
        (LIMIT | NEW, [DEFAULT_SERVER]),  # closed debugfs
        (OFF | NEW, [DEFAULT_SERVER]),
        (OFF | NEW | {"sched.fair_server": None}, [DEFAULT_SERVER]),
        (LIMIT | NEW | {"sched.fair_server": "none"}, []),
        (LIMIT | NEW | fair("0-3: 0/1000000000"), []),
        (LIMIT | NEW | fair("0-3: 200000000/1000000000"), [Pause("server", 2e8, 1e9)]),
        (LIMIT | NEW | {"sched.rt_group_sched": "on"}, [THROTTLED, DEFAULT_SERVER]),
        # the groups are off, but not the limit of all real-time tasks together
        (LIMIT | NEW | {"sched.rt_group_sched": "off"}, [THROTTLED, DEFAULT_SERVER]),
        (LIMIT | NEW | {"sched.rt_group_sched": None}, [THROTTLED, DEFAULT_SERVER]),
        (LIMIT | NEW | {"sched.rt_group_sched": "on"} | fair("0: 0/1000000000"), [THROTTLED]),
        # of a distribution that has servers in an older kernel
        (LIMIT | NEW | {"kernel.release": "5.14.0-570.el9"} | fair("0: 50000000/1000000000"),
         [DEFAULT_SERVER]),
        (OFF | NEW | {"kernel.release": "7.2.13"} | fair("0: nonsense", "1: 7/0"),
         [DEFAULT_SERVER]),
    ],
)  # fmt: skip
def test_pauses_of_kernels_and_settings(conditions: dict[str, Any], expected: list[Pause]) -> None:
    assert pauses(conditions) == expected


def test_servers_are_those_of_the_measured_cpus() -> None:
    conditions = NEW | fair("0-1: 50000000/1000000000", "3: 0/1000000000", "10: 7/100000")
    small, large = Pause("server", 7, 100_000), Pause("server", 50e6, 1e9)
    assert servers(conditions) == [large, small]
    assert servers(conditions, [1]) == [large]
    assert servers(conditions, [3]) == []
    assert servers(conditions, [3, 10]) == [small]
    assert servers(conditions, [2]) is None  # nothing is recorded of that one
    assert servers(NEW) is None
    assert servers({"kernel.release": "6.1"}) == []


def test_the_server_of_sched_ext_counts_while_one_is_loaded() -> None:
    conditions = NEW | fair("0: 0/1000000000") | {"sched.ext_server": ["0: 20000000/1000000000"]}
    assert servers(conditions) == []
    for state in (None, "", "disabled"):
        assert servers(conditions | {"sched_ext.state": state}) == []
    assert servers(conditions | {"sched_ext.state": "enabled"}) == [Pause("server", 2e7, 1e9)]
    loaded = NEW | fair("0: 0/1000000000") | {"sched_ext.state": "enabled"}
    assert servers(loaded) is None
    assert servers(loaded | {"sched.ext_server": "none"}) == []


@pytest.mark.parametrize(
    ("release", "version"),
    [("6.12.117+deb13-arm64", (6, 12)), ("7.2", (7, 2)), ("7", None), ("", None), (None, None),
     (6.12, None), ("FreeRTOS 11.2", None)],
)  # fmt: skip
def test_versions(release: object, version: tuple[int, int] | None) -> None:
    assert kernel_version(release) == version
