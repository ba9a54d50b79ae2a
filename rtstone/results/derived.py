"""Benches that are computed from the results of others: one function for each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key, differing, without
from rtstone.documents.run import Figure, Result, Status, Value, Worst
from rtstone.results import rhealstone
from rtstone.summary import NAMES
from rtstone.wire.records import Bench, TextTable

ENVIRONMENT = "env.check"
_TELLING = {"period", "entity", "config"}  # parameters that name a case by themselves

if TYPE_CHECKING:
    from rtstone.documents.plan import Plan


class Derived(NamedTuple):
    """A derived bench, the cases it needs, and the function that computes its results.

    ``make`` gets the blank result to fill in, the plan, and the results of all cases that were run.
    """

    bench: Bench
    needs: list[tuple[str, Mapping[str, object]]]
    make: Callable[[Result, Plan, list[Result]], list[Result]]


def results(plan: Plan, measured: list[Result]) -> list[Result]:
    """Return the results of all derived cases of a plan."""
    results_ = []
    for case in plan.derived:
        blank = Result(case=case.id, bench=case.bench, params=case.params, load="none", status="ok")
        _, needs, make = DERIVED[case.bench]
        computed = make(blank, plan, measured)
        # Under these loads none of the needed benches can run here.
        needed = set() if needs is _ALONE else {bench for bench, _ in needs}
        loads = {result.load for result in computed}
        reasons: dict[str, str] = {}
        for absent in plan.absent:
            if absent.bench in needed and absent.load not in loads:
                reasons.setdefault(absent.load, absent.reason)
        results_ += computed
        results_ += [
            structs.replace(blank, load=load, status="unsupported", reason=reason)
            for load, reason in reasons.items()
        ]
    return results_


def _unsupported(blank: Result, reason: str) -> list[Result]:
    return [structs.replace(blank, status="unsupported", reason=reason)]


# ---- ctx.sync -----------------------------------------------------------------------------------


def _context_switch(blank: Result, plan: Plan, measured: list[Result]) -> list[Result]:
    """Compute ctx.sync: half a round trip is a post, a wait and a switch; test1 is post and wait.

    Obenland, table 9.  A disturbance in either must not decide: what is subtracted is the median of
    test1 where n allows it, and a difference that is not above zero is none.
    """
    calls = {_circumstances(r): r for r in measured if r.bench == "sync.test1" and _unnamed(r)}
    switches = []
    for trip in (r for r in measured if r.bench == "sync.test2" and _unnamed(r)):
        call = calls.get(_circumstances(trip))
        params = {name: trip.params[name] for name in ("entity", "config") if name in trip.params}
        result = structs.replace(blank, params=params, load=trip.load, unit=trip.unit)
        lack = _lack("sync.test1", call) or _lack("sync.test2", trip)
        if lack or call is None or call.mean is None or trip.mean is None:
            impossible = any(r is not None and r.status == "unsupported" for r in (call, trip))
            status: Status = "unsupported" if impossible else "incomplete"
            switches.append(structs.replace(result, status=status, reason=lack))
        else:
            switches.append(_switch(result, trip, call))
    if switches:
        return switches
    for case in plan.absent:
        if case.bench == "sync.test2":
            return _unsupported(blank, case.reason)
    return [structs.replace(blank, status="incomplete", reason="sync.test2 did not run")]


def _lack(bench: str, result: Result | None) -> str | None:
    """Return why nothing can be derived from a result, None if it can."""
    if result is None:
        return f"{bench} did not run beside it"
    if result.status != "ok" or result.mean is None:
        return f"{bench} is {result.status}: {result.reason or 'no samples'}"
    return None


def _unnamed(result: Result) -> bool:
    return result.params.get("type") == "unnamed"


def _circumstances(result: Result) -> tuple[str, Value]:
    return result.load, result.params.get("config")


def _switch(result: Result, trip: Result, calls: Result) -> Result:
    """Return the result with the formula applied to every statistic; the deviation is halved.

    Intervals include that of the median that is subtracted.
    """
    mean = calls.p50 is None
    call = float((calls.mean if mean else calls.p50) or 0)
    low, high = (None if mean else calls.ci95.get("p50")) or (call, call)

    def half(value: float) -> float:
        return round(value / 2 - call, 4)

    middle = trip.p50 if trip.p50 is not None else trip.mean
    if half(middle or 0) <= 0:
        reason = (
            f"half a round trip ({(middle or 0) / 2:g} {trip.unit}) is not longer than the calls "
            f"alone ({call:g} {trip.unit}): disturbed; measure both again"
        )
        return structs.replace(result, status="incomplete", reason=reason)

    members: dict[str, Any] = {
        name: None if (value := getattr(trip, name)) is None else half(value)
        for name in NAMES
        if name != "sd"
    }
    return structs.replace(
        result,
        **members,
        n=trip.n,
        warmup=trip.warmup,
        batch=trip.batch,
        sd=None if trip.sd is None else round(trip.sd / 2, 4),
        ci95={
            name: ends and (round(ends[0] / 2 - high, 4), round(ends[1] / 2 - low, 4))
            for name, ends in trip.ci95.items()
        },
        batches=trip.batches
        and structs.replace(trip.batches, mean=[half(mean) for mean in trip.batches.mean]),
        histogram=[(half(value), count) for value, count in trip.histogram],
        negative=sum(count for value, count in trip.histogram if half(value) < 0),
        worst=[Worst(value=half(w.value), index=w.index, at_s=w.at_s) for w in trip.worst],
        figures={
            f"{'mean' if mean else 'median'} of sync.test1, subtracted": Figure(
                value=call, unit=trip.unit
            )
        },
        load_rates=trip.load_rates,
        evidence=trip.evidence,
        flags=[*trip.flags, "derived"],
    )


# ---- dk.compare ---------------------------------------------------------------------------------


def _matrix(blank: Result, plan: Plan, measured: list[Result]) -> list[Result]:
    """Tabulate mean and maximum of each bench under each load."""
    loads = list(dict.fromkeys(r.load for r in measured))
    if len(loads) < 2:
        if lacking := [case.reason for case in plan.absent if case.load not in loads]:
            return _unsupported(blank, f"there is no second load: {lacking[0]}")
        return _unsupported(
            blank, "a run under a single load has nothing to compare; repeat --load"
        )
    rows: dict[CaseKey, dict[str, Result]] = {}
    for r in measured:
        if r.n and r.status == "ok":
            key = case_key(r.bench, r.params, r.series, ignoring=ANOTHER_RUN)
            rows.setdefault(key, {})[r.load] = r
    cells = [
        [
            f"{cell.mean} / {cell.max} {cell.unit}" if (cell := by_load.get(load)) else "-"
            for load in loads
        ]
        for by_load in rows.values()
    ]
    cases = [next(iter(row.values())) for row in rows.values()]

    def named(r: Result, names: Collection[str]) -> str:
        params = (f"{name}={value}" for name, value in r.params.items() if name in names)
        return " ".join([r.bench, *params, r.series]).strip()

    groups = [named(r, _TELLING) for r in cases]
    several = differing(
        (group, without(r.params, ANOTHER_RUN)) for group, r in zip(groups, cases, strict=True)
    )
    names = [
        named(r, _TELLING.union(name for name in r.params if (group, name) in several))
        for group, r in zip(groups, cases, strict=True)
    ]
    table = TextTable(
        "mean / maximum by load",
        ["bench", *loads],
        [[name, *row] for name, row in zip(names, cells, strict=True)],
    )
    return [structs.replace(blank, tables=[table])]


# ---- the rest -----------------------------------------------------------------------------------


def _environment(blank: Result, plan: Plan, _: list[Result]) -> list[Result]:
    if plan.environment is None:
        which = f"which target '{plan.target.name}' is not"
        why = f"the checklist is of a machine or container that runs Linux by itself, {which}"
        return _unsupported(blank, why)
    return [structs.replace(blank, tables=[plan.environment])]


def _rhealstone(number: rhealstone.Number) -> Derived:
    return Derived(
        number.bench,
        list(rhealstone.NEEDS),
        lambda blank, _, measured: rhealstone.combine(number, blank, measured),
    )


FLOOR = "null"  # something must run for the clock and the conditions to be known

_ALONE: list[tuple[str, Mapping[str, object]]] = [(FLOOR, {})]

DERIVED = {
    entry.bench.id: entry
    for entry in [
        Derived(
            Bench(
                "ctx.sync",
                "Context switch, from semaphores",
                source="Obenland, table 9",
                help="Half a round trip of sync.test2 minus the median of sync.test1 (the mean, if "
                "it has too few samples), both with unnamed semaphores, for threads and for "
                "processes; computed, not measured.",
                needs=["priorities"],
            ),
            [
                ("sync.test1", {"type": "unnamed"}),
                ("sync.test2", {"type": "unnamed", "entity": ["thread", "process"]}),
            ],
            _context_switch,
        ),
        Derived(
            Bench(
                ENVIRONMENT,
                "Checklist of the operating environment",
                source="Dankwardt, parts 1 to 3",
                help="The checklist of `rtstone doctor` at the start of the run.",
            ),
            _ALONE,
            _environment,
        ),
        Derived(
            Bench(
                "dk.compare",
                "Benches by load",
                source="Dankwardt, part 3",
                help="Mean and maximum of everything in the run under each of its loads.",
            ),
            _ALONE,
            _matrix,
        ),
        Derived(
            Bench(
                "dk.guarantee",
                "Statement of a guaranteed latency",
                source="Dankwardt, part 2",
                help="What a vendor would have to state to guarantee a latency, which the source "
                "found none willing to do. `rtstone guarantee` states it of many runs; in a single "
                "run this is unsupported.",
            ),
            _ALONE,
            lambda blank, _, __: _unsupported(
                blank, "a statement about many hours under many loads; use `rtstone guarantee`"
            ),
        ),
        *map(_rhealstone, rhealstone.NUMBERS),
    ]
}
