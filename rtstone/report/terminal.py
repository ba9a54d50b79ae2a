"""What the terminal shows: the course of a run, and the table of its results."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rtstone.measure import Listener
from rtstone.model import benches
from rtstone.model.assemble import Net
from rtstone.model.documents import Result, Run, Slope, Value
from rtstone.model.flags import BY_NAME
from rtstone.model.plan import Case, Plan
from rtstone.wire.records import Bench, Progress

# Parameters that every bench has; told only where they differ within a run.
COMMON = {"samples", "time", "warmup", "prio", "cpus", "raw", "batch"}
_UNITS = {"ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))}
_WIDTH = 150  # of a table that goes to a file
_ROOMY = 120  # a table with a column for everything needs so much


def console(file: TextIO) -> Console:
    """A console on a stream: plain and wide where that is no terminal.  Obeys NO_COLOR."""
    return Console(
        file=file, highlight=False, width=None if file.isatty() else _WIDTH, soft_wrap=False
    )


def figure(value: float | None, unit: str = "ns") -> str:
    """A value with three significant digits, in the unit that suits it; unknown is a dash."""
    if value is None:
        return "-"
    if value == 0:
        return f"0 {unit}"
    size = float(f"{abs(value):.3g}")  # rounded first: 999.9 ns is 1.00 µs
    scale = _UNITS.get(unit, ((1, unit),))
    factor, name = next((step for step in scale if size >= step[0]), scale[-1])
    places = max(0, 2 - math.floor(math.log10(size / factor))) if size / factor < 1000 else 0
    return f"{math.copysign(size / factor, value):.{min(places, 6)}f} {name}"


def _count(n: int) -> str:
    return f"{n:,}".replace(",", " ")


# ---- the course of a run ------------------------------------------------------------------------


def _case_label(plan: Plan, case: Case) -> str:
    words = _words(plan.benches[case.bench], case.params, list(case.params))
    return f"{case.bench} {words}".rstrip()


def _numbers(values: dict[str, float | None], unit: str) -> str:
    return "  ".join(f"{name} {figure(value, unit)}" for name, value in values.items())


def _outcome(result: Result) -> str:
    if result.status != "ok":
        return f"{result.status}: {result.reason}"
    values = {"min": result.min, "p50": result.p50, "p99": result.p99, "max": result.max}
    series = f"{result.series}: " if result.series else ""
    return f"{series}n {_count(result.n)}  {_numbers(values, result.unit)}"


class Lines(Listener):
    """One plain line for each case as it completes."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def started(self, plan: Plan) -> None:
        """Takes note of the plan."""
        self._plan = plan

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """Prints the line of the case, one for each of its series."""
        for result in results:
            place = f"{case.id}/{len(self._plan.cases)}"
            label = _case_label(self._plan, case)
            print(f"{place} {label}: {_outcome(result)}", file=self._file, flush=True)


class Display(Listener):
    """A display that follows the run: case, live figures, bar, time left."""

    progress_ms = 250

    def __init__(self, console: Console) -> None:
        # Drawn only when something has come: between cases, or while another CPU measures.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._untimed: list[float] = []  # what the cases took that did not tell before
        self._begin = time.monotonic()

    def started(self, plan: Plan) -> None:
        """Opens the display."""
        self._plan = plan
        self._live.start()
        self._live.update(Text("starting the agent …"), refresh=True)

    def case_started(self, case: Case) -> None:
        """Shows the case."""
        self._begin = time.monotonic()
        self._draw(case, 0.0, "")

    def progress(self, case: Case, record: Progress, unit: str) -> None:
        """Shows the figures so far."""
        per_tick = 1e9 / record.hz if unit == "ns" else 1.0
        net = Net(record.overhead, per_tick, record.batch)
        names = ("min", "p50", "p99") if record.batch > 1 else ("min", "p50", "p99", "max")
        values = {name: net.value(getattr(record, name)) for name in names}
        elapsed = time.monotonic() - self._begin
        by_time = elapsed / max(self._plan.expected_s(case) or math.inf, 1e-9)
        share = min(max((record.done or 0) / 1000, by_time), 1.0)
        self._draw(case, share, f"n {_count(record.n)}  {_numbers(values, unit)}")

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """Shows the case's results until the next one has begun."""
        if self._plan.expected_s(case) is None:
            self._untimed.append(time.monotonic() - self._begin)
        self._draw(case, 1.0, _outcome(results[-1]))

    def ended(self) -> None:
        """Closes the display."""
        self._live.stop()

    def _draw(self, case: Case, share: float, figures: str) -> None:
        cases = self._plan.cases
        times = [self._expected_s(other) for other in cases]
        done = sum(times[: case.id - 1]) + share * times[case.id - 1]
        whole = max(sum(times), 1e-9)
        head = Text.assemble(
            (f"{case.id}/{len(cases)} ", "dim"), (_case_label(self._plan, case), "bold")
        )
        bar = Table.grid(padding=(0, 1))
        left = f"{done / whole:.0%}, about {math.ceil(whole - done)} s left"
        bar.add_row(ProgressBar(total=whole, completed=done, width=40), left)
        self._live.update(Group(head, Text(figures or " "), bar), refresh=True)

    def _expected_s(self, case: Case) -> float:
        known = self._plan.expected_s(case)
        if known is not None:
            return known
        return sum(self._untimed) / len(self._untimed) if self._untimed else 0.2


# ---- the results --------------------------------------------------------------------------------


def summary(run: Run, width: int, place: Path | None = None) -> Iterator[RenderableType]:
    """The parts of a run's summary, from its first line to where it is stored.

    Below a ``width`` of 120 columns everything but the figures stands in one column.
    """
    yield from _head(run)
    yield _table(run) if width >= _ROOMY else _narrow_table(run)
    yield from _footnotes(run)
    if place is not None:
        yield Text(f"stored in {place}", style="dim")
        yield Text(f"a page of it: rtstone report {run.run_id} -o report.html", style="dim")


def conditions(run: Run) -> Table:
    """Everything that is known of the circumstances of a run."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    facts: dict[str, Value] = {
        "run": run.run_id,
        "created": run.created,
        "command": " ".join(run.command),
        "target": run.target.name,
    }
    if run.agent:
        facts |= {"agent": f"{run.agent.version}, port {run.agent.port}, source {run.agent.source}"}
        facts |= {"compiler": run.agent.compiler, "flags": run.agent.flags}
    for name, value in (facts | run.conditions).items():
        table.add_row(name, Text(_words_of(value)))
    return table


def _words_of(value: Value) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or "none"
    return str(value)


def _head(run: Run) -> Iterator[Text]:
    parts = [run.target.name]
    if run.agent:
        parts.append(f"{run.agent.os} {run.agent.arch}")
    if model := run.conditions.get("cpu.model"):
        parts.append(str(model))
    if run.clock:
        cost = figure(run.clock.overhead_ns, run.clock.unit)
        parts.append(f"clock {run.clock.source}, a read costs {cost}")
    head = Text(" · ".join(parts))
    flags = {name for result in run.results for name in result.flags}
    lacking = {"no_rt": "real-time scheduling", "no_mlock": "locked memory"}
    without = [what for name, what in lacking.items() if name in flags]
    if without:
        head.append(f" · WITHOUT {' and '.join(without)}", style="bold red")
    yield head
    if run.status != "complete":
        yield Text(f"INCOMPLETE: {run.reason}", style="bold red")


def _table(run: Run) -> Table:
    periodic = any(result.missed is not None for result in run.results)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("bench", no_wrap=True)
    table.add_column("parameters", overflow="fold", ratio=None)
    for name in ("n", "min", "p50", "p99", "p99.9", "max", "over", *["missed"] * periodic):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("flags", overflow="fold", style="yellow")
    labels = _labels(run)
    family = bench = ""
    for result, label in zip(run.results, labels, strict=True):
        if family and _family(result.bench) != family:
            table.add_row()
        family = _family(result.bench)
        name = "" if result.bench == bench else result.bench
        bench = result.bench
        table.add_row(Text(name, "bold cyan"), Text(label), *_cells(result, periodic))
    return table


def _narrow_table(run: Run) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("bench", overflow="fold")
    for name in ("n", "min", "p50", "p99", "p99.9", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for result, label in zip(run.results, _labels(run), strict=True):
        *cells, over, missed, flags = _cells(result, periodic=True)
        where = Text.assemble((result.bench, "bold cyan"), f" {label}" if label else "")
        if over.plain:
            where.append(f" over {over}", style="dim")
        if missed.plain:
            where.append(f" missed {missed}")
        where.append(f" {flags}" if flags.plain else "", style="yellow")
        table.add_row(where, *cells)
    return table


def _family(bench: str) -> str:
    return bench.partition(".")[0]


def _cells(result: Result, periodic: bool) -> list[Text]:
    if result.status != "ok" and not result.n:
        style = "dim" if result.status == "unsupported" else "red"
        cells = [Text(result.status, style), *[Text("")] * (6 + periodic)]
    else:
        values = (result.min, result.p50, result.p99, result.p999, result.max)
        cells = [Text(_count(result.n))]
        cells += [Text(figure(value, result.unit)) for value in values]
        section = result.evidence.get("section_ns")
        cells.append(Text(figure(section if isinstance(section, int) else None), "dim"))
        if periodic:
            cells.append(Text("" if result.missed is None else _count(result.missed)))
    state = [result.status] if result.status != "ok" and result.n else []
    return [*cells, Text(" ".join(state + result.flags))]


def _labels(run: Run) -> list[str]:
    """What tells each result from the others of its bench."""
    tables = {bench.id: bench for bench in run.benches}
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for result in run.results:
        for name, value in result.params.items():
            values[result.bench, name].add(str(value))
    loads = {result.load for result in run.results}

    def label(result: Result) -> str:
        bench = tables.get(result.bench)
        names = [
            name
            for name, value in result.params.items()
            if len(values[result.bench, name]) > 1
            or (bench and name not in COMMON and value != _default(bench, name))
        ]
        words = [_words(bench, result.params, names), result.series]
        words += [f"load={result.load}"] if len(loads) > 1 else []
        return " ".join(word for word in words if word)

    return [label(result) for result in run.results]


def _default(bench: Bench, name: str) -> Value:
    param = bench.param(name)
    return param.default if param else None


def _words(bench: Bench | None, params: dict[str, Value], names: list[str]) -> str:
    def text(name: str) -> str:
        param = bench.param(name) if bench else None
        return benches.quantity(param, params[name]) if param else str(params[name])

    return " ".join(f"{name}={text(name)}" for name in names)


def _footnotes(run: Run) -> Iterator[Text]:
    loads = sorted({result.load for result in run.results})
    yield Text(f"\nTimes are net of the clock's overhead.  Load: {', '.join(loads)}.", style="dim")
    labels = _labels(run)
    for result, label in zip(run.results, labels, strict=True):
        name = f"{result.bench} {label}".rstrip()
        if result.status != "ok":
            yield Text.assemble((f"{result.status} ", "red"), f"{name}: {result.reason}")
        # Counts of what went wrong: worth a line only if it did.
        facts = {key: fact for key, fact in result.figures.items() if fact.value != 0}
        if facts:
            items = (f"{key} {figure(fact.value, fact.unit)}" for key, fact in facts.items())
            yield Text(f"{name}: {', '.join(items)}")
    for slope in run.slopes:
        yield Text(_slope(run, slope))
    occurring = {name for result in run.results for name in result.flags}
    for flag in BY_NAME.values():
        if flag.name in occurring:
            yield Text.assemble((flag.name, "yellow"), f": {flag.cause}; {flag.advice}")
    for note in run.notes:
        yield Text(f"note: {note}")


def _slope(run: Run, slope: Slope) -> str:
    bench = next((bench for bench in run.benches if bench.id == slope.bench), None)
    names = [
        name
        for name, value in slope.params.items()
        if name not in COMMON and bench and value != _default(bench, name)
    ]
    low, high = slope.ci95
    verdict = "no growth seen" if slope.constant else "grows" if slope.slope > 0 else "falls"
    where = f"{slope.bench} {_words(bench, slope.params, names)}".rstrip()
    return (
        f"{where}: {slope.slope:+.3g} {slope.unit} "
        f"(95%: {low:.3g} … {high:.3g}, {len(slope.points)} points), {verdict}"
    )
