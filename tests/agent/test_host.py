"""The dialogue with the host: commands on a bad line, and the lease of a host that is gone."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from rtstone.wire.commands import framed
from tests.agent.processes import SHM, descendants, gone
from tests.agent.speak import HASTY, QUICK, Agent, command_lines, pick

pytestmark = pytest.mark.machine

ENDLESS = "dk.periodic samples=0 time=3600000000000"


def said(agent: Agent, data: bytes) -> None:
    assert agent.stdin
    agent.stdin.write(data)


def test_what_is_damaged_is_never_carried_out() -> None:
    """Each byte of a command is changed, lost or doubled: it is asked for again each time."""
    agent = Agent()
    agent.until("hello")
    good = framed(1, "case 1 null samples=5").encode()
    harmed = [
        good[:at] + bytes([good[at] ^ 1 << at % 7]) + good[at + 1 :] for at in range(len(good))
    ]
    harmed += [good[:at] + good[at + 1 :] for at in range(len(good))]
    harmed += [good[:at] + good[at : at + 1] + good[at:] for at in range(len(good))]
    harmed = [line for line in harmed if b"\n" not in line and b"\r" not in line]
    # What precedes the mark is noise, and of a run of equal bytes each may be the lost one.
    harmed = [line for line in harmed if good not in line]
    said(agent, b"".join(line + b"\n" for line in harmed))
    said(agent, good + b"\n" + good + b"\n")
    echoes = [agent.echo() for _ in harmed]
    assert [echo.get("text") for echo in echoes] == [None] * len(harmed)
    assert {echo["n"] for echo in echoes} == {0}
    assert agent.echo() == {"t": "heard", "n": 1, "text": "case 1 null samples=5"}
    assert pick(agent.until("end"), "end")[0]["status"] == "ok"
    # The same command once more: its echo may have been lost, but it is not carried out twice.
    assert agent.echo() == {"t": "heard", "n": 1, "text": "case 1 null samples=5"}
    said(agent, framed(3, "case 3 null samples=5").encode() + b"\n")  # number 2 was lost
    assert agent.echo() == {"t": "heard", "n": 1, "text": None}
    agent.end_now()


def test_a_case_is_stopped_and_the_next_one_runs() -> None:
    agent = Agent()
    agent.send("alive 60000")
    agent.begin(ENDLESS)
    [*_, stopped] = agent.ask("stop", "end")
    assert (stopped["status"], stopped["reason"]) == ("failed", "stopped")
    assert agent.ask("case 2 null samples=5", "end")[-1]["status"] == "ok"
    assert pick(agent.rest("bye"), "bye")[0]["cases"] == 2


def test_records_are_sent_again_until_they_are_not_kept() -> None:
    agent = Agent()
    first = agent.ask("case 1 null samples=50 raw=1", "end")
    assert agent.ask("again 1", "end") == pick(first, "case") + [
        r for r in first if r["t"] in {"raw", "result", "end"}
    ]
    agent.send("load none")
    log = agent.ask("again 1", "log")[-1]
    assert log["text"] == "cannot be carried out: again 1"
    again = agent.ask("again 0", "hello")
    assert [r["t"] for r in again] == ["loaded", "clock", "conditions", "hello"][-len(again) :]
    agent.rest("bye")


def test_a_case_that_is_sent_again_has_the_parameters_that_were_sent_first() -> None:
    """Else a host that asked twice, as the end was late, would see a case that it never wanted."""
    agent = Agent()
    [first] = pick(agent.ask("case 1 rheal.il form=classic loops=10 measurements=3", "end"), "case")
    assert first["params"]["samples"] > 3
    assert pick(agent.ask("again 1", "end"), "case") == [first]
    agent.rest("bye")


def test_no_bench_changes_the_parameters_of_its_case() -> None:
    for path in (Path(__file__).parents[2] / "agent" / "benches").rglob("*.[ch]"):
        assert not re.search(r"common\.\w+ *[-+*/|&]?=[^=]", path.read_text()), path


def test_the_end_of_input_ends_a_case_that_has_a_lease() -> None:
    agent = Agent()
    agent.send("alive 60000")
    agent.begin(ENDLESS)
    records = agent.rest()
    assert pick(records, "end")[0]["reason"] == "stopped"
    assert pick(records, "result")[0]["n"] > 0
    assert records[-1]["t"] == "bye"


@pytest.mark.parametrize("load", ["none", "command run=sleep%2060"])
def test_a_host_that_is_silent_for_too_long_loses_its_agent(load: str, tmp_path: Path) -> None:
    agent = Agent(HASTY, env={**os.environ, "TMPDIR": str(tmp_path)})
    agent.send("alive 60000")
    agent.send(f"load {load}")
    agent.until("loaded")
    agent.begin(ENDLESS)
    family = descendants(agent.pid)
    assert family
    agent.send("alive 300")
    begin = time.monotonic()
    agent.send("alive 600")  # which renews it
    assert agent.wait(timeout=60) == 1
    assert time.monotonic() - begin > 0.5
    assert gone(family)
    assert not list(tmp_path.iterdir())
    assert not (SHM / f"rtstone-{agent.pid}.lock").exists()
    agent.end_now()


def test_an_agent_that_waits_for_its_frozen_host_ends() -> None:
    """Nobody reads, so the pipe is full and the agent waits in a write."""
    agent = Agent(HASTY, QUICK)
    agent.send("progress 1")
    agent.send("alive 2000")
    agent.send(f"case 1 {ENDLESS}")
    family = descendants(agent.pid)
    assert agent.wait(timeout=60) in {1, -signal.SIGALRM}
    assert gone(family)
    assert not (SHM / f"rtstone-{agent.pid}.lock").exists()
    agent.end_now()


def test_a_script_is_not_read_ahead() -> None:
    """Without a lease the end of input ends nothing, and `stop` waits for its turn."""
    agent = Agent()
    said(agent, command_lines("case 1 null samples=5", "stop", "case 2 null samples=5"))
    records = agent.rest()
    assert [end["status"] for end in pick(records, "end")] == ["ok", "ok"]
