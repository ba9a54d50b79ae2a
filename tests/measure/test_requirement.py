from __future__ import annotations

import pytest

from rtstone.documents.plan import Trace
from rtstone.documents.run import Requirement
from rtstone.errors import UsageError
from rtstone.measure import trace
from rtstone.measure.requirement import parse


@pytest.mark.parametrize(
    ("limit", "stop_above", "required"),
    [
        (None, None, None),
        ("100us", None, Requirement(latency_ns=100_000)),
        (" 1.5ms ", "2ms", Requirement(latency_ns=1_500_000, stop_above_ns=2_000_000)),
        ("100us", "100us", Requirement(latency_ns=100_000, stop_above_ns=100_000)),
        (None, "200us", Requirement(latency_ns=200_000, stop_above_ns=200_000)),
    ],
)
def test_what_may_be_required(
    limit: str | None, stop_above: str | None, required: Requirement | None
) -> None:
    assert parse(limit, stop_above) == required


@pytest.mark.parametrize(
    ("limit", "stop_above", "message"),
    [
        ("100", None, "no unit, in --limit 100; write one, such as --limit 100us"),
        ("1.5", None, "no unit, in --limit 1.5"),
        (None, "100", "no unit, in --stop-above 100"),
        ("0us", None, "no latency is below 0us, in --limit"),
        ("soon", None, "bad time 'soon', in --limit"),
        ("200us", "100us", "--stop-above 100us is below --limit 200us"),
    ],
)
def test_what_cannot_be_required(limit: str | None, stop_above: str | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(limit, stop_above)
    assert message in str(error.value)


def test_the_tracer_waits_for_the_sample_that_ends_the_run() -> None:
    stop = Requirement(latency_ns=100_000, stop_above_ns=200_000)
    assert trace.parse("worst", stop) == Trace(above_ns=200_000, keep=1)
    assert trace.parse("worst", Requirement(latency_ns=100_000)) == Trace(above_ns=0, keep=1)
    assert trace.parse("above=50us", stop) == Trace(above_ns=50_000, keep=trace.KEEP)
