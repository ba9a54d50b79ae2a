from __future__ import annotations

import pytest

from rtstone.assemble.slope import fit


def test_a_textbook_line() -> None:
    # x = 1..5, y = 2 4 5 4 5: slope 0.6, residual sum 2.4, t(3) = 3.182, half = 3.182 sqrt(.8/10)
    line = fit([(1, 2), (2, 4), (3, 5), (4, 4), (5, 5)])
    assert line is not None
    slope, (low, high) = line
    assert slope == pytest.approx(0.6)
    assert low == pytest.approx(0.6 - 3.182446 * 0.08**0.5)
    assert high == pytest.approx(0.6 + 3.182446 * 0.08**0.5)


def test_many_points() -> None:
    """With 1000 degrees of freedom t is 1.9623, not 2.042 as with 30."""
    line = fit([(x, x + (-1) ** x) for x in range(1002)])
    assert line is not None
    xs = range(1002)
    sxx = sum((x - 500.5) ** 2 for x in xs)
    left = sum((x + (-1) ** x - (500.5 + line[0] * (x - 500.5))) ** 2 for x in xs)
    assert line[1][1] - line[0] == pytest.approx(1.962339 * (left / 1000 / sxx) ** 0.5, rel=1e-4)


def test_an_exact_line_has_no_width() -> None:
    line = fit([(0, 1), (1, 3), (2, 5)])
    assert line is not None
    assert [line[0], *line[1]] == pytest.approx([2, 2, 2])


def test_fewer_than_three_places_give_none() -> None:
    assert fit([(0, 1), (1, 2)]) is None
    assert fit([(0, 1), (0, 2), (1, 3), (1, 2)]) is None
