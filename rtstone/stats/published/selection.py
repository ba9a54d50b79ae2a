"""The results of a system that a place of a publication's layout selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from rtstone.documents.case_key import may_be
from rtstone.documents.plan import STAND_INS, load_name
from rtstone.documents.run import Result, Run, Slope, Value
from rtstone.stats.published.layout import Here
from rtstone.wire import parameters as benches


def picked(wanted: Here, runs: Sequence[Run]) -> list[Result]:
    """Return the results for a place in a table."""
    table = next((b for run in runs for b in run.benches if b.id == wanted.bench), None)
    if table is None:
        return []
    params: dict[str, Value] = dict(wanted.params)
    for name, setting in wanted.params.items():
        param = table.param(name)
        if param is not None and param.type not in {"choice", "text", "cpus"}:
            # As in run documents, even if out of this target's range.
            free = structs.replace(table, params=[structs.replace(param, min=None, max=None)])
            params[name] = benches.values(free, name, setting)[0]
    suiting = [
        result
        for run in runs
        for result in run.results
        if result.bench == wanted.bench
        and (wanted.series in (None, result.series) or result.status != "ok")
        and may_be(result.params, params)
    ]
    if not wanted.load:
        return suiting
    by_load = {
        name: [result for result in suiting if load_name(result.load) == name]  # with any options
        for name in (wanted.load, STAND_INS.get(wanted.load, wanted.load))
    }
    fitting = next((results for results in by_load.values() if results), [])
    # Samples under loads with different options are never pooled: that without any comes first.
    labels = [result.load for result in fitting]
    label = wanted.load if wanted.load in labels else next(iter(labels), None)
    return [result for result in fitting if result.load == label]


def absence(wanted: Here, runs: Sequence[Run]) -> tuple[Literal["unsupported", "not run"], str]:
    """Return status and reason of a place without results: other series, or not run."""
    results = picked(structs.replace(wanted, series=None), runs) if wanted.series else []
    # As the bench says itself.
    tables = (t for result in results for t in result.tables if t.title == "left out")
    rows = (dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows)
    if row := next((row for row in rows if row.get("series") == wanted.series), None):
        return "unsupported", f"{row['what']}: {row['why']}"
    if series := dict.fromkeys(result.series for result in results):
        return "unsupported", f"its {wanted.bench} has {', '.join(series)} and no other series"
    label = f", series {wanted.series}" if wanted.series else ""
    under = f" under load {wanted.load}" if wanted.load else ""
    system = f"no run of this system ({', '.join(run.run_id for run in runs)})"
    return "not run", f"{system} has {wanted.bench}{label} with these parameters{under}"


def slopes(results: Sequence[Result], runs: Sequence[Run]) -> list[Slope]:
    """Return the slopes whose points these results are."""
    return [
        slope
        for run in runs
        for slope in run.slopes
        if any(
            (slope.bench, slope.load) == (r.bench, r.load) and may_be(r.params, slope.params)
            for r in results
        )
    ]
