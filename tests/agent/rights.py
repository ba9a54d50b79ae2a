"""What tests may do on this machine, and agents that may do less."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.speak import QUICK, command_lines, records


def may_realtime() -> bool:
    """Return whether this process may use real-time scheduling."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


realtime = pytest.mark.skipif(not may_realtime(), reason="needs the right to real-time scheduling")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give rights up")


def limited(part: int, limit: int) -> Callable[[], None]:
    """Return a ``preexec_fn`` that sets a limit of resources."""
    return lambda: resource.setrlimit(part, (limit, limit))


def nobody(*capabilities: str) -> list[str]:
    """Return the start of a command line that runs the rest as nobody with these capabilities."""
    caps = ",".join(f"+{c}" for c in capabilities)
    extra = [f"--inh-caps={caps}", f"--ambient-caps={caps}"] if caps else ["--inh-caps=-all"]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *extra,
            f"--bounding-set=-all{',' + caps if caps else ''}"]  # fmt: skip


def copied(agent: Path, directory: Path) -> Path:
    """Copy an agent to a directory that any user can reach, where any user may run it."""
    path = directory / "agent"
    shutil.copy(agent, path)
    path.chmod(0o755)
    return path


def unprivileged(
    copy: Path,
    commands: list[str],
    capabilities: list[str],
    kinds: tuple[str, ...] = ("end",),
    **options: Any,
) -> Any:
    """Send commands to an agent of nobody with these capabilities; return records of some kinds."""
    done = subprocess.run(
        [*nobody(*capabilities), copy, QUICK], input=command_lines(*commands, "bye"),
        stdout=subprocess.PIPE, timeout=60, check=True, **options,
    )  # fmt: skip
    return [r for r in records(done.stdout) if r["t"] in kinds]
