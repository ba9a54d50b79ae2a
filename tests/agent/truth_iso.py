"""What is lost of a reservation: to nothing, to interrupts, to a stall, and where nothing holds."""

from __future__ import annotations

from tests.agent.speak import Json, figures
from tests.agent.truth import WAKE_UP, Agent, C, always, per, series, truth

MS = 1_000_000
BLOCK = 200  # periods
PERIOD = 10 * MS
DUE = 2_250_000  # three quarters of the budget of 3 ms, in a hundred pieces
WORK = per("add", 1000)
WHOLE = "period=10000000 budget=10000000 warmup=0"  # a job works for 7.5 of 10 ms
WHOLE_PIECE = 75_000


def iso(agent: Agent, command: str, *model: str) -> tuple[dict[str, Json], dict[str, float]]:
    """Return the series of a case, and its figures."""
    records = series(agent, f"{command} warmup=0", WORK, *model)
    assert list(records) == ["alone", "beside", "lost alone", "lost beside"]
    return records, figures(records["alone"])


@truth("iso.priorities")
def a_less_urgent_task_takes_nothing(agent: Agent) -> None:
    """Beside it there is the switch from another address space, or the end of a call."""
    for antagonist in ("overrun", "fork"):
        records, shown = iso(agent, f"iso.priorities samples=400 antagonist={antagonist}")
        alone, beside = records["alone"], records["beside"]
        assert (alone["min"], alone["max"]) == (WAKE_UP, WAKE_UP + C.space)  # a block's first
        assert alone["sum"] == 400 * WAKE_UP + 2 * C.space
        if antagonist == "overrun":
            always(beside, WAKE_UP + C.space, overhead=0)
        for lost in ("lost alone", "lost beside"):
            assert (records[lost]["n"], records[lost]["max"]) == (400, 0)
        assert (shown["budget lost alone"], shown["budget lost beside"]) == (0, 0)
        assert "largest sum admitted" not in shown
    left = 2 * BLOCK * (PERIOD - DUE) / (DUE / 100)  # of the time of two blocks
    _, shown = iso(agent, "iso.priorities samples=400 antagonist=overrun")
    assert 0.99 * left < shown["done by the antagonist"] <= left * 1.06


@truth("iso.priorities")
def interrupts_take_what_they_cost(agent: Agent) -> None:
    """At 20 kHz 200 of them, of 20 us each, leave 6 of 10 ms, and so 79 of 100 pieces."""
    words = f"iso.priorities antagonist=interrupts samples=120 {WHOLE}"
    for cost, lost in ((20_000, {20, 21}), (0, {0})):
        records, shown = iso(agent, words, f"cost.interrupt.fixed={1000 * cost}")
        beside = records["lost beside"]
        assert {beside["min"], beside["max"]} == {WHOLE_PIECE * pieces for pieces in lost}
        assert shown["budget lost beside"] == round(beside["sum"] / 120 / WHOLE_PIECE, 3)
        assert records["lost alone"]["max"] == shown["budget lost alone"] == 0


@truth("iso.priorities")
def a_stall_takes_what_it_lasts(agent: Agent) -> None:
    """The job wakes up late, and does as many pieces as there is time for until its deadline."""
    words = f"iso.priorities samples=120 {WHOLE}"
    records, shown = iso(agent, words, "stall=300000000:5000000:0")
    late = records["alone"]["max"]
    assert 4 * MS < late < 5 * MS
    pieces = (PERIOD - late) // (WHOLE_PIECE + C.time)
    lost = records["lost alone"]
    assert lost["max"] == lost["sum"] == (100 - pieces) * WHOLE_PIECE
    assert shown["budget lost alone"] == round((100 - pieces) / 120, 3)
    assert records["lost beside"]["max"] == 0


@truth("iso.deadline")
def budgets_that_nobody_enforces_are_lost(agent: Agent) -> None:
    """The antagonist's deadline stays the earlier one: nothing of a whole block is received."""
    records, shown = iso(agent, "iso.deadline samples=2")
    always(records["alone"], WAKE_UP, overhead=0)
    beside, lost = records["beside"], records["lost beside"]
    assert beside["n"] == lost["n"] == 2
    assert BLOCK * PERIOD < beside["min"] <= beside["max"] < BLOCK * PERIOD + 100_000
    assert beside["missed"] == 2 * BLOCK
    assert (lost["min"], lost["max"]) == (BLOCK * DUE, BLOCK * DUE)
    assert shown["budget lost beside"] == round(100 * BLOCK / (BLOCK + 1), 3)  # and one job is done
    assert (shown["largest sum admitted"], shown["sums over 100% refused"]) == (150, 0)
