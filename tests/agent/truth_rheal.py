"""Rhealstone: what lies between the time stamps of an event, and the loop difference."""

from __future__ import annotations

import pytest

from tests.agent.speak import Json, figures, pick
from tests.agent.truth import Agent, C, about, always, answers, case_of, result, truth

GIVE = C.sem_give + C.sem_wake
WAIT = C.sem_take + C.sem_block
LOCKED = C.mutex_lock + C.mutex_block + C.switch + C.mutex_unlock + C.mutex_wake + C.switch
SENT = C.queue_send + C.queue_wake + C.switch + C.queue_receive


def classic(record: Json, value: float) -> None:
    """Check five loop differences, reported to about 0.1 ns; nothing is subtracted from them."""
    assert (record["n"], record["overhead"]) == (5, 0)
    assert 0.05 < record["tick"] < 0.2
    assert record["min"] == record["max"] == pytest.approx(value, abs=float(record["tick"]))


@truth("rheal.ts", "rheal.ss")
def pauses_between_rounds_are_no_part_of_what_is_measured(agent: Agent) -> None:
    """A round has 256 samples, so that a thousand take three whole ones and their pauses."""
    for bench in ("rheal.ts", "rheal.ss"):
        command = f"{bench} samples=1000 warmup=0"
        paused = result(agent, f"{command} pause=17000000")
        assert paused == result(agent, command)
        end = pick(case_of(agent, f"{command} pause=17000000", *C.words()), "end")[0]
        assert end["evidence"]["section_ns"] >= 2 * 17_000_000


@truth("rheal.ts")
def task_switch(agent: Agent) -> None:
    record = result(agent, "rheal.ts samples=500")
    always(record, C.yield_ + C.switch)
    assert figures(record)["switches nobody asked for"] == 0
    loops = 1000
    record = result(agent, f"rheal.ts form=classic loops={loops}")
    values = figures(record)
    assert values["T_dir"] == about(C.yield_)
    assert values["T_loop"] == about(C.read)  # a loop without a call takes no time
    each = ((2 * loops - 1) * (C.yield_ + C.switch) + values["T_run"] % 1) / (2 * loops - 1)
    assert values["task switch, T_dir not subtracted"] == pytest.approx(each, abs=0.5)
    classic(record, values["task switch, T_dir not subtracted"] - C.yield_)


@truth("rheal.pt")
def preemption(agent: Agent) -> None:
    always(result(agent, "rheal.pt samples=500"), C.resume + C.switch)
    always(result(agent, "rheal.pt samples=500", "lacks=suspend"), GIVE + C.switch)
    classic(result(agent, "rheal.pt form=classic loops=1000"), C.resume + C.switch)
    classic(result(agent, "rheal.pt form=classic loops=1000", "lacks=suspend"), GIVE + C.switch)


@truth("rheal.il")
def interrupt(agent: Agent) -> None:
    always(result(agent, "rheal.il samples=500"), C.raise_ + C.interrupt)
    classic(result(agent, "rheal.il form=classic loops=1000"), C.raise_ + C.interrupt)


@truth("rheal.ss")
def shuffling(agent: Agent) -> None:
    always(result(agent, "rheal.ss samples=500"), GIVE + C.yield_ + C.switch)
    classic(result(agent, "rheal.ss form=classic loops=1000"), WAIT + C.switch + GIVE)


@truth("rheal.db")
def deadlock(agent: Agent) -> None:
    record = result(agent, "rheal.db samples=500")
    always(record, LOCKED)
    assert figures(record)["H met the lock free"] == 0
    always(result(agent, "rheal.db samples=100 variant=kar"), LOCKED)
    # the published difference includes H's own release
    classic(result(agent, "rheal.db form=classic loops=1000"), LOCKED + C.mutex_unlock)


@truth("rheal.db")
def nothing_breaks_it(agent: Agent) -> None:
    """M runs while H waits: this is detected, reported, and ended after a limit."""
    for form in ("sampled", "classic"):
        for variant in ("rtems", "kar"):
            records = answers(agent, f"case 1 rheal.db lock=none form={form} variant={variant}")
            end = pick(records, "end")[0]
            assert end["status"] == "unsupported"
            assert end["reason"].startswith("n.e.: M ran while H waited")


@truth("rheal.im", "rheal.dt")
def messages(agent: Agent) -> None:
    always(result(agent, "rheal.im samples=500"), SENT)
    classic(
        result(agent, "rheal.im form=classic loops=1000"),
        SENT + C.queue_block + C.switch - C.queue_receive,
    )
    both = 2 * (C.queue_send + C.queue_receive + C.switch) + C.queue_wake + C.queue_block
    always(result(agent, "rheal.dt samples=200"), both)
    classic(result(agent, "rheal.dt form=classic loops=1000"), both)
