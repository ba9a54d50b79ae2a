"""Another user has made objects first, of all kinds and with all names that an agent may use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.agent.processes import SHM
from tests.agent.rights import as_root, copied, nobody
from tests.agent.speak import AGENT, QUICK, Agent, Json

pytestmark = pytest.mark.machine

# Makes the objects of the agent with this number, and says what there is of them as it ends: the
# owner, and what they hold, each by kind and name.
PLANT = r"""
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
number, objects, lost = int(sys.argv[1]), [], []
EXCL, CREAT, MODE = 0o2000, 0o1000, 0o666
os.umask(0)
for slot in range(8):
    name = b"/rtstone-%d.%d" % (number, slot)
    queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, MODE, None)
    assert queue >= 0
    assert libc.mq_send(queue, b"planted", 7, 0) == 0
    objects.append(("queue", queue))
for slot in range(4):
    key = ctypes.c_int(0x15 << 27 | (number << 2 & 0xFFFFFFFF) | slot)
    for kind, *words in (("msg", libc.msgget), ("sem", libc.semget, 1), ("shm", libc.shmget, 4096)):
        get, *size = words
        handle = get(key, *size, CREAT | EXCL | MODE)
        assert handle >= 0, (kind, ctypes.get_errno())
        objects.append((kind, handle))
    assert libc.msgsnd(objects[-3][1], b"\1" + 7 * b"\0" + b"planted", 7, 0) == 0
for kind in ("sem.", "shm.", "fifo.", ""):
    for slot in [*map(str, range(8)), "probe"]:
        name = f"/dev/shm/{kind}rtstone-{number}.{slot}"
        fifo = slot.isdigit() and int(slot) % 2
        os.mkfifo(name) if fifo else open(name, "x").write("planted")
        objects.append(("file", name))
print("planted", flush=True)
sys.stdin.readline()
for kind, place in objects:
    if kind == "file":
        intact = os.path.lexists(place) and os.stat(place).st_uid == os.getuid()
        os.path.lexists(place) and os.unlink(place)
    elif kind == "queue":
        text = ctypes.create_string_buffer(8192)
        intact = libc.mq_receive(place, text, 8192, None) == 7 and text.value == b"planted"
    elif kind == "msg":
        text = ctypes.create_string_buffer(64)
        intact = libc.msgrcv(place, text, 56, 0, 0o4000) == 7 and libc.msgctl(place, 0, None) == 0
    elif kind == "sem":
        intact = libc.semctl(place, 0, 12, 0) == 0 and libc.semctl(place, 0, 0, 0) == 0
    else:
        intact = libc.shmctl(place, 0, None) == 0
    intact or lost.append(f"{kind} {place}")
for slot in range(8):
    if libc.mq_unlink(b"/rtstone-%d.%d" % (number, slot)):
        lost.append(f"the name of queue {slot}")
print(json.dumps([len(objects), lost]), flush=True)
"""
CASES = [
    "mq.latency", "ipc.srsr mechanism=queue", "ipc.srsr mechanism=sysv",
    "ipc.srsr mechanism=fifo", "sem.post.higher type=named", "sem.post.higher type=pshared",
    "sem.post.higher type=sysv", "sem.create type=sysv", "sys.sem",
    "sys.shm", "posix.shm.create", "posix.shm.attach", "posix.shm.unlink",
    "posix.options",
]  # fmt: skip


@as_root
def test_they_are_neither_used_nor_removed_nor_waited_for() -> None:
    agent = Agent("unshare", "-i", AGENT, QUICK)  # what others plant is theirs alone
    agent.until("hello")
    inside = ["nsenter", "-t", str(agent.pid), "-i"]
    with subprocess.Popen(
        [*inside, *nobody(), sys.executable, "-c", PLANT, str(agent.pid)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout
        try:
            assert other.stdout.readline() == "planted\n"
            ends: dict[str, Json] = {}
            for number, case in enumerate(CASES, 1):
                samples = "" if case == "posix.options" else " samples=20"
                ends[case] = agent.ask(f"case {number} {case}{samples}", "end")[-1]
            agent.rest("bye")
        finally:
            out, _ = other.communicate("\n", timeout=30)
    planted, lost = json.loads(out)
    assert (planted, lost) == (8 + 12 + 36, [])
    assert not list(SHM.glob(f"*rtstone-{agent.pid}*"))
    refused = {case for case, end in ends.items() if end["status"] != "ok"}
    sets = {"sem.post.higher type=sysv", "sem.create type=sysv"}
    assert {"sys.sem", "sys.shm", *sets} <= refused
    assert refused <= {"mq.latency", "ipc.srsr mechanism=queue", "sys.sem", "sys.shm", *sets}
    for case in refused - {"sys.sem", "sys.shm"}:
        assert "File exists" in ends[case]["reason"], ends
    for case, objects, option in (
        ("sys.sem", "semaphores", "S"),
        ("sys.shm", "shared memory", "M"),
    ):
        key = f"0x{0x15 << 27 | (agent.pid << 2 & 0xFFFFFFFF):08x}"
        assert ends[case]["reason"] == (
            f"the key {key} is in use by {objects} of the user of uid 65534: "
            f"ipcrm -{option} {key}, as that user"
        )


# Makes queues of System V that only this user may look at, and removes them as it ends.
PLANT_QUEUES = r"""
import ctypes, sys
libc = ctypes.CDLL(None)
keys = [ctypes.c_int(0x15 << 27 | (int(sys.argv[1]) << 2 & 0xFFFFFFFF) | slot) for slot in range(4)]
queues = [libc.msgget(key, 0o3600) for key in keys]
assert min(queues) >= 0
print("planted", flush=True)
sys.stdin.readline()
assert not any(libc.msgctl(queue, 0, None) for queue in queues)
"""


@as_root
def test_a_queue_that_the_user_may_not_look_at_is_no_matter_of_limits() -> None:
    """It was "no channel of this mechanism": the limits are sysctl kernel.msgmax."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        agent = Agent("unshare", "-i", *nobody("sys_nice"), str(copied(AGENT, Path(place))), QUICK)
        agent.until("hello")
        inside = ["nsenter", "-t", str(agent.pid), "-i"]
        with subprocess.Popen(
            [*inside, sys.executable, "-c", PLANT_QUEUES, str(agent.pid)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as other:  # fmt: skip
            assert other.stdout
            assert other.stdout.readline() == "planted\n"
            end = agent.ask("case 1 ipc.srsr mechanism=sysv samples=20", "end")[-1]
            agent.rest("bye")
            other.communicate("\n", timeout=30)
    assert (other.returncode, end["status"]) == (0, "failed"), end
    assert end["reason"] == "cannot create the channel: File exists"
