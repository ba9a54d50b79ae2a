"""What the terminal shows of a run while it goes on."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rtstone.documents.case_name import CaseName, case_names
from rtstone.documents.plan import NONE, Case, Plan
from rtstone.documents.run import Result
from rtstone.measure.listener import Listener
from rtstone.report.parts.console import figure
from rtstone.report.parts.words import reached
from rtstone.results.ticks import Net
from rtstone.summary import least_n
from rtstone.units import NS_PER_S, count, roughly
from rtstone.wire.records import Progress


def _names(plan: Plan) -> dict[int, CaseName]:
    """Return the names of the cases of a plan by their numbers, as its results will have them."""
    cases = []
    for case in plan.cases:
        defaults = {param.name: param.default for param in plan.benches[case.bench].params}
        cases.append((case.bench, {**defaults, **case.params}, "", case.load))
    names = case_names(cases, plan.benches.values())
    return {case.id: name for case, name in zip(plan.cases, names, strict=True)}


def _load_starting(load: str) -> str:
    return "ending the load" if load == NONE else f"starting load {load}"


def _numbers(values: dict[str, float | None], unit: str) -> str:
    return "  ".join(f"{name} {figure(value, unit)}" for name, value in values.items())


def _outcome(result: Result) -> str:
    """Return a result in a line: its first figures, or why there are none."""
    if result.status != "ok":
        return f"{result.status}: {result.reason}"
    if not result.n:
        first = list(result.figures.items())[:2]  # what such a bench is run for
        figures = ", ".join(f"{name} {figure(fact.value, fact.unit)}" for name, fact in first)
        return f"ok {figures}".rstrip()
    values = {"min": result.min, "p50": result.p50, "p99": result.p99, "max": result.max}
    series = f"{result.series}: " if result.series else ""
    precision = reached(result)
    end = f"  {precision}" if precision else ""
    return f"{series}n {count(result.n)}  {_numbers(values, result.unit)}{end}"


_KNOWN = 0.05  # share of an emulated run that shows how fast it is


class Lines(Listener):
    """One plain line for each case as it completes; ``target``: which one's, if of several."""

    def __init__(self, file: TextIO, target: str = "") -> None:
        self._file = file
        self._prefix = f"{target}: " if target else ""
        self._reasons: dict[tuple[str, str | None], int] = {}  # the first case with each

    def started(self, plan: Plan) -> None:
        """Take note of the plan."""
        self._plan, self._names = plan, _names(plan)

    def load_starting(self, load: str) -> None:
        """Print what is waited for."""
        self._print(_load_starting(load))

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """Print the line of the case, one for each of its series."""
        for result in results:
            place = f"{case.id}/{len(self._plan.cases)}"
            outcome = self._outcome(case, result)
            self._print(f"{place} {self._names[case.id]}: {outcome}")

    def _print(self, line: str) -> None:
        # In one piece, as others write there too.
        self._file.write(f"{self._prefix}{line}\n")
        self._file.flush()

    def _outcome(self, case: Case, result: Result) -> str:
        """Return the outcome; a reason that was shown already is not repeated."""
        first = self._reasons.setdefault((result.status, result.reason), case.id)
        if result.reason and first != case.id:
            return f"{result.status}, like case {first}"
        return _outcome(result)


class Display(Listener):
    """A display that follows the run: case, live figures, bar, time left."""

    progress_ms = 250

    def __init__(self, console: Console) -> None:
        # Drawn only when something has come: between cases, or while another CPU measures.
        self._live: Live | _Row = Live(console=console, auto_refresh=False, transient=True)
        self._untimed: list[float] = []  # what the cases took whose duration was unknown
        self._begin = self._started = time.monotonic()
        self._emulated = False

    def started(self, plan: Plan) -> None:
        """Open the display."""
        self._plan, self._names = plan, _names(plan)
        self._emulated, self._started = "icount" in plan.target.detail, time.monotonic()
        self._live.start()
        self._live.update(Text("starting the agent …"), refresh=True)

    def load_starting(self, load: str) -> None:
        """Show what is waited for."""
        self._live.update(Text(_load_starting(load)), refresh=True)

    def case_started(self, case: Case) -> None:
        """Show the case."""
        self._begin = time.monotonic()
        self._draw(case, 0.0, "")

    def progress(self, case: Case, record: Progress, unit: str) -> None:
        """Show the figures so far, or what the case says instead."""
        elapsed = 0.0 if self._emulated else time.monotonic() - self._begin
        by_time = elapsed / max(self._plan.expected_s(case) or math.inf, 1e-9)
        share = min(max((record.done or 0) / 1000, by_time), 1.0)
        if record.text is not None:
            self._draw(case, share, record.text)
            return
        per_tick = NS_PER_S / record.hz if unit == "ns" else 1.0
        net = Net(record.overhead, per_tick, record.batch)
        names = ("min", "p50", "p99") if record.batch > 1 else ("min", "p50", "p99", "max")
        values = {  # as in the result: with fewer samples a percentile is hardly more than chance
            name: net.value(getattr(record, name)) if record.n >= least_n(name) else None
            for name in names
        }
        self._draw(case, share, f"n {count(record.n)}  {_numbers(values, unit)}")

    def round_ended(self, case: Case, results: list[Result]) -> None:
        """Show what is known so far."""
        figures, until = f"n {count(results[-1].n)} ", results[-1].until
        if until and until.width is not None:
            figures += f" {until.statistic} ± {until.width:.2%}"
        self._draw(case, 1.0, figures)

    def case_ended(self, case: Case, results: list[Result]) -> None:
        """Show the case's results until the next one has begun."""
        if self._plan.expected_s(case) is None:
            self._untimed.append(time.monotonic() - self._begin)
        self._draw(case, 1.0, _outcome(results[-1]))

    def ended(self) -> None:
        """Close the display."""
        self._live.stop()

    def _draw(self, case: Case, share: float, figures: str) -> None:
        cases = self._plan.cases
        mean = sum(self._untimed) / len(self._untimed) if self._untimed else 0.2
        planned = [self._plan.expected_s(other) for other in cases]
        times = [mean if seconds is None else seconds for seconds in planned]
        done = sum(times[: case.id - 1]) + share * times[case.id - 1]
        whole = max(sum(times), 1e-9)
        head = Text.assemble(
            (f"{case.id}/{len(cases)} ", "dim"), (str(self._names[case.id]), "bold")
        )
        left = f"{done / whole:.0%}"
        if self._plan.endless:
            left = "until Ctrl-C"
        # With --until nobody knows how many rounds there will be.
        elif not self._plan.until and (remaining := self._remaining(done, whole)) is not None:
            left += f", about {roughly(remaining)} left"
        self._live.update(self._drawn(head, figures, done / whole, left), refresh=True)

    def _remaining(self, done: float, whole: float) -> float | None:
        """Return how long the rest takes in s, None if that is not known.

        Times are planned in the target's own time, which passes at another rate where it is
        emulated: how fast, the cases so far show.
        """
        if not self._emulated:
            return whole - done
        if done < _KNOWN * whole:
            return None
        return (time.monotonic() - self._started) * (whole - done) / done

    def _drawn(self, head: Text, figures: str, share: float, left: str) -> RenderableType:
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(total=1.0, completed=share, width=40), left)
        return Group(head, Text(figures or " "), bar)


class Displays:
    """Displays of several runs at once, of one line each."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._rows: dict[str, RenderableType] = dict.fromkeys(names, Text("waiting …", "dim"))
        self._alone = threading.Lock()  # each run has a thread of its own

    def display(self, name: str) -> Display:
        """Return the display of one of the runs."""
        return _Line(self._live.console, _Row(self, name))

    def show(self, name: str, row: RenderableType) -> None:
        """Draw a row anew."""
        with self._alone:
            self._rows[name] = row
            self._live.start()
            table = Table.grid(padding=(0, 2, 0, 0), expand=True)
            table.add_column(style="bold cyan", no_wrap=True)
            table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
            for title, line in self._rows.items():
                table.add_row(Text(title), line)
            self._live.update(table, refresh=True)

    def close(self) -> None:
        """Close all of them."""
        self._live.stop()


class _Row:
    """The row of one run: what a display draws to instead of the whole terminal."""

    def __init__(self, displays: Displays, name: str) -> None:
        self._displays, self._name = displays, name

    def start(self) -> None:
        """Do nothing: the rows are there from the beginning."""

    def update(self, row: RenderableType, *, refresh: bool) -> None:
        """Draw the row."""
        self._displays.show(self._name, row)

    def stop(self) -> None:
        """Show that the run has ended; others may go on."""
        self._displays.show(self._name, Text("done", "dim"))


class _Line(Display):
    """A display of one line."""

    progress_ms = 1000

    def __init__(self, console: Console, row: _Row) -> None:
        super().__init__(console)
        self._live = row

    def _drawn(self, head: Text, figures: str, share: float, left: str) -> RenderableType:
        return Text.assemble(head, f"  {left}  ", (figures, "dim"))
