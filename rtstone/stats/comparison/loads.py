"""Compare the loads of a run, in cases measured under several, with load none or the first."""

from __future__ import annotations

from typing import NamedTuple

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.comparison import Effect
from rtstone.documents.plan import NONE
from rtstone.documents.run import Distribution, Run
from rtstone.results.omitted import whole as complete
from rtstone.results.pool import pooled
from rtstone.stats.comparison import verdicts
from rtstone.stats.comparison.direction import SMALLER, direction
from rtstone.stats.comparison.judgement import side
from rtstone.stats.comparison.systems import System

STATISTICS = ("p99", "p50")  # shown: the first that all cells of a case have


class LoadCell(NamedTuple):
    """A case under a load: its samples, and how they compare with those under the first load.

    ``places``: indices of its results in the run, several if it was repeated.  ``whole``: missed
    activations included.  ``effect``: the activations missed if they differ, else tail or median,
    whichever is more conclusive.
    """

    load: str
    places: list[int]
    unit: str
    whole: Distribution
    effect: Effect | None = None


class LoadCase(NamedTuple):
    """A case with a cell for each load, None if it was not measured under it."""

    statistic: str  # the one shown
    cells: list[LoadCell | None]


class LoadMatrix(NamedTuple):
    """The cases that were measured under several loads."""

    loads: list[str]  # the first is what the others are compared with
    cases: list[LoadCase]


def compare_loads(run: Run) -> LoadMatrix | None:
    """Return the cases measured under several loads, None if there are none."""
    cases: dict[tuple[CaseKey, str], dict[str, list[int]]] = {}
    for place, r in enumerate(run.results):
        if r.n:
            key = case_key(r.bench, r.params, r.series), r.unit
            cases.setdefault(key, {}).setdefault(r.load, []).append(place)
    several = [value for value in cases.values() if len(value) > 1]
    if not several:
        return None
    names = dict.fromkeys(load for by_load in several for load in by_load)
    loads = sorted(names, key=lambda load: load != NONE)  # none first, else as they occur
    matrix = []
    for by_load in several:
        cells = {
            load: LoadCell(
                load,
                places,
                run.results[places[0]].unit,
                pooled([complete(run.results[p]) for p in places]),
            )
            for load, places in by_load.items()
        }
        member = next(
            (m for m in STATISTICS if all(getattr(c.whole, m) is not None for c in cells.values())),
            STATISTICS[-1],
        )
        matrix.append(LoadCase(member, [cells.get(load) for load in loads]))
    return LoadMatrix(loads, _judged(run, matrix))


def _judged(run: Run, cases: list[LoadCase]) -> list[LoadCase]:
    """Judge the cases by comparing loads as if each were a system."""
    system = System(run.target.name, [run])
    pairs = []
    for row, case in enumerate(cases):
        first, *rest = [cell for cell in case.cells if cell]
        better = direction(None, first.unit) or SMALLER
        sides = {
            cell.load: side(system, [[run.results[p]] for p in cell.places], cell.load)
            for cell in (first, *rest)
        }
        pairs += [
            verdicts.JudgedCase(
                row, o.load, None, better, sides[first.load], sides[o.load], False, []
            )
            for o in rest
        ]
    effects, _ = verdicts.judged(pairs)

    def order(effect: Effect) -> tuple[bool, bool, bool, bool]:
        """Put conclusive effects first: of missed activations, the tail, the median."""
        lost = effect.part == "missed" and effect.verdict in ("better", "worse")
        unknown = effect.verdict == "inconclusive"
        return unknown, not lost, effect.ratio is None, effect.part != "tail"

    judged = []
    for row, case in enumerate(cases):
        best: dict[str, Effect] = {}
        for effect in effects[row]:
            best[effect.column] = min(best.get(effect.column, effect), effect, key=order)
        cells = [cell and cell._replace(effect=best.get(cell.load)) for cell in case.cells]
        judged.append(case._replace(cells=cells))
    return judged
