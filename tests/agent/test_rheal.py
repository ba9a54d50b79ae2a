"""rheal.*: which task runs when, the formula is the published one, and a deadlock ends.

No times are checked here: each classic result must follow from its own parts by the formula.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import STUB, case, figures, result

pytestmark = pytest.mark.machine

COMPONENTS = ["ts", "pt", "il", "ss", "db", "im", "dt"]


def table(record: dict[str, Any], title: str) -> list[list[str]]:
    rows: list[list[str]] = next(t["rows"] for t in record["tables"] if t["title"] == title)
    return rows


# ---- on the stub: exact -------------------------------------------------------------------------


def test_an_interrupt_is_a_call_and_a_reading_of_the_clock() -> None:
    record = result("rheal.il samples=700", agent=STUB)
    assert (record["min"], record["max"], record["n"], record["overhead"]) == (1020, 1020, 700, 20)
    assert record["warmup"] == 10


def test_the_classic_form_is_net_already() -> None:
    record = result("rheal.il form=classic loops=30 measurements=1", agent=STUB)
    tick = 1e9 / record["hz"]
    assert (record["min"] * tick, record["n"], record["overhead"]) == (1000, 1, 0)
    assert figures(record) == {
        "stamp overhead, subtracted": 20, "requests served": 30, "requests lost or merged": 0,
    }  # fmt: skip


def test_the_classic_form_tells_fractions_of_a_tick() -> None:
    # One of 8 requests falls into the last 5 ns of a stall: 0.625 ns in the mean.
    (record,), _ = case(
        "rheal.il form=classic loops=8 measurements=1", "100084225", "1000", agent=STUB
    )
    assert figures(record)["requests served"] == 8
    assert record["sum"] * 1e9 / record["hz"] == pytest.approx(1000.625, abs=0.05)


def test_a_sample_of_the_classic_form_is_one_measurement() -> None:
    command = "rheal.il form=classic loops=3 measurements=3 raw=1"
    record = result(command, agent=STUB)
    assert (record["n"], record["warmup"]) == (3, 0)
    assert figures(record)["requests served"] == 9
    assert result(f"{command} samples=2", agent=STUB)["n"] == 2


def test_a_pass_has_as_many_loops_as_fit_between_two_rests() -> None:
    # The stub's RT throttling limit is 500 ms at a time; a request takes 1020 ns.
    name = "N, as many as fit between two rests"
    whole = result("rheal.il form=classic loops=490000", agent=STUB)
    assert name not in figures(whole)
    less = result("rheal.il form=classic loops=10000000", agent=STUB)
    assert figures(less)[name] == pytest.approx(490196, abs=1)
    assert less["min"] == whole["min"]


BY_PROGRAM = "by no timer: the program itself requests each"


@pytest.mark.parametrize("form", ["sampled samples=9", "classic loops=9 measurements=2"])
def test_what_stands_for_an_interrupt_who_stamps_it_and_what_was_lost_is_told(form: str) -> None:
    record = result(f"rheal.il form={form}", agent=STUB)
    assert table(record, "what stands for an interrupt") == [["interrupt"]]
    source = table(record, "source of interrupts")
    assert source == [["interrupt", "on request", BY_PROGRAM, "the handler"]]
    assert figures(record)["requests served"] >= 9
    assert figures(record)["requests lost or merged"] == 0


@pytest.mark.parametrize("name", sorted(set(COMPONENTS) - {"il"}))
def test_without_priorities_there_is_none(name: str) -> None:
    _, end = case(f"rheal.{name}", agent=STUB)
    assert end["status"] == "unsupported"
    assert "priorities" in end["reason"]


# ---- here: order, counts and formulas -----------------------------------------------------------

CLEAN = [
    "switches nobody asked for",
    "semaphores nobody had given",
    "order was another",
    "H met the lock free",
]


@realtime
@pytest.mark.parametrize("name", COMPONENTS)
def test_every_event_came_in_the_order_that_is_measured(name: str) -> None:
    record = result(f"rheal.{name} samples=700 warmup=7")
    assert (record["n"], record["warmup"], record["ended"]) == (700, 7, "samples")
    assert not any(value for key, value in figures(record).items() if key in CLEAN)
    assert record["overhead"] > 0


@realtime
@pytest.mark.parametrize("form", ["signal", "eventfd"])
def test_each_request_is_served_once(form: str) -> None:
    record = result(f"rheal.il irq={form} form=classic loops=123 measurements=2")
    assert figures(record)["requests served"] == 246
    assert figures(record)["requests lost or merged"] == 0
    assert table(record, "what stands for an interrupt") == [[form]]
    stamped = {"signal": "a signal handler of the requesting task", "eventfd": "a woken task"}
    source = table(record, "source of interrupts")
    assert source == [[form, "on request", BY_PROGRAM, stamped[form]]]


N = 300
FORMULAS = {
    "ts": lambda f: (f["T_run"] - f["T_loop"]) / (2 * N - 1) - f["T_dir"],
    "pt": lambda f: (f["T_run"] - f["T_loop"]) / (N - 1) - f["T_back"],
    "im": lambda f: (f["T_run"] - f["T_loop"]) / (N - 1) - f["T_recv"],
    "ss": lambda f: (f["T_with"] - f["T_without"]) / (2 * N),
    "db": lambda f: (f["T_with"] - f["T_without"]) / N - f["T_obtain"],
    "dt": lambda f: (f["T_run"] - f["T_loop"]) / N,
    "db variant=kar tick=200000": lambda f: (f["T_with"] - f["T_without"]) / f["loops done"],
}


@realtime
@pytest.mark.parametrize("name", FORMULAS)
def test_the_classic_value_is_what_its_parts_make(name: str) -> None:
    results, end = case(f"rheal.{name} form=classic loops={N} measurements=1")
    if end["status"] == "unsupported":  # on a disturbed machine: no other value is reported instead
        assert end["reason"].startswith("n.e.: ")
        return
    (record,) = results
    assert (end["status"], record["n"], record["overhead"], record["warmup"]) == ("ok", 1, 0, 0)
    tick = 1e9 / record["hz"]
    assert record["sum"] * tick == pytest.approx(FORMULAS[name](figures(record)), abs=tick + 0.01)


@realtime
def test_both_forms_of_the_message_latency_are_told() -> None:
    values = figures(result(f"rheal.im form=classic loops={N} measurements=1"))
    each = (values["T_run"] - values["T_loop"]) / (N - 1)
    assert values["latency less T_recv"] == pytest.approx(each - values["T_recv"], abs=0.01)
    assert values["latency less rheal.ts"] == pytest.approx(each - values["rheal.ts"], abs=0.01)


@realtime
def test_the_throughput_is_size_by_mean_time() -> None:
    record = result("rheal.dt size=2048 samples=100")
    mean_s = (record["sum"] / record["n"] - record["overhead"]) / record["hz"]
    assert figures(record)["throughput"] == pytest.approx(2 / mean_s, rel=1e-6)


@realtime
def test_how_a_task_is_woken_is_told() -> None:
    for command in ("rheal.pt samples=10", "rheal.db samples=10"):
        ((by, why),) = table(result(command), "how a task is put to sleep and woken")
        assert (by, why) == ("semaphore", "this system has no suspension of tasks")


# ---- deadlock breaking --------------------------------------------------------------------------


@realtime
@pytest.mark.parametrize("form", ["sampled", "classic"])
@pytest.mark.parametrize("variant", ["rtems", "kar tick=200000"])
def test_an_inversion_ends_and_is_told_as_not_determined(form: str, variant: str) -> None:
    command = f"rheal.db lock=none limit=20000000 form={form} variant={variant} loops=200"
    results, end = case(command)
    assert not results
    assert end["status"] == "unsupported"
    assert end["reason"].startswith("n.e.: M ran while H waited")
    assert "limit=20000 us" in end["reason"]
    # H waited for M, for all the time that M was allowed to take.
    assert int(end["reason"].split("H waited ")[1].split()[0]) >= 20_000


@realtime
@pytest.mark.parametrize("variant", ["rtems", "kar tick=200000"])
def test_with_inheritance_h_always_meets_the_lock_and_m_never_goes_first(variant: str) -> None:
    record = result(f"rheal.db variant={variant} samples=200 warmup=0")
    assert record["n"] == 200
    assert figures(record)["H met the lock free"] <= (0 if variant == "rtems" else 20)


@realtime
def test_under_a_ceiling_h_never_meets_the_lock() -> None:
    record = result("rheal.db lock=protect samples=200 warmup=0")
    assert figures(record)["H met the lock free"] == 256  # of a round


@realtime
@pytest.mark.parametrize("name", COMPONENTS)
def test_its_tasks_are_on_one_cpu(name: str) -> None:
    _, end = case(f"rheal.{name} config=2cpu")
    assert end["status"] == "unsupported"
    assert "all its tasks on one CPU" in end["reason"] or "second CPU" in end["reason"]
