"""Stored runs that show how far runs of one system scatter, for a comparison of single runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rtstone.documents.run import Run
from rtstone.stats.comparison.conditions import counted, mixed
from rtstone.stats.comparison.systems import System
from rtstone.stats.trend.differences import differences
from rtstone.stats.trend.series import identity

MOST = 20  # runs whose scatter is taken: the degrees of freedom of a whole suite need as many
_READ = 60  # runs that are looked at for them

# Returns the runs of a target that were stored before a run, newest first.
Past = Callable[[Run], Iterable[Run]]


def scatter(systems: Sequence[System], past: Past) -> list[Run]:
    """Return the runs, the oldest first, that were measured like the first of these single runs.

    They are of the same target, under the same conditions, and older than all that is compared, as
    a change lies between those.  There are none if a column has several runs, whose own scatter
    counts, or if numbers repeat exactly.
    """
    runs = [run for system in systems for run in system.runs]
    if len(runs) > len(systems) or counted(runs[0]):
        return []
    first, begin = runs[0], min(run.created for run in runs)
    compared = {run.run_id for run in runs}
    alike: list[Run] = []
    for number, run in enumerate(past(first)):
        if len(alike) == MOST or number == _READ:
            break
        if (
            run.created < begin
            and run.run_id not in compared
            and (
                identity(run) == identity(first)
                and mixed([first, run]) is None
                and not differences([run], [first])
            )
        ):
            alike.append(run)
    return alike[::-1] if len(alike) > 1 else []
