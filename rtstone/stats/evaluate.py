"""Compute all that reports say of runs beyond their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone import resources
from rtstone.documents.comparison import Comparison
from rtstone.documents.run import LOCAL, Run
from rtstone.documents.worstcase import WorstCase
from rtstone.errors import UsageError
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.loads import LoadMatrix, compare_loads
from rtstone.stats.standouts import Standouts, standouts
from rtstone.stats.worstcase.extremes import worst_case

RIGHTS = frozenset({"no_rt", "page_faults"})  # flags of what more rights would mend


class RunEvaluation(NamedTuple):
    """A run, and what was computed of it."""

    run: Run
    standouts: Standouts
    worst_cases: dict[int, WorstCase]  # by the place of the result
    by_load: LoadMatrix | None
    granting: str | None  # the command that grants this machine's agent the rights that it lacked


class Evaluation(NamedTuple):
    """Runs, and the comparison of several, or why there is none."""

    runs: list[RunEvaluation]
    comparison: Comparison | None
    incomparable: str


def evaluate_run(run: Run) -> RunEvaluation:
    """Return what is computed of one run."""
    found = standouts(run)
    worst = _worst_cases(run, found)
    return RunEvaluation(run, found, worst, compare_loads(run), _granting(run))


def evaluate_runs(named: Sequence[Run | Sequence[Run]]) -> Evaluation:
    """Return what is computed of each run and of all together.

    Runs of one system may be given as a list.
    """
    comparison, why = _side_by_side(named)
    runs = [run for one in named for run in ([one] if isinstance(one, Run) else one)]
    return Evaluation([evaluate_run(run) for run in runs], comparison, why)


def _worst_cases(run: Run, found: Standouts) -> dict[int, WorstCase]:
    """Estimate the worst case of every task that a timer wakes, and of what stands out.

    Not of counts: there is no hour to exceed a bound in.
    """
    if any(result.n and result.unit != "ns" for result in run.results):
        return {}
    wanted = {*found.wakeups, *found.places}
    return {
        place: worst_case([result])
        for place, result in enumerate(run.results)
        if place in wanted and result.max is not None
    }


def _granting(run: Run) -> str | None:
    if run.target.name != LOCAL or not any(RIGHTS & set(r.flags) for r in run.results):
        return None
    from rtstone.system.rights import granting

    return granting(resources.local_agent())


def _side_by_side(named: Sequence[Run | Sequence[Run]]) -> tuple[Comparison | None, str]:
    """Compare several runs; return the comparison, or why there is none; of one run neither."""
    if len(named) < 2:
        return None, ""
    try:
        return compare(named), ""
    except UsageError as error:
        return None, str(error)
