"""Cases under a load: its rate and the delays it causes follow from its costs."""

from __future__ import annotations

from typing import NamedTuple

from tests.agent.speak import Json, pick
from tests.agent.truth import WAKE_UP, Agent, C, always, answers, per, truth

SECOND = 1_000_000_000
MS = 1_000_000


class Loaded(NamedTuple):
    record: Json
    done: float  # units of the load's work within the window
    window: float  # ns
    cpu: float  # ns of the load in the window


def loaded(agent: Agent, load: str, command: str, *model: str) -> Loaded:
    """Return the result of a case under a load that is alive, and what the load did meanwhile."""
    got = answers(agent, f"load {load}", f"case 1 {command}", model=list(model))
    end = pick(got, "end")[0]
    assert end["status"] == "ok", end["reason"]
    (part,) = end["load"]
    assert part["alive"]
    record = pick(got, "result")[0]
    seconds = part["window_s"]
    return Loaded(
        record, part["achieved"] * seconds, seconds * SECOND, part["cpu_ms"] * seconds * MS
    )


SLEEPER = "dk.nanosleep mode=absolute request=10000000 samples=200 warmup=0"  # two seconds


def taken(window: float) -> float:
    """Return what the measuring task takes from a load in a window of 10 ms sleeps."""
    each = C.interrupt + C.switch + C.time + C.time + C.sleep + C.switch
    return window / (10 * MS + WAKE_UP + C.time) * each


@truth("dk.nanosleep")
def spinning(agent: Agent) -> None:
    """Load min has the whole CPU except for what the measuring task takes."""
    add = 3001  # ps
    run = loaded(agent, "min", SLEEPER, per("add", add))
    # a wake-up waits for the end of a clock reading
    assert WAKE_UP == run.record["min"] <= run.record["max"] < WAKE_UP + C.time
    a_pass = C.time + (1000 * add + 500) // 1000
    assert abs(run.done * a_pass - run.cpu) < 20 * a_pass
    assert abs(run.window - taken(run.window) - run.cpu) < run.window * 1e-5


@truth("dk.nanosleep")
def background(agent: Agent) -> None:
    """Fifty tasks share the CPU, a switch after each slice."""
    add, slice_ns = 3001, 200_003
    run = loaded(agent, "bg50", SLEEPER, per("add", add), f"slice={slice_ns}")
    assert run.record["max"] <= WAKE_UP + C.switch  # at worst one of their switches has just begun
    a_pass = (1000 * add + 500) // 1000
    assert abs(run.done * a_pass - run.cpu) < 50 * a_pass + run.cpu * 1e-6
    switches = run.cpu / slice_ns * C.switch
    assert abs(run.window - taken(run.window) - switches - run.cpu) < run.window * 1e-5


@truth("dk.nanosleep")
def ring(agent: Agent) -> None:
    """A token passes up through the priorities, each task preempting the one before, and back."""
    n = 8
    run = loaded(agent, f"rt200 tasks={n} tokens=1 prio={n}", SLEEPER)
    # the last one gives to a preempted task, which does not wait: n - 1 wait and are woken
    cpu = n * (C.sem_give + C.sem_take + 2 * C.time) + (n - 1) * (C.sem_wake + C.sem_block)
    turn = cpu + 2 * (n - 1) * C.switch
    assert abs(run.done / n * cpu - run.cpu) < 40 * cpu
    assert abs(run.done / n * turn - (run.window - taken(run.window))) < 40 * turn
    longest = C.sem_take + C.sem_block, C.switch, C.sem_give + C.sem_wake
    assert WAKE_UP <= run.record["min"] <= run.record["max"] < WAKE_UP + max(longest)


@truth("dk.nanosleep")
def driver(agent: Agent) -> None:
    """Each call masks interrupts: a wake-up waits for its end."""
    masked, every = 50_021, 100_003
    words = f"cost.device.fixed={1000 * masked}"
    run = loaded(agent, f"driver every={every}", SLEEPER, words)
    period = masked + every + WAKE_UP
    meets = run.window / (10 * MS)  # each of these delays a call
    assert abs(run.done - run.window / period) <= 3 + meets * (masked + 4 * C.switch) / period
    assert masked * 0.5 < run.record["max"] - WAKE_UP <= masked
    assert run.record["min"] == WAKE_UP


@truth("dk.nanosleep")
def reduced(agent: Agent) -> None:
    """Bursts of 10 ms in every 100 ms; 1000 interrupts a second, if necessary after the burst."""
    got = answers(agent, "load heavy/reduced", f"case 1 {SLEEPER}", model=[per("kwi", 100_000_000)])
    end = pick(got, "end")[0]
    assert end["status"] == "ok", end["reason"]
    parts = {part["component"]: part for part in end["load"]}
    assert list(parts) == ["cpu", "interrupt", "syscall", "memory"]
    for part in parts.values():
        assert (part["alive"], part["missed"]) == (True, 0)
        # a burst may be cut at either end of the window, and interrupts may wait for it
        most = 20 if part["component"] == "interrupt" else 10
        assert abs(part["achieved"] - part["wanted"]) * part["window_s"] <= most + 0.5
    # a step of the Whetstone takes 100 us
    cpu = parts["cpu"]["cpu_ms"] * parts["cpu"]["window_s"]
    assert abs(cpu - parts["cpu"]["achieved"] * parts["cpu"]["window_s"]) < 0.5


@truth("hart.PH.1")
def an_experiment_counts_its_load_up_to_the_breakdown(agent: Agent) -> None:
    """Load min has what the tasks leave: in the counted tests, which are those before a miss."""
    kwi, raw, test, start = 10_000, 100_000, 2 * SECOND, SECOND
    add, margin = 100_003, 10 * MS  # a pass of the load takes 100 us
    words = ["cost.read.fixed=1000", "cost.time.fixed=0", per("kwi", 1000 * kwi), per("add", add)]
    words += [f"cost.{name}.fixed=0" for name in ("switch", "interrupt", "sleep")]
    command = f"case 1 hart.PH.1 speed={raw} duration={test} start={start} stop=first"
    got = answers(agent, "load min", command, model=words)
    end = pick(got, "end")[0]
    assert end["status"] == "ok", end["reason"]
    (part,) = end["load"]
    table = pick(got, "result")[0]["tables"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    used = {int(row["test"]): float(row["utilisation %"]) / 100 for row in rows}
    late = min(int(r["test"]) for r in rows if int(r["missed"]) + int(r["skipped"]))
    held = [share for number, share in used.items() if number < late]
    assert 10 < len(held) == max(used) - 1  # stop=first
    assert abs(part["counted_s"] - len(held) * (test + margin) / SECOND) < 0.01
    a_pass = (1000 * add + 500) // 1000
    left = len(held) * (test + margin) - sum(share * test for share in held)
    assert abs(part["counted"] * part["counted_s"] * a_pass - left) < 0.01 * left
    assert part["achieved"] > 1.2 * part["counted"]  # between the tests it has the CPU
    (part,) = pick(answers(agent, "load min", f"case 1 {SLEEPER}", model=words), "end")[0]["load"]
    assert "counted" not in part


@truth("sem.post.nowait", "null")
def nothing_changes_beside_them(agent: Agent) -> None:
    """Work of lower priority is not part of any interval."""
    for load in ("min", "rt200", "bg50"):
        for bench, cost in (("sem.post.nowait batch=1", C.sem_give), ("null", 0)):
            run = loaded(agent, load, f"{bench} samples=2000", per("add", 3001))
            always(run.record, cost)
