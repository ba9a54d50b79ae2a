"""Whatever ends `tune`, and whenever: `restore` leaves the tree as it was, byte by byte."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rtstone.cli.system_lines import tuned
from rtstone.errors import TargetError, UsageError
from rtstone.system import files, journal, tune
from rtstone.system.facts import CPU, System
from rtstone.system.files import Below
from rtstone.system.journal import FOLDER, NAME, Journal
from rtstone.system.settings import SETTINGS
from rtstone.system.tune import Entry
from tests.conftest import Cli
from tests.system.trees import (
    BOOT,
    HALF,
    Kernel,
    deadline_servers,
    plant,
    snapshot,
    system,
    usual,
)

GOVERNOR = f"{CPU}/cpu3/cpufreq/scaling_governor"
STAT = "proc/sys/vm/stat_interval"
IRQ = "proc/irq/24/smp_affinity_list"
PARTITION = "sys/fs/cgroup/rtstone"
AGENTS = f"{PARTITION}/agent"
USUAL = tune.settings(None)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a directory, in memory if possible: these tests call fsync thousands of times."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="tune-") as name:
        yield Path(name)


@pytest.fixture
def tree(folder: Path) -> Path:
    root = plant(folder / "root", usual())
    (root / FOLDER).mkdir(parents=True)
    return root


def kernel_of(root: Path, **members: Any) -> System:
    return system(root, files=Kernel(root, **members))


def outcomes(entries: list[Entry]) -> dict[str, str]:
    return {entry.path or entry.setting: entry.outcome for entry in entries}


def apply(
    root: Path, *names: str, kernel: Kernel | None = None, cpus: str | None = None
) -> dict[str, str]:
    chosen = tune.settings(names or None)
    return outcomes(tune.apply(system(root, cpus=cpus, files=kernel or Kernel(root)), chosen))


def restore(root: Path, kernel: Kernel | None = None, force: bool = False) -> dict[str, str]:
    return outcomes(tune.restore(system(root, files=kernel or Kernel(root)), force=force))


def text(root: Path, name: str) -> str:
    return (root / name).read_text().strip()


# ---- what is changed ----------------------------------------------------------------------------


def test_apply_changes_what_it_should_and_nothing_else(tree: Path) -> None:
    before = snapshot(tree)
    changes = apply(tree)
    after = snapshot(tree)
    changed = {name: after[name] for name in before if after[name] != before[name]}
    every = [f"proc/irq/{irq}/smp_affinity_list" for irq in (9, 24, 131)]
    assert changed == {
        GOVERNOR: b"performance\n",
        f"{CPU}/cpu3/cpuidle/state2/disable": b"1\n",
        **dict.fromkeys(every, b"0-2\n"),
        "proc/irq/default_smp_affinity": b"7\n",
        "sys/devices/virtual/workqueue/cpumask": b"7\n",
        "proc/sys/kernel/watchdog_cpumask": b"0-2\n",
        "proc/sys/kernel/timer_migration": b"0\n",
        STAT: b"10\n",
        "sys/kernel/mm/transparent_hugepage/enabled": b"always [madvise] never\n",
        "proc/sys/fs/mqueue/msgsize_max": b"16384\n",
        "sys/fs/cgroup/cgroup.subtree_control": b"cpu cpuset memory\n",
    }
    assert text(tree, f"{PARTITION}/cpuset.cpus") == "1,3"  # one is for the agent
    assert text(tree, f"{PARTITION}/cpuset.cpus.partition") == "isolated"
    assert set(changes.values()) == {"changed", "impossible"}
    assert changes["rt_group"] == "impossible"
    assert set(restore(tree).values()) == {"restored"}
    assert snapshot(tree) == before
    assert not (tree / FOLDER / NAME).exists()
    assert restore(tree) == {}


def test_throttling_is_only_changed_when_it_is_named(tree: Path) -> None:
    runtime = "proc/sys/kernel/sched_rt_runtime_us"
    assert [setting.name for setting in SETTINGS if not setting.default] == [
        "rt_throttling", "fair_server",
    ]  # fmt: skip
    apply(tree)
    assert text(tree, runtime) == "950000"
    apply(tree, "rt_throttling")
    assert text(tree, runtime) == "-1"
    restore(tree)
    assert text(tree, runtime) == "950000"


def test_deadline_servers_of_the_measured_cpu_are_only_turned_off_when_named(tree: Path) -> None:
    plant(tree, deadline_servers(50_000_000) | deadline_servers(10_000_000, "ext_server"))
    before = snapshot(tree)
    apply(tree)
    folder = "sys/kernel/debug/sched"
    assert text(tree, f"{folder}/fair_server/cpu3/runtime") == "50000000"
    restore(tree)
    assert apply(tree, "fair_server") == {
        f"{folder}/{server}/cpu3/runtime": "changed" for server in ("fair_server", "ext_server")
    }
    assert {p: t for p, t in snapshot(tree).items() if before[p] != t} == {
        f"{folder}/{server}/cpu3/runtime": b"0\n" for server in ("fair_server", "ext_server")
    }
    assert apply(tree, "fair_server") == {"fair_server": "enough"}
    assert set(restore(tree).values()) == {"restored"}
    assert snapshot(tree) == before


def test_servers_that_are_not_there_or_not_open_are_named(tree: Path) -> None:
    def reason() -> str:
        (change,) = tune.apply(system(tree), tune.settings(["fair_server"]))
        assert change.outcome == "impossible"
        return change.reason

    assert "may open it" in reason()
    plant(tree, {"sys/kernel/debug/sched/preempt": "none (full)\n"})
    assert reason() == "it has no deadline servers"
    plant(tree, {"sys/kernel/debug/sched/fair_server/cpu3/runtime/closed": ""})
    assert reason() == "/sys/kernel/debug/sched is closed, as by lockdown"


def test_what_is_enough_is_left(tree: Path) -> None:
    plant(tree, {
        STAT: "120\n",
        "proc/sys/fs/mqueue/msgsize_max": "65536\n",
        "proc/sys/fs/mqueue/msg_max": "100\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
        GOVERNOR: "performance\n",
        IRQ: "0\n",
    })  # fmt: skip
    before = snapshot(tree)
    changes = apply(tree, "statistics", "queues", "huge_pages", "governor")
    assert set(changes.values()) == {"enough"}
    assert snapshot(tree) == before
    assert IRQ not in apply(tree, "interrupts")
    assert not any(path.startswith("proc/sys/fs") for path in changes)


def test_an_interrupt_bound_to_the_measured_cpu_goes_to_all_others(tree: Path) -> None:
    plant(tree, {IRQ: "3\n"})
    apply(tree, "interrupts")
    assert text(tree, IRQ) == "0-2"


def test_wide_masks_keep_their_words(tree: Path) -> None:
    name = "proc/irq/default_smp_affinity"
    plant(tree, {name: "ff,ffffffff\n", f"{CPU}/online": "0-39\n"})
    apply(tree, "interrupts", cpus="32")
    assert text(tree, name) == "000000fe,ffffffff"


def test_no_cpu_is_left(tree: Path) -> None:
    changes = apply(tree, cpus="0-3")
    for setting in ("interrupts", "workqueues", "watchdog", "cpuset"):
        assert changes[setting] == "impossible"


@pytest.mark.parametrize(
    ("plants", "reason"),
    [
        ({"proc/self/cgroup": ""}, "no control groups"),
        ({f"{CPU}/online": "2-3\n"}, "for the agent"),
        ({"proc/sys/kernel/osrelease": "6.1.0-56-amd64\n"}, "before Linux 6.2"),
        ({"proc/self/cgroup": "3:cpuset:/\n0::/\n", "proc/self/mountinfo":
          "35 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"}, "cgroup v1"),
    ],
)  # fmt: skip
def test_why_there_is_no_partition(tree: Path, plants: dict[str, str], reason: str) -> None:
    plant(tree, plants)
    (changes,) = tune.apply(system(tree), tune.settings(["cpuset"]))
    assert changes.outcome == "impossible"
    assert reason in changes.reason


def test_the_trap_of_group_scheduling(tree: Path) -> None:
    mount = "sys/fs/cgroup/cpu"
    plant(tree, {
        "proc/self/cgroup": "1:cpu,cpuacct:/a/b\n0::/\n",
        "proc/self/mountinfo": f"32 31 0:30 / /{mount} rw - cgroup cgroup rw,cpu,cpuacct\n",
        f"{mount}/cpu.rt_runtime_us": "950000\n",
        f"{mount}/a/cpu.rt_runtime_us": "0\n",
        f"{mount}/a/b/cpu.rt_runtime_us": "0\n",
    })  # fmt: skip
    before = snapshot(tree)
    kernel = Kernel(tree)
    apply(tree, "rt_group", kernel=kernel)
    names = [f"{mount}/a/cpu.rt_runtime_us", f"{mount}/a/b/cpu.rt_runtime_us"]
    assert kernel.writes == [(name, "950000") for name in names]  # a child needs its parent's
    kernel.writes.clear()
    restore(tree, kernel)
    assert kernel.writes == [(name, "0\n") for name in names[::-1]]
    assert snapshot(tree) == before


def test_a_name_that_is_not_known(tree: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'governor'"):
        tune.settings(["governer"])


def test_a_dry_run_writes_nothing(tree: Path) -> None:
    (tree / FOLDER).rmdir()
    before = snapshot(tree)
    entries = tune.dry_run(system(tree), USUAL)
    assert snapshot(tree) == before
    assert not (tree / FOLDER).exists()
    planned = {entry.path for entry in entries if entry.outcome == "planned"}
    (tree / FOLDER).mkdir(parents=True)
    assert planned == {path for path, outcome in apply(tree).items() if outcome == "changed"}


# ---- killed at any point ------------------------------------------------------------------------


class Killer:
    """Count the points of an operation, and kill this process at the k-th one."""

    def __init__(self, at: int | None) -> None:
        self.at, self.count = at, 0

    def __call__(self) -> None:
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


def in_child(work: Callable[[Killer], Any], at: int | None) -> int | None:
    """Do the work in a child killed at a point; return None, or the number of points if it ended.

    Writes to the journal are points too: before, after half of the line, and after.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kill = Killer(at)
            put = files._put

            def torn(handle: int, line: bytes) -> None:
                kill()
                if kill.count == kill.at:
                    os.write(handle, line[: len(line) // 2])
                kill()
                put(handle, line)
                kill()

            files._put = torn
            work(kill)
            os.write(writing, str(kill.count).encode())
        finally:
            os._exit(0)
    os.close(writing)
    said = os.read(reading, 100)
    os.close(reading)
    os.waitpid(child, 0)
    return int(said) if said else None


def applying(root: Path) -> Callable[[Killer], Any]:
    return lambda kill: tune.apply(kernel_of(root, point=kill), USUAL)


def restoring(root: Path) -> Callable[[Killer], Any]:
    return lambda kill: tune.restore(kernel_of(root, point=kill))


def points(work: Callable[[Killer], Any]) -> int:
    count = in_child(work, None)
    assert count is not None
    assert count > 60
    return count


def test_killed_at_every_step_of_apply(tree: Path, folder: Path) -> None:
    before = snapshot(tree)
    copy = shutil.copytree(tree, folder / "count")
    untouched = 0
    for at in range(points(applying(copy))):
        assert in_child(applying(tree), at) is None
        untouched += snapshot(tree) == before
        assert "failed" not in restore(tree).values()
        assert snapshot(tree) == before, f"killed at {at}"
        assert not Journal(Below(tree)).steps
    assert untouched < 10  # otherwise nothing was tested


def test_killed_and_applied_again(tree: Path, folder: Path) -> None:
    before = snapshot(tree)
    copy = shutil.copytree(tree, folder / "count")
    for at in range(0, points(applying(copy)), 3):
        assert in_child(applying(tree), at) is None
        apply(tree)
        assert text(tree, GOVERNOR) == "performance"
        restore(tree)
        assert snapshot(tree) == before, f"killed at {at}"


def test_killed_at_every_step_of_restore(tree: Path, folder: Path) -> None:
    before = snapshot(tree)
    copy = shutil.copytree(tree, folder / "count")
    apply(copy)
    for at in range(points(restoring(copy))):
        apply(tree)
        assert in_child(restoring(tree), at) is None
        restore(tree)
        assert snapshot(tree) == before, f"killed at {at}"


def test_killed_while_what_was_changed_twice_is_restored(tree: Path, folder: Path) -> None:
    before = snapshot(tree)

    def twice(root: Path) -> None:
        apply(root, "statistics")
        plant(root, {STAT: "5\n"})
        apply(root, "statistics")

    copy = shutil.copytree(tree, folder / "count")
    twice(copy)
    count = in_child(restoring(copy), None)
    assert count
    for at in range(count):
        twice(tree)
        assert in_child(restoring(tree), at) is None
        assert "left" not in restore(tree).values()
        assert snapshot(tree) == before, f"killed at {at}"


def test_killed_at_random_moments(tree: Path) -> None:
    before = snapshot(tree)
    dice = random.Random(20020304)
    for _ in range(40):
        child = os.fork()
        if child == 0:
            while True:
                try:
                    apply(tree)
                    restore(tree)
                except BaseException:
                    os._exit(1)
        time.sleep(dice.uniform(0.001, 0.05))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL  # it did not fail earlier
        _sweep(tree)
        restore(tree)
        assert snapshot(tree) == before


def _contend(root: Path, *does: Callable[[Path], Any]) -> int:
    """Start a process that does this again and again, and waits where another one is at it."""
    child = os.fork()
    while child == 0:
        for do in does:
            try:
                do(root)
            except UsageError as error:
                if "another `rtstone tune` is running" not in str(error):
                    os._exit(1)
            except BaseException:
                os._exit(2)
    return child


def test_several_at_once_that_are_killed_at_random_moments(tree: Path) -> None:
    """Who applies beside one who restores is refused, and whoever is killed loses nothing."""
    before = snapshot(tree)
    dice = random.Random(20261127)
    for _ in range(25):
        ways = ((apply,), (restore,), (apply, restore))
        children = [_contend(tree, *does) for does in ways]
        time.sleep(dice.uniform(0.002, 0.06))
        dice.shuffle(children)
        for child in children:
            os.kill(child, signal.SIGKILL)
            assert os.waitpid(child, 0)[1] == signal.SIGKILL  # it did not fail earlier
            time.sleep(dice.uniform(0, 0.02))
        _sweep(tree)
        restore(tree)
        assert snapshot(tree) == before
        assert not Journal(Below(tree)).steps


def _sweep(root: Path) -> None:
    """Remove what the scratch kernel had no time to complete: a real one is not killed."""
    if (half := root / HALF).exists():
        shutil.rmtree(half)


def test_these_tests_would_see_a_journal_that_comes_too_late(
    tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the journal is written only after the change, some kill leaves a difference."""
    before = snapshot(tree)
    put, waiting = files._put, []

    def late(handle: int, line: bytes) -> None:
        waiting.append(line)
        if b'"done"' in line:
            for entry in waiting:
                put(handle, entry)
            waiting.clear()

    monkeypatch.setattr(files, "_put", late)
    different = 0
    for at in range(8, 20):
        copy = shutil.copytree(tree, folder / f"late{at}")
        in_child(applying(copy), at)
        restore(copy)
        different += snapshot(copy) != before
    assert different


# ---- refused changes ----------------------------------------------------------------------------


def test_what_the_kernel_refuses_is_told_and_not_fatal(tree: Path) -> None:
    before = snapshot(tree)
    kernel = Kernel(tree, refused={IRQ: errno.EIO, GOVERNOR: errno.EPERM})
    changes = tune.apply(system(tree, files=kernel), USUAL)
    refused = {change.path: change.reason for change in changes if change.outcome == "refused"}
    assert refused == {IRQ: "Input/output error", GOVERNOR: "Operation not permitted"}
    assert text(tree, STAT) == "10"
    assert "governor" not in (tune.state(system(tree))["tune"] or "")
    assert IRQ not in restore(tree)  # nothing was changed, so there is nothing to restore
    assert snapshot(tree) == before


def test_a_write_that_changes_nothing_is_no_success(tree: Path) -> None:
    kernel = Kernel(tree, bent={STAT: "1\n"})
    assert apply(tree, "statistics", kernel=kernel) == {STAT: "refused"}
    assert restore(tree) == {}


def test_what_the_kernel_makes_of_a_value_is_ours(tree: Path) -> None:
    before = snapshot(tree)
    assert apply(tree, "statistics", kernel=Kernel(tree, bent={STAT: "7\n"})) == {STAT: "adjusted"}
    assert outcomes(tune.status(system(tree)).entries) == {STAT: "holds"}
    assert restore(tree) == {STAT: "restored"}
    assert snapshot(tree) == before


@pytest.mark.parametrize("at", range(3, 9))
def test_killed_where_the_kernel_makes_something_else_of_it(tree: Path, at: int) -> None:
    before = snapshot(tree)

    def work(kill: Killer) -> None:
        bent = kernel_of(tree, bent={STAT: "7\n"}, point=kill)
        tune.apply(bent, tune.settings(["statistics"]))

    in_child(work, at)
    restore(tree)
    assert snapshot(tree) == before


def test_a_partition_that_the_kernel_calls_invalid_is_taken_back(tree: Path) -> None:
    says = "isolated invalid (Cpu list in cpuset.cpus not exclusive)"
    name = f"{PARTITION}/cpuset.cpus.partition"
    kernel = Kernel(tree, bent={name: f"{says}\n"})
    changes = tune.apply(system(tree, files=kernel), tune.settings(["cpuset"]))
    assert changes[-1].outcome == "refused"
    assert says in changes[-1].reason
    assert not (tree / PARTITION).exists()
    restore(tree)
    assert text(tree, "sys/fs/cgroup/cgroup.subtree_control") == "cpu memory"


def test_a_group_that_is_not_ours_is_left(tree: Path) -> None:
    plant(tree, {f"{PARTITION}/cgroup.procs": "", f"{PARTITION}/cpuset.cpus": "0\n"})
    assert apply(tree, "cpuset")[PARTITION] == "refused"
    restore(tree)
    assert text(tree, f"{PARTITION}/cpuset.cpus") == "0"


def test_a_value_that_cannot_be_put_back_stays_in_the_journal(tree: Path) -> None:
    before = snapshot(tree)
    apply(tree)
    changes = restore(tree, Kernel(tree, refused={IRQ: errno.EIO}))
    assert [path for path, outcome in changes.items() if outcome != "restored"] == [IRQ]
    assert Journal(Below(tree)).paths() == [IRQ]
    assert restore(tree) == {IRQ: "restored"}
    assert snapshot(tree) == before


def test_a_file_that_has_gone_is_no_failure(tree: Path) -> None:
    apply(tree, "interrupts")
    shutil.rmtree(tree / "proc/irq/24")
    assert restore(tree)[IRQ] == "gone"
    assert not (tree / FOLDER / NAME).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_without_rights_nothing_is_touched_and_one_line_says_so() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users cannot enter pytest's own
        root = plant(Path(name), usual())
        root.chmod(0o755)
        before = snapshot(root)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setuid(65534)
                apply(root)
            except UsageError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        chunk = os.read(reading, 1000).decode()
        os.close(reading)
        assert chunk == (
            f"cannot write the journal, in {root / FOLDER}: Permission denied; run as root"
        )
        assert snapshot(root) == before


# ---- changes by others meanwhile ----------------------------------------------------------------


def test_a_foreign_change_is_left_unless_forced(tree: Path) -> None:
    before = snapshot(tree)
    apply(tree)
    plant(tree, {STAT: "60\n"})
    assert outcomes(tune.status(system(tree)).entries)[STAT] == "lost"
    assert tune.state(system(tree))["tune.lost"] == "statistics"
    changes = {change.path: change for change in tune.restore(kernel_of(tree))}
    assert changes[STAT].outcome == "left"
    assert "60" in changes[STAT].reason
    assert "--force" in changes[STAT].reason
    assert {change.outcome for path, change in changes.items() if path != STAT} == {"restored"}
    assert text(tree, STAT) == "60"
    assert restore(tree) == {STAT: "left"}
    assert restore(tree, force=True) == {STAT: "restored"}
    assert snapshot(tree) == before


def test_a_value_that_was_put_back_already_is_not_put_back_again(tree: Path) -> None:
    apply(tree, "statistics", "governor")
    restore(tree, Kernel(tree, refused={GOVERNOR: errno.EIO}))
    plant(tree, {STAT: "10\n"})  # changed by another program, to the value that it had before
    restore(tree)
    assert text(tree, STAT) == "10"


def test_a_second_apply_keeps_the_first_old_values(tree: Path) -> None:
    before = snapshot(tree)
    apply(tree, "interrupts", "statistics")
    assert apply(tree, "statistics") == {"statistics": "enough"}
    plant(tree, {STAT: "5\n"})
    assert apply(tree, "statistics", "governor") == {GOVERNOR: "changed", STAT: "changed"}
    assert apply(tree, "interrupts", cpus="0")[IRQ] == "changed"
    assert text(tree, IRQ) == "1-2"
    assert tune.status(system(tree)).cpus == "0"
    restore(tree)
    assert snapshot(tree) == before


def test_other_cpus_need_another_partition(tree: Path) -> None:
    before = snapshot(tree)
    apply(tree, "cpuset")
    assert apply(tree, "cpuset", cpus="2")[PARTITION] == "refused"
    restore(tree)
    assert snapshot(tree) == before


def test_another_boot_has_put_the_values_back(tree: Path) -> None:
    apply(tree, "statistics")
    plant(tree, {BOOT: "another\n", STAT: "10\n"})
    assert tune.state(system(tree)) == {"tune": "none"}
    assert tune.status(system(tree)).entries == []
    (changes,) = tune.restore(kernel_of(tree))
    assert changes.outcome == "gone"
    assert "rebooted since" in changes.reason
    assert text(tree, STAT) == "10"  # not ours any more
    assert not (tree / FOLDER / NAME).exists()


def test_apply_after_another_boot_takes_the_values_of_this_one(tree: Path) -> None:
    apply(tree, "statistics")
    plant(tree, {BOOT: "another\n", STAT: "3\n"})
    assert apply(tree, "statistics") == {"journal": "gone", STAT: "changed"}
    restore(tree)
    assert text(tree, STAT) == "3"


def test_two_at_once(tree: Path) -> None:
    with journal.locked(Below(tree)):
        with pytest.raises(UsageError, match="another `rtstone tune` is running"):
            apply(tree)
        apply_before = (tree / FOLDER / NAME).exists()
    assert not apply_before
    assert apply(tree, "statistics") == {STAT: "changed"}


def test_a_damaged_journal_is_not_guessed_at(tree: Path) -> None:
    apply(tree, "statistics", "governor")
    path = tree / FOLDER / NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{ damaged\n", *lines[2:]]))
    with pytest.raises(UsageError, match="line 2"):
        restore(tree)
    assert tune.state(system(tree)) == {"tune": None}
    assert text(tree, STAT) == "10"


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a directory of another user")
def test_a_journal_in_a_directory_of_another_user_is_believed_by_nobody(tree: Path) -> None:
    apply(tree, "statistics")
    os.chown(tree / FOLDER, 12345, 12345)
    for asks in (lambda: tune.status(system(tree)), lambda: restore(tree)):
        with pytest.raises(UsageError, match="journal"):
            asks()
    assert text(tree, STAT) == "10"


# ---- output -------------------------------------------------------------------------------------


def test_the_state_of_tuning(tree: Path) -> None:
    assert tune.state(system(tree)) == {"tune": "none"}
    apply(tree, "governor", "statistics")
    state = tune.state(system(tree))
    assert state["tune"] == "governor statistics"
    assert state["tune.cpus"] == "3"
    assert state["tune.since"]
    assert "tune.lost" not in state


def test_the_agent_is_born_in_the_partition_and_the_host_leaves(tree: Path) -> None:
    kernel = Kernel(tree)
    with tune.entered(system(tree, files=kernel)) as inside:
        assert not inside
    assert kernel.writes == []
    apply(tree, "cpuset")
    with tune.entered(system(tree, files=kernel)) as inside:
        assert inside
        assert text(tree, f"{AGENTS}/cgroup.procs") == str(os.getpid())
    assert text(tree, f"{AGENTS}/cgroup.procs") == ""
    assert text(tree, "sys/fs/cgroup/user.slice/cgroup.procs") == str(os.getpid())


def test_who_may_not_enter_the_partition_is_told_what_to_do(tree: Path) -> None:
    apply(tree, "cpuset")
    closed = Kernel(tree, refused={f"{AGENTS}/cgroup.procs": errno.EACCES})
    with (
        pytest.raises(TargetError, match=r"cannot enter .*cgroup.procs: Permission denied; run as"),
        tune.entered(system(tree, files=closed)),
    ):
        pytest.fail("it is outside")


def test_restore_moves_out_who_is_still_in_the_partition(tree: Path) -> None:
    apply(tree, "cpuset")
    Kernel(tree).write(f"{AGENTS}/cgroup.procs", "4711")
    (changes,) = (change for change in tune.restore(kernel_of(tree)) if change.reason)
    assert changes.reason == "1 processes moved to /sys/fs/cgroup"
    assert "4711" in text(tree, "sys/fs/cgroup/cgroup.procs").split()
    assert not (tree / PARTITION).exists()


def test_a_partition_that_was_taken_apart_does_not_hold(tree: Path) -> None:
    apply(tree, "cpuset")
    plant(tree, {f"{PARTITION}/cpuset.cpus.partition": "isolated invalid (hotplug)\n"})
    assert outcomes(tune.status(system(tree)).entries)[PARTITION] == "lost"
    with tune.entered(system(tree)) as inside:
        assert not inside


def test_this_machine_is_read_below_its_root() -> None:
    assert System().files.where(STAT) == f"/{STAT}"


def test_a_change_of_several_files_is_one_line() -> None:
    """Those of other values, or with a reason of their own, stay apart."""
    name = "proc/irq/{}/smp_affinity_list"
    entries = [Entry("interrupts", "planned", name.format(n), "0-1", "0")
               for n in (24, 25, 26, 30)]  # fmt: skip
    entries += [
        Entry("interrupts", "refused", name.format(31), "0-1", "0", "Input/output error"),
        Entry("interrupts", "planned", name.format(32), "1", "0"),
        Entry("idle", "planned", "sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "0", "1"),
        Entry("idle", "planned", "sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "0", "1"),
        Entry("idle", "planned", "sys/devices/system/cpu/cpu3/cpuidle/state3/disable", "0", "1"),
    ]
    texts = [" ".join(row.plain.split()) for row in tuned(entries, 200)]
    assert texts == [
        "- planned interrupts /proc/irq/{24-26,30}/smp_affinity_list 0-1 -> 0, 4 files",
        "! refused interrupts /proc/irq/31/smp_affinity_list 0-1 -> 0; Input/output error",
        "- planned interrupts /proc/irq/32/smp_affinity_list 1 -> 0",
        "- planned idle /sys/devices/system/cpu/cpu1/cpuidle/state2/disable 0 -> 1",
        "- planned idle /sys/devices/system/cpu/cpu{1,3}/cpuidle/state3/disable 0 -> 1, 2 files",
    ]


@pytest.mark.parametrize("may", [True, False])
def test_a_dry_run_says_that_it_takes_root(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, may: bool
) -> None:
    monkeypatch.setattr(System, "may_tune", may)
    done = cli("tune", "apply", "--dry-run", "--only", "statistics")
    assert done.status == 0
    assert ("needs root" in done.out) is not may
