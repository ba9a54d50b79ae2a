"""The parts of a run's page, as the templates read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rtstone.documents.case_name import CaseName
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Result, Run, Slope
from rtstone.report.explanation.page import section
from rtstone.report.parts import words
from rtstone.report.parts.model import Section
from rtstone.report.parts.overlay import Plot
from rtstone.report.parts.shapes import Axis
from rtstone.report.parts.typeset import typeset
from rtstone.report.run.answer import Answer
from rtstone.report.run.loads import ByLoad
from rtstone.report.run.merit import Merit


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
    ranges: list[str]


@dataclass(frozen=True)
class Growth:
    """A slope, its words and its chart."""

    slope: Slope
    words: words.Growth
    chart: str


@dataclass
class Page:
    """One run."""

    key: str
    run: Run
    title: str
    facts: list[tuple[str, str]]
    answer: Answer
    by_load: ByLoad | None = None
    brief: bool = False  # without single results
    unfolded: bool = False  # with all details open
    lead: Plot | None = None  # the distribution that is looked at first
    overlays: list[Plot] = field(default_factory=list)
    hartstone: Merit | None = None
    merits: list[Merit] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    charts: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    explanations: list[Explanation] = field(default_factory=list)  # the first is the foremost

    @property
    def why(self) -> Section | None:
        """What its explanations say, None without any."""
        explanations = self.explanations
        return section(explanations, self.run, f"{self.key}-why") if explanations else None

    def link(self, evidence: int | str) -> str:
        """Return the link to the evidence of a finding on the page."""
        return f"#{self.key}-{evidence}"
