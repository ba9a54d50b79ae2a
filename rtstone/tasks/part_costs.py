"""What each part costs on a target, by the distributions that a run has measured there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import structs

from rtstone.documents.plan import wake_ups
from rtstone.documents.run import Result, Run
from rtstone.documents.tasks_explanation import Part, PartCost
from rtstone.results.flags import spoilt
from rtstone.results.ticks import INSTRUCTIONS
from rtstone.simulate.costs import INTERRUPTED, LONGER_NS, SWITCHES, throttling, tick_period
from rtstone.tasks.explanation import NOTHING, Distribution, PartCosts, constant
from rtstone.units import NS_PER_S, count, trimmed

TIMER = "dk.periodic"  # the wake-up that is taken if there are several
GAPS = "hw.latency"
SIZES = "dk.lat_ctx"
LEAST_NS = 100_000_000  # of time from which it is taken how often something comes
_TICKS = 2  # what takes more than so many times a usual interruption is a stall, not a tick


class Interruptions(NamedTuple):
    """What took the CPU from a task that reads the clock; ``ns``: how long it did so in all."""

    sizes: Distribution
    ns: float
    result: Result


def part_costs(run: Run, load: str) -> tuple[PartCosts, list[PartCost]]:
    """Return what each part costs under a load, and where that comes from.

    What was not measured under that load costs nothing, and its source says so.  Where instructions
    are counted, a second is taken for as many as the run says.
    """
    run = _in_time(run)
    switch, switches = _switch(run, load)
    timer, timers = _timer(run, load, switch)
    interruptions = _interruptions(run, load)
    tick_ns = tick_period(run) or 0
    tick, ticks = _tick(interruptions, tick_ns, load)
    stall, per_second, stalls = _stalls(run, load, interruptions, tick)
    runtime_us, period_us = throttling(run)
    resume, cache = _cache(run, load)
    limit = f"{runtime_us} of each {period_us} us, as kernels before 6.12 have it"
    costs = PartCosts(
        tick=tick or NOTHING, tick_ns=tick_ns if tick else 0, switch=switch or NOTHING,
        timer=timer or NOTHING, stall=stall or NOTHING, stalls=per_second,
        runtime=1000 * runtime_us, period=1000 * period_us, resume=resume or NOTHING,
    )  # fmt: skip
    return costs, [
        _cost("ticks", tick, ticks),
        _cost("switches", switch, switches),
        _cost("late timers", timer, timers),
        _cost("stalls", stall, stalls),
        PartCost(part="throttling", measured=True,
                 source=limit if period_us else "its conditions have no limit of tasks"),
        _cost("cache", resume, cache),
    ]  # fmt: skip


def _cost(part: Part, costs: Distribution | None, source: str) -> PartCost:
    if costs is None:
        return PartCost(part=part, measured=False, source=source)
    largest = int(costs.values[costs.counts > 0].max())
    return PartCost(part=part, measured=True, mean_ns=costs.mean, max_ns=largest, source=source)


# ---- the parts ----------------------------------------------------------------------------------


def _switch(run: Run, load: str) -> tuple[Distribution | None, str]:
    results = sorted(
        _sound(run, SWITCHES, load),
        key=lambda r: (SWITCHES.index(r.bench), r.params.get("ballast") or 0),
    )
    if not results:
        return None, _missing(" or ".join(SWITCHES), load)
    result = results[0]
    return distribution(result.single or result), _source(result)


def _timer(run: Run, load: str, switch: Distribution | None) -> tuple[Distribution | None, str]:
    """Return how late timers are: a wake-up, less the switch in it."""
    names = wake_ups(run.benches)
    results = [r for r in _sound(run, names, load) if not r.series]
    if not results:
        return None, _missing("wake-up once a period", load)
    result = min(results, key=lambda r: (r.bench != TIMER, r.bench, r.case))
    late = distribution(result)
    if switch is None:
        return late, f"{_source(result)}, with the switch in it"
    usual = round(_usual(switch))
    rest = Distribution(np.maximum(late.values - usual, 0), late.counts)
    return rest, f"{_source(result)}, less {trimmed(usual, 'ns')} of the switch, no less than 0"


def _tick(
    interruptions: Interruptions | None, tick_ns: int, load: str
) -> tuple[Distribution | None, str]:
    """Return what a tick costs: the usual interruptions, or a share of all if they are too few."""
    if not tick_ns:
        return None, "not measured: no CONFIG_HZ in its conditions"
    if interruptions is None:
        return None, _missing(INTERRUPTED, load)
    sizes, ns, result = interruptions
    if ns < LEAST_NS:
        return None, _too_short(ns, result)
    ticks = ns / tick_ns
    if sizes.counts.sum() < ticks / 2:
        share = sizes.mean * int(sizes.counts.sum()) / ns
        return constant(round(share * tick_ns)), (
            f"{share:.4%} of the time, which interruptions took, {_source(result)}"
        )
    usual = sizes.values <= _TICKS * _usual(sizes)
    costs = Distribution(sizes.values[usual], sizes.counts[usual])
    return costs, f"interruptions every {trimmed(tick_ns, 'ns')}, {_source(result)}"


def _stalls(
    run: Run, load: str, interruptions: Interruptions | None, tick: Distribution | None
) -> tuple[Distribution | None, float, str]:
    """Return what stops a CPU beside ticks, and how often a second."""
    longer = 0.0 if tick is None else _TICKS * _usual(tick)
    gaps = next(iter(_sound(run, [GAPS], load, samples=False)), None)
    looked = None if gaps is None else gaps.figures["looked at"].value
    if gaps is not None and looked:
        sizes = distribution(gaps)
    elif interruptions is not None:
        sizes, looked, gaps = interruptions
    else:
        return None, 0.0, _missing(f"{GAPS} or {INTERRUPTED}", load)
    if looked < LEAST_NS:
        return None, 0.0, _too_short(looked, gaps)
    rare = sizes.values > longer
    number = int(sizes.counts[rare].sum())
    source = f"{count(number)} gaps, longer than ticks, in {trimmed(round(looked), 'ns')}, "
    source += _source(gaps)
    if not number:
        return NOTHING, 0.0, source
    costs = Distribution(sizes.values[rare], sizes.counts[rare])
    return costs, number * NS_PER_S / looked, source


def _cache(run: Run, load: str) -> tuple[Distribution | None, str]:
    """Return what a job that touches little memory does again after another had its CPU."""
    results = [r for r in _sound(run, [SIZES], load) if not r.series]
    sizes = {r.params["size"]: r for r in results if isinstance(r.params.get("size"), int)}
    touched = sorted(int(size) for size in sizes if size)  # type: ignore[arg-type]
    if 0 not in sizes or not touched:
        return None, (
            f"{_missing(f'{SIZES} with size 0 and another', load)}; a set does not say what memory "
            "its jobs touch"
        )
    result = sizes[touched[0]]
    cost = max(0, round((result.p50 or 0) - (sizes[0].p50 or 0)))
    return constant(cost), (
        f"p50 with {touched[0]} bytes less that without, {_source(result)}; a set does not say "
        "what memory its jobs touch"
    )


def _interruptions(run: Run, load: str) -> Interruptions | None:
    result = next(iter(_sound(run, [INTERRUPTED], load)), None)
    if result is None:
        return None
    readings = distribution(result)
    usual = result.p50 or 0
    longer = readings.values > usual + LONGER_NS
    ns = float((readings.values * readings.counts).sum())
    if not longer.any():
        return Interruptions(NOTHING, ns, result)
    sizes = Distribution(readings.values[longer] - round(usual), readings.counts[longer])
    return Interruptions(sizes, ns, result)


# ---- results ------------------------------------------------------------------------------------


def _in_time(run: Run) -> Run:
    """Return a run whose results are in ns."""
    rate = run.target.detail.get("instructions_per_s")
    if not isinstance(rate, int):
        return run
    scale = NS_PER_S / rate
    return structs.replace(run, results=[_scaled(result, scale) for result in run.results])


def _scaled(result: Result, scale: float) -> Result:
    if result.unit != INSTRUCTIONS:
        return result
    figures = {
        name: structs.replace(figure, value=figure.value * scale, unit="ns")
        if figure.unit == INSTRUCTIONS and figure.value is not None
        else figure
        for name, figure in result.figures.items()
    }
    return structs.replace(
        result, unit="ns", histogram=[(value * scale, n) for value, n in result.histogram],
        p50=None if result.p50 is None else result.p50 * scale,
        max=None if result.max is None else result.max * scale,
        single=None if result.single is None else _scaled(result.single, scale), figures=figures,
    )  # fmt: skip


def distribution(result: Result) -> Distribution:
    """Return the samples of a result: what is too large for the histogram is its maximum."""
    rows = [(max(0, round(value)), n) for value, n in result.histogram if n]
    if result.overflow and result.max is not None:
        rows.append((round(result.max), result.overflow))
    if not rows:
        return NOTHING
    values, counts = zip(*rows, strict=True)
    return Distribution(np.array(values, np.int64), np.array(counts, np.int64))


def _sound(run: Run, names: Iterable[str], load: str, *, samples: bool = True) -> Iterator[Result]:
    """Yield the valid results of benches under a load; ``samples``: only those that have any."""
    for result in run.results:
        valid = result.status == "ok" and result.unit == "ns" and not spoilt(result.flags)
        wanted = result.bench in names and result.load == load
        if valid and wanted and (result.histogram or not samples):
            yield result


def _usual(costs: Distribution) -> float:
    """Return the median cost."""
    order = np.argsort(costs.values)
    below = np.cumsum(costs.counts[order])
    return float(costs.values[order][np.searchsorted(below, below[-1] / 2)])


def _missing(names: str, load: str) -> str:
    return f"not measured: no {names} under load {load}"


def _too_short(ns: float, result: Result) -> str:
    least = trimmed(LEAST_NS, "ns")
    return f"not measured: {trimmed(round(ns), 'ns')} of {_source(result)} are less than {least}"


def _source(result: Result) -> str:
    flags = f", flags: {', '.join(result.flags)}" if result.flags else ""
    return f"{result.bench}, n = {count(result.n)}{flags}"
