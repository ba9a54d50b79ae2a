"""Systems of every kind, made of this one, as the beginning of a command that runs there.

By filters of system calls, limits, mount, PID, IPC and user namespaces, and control groups.  Where
this system cannot make one, the test is skipped with the reason.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import platform
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agent.rights import nobody

RTSTONE = Path(sys.executable).with_name("rtstone")
PRIVATE = ["unshare", "--mount", "--propagation=private"]
CALLS = {  # of x86-64
    "capget": 125, "flock": 73, "msgget": 68, "sched_getscheduler": 145, "sched_setscheduler": 144,
    "mlockall": 151, "sched_setaffinity": 203, "sched_getaffinity": 204, "timer_create": 222,
    "clock_nanosleep": 230, "mq_open": 240, "sched_setattr": 314,
}  # fmt: skip
# Fails system calls, by a filter that holds for all that the process executes.
FILTER = """
import ctypes, os, struct, sys
value, calls, *command = sys.argv[1:]
code = [(0x20, 0, 0, 0)]
for call in calls.split(","):
    code += [(0x15, 0, 1, int(call)), (0x06, 0, 0, int(value))]
code += [(0x06, 0, 0, 0x7FFF0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(len(code), ctypes.cast(text, ctypes.c_void_p))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit("no filter of system calls can be set")
os.execvp(command[0], command)
"""
KILL = -1  # instead of an error: who makes the call is killed
GROUPS = Path("/sys/fs/cgroup")


def filtered(*calls: str, error: int = errno.EPERM) -> list[str]:
    """Make a sandbox that fails system calls with an error."""
    if platform.machine() != "x86_64":
        return ["false", "the filter is for x86-64"]
    value = 0x80000000 if error == KILL else 0x50000 | error
    numbers = ",".join(str(CALLS[call]) for call in calls)
    return [sys.executable, "-c", FILTER, str(value), numbers]


def limited(**limits: int) -> list[str]:
    """Make a session with limits, named as prlimit names them."""
    return ["prlimit", *(f"--{name}={value}:{value}" for name, value in limits.items())]


def mounted(script: str) -> list[str]:
    """Make a system whose mounts a shell script has changed."""
    return [*PRIVATE, "sh", "-c", f'{script} && exec "$@"', "sh"]


def without(*capabilities: str) -> list[str]:
    """Make a session of root that can have all capabilities but these."""
    less = ",".join(f"-{name}" for name in capabilities)
    return ["setpriv", f"--bounding-set={less}", f"--inh-caps={less}"]


def reachable(*files: Path) -> list[str]:
    """Make a system where any user can reach these files.

    Where a directory on the way is its owner's alone, as root's home is, another is mounted over
    it that has only what leads to them.
    """
    ways: dict[Path, set[str]] = {}
    for file in files:
        for parent, child in itertools.pairwise(reversed(file.parents)):
            if not parent.stat().st_mode & stat.S_IXOTH:
                ways.setdefault(parent, set()).add(child.name)
    steps = [
        f'cd {shlex.quote(str(parent))} && mount -t tmpfs -o mode=755 none "$PWD" && for way in '
        f'{shlex.join(sorted(ways[parent]))}; do mkdir "$PWD/$way" && '
        'mount -c --rbind "$way" "$PWD/$way" || exit; done'
        for parent in sorted(ways)
    ]
    return mounted(" && ".join([*steps, "cd /"])) if steps else []


REACHABLE = reachable(RTSTONE, Path(sys.executable).resolve())
USER = [*REACHABLE, *nobody()]
NO_ENTRY = [  # in passwd
    *REACHABLE, "setpriv", "--reuid=1000680000", "--regid=0", "--clear-groups",
]  # fmt: skip
USER_NAMESPACE = ["unshare", "--user", "--map-root-user"]
OUTER_PROC = ["unshare", "--pid", "--fork", "--kill-child"]
NO_PROC, NO_SYS = (mounted(f"umount -l /{name}") for name in ("proc", "sys"))
FEW_QUEUES = [
    "unshare", "--ipc", "sh", "-c", 'echo 0 >/proc/sys/fs/mqueue/queues_max && exec "$@"', "sh",
]  # fmt: skip
# A /dev without /dev/null, made below a directory that has to be there.
NO_NULL = mounted(
    "mount -t tmpfs none /mnt && mkdir /mnt/shm && mount -t tmpfs none /mnt/shm && "
    "cp -a /dev/zero /dev/urandom /mnt && mount --rbind /mnt /dev"
)


class Done(NamedTuple):
    status: int
    said: str


def run(kind: Sequence[str], *arguments: str, **environment: str | None) -> Done:
    """Run rtstone in such a system; a variable of None is unset there."""
    process = subprocess.run(
        [*kind, "test", "-r", RTSTONE], stdin=subprocess.PIPE, capture_output=True, check=False,
        text=True,
    )  # fmt: skip
    if process.returncode:
        reason = " ".join(kind[1:2] if kind[0] == "false" else process.stderr.split())
        reason = reason or f"its user cannot read {RTSTONE}"
        pytest.skip(f"this system cannot make one of that kind: {reason}")
    values = {k: v for k, v in (os.environ | environment).items() if v is not None}
    done = subprocess.run(
        [*kind, RTSTONE, *arguments], env=values, stdin=subprocess.PIPE, capture_output=True,
        check=False, timeout=120,
    )  # fmt: skip
    return Done(done.returncode, (done.stdout + done.stderr).decode())


class Line(NamedTuple):
    """What doctor says of one thing: a finding and what to do."""

    verdict: str
    value: str
    advice: str


def doctor(kind: Sequence[str], **environment: str | None) -> dict[str, Line]:
    """Return the lines of doctor in such a system, by id."""
    done = run(kind, "doctor", "--json", **environment)
    assert done.status in {0, 1}, done.said
    checks = json.loads(done.said)["checks"]
    return {line["id"]: Line(line["verdict"], line["value"], line["advice"]) for line in checks}


@contextmanager
def control_group(
    files: dict[str, str], below: str = "", controller: str = "cpu"
) -> Iterator[Path]:
    """Make a control group with these files, and yield it, or one below it.

    It is removed once it is empty.  Names are those of v1; a quota may have that of v2 instead.
    """
    mount = GROUPS / controller if (GROUPS / controller).is_dir() else GROUPS
    if not mount.resolve().is_mount():
        pytest.skip(f"no control groups are mounted on {mount}")
    group = mount / f"rtstone-test-{os.getpid()}"
    inner = group / below
    try:
        group.mkdir()
        for name, value in files.items():
            (group / _name(name, mount)).write_text(value)
        inner.mkdir(exist_ok=True)
    except OSError as error:
        remove(inner, group)
        pytest.skip(f"no such control group can be made: {error}")
    try:
        yield inner
    finally:
        end = time.monotonic() + 5
        while group.is_dir():  # an agent's helpers leave it shortly after it
            remove(inner, group)
            assert time.monotonic() < end
            time.sleep(0.01)


def _name(name: str, mount: Path) -> str:
    return "cpu.max" if mount == GROUPS and name == "cpu.cfs_quota_us" else name


def remove(*groups: Path) -> None:
    """Remove control groups, as far as they are empty."""
    for group in groups:
        with suppress(OSError):
            group.rmdir()


def inside(group: Path) -> list[str]:
    """Make a session in a control group."""
    return ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
