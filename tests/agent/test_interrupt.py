"""int.latency.user and .timerlat: what is due when, and the dialogue with the tracer."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.agent.speak import AGENT, case, command_lines, pick, records, result

pytestmark = pytest.mark.machine

TRACE = """\
# tracer: timerlat
   <idle>-0       [001] d.h1.   54.029: #1     context    irq timer_latency       932 ns
   timerlat/1-867 [001] .....   54.029: #1     context thread timer_latency     11700 ns
   somebody-1     [001] .....   54.030: something else of 77 ns
   <idle>-0       [001] d.h1.   54.030: #2     context    irq timer_latency      1000 ns
   timerlat/1-867 [001] .....   54.030: #2     context thread timer_latency      2000 ns
   <idle>-0       [001] d.h1.   54.031: #3     context    irq timer_latency      5000 ns
   timerlat/1-867 [001] .....   54.031: #3     context thread timer_latency      7000 ns
"""


def tracing(root: Path, tracers: str = "timerlat osnoise nop") -> Path:
    (root / "osnoise").mkdir(parents=True)
    for name, text in {
        "available_tracers": tracers, "current_tracer": "osnoise", "osnoise/cpus": "0-3",
        "osnoise/timerlat_period_us": "777", "tracing_on": "0",
    }.items():  # fmt: skip
        (root / name).write_text(text + "\n")
    os.mkfifo(root / "trace_pipe")
    return root


def state(root: Path) -> list[str]:
    names = ("current_tracer", "osnoise/cpus", "osnoise/timerlat_period_us", "tracing_on")
    return [(root / name).read_text().strip() for name in names]


def test_the_tracer_is_set_read_and_put_back(tmp_path: Path) -> None:
    root = tracing(tmp_path / "tracing")
    before = state(root)
    during: list[list[str]] = []

    def kernel() -> None:
        with (root / "trace_pipe").open("w") as pipe:
            while state(root)[3] != "1" and not stop.wait(0.01):
                pass
            during.append(state(root))
            for part in (TRACE[:300], TRACE[300:]):
                pipe.write(part)
                pipe.flush()
            stop.wait(60)

    stop = threading.Event()
    thread = threading.Thread(target=kernel)
    command = f"int.latency.timerlat samples=3 warmup=0 period=2000000 tracefs={root}"
    agent = subprocess.Popen([AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    thread.start()
    out, _ = agent.communicate(command_lines(f"case 1 {command}", "bye"), timeout=60)
    stop.set()
    thread.join()
    results = pick(records(out), "result")
    assert [(r["series"], r["n"], r["min"], r["max"], r["sum"]) for r in results] == [
        ("irq", 3, 932, 5000, 6932), ("thread", 3, 2000, 11700, 20700),
    ]  # fmt: skip
    assert during[0][0] == "timerlat"
    assert during[0][2:] == ["2000", "1"]
    assert state(root) == before


def test_without_the_tracer_it_says_why(tmp_path: Path) -> None:
    _, end = case(f"int.latency.timerlat tracefs={tracing(tmp_path / 'a', 'function nop')}")
    assert (end["status"], "no tracer timerlat" in end["reason"]) == ("unsupported", True)
    _, end = case(f"int.latency.timerlat tracefs={tmp_path}/none")
    assert (end["status"], "it is not mounted" in end["reason"]) == ("unsupported", True)


def test_every_expiration_is_served_or_missed() -> None:
    record = result("int.latency.user period=500000 samples=400 warmup=0")
    assert (record["n"], record["omitted"]["n"]) == (400, record["missed"])
    assert record["max"] < 1 << 62
