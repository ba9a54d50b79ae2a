"""mq.*: every message arrives once, whole and in order, and the receiver runs first."""

from __future__ import annotations

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import case, figures, result

pytestmark = [pytest.mark.machine, realtime]


@pytest.mark.parametrize("entity", ["thread", "process"])
def test_the_receiver_preempts_the_sender(entity: str) -> None:
    # The bench itself fails unless every message came once, in order, with its contents.
    record = result(f"mq.latency entity={entity} samples=500")
    assert record["n"] == 500
    assert figures(record)["receiver did not preempt"] == 0


@pytest.mark.parametrize("entity", ["thread", "process"])
@pytest.mark.parametrize("size", [1024, 8192])
def test_the_rate_is_that_of_the_blocks(entity: str, size: int) -> None:
    record = result(f"mq.throughput entity={entity} size={size} messages=100 samples=20")
    rates = figures(record)
    block_s = record["max"] / record["hz"]
    assert rates["worst block"] == pytest.approx(size * 100 / block_s / 1e6, rel=1e-3)
    mean_s = record["sum"] / record["n"] / record["hz"]
    assert rates["average"] == pytest.approx(size * 100 / mean_s / 1e6, rel=1e-3)


def test_messages_beyond_the_limits_are_unsupported() -> None:
    _, end = case("mq.latency size=65536")
    assert end["status"] == "unsupported"
    assert "fs.mqueue" in end["reason"]


@pytest.mark.parametrize("bench", ["mq.latency", "mq.throughput"])
def test_without_binding(bench: str) -> None:
    results, end = case(f"{bench} config=2cpu samples=20")
    if end["status"] == "unsupported":
        assert "second CPU" in end["reason"]
    else:
        assert (end["status"], results[0]["n"]) == ("ok", 20)
