"""Costs of a context switch and of the clock interrupt on a measured system."""

from __future__ import annotations

import re

from rtstone.documents.run import Result, Run
from rtstone.documents.simulation import Cost
from rtstone.errors import UsageError
from rtstone.units import NS_PER_S

# Benches whose median is the cost of a context switch, best first.
SWITCHES = ("ctx.ballast", "sched.yield.pair", "rheal.ts")
INTERRUPTED = "det.bintime"
LONGER_NS = 500  # an interval between clock readings this much above the median was interrupted
_HZ = re.compile(r"CONFIG_HZ=(\d+)")
_RELEASE = re.compile(r"(\d+)\.(\d+)")


def of_run(run: Run, *, switch_known: bool = False) -> Cost:
    """Return the costs that a run has measured, and the limit of its real-time tasks.

    Switch: the median of ctx.ballast with the least ballast, else of sched.yield.pair, else of
    rheal.ts.  Tick: its period is from the kernel's CONFIG_HZ; its cost is the share of time that
    det.bintime lost to interruptions, times the period, so that all interrupts count as ticks.
    A tick that the run lacks costs 0, and ``sources`` says so.  Raises UsageError without a switch,
    unless its cost is known: a simulation of free switches would pass for one of this system.
    """
    switches = next((valid for bench in SWITCHES if (valid := _sound(run, bench))), [])
    switch = min(switches, key=_ballast, default=None)
    if switch is None and not switch_known:
        raise UsageError(
            f"no cost of a switch in run {run.run_id}, in --costs-from; add ctx.ballast and "
            "det.bintime to what `rtstone run` measures, or write --switch-cost"
        )
    sources = []
    if switch is not None:
        params = f" ballast={switch.params['ballast']}" if "ballast" in switch.params else ""
        sources = [f"switch: p50 of {switch.bench}{params}, {_circumstances(switch)}"]
    period, lost = tick_period(run), _interrupted(run)
    if period is None or lost is None:
        why = "no CONFIG_HZ in its conditions" if period is None else f"no {INTERRUPTED}"
        sources.append(f"tick: unknown, {why}")
        period, cost = 0, 0
    else:
        share, result = lost
        cost = round(share * period)
        sources.append(
            f"tick: CONFIG_HZ, and the {share:.4%} of time that {INTERRUPTED} lost to "
            f"interruptions, {_circumstances(result)}"
        )
    runtime, period_us = throttling(run)
    if runtime:
        sources.append(
            f"real-time tasks: {runtime} of each {period_us} us, as kernels before 6.12 have it"
        )
    return Cost(
        rt_runtime_ns=1000 * runtime,
        rt_period_ns=1000 * period_us,
        switch_ns=round(switch.p50 or 0) if switch else 0,
        tick_ns=period,
        tick_cost_ns=cost,
        from_run=run.run_id,
        sources=sources,
    )


def throttling(run: Run) -> tuple[int, int]:
    """Return runtime and period of real-time tasks in us; 0 and 0 where nothing throttles them.

    Since Linux 6.12 they pause only while others wait for their CPU.
    """
    limits = [run.conditions.get(f"sched.rt_{name}_us") for name in ("runtime", "period")]
    release = _RELEASE.match(str(run.conditions.get("kernel.release")))
    old = release is not None and (int(release[1]), int(release[2])) < (6, 12)
    runtime, period = (int(str(limit)) if str(limit).isdigit() else 0 for limit in limits)
    return (runtime, period) if old and 0 < runtime < period else (0, 0)


def _circumstances(result: Result) -> str:
    flags = f", flags: {', '.join(result.flags)}" if result.flags else ""
    return f"n = {result.n}, load {result.load}{flags}"


def _sound(run: Run, bench: str) -> list[Result]:
    """Return the valid results of a bench in ns, those without a load first."""
    results = [r for r in run.results if r.bench == bench and r.status == "ok" and r.unit == "ns"]
    return sorted((r for r in results if r.p50 is not None), key=lambda r: r.load != "none")


def _ballast(result: Result) -> tuple[bool, int]:
    ballast = result.params.get("ballast")
    return result.load != "none", ballast if isinstance(ballast, int) else 0


def tick_period(run: Run) -> int | None:
    """Return the period of the clock interrupt in ns, None if it is not known."""
    config = run.conditions.get("kernel.config")
    for line in config if isinstance(config, list) else []:
        if match := _HZ.fullmatch(str(line)):
            return NS_PER_S // int(match[1])
    return None


def _interrupted(run: Run) -> tuple[float, Result] | None:
    """Return the share of time lost to interruptions between clock readings, and the result."""
    for result in _sound(run, INTERRUPTED):
        usual = result.p50 or 0
        total = sum(value * n for value, n in result.histogram)
        if total <= 0:
            continue
        lost = sum((v - usual) * n for v, n in result.histogram if v > usual + LONGER_NS)
        return lost / total, result
    return None
