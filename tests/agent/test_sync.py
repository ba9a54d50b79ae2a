"""sync.*: what lies between the time stamps, the order of tasks, and the verdict on inversion."""

from __future__ import annotations

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import STUB, case, figures, result

pytestmark = pytest.mark.machine


@pytest.mark.parametrize("kind", ["unnamed", "mutex"])
def test_test1_is_two_calls_and_a_reading_of_the_clock(kind: str) -> None:
    record = result(f"sync.test1 type={kind}", agent=STUB)
    assert (record["min"], record["max"]) == (2020, 2020)


@pytest.mark.parametrize("kind", ["unnamed", "named", "mutex"])
def test_test1_runs_here(kind: str) -> None:
    assert result(f"sync.test1 type={kind} samples=100")["n"] == 100


@realtime
@pytest.mark.parametrize("entity", ["thread", "process"])
@pytest.mark.parametrize("kind", ["unnamed", "named"])
@pytest.mark.parametrize("config", ["bound", "1cpu", "2cpu"])
def test_every_round_trip_is_answered(entity: str, kind: str, config: str) -> None:
    # The bench itself fails unless the other task answered each of them once.
    command = f"sync.test2 type={kind} entity={entity} config={config} samples=300 warmup=7"
    results, end = case(command)
    if end["status"] == "unsupported":
        assert "second CPU" in end["reason"]
        return
    assert (end["status"], results[0]["n"], results[0]["warmup"]) == ("ok", 300, 7)


def verdict(record: dict[str, object]) -> str:
    tables = record["tables"]
    assert isinstance(tables, list)
    return str(tables[0]["rows"][0][0])


@realtime
@pytest.mark.parametrize(
    ("params", "message", "m_first"),
    [
        ("protocol=none", "inverted", True),
        ("protocol=inherit", "bounded", False),
        ("protocol=protect", "bounded", False),
        ("lock=semaphore", "inverted", True),  # it has no owner that could inherit a priority
    ],
)
def test_inversion_is_seen_where_it_is_and_only_there(
    params: str, message: str, m_first: bool
) -> None:
    record = result(f"sync.test3 {params} samples=12 warmup=2 loop=5000000")
    assert verdict(record) == message
    counts = figures(record)
    assert counts["order was another"] == 0
    # M had the CPU before H had the resource, either in every round or in none.
    assert counts["M ran before H had the resource"] == (14 if m_first else 0)


@realtime
@pytest.mark.parametrize("params", ["protocol=none", "protocol=inherit", "protocol=protect"])
def test_inversion_is_measured_with_nothing_bound(params: str) -> None:
    """Each round has one turn of H and one of M, on whatever CPUs they run."""
    results, end = case(f"sync.test3 {params} config=2cpu samples=12 warmup=2 loop=2000000")
    if end["status"] == "unsupported":
        assert "second CPU" in end["reason"]
        return
    (record,) = results
    assert (end["status"], record["n"], record["warmup"]) == ("ok", 12, 2)
    assert verdict(record) in {"bounded", "inverted"}
    assert figures(record)["order was another"] == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("lock=semaphore protocol=inherit", "a semaphore has no owner"),
    ],
)
@realtime
def test_what_cannot_be_measured_says_why(params: str, message: str) -> None:
    _, end = case(f"sync.test3 {params}")
    assert end["status"] == "unsupported"
    assert message in end["reason"] or "second CPU" in end["reason"]
