"""A board to log in to: sshd on the loopback, in namespaces of its own.

It has its own /run, /dev/shm, /tmp, /var/tmp, /var/lib, accounts and processes, so that nothing on
this machine is touched, and whatever is left there can be seen.  Only root can make one.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
POSSIBLE = (
    os.geteuid() == 0
    and SSHD is not None
    and shutil.which("ssh") is not None
    and not subprocess.run(
        ["unshare", "-mpif", "true"], capture_output=True, check=False
    ).returncode
)
NEEDED = pytest.mark.skipif(not POSSIBLE, reason="needs root, namespaces, openssh-server")

ACCOUNTS = """root:*:0:0:root:/:/bin/sh
sshd:*:20000:65534::/run/sshd:/usr/sbin/nologin
pi:*:20001:20001::/:/bin/sh
nologin:*:20002:20002::/:/usr/sbin/nologin
noisy:*:20003:20003::/:/run/board/bin/noisy
nobody:*:65534:65534::/:/usr/sbin/nologin
"""
SHADOW = "".join(f"{line.partition(':')[0]}:*:19000::::::\n" for line in ACCOUNTS.splitlines())
SUDOERS = "Defaults use_pty\npi ALL=(ALL) NOPASSWD: ALL\n"  # the first line is Debian's
OWN = {"passwd": ACCOUNTS, "shadow": SHADOW, "sudoers": SUDOERS}
CONFIG = """ListenAddress {address}:{port}
HostKey /run/board/host_key
AuthorizedKeysFile /run/board/authorized_keys
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
SetEnv PATH=/run/board/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
BEGIN = """
set -e
mount -t tmpfs none /run
mkdir -m 755 /run/sshd /run/board
mount --bind "$1" /run/board
for file in passwd shadow sudoers machine-id; do
    [ ! -e /etc/$file ] || mount --bind /run/board/$file /etc/$file
done
mount -t tmpfs -o mode=755 none /var/lib
for place in /dev/shm /tmp /var/tmp; do mount -t tmpfs -o mode=1777,size=64m none $place; done
exec "$2" -D -e -f /run/board/sshd_config
"""
PLACES = ("dev/shm", "tmp", "var/tmp")


def _key(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


def programs(part: str) -> list[str]:
    """Return the programs here with this in their command lines."""
    seen = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if part in words and int(entry.name) != os.getpid():
                seen.append(words)
    return seen


class Board:
    """A running board.  ``port``: where it listens; ``folder``: its files, /run/board there.

    ``enter``: begins a command that is to run in the board's network, if it has its own.
    """

    def __init__(self, folder: Path, address: str = "127.0.0.1", enter: Sequence[str] = ()) -> None:
        self.folder, self.address = folder, address
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        folder.chmod(0o755)
        (folder / "bin").mkdir()
        for key in ("host_key", "key"):
            _key(folder / key)
        shutil.copy(folder / "key.pub", folder / "authorized_keys")
        (folder / "authorized_keys").chmod(0o644)
        (folder / "sshd_config").write_text(CONFIG.format(address=address, port=self.port))
        for name, text in (OWN | {"machine-id": f"{secrets.token_hex(16)}\n"}).items():
            (folder / name).write_text(text)
        (folder / "sudoers").chmod(0o440)
        self.trust("host_key")
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [*enter, "setpriv", "--pdeathsig", "KILL", "unshare", "-m", "-p", "-i",
                 "--mount-proc", "--propagation", "private", "--kill-child", "sh", "-c", BEGIN,
                 "sh", str(folder), str(SSHD)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._await()

    def _await(self) -> None:
        for _ in range(1000):
            if "Server listening" in (self.folder / "log").read_text():
                return
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.01)
        raise AssertionError((self.folder / "log").read_text())

    @property
    def init(self) -> int:
        """Return the first process of the board."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return int(children.read_text().split()[0])

    def trust(self, key: str) -> None:
        """Let the client know this key as that of the board."""
        public = (self.folder / f"{key}.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[{self.address}]:{self.port} {public}")

    def client(self, where: Path) -> None:
        """Make a program `ssh` in a directory that uses a configuration for this board alone."""
        config = where / "config"
        config.write_text(
            f"Host board pi4\n HostName {self.address}\n User pi\n Port {self.port}\n"
            f"Host behind\n HostName {self.address}\n User pi\n Port {self.port}\n"
            " ProxyJump board\n"
            f"Host *\n IdentityFile {self.folder}/key\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {self.folder}/known_hosts\n GlobalKnownHostsFile none\n"
        )
        program = where / "ssh"
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        program.chmod(0o755)

    def reset(self) -> None:
        """Undo what a test has changed."""
        shutil.rmtree(self.folder / "bin")
        (self.folder / "bin").mkdir()
        self.trust("host_key")
        for place in PLACES:
            options = "remount,rw,exec,mode=1777,size=64m"
            self.inside("mount", "-o", options, f"/{place}")
            self.inside("chmod", "1777", f"/{place}")
            self.inside("find", f"/{place}", "-mindepth", "1", "-delete")

    @property
    def root(self) -> Path:
        """Its files, as seen from here."""
        return Path(f"/proc/{self.init}/root")

    def plant(self, name: str) -> None:
        """Make a file as root."""
        (self.root / name).touch()

    def program(self, name: str, script: str) -> None:
        """Put a program before all others in the PATH of whoever logs in."""
        file = self.folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def inside(self, *command: str) -> None:
        """Run a command as root of the board."""
        enter = ["nsenter", "-t", str(self.init), "-m", "-p", *command]
        subprocess.run(enter, check=True, capture_output=True)

    def processes(self) -> dict[int, str]:
        """Return what runs there besides sshd itself, by process id here."""
        inside = Path(f"/proc/{self.init}/ns/pid").readlink()
        seen = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "ns/pid").readlink() == inside and int(entry.name) != self.init:
                    words = (
                        (entry / "cmdline")
                        .read_bytes()
                        .replace(b"\0", b" ")
                        .decode(errors="replace")
                        .strip()
                    )
                    if words:  # no zombie
                        seen[int(entry.name)] = words
        return seen

    def files(self) -> list[str]:
        """Return what lies where the agent is uploaded, and where it puts files."""
        return sorted(str(path) for place in PLACES for path in (self.root / place).rglob("*"))

    def left(self) -> list[str]:
        """Return what is left there: files and processes."""
        return [*self.files(), *self.processes().values()]

    def clean(self, within: float = 5) -> None:
        """Wait until nothing is left there; fail if something is."""
        gc.collect()  # an exception of a command may keep its target, and so the connection
        end = time.monotonic() + within
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.02)
        assert not left, left

    def agent(self) -> int:
        """Return the process of the agent that was started by sshd or sudo, not of its children."""
        processes = self.processes()
        for pid, words in processes.items():
            if "--uploaded" in words and "sh -c" not in words:
                parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
                if "--uploaded" not in processes.get(int(parent), "--uploaded"):
                    return pid
        raise AssertionError(processes)

    def session(self) -> int:
        """Return the process of sshd that is the agent's parent."""
        return int(Path(f"/proc/{self.agent()}/stat").read_text().rpartition(")")[2].split()[1])

    def close(self) -> None:
        """End it with everything in it."""
        self._process.kill()
        self._process.wait()


@contextmanager
def board(folder: Path, address: str = "127.0.0.1", enter: Sequence[str] = ()) -> Iterator[Board]:
    """Run a board with its files in ``folder``; ``address`` and ``enter`` as ``Board`` has them."""
    running = Board(folder, address, enter)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def logged_in(board: Board, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `ssh` reach a board as it was at first; then nothing may be left on it or here."""
    board.reset()
    board.client(folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    sockets = folder / "run"
    sockets.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(sockets))
    yield
    board.clean()
    assert [name for name in sockets.iterdir() if "ssh" in name.name] == []
    end = time.monotonic() + 5
    while (left := programs(str(folder))) and time.monotonic() < end:
        time.sleep(0.02)  # one that was told to end may take a moment
    assert left == []
