"""Cases beside a load: the load has the rate that its costs allow, and delays what it has to."""

from __future__ import annotations

from typing import NamedTuple

from tests.agent.speak import Json
from tests.agent.truth import WAKE_UP, Agent, C, always, answers, per, truth

SECOND = 1_000_000_000
MS = 1_000_000


class Loaded(NamedTuple):
    found: Json
    done: float  # units of the load's work in the window
    window: float  # ns
    cpu: float  # ns of the load in the window


def loaded(agent: Agent, load: str, command: str, *model: str) -> Loaded:
    """The result of a case beside a load that is alive, and what the load did meanwhile."""
    got = answers(agent, f"load {load}", f"case 1 {command}", model=list(model))
    end = next(r for r in got if r["t"] == "end")
    assert end["status"] == "ok", end["reason"]
    (part,) = end["load"]
    assert part["alive"]
    found = next(r for r in got if r["t"] == "result")
    seconds = part["window_s"]
    return Loaded(
        found, part["achieved"] * seconds, seconds * SECOND, part["cpu_ms"] * seconds * MS
    )


SLEEPER = "dk.nanosleep mode=absolute request=10000000 samples=200 warmup=0"  # two seconds


def taken(window: float) -> float:
    """What the measuring task and its switches take from a load in a window of sleeps of 10 ms."""
    each = C.interrupt + C.switch + C.time + C.time + C.sleep + C.switch
    return window / (10 * MS + WAKE_UP + C.time) * each


@truth("dk.nanosleep")
def spinning(agent: Agent) -> None:
    """Load min has the whole CPU but for what the measuring task takes."""
    add = 3001  # ps
    run = loaded(agent, "min", SLEEPER, per("add", add))
    # a wake-up waits for the end of a reading of the clock
    assert WAKE_UP == run.found["min"] <= run.found["max"] < WAKE_UP + C.time
    a_pass = C.time + (1000 * add + 500) // 1000
    assert abs(run.done * a_pass - run.cpu) < 20 * a_pass
    assert abs(run.window - taken(run.window) - run.cpu) < run.window * 1e-5


@truth("dk.nanosleep")
def background(agent: Agent) -> None:
    """Fifty tasks share the CPU, a switch after each slice."""
    add, slice_ns = 3001, 200_003
    run = loaded(agent, "bg50", SLEEPER, per("add", add), f"slice={slice_ns}")
    assert run.found["max"] <= WAKE_UP + C.switch  # at worst a switch of theirs has just begun
    a_pass = (1000 * add + 500) // 1000
    assert abs(run.done * a_pass - run.cpu) < 50 * a_pass + run.cpu * 1e-6
    switches = run.cpu / slice_ns * C.switch
    assert abs(run.window - taken(run.window) - switches - run.cpu) < run.window * 1e-5


@truth("dk.nanosleep")
def ring(agent: Agent) -> None:
    """A token goes up through the priorities, each task preempting the one before, and back."""
    n = 8
    run = loaded(agent, f"rt200 tasks={n} tokens=1 prio={n}", SLEEPER)
    # the last gives to one that was preempted and does not wait: n - 1 wait and are woken
    cpu = n * (C.sem_give + C.sem_take + 2 * C.time) + (n - 1) * (C.sem_wake + C.sem_block)
    turn = cpu + 2 * (n - 1) * C.switch
    assert abs(run.done / n * cpu - run.cpu) < 40 * cpu
    assert abs(run.done / n * turn - (run.window - taken(run.window))) < 40 * turn
    longest = C.sem_take + C.sem_block, C.switch, C.sem_give + C.sem_wake
    assert WAKE_UP <= run.found["min"] <= run.found["max"] < WAKE_UP + max(longest)


@truth("dk.nanosleep")
def driver(agent: Agent) -> None:
    """Each call masks interrupts: what wakes up then waits for its end."""
    masked, every = 50_021, 100_003
    words = f"cost.device.fixed={1000 * masked}"
    run = loaded(agent, f"driver every={every}", SLEEPER, words)
    period = masked + every + WAKE_UP
    meets = run.window / (10 * MS)  # at each of these a call is put off
    assert abs(run.done - run.window / period) <= 3 + meets * (masked + 4 * C.switch) / period
    assert masked * 0.5 < run.found["max"] - WAKE_UP <= masked
    assert run.found["min"] == WAKE_UP


@truth("dk.nanosleep")
def reduced(agent: Agent) -> None:
    """Bursts of 10 ms in every 100 ms; 1000 interrupts a second, after it if need be."""
    got = answers(agent, "load heavy/reduced", f"case 1 {SLEEPER}", model=[per("kwi", 100_000_000)])
    end = next(r for r in got if r["t"] == "end")
    assert end["status"] == "ok", end["reason"]
    parts = {part["component"]: part for part in end["load"]}
    assert list(parts) == ["cpu", "interrupt", "syscall", "memory"]
    for part in parts.values():
        assert (part["alive"], part["missed"]) == (True, 0)
        # at either end of the window a burst may be cut, and interrupts may wait for it
        most = 20 if part["component"] == "interrupt" else 10
        assert abs(part["achieved"] - part["wanted"]) * part["window_s"] <= most + 0.5
    # a step of the Whetstone takes 100 us
    cpu = parts["cpu"]["cpu_ms"] * parts["cpu"]["window_s"]
    assert abs(cpu - parts["cpu"]["achieved"] * parts["cpu"]["window_s"]) < 0.5


@truth("sem.post.nowait", "null")
def nothing_changes_beside_them(agent: Agent) -> None:
    """What is less urgent does not lie within an interval."""
    for load in ("min", "rt200", "bg50"):
        for bench, cost in (("sem.post.nowait batch=1", C.sem_give), ("null", 0)):
            run = loaded(agent, load, f"{bench} samples=2000", per("add", 3001))
            always(run.found, cost)
