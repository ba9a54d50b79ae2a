"""det.timer_jitter, det.response, sig.rt: what is due when and counted, which task runs first."""

from __future__ import annotations

import pytest

from rtstone.wire.buckets import bounds
from tests.agent.rights import realtime
from tests.agent.speak import STUB, case, figures, result

pytestmark = pytest.mark.machine

MS = 1_000_000


# ---- det.timer_jitter ---------------------------------------------------------------------------


def test_an_expiration_is_late_by_the_wake_up() -> None:
    record = result("det.timer_jitter samples=100 warmup=3", agent=STUB)
    assert (record["min"], record["max"], record["missed"], record["warmup"]) == (5000, 5000, 0, 3)
    assert figures(record)["drift"] == 0
    assert figures(record)["largest, without drift"] == 5000


@pytest.mark.parametrize(
    ("length", "lateness", "missed"),
    # the first expiration is due at 10 ms, the stall begins with the one at 30 ms
    [(8 * MS, 8 * MS, 7), (8 * MS + 1, 8 * MS + 1, 8), (999_999, 999_999, 0)],
)
def test_expirations_that_fall_together_are_missed(length: int, lateness: int, missed: int) -> None:
    command = "det.timer_jitter samples=60 warmup=0"
    record = result(command, str(30 * MS), str(length), agent=STUB)
    assert [value for value, _, _ in record["worst"][:2]] == [lateness, 5000]
    assert record["worst"][0][1] == 20
    assert record["missed"] == missed == record["omitted"]["n"]
    # One long wait is no drift.  (If a stall ends exactly when an expiration is due, that one is
    # earlier than all others, and the line through the earliest ones is tilted.)
    if length % MS:
        assert figures(record)["drift"] == 0
        assert figures(record)["largest, without drift"] == lateness
    series = [lateness - k * MS for k in range(missed, 0, -1)]
    assert record["omitted"]["sum"] == sum(series)
    got = [bounds(i, 7) for i, count in record["omitted"]["hist"] for _ in range(count)]
    assert all(low <= v < low + width for v, (low, width) in zip(series, got, strict=True))


def test_what_a_long_stall_omits_may_need_more_than_64_bits() -> None:
    period, stall = 10**10, 10**15 + 1  # ten days
    command = f"det.timer_jitter period={period} samples=4 warmup=0"
    omitted = result(command, str(10**7 + period), str(stall), agent=STUB)["omitted"]
    expected = [stall - k * period for k in range(1, stall // period + 1)]
    assert sum(expected) > 1 << 65
    assert (omitted["n"], omitted["sum"]) == (len(expected), sum(expected))


@pytest.mark.parametrize("by", ["signal", "sigwaitinfo", "sleep"])
def test_every_expiration_is_taken_or_missed(by: str) -> None:
    results, end = case(f"det.timer_jitter by={by} period=1000000 samples=300 warmup=0")
    assert end["status"] == "ok"
    (record,) = results
    # 300 samples and the missed ones cover the time from the first to the last
    due = record["n"] + record["missed"]
    covered = end["evidence"]["section_ns"] / MS
    assert due - 1 <= covered + 1
    assert record["n"] == 300
    assert record["max"] < 1 << 62  # none came early
    assert record["omitted"]["n"] == record["missed"]


# ---- det.response -------------------------------------------------------------------------------


@pytest.mark.parametrize("work", ["add", "copy", "whet"])
def test_a_block_is_work_of_the_length_it_is_calibrated_to(work: str) -> None:
    record = result(f"det.response work={work} block=1000000 samples=30")
    values = figures(record)
    assert values["pieces of work in a block"] > 1
    assert values["stretch"] == pytest.approx(record["max"] / record["hz"] / 0.001, rel=1e-3)
    # A block takes time: no compiler has removed what was calibrated.  How much, exactly, is a
    # question for a system whose speed does not change (truth_time).
    assert record["min"] / record["hz"] * 1e9 > 0.1 * values["shortest of 10 tries"]


# ---- sig.rt -------------------------------------------------------------------------------------


@realtime
@pytest.mark.parametrize("by", ["handler", "sigwaitinfo"])
@pytest.mark.parametrize("config", ["bound", "1cpu", "2cpu"])
def test_every_signal_arrives_in_order_and_the_receiver_goes_first(by: str, config: str) -> None:
    # The bench itself fails unless each signal came once, in order, with its number.
    results, end = case(f"sig.rt by={by} config={config} samples=200 pace=100000")
    if end["status"] == "unsupported":
        assert "second CPU" in end["reason"]
        return
    assert (end["status"], results[0]["n"]) == ("ok", 200)
    if config != "2cpu":
        assert figures(results[0])["receiver did not preempt"] == 0
