"""Numbers in words: each kind of number has one form, everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rtstone.units import difference, relative_change

PACKAGE = Path(__file__).parents[1] / "rtstone"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "+0.0%"), (1.103, "+10%"), (1.0996, "+10%"), (1.0994, "+9.9%"), (0.9, "-10%"),
        (1.0006, "+0.1%"), (1.0004, "+0.04%"), (0.999998, "-0.0002%"), (0.5, "-50%"),
        (0.49, "1/2.04"), (9.99, "+899%"), (10.0, "10 times"), (12_345.0, "12 300 times"),
    ],
)  # fmt: skip
def test_a_ratio_as_a_change(ratio: float, text: str) -> None:
    assert relative_change(ratio) == text


def test_a_difference_of_shares_is_in_points_and_of_times_in_their_unit() -> None:
    assert difference(30.14, "%") == "+30.1 points"
    assert difference(-0.5, "%") == "-0.5 points"
    assert difference(1200.0, "ns") == "+1.20 µs"
    assert difference(-30.0, "instructions") == "-30.0 instr"


def test_no_other_place_writes_the_change_of_a_ratio() -> None:
    """Compare and trend once told one change in two ways: +10% and +10.3%."""
    own = re.compile(r"ratio - 1\)[^\n]*:\+|percent:\+")
    places = [path for path in PACKAGE.rglob("*.py") if own.search(path.read_text())]
    assert [path.name for path in places] == ["units.py"]
