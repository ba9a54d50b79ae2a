"""Load provoke: every action works or says why not, asks for consent, and restores what it changed.

Files of the kernel that an action changes are copies here, in a namespace of mounts of their own.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rtstone.documents.provocation import CONSENTS
from rtstone.measure.actions import ACTIONS, CONTROL
from tests.agent.processes import name_of, parents
from tests.agent.rights import as_root
from tests.agent.speak import listed
from tests.agent.test_loads import LoadAgent
from tests.waiting import soon

pytestmark = pytest.mark.machine

OWN = {a.name: a for a in [CONTROL, *ACTIONS] if a.load.startswith("provoke:")}
UNPRIVILEGED = [name for name, action in OWN.items() if action.consent == "own"]
SMALL = {"herd": 50, "readdir": 200, "locks": 200, "hugesplit": 1}  # of those that take long


def test_the_catalogue_is_that_of_the_agent(agent: LoadAgent) -> None:
    """Names, and by its refusals what each needs consent for."""
    loads = {load["id"]: load for load in listed("load")}
    assert {a.load.partition(":")[0] for a in ACTIONS} <= set(loads)
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


def test_what_a_system_refuses_is_said(agent: LoadAgent) -> None:
    record = agent.answer("load provoke action=inotify n=3000", "loaded")
    assert record["status"] == "failed"
    assert "inotify (/proc/sys/fs/inotify/max_user_instances): " in record["reason"]


# ---- what is restored ------------------------------------------------------------------------


def restorers() -> list[int]:
    return [pid for pid in parents() if name_of(pid) == "rtstone-provoke"]


TRACING = "/sys/kernel/tracing"
CHANGED = {  # the file, what it holds before, and what it has to begin with, or end with, after
    "schedstats": ("/proc/sys/kernel/sched_schedstats", "7\n", "7"),
    "hugepages": ("/sys/kernel/mm/transparent_hugepage/enabled",
                  "always [madvise] never\n", "madvise"),
    "ftrace": (f"{TRACING}/current_tracer", "nop\n", "nop"),
    "kprobe": (f"{TRACING}/kprobe_events", "", "-:rtstone_provoke"),
}  # fmt: skip


def mounted(tmp_path: Path, name: str) -> tuple[list[str], Path]:
    """Return the start of a command line with a copy of the kernel's file, and the copy."""
    path, before, _ = CHANGED[name]
    if path.startswith(TRACING):
        folder = tmp_path / "tracing"
        (folder / "events/kprobes/rtstone_provoke").mkdir(parents=True)
        (folder / "events/kprobes/rtstone_provoke/enable").write_text("0")
        source, target, copy = folder, TRACING, folder / Path(path).name
    else:
        source = copy = tmp_path / "copy"
        target = path
    copy.write_text(before)
    bind = f'mount --make-rprivate / && mount --bind {source} {target} && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", bind, "sh"], copy


@as_root
@pytest.mark.parametrize("victim", ["agent", "worker", "none"])
@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_is_restored_however_the_load_ends(
    tmp_path: Path, name: str, victim: str
) -> None:
    path = Path(CHANGED[name][0])
    if not (path.parent.is_dir() if name in {"ftrace", "kprobe"} else path.exists()):
        pytest.skip(f"needs {path}")
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
    text, after = copy.read_text(), CHANGED[name][2]
    assert text.rstrip().endswith(after) if name == "kprobe" else text.startswith(after)


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
