from __future__ import annotations

import pytest

from rtstone.model.slope import fit


def test_a_textbook_line() -> None:
    # x = 1..5, y = 2 4 5 4 5: slope 0.6, residual sum 2.4, t(3) = 3.182, half = 3.182 sqrt(.8/10)
    line = fit([(1, 2), (2, 4), (3, 5), (4, 4), (5, 5)])
    assert line is not None
    slope, (low, high) = line
    assert slope == pytest.approx(0.6)
    assert low == pytest.approx(0.6 - 3.182 * 0.08**0.5)
    assert high == pytest.approx(0.6 + 3.182 * 0.08**0.5)


def test_an_exact_line_has_no_width() -> None:
    line = fit([(0, 1), (1, 3), (2, 5)])
    assert line is not None
    assert [line[0], *line[1]] == pytest.approx([2, 2, 2])


def test_fewer_than_three_places_give_none() -> None:
    assert fit([(0, 1), (1, 2)]) is None
    assert fit([(0, 1), (0, 2), (1, 3), (1, 2)]) is None
