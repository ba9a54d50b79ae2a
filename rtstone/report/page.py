"""What the page shows of a run, as the templates read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rtstone.model.documents import Result, Run, Slope
from rtstone.report import words
from rtstone.report.shapes import Axis
from rtstone.report.typeset import count, typeset


@dataclass(frozen=True)
class Row:
    """One result as the table of results and the head of its detail show it."""

    key: str
    result: Result
    label: str
    spark: str
    axis: Axis | None

    @property
    def title(self) -> str:
        """The bench with what tells this result from others of it."""
        return f"{self.result.bench} {self.label}".strip()

    @property
    def observed(self) -> str | None:
        """How long was measured."""
        span = words.observed(self.result)
        return None if span is None else typeset(span)

    @property
    def circumstances(self) -> str:
        """n, time, load and flags, as every worst case must be told."""
        r = self.result
        unknown = (
            "over a time that was not recorded" if r.unit == "ns" else f"in {r.unit}, not in time"
        )
        span = f"over {self.observed}" if self.observed else unknown
        flags = f", flags: {', '.join(r.flags)}" if r.flags else ""
        return f"{self.title}; n = {count(r.n)}, {span}, load {r.load}{flags}"


@dataclass(frozen=True)
class Finding:
    """A sentence at the top of the page: how grave, what, the details, and where to read on."""

    grade: str
    head: str
    text: str
    key: str | None = None


@dataclass(frozen=True)
class Family:
    """Results whose ids begin alike."""

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
    findings: list[Finding] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    charts: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """All results in the order of the page."""
        return [row for family in self.families for row in family.rows]
