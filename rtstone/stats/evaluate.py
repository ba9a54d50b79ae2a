"""Compute everything that reports show of runs beyond their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.check import Gate
from rtstone.documents.comparison import Comparison
from rtstone.documents.run import Result, Run
from rtstone.documents.worstcase import WorstCase
from rtstone.errors import UsageError
from rtstone.stats.comparison.compare import compare_with_results
from rtstone.stats.comparison.loads import LoadMatrix, compare_loads
from rtstone.stats.comparison.scatter import Past
from rtstone.stats.gate import check_requirement
from rtstone.stats.standouts import Standouts, standouts
from rtstone.stats.worstcase.extremes import worst_case


class RunEvaluation(NamedTuple):
    """A run, and what was computed from it."""

    run: Run
    standouts: Standouts
    worst_cases: dict[int, WorstCase]  # by index of the result
    by_load: LoadMatrix | None
    requirement: Gate | None  # whether the run met the latency that was required of it


class Evaluation(NamedTuple):
    """Runs, and for several of them their comparison or why they cannot be compared.

    ``behind``: the results behind each row of the comparison, by column.
    """

    runs: list[RunEvaluation]
    comparison: Comparison | None
    behind: list[list[list[Result]]]
    incomparable: str


def evaluate_run(run: Run) -> RunEvaluation:
    """Return what reports need of one run.

    Wake-ups and results that stand out get a worst case.  Instruction counts get none, as a bound
    is per hour.
    """
    notable = standouts(run)
    places = {*notable.wakeups, *notable.places}
    if any(result.n and result.unit != "ns" for result in run.results):
        places = set()
    worst_cases = {
        place: worst_case([result])
        for place, result in enumerate(run.results)
        if place in places and result.max is not None
    }
    return RunEvaluation(run, notable, worst_cases, compare_loads(run), check_requirement(run))


def evaluate_runs(named: Sequence[Run | Sequence[Run]], past: Past | None = None) -> Evaluation:
    """Return what reports need of each run and of all together.

    Several runs of one system are given as a list.  ``past``: as for a comparison.
    """
    comparison, behind, why = None, list[list[list[Result]]](), ""
    if len(named) > 1:
        try:
            comparison, behind = compare_with_results(named, past=past)
        except UsageError as error:
            why = str(error)
    runs = [run for column in named for run in ([column] if isinstance(column, Run) else column)]
    return Evaluation([evaluate_run(run) for run in runs], comparison, behind, why)
