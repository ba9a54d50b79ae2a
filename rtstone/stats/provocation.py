"""Which actions of other processes or tasks delay a wake-up beyond the controls, and their order.

On a machine a maximum of a few seconds proves nothing, as others cause maxima as well.  So the
QUANTILES of a measurement are what counts, and their ranks among the controls of its block: without
a delay it is as likely to be any of them, whatever the machine does between blocks, as the order in
a block is drawn by chance.  The number of controls below it, summed over the blocks, then has a
distribution that is counted, not assumed.  Ties count as not below.  There are two quantiles, as
one stall of a virtual machine, 20 ms of two seconds, decides the p99 of what it hits, but not its
p50.  The chances of both of all actions are adjusted by Holm's method: that any action without an
effect is called one has a probability of at most LEVEL.

In the lab nothing but the action differs from the controls.  What its worst wake-up exceeds is the
worst of the controls, each with a seed of its own; by less than FACTOR it may be the phase at which
system calls of any kind meet the timer, and is not called a delay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple
from zlib import crc32

from msgspec import structs

from rtstone.documents.provocation import Action, Levels, Outcome, Provoked, Quantile, Shift, System
from rtstone.documents.run import QEMU, Result, Run
from rtstone.errors import UsageError
from rtstone.results.omitted import whole
from rtstone.stats.holm import holm

LEVEL = 0.05
QUANTILES: tuple[Quantile, ...] = ("p50", "p99")
FACTOR = 2.0


class _Placed(NamedTuple):
    """A result with its run and, among those of its load, its number."""

    run: str
    number: int
    result: Result


def judged(
    system: System, control: str, runs: Sequence[Run], controls: Sequence[Run] = ()
) -> System:
    """Return the system with what its runs show of each action, those that delay most first.

    ``control``: the load of the controls.  ``controls``: runs of these alone.
    """
    by_load = _by_load(runs)
    base = _by_load(controls)[control] if controls else by_load[control]
    units = {p.result.unit for places in [base, *by_load.values()] for p in places if _valid(p)}
    actions = [
        _of_lab(row, by_load[row.action.load], base)
        if system.exact
        else _of_machine(row, by_load[row.action.load], base, system)
        for row in system.actions
    ]
    if not system.exact:
        actions = _adjusted(actions)
    if system.single_cpu:
        actions = [_silenced(row) for row in actions]
    return structs.replace(
        system,
        unit=units.pop() if len(units) == 1 else "ns",
        control=_levels(base),
        actions=sorted(actions, key=_rank),
        runs=[run.run_id for run in [*controls, *runs]],
    )


def stored(runs: Sequence[Run], control: Action, actions: Collection[Action]) -> System:
    """Return what stored runs of one system show, as ``judged`` does: those of one measurement.

    ``actions``: the catalogue, which says what each load does.  Raises UsageError for runs of
    anything else.
    """
    named = {action.load: action for action in actions}
    first = runs[0]
    loads = [result.load for run in runs for result in run.results]
    alien = next((load for load in loads if load not in {*named, control.load}), None)
    if alien is not None or control.load not in loads:
        lacks = f"its load {alien} is none of its actions" if alien else "it has no controls"
        raise UsageError(f"run {first.run_id} is none of `rtstone provoke`: {lacks}")
    exact = first.target.name.startswith(QEMU)
    controls = [run for run in runs if {result.load for result in run.results} == {control.load}]
    if not exact:
        controls = []
    beside = [run for run in runs if run not in controls]
    counts = Counter(result.load for run in beside for result in run.results)
    n_control = counts.pop(control.load, 0)
    blocks = 1 if exact else max(counts.values(), default=1)
    system = System(
        target=(beside or controls)[0].target.name, unit="", exact=exact,
        single_cpu=exact or str(first.conditions.get("cpu.online", "")).isdecimal(), blocks=blocks,
        controls=len(controls) if exact else max(n_control // blocks, 1),
        seed=crc32((first.session or first.run_id).encode()), control=None, runs=[],
        actions=[Provoked(action=named[load], outcome="unmeasured") for load in counts],
    )  # fmt: skip
    return judged(system, control.load, beside, controls)


def _by_load(runs: Sequence[Run]) -> Mapping[str, list[_Placed]]:
    places: dict[str, list[_Placed]] = defaultdict(list)
    for run in runs:
        for result in sorted(run.results, key=lambda result: result.case):
            of_load = places[result.load]
            of_load.append(_Placed(run.run_id, len(of_load), result))
    return places


def _valid(place: _Placed) -> bool:
    return place.result.status == "ok" and place.result.n > 0


def _value(place: _Placed, quantile: Quantile) -> float | None:
    value: float | None = getattr(whole(place.result), quantile)
    return value


def _levels(places: Sequence[_Placed]) -> Levels | None:
    valid = [place for place in places if _valid(place)]
    if not valid:
        return None
    distributions = [whole(place.result) for place in valid]

    def middle(values: Sequence[float | None]) -> float | None:
        numbers = [value for value in values if value is not None]
        return median(numbers) if numbers else None

    return Levels(
        measurements=len(valid),
        n=sum(place.result.n for place in valid),
        p50=middle([d.p50 for d in distributions]),
        p99=middle([d.p99 for d in distributions]),
        max=max((d.max for d in distributions if d.max is not None), default=None),
        missed=sum(place.result.missed or 0 for place in valid),
    )


def _described(row: Provoked, places: Sequence[_Placed]) -> Provoked:
    """Return an action with its levels and rate, or why it has none."""
    rates = [rate for place in places for rate in place.result.load_rates]
    valid = [place for place in places if _valid(place)]
    if not valid:
        if row.outcome == "unsupported":
            return row
        outcome: Outcome = "failed" if places else "unmeasured"
        if rates and all(rate.alive and not rate.achieved for rate in rates):
            return structs.replace(row, outcome="nothing", rate=0.0, rate_unit=rates[0].unit)
        if places and all(place.result.status == "unsupported" for place in places):
            outcome = "unsupported"
        last = sorted(places, key=lambda place: place.result.status == "unsupported")
        reasons = [place.result.reason for place in last if place.result.reason]
        why = "it was not measured" if places else "the measurement ended before it"
        return structs.replace(row, outcome=outcome, reason=reasons[0] if reasons else why)
    worst = max(valid, key=lambda place: whole(place.result).max or 0)
    achieved = [rate.achieved for place in valid for rate in place.result.load_rates]
    return structs.replace(
        row, outcome="within", levels=_levels(valid), run=worst.run, case=worst.result.case,
        rate=median(achieved) if achieved else None, rate_unit=rates[0].unit if rates else "",
    )  # fmt: skip


def _silenced(row: Provoked) -> Provoked:
    return structs.replace(row, silent="a single CPU") if row.action.several_cpus else row


# ---- the lab ------------------------------------------------------------------------------------


def _of_lab(row: Provoked, places: Sequence[_Placed], base: Sequence[_Placed]) -> Provoked:
    row = _described(row, places)
    control = _levels(base)
    if row.levels is None or control is None or not control.max or row.levels.max is None:
        return row
    ratio = row.levels.max / control.max
    return structs.replace(row, ratio=ratio, outcome="beyond" if ratio > FACTOR else "within")


# ---- a machine ----------------------------------------------------------------------------------


def _of_machine(
    row: Provoked, places: Sequence[_Placed], base: Sequence[_Placed], system: System
) -> Provoked:
    """Return an action with the shifts of its quantiles, whose chances are not yet adjusted."""
    row = _described(row, places)
    if row.levels is None:
        return row
    shifts = []
    for quantile in QUANTILES:
        blocks = list(_blocks(places, base, system, quantile))
        ratios = [value / median(controls) for value, controls in blocks if median(controls) > 0]
        ranks = [(sum(c < value for c in controls), len(controls)) for value, controls in blocks]
        if ratios:
            shifts.append(Shift(quantile=quantile, ratio=median(ratios), p=chance(ranks)))
    ratio = next((shift.ratio for shift in shifts if shift.quantile == "p99"), None)
    return structs.replace(row, ratio=ratio, shifts=shifts)


def _blocks(
    places: Sequence[_Placed], base: Sequence[_Placed], system: System, quantile: Quantile
) -> Iterator[tuple[float, list[float]]]:
    """Yield a quantile of an action and those of the controls in each block that has both."""
    for place in places:
        value = _value(place, quantile) if _valid(place) else None
        controls = [
            level
            for control in base
            if control.number // system.controls == place.number and _valid(control)
            if (level := _value(control, quantile)) is not None
        ]
        if value is not None and controls:
            yield value, controls


def chance(ranks: Sequence[tuple[int, int]]) -> float:
    """Return how likely so many controls, or more, are below by chance.

    ``ranks``: for each block the number of controls below the action, and of all its controls.
    """
    ways = [1.0]  # by the sum of the numbers so far
    for _, controls in ranks:
        grown = [0.0] * (len(ways) + controls)
        for total, way in enumerate(ways):
            for below in range(controls + 1):
                grown[total + below] += way / (controls + 1)
        ways = grown
    return min(1.0, sum(ways[sum(below for below, _ in ranks) :]))


def _adjusted(actions: Sequence[Provoked]) -> list[Provoked]:
    """Return the actions with chances adjusted by Holm's method, and what they decide."""
    adjusted = iter(holm([shift.p for row in actions for shift in row.shifts]))
    rows = []
    for row in actions:
        shifts = [structs.replace(shift, p=next(adjusted)) for shift in row.shifts]
        shifts = [structs.replace(shift, beyond=shift.p <= LEVEL) for shift in shifts]
        outcome: Outcome = row.outcome
        if shifts:
            outcome = "beyond" if any(shift.beyond for shift in shifts) else "within"
        rows.append(structs.replace(row, shifts=shifts, outcome=outcome))
    return rows


_ORDER: tuple[Outcome, ...] = (
    "beyond", "within", "nothing", "failed", "unmeasured", "unsupported",
)  # fmt: skip


def _rank(row: Provoked) -> tuple[int, float]:
    return _ORDER.index(row.outcome), -(row.ratio or 0)
