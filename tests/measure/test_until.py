from __future__ import annotations

import pytest

from rtstone.documents.plan import Until
from rtstone.errors import UsageError
from rtstone.measure.until import parse

S = 10**9


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("ci=2%", Until(share=0.02, statistic="p50", time_ns=60 * S)),
        ("ci=2%,p99", Until(share=0.02, statistic="p99", time_ns=60 * S)),
        ("ci=1.5%,time=60", Until(share=0.015, time_ns=60 * S)),
        (" time=5min , p99,ci= 50 %", Until(share=0.5, statistic="p99", time_ns=300 * S)),
        ("p50,ci=0.5%,time=10ms", Until(share=0.005, time_ns=10**7)),
    ],
)
def test_what_may_be_asked(text: str, until: Until) -> None:
    assert parse(text) == until


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown ''"),
        ("2%", "unknown '2%'"),
        ("p99", "no ci= given"),
        ("ci=2", "write 0.5% to 50%"),
        ("ci=0.4%", "write 0.5% to 50%"),
        ("ci=51%", "write 0.5% to 50%"),
        ("ci=-2%", "write 0.5% to 50%"),
        ("ci=2%,p95", "unknown 'p95', did you mean 'p9"),
        ("ci=2%,tme=3", "did you mean 'time='"),
        ("ci=2%,ci=3%", "'ci=3%' is given twice"),
        ("ci=2%,p50,p99", "a second statistic"),
        ("ci=2%,p50,p50", "a second statistic"),
        ("ci=2%,time=0", "no time to measure"),
        ("ci=2%,time=2 parsec", "bad time"),
    ],
)
def test_nonsense_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert message in str(error.value)
