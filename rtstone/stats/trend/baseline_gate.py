"""The gate "not worse than before": a run against earlier runs of a system that did not change.

The runs are compared as `rtstone compare` does, all effects judged together: of runs of a system
that does not change, at most 5% fail.  What is not shown to be worse passes, as with a trend; what
differs, but by too few runs to rule out chance, is inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.comparison import Effect, Row
from rtstone.documents.run import NO_REASON, Run
from rtstone.errors import UsageError
from rtstone.stats.cases import Case, label
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.conditions import counted
from rtstone.stats.comparison.effects import LOST, UNKNOWN
from rtstone.stats.comparison.verdicts import MISSED
from rtstone.stats.trend.differences import differences
from rtstone.units import change_size, quantity

LEAST = 3  # earlier runs, where runs do not repeat exactly: fewer do not show how they scatter


def gate(run: Run, before: Sequence[Run], source: str, remark: str = "") -> Gate:
    """Return whether a run is worse than earlier ones, of which it is none itself.

    ``source``: where these are from, in words.  ``remark``: what they leave out.  Raises UsageError
    if there are none, or they have no case in common.
    """
    before = [earlier for earlier in before if earlier.run_id != run.run_id]
    if not before:
        raise UsageError(f"no earlier run, in {source}: it names only the run itself")
    comparison = compare([list(before), run])
    rows = [row for row in comparison.rows if all(row.cells)]
    if not rows:
        raise UsageError(f"no case in common, of run {run.run_id} and those of {source}")
    enough = len(before) >= LEAST or all(map(counted, (*before, run)))
    cases = [Case(row.bench, row.params, "", "", []) for row in rows]
    tables = {table.id: table for table in comparison.benches}
    labels = [label(case, tables.get(case.bench), cases) for case in cases]
    checks = [
        check
        for row, text in zip(rows, labels, strict=True)
        for check in _checks(row, text, enough=enough, n=len(before))
    ]
    remarks = [remark] if remark else []
    for switch in differences(before, [run]):
        words = [*(f"+ {word}" for word in switch.come), *(f"- {word}" for word in switch.gone)]
        text = "  ".join(words) or f"{switch.before or 'none'} -> {switch.after or 'none'}"
        remarks.append(f"differs from the earlier runs: {switch.aspect}: {text}")
    return Gate(
        run_id=run.run_id, target=run.target.name, created=run.created, budget="",
        title=f"Not worse than {len(before)} runs of {source}", policy="inconclusive",
        baselines=[earlier.run_id for earlier in before], verdict=overall(checks, "inconclusive"),
        remarks=[*remarks, *comparison.remarks], checks=checks, name=run.name,
    )  # fmt: skip


def _checks(row: Row, label: str, *, enough: bool, n: int) -> Iterator[Check]:
    cell = row.cells[1]
    assert cell is not None
    bare = Check(
        bench=row.bench, params=row.params, label=label, series=row.series, load=row.load,
        what="baseline", limit="not worse", verdict="not measured", unit=row.unit, n=cell.n,
        flags=cell.flags,
    )  # fmt: skip
    if cell.status != "ok":
        yield structs.replace(bare, reason=f"{cell.status}: {cell.reason or NO_REASON}")
        return
    missed = structs.replace(bare, what=MISSED, unit="%", observed=cell.missed_share)
    lost = any(
        effect.part == "missed" and _judged(effect, "%", enough=enough, n=n)[0] != "passed"
        for effect in row.effects
    )
    for effect in row.effects:
        blank = missed if effect.part == "missed" else structs.replace(bare, what=effect.statistic)
        value = effect.values[1] if effect.values else None
        verdict, reason = _judged(effect, blank.unit, enough=enough, n=n)
        first, other = effect.values or (None, None)
        # What was not judged may be further off than any unknown noise.
        unjudged = verdict == "passed" and lost and effect.basis is None
        if unjudged and first is not None and other is not None and other > (1 + UNKNOWN) * first:
            earlier = quantity(first, blank.unit)
            verdict = "inconclusive"
            reason = f"{effect.reason}, and the earlier runs had {earlier}"
        yield structs.replace(blank, verdict=verdict, reason=reason, observed=value)
    if cell.missed == 0 and not any(effect.part == "missed" for effect in row.effects):
        yield structs.replace(missed, verdict="passed")  # neither did the others miss any


def _judged(effect: Effect, unit: str, *, enough: bool, n: int) -> tuple[Verdict, str | None]:
    size = change_size(effect.ratio, effect.difference, unit)
    if effect.verdict == "worse":
        return "failed", f"{size} against the earlier runs"
    if not enough:
        return "inconclusive", f"earlier runs: {n}; it takes {LEAST} to know how runs scatter"
    lost = effect.part == "missed" and (effect.difference or 0.0) > LOST  # in too few stalls
    # The interval may exclude that nothing changed, though the runs are too few.
    ends, unchanged = (effect.ci95, 1) if effect.ci95 is not None else (effect.difference_ci95, 0)
    differs = ends is not None and not ends[0] <= unchanged <= ends[1]
    if effect.verdict == "inconclusive" and (lost or differs):
        return "inconclusive", f"{size} against the earlier runs: {effect.reason}"
    return "passed", None
