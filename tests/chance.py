"""How often something happens, by as many trials as it takes: Wald's sequential test.

A. Wald, Sequential Tests of Statistical Hypotheses, Ann. Math. Statist. 16 (1945), section 3.4:
the likelihood ratio of two rates is followed from trial to trial, until it leaves the interval
(B, A) = (ERROR / (1 - ERROR), (1 - ERROR) / ERROR).  Whichever rate is the true one, it is taken
for the other with a probability of about ERROR at most; of a rate beyond both the error is smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

ERROR = 0.01


class Sequential:
    """Decides between two rates of an event.

    ``fine``: the rate of a procedure that is right; ``wrong``: one that must be noticed, above it
    or below it.
    """

    def __init__(self, fine: float, wrong: float) -> None:
        self.fine, self.wrong = fine, wrong
        self._steps = (log((1 - wrong) / (1 - fine)), log(wrong / fine))
        self._end = log((1 - ERROR) / ERROR)
        self._sum = 0.0
        self.trials = self.events = 0

    def take(self, event: bool) -> None:
        """One more trial; none counts after the decision."""
        if not self.decided:
            self.trials += 1
            self.events += event
            self._sum += self._steps[event]

    @property
    def decided(self) -> bool:
        """No more trials are needed."""
        return abs(self._sum) >= self._end

    @property
    def verdict(self) -> str:
        """``fine``, ``wrong`` or, before there is a decision, ``undecided``."""
        return "undecided" if not self.decided else "fine" if self._sum < 0 else "wrong"

    def __repr__(self) -> str:
        told = f"{self.events} of {self.trials}, {self.fine:g} against {self.wrong:g}"
        return f"<{self.verdict}: {told}>"


def followed(trials: Iterable[bool], fine: float, *wrong: float) -> list[Sequential]:
    """The tests of one rate against others, by trials that are taken until all are decided."""
    tests = [Sequential(fine, rate) for rate in wrong]
    for event in trials:
        for test in tests:
            test.take(event)
        if all(test.decided for test in tests):
            break
    return tests


def is_fine(trials: Iterable[bool], fine: float, *wrong: float) -> bool:
    """Whether none of the wrong rates is found; shows what was if it is not so, or undecided."""
    tests = followed(trials, fine, *wrong)
    print(*tests)
    return all(test.verdict == "fine" for test in tests)
