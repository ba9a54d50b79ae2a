"""Reports of simulations: tables for the terminal, and one self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from rtstone import units
from rtstone.documents.simulation import Breakdown, Cost, Experiment, Hartstone, Point, Simulation
from rtstone.report.parts.console import plain_table
from rtstone.report.parts.frame import framed

# ---- words --------------------------------------------------------------------------------------


def title(simulation: Simulation) -> str:
    """Return what was simulated, in a line."""
    r = simulation.request
    policies = r.policies[0] if len(r.policies) == 1 else f"{len(r.policies)} policies"
    sets = units.counted(r.sets, "task set")
    return f"{policies}, {sets} a point, {_list(r.tasks)} tasks, utilisation {_span(r.utilisation)}"


def facts(simulation: Simulation) -> list[tuple[str, str]]:
    """Return names and values of the request."""
    r = simulation.request
    served = r.server
    if r.server_budget_ns is not None:
        budget, period = (
            units.trimmed(t, "ns") for t in (r.server_budget_ns, r.server_period_ns or 0)
        )
        served += f", {budget} of every {period}"
    return [
        ("Sets", f"{units.count(r.sets)} a point, seed {r.seed}"),
        ("Simulated time", f"{units.trimmed(r.time_ns, 'ns')} a set"),
        ("Execution times", r.execution),
        ("Deadlines", r.deadlines),
        ("Aperiodic requests", f"{r.aperiodic_load:.0%} of the processor, {served}"),
        ("Resources", "none" if r.protocol is None else f"protocol {r.protocol}"),
        ("Quantum of rr and llf", units.trimmed(r.quantum_ns, "ns")),
        *cost_facts(r.costs),
    ]


def cost_facts(cost: Cost) -> list[tuple[str, str]]:
    """Return the costs of switches and ticks, and their sources."""
    switch = units.trimmed(cost.switch_ns, "ns") if cost.switch_ns else "free"
    tick = "none"
    if cost.tick_ns:
        tick = f"{units.trimmed(cost.tick_cost_ns, 'ns')} every {units.trimmed(cost.tick_ns, 'ns')}"
    measured = [("Costs measured by", f"{cost.from_run}; {'; '.join(cost.sources)}")]
    return [("Switch", switch), ("Tick", tick), *(measured if cost.from_run else [])]


def _list(numbers: list[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _span(numbers: list[float]) -> str:
    return f"{numbers[0]:g}" if len(numbers) == 1 else f"{numbers[0]:g} to {numbers[-1]:g}"


def percent(share: float | None) -> str:
    """Return a share as a percentage; 0% and 100% are exact."""
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{share:.0%}"
    if not 0.0001 <= share <= 0.9999:
        return "<0.01%" if share < 0.5 else ">99.99%"
    return f"{share * 100:.2f}%"


# ---- terminal -----------------------------------------------------------------------------------


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    table = plain_table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def simulation_lines(simulation: Simulation) -> Iterator[Table | Text]:
    """Yield the simulation on a terminal."""
    for name, value in facts(simulation):
        yield Text(f"{name}: {value}", style="dim")
    for n in simulation.request.tasks:
        points = [p for p in simulation.points if p.tasks == n]
        breakdowns = [b for b in simulation.breakdown if b.tasks == n]
        yield Text()
        yield _shares(n, points, simulation.request.policies)
        yield Text()
        yield _summary(points, breakdowns)


def _shares(n: int, points: list[Point], policies: list[str]) -> Table:
    rows = []
    for utilisation in dict.fromkeys(p.utilisation for p in points):
        here = {p.policy: p for p in points if p.utilisation == utilisation}
        cells = [
            f"{percent(here[policy].schedulable)} {percent(here[policy].miss_ratio):>7}"
            for policy in policies
        ]
        rows.append([f"{utilisation:g}", *cells])
    title = f"{n} tasks: share of sets without a miss, and miss ratio of the jobs"
    return _table(title, ["utilisation", *policies], rows)


def _summary(points: list[Point], breakdowns: list[Breakdown]) -> Table:
    """Return a table of breakdown utilisations, and of other metrics near full utilisation."""
    utilisations = [p.utilisation for p in points]
    at = max((u for u in utilisations if u <= 0.9), default=min(utilisations))
    rows = []
    for b in breakdowns:
        p = next(p for p in points if p.policy == b.policy and p.utilisation == at)
        times = (p.lateness_mean_ns, p.lateness_max_ns, p.response_mean_ns)
        ratios = (p.preemptions_per_job, p.value_ratio)
        rows.append([
            b.policy,
            f"{b.mean:.3f} ({b.min:.3f} to {b.max:.3f})",
            *("-" if t is None else units.quantity(t, "ns") for t in times),
            *("-" if r is None else f"{r:.3f}" for r in ratios),
        ])  # fmt: skip
    columns = ["policy", "breakdown utilisation", "mean lateness", "max lateness",
               "mean response", "preemptions/job", "value ratio"]  # fmt: skip
    return _table(f"Breakdown utilisation; and at utilisation {at:g}", columns, rows)


def hartstone_lines(document: Hartstone) -> Iterator[Table | Text]:
    """Yield simulated Hartstone on a terminal, beside what was measured."""
    for name, value in cost_facts(document.costs):
        yield Text(f"{name}: {value}", style="dim")
    costs = any(e.breakdown_free != e.breakdown for e in document.experiments)
    costs = costs or bool(document.costs.switch_ns or document.costs.tick_cost_ns)
    beside = any(e.measured is not None for e in document.experiments)
    columns = ["experiment", "set", "policy", "server", "raw KWIPS", "tests",
               *(["without costs", "with costs"] if costs else ["simulated"]), "first miss",
               *(["measured", "gap: the OS"] if beside else [])]  # fmt: skip
    rows = [_hartstone_row(e, costs=costs, beside=beside) for e in document.experiments]
    yield _table("Hartstone: utilisation of the last test before a miss, in %", columns, rows)
    for text in document.left_out:
        yield Text(text, style="dim")
    if beside:
        yield Text(
            f"gap: simulated{' with costs' if costs else ''} less measured, in points of "
            "utilisation; it is known to a step, from the breakdown to the first miss",
            style="dim",
        )
    else:
        yield Text("nothing measured beside it: run hart.* and name the run with --costs-from")


def _hartstone_row(e: Experiment, *, costs: bool, beside: bool) -> list[str]:
    least = e.first_miss is None
    found = [_percent(e.breakdown_free, least=least)] if costs else []
    found += [_percent(e.breakdown, least=least), "-" if least else f"{e.first_miss:.1f}"]
    if beside:
        never = e.measured_first_miss is None
        found += ["not measured" if e.measured is None else _percent(e.measured, least=never)]
        gap = "-" if e.gap is None else f"{'at least ' if least else ''}{e.gap:+.1f}"
        found += [f"none: {' '.join(e.disturbed)}" if e.disturbed else gap]
    return [
        e.experiment, e.set, e.policy, e.form or "-", units.count(e.raw_kwips),
        f"{len(e.tests)} x {units.trimmed(e.duration_ns, 'ns')}", *found,
    ]  # fmt: skip


def _percent(breakdown: float | None, *, least: bool) -> str:
    if breakdown is None:
        return "none"
    return f"{'at least ' if least else ''}{breakdown:.1f}"


# ---- page ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A chart: title, values and unit; ``most``: end of its axis; ``log``: logarithmic."""

    key: str
    title: str
    unit: str
    value: Callable[[Point], float | None]
    most: float | None = None
    log: bool = False


def verdict(simulation: Simulation) -> str:
    """Return in a sentence which policy bears most."""
    n = simulation.request.tasks[0]
    here = [b for b in simulation.breakdown if b.tasks == n]
    most = max((b.mean for b in here), default=0.0)
    best = [b.policy for b in here if b.mean >= most - 0.0005]  # as the table rounds them
    if len(here) < 2 or len(best) == len(here):
        return f"With {n} tasks, deadlines hold up to a utilisation of {most:.3f} on average."
    verb = "bears" if len(best) == 1 else "bear"
    return (
        f"{' and '.join(best)} {verb} most: with {n} tasks, deadlines hold up to a utilisation "
        f"of {most:.3f} on average."
    )


def breakdowns(simulation: Simulation) -> Iterator[str]:
    """Yield the mean breakdown utilisation of each policy, a sentence per number of tasks."""
    for n in simulation.request.tasks:
        here = sorted((b for b in simulation.breakdown if b.tasks == n), key=lambda b: -b.mean)
        yield f"{n} tasks: {', '.join(f'{b.policy} {b.mean:.3f}' for b in here)}."


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


METRICS = (
    Metric("schedulable", "Sets without a miss", "%", lambda p: _hundred(p.schedulable), 100),
    Metric("misses", "Miss ratio of the jobs", "%", lambda p: _hundred(p.miss_ratio), 100),
    Metric("response", "Mean response to aperiodic requests", "ns",
           lambda p: p.response_mean_ns, log=True),
    Metric("preemptions", "Preemptions per job", "", lambda p: p.preemptions_per_job),
)  # fmt: skip


def _chart(metric: Metric, points: list[Point], policies: list[str]) -> dict[str, Any]:
    series = [
        {"name": policy, "points": [[p.utilisation, metric.value(p)] for p in points
                                    if p.policy == policy]}
        for policy in policies
    ]  # fmt: skip
    axis = metric.title if metric.unit == "" else "" if metric.unit == "ns" else "share"
    return {"kind": "curves", "over": "utilisation", "axis": axis or "time", "unit": metric.unit,
            "log": metric.log, "most": metric.most, "series": series}  # fmt: skip


def compose(simulation: Simulation) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    policies = simulation.request.policies
    charts: dict[str, Any] = {}
    groups = []
    for n in simulation.request.tasks:
        points = [p for p in simulation.points if p.tasks == n]
        named = {metric: f"n{n}-{metric.key}" for metric in METRICS}
        charts |= {key: _chart(metric, points, policies) for metric, key in named.items()}
        groups.append({
            "key": f"n{n}",
            "title": f"{n} tasks",
            "charts": [{"id": key, "title": metric.title} for metric, key in named.items()],
            "breakdown": [b for b in simulation.breakdown if b.tasks == n],
        })  # fmt: skip
    return framed(
        "simulation.html",
        {"charts": charts, "details": {}, "forms": {}, "flags": {}},
        title=f"Simulated scheduling: {title(simulation)}",
        facts=facts(simulation),
        groups=groups,
        verdict=verdict(simulation),
        basis=list(breakdowns(simulation)),
    )
