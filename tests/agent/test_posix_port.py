"""The part of the port that is common to POSIX systems, built with nothing beyond POSIX."""

from __future__ import annotations

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import AGENT, POSIX, case, pick, result, talk

ONLY_HERE = {"children", "clock_syscall", "cold_cache", "deadline", "event", "footprint"} | {
    "sem_named",
    "smp",
    "soft_irq",
}


def test_it_has_no_capability_that_a_system_has_to_add() -> None:
    here, posix = (set(talk([], agent=agent)[0]["caps"]) for agent in (AGENT, POSIX))
    assert posix <= here
    assert here - posix <= ONLY_HERE
    assert {"process", "signals", "rwlock", "posix"} <= posix


@pytest.mark.parametrize(
    "command",
    [
        "sem.post.nowait",
        pytest.param("ipc.srsr mechanism=pipe size=256", marks=realtime),
        pytest.param("ipc.srsr mechanism=fifo size=256", marks=realtime),
        pytest.param("ipc.srsr mechanism=sysv", marks=realtime),
        "det.timer_jitter by=signal",
        pytest.param("posix.thread.create", marks=realtime),
    ],
)
def test_it_measures(command: str) -> None:
    assert result(f"{command} samples=20", agent=POSIX)["n"] == 20


def test_what_posix_cannot_tell_is_unknown() -> None:
    _, end = case("sem.post.nowait samples=20", agent=POSIX)
    assert end["evidence"]["section_ns"] > 0
    assert {end["evidence"][k] for k in ("migrations", "steal_ns", "smi", "others")} == {None}


@realtime
def test_a_pipe_takes_at_once_what_posix_promises() -> None:
    """512 bytes, of one message or several."""
    _, end = case("ipc.srsr mechanism=pipe size=1024 samples=20", agent=POSIX)
    assert end["status"] == "unsupported"
    assert "the limits are the system's" in end["reason"]


def test_a_load_works_and_ends() -> None:
    records = talk(["load copy size=65536 ram=1", "case 1 sem.try.free samples=10"], agent=POSIX)
    (end,) = pick(records, "end")
    assert end["status"] == "ok", end
    assert end["load"][0]["achieved"] > 0
