from __future__ import annotations

import pytest

from rtstone.documents.plan import Trace
from rtstone.errors import UsageError
from rtstone.measure.trace import KEEP, parse


@pytest.mark.parametrize(
    ("text", "above_ns", "keep"),
    [("above=50us", 50_000, KEEP), (" above=1.5ms ", 1_500_000, KEEP), ("worst", 0, 1)],
)
def test_what_is_traced(text: str, above_ns: int, keep: int) -> None:
    assert parse(text) == Trace(above_ns=above_ns, keep=keep)
    assert parse(f"{text.strip()},stacks") == Trace(above_ns=above_ns, keep=keep, stacks=True)


@pytest.mark.parametrize(
    "text",
    ["", "above", "above=", "worst=1", "below=5us", "50us", ",stacks", "worst,stack", "worst, x"],
)
def test_what_it_is_not(text: str) -> None:
    with pytest.raises(UsageError, match="write above=50us, or worst"):
        parse(text)


def test_a_limit_that_is_no_time() -> None:
    with pytest.raises(UsageError, match="--trace"):
        parse("above=5 kB")
