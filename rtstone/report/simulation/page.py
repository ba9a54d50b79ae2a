"""A simulation, on a terminal and as a page; simulated Hartstone on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from rtstone import units
from rtstone.documents.simulation import EXACT, Cost, Hartstone, Point, Simulation
from rtstone.report.parts.model import Chart, Charts, Page, Section, Table
from rtstone.report.parts.model_html import write
from rtstone.report.parts.model_terminal import block_lines, fact_lines, rich_table

# ---- words --------------------------------------------------------------------------------------


def _facts(simulation: Simulation) -> list[tuple[str, str]]:
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
        *_cost_facts(r.costs),
    ]


def _cost_facts(cost: Cost) -> list[tuple[str, str]]:
    """Return the costs of switches and ticks, and their sources."""
    switch = units.trimmed(cost.switch_ns, "ns") if cost.switch_ns else "free"
    tick = "none"
    if cost.tick_ns:
        tick = f"{units.trimmed(cost.tick_cost_ns, 'ns')} every {units.trimmed(cost.tick_ns, 'ns')}"
    measured = [("Costs measured by", f"{cost.from_run}; {'; '.join(cost.sources)}")]
    return [("Switch", switch), ("Tick", tick), *(measured if cost.from_run else [])]


def percent(share: float | None) -> str:
    """Return a share as a percentage; 0% and 100% are exact."""
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{share:.0%}"
    if not 0.0001 <= share <= 0.9999:
        return "<0.01%" if share < 0.5 else ">99.99%"
    return f"{share * 100:.2f}%"


def _verdict(simulation: Simulation) -> str:
    """Return in a sentence which policy bears most."""
    n = simulation.request.tasks[0]
    here = [b for b in simulation.breakdown if b.tasks == n]
    most = max((b.mean for b in here), default=0.0)
    best = [b.policy for b in here if b.mean >= most - 0.0005]  # as the table rounds them
    if len(here) < 2 or len(best) == len(here):
        return (
            f"With {n} tasks, deadlines hold up to a utilisation of {most:.3f} on average"
            f"{_exact(simulation)}."
        )
    verb = "bears" if len(best) == 1 else "bear"
    return (
        f"{' and '.join(best)} {verb} most: with {n} tasks, deadlines hold up to a utilisation "
        f"of {most:.3f} on average{_exact(simulation)}."
    )


def _exact(simulation: Simulation) -> str:
    """Return what a breakdown assumes that the charts do not, empty if they do."""
    return "" if simulation.request.execution == EXACT else ", if no job takes less than declared"


def _beside(simulation: Simulation) -> str:
    """Return why the charts show other utilisations than the breakdowns, empty if they do not."""
    execution = simulation.request.execution
    if execution == EXACT:
        return ""
    return (
        f"Here jobs take less than declared (execution times {execution}), so that sets hold at "
        "higher utilisations than their breakdown, for which every job takes what is declared."
    )


# ---- page ---------------------------------------------------------------------------------------

_METHOD = {
    "Task sets": "Utilisation drawn uniformly over the simplex (UUniFast), periods log-uniform "
    "from 10 ms to 1 s, all released together at 0. The same sets under every policy.",
    "Without a miss": "Share of the sets of which no job whose deadline lies in the simulated time "
    "was late.",
    "Miss ratio": "Missed jobs of all jobs due. Late jobs are not broken off.",
    "Response": "Of the aperiodic requests that were served in the simulated time; those that "
    "never were are not in it.",
    "Breakdown": "The heaviest that a set bears without a miss, its execution times exact and "
    "scaled together. Found in the simulated time: a set that is a little too heavy may miss its "
    "first deadline later.",
}


def compose(simulation: Simulation) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    r = simulation.request
    policies = r.policies[0] if len(r.policies) == 1 else f"{len(r.policies)} policies"
    sets = units.counted(r.sets, "task set")
    *most, last = map(str, r.tasks)
    tasks = f"{', '.join(most)} and {last}" if most else last
    least, *later = r.utilisation
    span = f"{least:g} to {later[-1]:g}" if later else f"{least:g}"
    sections = _sections(simulation)
    first = next(sections[0].drawn)
    remarks = []
    for n in r.tasks:
        best = sorted((b for b in simulation.breakdown if b.tasks == n), key=lambda b: -b.mean)
        remarks.append(f"{n} tasks: {', '.join(f'{b.policy} {b.mean:.3f}' for b in best)}.")
    page = Page(
        title=f"Simulated scheduling: {policies}, {sets} a point, {tasks} tasks, "
        f"utilisation {span}",
        kicker="Simulated, not measured: no operating system had a part in these numbers",
        verdict=_verdict(simulation),
        remarks=remarks,
        facts=_facts(simulation),
        first=first._replace(caption=first.words),
        sections=sections,
        method=_METHOD,
    )
    return write(page)


def simulation_lines(simulation: Simulation) -> Iterator[RenderableType]:
    """Yield the simulation on a terminal."""
    yield from fact_lines(_facts(simulation))
    for section in _sections(simulation):
        yield from block_lines(section.blocks)


def _sections(simulation: Simulation) -> list[Section]:
    """Return a section for each number of tasks: charts over the utilisation, and breakdowns."""
    policies = simulation.request.policies
    sections = []
    for n in simulation.request.tasks:
        points = [point for point in simulation.points if point.tasks == n]
        charts = []
        for metric in METRICS:
            series = [
                {"name": policy, "points": [[p.utilisation, metric.value(p)] for p in points
                                            if p.policy == policy]}
                for policy in policies
            ]  # fmt: skip
            axis = metric.title if metric.unit == "" else "time" if metric.unit == "ns" else "share"
            data = {"kind": "curves", "over": "utilisation", "axis": axis, "unit": metric.unit,
                    "log": metric.log, "most": metric.most, "series": series}  # fmt: skip
            words = f"{metric.title}, {n} tasks"
            note = _beside(simulation) if metric is METRICS[0] else ""
            charts.append(Chart(f"n{n}-{metric.key}", words, data, metric.title, note=note))
        rows = []
        for utilisation in dict.fromkeys(p.utilisation for p in points):
            here = {p.policy: p for p in points if p.utilisation == utilisation}
            cells = [
                f"{percent(here[policy].schedulable)} {percent(here[policy].miss_ratio):>7}"
                for policy in policies
            ]
            rows.append([f"{utilisation:g}", *cells])
        title = f"{n} tasks: share of sets without a miss, and miss ratio of the jobs"
        shares = Charts(charts, Table(["utilisation", *policies], rows, title), shared=True)
        sections.append(Section(f"n{n}", f"{n} tasks", [shares, _summary(simulation, n, points)]))
    return sections


def _summary(simulation: Simulation, n: int, points: list[Point]) -> Table:
    """Return a table of breakdown utilisations, and of other metrics near full utilisation."""
    utilisations = [p.utilisation for p in points]
    at = max((u for u in utilisations if u <= 0.9), default=min(utilisations))
    rows = []
    for b in simulation.breakdown:
        if b.tasks != n:
            continue
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
    return Table(columns, rows, f"Breakdown utilisation; and at utilisation {at:g}")


@dataclass(frozen=True)
class Metric:
    """A chart: title, values and unit; ``most``: end of its axis; ``log``: logarithmic."""

    key: str
    title: str
    unit: str
    value: Callable[[Point], float | None]
    most: float | None = None
    log: bool = False


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


METRICS = (
    Metric("schedulable", "Sets without a miss", "%", lambda p: _hundred(p.schedulable), 100),
    Metric("misses", "Miss ratio of the jobs", "%", lambda p: _hundred(p.miss_ratio), 100),
    Metric("response", "Mean response to aperiodic requests", "ns",
           lambda p: p.response_mean_ns, log=True),
    Metric("preemptions", "Preemptions per job", "", lambda p: p.preemptions_per_job),
)  # fmt: skip


# ---- Hartstone ----------------------------------------------------------------------------------


def hartstone_lines(document: Hartstone) -> Iterator[RenderableType]:
    """Yield simulated Hartstone on a terminal, beside what was measured."""
    yield from fact_lines(_cost_facts(document.costs))
    costs = any(e.breakdown_free != e.breakdown for e in document.experiments)
    costs = costs or bool(document.costs.switch_ns or document.costs.tick_cost_ns)
    beside = any(e.measured is not None for e in document.experiments)
    columns = ["experiment", "set", "policy", "server", "raw KWIPS", "tests",
               *(["without costs", "with costs"] if costs else ["simulated"]), "first miss",
               *(["measured", "gap: the OS"] if beside else [])]  # fmt: skip
    rows = []
    for e in document.experiments:
        least = e.first_miss is None
        cells = [_percent(e.breakdown_free, least=least)] if costs else []
        cells += [_percent(e.breakdown, least=least), "-" if least else f"{e.first_miss:.1f}"]
        if beside:
            never = e.measured_first_miss is None
            cells += ["not measured" if e.measured is None else _percent(e.measured, least=never)]
            gap = "-" if e.gap is None else f"{'at least ' if least else ''}{e.gap:+.1f}"
            cells += [f"none: {' '.join(e.disturbed)}" if e.disturbed else gap]
        rows.append([
            e.experiment, e.set, e.policy, e.form or "-", units.count(e.raw_kwips),
            f"{len(e.tests)} x {units.trimmed(e.duration_ns, 'ns')}", *cells,
        ])  # fmt: skip
    title = "Hartstone: utilisation of the last test before a miss, in %"
    yield rich_table(Table(columns, rows, title))
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


def _percent(breakdown: float | None, *, least: bool) -> str:
    if breakdown is None:
        return "none"
    return f"{'at least ' if least else ''}{breakdown:.1f}"
