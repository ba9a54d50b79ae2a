"""Programs that end with the one that has started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtstone.interrupt import bound

STARTER = """
import subprocess, sys, time
from rtstone.interrupt import bound
process = subprocess.Popen(bound(["sleep", "60"]), start_new_session=True)
print(process.pid, flush=True)
time.sleep(60)
"""


def runs(process: int) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_what_was_started_ends_with_whoever_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        process = int(starter.stdout.readline())
        assert runs(process)
        starter.kill()
    end = time.monotonic() + 20
    while runs(process) and time.monotonic() < end:
        time.sleep(0.05)
    left = runs(process)
    if left:
        os.kill(process, signal.SIGKILL)
    assert not left


@pytest.mark.parametrize(
    ("start", "output"), [([], "begun\n"), (["sh", "-c", '"$@"; :', "sh"], "")]
)
def test_nothing_begins_whose_starter_has_ended(start: list[str], output: str) -> None:
    """Started by another process, as if this one had ended and left it to that one."""
    words = [*start, *bound(["echo", "begun"])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == output
