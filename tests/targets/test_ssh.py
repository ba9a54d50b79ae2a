"""A run on another machine: what it yields, every way it can fail, and that nothing is left."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from rtstone import resources
from rtstone.errors import TargetError, UsageError
from rtstone.targets import find, process, ssh, ssh_connection
from rtstone.targets.base import Link, Options
from rtstone.targets.local import identity
from rtstone.targets.ssh import Ssh
from rtstone.targets.ssh_connection import _KNOWN, Address, address
from rtstone.wire.commands import framed
from tests.agent.processes import descendants, name_of, waits
from tests.conftest import Cli, Done
from tests.targets.board import NEEDED, Board, board, logged_in
from tests.waiting import soon

pytestmark = pytest.mark.waits

RTSTONE = str(Path(sys.executable).parent / "rtstone")
LONG = ("null", "dk.periodic", "--time", "20s")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    with board(tmp_path_factory.mktemp("board")) as seen:
        yield seen


@pytest.fixture
def ssh_board(running: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """Return the board, and check that nothing is left on it or here."""
    with logged_in(running, tmp_path, monkeypatch):
        yield running


def lines(link: Link) -> list[bytes]:
    seen = []
    while (line := link.read(0.1)) != b"":
        if line:
            seen.append(line)
    return seen


def refused(cli: Cli, target: str = "ssh:board") -> str:
    """Return the only line of a run that could not begin."""
    done = cli("run", "null", "-p", "samples=100", "--target", target)
    assert done.status == 4, done.err
    assert not done.out
    return done.says


def once(home: Path, text: str, act: Callable[[], None]) -> threading.Thread:
    """Do something once a run has stored a text in its log."""

    def wait() -> None:
        for _ in range(2000):
            logs = [log for log in home.rglob("wire.log") if text in log.read_text("utf-8")]
            if logs:
                return act()
            time.sleep(0.01)
        raise AssertionError(f"{text} did not come")

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


SECOND = '"t":"case","id":2'  # the second case has begun


# ---- addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("board", (None, "board", None)),
        ("pi@board", ("pi", "board", None)),
        ("pi@board.lab.example:2222", ("pi", "board.lab.example", 2222)),
        ("a@b.example@10.0.0.7:22", ("a@b.example", "10.0.0.7", 22)),
        ("[::1]", (None, "::1", None)),
        ("root@[fe80::1%eth0]:2022", ("root", "fe80::1%eth0", 2022)),
    ],
)
def test_addresses(text: str, parts: tuple[str | None, str, int | None]) -> None:
    assert address(text, "here") == Address(*parts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-oProxyCommand=x", "bad host"),
        ("-l@board", "bad user"),
        ("pi@-board", "bad host"),
        ("@board", "bad user"),
        ("pi@", "bad host"),
        ("bo ard", "bad host"),
        ("board;id", "bad host"),
        ("$(id)", "bad host"),
        ("::1", "an IPv6 address in brackets"),
        ("[::1", "bad host"),
        ("board:", "bad port"),
        ("board:0", "bad port '0'"),
        ("board:65536", "from 1 to 65535"),
        ("board:ssh", "bad port 'ssh'"),
        ("board:-1", "bad port"),
        ("board+sudo=maybe", "sudo is one of yes, no, not 'maybe'"),
        ("board+sudo=yes+sudo=no", "sudo is given twice"),
        ("board+suod=yes", "did you mean 'sudo'"),
    ],
)
def test_bad_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="in target 'ssh:") as error:
        find(f"ssh:{text}")
    assert message in str(error.value)


# ---- a run ----------------------------------------------------------------------------------


@NEEDED
def test_a_run_yields_what_a_local_one_does(ssh_board: Board, cli: Cli) -> None:
    names = ("null", "sem.post.higher", "proc.create", "dk.periodic", "mem.memset")
    words = ("run", *names, "-p", "samples=20", "--json", "--target")
    local = cli(*words, "local").document
    remote = cli(*words, "ssh:root@board").document
    raised = cli(*words, "ssh:board+sudo=yes").document
    seen = [[(r["bench"], r["series"], r["status"]) for r in run["results"]]
            for run in (local, remote, raised)]  # fmt: skip
    assert seen[0] == seen[1] == seen[2]
    assert {status for *_, status in seen[0]} == {"ok"}
    assert remote["target"]["name"] == "ssh:root@board"
    detail = raised["target"]["detail"]
    assert detail["address"] == "board+sudo=yes"
    assert detail["machine"] == identity((ssh_board.folder / "machine-id").read_bytes().strip())
    program = resources.static_agent(os.uname().machine)
    assert detail["agent_sha256"] == sha256(program.read_bytes()).hexdigest()
    both = {"drivers", "modules", "tune"}
    assert both <= remote["conditions"].keys()
    assert remote["conditions"]["drivers"] == local["conditions"]["drivers"]


@NEEDED
def test_without_rights_the_run_goes_on_and_says_so(ssh_board: Board, cli: Cli) -> None:
    done = cli("run", "dk.periodic", "-p", "samples=20", "--target", "ssh:board")
    assert done.status == 0, done.err
    assert "WITHOUT real-time scheduling" in done.out


@NEEDED
def test_nothing_lies_there_while_it_measures(ssh_board: Board) -> None:
    with find("ssh:board").start(Options()) as link:
        link.send(framed(1, "case 1 null"))
        while b'"case"' not in (link.read(5) or b""):
            pass
        locks = [file for file in ssh_board.files() if file.endswith(".lock")]
        assert ssh_board.files() == locks  # by which other agents see it
        assert len(locks) == 1
        link.send(framed(2, "bye"))
        assert b'"bye"' in lines(link)[-1]


@NEEDED
def test_options_reach_the_agent(ssh_board: Board) -> None:
    with find("ssh:board").start(Options(keep_idle=True)) as link:
        assert soon(
            lambda: any("--uploaded --keep-idle" in w for w in ssh_board.processes().values()), 10
        )
        link.send(framed(1, "bye"))
        lines(link)


@NEEDED
def test_others_are_seen(ssh_board: Board) -> None:
    target = find("ssh:board")
    assert target.other_users() == []
    ssh_board.plant("dev/shm/rtstone-99999.lock")  # of no process
    ssh_board.plant("dev/shm/rtstone-x.lock")
    with find("ssh:board").start(Options()) as link:
        link.send(framed(1, "progress 0"))
        while not (users := target.other_users()):
            pass
        link.send(framed(2, "bye"))
        lines(link)
    ssh_board.reset()
    assert len(users) == 1
    assert users[0].startswith("the agent of user 20001 on board (process ")


@NEEDED
def test_jump_hosts_are_those_of_the_configuration(ssh_board: Board) -> None:
    with find("ssh:behind").start(Options()) as link:
        of_pi = re.compile(r"sshd(-session)?: pi \[priv\]")  # sshd-session since OpenSSH 9.8
        assert sum(bool(of_pi.match(words)) for words in ssh_board.processes().values()) == 2
        link.send(framed(1, "bye"))
        assert b'"bye"' in lines(link)[-1]


@NEEDED
def test_cpus_are_those_of_the_machine(ssh_board: Board) -> None:
    assert find("ssh:board").cpus() == find("local").cpus()


@NEEDED
def test_a_script_gets_and_gives_bytes(ssh_board: Board) -> None:
    target = find("ssh:board")
    assert isinstance(target, Ssh)
    data = bytes(range(256)) * 1000
    assert target.script("cat", data=data) == data
    odd = 'it\'s $HOME `id` "x" * ; \\ \n -n'
    assert target.script('printf %s "$1"', odd) == odd.encode()
    with pytest.raises(TargetError, match="exit status 7; its output ends: no such luck"):
        target.script("echo no such luck >&2; exit 7")


@NEEDED
def test_what_a_shell_prints_by_itself_does_no_harm(ssh_board: Board, cli: Cli) -> None:
    ssh_board.program("noisy", 'echo "Welcome! ready x 1"; exec /bin/sh "$@"')
    done = cli("run", "null", "-p", "samples=100", "--target", "ssh:noisy@board")
    assert done.status == 0, done.err


@NEEDED
def test_the_socket_has_a_short_path_wherever_temporary_files_are(
    ssh_board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 200) / ("y" * 100)
    long.mkdir(parents=True)
    for name in ("TMPDIR", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(long))
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert find("ssh:board").other_users() == []


@NEEDED
def test_a_connection_without_a_run_is_closed(ssh_board: Board) -> None:
    target = find("ssh:board")
    target.check_ready()
    assert ssh_board.processes()
    del target  # the fixture looks


# ---- where the agent can lie ----------------------------------------------------------------


@NEEDED
def test_the_first_directory_that_will_do_is_taken(ssh_board: Board) -> None:
    ssh_board.inside("mount", "-o", "remount,noexec", "/dev/shm")
    ssh_board.inside("mount", "-o", "remount,size=100k", "/tmp")
    with find("ssh:board").start(Options()) as link:
        link.send(framed(1, "progress 0"))
        while b'"hello"' not in (link.read(5) or b""):
            pass
        program = str(Path(f"/proc/{ssh_board.agent()}/exe").readlink())
        assert program.startswith("/var/tmp/rtstone-upload-")
        assert program.endswith("/agent (deleted)")
        link.send(framed(2, "bye"))
        lines(link)


@NEEDED
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mount -o remount,noexec", "/var/tmp: nothing may be executed there (noexec)"),
        ("mount -o remount,size=64k", "/var/tmp: no space for "),
        ("mount -o remount,ro", "/var/tmp: not writable"),
        ("chmod 777", "/var/tmp: others may exchange what lies there"),
    ],
)
def test_no_directory_will_do(ssh_board: Board, cli: Cli, command: str, message: str) -> None:
    for place in ("/dev/shm", "/tmp", "/var/tmp"):
        ssh_board.inside(*command.split(), place)
    says = refused(cli)
    ssh_board.reset()
    assert "no directory on board can take the agent (/dev/shm: " in says
    assert message in says
    assert "; make room in one, or mount one without noexec" in says


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_the_name_by_which_ssh_knows_a_host(quote: str) -> None:
    """OpenSSH 9 prints the first form, 10 the second."""
    text = f"  ssh-keygen -f {quote}/home/a b/known{quote} -R {quote}[127.0.0.1]:22022{quote}\nHost"
    named = _KNOWN.search(text)
    assert named and named[1] == "[127.0.0.1]:22022"


# ---- faults before the run ------------------------------------------------------------------


@NEEDED
def test_a_changed_host_key(ssh_board: Board, cli: Cli) -> None:
    ssh_board.trust("key")
    says = refused(cli)
    assert says.startswith("rtstone: the host key of board has changed; if it was installed anew")
    assert f"ssh-keygen -R '[127.0.0.1]:{ssh_board.port}'; ssh said:" in says


@NEEDED
def test_an_unknown_host_key_is_not_accepted(ssh_board: Board, cli: Cli) -> None:
    (ssh_board.folder / "known_hosts").write_text("")
    assert "the host key of board is not known; connect once by hand" in refused(cli)


def ssh_waits(pid: int) -> bool:
    """Return whether each ssh that a process has started waits, as for its terminal."""
    return all(waits(child) for child in descendants(pid) if name_of(child) == "ssh")


@NEEDED
@pytest.mark.parametrize(("answer", "status"), [(b"yes\n", 0), (b"no\n", 4), (b"\x03", 130)])
def test_a_person_is_asked_on_the_terminal(ssh_board: Board, answer: bytes, status: int) -> None:
    (ssh_board.folder / "known_hosts").write_text("")
    process, terminal = pty.fork()
    if not process:
        os.execv(RTSTONE, [RTSTONE, "run", "null", "-p", "samples=100", "--target", "ssh:board"])
    output = b""
    with suppress(OSError):  # the terminal is closed at the end
        while chunk := os.read(terminal, 4096):
            output += chunk
            if b"continue connecting" in output and answer:
                assert soon(lambda: ssh_waits(process), 10)
                time.sleep(0.1)  # it loses a signal that comes before it reads
                os.write(terminal, answer)
                answer = b""
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == status, output
    assert b"authenticity of host" in output


@NEEDED
def test_nobody_is_let_in(ssh_board: Board, cli: Cli) -> None:
    says = refused(cli, "ssh:somebody@board")
    assert "board lets nobody in with the keys that were offered" in says
    assert "ssh-copy-id somebody@board; ssh said: somebody@127.0.0.1: Permission denied" in says


@NEEDED
def test_nothing_listens(ssh_board: Board, cli: Cli) -> None:
    says = refused(cli, "ssh:127.0.0.1:1")
    assert "127.0.0.1 refuses the connection, port 1; start sshd there, or name its port" in says


@NEEDED
def test_an_unknown_host(ssh_board: Board, cli: Cli) -> None:
    assert "unknown host board.invalid; check the name" in refused(cli, "ssh:board.invalid")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "ssh: connect to host board port 22: Connection timed out",
            "board does not answer; check",
        ),
        ("Connection timed out during banner exchange", "board does not answer; check"),
        ("ssh: connect to host board port 22: No route to host", "no route to board; check that"),
        ("connect to host board port 22: Network is unreachable", "no route to board; check the"),
        ("Received disconnect: Too many authentication failures", "name the right one by Identity"),
        ("command-line: line 0: Bad thing", "cannot connect to board; try it by hand: ssh board;"),
    ],
)
def test_whatever_ssh_says_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str
) -> None:
    program = tmp_path / "ssh"
    program.write_text(f'#!/bin/sh\ncase "$*" in *-M*) echo "{said}" >&2 ;; esac\nexit 255\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(TargetError) as error:
        find("ssh:board").check_ready()
    assert message in str(error.value)
    assert str(error.value).endswith(f"; ssh said: {said}")
    assert list(tmp_path.glob("rtstone-ssh-*")) == []


def test_ssh_itself_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="ssh is not installed; install it with: apt-get"):
        find("ssh:board").check_ready()


@NEEDED
def test_an_account_without_a_shell(ssh_board: Board, cli: Cli) -> None:
    says = refused(cli, "ssh:nologin@board")
    assert "no command can be run on board: exit status 1; its user needs a login shell" in says


@NEEDED
def test_a_machine_without_an_agent(ssh_board: Board, cli: Cli) -> None:
    ssh_board.program("uname", '[ "$1" = -s ] && echo Linux || echo sparc64')
    says = refused(cli)
    assert "no agent for a machine of type 'sparc64'; there are agents for " in says
    assert says.endswith(", on board")
    ssh_board.program("uname", "echo FreeBSD")
    assert "no agent for FreeBSD, on board; there are agents for Linux only" in refused(cli)


@NEEDED
def test_a_machine_that_cannot_execute_the_agent(
    ssh_board: Board, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = bytearray(resources.static_agent(os.uname().machine).read_bytes())
    program[18:20] = b"\xf3\x7f"  # the machine, in the header: none
    (tmp_path / "agent").write_bytes(program)
    monkeypatch.setattr(resources, "static_agent", lambda machine: tmp_path / "agent")
    done = cli("run", "null", "-p", "samples=100", "--target", "ssh:board")
    assert done.status == 4
    assert "cannot be run on board: this machine cannot execute it" in done.says


@NEEDED
def test_sudo_with_a_password(ssh_board: Board, cli: Cli) -> None:
    ssh_board.program("sudo", "echo sudo: a password is required >&2; exit 1")
    says = refused(cli, "ssh:board+sudo=yes")
    assert "sudo is refused without a password, on board; allow it (NOPASSWD: in sudoers)" in says
    assert says.endswith("it said: sudo: a password is required")


@NEEDED
def test_a_damaged_upload(ssh_board: Board, cli: Cli) -> None:
    ssh_board.program("cat", '/bin/cat "$@" | tr a b')
    done = cli("run", "null", "-p", "samples=100", "--target", "ssh:board")
    assert done.status == 4
    assert "cannot be run on board: the upload was damaged" in done.says


@NEEDED
def test_a_client_that_freezes_during_the_upload(ssh_board: Board) -> None:
    target = find("ssh:board")
    assert isinstance(target, Ssh)
    words = (f"{ssh.FOLDER}0123456789abcdef", "100000", "none", "0", "1")
    command = target._connection.command(ssh._UPLOAD, *words)
    frozen = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert frozen.stdin is not None
    frozen.stdin.write(bytes(5000))
    frozen.stdin.flush()
    assert soon(ssh_board.files, 10)
    frozen.wait(5)  # the other side does not wait for it
    assert ssh_board.files() == []
    frozen.stdin.close()


@NEEDED
def test_an_agent_that_is_never_started_is_removed(
    ssh_board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = find("ssh:board")
    assert isinstance(target, Ssh)
    monkeypatch.setattr(ssh, "UPLOAD_S", 2)
    folder, _ = target._upload(target._connection)
    assert f"{folder}/agent" in str(ssh_board.files())
    assert soon(lambda: not ssh_board.files(), 10)
    assert target.script("echo $$")


@NEEDED
def test_an_agent_that_is_never_started_ends_with_the_connection(ssh_board: Board) -> None:
    target = find("ssh:board")
    assert isinstance(target, Ssh)
    folder, _ = target._upload(target._connection)
    target._connection.close()
    assert f"{folder}/agent" in str(ssh_board.files())
    ssh_board.clean()


BUSYBOX = shutil.which("busybox")
TOOLS = "mkdir rm ls printf chmod dd wc cat sleep sha256sum cksum cut sh busybox"


@pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"]])
@pytest.mark.parametrize("without", ["", "sha256sum"])
def test_the_upload_needs_little(tmp_path: Path, shell: list[str], without: str) -> None:
    """A shell of POSIX and what busybox has do."""
    if not BUSYBOX:
        pytest.skip("needs busybox")
    tools = TOOLS.split()
    for tool in set(tools) - {without}:
        (tmp_path / tool).symlink_to(BUSYBOX if shell[0] == "busybox" else str(shutil.which(tool)))
    program = resources.local_agent().read_bytes()
    sums = (sha256(program).hexdigest(), str(ssh._checksum(program)))

    def upload(data: bytes, *sums: str) -> str:
        script = [*shell, "-c", ssh._UPLOAD, "x", "rtstone-upload-1", str(len(data)), *sums, "9"]
        script[0] = str(tmp_path / script[0])
        return subprocess.run(
            script, input=data, capture_output=True, check=True,
            env={"PATH": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        ).stdout.decode()  # fmt: skip

    received = upload(program, *sums)
    assert received.startswith(f"ready {tmp_path}/rtstone-upload-1 "), received
    os.kill(int(received.split()[2]), signal.SIGTERM)
    assert [file.name for file in (tmp_path / "rtstone-upload-1").iterdir()] == ["agent"]
    shutil.rmtree(tmp_path / "rtstone-upload-1")
    assert upload(program[::-1], *sums) == "failed the upload was damaged\n"
    assert not (tmp_path / "rtstone-upload-1").exists()


# ---- faults during the run ------------------------------------------------------------------


def measured(cli: Cli) -> list[str]:
    return [result["status"] for result in cli("show", "last", "--json").document["results"]]


def struck(ssh_board: Board, cli: Cli, home: Path, act: Callable[[], None]) -> Done:
    """Measure two cases, and do something in the second."""
    thread = once(home, SECOND, act)
    done = cli("run", *LONG, "-p", "samples=1000000", "--target", "ssh:root@board")
    thread.join()
    return done


@NEEDED
@pytest.mark.parametrize(
    ("victim", "message"),
    [
        (Board.agent, "the agent was killed on board"),
        (Board.session, "the connection to board was lost"),
    ],
)
def test_what_is_measured_is_kept_if_something_is_killed_there(
    ssh_board: Board, cli: Cli, home: Path, victim: Callable[[Board], int], message: str
) -> None:
    done = struck(ssh_board, cli, home, lambda: os.kill(victim(ssh_board), signal.SIGKILL))
    assert done.status == 4, done.err
    assert message in done.says
    assert measured(cli)[0] == "ok"
    assert "ok" not in measured(cli)[1:]


@NEEDED
@pytest.mark.parametrize(
    "odd", [b"ready\n", b"ready /tmp/x\n", b"ready /x 1 2\n", b"\xff\n", b"1\n"]
)
def test_odd_answers_are_a_fault_of_the_target(
    ssh_board: Board, monkeypatch: pytest.MonkeyPatch, odd: bytes
) -> None:
    target = Ssh("root@board")
    assert target.cpus()  # it is reached, and what it is known
    monkeypatch.setattr(ssh_connection.Connection, "script", lambda *_, **__: odd)
    with pytest.raises(TargetError, match="odd answer of board"):
        target.other_users()
    with pytest.raises(TargetError, match="the agent cannot be run on board"):
        target.start(Options())


@NEEDED
def test_a_link_that_has_gone_dead_is_lost_soon(
    ssh_board: Board, cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is closed: packets are dropped, as it looks from here."""
    assert ssh_connection.ALIVE_S * (ssh_connection.UNANSWERED + 1) < 45
    monkeypatch.setattr(ssh_connection, "ALIVE_S", 1)
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(ssh_board.session())
        os.kill(stopped[0], signal.SIGSTOP)

    begun = time.monotonic()
    done = struck(ssh_board, cli, home, stop)
    took = time.monotonic() - begun
    os.kill(stopped[0], signal.SIGCONT)
    assert done.status == 4, done.err
    assert "the connection to board seems dead" in done.says
    assert measured(cli)[0] == "ok"
    assert took < 45


def started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [RTSTONE, "run", *LONG, "-p", "samples=1000000", "--target", "ssh:root@board", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@NEEDED
def test_nothing_is_left_if_the_client_is_killed(ssh_board: Board, home: Path) -> None:
    run = started()
    once(home, SECOND, run.kill).join()
    run.communicate()
    assert run.returncode == -signal.SIGKILL


@NEEDED
def test_nothing_is_left_if_the_client_is_killed_while_it_connects(
    ssh_board: Board, tmp_path: Path
) -> None:
    ssh_board.program("uname", "sleep 1; echo sparc64")
    run = started()
    assert soon(lambda: any("uname" in words for words in ssh_board.processes().values()), 10)
    run.kill()
    run.communicate()


@NEEDED
def test_ctrl_c_ends_it(
    ssh_board: Board, cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "STOP_S", 0.3)
    done = struck(ssh_board, cli, home, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert done.status == 130, done.err
    assert measured(cli)[0] == "ok"


@NEEDED
def test_an_agent_that_does_not_stop_is_not_waited_for(
    ssh_board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "STOP_S", 0.2)
    with find("ssh:root@board").start(Options()) as link:
        link.send(framed(1, "case 1 dk.periodic period=1000000 samples=100000 time=0"))
        while b'"case"' not in (link.read(5) or b""):
            pass
        agent = ssh_board.agent()
        os.kill(agent, signal.SIGSTOP)
        link.stop()
        with pytest.raises(TargetError, match="killed by SIGKILL"):
            lines(link)
    os.kill(agent, signal.SIGCONT)


@NEEDED
def test_a_run_is_resumed_on_the_same_machine_only(
    ssh_board: Board, cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = once(home, SECOND, lambda: os.kill(ssh_board.agent(), signal.SIGKILL))
    words = ("null", "dk.periodic", "-p", "samples=700", "--target", "ssh:root@board")
    assert cli("run", *words).status == 4
    thread.join()
    with monkeypatch.context() as other:
        other.setattr(ssh, "identity", lambda _: "0" * 16)
        done = cli("run", "--resume", "last")
        assert done.status == 2
        assert "the target has changed since the run began: the machine was " in done.says
    assert cli("run", "--resume", "last").status == 0
    assert measured(cli) == ["ok", "ok"]


@NEEDED
def test_a_connection_that_nothing_uses_ends_by_itself(
    ssh_board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper of a frozen client does not end it: its input has not ended."""
    monkeypatch.setattr(ssh_connection, "IDLE_S", 4)  # a busy machine needs 1 to use it at all
    target = find("ssh:board")
    assert isinstance(target, Ssh)
    assert target.script("sleep 5; echo used") == b"used\n"
    connection = target._connection
    ssh_board.clean()
    assert connection.close.alive
    assert target.script("echo another") == b"another\n"


# ---- several machines -----------------------------------------------------------------------


@NEEDED
def test_two_machines_and_a_model_are_measured_at_once(
    ssh_board: Board, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    with board(tmp_path / "second") as second:
        config = tmp_path / "config"
        own = f"Host second\n HostName 127.0.0.1\n User pi\n Port {second.port}\n"
        own += (
            f" IdentityFile {second.folder}/key\n UserKnownHostsFile {second.folder}/known_hosts\n"
        )
        config.write_text(own + config.read_text())
        names = ["ssh:board", "ssh:second", "sim:rmos3-pc1"]
        options = [word for name in names for word in ("--target", name)]
        done = cli("run", "null", "sem.post.nowait", "--time", "200ms", "--json", *options)
        second.clean()
    assert done.status == 0, done.err
    runs = done.document["runs"]
    assert [run["target"]["name"] for run in runs] == names
    assert all(result["status"] == "ok" for run in runs for result in run["results"])
    boards = [run["target"]["detail"]["machine"] for run in runs[:2]]
    assert len(set(boards)) == 2  # each has its own, though the hardware is the same
    assert [len(run["results"]) for run in runs] == [2, 2, 2]
