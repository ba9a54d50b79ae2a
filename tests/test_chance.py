"""The sequential test behind the tests of rates, against its theory."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np
import pytest

from tests.chance import ERROR, Sequential, followed, is_fine

RUNS = 2000


def trials(rng: np.random.Generator, rate: float) -> Iterator[bool]:
    """Yield random trials without end."""
    while True:
        yield from (rng.random(64) < rate).tolist()


def decisions(rate: float, fine: float, wrong: float) -> list[Sequential]:
    """Return the decisions of that many tests, on trials with that rate."""
    rng = np.random.default_rng(7)
    entries = []
    for _ in range(RUNS):
        (test,) = followed(trials(rng, rate), fine, wrong)
        entries.append(test)
    return entries


@pytest.mark.parametrize(("fine", "wrong"), [(0.05, 0.1), (0.05, 0.01), (0.01, 0.08)])
def test_errors_are_as_stated_and_few_trials_suffice(fine: float, wrong: float) -> None:
    """Wald's bound ERROR / (1 - ERROR), and his approximation of the number of trials."""
    for rate, verdict in ((fine, "fine"), (wrong, "wrong")):
        decided = decisions(rate, fine, wrong)
        errors = sum(test.verdict != verdict for test in decided)
        assert errors <= RUNS * ERROR / (1 - ERROR) + 3 * (RUNS * ERROR) ** 0.5
        step = rate * log(wrong / fine) + (1 - rate) * log((1 - wrong) / (1 - fine))
        expected = (1 - 2 * ERROR) * log((1 - ERROR) / ERROR) / abs(step)
        taken = np.mean([test.trials for test in decided])
        assert 0.95 * expected <= taken <= 1.3 * expected  # a step may go beyond the limit


def test_a_rate_beyond_the_wrong_one_is_noticed_more_surely() -> None:
    assert {test.verdict for test in decisions(0.2, 0.05, 0.1)} == {"wrong"}


def test_what_is_undecided_is_not_fine() -> None:
    assert not is_fine(iter([False] * 20), 0.05, 0.1)
    assert not is_fine(iter([]), 0.05, 0.1)
    assert is_fine(iter([False] * 90), 0.05, 0.1)
    assert not is_fine(iter([True] * 9), 0.05, 0.1)


def test_trials_end_with_the_decision() -> None:
    endless = iter(lambda: False, True)
    (test,) = followed(endless, 0.05, 0.1)
    assert (test.events, test.decided) == (0, True)
    assert 80 <= test.trials <= 90  # log 99 / log(0.95 / 0.9) = 85
