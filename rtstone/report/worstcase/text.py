"""The worst-case estimate in words, for the terminal, the page and the guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from rtstone.documents.case_name import case_names
from rtstone.documents.origin import system
from rtstone.documents.run import Run
from rtstone.documents.worstcase import Composed, Estimated, WorstCases
from rtstone.report.parts.bound import composed_bound, observed, outcome
from rtstone.report.parts.words import counted_units
from rtstone.units import counted
from rtstone.wire.records import Bench


def names_with_load(cases: Sequence[Estimated], benches: Sequence[Bench]) -> list[str]:
    """Return the name of each case; no worst case is stated without its load."""
    names = case_names([(c.bench, c.params, c.series, c.load) for c in cases], benches)
    return [name.with_load for name in names]


def worst_case_lines(estimates: WorstCases, run: Run) -> Iterator[Text]:
    """Yield the estimates of a run for the terminal: the system, then those with a bound first."""
    named = list(zip(estimates.cases, names_with_load(estimates.cases, run.benches), strict=True))
    bounded = [pair for pair in named if pair[0].worst_case.bound is not None]
    unbounded = [pair for pair in named if pair[0].worst_case.bound is None]
    if counted_units(run):
        why = outcome(estimates.cases[0].worst_case) if estimates.cases else "no cases"
        yield Text(f"No worst cases in {counted(len(named), 'result')}: {why}", style="bold")
        for case, name in named:
            if case.composed is not None:
                yield Text.assemble(("  " + name, "bold"), f": {observed(case.worst_case)}")
                yield _composed(case.composed)
        return
    summary = f"{len(bounded)} of {counted(len(named), 'result')} with a bound"
    yield Text(" · ".join([system(run) or run.target.title, summary]), style="bold")
    for case, name in [*bounded, *unbounded]:
        sign, style = ("  ", "bold") if case.worst_case.bound is not None else ("? ", "cyan")
        yield Text.assemble((sign + name, style), f": {outcome(case.worst_case)}")
        yield Text(f"    {observed(case.worst_case)}", style="dim")
        if case.composed is not None:
            yield _composed(case.composed)
        if case.worst_case.bound is not None:
            yield from (Text(f"    + {check.name}: {check.detail}", style="dim")
                        for check in case.worst_case.checks)  # fmt: skip


def _composed(bound: Composed) -> Text:
    return Text(f"    until the first switch to its task: {composed_bound(bound)}", style="dim")
