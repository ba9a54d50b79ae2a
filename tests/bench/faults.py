"""Faults at random moments of runs on another machine: what is told, what is kept, what is left.

    python -m tests.bench.faults [FAULTS] [SEED] [KIND]

The board is that of tests/targets/board.py, so this needs root and openssh-server.  A line for each
kind of fault: how the runs ended, how many told it in one line, how many kept every case that had
been completed, and how long it took until nothing was left there and here (s; "left": not within
the limit).  What is left here of a client that is stopped for good is looked for when it is killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.wire import records
from rtstone.wire.reader import Reader, Record
from tests.targets.board import PLACES, POSSIBLE, Board, board, programs

RTSTONE = str(Path(sys.executable).parent / "rtstone")
FAULTS = 200
LIMIT_S = 120.0  # until everything has to be gone: a lease is a minute beyond its case, then IDLE_S
CASES = ("null", "sem.post.higher", "dk.periodic", "mem.memset", "proc.create", "mq.latency")
TIME = "300ms"  # a case
TARGETS = ("ssh:root@board", "ssh:board+sudo=yes")


class Trial(NamedTuple):
    """What came of one fault."""

    status: int
    said: list[str]  # the lines of rtstone itself
    complete: bool
    clean_s: float | None
    left: list[str]

    @property
    def reported(self) -> bool:
        """Return whether the exit status is one of a target's, with one line if it is not 0."""
        return self.status < 0 or (self.status in {0, 3, 4} and len(self.said) == bool(self.status))


class Client:
    """A run of rtstone on the board, with a place of its own."""

    def __init__(self, folder: Path, board: Board, target: str) -> None:
        self.folder, self.target = folder, target
        board.client(folder)
        (folder / "run").mkdir(mode=0o700)
        self.home = folder / "home"
        changes = {"RTSTONE_HOME": str(self.home), "XDG_RUNTIME_DIR": str(folder / "run")}
        self.environment = os.environ | changes | {"PATH": f"{folder}:{os.environ['PATH']}"}

    def start(self) -> None:
        """Start the run."""
        command = [RTSTONE, "run", *CASES, "--time", TIME, "--target", self.target]
        self.process = subprocess.Popen(
            command, env=self.environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def end(self, limit_s: float) -> tuple[int, str]:
        """Return the exit status and what was told; a run that does not end is killed."""
        try:
            _, said = self.process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, said = self.process.communicate()
        return self.process.returncode, said.decode(errors="replace")

    def keeps_all(self) -> bool:
        """Return whether every case that the agent completed is a result of the run."""
        reader = Reader()
        logs = [log.read_bytes().splitlines(keepends=True) for log in self.home.rglob("wire.log")]
        events = [event for log in logs for line in log for event in reader.feed(line)]
        bodies = [event.body for event in events if isinstance(event, Record)]
        ended = sum(isinstance(body, records.End) and body.status == "ok" for body in bodies)
        command = [RTSTONE, "show", "last", "--json"]
        shown = subprocess.run(command, env=self.environment, capture_output=True, check=False)
        if shown.returncode:
            return not ended
        results = json.loads(shown.stdout)["results"]
        return len({r["case"] for r in results if r["status"] == "ok"}) >= ended  # or stopped

    def left(self) -> list[str]:
        """Return what is left here: sockets and processes."""
        sockets = [str(path) for path in (self.folder / "run").glob("rtstone-ssh-*")]
        return sockets + programs(str(self.folder))


def _kill(part: str) -> Callable[[Board, Client], None]:
    def act(board: Board, client: Client) -> None:
        for pid, words in board.processes().items():
            if part in words:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return

    return act


def _remount(option: str) -> Callable[[Board, Client], None]:
    def act(board: Board, client: Client) -> None:
        for place in PLACES:
            with suppress(subprocess.CalledProcessError):  # there may be more in it by now
                board.inside("mount", "-o", f"remount,{option}", f"/{place}")

    return act


# What is done to a run: before it starts, or at a random moment.
BEFORE: dict[str, Callable[[Board, Client], None]] = {
    "host key changed": lambda board, client: board.trust("key"),
    "wrong architecture": lambda board, client: board.program(
        "uname", '[ "$1" = -s ] && echo Linux || echo sparc64'
    ),
    "disk full": _remount("size=64k"),
    "all directories noexec": _remount("noexec"),
}
DURING: dict[str, Callable[[Board, Client], None]] = {
    "client killed": lambda board, client: client.process.kill(),
    "client stopped for good": lambda board, client: client.process.send_signal(signal.SIGSTOP),
    "sshd's child killed": _kill("@notty"),
    "agent killed": _kill("/agent --uploaded"),
    "disk becomes full": _remount("size=64k"),
    "directories become noexec": _remount("noexec"),
}


def clean_after(left: Callable[[], list[str]]) -> tuple[float | None, list[str]]:
    """Wait until nothing is left; return the time in s, or None and what is left at the limit."""
    begin = time.monotonic()
    while time.monotonic() - begin < LIMIT_S:
        if not left():
            return time.monotonic() - begin, []
        time.sleep(0.05)
    return None, left()


def end_stopped(board: Board, client: Client) -> tuple[float | None, list[str]]:
    """Wait until nothing is left there of a client that is frozen; then kill it."""
    clean, left = clean_after(board.left)
    client.process.kill()
    client.process.wait()
    after, here = clean_after(client.left)
    return clean if after is not None else None, left + here


def trial(name: str, board: Board, target: str, moment_s: float) -> Trial:
    """Let one fault happen to one run."""
    board.reset()
    with tempfile.TemporaryDirectory(prefix="rtstone-fault-") as folder:
        client = Client(Path(folder), board, target)
        if name in BEFORE:
            BEFORE[name](board, client)
        client.start()
        if name in DURING:
            time.sleep(moment_s)
            DURING[name](board, client)
        if name == "client stopped for good":
            status, said = -9, ""
            clean, left = end_stopped(board, client)
        else:
            status, said = client.end(3 * LIMIT_S)
            clean, left = clean_after(lambda: board.left() + client.left())
        lines = [line for line in said.splitlines() if line.startswith("rtstone: ")]
        return Trial(status, lines, client.keeps_all(), clean, left)


def line(name: str, trials: list[Trial]) -> str:
    """Return the line of the table for one kind of fault."""
    ended = Counter("killed" if trial.status < 0 else f"exit {trial.status}" for trial in trials)
    times = sorted(trial.clean_s for trial in trials if trial.clean_s is not None)
    left = len(trials) - len(times)
    middle = f"{statistics.median(times):6.2f} {times[-1]:6.2f}" if times else f"{'-':>6} {'-':>6}"
    reported, complete = (
        sum(trial.reported for trial in trials),
        sum(trial.complete for trial in trials),
    )
    how = ", ".join(f"{item} {count}" for item, count in sorted(ended.items()))
    return f"{name:28} {len(trials):4} {reported:5} {complete:5} {middle} {left:5}  {how}"


def main() -> None:
    """Measure and print."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else FAULTS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    if not POSSIBLE:
        sys.exit("needs root, namespaces and openssh-server")
    chance = random.Random(seed)
    print(f"{number} faults, seed {seed}; a limit of {LIMIT_S:.0f} s until nothing is left")
    kinds = sys.argv[3:] or [*BEFORE, *DURING]
    trials_by_kind: dict[str, list[Trial]] = {name: [] for name in kinds}
    with (
        tempfile.TemporaryDirectory(prefix="rtstone-board-") as files,
        board(Path(files)) as remote,
    ):
        begin = time.monotonic()
        whole = trial("", remote, TARGETS[0], 0)
        length = time.monotonic() - begin
        if whole.status:
            sys.exit(f"a run without a fault failed: {whole}")
        names = list(trials_by_kind)
        for turn in range(number):
            name = names[turn % len(names)]
            target = chance.choice(TARGETS)
            trials_by_kind[name].append(trial(name, remote, target, chance.uniform(0, length)))
            print(f"\r{turn + 1}/{number}", end="", file=sys.stderr)
    print(f"\r{'fault':28} {'n':>4} {'told':>5} {'kept':>5} {'clean':>6} {'max':>6} {'left':>5}")
    for name, trials in trials_by_kind.items():
        if trials:
            print(line(name, trials))
    for name, trials in trials_by_kind.items():
        for result in trials:
            if not (result.reported and result.complete):
                lines = " / ".join(result.said)
                print(f"{name}: exit {result.status}, kept {result.complete}: {lines}")
            if result.left:
                print(f"{name}: left: {', '.join(result.left)}")


if __name__ == "__main__":
    main()
