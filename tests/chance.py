"""Wald's sequential test: how often something happens, with as many trials as necessary.

A. Wald, Sequential Tests of Statistical Hypotheses, Ann. Math. Statist. 16 (1945), section 3.4:
the likelihood ratio of two rates is updated with every trial, until it leaves the interval
(B, A) = (ERROR / (1 - ERROR), (1 - ERROR) / ERROR).  The true rate is mistaken for the other one
with a probability of about ERROR at most; for a rate beyond both the error is smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

ERROR = 0.01


class Sequential:
    """Decide between two rates of an event.

    ``fine``: the rate of a correct procedure; ``wrong``: one that must be detected, above it or
    below it.
    """

    def __init__(self, fine: float, wrong: float) -> None:
        self.fine, self.wrong = fine, wrong
        self._steps = (log((1 - wrong) / (1 - fine)), log(wrong / fine))
        self._end = log((1 - ERROR) / ERROR)
        self._sum = 0.0
        self.trials = self.events = 0

    def take(self, event: bool) -> None:
        """Add a trial; none counts after the decision."""
        if not self.decided:
            self.trials += 1
            self.events += event
            self._sum += self._steps[event]

    @property
    def decided(self) -> bool:
        """Return whether no more trials are needed."""
        return abs(self._sum) >= self._end

    @property
    def verdict(self) -> str:
        """Return ``fine``, ``wrong`` or, before the decision, ``undecided``."""
        return "undecided" if not self.decided else "fine" if self._sum < 0 else "wrong"

    def __repr__(self) -> str:
        text = f"{self.events} of {self.trials}, {self.fine:g} against {self.wrong:g}"
        return f"<{self.verdict}: {text}>"


def followed(trials: Iterable[bool], fine: float, *wrong: float) -> list[Sequential]:
    """Test one rate against others with trials until all are decided."""
    tests = [Sequential(fine, rate) for rate in wrong]
    for event in trials:
        for test in tests:
            test.take(event)
        if all(test.decided for test in tests):
            break
    return tests


def is_fine(trials: Iterable[bool], fine: float, *wrong: float) -> bool:
    """Return whether all tests decided for the fine rate; print them if not."""
    tests = followed(trials, fine, *wrong)
    print(*tests)
    return all(test.verdict == "fine" for test in tests)
