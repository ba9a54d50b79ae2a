"""The report contains two numbers and describes the behaviour of OSE."""

from __future__ import annotations

import pytest

from tests.conftest import Cli
from tests.models import printed, simulate

OSE = "ose-like"
SIZES = "1KiB,5KiB,16KiB"
KIB = [1024, 5120, 16384]


def create(stat: str) -> float | None:
    return printed("sjoblom", "section 4.6", metric="create_process", stat=stat)


def test_a_process_is_created_in_constant_time_but_for_one_outlier(cli: Cli) -> None:
    run = simulate(cli, OSE, "proc.create")
    assert run.us("min", "proc.create") == create("typical")
    assert run.us("p99", "proc.create") == pytest.approx(create("typical"), rel=1 / 128)
    assert run.us("max", "proc.create") == create("max")
    longer = [count for value, count in run.result("proc.create")["histogram"] if value > 20000]
    assert longer == [1]


def test_a_signal_passes_a_pointer_and_a_queue_copies(cli: Cli) -> None:
    benches = ["ipc.send", "ipc.receive", "ipc.srsr"]
    signals = simulate(cli, OSE, *benches, "-p", f"size={SIZES}", "-p", "mechanism=mailbox")
    for bench in benches:
        assert len({signals.us("mean", bench, size=size) for size in KIB}) == 1
    assert set(signals.constant().values()) == {True}
    queues = simulate(cli, OSE, *benches, "-p", f"size={SIZES}", "-p", "mechanism=queue")
    assert set(queues.constant().values()) == {False}
    computed = [
        signals.result("ipc.srsr", size=size)["figures"]["computed: mean round trip + 2 memcpy"]
        for size in KIB
    ]
    trips = [queues.us("mean", "ipc.srsr", size=size) for size in KIB]
    assert [figure["value"] for figure in computed] == sorted(f["value"] for f in computed)
    assert computed[-1]["value"] / 1000 < trips[-1]  # a queue copies twice in each direction


def test_what_he_found_of_the_other_calls(cli: Cli) -> None:
    run = simulate(
        cli, OSE, "proc.create", "proc.kill", "mem.malloc.small", "mem.malloc.large", "sched.yield"
    )
    kills = [r for r in run.document["results"] if r["bench"] == "proc.kill"]
    assert all(r["min"] > run.result("proc.create")["p99"] for r in kills)
    assert all(r["min"] == r["max"] for r in kills)
    small, large = run.result("mem.malloc.small"), run.result("mem.malloc.large")
    assert small["sd"] == 0  # from the heap
    assert large["min"] > 5 * small["max"]
    assert large["sd"] > 0
    assert run.result("sched.yield")["sd"] == 0
