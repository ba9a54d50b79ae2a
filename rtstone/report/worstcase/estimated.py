"""Which results of a run get a worst-case estimate at the top, and its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.run import Run
from rtstone.documents.worstcase import WorstCase
from rtstone.report.parts.words import counted_units
from rtstone.report.run.findings import Finding, Subject, seen
from rtstone.report.worstcase.text import outcome
from rtstone.stats.worstcase.extremes import worst_case


class Estimated(NamedTuple):
    """A result with its worst-case estimate."""

    subject: Subject
    case: WorstCase

    @property
    def outcome(self) -> str:
        """The bound with all that belongs to it, or `?` and why there is none."""
        return outcome(self.case) if self.case.bound is not None else f"? {outcome(self.case)}"


def estimates(run: Run, found: Sequence[Finding]) -> list[Estimated]:
    """Of every task that a timer wakes, and of the results that findings point to."""
    if counted_units(run):  # there is no hour to exceed a bound in, which the verdict tells
        return []
    what = seen(run)
    named = {finding.evidence for finding in found}
    wanted = [
        s
        for s in what.subjects
        if s.result.max is not None and (s in what.wakeups or s.place in named)
    ]
    return [Estimated(s, worst_case([s.result])) for s in wanted]


def sentence(told: Estimated) -> str:
    """In one line, for the answer."""
    return f"Worst case, estimated: {outcome(told.case)}."
