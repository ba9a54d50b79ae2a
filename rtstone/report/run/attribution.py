"""Which parts of a load cause a worst case: sentences, a matrix of parts by cases, and ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rtstone.documents.attribution import (
    AttributedCase,
    Attribution,
    PartEffect,
    Ratio,
    Verdict,
)
from rtstone.documents.case_name import case_names
from rtstone.documents.run import Run
from rtstone.report.parts.model import Block, Cell, Finding, Findings, Notes, Section, Table
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, quantity, rounded

_SHORT: dict[Verdict, str] = {
    "causes it alone": "alone",
    "causes it alone, not without it": "alone!",
    "not without it": "needed",
    "in company only": "company",
    "not its cause": "-",
    "undetermined": "?",
}
LEGEND = (
    "alone: this part alone brings at least half of what the whole load adds; company: not alone, "
    "but without it that half is gone; alone!: both; needed: it is gone without it, and whether it "
    "comes alone is not known; -: neither; ?: undetermined."
)


def findings(run: Run) -> list[Finding]:
    """Return what each case says of the parts, a sentence each."""
    design = run.attribution
    if design is None:
        return []
    return [
        Finding(_sentence(design, case), label, style="bold")
        for case, label in zip(design.cases, _labels(run, design), strict=True)
    ]


def matrix(run: Run) -> list[Block]:
    """Return the verdicts as a table of cases by parts, and what its words mean."""
    design = run.attribution
    if design is None or not design.cases:
        return []
    rows = [
        [label, *(_SHORT[part.verdict] for part in case.parts)]
        for case, label in zip(design.cases, _labels(run, design), strict=True)
    ]
    arrangements = len(design.order[0])
    how = (
        f"{counted(design.blocks, 'block')} of {arrangements} arrangements of load {design.load} "
        f"in random order (seed {design.seed}); "
    )
    if any(case.exact for case in design.cases):
        how += "exact: a verdict holds whichever blocks are compared, and for no others."
    else:
        how += "all verdicts of a row hold together with 95%."
    columns = ["case", *design.parts]
    return [
        Table(columns, rows, narrow=True, texts=tuple(range(1, len(columns)))),
        Notes([LEGEND, how], "small"),
    ]


def ratios(run: Run) -> list[Block]:
    """Return a table for each case: what each part does alone, and what goes without it."""
    design = run.attribution
    if design is None:
        return []
    columns = ["part", "alone, over no load", "all, over all but it", "verdict"]
    blocks: list[Block] = []
    for case, label in zip(design.cases, _labels(run, design), strict=True):
        heads = (
            ["part", "alone", *columns[1:2], "without it", *columns[2:]] if case.exact else columns
        )
        rows: list[Sequence[str | Cell]] = [
            [*_cells(part, case), part.verdict] for part in case.parts
        ]
        blocks.append(Table(heads, rows, title=label, texts=tuple(range(1, len(heads)))))
    return blocks


def _cells(part: PartEffect, case: AttributedCase) -> list[str]:
    """Return what a part does, and goes without it: ratios, and the counts that are exact."""
    alone, needed = _ratio(part.alone), _ratio(part.needed)
    if not case.exact:
        return [part.part, alone, needed]
    return [part.part, _count(part.largest_alone), alone, _count(part.largest_without), needed]


def section(run: Run, key: str) -> Section | None:
    """Return the section of a run's page, None if no load was taken apart."""
    if run.attribution is None or not run.attribution.cases:
        return None
    text = (
        "Which part of the load causes the worst case: each alone, each left out, all, and none, "
        "in blocks of random order. "
    )
    text += (
        "Counts are the largest of the blocks, and a ratio is that of the largest, with the least "
        "and the largest of any two blocks."
        if all(case.exact for case in run.attribution.cases)
        else "A ratio is the median over all pairs of measurements, with an interval of the "
        "rank-sum test."
    )
    blocks: list[Block] = [Findings(findings(run)), *matrix(run), *ratios(run)]
    return Section(f"{key}-apart", "Parts of the load", blocks, text)


def _labels(run: Run, design: Attribution) -> Iterator[str]:
    """Yield the names of the cases, with the statistic if it is not the worst case."""
    names = case_names([(c.bench, c.params, c.series, "") for c in design.cases], run.benches)
    for case, name in zip(design.cases, names, strict=True):
        statistic = "" if case.statistic == "max" else f" {COLUMNS[case.statistic]}"
        yield f"{name.without_load}{statistic}"


def _sentence(design: Attribution, case: AttributedCase) -> str:
    """Return which part makes the worst case, the values, the parts that do not, and how sure."""
    if case.none is None or case.all is None:
        return f"undetermined: {case.reason}{_lost(case)}"
    worst = "the worst case" if case.statistic == "max" else COLUMNS[case.statistic]
    values = _values(case, case.all, case.none)
    if case.reason:
        head = "worst case " if case.statistic == "max" else ""
        return f"{head}{values}; undetermined: {case.reason}{_lost(case)}"
    clauses = []
    for verdict, (singular, plural) in _CAUSES.items():
        if parts := [_counted(part, case) for part in case.parts if part.verdict == verdict]:
            words = singular if len(parts) == 1 else plural
            clauses.append(words.format(parts=_listed(parts), worst=worst))
    clauses = clauses or [f"no part is shown to make {worst}"]
    clauses[-1] += f": {values}"
    for verdict in ("not its cause", "undetermined"):
        if names := [part.part for part in case.parts if part.verdict == verdict]:
            clauses.append(f"{verdict}: {', '.join(names)}")
    sure = (
        f"exact for these {counted(design.blocks, 'block')}"
        if case.exact
        else "all of this with 95% confidence"
    )
    return "; ".join([*clauses, sure]) + _lost(case)


# What is said of one part, and of several.
_CAUSES: dict[Verdict, tuple[str, str]] = {
    "causes it alone, not without it": ("{parts} makes {worst}", "{parts} each make {worst}"),
    "causes it alone": (
        "{parts} alone makes at least half of what the load adds to {worst}",
        "{parts} each alone make at least half of what the load adds to {worst}",
    ),
    "in company only": (
        "{parts} makes {worst}, but only with other parts",
        "{parts} make {worst}, but none of them alone",
    ),
    "not without it": ("{parts} is needed for {worst}", "{parts} are each needed for {worst}"),
}


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _values(case: AttributedCase, all_: float, none: float) -> str:
    """Return the statistic with all parts and without load, and if it is not exact their ratio."""
    if case.exact:
        return f"{_count(all_)} instructions with all parts, {_count(none)} without load"
    text = f"{quantity(all_, case.unit)} with all parts, {quantity(none, case.unit)} without load"
    return f"{text} ({_ratio(case.whole)})" if case.whole else text


def _counted(part: PartEffect, case: AttributedCase) -> str:
    """Return the name of a part, and where counts are exact those with it alone, and without it."""
    if not case.exact:
        return part.part
    alone, without = _count(part.largest_alone), _count(part.largest_without)
    return f"{part.part} (alone {alone}, all but it {without})"


def _count(value: float | None) -> str:
    return "unknown" if value is None else count(value)


def _lost(case: AttributedCase) -> str:
    return f"; {counted(case.lost, 'measurement')} without a valid result" if case.lost else ""


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "no ratio"
    text = f"{rounded(ratio.value)} times"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text}, {rounded(ratio.low)} to {rounded(ratio.high)}"
