"""`doctor` and `tune` on another machine: a board with settings of its own, which nobody else has.

Its files below /sys, /proc/irq and most of /proc/sys are those of a scratch tree; its message
queues are the kernel's, which has them for each IPC namespace.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.system import journal, tune
from rtstone.system.facts import CPU, System
from rtstone.system.files import Below
from rtstone.system.journal import FOLDER, PATH, Begin, Done, Record, Step
from rtstone.targets import find, fleet_file
from rtstone.targets.base import Options
from rtstone.wire.commands import framed
from tests.conftest import Cli
from tests.system.trees import BOOT, plant, usual
from tests.targets.board import NEEDED, Board, board, logged_in
from tests.targets.test_ssh import lines
from tests.waiting import soon

pytestmark = [pytest.mark.waits, NEEDED]

RTSTONE = str(Path(sys.executable).parent / "rtstone")
ROOT = "ssh:root@board"
PLAIN = "governor,idle,interrupts,workqueues,watchdog,timer_migration,statistics"
GOVERNOR = f"{CPU}/cpu3/cpufreq/scaling_governor"
STAT = "proc/sys/vm/stat_interval"
LARGEST = "proc/sys/fs/mqueue/msgsize_max"
DOOR = "sys/fs/cgroup/rtstone/cgroup.procs"
OWN = ("sys", "proc/irq", "proc/sys/kernel", "proc/sys/vm")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    with board(tmp_path_factory.mktemp("board")) as verdicts:
        for place in OWN:
            verdicts.inside("mount", "-t", "tmpfs", "-o", "mode=755", "none", f"/{place}")
        yield verdicts


@pytest.fixture
def ssh_board(running: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """The board with its settings as they were at first; nothing may be left of what was done."""
    for place in (*OWN, "var/lib"):
        running.inside("find", f"/{place}", "-mindepth", "1", "-delete")
    plant(running.root, {name: text for name, text in usual().items() if name.startswith(OWN)})
    with logged_in(running, tmp_path, monkeypatch):
        yield running


def settings(ssh_board: Board) -> dict[str, bytes]:
    """Return the content of every file that tuning may change."""
    verdicts = {LARGEST: queue_size(ssh_board)}
    for place in OWN:
        for path in (ssh_board.root / place).rglob("*"):
            if path.is_file():
                verdicts[str(path.relative_to(ssh_board.root))] = path.read_bytes()
    assert {GOVERNOR, STAT} <= verdicts.keys()
    return verdicts


def queue_size(ssh_board: Board) -> bytes:
    """Return the limit that the namespace of the board's processes has."""
    enter = ["nsenter", "-t", str(ssh_board.init), "-m", "-i", "cat", f"/{LARGEST}"]
    return subprocess.run(enter, check=True, capture_output=True).stdout


def outcomes(document: dict[str, Any]) -> dict[str, str]:
    return {
        change["path"] or change["setting"]: change["outcome"] for change in document["changes"]
    }


# ---- doctor -------------------------------------------------------------------------------------


def test_doctor_looks_at_the_board(ssh_board: Board, cli: Cli) -> None:
    done = cli("doctor", "--target", ROOT, "--cpus", "3", "--json")
    assert done.status == 1, done.err
    assert (done.document["target"], done.document["cpus"]) == (ROOT, [3])
    verdicts = {line["id"]: (line["verdict"], line["value"]) for line in done.document["checks"]}
    assert verdicts["today.governor"] == ("bad", "powersave")
    assert verdicts["env.clock"] == ("good", "tsc")
    assert verdicts["mp.interrupts"][0] == "warn"
    assert verdicts["rt.granted"] == ("good", "SCHED_FIFO granted")
    assert verdicts["cap.override"] == ("good", "held")
    assert verdicts["os.inheritance"] == ("unknown", "cannot be tried from here")
    plain = cli("doctor", "--target", "ssh:board", "--cpus", "3")
    assert "X bad     CAP_SYS_NICE                    not held" in plain.out
    assert "target: ssh:board; the commands below need --target as well" in plain.out
    assert "measured: CPU 3" in plain.out
    raised = cli("doctor", "--target", "ssh:board+sudo=yes", "--cpus", "3", "--json").document
    assert {line["id"]: line["verdict"] for line in raised["checks"]}["cap.override"] == "good"


def test_a_named_target_brings_its_cpus(
    ssh_board: Board, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fleet_file.NEAR.write_text('[pi4]\naddress = "ssh:board"\nrights = "sudo"\ncpus = "2-3"\n')
    document = cli("doctor", "--target", "pi4", "--json").document
    assert (document["target"], document["cpus"]) == ("pi4", [2, 3])
    assert cli("tune", "apply", "--target", "pi4", "--dry-run", "--json").document["cpus"] == [2, 3]


def test_what_a_board_says_cannot_control_the_terminal(ssh_board: Board, cli: Cli) -> None:
    plant(ssh_board.root, {GOVERNOR: "\x1b[2Jevil\n"})
    for words in (
        ("doctor", "--cpus", "3"),
        ("tune", "apply", "--only", "governor", "--cpus", "3"),
    ):
        out = cli(*words, "--target", ROOT).out
        assert "evil" in out
        assert "\x1b" not in out


@pytest.mark.parametrize("words", [["doctor"], ["tune", "status"], ["tune", "restore"]])
@pytest.mark.parametrize("target", ["sim", "exec:true", "serial:/dev/null"])
def test_what_only_an_agent_sees_is_refused(cli: Cli, words: list[str], target: str) -> None:
    done = cli(*words, "--target", target)
    assert done.status == 2
    assert done.says.endswith("doctor and tune take local and ssh:[user@]host[:port]")


def test_a_board_that_cannot_be_reached(ssh_board: Board, cli: Cli) -> None:
    for words in (["doctor"], ["tune", "apply"]):
        done = cli(*words, "--target", "ssh:127.0.0.1:1")
        assert done.status == 4
        assert "127.0.0.1 refuses the connection" in done.says


# ---- tune ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [ROOT, "ssh:board+sudo=yes"])
def test_apply_status_restore(ssh_board: Board, cli: Cli, target: str) -> None:
    before = settings(ssh_board)
    words = ("--only", f"{PLAIN},queues", "--cpus", "3", "--target", target)
    planned = cli("tune", "apply", "--dry-run", *words, "--json").document
    assert settings(ssh_board) == before
    assert not (ssh_board.root / FOLDER).exists()
    applied = cli("tune", "apply", *words, "--json").document
    assert applied["target"] == target
    results = outcomes(applied)
    assert set(results.values()) == {"changed"}
    assert outcomes(planned).keys() == results.keys()
    assert queue_size(ssh_board) == b"16384\n"
    after = settings(ssh_board)
    assert {name for name in before if after[name] != before[name]} == results.keys()
    status = cli("tune", "status", "--target", "ssh:board")  # anyone may look
    assert f"target: ssh:board\nCPU 3, since 2{status.out.partition('since 2')[2]}" == status.out
    assert "journal: /var/lib/rtstone/tune.journal on board" in status.out
    together = map(int, re.findall(r", (\d+) files$", status.out, re.MULTILINE))
    assert status.out.count("+ holds") + sum(n - 1 for n in together) == len(results)
    assert "nothing is tuned" in cli("tune", "status").out  # here
    restored = cli("tune", "restore", "--target", target, "--json").document
    assert set(outcomes(restored).values()) == {"restored"}
    assert settings(ssh_board) == before
    assert not (ssh_board.root / PATH).exists()


def test_the_board_itself_can_restore(ssh_board: Board, cli: Cli) -> None:
    before = settings(ssh_board)
    cli("tune", "apply", "--only", PLAIN, "--cpus", "3", "--target", ROOT)
    assert settings(ssh_board) != before
    changes = tune.restore(System(ssh_board.root))  # its files as it sees them, without any ssh
    assert {change.outcome for change in changes} == {"restored"}, changes
    assert settings(ssh_board) == before


def test_without_rights_nothing_is_changed(ssh_board: Board, cli: Cli) -> None:
    before = settings(ssh_board)
    done = cli("tune", "apply", "--target", "ssh:board")
    assert done.status == 2
    assert done.says == (
        "rtstone: cannot write the journal, in /var/lib/rtstone on board: Permission denied; log "
        "in as root, or by sudo: ssh:USER@HOST+sudo=yes"
    )
    assert settings(ssh_board) == before
    ssh_board.program("sudo", "echo sudo: a password is required >&2; exit 1")
    done = cli("tune", "apply", "--target", "ssh:board+sudo=yes")
    assert done.status == 4
    assert "sudo is refused without a password, on board" in done.says


def test_who_cannot_see_the_journal_does_not_say_that_there_is_none(
    ssh_board: Board, cli: Cli
) -> None:
    cli("tune", "apply", "--only", "statistics", "--target", ROOT)
    (ssh_board.root / FOLDER).chmod(0o700)
    done = cli("tune", "status", "--target", "ssh:board")
    assert done.status == 2
    assert done.says.endswith("tune.journal on board: Permission denied")
    assert find("ssh:board").host_conditions()["tune"] is None


def test_a_value_that_others_changed_since(ssh_board: Board, cli: Cli) -> None:
    cli("tune", "apply", "--only", "statistics,timer_migration", "--target", ROOT)
    plant(ssh_board.root, {STAT: "60\n"})
    done = cli("tune", "restore", "--target", ROOT)
    assert done.status == 4
    assert "1 of 2 values were not restored" in done.says
    assert cli("tune", "restore", "--force", "--target", ROOT).status == 0
    assert (ssh_board.root / STAT).read_text() == "1\n"


def test_another_who_tunes_is_not_disturbed(ssh_board: Board, cli: Cli) -> None:
    with journal.locked(Below(ssh_board.root)):
        done = cli("tune", "apply", "--target", ROOT)
    assert done.status == 2
    assert "another `rtstone tune` is running, /var/lib/rtstone on board; try again" in done.says


@pytest.mark.parametrize("command", ["apply", "restore"])
@pytest.mark.parametrize("records", [3, 6])
def test_killed_while_it_tunes(ssh_board: Board, cli: Cli, command: str, records: int) -> None:
    """Whoever comes next puts everything back, byte by byte."""
    before = settings(ssh_board)
    apply = ["tune", "apply", "--only", f"{PLAIN},queues", "--cpus", "3", "--target", ROOT]
    file = ssh_board.root / PATH

    def written() -> int:
        with suppress(FileNotFoundError):
            return file.read_bytes().count(b"\n")
        return 0

    if command == "restore":
        assert cli(*apply).status == 0
        records += written()
    words = apply if command == "apply" else ["tune", "restore", "--target", ROOT]
    ssh_board.program("sync", "sleep 0.1")  # so that there is time to be killed
    process = subprocess.Popen([RTSTONE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert soon(lambda: written() >= records or process.poll() is not None, 10)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    ssh_board.clean()
    ssh_board.reset()
    assert settings(ssh_board) != before
    restored = cli("tune", "restore", "--target", "ssh:board+sudo=yes")
    assert restored.status == 0, restored.out + restored.err
    assert settings(ssh_board) == before


def test_the_session_dies_while_it_tunes(ssh_board: Board, cli: Cli) -> None:
    before = settings(ssh_board)
    ssh_board.program("sync", "kill -9 $PPID")
    done = cli("tune", "apply", "--only", "statistics", "--target", ROOT)
    assert done.status == 4
    assert done.says == (
        "rtstone: the connection to board was lost; `rtstone tune restore --target "
        "ssh:root@board` restores what was changed"
    )
    ssh_board.reset()
    assert (ssh_board.root / PATH).exists()
    assert cli("tune", "restore", "--target", ROOT).status == 0
    assert settings(ssh_board) == before


def test_a_journal_that_is_a_link_is_not_followed(ssh_board: Board, cli: Cli) -> None:
    (ssh_board.root / FOLDER).mkdir(parents=True)
    (ssh_board.root / PATH).symlink_to("/run/board/host_key")
    done = cli("tune", "apply", "--only", "statistics", "--target", ROOT)
    assert done.status == 2
    assert "it, or its directory, is a link, or others may write to it" in done.says
    assert "PRIVATE KEY" in (ssh_board.folder / "host_key").read_text()
    assert (ssh_board.root / STAT).read_text() == "1\n"


# ---- runs ---------------------------------------------------------------------------------------


def test_a_run_has_the_conditions_that_one_here_has(ssh_board: Board, cli: Cli) -> None:
    here, far = find("local").host_conditions(), find("ssh:board").host_conditions()
    assert far == here | {"drivers": None, "tune": "none"}  # it has no /sys/bus
    plant(ssh_board.root, {"sys/bus/pci/drivers/ahci/bind": ""})
    (ssh_board.root / "sys/bus/pci/drivers/ahci/0000:00:1f.2").symlink_to("none")
    cli("tune", "apply", "--only", "interrupts,statistics", "--cpus", "3", "--target", ROOT)
    words = ("run", "null", "env.check", "-p", "samples=10", "--target", "ssh:board", "--json")
    run = cli(*words).document
    conditions = run["conditions"]
    assert (conditions["tune"], conditions["tune.cpus"]) == ("interrupts statistics", "3")
    assert (conditions["modules"], conditions["drivers"]) == (here["modules"], "pci:ahci")
    (table,) = (result for result in run["results"] if result["bench"] == "env.check")
    assert table["status"] == "ok"
    plant(ssh_board.root, {STAT: "60\n"})
    assert find("ssh:board").host_conditions()["tune.lost"] == "statistics"


def test_what_cannot_be_told_is_not_known(ssh_board: Board) -> None:
    (ssh_board.root / "var/lib/rtstone").mkdir()
    (ssh_board.root / PATH).write_text("damaged\n")
    conditions = find("ssh:board").host_conditions()
    assert conditions["tune"] is None


def tuned(ssh_board: Board) -> None:
    """Leave what `tune apply` leaves of a partition, in files that take whatever is written."""
    journal: list[Record] = [
        Begin(usual()[BOOT].strip(), "2026-01-02T03:04:05+00:00", "3"),
        Step(0, "cpuset", "make", str(Path(DOOR).parent), contents=[("cpuset.cpus", "1", "list")]),
        Done(0, ""),
    ]
    text = "".join(f"{msgspec.json.encode(record).decode()}\n" for record in journal)
    plant(ssh_board.root, {PATH: text, DOOR: "", f"{Path(DOOR).parent}/cpuset.cpus": "1\n"})
    (ssh_board.root / DOOR).chmod(0o644)


def test_the_agent_is_born_in_the_partition(ssh_board: Board) -> None:
    tuned(ssh_board)
    with find(ROOT).start(Options()) as link:
        link.send(framed(1, "progress 0"))
        while b'"hello"' not in (link.read(5) or b""):
            pass
        status = Path(f"/proc/{ssh_board.agent()}/status").read_text()
        inside = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]
        assert (ssh_board.root / DOOR).read_text().split() == [inside]
        link.send(framed(2, "bye"))
        lines(link)


def test_who_may_not_enter_the_partition_is_told_so(ssh_board: Board, cli: Cli) -> None:
    tuned(ssh_board)
    done = cli("run", "null", "-p", "samples=100", "--target", "ssh:board")
    assert done.status == 4
    assert "the partition made by rtstone tune cannot be entered; log in as root" in done.says
