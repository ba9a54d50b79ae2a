"""Whether a call enters the kernel, as the agent for Linux counts it before it times the call."""

from __future__ import annotations

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import Json, pick, talk


def evidence(bench: str) -> Json:
    (end,) = pick(talk([f"case 1 {bench} samples=50"]), "end")
    assert end["status"] == "ok", end["reason"]
    counts: Json = end["evidence"]
    if counts["entered_why"]:
        pytest.skip(f"not known here: {counts['entered_why']}")
    return counts


@pytest.mark.parametrize(
    ("bench", "enters"),
    [("sys.getpid", True), ("sem.create type=named", True), ("sem.delete type=named", True),
     ("sem.post.nowait type=sysv", True), ("sem.create type=sysv", True),
     ("sched.yield", True),
     pytest.param("posix.mutex.lock protocol=protect", True, marks=realtime),
     ("sem.create", False), ("sem.post.nowait", False), ("sem.wait.free", False),
     ("sem.post.nowait type=named", False), ("sem.try.busy type=pshared", False),
     ("posix.mutex.lock protocol=inherit", False), ("mem.memset size=64", False)],
)  # fmt: skip
def test_a_call_that_enters_the_kernel_is_told_from_one_that_does_not(
    bench: str, enters: bool
) -> None:
    counts = evidence(bench)
    assert counts["entered_of"] >= 50
    assert counts["entered"] == (counts["entered_of"] if enters else 0)


@pytest.mark.parametrize(
    "bench",
    ["null", *(pytest.param(bench, marks=realtime) for bench in ("sem.post.lower", "ctx.ballast"))],
)
def test_a_bench_whose_call_is_not_taken_alone_is_not_counted(bench: str) -> None:
    (end,) = pick(talk([f"case 1 {bench} samples=50"]), "end")
    assert (end["evidence"]["entered"], end["evidence"]["entered_why"]) == (None, None)
