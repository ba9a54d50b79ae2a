"""Kinds of CPUs: what doctor shows, which CPU is the default, and that the agent sees the same."""

from __future__ import annotations

import os
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rtstone.cpus import cpu_set
from rtstone.documents.capacity import Kind, kinds, largest, places, recorded
from rtstone.interrupt import Interrupt
from rtstone.measure.planner import build_plan
from rtstone.measure.request import Request
from rtstone.measure.start import measured_cpus
from rtstone.system import checks, tune
from rtstone.system.facts import CPU
from rtstone.system.probes import Probe
from rtstone.system.settings import Make
from rtstone.targets.local import Local
from tests.agent.rights import as_root
from tests.agent.speak import AGENT, QUICK, command_lines, pick, records
from tests.system.trees import Tree, plant, system, usual

ONE_PLACE = "mp.kinds"


def capacities(*sizes: object) -> Tree:
    """Return the files of as many CPUs with these capacities; None: without such a file."""
    tree = usual(cpus=len(sizes))
    return tree | {
        f"{CPU}/cpu{cpu}/cpu_capacity": f"{size}\n"
        for cpu, size in enumerate(sizes)
        if size is not None
    }


def types(**lists: str) -> Tree:
    return {f"sys/devices/cpu_{name}/cpus": f"{text}\n" for name, text in lists.items()}


LITTLE_BIG = capacities(*[446] * 4, *[1024] * 4)
BIG_LITTLE = capacities(*[1024] * 4, *[446] * 4)
THREE = capacities(*[300] * 4, *[800] * 3, 1024)
HYBRID = capacities(*[None] * 12) | types(core="0-7", atom="8-11")
HYBRID_SMT = capacities(*[1024] * 12) | types(core="0-7", atom="8-11")
TURBO = capacities(1024, 985, 950, 922)  # of a processor that prefers some of its cores
RANKED = capacities(*[None] * 4) | {
    f"{CPU}/cpu{cpu}/acpi_cppc/highest_perf": f"{rank}\n"
    for cpu, rank in enumerate((196, 191, 176, 166))
}
SILENT = capacities(*[None] * 4)
OFFLINE = {**LITTLE_BIG, f"{CPU}/online": "0-5\n", "proc/self/status": "Cpus_allowed_list:\t0-5\n"}
del OFFLINE[f"{CPU}/cpu6/cpu_capacity"], OFFLINE[f"{CPU}/cpu7/cpu_capacity"]
MANY = capacities(*[1024] * 290, *[300] * 10)

SYSTEMS = {
    "little-big": (LITTLE_BIG, 7, "good", "CPU 4-7 performance (capacity 1024); "
                   "CPU 0-3 efficiency (capacity 446); a run takes CPU 7, performance"),
    "big-little": (BIG_LITTLE, 3, "good", "CPU 0-3 performance (capacity 1024); "
                   "CPU 4-7 efficiency (capacity 446); a run takes CPU 3, performance"),
    "three": (THREE, 7, "good", "CPU 7 performance (capacity 1024); CPU 4-6 middle (capacity 800); "
              "CPU 0-3 efficiency (capacity 300); a run takes CPU 7, performance"),
    "hybrid": (HYBRID, 7, "good", "CPU 0-7 performance; CPU 8-11 efficiency; "
               "a run takes CPU 7, performance"),
    "hybrid with SMT": (HYBRID_SMT, 7, "good", "CPU 0-7 performance; CPU 8-11 efficiency; "
                        "a run takes CPU 7, performance"),
    "turbo": (TURBO, 3, "good", "all alike, capacity 922 to 1024"),
    "ranked": (RANKED, 3, "unknown", "the kernel does not report it (cpu_capacity)"),
    "silent": (SILENT, 3, "unknown", "the kernel does not report it (cpu_capacity)"),
    "offline": (OFFLINE, 5, "good", "CPU 4-5 performance (capacity 1024); "
                "CPU 0-3 efficiency (capacity 446); a run takes CPU 5, performance"),
    "many": (MANY, 289, "good", "CPU 0-289 performance (capacity 1024); "
             "CPU 290-299 efficiency (capacity 300); a run takes CPU 289, performance"),
}  # fmt: skip


def line(root: Path, **members: Any) -> tuple[str, str, str]:
    (line,) = [item for item in checks.lines(system(root, **members)) if item.id == ONE_PLACE]
    return line.verdict, line.value, line.advice


# ---- doctor -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
def test_doctor_shows_kinds_and_the_default(tmp_path: Path, name: str) -> None:
    tree, cpu, verdict, value = SYSTEMS[name]
    plant(tmp_path, tree)
    assert system(tmp_path).measured == {cpu}
    assert line(tmp_path)[:2] == (verdict, value)


def test_a_small_cpu_is_a_warning(tmp_path: Path) -> None:
    plant(tmp_path, BIG_LITTLE)
    verdict, value, advice = line(tmp_path, cpus="5")
    assert (verdict, advice) == ("warn", "--cpus 3 measures one of the largest")
    assert value.endswith("a run takes CPU 3, performance; measured here: CPU 5, efficiency")
    verdict, value, advice = line(tmp_path, cpus="all")
    assert verdict == "warn" and advice.startswith("look at each kind by itself")
    assert value.endswith("measured here: CPU 0-7, performance and efficiency")
    assert line(tmp_path, cpus="0-1")[0] == "good"


def test_isolated_cpus_come_before_large_ones(tmp_path: Path) -> None:
    plant(tmp_path, BIG_LITTLE | {f"{CPU}/isolated": "2,6-7\n"})
    assert system(tmp_path).measured == {2}
    plant(tmp_path, {f"{CPU}/isolated": "6-7\n"})
    assert system(tmp_path).measured == {7}
    assert line(tmp_path)[::2] == ("warn", "--cpus 3 measures one of the largest")


def test_where_only_small_cpus_are_allowed_doctor_says_so(tmp_path: Path) -> None:
    plant(tmp_path, BIG_LITTLE | {"proc/self/status": "Cpus_allowed_list:\t5-6\n"})
    bound = {"usable_cpus": lambda: Probe(True, "", frozenset({5, 6}))}
    verdict, value, advice = line(tmp_path, probes=bound)
    assert (verdict, value.partition("; a run takes ")[2]) == ("warn", "CPU 6, efficiency")
    assert advice == "this process may use no larger one: by its affinity, or a cpuset"


ABSURD = ("-1024", "", "0", "1025", "99999999999999999999", "many", "1.5", "512 KiB", "\0")


@pytest.mark.parametrize("text", ABSURD)
def test_an_absurd_capacity_is_none(tmp_path: Path, text: str) -> None:
    plant(tmp_path, BIG_LITTLE | {f"{CPU}/cpu1/cpu_capacity": text})
    assert line(tmp_path)[0] == "unknown"
    assert system(tmp_path).measured == {7}


def odd(root: Path, kind: str, name: str) -> None:
    """Put something at a name that is not a regular file."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(path)


@pytest.mark.parametrize("kind", ["pipe", "directory", "loop"])
@pytest.mark.parametrize("name", [f"{CPU}/cpu1/cpu_capacity", "sys/devices/cpu_core/cpus"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str, name: str) -> None:
    plant(tmp_path, (BIG_LITTLE if "capacity" in name else HYBRID))
    odd(tmp_path, kind, name)
    assert line(tmp_path)[0] == "unknown"


# ---- what else takes a CPU -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpus", "expected"), [(None, "1,3"), ("5", "4-5"), ("0", "0,4"), ("6", "4,6")]
)
def test_the_spare_cpu_of_a_partition_is_not_the_one_to_measure(
    tmp_path: Path, cpus: str | None, expected: str
) -> None:
    plant(tmp_path, BIG_LITTLE)
    box = system(tmp_path, cpus=cpus)
    (cpuset,) = tune.settings(["cpuset"])
    folders = [change for change in cpuset.plan(box) if isinstance(change, Make)]
    assert folders[0].contents[0][1] == expected
    agents = largest(cpu_set(expected), box.kinds)
    assert {max(agents)} == box.measured


def test_the_host_keeps_off_the_cpu_that_the_agent_will_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, BIG_LITTLE)
    monkeypatch.setattr(Local, "examine", lambda _: nullcontext(system(tmp_path)))
    monkeypatch.setattr(Local, "cpus", lambda _: frozenset(range(8)))
    target, plan = build_plan(Request(names=["null"]), Interrupt())
    assert measured_cpus(plan, target) == frozenset({3})


# ---- rules --------------------------------------------------------------------------------------


def test_a_tenth_is_the_limit_of_a_kind() -> None:
    def kinds_of(*sizes: int) -> list[list[int]]:
        table = dict(enumerate(sizes))
        return [sorted(kind.cpus) for kind in kinds(table, table, {})]

    assert kinds_of(1024, 922) == [[0, 1]]
    assert kinds_of(1024, 921) == [[0], [1]]
    assert kinds_of(1024, 950, 880) == [
        [0, 1],
        [2],
    ]  # the tenth is of the largest, not from one to one
    assert kinds_of(1, 1024, 1) == [[1], [0, 2]]
    assert kinds_of() == []


def test_types_tell_where_capacities_do_not() -> None:
    types = {0: "core", 1: "core", 2: "atom", 3: "lowpower"}

    def kinds_of(*sizes: int, **kind_names: str) -> list[tuple[str, list[int], str]]:
        table = dict(enumerate(sizes))
        machine = kinds(
            range(4), table, types | {int(cpu[1:]): name for cpu, name in kind_names.items()}
        )
        return [(kind.name, sorted(kind.cpus), kind.capacity) for kind in machine]

    by_type = [("performance", [0, 1], ""), ("middle", [2], ""), ("efficiency", [3], "")]
    assert kinds_of() == kinds_of(1024, 1024) == kinds_of(1024, 1024, 1024, 1024) == by_type
    assert kinds_of(400, 400, 1024, 1024) == [
        ("performance", [2, 3], "capacity 1024"), ("efficiency", [0, 1], "capacity 400"),
    ]  # fmt: skip
    assert kinds_of(c3="gpu") == []
    assert kinds_of(1024, 1000, 1024, 1024, c3="") == [
        ("all alike", [0, 1, 2, 3], "capacity 1000 to 1024")
    ]


@pytest.mark.parametrize("lists", [{"core": "0-8"}, {"core": "0-6"}, {"atom": "8-11,x"}])
def test_lists_that_contradict_themselves_tell_nothing(
    tmp_path: Path, lists: dict[str, str]
) -> None:
    plant(tmp_path, HYBRID | types(**lists))
    assert system(tmp_path).kinds == []


def test_the_largest_of_some() -> None:
    machine = [Kind("performance", frozenset({0, 1})), Kind("efficiency", frozenset({2, 3}))]
    assert largest({1, 2, 3}, machine) == {1}
    assert largest({2, 3}, machine) == {2, 3}
    assert largest({7}, machine) == {7}
    assert largest({1, 3}, []) == {1, 3}


def test_what_a_run_recorded() -> None:
    both = {"cpu.capacity": ["0-1: 1024", "2: 300"], "cpu.types": None}
    assert [str(kind) for kind in recorded(both)] == [
        "CPU 0-1 performance (capacity 1024)", "CPU 2 efficiency (capacity 300)",
    ]  # fmt: skip
    by_type = {"cpu.capacity": None, "cpu.types": ["0-1: core", "2: atom"]}
    assert [kind.name for kind in recorded(by_type)] == ["performance", "efficiency"]
    for nonsense in (None, 7, "0: 1", [], ["0: -1"], [None], ["0-9999: x"], ["a: 1"], [["0: 1"]]):
        assert recorded({"cpu.capacity": nonsense, "cpu.types": nonsense}) == []


def test_a_series_may_be_of_one_cpu() -> None:
    case = {"cpus": [0, 3, 12]}
    assert places("cpu12", case) == [12]
    assert places("cpu3 task1", case) == [3]
    assert places("cpu 3", case) == [3]
    assert places("", case) == places("cpux", case) == [0, 3, 12]
    assert places("", {}) == places("", {"cpus": None}) == []


# ---- the agent ----------------------------------------------------------------------------------


def agent_in(root: Path, *commands: str) -> list[Any]:
    """Start an agent on a made-up /sys/devices, and return what it answers."""
    script = f"mount --bind {root}/sys/devices /sys/devices && exec {AGENT} {QUICK}"
    done = subprocess.run(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", script],
        input=command_lines(*commands, "bye"), stdout=subprocess.PIPE, timeout=60, check=True,
    )  # fmt: skip
    return records(done.stdout)


@as_root
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_agent_records_what_doctor_sees(tmp_path: Path, name: str) -> None:
    plant(tmp_path, SYSTEMS[name][0])
    (conditions,) = pick(agent_in(tmp_path, "case 1 null samples=2"), "conditions")
    assert recorded(conditions["values"]) == system(tmp_path).kinds


@as_root
@pytest.mark.parametrize("kind", ["pipe", "directory", "loop"])
def test_the_agent_waits_for_nothing(tmp_path: Path, kind: str) -> None:
    plant(tmp_path, BIG_LITTLE)
    odd(tmp_path, kind, f"{CPU}/cpu1/cpu_capacity")
    (conditions,) = pick(agent_in(tmp_path, "case 1 null samples=2"), "conditions")
    assert conditions["values"]["cpu.capacity"] is None


@as_root
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all there is")
def test_the_agent_measures_on_one_of_the_largest(tmp_path: Path) -> None:
    """Of this machine's own CPUs, whose capacities are made up."""
    allowed = sorted(os.sched_getaffinity(0))
    first, last = allowed[0], allowed[-1]
    for large in (first, last):
        sizes = [1024 if cpu == large else 446 for cpu in range(last + 1)]
        plant(tmp_path, capacities(*sizes))
        (end,) = pick(agent_in(tmp_path, "case 1 null samples=2"), "end")
        assert (end["status"], end["evidence"]["cpus"]) == ("ok", [large])
