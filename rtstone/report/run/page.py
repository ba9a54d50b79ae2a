"""The parts of a run's page, as the templates read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rtstone.documents.case_name import CaseName
from rtstone.documents.run import Result, Run, Slope
from rtstone.report.parts import words
from rtstone.report.parts.model import Chart, Section
from rtstone.report.parts.shapes import Axis
from rtstone.report.parts.typeset import typeset
from rtstone.report.run.answer import Answer


@dataclass(frozen=True)
class Row:
    """A result in the table of results, and the head of its details."""

    key: str
    result: Result
    name: CaseName
    spark: str
    axis: Axis | None

    @property
    def observed(self) -> str | None:
        """The measured time in words, None if unknown."""
        span = words.observed(self.result)
        return None if span is None else typeset(span)


@dataclass(frozen=True)
class Family:
    """The results of a family of benches: ids with the same prefix."""

    name: str
    title: str
    rows: list[Row]
    axes: list[Axis]
    ranges: list[Chart]


@dataclass(frozen=True)
class Growth:
    """A slope, its words and its chart."""

    slope: Slope
    words: words.Growth
    chart: Chart


@dataclass
class Page:
    """One run; ``because``: what the foremost of its explanations says, empty without any."""

    key: str
    run: Run
    title: str
    facts: list[tuple[str, str]]
    answer: Answer
    brief: bool  # without single results
    unfolded: bool = False  # with all details open
    because: str = ""
    lead: Chart | None = None  # the distribution that is looked at first
    hartstone: Section | None = None
    sections: list[Section] = field(default_factory=list)
    charts: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def link(self, evidence: int | str) -> str:
        """Return the link to the evidence of a finding on the page."""
        return f"#{self.key}-{evidence}"
