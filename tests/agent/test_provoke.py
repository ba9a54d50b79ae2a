"""Load provoke: every action works or says why not, asks for consent, and restores what it changed.

Files of the kernel that an action changes are copies here, in a namespace of mounts of their own.
"""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path
from random import Random

import pytest

from rtstone.documents.provocation import CONSENTS
from rtstone.measure.actions import ACTIONS, CONTROL, PROCESSES
from tests.agent.processes import gone, name_of, parents
from tests.agent.rights import as_root, copied, nobody
from tests.agent.speak import BUILD, HASTY, listed
from tests.agent.test_loads import LoadAgent
from tests.waiting import soon

pytestmark = pytest.mark.machine

OWN = {a.name: a for a in [CONTROL, *PROCESSES] if a.load.startswith("provoke:")}
UNPRIVILEGED = [name for name, action in OWN.items() if action.consent == "own"]
SMALL = {"herd": 50, "readdir": 200, "locks": 200, "hugesplit": 1}  # of those that take long


def test_the_catalogue_is_that_of_the_agent(agent: LoadAgent) -> None:
    """Names, and by its refusals what each needs consent for."""
    loads = {load["id"]: load for load in listed("load")}
    assert {a.load.partition(":")[0] for a in PROCESSES} <= set(loads)
    params = {param["name"]: param for param in loads["provoke"]["params"]}
    assert set(params["action"]["choices"]) == set(OWN)
    assert params["consent"]["choices"] == list(CONSENTS[:3])
    for name, action in OWN.items():
        for consent in CONSENTS[: CONSENTS.index(action.consent)]:
            record = agent.answer(f"load provoke action={name} consent={consent}", "loaded")
            assert record["status"] == "unsupported", name
            assert record["reason"].startswith(f"action {name} ")
            advice = "only a guest of the lab does it" if action.consent == "lab" else ""
            assert (advice or f"allow it with consent={action.consent}") in record["reason"]


@pytest.mark.parametrize("name", UNPRIVILEGED)
def test_what_needs_no_consent_works(agent: LoadAgent, name: str) -> None:
    record = agent.answer(f"load provoke action={name} n={SMALL.get(name, 0)}", "loaded")
    if record["status"] != "ok":
        assert record["reason"].startswith("component provoke: "), record["reason"]
        pytest.skip(record["reason"])
    (part,) = agent.work().values()
    assert part["unit"] == "rounds"


@pytest.mark.parametrize("name", ["bandwidth", "cache"])
def test_what_cpus_share_is_counted_in_bytes(agent: LoadAgent, name: str) -> None:
    agent.load(f"{name} processes=2 size=1048576")
    assert len(agent.workers()) == 2
    (part,) = agent.work().values()
    assert part["unit"] == "bytes"
    assert part["achieved"] > 1 << 20


def test_what_a_system_refuses_is_unsupported_with_the_reason(agent: LoadAgent) -> None:
    record = agent.answer("load provoke action=inotify n=3000", "loaded")
    assert record["status"] == "unsupported"
    assert record["reason"] == (
        "component provoke: inotify (/proc/sys/fs/inotify/max_user_instances): Too many open files"
    )


@as_root
@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("mount consent=shared", "mounts of its own: Operation not permitted"),
        ("drop consent=shared", "/proc/sys/vm/drop_caches: Permission denied"),
        ("cgmove consent=shared", "control groups (v2): Operation not permitted"),
        ("adjtime consent=system", "adjtimex(): Operation not permitted"),
    ],
)
def test_what_there_is_no_right_for_is_unsupported(reachable: Path, action: str, says: str) -> None:
    load_agent = LoadAgent(
        *nobody(), agent=copied(HASTY, reachable), env={**os.environ, "TMPDIR": "/tmp"}
    )
    record = load_agent.answer(f"load provoke action={action}", "loaded")
    assert (record["status"], record["reason"]) == ("unsupported", f"component provoke: {says}")
    load_agent.bye()


@as_root
@pytest.mark.parametrize("online", ["0-1", "0"])
def test_what_there_are_too_few_cpus_for_is_unsupported(tmp_path: Path, online: str) -> None:
    load_agent = LoadAgent(*with_cpus(tmp_path, online))
    record = load_agent.answer("load provoke action=hotplug consent=system", "loaded")
    assert record["status"] == "unsupported"
    assert record["reason"] == "component provoke: fewer than three CPUs are online"
    load_agent.bye()


def test_a_load_without_memory_for_it_is_unsupported() -> None:
    """Whatever load it is."""
    load_agent = LoadAgent("prlimit", f"--as={1 << 30}")
    record = load_agent.answer(f"load smaps size={1 << 32}", "loaded")
    assert record["status"] == "unsupported"
    assert record["reason"] == (
        f"component smaps: no memory for {1 << 32} bytes: Cannot allocate memory"
    )
    load_agent.bye()


# ---- what is restored ------------------------------------------------------------------------


def restorers() -> list[int]:
    return [pid for pid in parents() if name_of(pid) == "rtstone-provoke"]


TRACING = "/sys/kernel/tracing"
CPUS = "/sys/devices/system/cpu"
BUSES = "/sys/bus"
CHANGED = {  # the file, what it holds before, and what it has to begin with, or end with, after
    "schedstats": ("/proc/sys/kernel/sched_schedstats", "7\n", "7"),
    "hugepages": ("/sys/kernel/mm/transparent_hugepage/enabled",
                  "always [madvise] never\n", "madvise"),
    "ftrace": (f"{TRACING}/current_tracer", "nop\n", "nop"),
    "kprobe": (f"{TRACING}/kprobe_events", "", "-:rtstone_provoke"),
    "hotplug": (f"{CPUS}/cpu3/online", "1\n", "1"),
    "suspend": (f"{BUSES}/pci/devices/card/power/control", "auto\n", "auto"),
}  # fmt: skip
FOLDERS = {"ftrace": TRACING, "kprobe": TRACING, "hotplug": CPUS, "suspend": BUSES}


def with_cpus(tmp_path: Path, online: str) -> list[str]:
    """Return the start of a command line on a system of four CPUs, of which some are online."""
    folder = tmp_path / "cpus"
    for cpu in range(4):
        (folder / f"cpu{cpu}").mkdir(parents=True)
        (folder / f"cpu{cpu}/online").write_text("1\n")
    (folder / "online").write_text(f"{online}\n")
    return bound(folder, CPUS)


def with_devices(tmp_path: Path, *states: str) -> list[str]:
    """Return the start of a command line on a system whose devices are in these states."""
    for number, state in enumerate(states):
        name = "card" if state == "suspended" else f"other{number}"
        folder = tmp_path / f"buses/pci/devices/{name}/power"
        folder.mkdir(parents=True)
        (folder / "control").write_text("auto\n")
        (folder / "runtime_status").write_text(f"{state}\n")
    return bound(tmp_path / "buses", BUSES)


def bound(source: Path, target: str) -> list[str]:
    """Return the start of a command line that has a file or folder in the place of another."""
    bind = f'mount --make-rprivate / && mount --bind {source} {target} && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", bind, "sh"]


def mounted(tmp_path: Path, name: str) -> tuple[list[str], Path]:
    """Return the start of a command line with a copy of the kernel's file, and the copy."""
    path, text, _ = CHANGED[name]
    if not Path(FOLDERS.get(name, path)).exists():
        pytest.skip(f"needs {path}")
    if name == "hotplug":
        return with_cpus(tmp_path, "0-3"), tmp_path / "cpus/cpu3/online"
    if name == "suspend":
        before = with_devices(tmp_path, "active", "suspended", "unsupported")
        return before, tmp_path / "buses/pci/devices/card/power/control"
    if name in FOLDERS:
        folder = tmp_path / "tracing"
        (folder / "events/kprobes/rtstone_provoke").mkdir(parents=True)
        (folder / "events/kprobes/rtstone_provoke/enable").write_text("0")
        source, target, copy = folder, TRACING, folder / Path(path).name
    else:
        source = copy = tmp_path / "copy"
        target = path
    copy.write_text(text)
    return bound(source, target), copy


def assert_restored(name: str, copy: Path) -> None:
    text, after = copy.read_text(), CHANGED[name][2]
    assert text.rstrip().endswith(after) if name == "kprobe" else text.startswith(after)


@as_root
@pytest.mark.parametrize("victim", ["agent", "worker", "none"])
@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_is_restored_however_the_load_ends(
    tmp_path: Path, name: str, victim: str
) -> None:
    before, copy = mounted(tmp_path, name)
    load_agent = LoadAgent(*before)
    earlier = set(restorers())
    load_agent.load(f"provoke action={name} consent=system")
    load_agent.work()
    assert not set(restorers()) <= earlier
    if victim == "agent":
        load_agent.end_now()
    elif victim == "worker":
        (worker,) = load_agent.workers()
        os.kill(worker, signal.SIGKILL)
        assert soon(lambda: set(restorers()) <= earlier)
        load_agent.bye()
    else:
        load_agent.bye()
    assert soon(lambda: set(restorers()) <= earlier)
    assert_restored(name, copy)


MOMENTS = 6


def killed_while_it_works(load_agent: LoadAgent, action: str, moment: float) -> None:
    """Start an action, kill its agent after so many seconds, and wait for all of its processes."""
    earlier = set(restorers())
    program = name_of(load_agent.pid)
    before = {pid for pid in parents() if name_of(pid) == program} - {load_agent.pid}
    load_agent.send(f"load provoke action={action}")
    time.sleep(moment)
    load_agent.end_now()
    assert soon(lambda: set(restorers()) <= earlier)
    assert soon(lambda: {pid for pid in parents() if name_of(pid) == program} <= before)


def moments(name: str) -> list[float]:
    """Return random times in s: before the action has begun, at its start, and while it works."""
    chance = Random(name)
    return [chance.uniform(0, 0.2) for _ in range(MOMENTS)]


@as_root
@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_is_restored_whenever_the_agent_is_killed(tmp_path: Path, name: str) -> None:
    for number, moment in enumerate(moments(name)):
        (folder := tmp_path / str(number)).mkdir()
        before, copy = mounted(folder, name)
        load_agent = LoadAgent(*before)
        load_agent.load("none")
        killed_while_it_works(load_agent, f"{name} consent=system", moment)
        if name != "kprobe" or copy.read_text():  # else it had not begun
            assert_restored(name, copy)


@as_root
def test_no_device_that_is_suspended_is_unsupported(tmp_path: Path) -> None:
    load_agent = LoadAgent(*with_devices(tmp_path, "active", "unsupported"))
    record = load_agent.answer("load provoke action=suspend consent=system", "loaded")
    assert record["status"] == "unsupported"
    assert record["reason"] == (
        "component provoke: no device is suspended (/sys/bus/*/devices/*/power/runtime_status)"
    )
    load_agent.bye()


def swap() -> str:
    return Path("/proc/swaps").read_text()


@as_root
def test_swap_is_off_again_whenever_the_agent_is_killed(tmp_path: Path) -> None:
    """The kernel lists what there was before, and the file is gone."""
    before = swap()
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    load_agent = LoadAgent(env=place)
    record = load_agent.answer("load provoke action=swapoff consent=system", "loaded")
    if record["status"] != "ok":
        assert record["reason"].startswith("component provoke: "), record["reason"]
        load_agent.bye()
        pytest.skip(record["reason"])
    load_agent.work()
    assert soon(lambda: swap() != before)
    assert list(tmp_path.rglob("swap"))
    load_agent.bye()
    assert (swap(), list(tmp_path.rglob("swap"))) == (before, [])
    for moment in moments("swapoff"):
        load_agent = LoadAgent(env=place)
        load_agent.load("none")
        killed_while_it_works(load_agent, "swapoff consent=system", 5 * moment)
        assert soon(lambda: (swap(), list(tmp_path.rglob("swap"))) == (before, []))


def test_more_than_the_swap_file_holds_is_refused(agent: LoadAgent) -> None:
    record = agent.answer("load provoke action=swapoff consent=system n=13", "loaded")
    assert (record["status"], record["reason"]) == (
        "unsupported", "component provoke: 13 MiB are too many to swap: 12 at most"
    )  # fmt: skip


def shared_state() -> dict[str, object]:
    """Return what processes may leave behind outside their folder: names, mounts, swap."""
    lists = ("/proc/self/mountinfo", "/proc/swaps", "/proc/sysvipc/shm", "/proc/sysvipc/sem")
    names = {path: sorted(Path(path).iterdir()) for path in ("/dev/shm", "/sys/fs/cgroup")}
    return {**{path: Path(path).read_text().splitlines() for path in lists}, **names}


@pytest.mark.parametrize("name", UNPRIVILEGED)
def test_nothing_is_left_of_what_needs_no_consent_after_a_kill(tmp_path: Path, name: str) -> None:
    """Its processes end with the agent, and its folder is removed."""
    before = shared_state()
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    load_agent = LoadAgent(env=place)
    record = load_agent.answer(f"load provoke action={name} n={SMALL.get(name, 0)}", "loaded")
    if record["status"] != "ok":
        load_agent.bye()
        pytest.skip(record["reason"])
    family = [load_agent.pid, *load_agent.workers()]
    load_agent.end_now()
    assert gone(family)
    assert soon(lambda: not list(tmp_path.iterdir()))
    assert soon(lambda: shared_state() == before)


PLANTED = BUILD / "tests/planted-kernel"


def planted(tmp_path: Path, rate: int = 0, controllers: str = "") -> LoadAgent:
    """Return an agent on a kernel whose clock and control groups are files."""
    (tmp_path / "groups").mkdir(exist_ok=True)
    (tmp_path / "groups/cgroup.subtree_control").write_text(controllers)
    (tmp_path / "rate").write_bytes(struct.pack("l", rate))
    return LoadAgent(agent=PLANTED, env={**os.environ, "PLANTED": str(tmp_path)})


def rate_of(tmp_path: Path) -> int:
    (rate,) = struct.unpack("l", (tmp_path / "rate").read_bytes())
    return int(rate)


def test_the_rate_of_the_clock_is_changed_and_restored(tmp_path: Path) -> None:
    load_agent = planted(tmp_path, -123456)
    load_agent.load("provoke action=adjtime consent=system")
    assert soon(lambda: rate_of(tmp_path) == -123456 + 65536)
    load_agent.bye()
    assert rate_of(tmp_path) == -123456


def test_the_rate_of_the_clock_is_restored_whenever_the_agent_is_killed(tmp_path: Path) -> None:
    for moment in moments("adjtime"):
        load_agent = planted(tmp_path, 777)
        load_agent.load("none")
        killed_while_it_works(load_agent, "adjtime consent=system", moment)
        assert rate_of(tmp_path) == 777


@as_root
@pytest.mark.parametrize("action", ["memcg n=20", "cgmove"])
@pytest.mark.parametrize(("before", "after"), [("cpu io", "-memory"), ("cpu memory", "cpu memory")])
def test_control_groups_are_as_before_whenever_the_agent_is_killed(
    tmp_path: Path, action: str, before: str, after: str
) -> None:
    groups = tmp_path / "groups"
    begun = 0
    for moment in moments(action):
        load_agent = planted(tmp_path, controllers=before)
        load_agent.load("none")
        killed_while_it_works(load_agent, f"{action} consent=shared", moment)
        left = (groups / "cgroup.subtree_control").read_text()
        begun += left != before
        assert [path.name for path in groups.iterdir()] == ["cgroup.subtree_control"]
        assert left in {before, after}  # as before also if it had not begun
    assert begun or before == after


@as_root
def test_what_is_killed_in_a_group_has_limits_there(tmp_path: Path) -> None:
    load_agent = planted(tmp_path)
    load_agent.load("provoke action=memcg n=20 consent=shared")
    (limited, _) = sorted((tmp_path / "groups").glob("rtstone-provoke-*"))
    assert (limited / "memory.max").read_text() == str(16 << 20)
    assert (tmp_path / "groups/cgroup.subtree_control").read_text() == "+memory"
    load_agent.bye()
    assert not list((tmp_path / "groups").glob("rtstone-provoke-*"))


@as_root
def test_control_groups_are_removed_also_after_a_kill() -> None:
    groups = Path("/sys/fs/cgroup")
    load_agent = LoadAgent()
    earlier = set(restorers())
    record = load_agent.answer("load provoke action=cgmove consent=shared", "loaded")
    if record["status"] != "ok":
        load_agent.bye()
        pytest.skip(record["reason"])
    load_agent.work()
    load_agent.end_now()
    assert soon(lambda: set(restorers()) <= earlier)
    assert not [path for path in groups.rglob("rtstone-provoke-*") if path.is_dir()]


def test_the_guide_lists_every_action() -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/provoke.md").read_text("utf-8")
    for action in ACTIONS:
        load = "" if action.load.startswith("provoke:") else f"`{action.load}`"
        row = f"| `{action.name}` | {action.consent} | {action.meanwhile} | {load} |"
        assert row in guide
