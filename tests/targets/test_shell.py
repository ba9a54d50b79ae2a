"""The files of another machine through a shell: what it reads and writes, and what ends it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.system import checks, tune
from rtstone.system.drivers import drivers
from rtstone.system.facts import CPU, System
from rtstone.system.files import NOT_OURS, Below, Files
from rtstone.system.findings import Line
from rtstone.system.journal import FOLDER, PATH, Journal, locked
from rtstone.targets import functional_tests, shell
from rtstone.targets.shell import Shell, ShellFiles
from tests.system.trees import plant, snapshot, system, usual

pytestmark = pytest.mark.waits

GOVERNOR = f"{CPU}/cpu3/cpufreq/scaling_governor"
STAT = "proc/sys/vm/stat_interval"
CHOSEN = tune.settings(["governor", "idle", "watchdog", "statistics"])
SHELLS = [name for name in ("sh", "bash", "busybox") if shutil.which(name)]
TOOLS = "cat dd env flock id ls mkdir rm rmdir sh sync xargs"


class Watched(Shell):
    """A shell that tells of what it is about to do."""

    def __init__(self, point: Callable[[str], None] = lambda text: None) -> None:
        self.point = point
        super().__init__(["sh"], "far")

    def run(self, text: str) -> tuple[int, bytes]:
        self.point(text)
        return super().run(text)

    @property
    def pid(self) -> int:
        return self._process.pid


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The tree of a system, in memory if possible; its files keep whatever is written."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=place, prefix="shell-") as name:
        yield plant(Path(name), usual())


@pytest.fixture(params=SHELLS)
def far(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Iterator[ShellFiles]:
    """The files of the tree through each shell there is, which begins with some noise.

    That of busybox has what else is needed from there, if this busybox was built with it.
    """
    shell = request.param
    if shell == "busybox":
        has = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True)
        for tool in TOOLS.split():
            program = "busybox" if tool in has.stdout.split() else tool
            (tmp_path / tool).symlink_to(str(shutil.which(program)))
        shell = f"env PATH={tmp_path} sh"
    running = Shell(["sh", "-c", f"echo welcome; exec {shell}"], "far")
    yield ShellFiles(running, "far", str(root))
    running.close()


@pytest.fixture
def watched() -> Iterator[Watched]:
    running = Watched()
    yield running
    running.close()


# ---- reading ------------------------------------------------------------------------------------


def checklist(files: Files, root: Path) -> list[Line]:
    """Return the checklist but for a register, which only this machine's own files give."""
    return [line for line in checks.lines(system(root, files=files)) if line.id != "today.smi"]


def test_the_checklist_is_that_of_the_files_themselves(far: ShellFiles, root: Path) -> None:
    for tree in (
        {},
        {"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/cpu.max": "5 10\n"},
        {"sys/class/uio/uio0/name": "x\n", f"{CPU}/isolated": "2-3\n", ".dockerenv": ""},
        {"dev/vfio/12": "", "run/systemd/container": "lxc\n", "proc/cmdline": "nohz_full=3\n"},
    ):
        plant(root, tree)
        assert checklist(far, root) == checklist(Below(root), root)
    shutil.rmtree(root / "proc")
    assert checklist(far, root) == checklist(Below(root), root)


@pytest.mark.parametrize("governed", [True, False])
def test_what_the_checks_read_is_fetched_at_once(
    watched: Watched, root: Path, governed: bool
) -> None:
    """All but files whose place only other files tell."""
    plant(root, {"proc/timer_list": ".resolution: 1 nsecs\n", "sys/kernel/debug/sched/preempt": ""})
    if not governed:  # and not of a kind that tells of a hypervisor among its flags
        plant(root, {"proc/cpuinfo": "CPU part: 0xd08\n"})
        shutil.rmtree((root / GOVERNOR).parent)
    far = ShellFiles(watched, "far", str(root))
    commands: list[str] = []
    watched.point = commands.append
    checks.lines(system(root, files=far))
    single = [text for text in commands if not text.startswith(("look ", "marked "))]
    elsewhere = ("sys/fs/cgroup/", "boot/config-")
    assert [text for text in single if not any(place in text for place in elsewhere)] == []
    assert len(commands) < 15


def test_what_goes_on_is_the_difference_of_two_fetches(far: ShellFiles, root: Path) -> None:
    plant(root, {"proc/uptime": "100.00 1\n"})

    def later() -> None:
        disks = "8 0 sda 99999 0 0 0 10 0 0 0 0 0 0\n"
        plant(root, {"proc/diskstats": disks, "proc/uptime": "110.00 1\n"})

    lines = checks.lines(system(root, files=far, pause=later))
    disk = next(line for line in lines if line.id == "env.disk")
    assert (disk.verdict, disk.value) == ("warn", "9999 requests per s now")


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"x", b"a\n\nb", bytes(range(256)) * 300, b"cat: is no error", b"cat: is none\n"],
)
def test_content_comes_as_it_is(far: ShellFiles, root: Path, content: bytes, before: bool) -> None:
    for name in ("plain", "after"):
        (root / name).write_bytes(content)
    if before:
        far.look("plain", "after", "none", "proc", "proc/")
    assert far.read("plain") == far.read("after") == content
    assert far.names("proc") == Below(root).names("proc")
    with pytest.raises(FileNotFoundError):
        far.read("none")
    with pytest.raises(IsADirectoryError):
        far.read("proc")
    assert [far.exists(name) for name in ("plain", "none", "none/x", "proc")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_names_that_a_shell_could_misread(far: ShellFiles, root: Path) -> None:
    (root / "d").mkdir()
    for odd in ("it's $HOME", "a b", "`id`", "*", 'x"; exit 1; "', "-n", "x\ny", "\udcff"):
        name = f"d/{odd}"
        (root / name).write_bytes(name.encode(errors="surrogateescape"))
        assert far.read(name) == name.encode(errors="surrogateescape")
        far.write(name, "new")
        assert (root / name).read_text() == "new"


def test_drivers_are_those_of_the_files_themselves(far: ShellFiles, root: Path) -> None:
    assert drivers(system(root, files=far)) == drivers(system(root))
    for name in ("pci/drivers/ahci", "pci/drivers/idle", "mdio/drivers/Generic PHY"):
        (root / "sys/bus" / name).mkdir(parents=True)
        (root / "sys/bus" / name / "module").symlink_to(root)
    (root / "sys/bus/mdio/drivers/Generic PHY/phy0").symlink_to(root)
    plant(root, {"proc/modules": "ahci 2 1 xfs, Live 0x0\n"})
    assert drivers(system(root, files=far)) == {"drivers": "mdio:Generic PHY", "modules": "ahci"}


def test_what_needs_more_than_there_is_is_told(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("sh", "dd", "ls", "mkdir", "id", "cat"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path))
    running = Shell([str(tmp_path / "sh")], "far")
    far = ShellFiles(running, "far", str(root))
    assert far.read(STAT) == b"1\n"
    with pytest.raises(TargetError, match="no files can be read on far: it needs cat, env and"):
        far.look(STAT)
    with pytest.raises(
        UsageError, match=r"in .* on far: flock, of util-linux or busybox, is not there; log"
    ):
        tune.apply(system(root, files=far), CHOSEN)
    tests = functional_tests.trials(running, frozenset({1}))
    assert tests["realtime"]() == (None, "chrt is not installed there", None)
    assert tests["levels"]().works is None
    assert tests["usable_cpus"]().cpus == frozenset({1})
    running.close()


def test_the_trials_find_what_those_of_this_machine_find(watched: Watched) -> None:
    here = System()
    trials = functional_tests.trials(watched, frozenset())
    for name in ("realtime", "levels", "idle_request"):
        assert trials[name]().works == here.probe(name).works, name
    assert trials["levels"]().text == here.probe("levels").text
    assert trials["deadline"]().works in {None, here.probe("deadline").works}


# ---- writing ------------------------------------------------------------------------------------


def test_errors_are_those_of_the_kernel(watched: Watched) -> None:
    """These files are those of the process that writes, which ends at once."""
    far = ShellFiles(watched, "far")
    far.write("proc/self/oom_score_adj", "1000")
    with pytest.raises(OSError, match="Invalid argument") as error:
        far.write("proc/self/oom_score_adj", "nonsense")
    assert error.value.errno == errno.EINVAL
    with pytest.raises(FileNotFoundError):
        far.write("proc/self/none", "1")
    with pytest.raises(OSError, match="Is a directory"):
        far.write("proc/self", "1")
    with pytest.raises(FileExistsError):
        far.make("proc")
    refused = "Permission denied" if os.geteuid() else r"not permitted|busy|not empty"
    with pytest.raises(OSError, match=refused):
        far.remove("proc")


def test_a_file_that_is_missing_is_not_made(far: ShellFiles, root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        far.write("none", "1")
    assert not (root / "none").exists()
    far.make("group")
    assert (root / "group").is_dir()
    far.remove("group")
    assert not (root / "group").exists()


def test_apply_and_restore_from_either_side(far: ShellFiles, root: Path) -> None:
    before = snapshot(root)
    near = system(root)
    for applying, restoring in ((far, near.files), (near.files, far), (far, far)):
        changes = tune.apply(system(root, files=applying), CHOSEN)
        assert {change.outcome for change in changes} == {"changed"}
        assert snapshot(root) != before
        for files in (far, near.files):
            status = tune.status(system(root, files=files))
            assert {entry.outcome for entry in status.entries} == {"holds"}
            assert len(status.entries) == len(changes)
        changes = tune.restore(system(root, files=restoring))
        assert {change.outcome for change in changes} == {"restored"}
        assert snapshot(root) == before
        assert not (root / PATH).exists()


def test_a_line_that_was_cut_off_is_replaced(far: ShellFiles, root: Path) -> None:
    tune.apply(system(root, files=far), tune.settings(["statistics"]))
    whole = (root / PATH).read_bytes()
    (root / PATH).write_bytes(whole + b'{"type":"do')
    tune.apply(system(root, files=far), tune.settings(["governor"]))
    text = (root / PATH).read_bytes()
    assert text.startswith(whole)
    assert text.count(b"\n") == whole.count(b"\n") + 2
    assert len(Journal(far).steps) == 2


# ---- the journal is root's ----------------------------------------------------------------------


@pytest.fixture(params=["shell", "local"])
def either(request: pytest.FixtureRequest, root: Path, watched: Watched) -> Files:
    return Below(root) if request.param == "local" else ShellFiles(watched, "far", str(root))


def _others_folder(root: Path) -> None:
    os.chown(root / FOLDER, 4711, 4711)


def _open_folder(root: Path) -> None:
    (root / FOLDER).chmod(0o777)


def _folder_link(root: Path) -> None:
    (root / FOLDER).rename(root / "elsewhere")
    (root / FOLDER).symlink_to(root / "elsewhere")


def _others_journal(root: Path) -> None:
    os.chown(root / PATH, 4711, 4711)


def _journal_link(root: Path) -> None:
    (root / PATH).rename(root / "elsewhere")
    (root / PATH).symlink_to(root / "elsewhere")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(
    "plot", [_others_folder, _open_folder, _folder_link, _others_journal, _journal_link]
)
def test_a_journal_that_others_could_have_written_is_not_obeyed(
    either: Files, root: Path, plot: Callable[[Path], None]
) -> None:
    tune.apply(system(root, files=either), tune.settings(["statistics"]))
    plot(root)
    before = snapshot(root)
    with pytest.raises(UsageError, match=NOT_OURS):
        tune.restore(system(root, files=either))
    with pytest.raises(UsageError, match=NOT_OURS):
        tune.apply(system(root, files=either), CHOSEN)
    assert snapshot(root) == before


def test_a_journal_that_is_a_dangling_link_makes_no_file(either: Files, root: Path) -> None:
    (root / FOLDER).mkdir(parents=True)
    (root / PATH).symlink_to(root / "target")
    with pytest.raises(UsageError, match=NOT_OURS):
        tune.apply(system(root, files=either), CHOSEN)
    assert not (root / "target").exists()


def test_two_at_once(far: ShellFiles, root: Path) -> None:
    near = Below(root)
    for first, other in ((far, near), (near, far)):
        with (
            locked(first),
            pytest.raises(UsageError, match="another `rtstone tune` is running"),
            locked(other),
        ):
            pytest.fail("both have it")
        with locked(other):
            pass


def test_the_lock_goes_with_the_shell_that_holds_it(root: Path, watched: Watched) -> None:
    with ExitStack() as held:
        held.enter_context(locked(ShellFiles(watched, "far", str(root))))
        os.kill(watched.pid, signal.SIGKILL)
        free(root)


def free(root: Path) -> None:
    """Wait until nobody holds the journal."""
    for _ in range(1000):
        with suppress(UsageError), locked(Below(root)):
            return
        time.sleep(0.005)
    raise AssertionError("the lock is still held")


# ---- killed at any point ------------------------------------------------------------------------


def work(root: Path, act: Callable[[System], object], point: Callable[[str], None]) -> None:
    with closing(Watched(point)) as running:
        act(system(root, files=ShellFiles(running, "far", str(root))))


def applying(applied_system: System) -> object:
    return tune.apply(applied_system, CHOSEN)


def moments(root: Path, act: Callable[[System], object]) -> list[int]:
    """Return the numbers of its requests that change something, and of those that follow them."""
    commands: list[str] = []
    work(root, act, commands.append)
    changing = ("held", "append", "put", "rm", "exec")
    moments = [at for at, text in enumerate(commands) if text.startswith(changing)]
    return sorted({*moments, *(at + 1 for at in moments if at + 1 < len(commands))})


def killed(root: Path, act: Callable[[System], object], at: int) -> None:
    """Do it in a process that is killed before its request of that number."""
    child = os.fork()
    if child == 0:
        count = 0

        def point(text: str) -> None:
            nonlocal count
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

        try:
            work(root, act, point)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    free(root)  # the shell has seen the end


def test_killed_at_every_step_of_apply(root: Path) -> None:
    before = snapshot(root)
    points = moments(root, applying)
    tune.restore(system(root))
    assert snapshot(root) == before
    assert len(points) > 20
    changed = 0
    for at in points:
        killed(root, applying, at)
        changed += snapshot(root) != before
        tune.restore(system(root))
        assert snapshot(root) == before, f"killed at {at}"
        assert not (root / PATH).exists() or not Journal(Below(root)).steps
    assert changed > 10  # otherwise nothing was tested


def test_killed_at_every_step_of_restore(root: Path) -> None:
    before = snapshot(root)
    applying(system(root))
    for at in moments(root, tune.restore):
        applying(system(root))
        killed(root, tune.restore, at)
        tune.restore(system(root))
        assert snapshot(root) == before, f"killed at {at}"


def test_these_tests_would_see_a_journal_that_comes_too_late(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(root)
    append, waiting = ShellFiles.append, []

    def late(files: ShellFiles, name: str, line: bytes) -> None:
        waiting.append(line)
        if b'"done"' in line:
            for entry in waiting:
                append(files, name, entry)
            waiting.clear()

    monkeypatch.setattr(ShellFiles, "append", late)
    different = 0
    for at in range(10, 30, 2):
        killed(root, applying, at)
        tune.restore(system(root))
        different += snapshot(root) != before
        plant(root, usual())
        (root / PATH).unlink(missing_ok=True)
    assert different


def test_the_connection_ends_meanwhile(root: Path) -> None:
    before = snapshot(root)
    points = moments(root, applying)
    tune.restore(system(root))
    changed = 0
    for last in points[::5]:
        count = 0

        running = Watched()

        def point(text: str, last: int = last, pid: int = running.pid) -> None:
            nonlocal count
            if count == last:
                os.kill(pid, signal.SIGKILL)
            count += 1

        running.point = point
        with pytest.raises(TargetError, match="the connection to far was lost"):
            applying(system(root, files=ShellFiles(running, "far", str(root))))
        running.close()
        free(root)
        changed += snapshot(root) != before
        tune.restore(system(root))
        assert snapshot(root) == before
    assert changed


def test_a_machine_that_falls_silent_is_not_waited_for(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "SILENT_S", 0.1)
    monkeypatch.setattr(shell, "CLOSE_S", 0.1)
    with pytest.raises(TargetError, match="far did not answer within 0 s; check its connection"):
        watched.run("exec sleep 60")


def test_what_cannot_start_says_why() -> None:
    with pytest.raises(TargetError, match="the connection to far was lost; its output ends: no!"):
        Shell(["sh", "-c", "echo no! >&2; exit 1"], "far")
