"""Judge the cells of a campaign by their runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from rtstone.documents.campaign import CampaignCell, CampaignState, Judged, Spread
from rtstone.documents.run import Run
from rtstone.errors import RtstoneError
from rtstone.report.parts.words import WORST_FIRST
from rtstone.report.run.answer import answer
from rtstone.report.run.findings import subjects_of
from rtstone.results.omitted import whole
from rtstone.stats.evaluate import evaluate_run

MOST = 20  # newest runs of a cell that are judged; the page says of how many

Load = Callable[[str], Run]
Progress = Callable[[int, int], None]


def judged(state: CampaignState, load: Load, progress: Progress) -> CampaignState:
    """Return the state with a verdict on each cell.  ``load``: returns the run of an id."""
    cells = []
    for number, cell in enumerate(state.cells):
        cells.append(structs.replace(cell, judged=_judge(cell, load)))
        progress(number + 1, len(state.cells))
    return structs.replace(state, cells=cells)


def _judge(cell: CampaignCell, load: Load) -> Judged | None:
    """Return the worst verdict on a cell's newest runs, with what each result spans over them."""
    runs: list[Run] = []
    for run_id in cell.runs[-MOST:]:
        try:
            runs.append(load(run_id))
        except RtstoneError:  # damaged since it came; it is among those that are not judged
            continue
    if not runs:
        return None
    answers = [(answer(evaluate_run(run)), run) for run in runs]
    worst, worst_run = min(answers, key=lambda pair: WORST_FIRST.index(pair[0].grade))
    groups: dict[str, list[tuple[str, Run, int]]] = {}
    for run in runs:
        for subject in subjects_of(run):
            if subject.result.status == "ok" and subject.result.n:
                name = subject.name.without_load
                key = f"{name}, {subject.result.load}, {subject.result.unit}"
                groups.setdefault(key, []).append((name, run, subject.place))
    spreads = []
    for rows in groups.values():
        seen = [run.results[place] for _, run, place in rows]
        results = [whole(result) for result in seen]
        misses = [result.missed for result in seen if result.missed is not None]
        first = seen[0]
        under = "" if first.load == "none" else f", load {first.load}"
        spread = Spread(
            title=f"{rows[0][0]}{under}",
            bench=first.bench,
            unit=first.unit,
            runs=len({run.run_id for _, run, _ in rows}),
            n=sum(result.n for result in seen),
            missed=sum(misses) if misses else None,
            p50=_range([result.p50 for result in results]),
            p99=_range([result.p99 for result in results]),
            max=max((result.max for result in results if result.max is not None), default=None),
        )
        spreads.append(spread)
    return Judged(
        grade=worst.grade, verdict=worst.verdict, run=worst_run.run_id, of=len(runs),
        results=spreads,
    )  # fmt: skip


def _range(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the least and the greatest value, None if one is not known."""
    numbers = [value for value in values if value is not None]
    return (min(numbers), max(numbers)) if len(numbers) == len(values) else None
