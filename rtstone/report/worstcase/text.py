"""The worst-case estimate in words, for the terminal, the page and the guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from rtstone.documents.run import Run
from rtstone.documents.worstcase import Estimated, WorstCase, WorstCases
from rtstone.report.parts.words import Named, counted_units, system, telling, usual
from rtstone.units import count, counted, plain, quantity, rounded, seconds
from rtstone.wire.records import Bench

METHODS = {"pot": "peaks over threshold", "block maxima": "block maxima"}


def seldom(per_hour: float) -> str:
    """A rate as a person says it."""
    if per_hour >= 1:
        return f"{plain(per_hour)} times in an hour"
    return f"once in {rounded(1 / per_hour)} h"


def observed(estimate: WorstCase) -> str:
    """What was seen, with the number of samples and the time: without them it says nothing."""
    when = "" if estimate.section_s is None else f" in {seconds(estimate.section_s)}"
    top = "no maximum" if estimate.observed_max is None else (
        f"largest {quantity(estimate.observed_max, estimate.unit)}"
    )  # fmt: skip
    return f"{top} of {count(estimate.n)} samples{when}"


def outcome(estimate: WorstCase) -> str:
    """The bound with all that belongs to it, or why there is none and how much is missing."""
    if estimate.bound is not None and estimate.method is not None:
        return (
            f"at most {quantity(estimate.bound, estimate.unit)}, exceeded at most "
            f"{seldom(estimate.exceedance_per_hour)} ({estimate.confidence:.0%} confidence, "
            f"{METHODS[estimate.method]})"
        )
    longer = "" if estimate.more_s is None else f"; measure {seconds(estimate.more_s)} longer"
    return f"inconclusive: {estimate.reason}{longer}"


def names(cases: Sequence[Estimated], benches: Sequence[Bench]) -> list[str]:
    """What each case is called: its bench and what tells it from others, its load always."""
    things = [Named(case.bench, case.params, case.series, case.load) for case in cases]
    tails = telling(benches, things, usual(case.load for case in cases))
    return [
        f"{case.bench} {tail}".rstrip() + ("" if "load=" in tail else f" load={case.load}")
        for case, tail in zip(cases, tails, strict=True)
    ]


def lines(found: WorstCases, run: Run) -> Iterator[Text]:
    """The estimates of a run for the terminal, those with a bound first; of what system, before."""
    named = list(zip(found.cases, names(found.cases, run.benches), strict=True))
    bounded = [pair for pair in named if pair[0].worst_case.bound is not None]
    others = [pair for pair in named if pair[0].worst_case.bound is None]
    if counted_units(run):
        why = outcome(found.cases[0].worst_case) if found.cases else "no cases"
        yield Text(f"No worst cases in {counted(len(named), 'result')}: {why}", style="bold")
        return
    of = f"{len(bounded)} of {counted(len(named), 'result')} with a bound"
    yield Text(" · ".join([system(run) or run.target.name, of]), style="bold")
    for case, name in [*bounded, *others]:
        sign, style = ("  ", "bold") if case.worst_case.bound is not None else ("? ", "cyan")
        yield Text.assemble((sign + name, style), f": {outcome(case.worst_case)}")
        yield Text(f"    {observed(case.worst_case)}", style="dim")
        if case.worst_case.bound is not None:
            yield from (Text(f"    + {check.name}: {check.detail}", style="dim")
                        for check in case.worst_case.checks)  # fmt: skip
