"""A link to another machine that loses each packet from some moment on, whatever is going on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rtstone.targets import shell, ssh_connection
from tests.conftest import Cli
from tests.targets import network
from tests.targets.board import NEEDED, Board, board, logged_in
from tests.targets.network import Network
from tests.waiting import soon

pytestmark = [pytest.mark.waits, NEEDED, network.NEEDED]

RTSTONE = str(Path(sys.executable).parent / "rtstone")
MOST_S = 45  # until a person is told
BUSY_S = 30  # more of it, as other tests run beside this one
# What the upload reads its input with, and what files are looked at with, take long enough.
SLOW_CAT = '[ $# = 0 ] || exec /bin/cat "$@"; head -c 5000; exec sleep 31'
SLOW_XARGS = '[ -e /run/board/slow ] || exec /usr/bin/xargs "$@"; sleep 7; exec /usr/bin/xargs "$@"'


@pytest.fixture(scope="module")
def link() -> Iterator[Network]:
    with network.network() as wires:
        wires.notices_soon()
        yield wires


@pytest.fixture
def ssh_board(
    link: Network,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("board")
    with (
        board(folder, network.THERE, link.there) as far,
        logged_in(far, tmp_path, monkeypatch),
    ):
        yield far


def started(link: Network, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*link.here, RTSTONE, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def begun(ssh_board: Board, command: str) -> bool:
    return soon(lambda: command in ssh_board.processes().values(), 30)


def test_it_is_told_as_what_it_is_and_nothing_is_left(
    ssh_board: Board, link: Network, home: Path, cli: Cli
) -> None:
    """In the midst of a case, of the upload of the agent and of what doctor looks at."""
    longest = ssh_connection.ALIVE_S * (ssh_connection.UNANSWERED + 1)
    assert longest < min(MOST_S, shell.SILENT_S, ssh_connection.SCRIPT_S)
    words = ("null", "dk.periodic", "--time", "100s", "-p", "samples=1000000")
    case = started(link, "run", *words, "--target", "ssh:root@board")
    assert soon(lambda: any('"t":"case","id":2' in log.read_text() for log in home.rglob("*.log")))
    ssh_board.program("cat", SLOW_CAT)
    upload = started(link, "run", "null", "--target", "ssh:board")
    assert begun(ssh_board, "sleep 31")
    ssh_board.program("xargs", SLOW_XARGS)
    (ssh_board.folder / "slow").touch()
    doctor = started(link, "doctor", "--target", "ssh:root@board")
    assert begun(ssh_board, "sleep 7")
    link.cut()
    end = time.monotonic() + MOST_S + BUSY_S
    for command in (case, upload, doctor):
        _, errors = command.communicate(timeout=max(0.1, end - time.monotonic()))
        assert command.returncode == 4, errors
        [says] = [line for line in errors.decode().splitlines() if line.startswith("rtstone: ")]
        assert "the connection to board seems dead: nothing has come from it for 40 s" in says
    stored = [msgspec.json.decode(run.read_bytes()) for run in home.rglob("run.json")]
    statuses = [[result["status"] for result in run["results"]] for run in stored]
    assert sorted(statuses) == [["incomplete"], ["ok", "incomplete"]]
    ssh_board.clean(within=60)  # it has to notice, too
