"""How cases on the simulated system end if they do not end by themselves."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from tests.agent.speak import command_lines, pick, records
from tests.agent.truth import SIM, C, answers, per
from tests.waiting import soon

ENDLESS = "case 1 null samples=0 time=1000000000000"


@contextmanager
def endless(*before: str) -> Iterator[tuple[subprocess.Popen[bytes], list[bytes]]]:
    """Yield an agent whose case has begun and does not end by itself, and what it has said."""
    with subprocess.Popen(
        [SIM.path, *C.words()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        agent.stdin.write(command_lines(*before, ENDLESS))
        agent.stdin.flush()
        lines = []
        for line in agent.stdout:
            lines.append(line)
            assert b'"t":"end"' not in line
            if b'"t":"case"' in line:
                break
        yield agent, lines


def test_a_model_in_which_nothing_costs_time_says_so() -> None:
    done = subprocess.run(
        [SIM.path], input=command_lines(ENDLESS), capture_output=True, timeout=60, check=False
    )  # ideal: no costs
    assert done.returncode == 1
    assert b"time stands still" in done.stderr


def test_a_case_that_is_stopped_ends_with_what_it_has() -> None:
    with endless() as (agent, lines):
        assert agent.stdout
        time.sleep(0.1)
        agent.send_signal(signal.SIGTERM)
        answers = records(b"".join([*lines, agent.stdout.read()]))
    result = pick(answers, "result")[0]
    assert result["n"] > 0
    assert result["ended"] == "stopped"
    assert result["min"] == result["max"] == C.read
    end = pick(answers, "end")[0]
    assert (end["status"], end["reason"]) == ("failed", "stopped")
    assert answers[-1]["t"] == "bye"


def test_a_case_goes_on_for_as_long_as_its_host_speaks() -> None:
    """It reads nothing meanwhile, so what lies unread tells; the timer's signal is sent by hand."""
    with endless("alive 60000") as (agent, _):
        assert agent.stdin
        for _ in range(2):
            agent.stdin.write(command_lines("alive 60000"))
            agent.stdin.flush()
            agent.send_signal(signal.SIGALRM)
            assert soon(lambda: not _pending(agent.pid))
            assert agent.poll() is None
        agent.send_signal(signal.SIGALRM)  # nothing more has come
        assert agent.wait(timeout=60) == -signal.SIGALRM


def _pending(pid: int) -> int:
    """Return the signals that a process has not yet taken; 0 if it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(line.split()[1], 16) for line in status.splitlines() if "Pnd" in line)


def test_a_sleep_beyond_all_patience_beside_a_load_is_no_hang() -> None:
    """The procedure has sleeps of a minute; the timeout of the case is longer."""
    command = "case 1 dk.nanosleep request=60000000000 samples=2 warmup=0"
    records = answers(SIM, "load min", command, model=[per("add", 3_000_000)])
    assert pick(records, "end")[0]["status"] == "ok"


def test_cases_follow_each_other_as_if_each_were_the_first() -> None:
    """Time and random numbers start again; no case affects the next one."""
    model = ["seed=5", "cost.switch.random=0:0,1000000000:900000"]
    command = "sem.post.higher samples=200"
    records = answers(SIM, *(f"case {i} {command}" for i in (1, 2, 3)), model=model)
    results = [r | {"id": 0, "seq": 0} for r in pick(records, "result")]
    assert len(results) == 3
    assert results[0] == results[1] == results[2]


def test_percentiles_are_told_while_a_case_runs() -> None:
    records = answers(SIM, "progress 1", "case 1 null samples=3000000 time=0", model=[])
    progress_records = pick(records, "progress")
    assert progress_records
    for progress in progress_records:
        assert progress["min"] == progress["max"] == C.read
        assert progress["p50"] == progress["p99"]
        assert 127 * C.read <= 128 * progress["p50"] <= 128 * C.read  # the start of its bucket


def test_progress_is_of_the_series_that_is_measured() -> None:
    """A case of three series, one after the other, is not stuck when the first is complete."""
    records = answers(SIM, "progress 1", "case 1 dk.schedlat samples=3000 time=0", model=[])
    assert [result["n"] for result in pick(records, "result")] == [3000] * 3
    numbers = [progress["n"] for progress in pick(records, "progress")]
    begun_again = sum(later < earlier for earlier, later in pairwise(numbers))
    assert begun_again >= 1  # on a busy machine a series may pass between two records
