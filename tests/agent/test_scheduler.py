"""What the agent records of the scheduler, and how long its busy tasks rest, in made-up systems.

Files of the kernel are replaced in a mount namespace of the agent's own.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.rights import as_root
from tests.agent.speak import AGENT, command_lines, pick, records

pytestmark = as_root

DEBUG = "sys/debug"
LIMITS = {"rt_runtime": "950000\n", "cmdline": "quiet\n"}
CONFIG = f"boot/config-{platform.release()}"


def servers(name: str, *settings: tuple[int, int]) -> dict[str, str]:
    """Return the files of a deadline server: runtime and period of each CPU in ns."""
    return {
        f"{DEBUG}/sched/{name}/cpu{cpu}/{file}": f"{ns}\n"
        for cpu, setting in enumerate(settings)
        for file, ns in zip(("runtime", "period"), setting, strict=True)
    }


def asked_in(tmp_path: Path, files: dict[str, str]) -> tuple[dict[str, Any], str]:
    """Return the conditions that an agent records there, and its limit for busy tasks."""
    for name, text in (LIMITS | {"boot/empty": "", "sys/empty": ""} | files).items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    script = f"""
        mount --bind {tmp_path}/sys /sys/kernel && mount --bind {tmp_path}/boot /boot &&
        mount --bind {tmp_path}/cmdline /proc/cmdline &&
        mount --bind {tmp_path}/rt_runtime /proc/sys/kernel/sched_rt_runtime_us &&
        if test -e /proc/config.gz; then mount --bind /dev/null /proc/config.gz; fi &&
        exec {AGENT} --clock=vdso
    """
    done = subprocess.run(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", script],
        input=command_lines("case 1 hw.latency window=1000000000 width=999000000", "bye"),
        stdout=subprocess.PIPE, timeout=60, check=True,
    )  # fmt: skip
    answers = records(done.stdout)
    (conditions,), (end,) = pick(answers, "conditions"), pick(answers, "end")
    assert end["status"] == "unsupported"
    limit = end["reason"].partition("for more than ")[2].partition(" ms")[0]
    return conditions["values"], limit


DEFAULT, OFF = (50_000_000, 10**9), (0, 10**9)


@pytest.mark.parametrize(
    ("files", "fair", "limit"),
    [
        # closed debugfs: the default is assumed for the rests, and nothing is recorded
        ({}, None, "950 of 1000"),
        ({"rt_runtime": "990000\n"}, None, "950 of 1000"),
        ({"rt_runtime": "900000\n"}, None, "900 of 1000"),
        ({f"{DEBUG}/sched/fair_server/cpu0/runtime/closed": ""}, None, "950 of 1000"),
        # a kernel without servers
        ({f"{DEBUG}/sched/preempt": "(full)\n"}, "none", "950 of 1000"),
        ({f"{DEBUG}/sched/preempt": "(full)\n", "rt_runtime": "990000\n"}, "none", "990 of 1000"),
        ({f"{DEBUG}/sched/preempt": "(full)\n", "rt_runtime": "-1\n"}, "none", "950 of 1000"),
        (servers("fair_server", DEFAULT, DEFAULT), ["0-1: 50000000/1000000000"], "950 of 1000"),
        # the CPU whose server takes most decides, and RT throttling if it takes more
        (servers("fair_server", (200_000_000, 10**9), OFF),
         ["0: 200000000/1000000000", "1: 0/1000000000"], "800 of 1000"),
        (servers("fair_server", (10_000_000, 10**9), OFF),
         ["0: 10000000/1000000000", "1: 0/1000000000"], "950 of 1000"),
        (servers("fair_server", DEFAULT, (50_000_000, 10**8)),
         ["0: 50000000/1000000000", "1: 50000000/100000000"], "50 of 100"),
        (servers("fair_server", (10**9, 10**9), OFF),
         ["0: 1000000000/1000000000", "1: 0/1000000000"], "10 of 1000"),
        # servers and throttling off: as with the defaults
        (servers("fair_server", OFF, OFF) | {"rt_runtime": "-1\n"}, ["0-1: 0/1000000000"],
         "950 of 1000"),
        # the server of sched_ext takes its share while a scheduler is loaded
        (servers("fair_server", (200_000_000, 10**9), OFF) | servers("ext_server", DEFAULT, DEFAULT)
         | {"sys/sched_ext/state": "disabled\n"},
         ["0: 200000000/1000000000", "1: 0/1000000000"], "800 of 1000"),
        (servers("fair_server", (200_000_000, 10**9), OFF) | servers("ext_server", DEFAULT, DEFAULT)
         | {"sys/sched_ext/state": "enabled\n"},
         ["0: 200000000/1000000000", "1: 0/1000000000"], "750 of 1000"),
    ],
)  # fmt: skip
def test_servers_are_recorded_and_tasks_rest_for_them(
    tmp_path: Path, files: dict[str, str], fair: list[str] | str | None, limit: str
) -> None:
    conditions, rests = asked_in(tmp_path, files)
    assert conditions["sched.fair_server"] == fair
    assert rests == limit
    if "sys/sched_ext/state" in files:
        assert conditions["sched.ext_server"] == ["0-1: 50000000/1000000000"]
        assert conditions["sched_ext.state"] == files["sys/sched_ext/state"].strip()


RT = "CONFIG_RT_GROUP_SCHED=y\n"
PROXY = "CONFIG_SCHED_PROXY_EXEC=y\n"
DISABLED = "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n"
QUEUES = f"{DEBUG}/sched/debug"


@pytest.mark.parametrize(
    ("files", "groups", "proxies"),
    [
        ({}, None, None),
        ({CONFIG: "CONFIG_HZ=250\n"}, "no", False),
        ({CONFIG: "# CONFIG_RT_GROUP_SCHED is not set\n"}, "no", False),
        ({CONFIG: RT + PROXY}, "on", True),
        ({CONFIG: RT + PROXY, "cmdline": "rt_group_sched=0 sched_proxy_exec=no\n"}, "off", False),
        ({CONFIG: RT + PROXY, "cmdline": "rt_group_sched=on sched_proxy_exec\n"}, "on", True),
        ({CONFIG: RT + DISABLED, "cmdline": "rt_group_sched_x=1\n"}, "off", False),
        ({CONFIG: RT + DISABLED, "cmdline": "a rt_group_sched=1 b\n"}, "on", False),
        ({CONFIG: "CONFIG_HZ=250\n", "cmdline": "rt_group_sched=1 sched_proxy_exec=1\n"},
         "no", False),
        # without the configuration: the kernel names the group of a queue, where there are groups
        ({QUEUES: "cfs_rq[0]:/\nrt_rq[0]:\n  .rt_nr_running : 0\n"}, "no", None),
        ({QUEUES: "cfs_rq[0]:/\nrt_rq[0]:/\n  .rt_nr_running : 0\n"}, "on", None),
        ({QUEUES: "rt_rq[0]:/\n", "cmdline": "rt_group_sched=off\n"}, "off", None),
    ],
)  # fmt: skip
def test_groups_and_proxies_are_recorded_if_they_are_known(
    tmp_path: Path, files: dict[str, str], groups: str | None, proxies: bool | None
) -> None:
    conditions, _ = asked_in(tmp_path, files)
    assert conditions["sched.rt_group_sched"] == groups
    assert conditions["sched.proxy_exec"] is proxies


def test_the_scheduler_of_other_tasks_and_slice_extensions_are_recorded(tmp_path: Path) -> None:
    conditions, _ = asked_in(tmp_path, {
        "sys/sched_ext/state": "enabled\n",
        "sys/sched_ext/root/ops": "lavd_1.0\n",
        f"{DEBUG}/rseq/slice_ext_nsec": "5000\n",
    })  # fmt: skip
    assert (conditions["sched_ext.state"], conditions["sched_ext.ops"]) == ("enabled", "lavd_1.0")
    assert conditions["rseq.slice_extension_ns"] == "5000"
    assert conditions["rseq.slice_extension"] in (True, False)  # of this kernel
