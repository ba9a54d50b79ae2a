"""What the terminal shows: the course of a run, and the table of its results."""

from __future__ import annotations

import errno
import math
import os
import shlex
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rtstone.assemble.assembly import Net
from rtstone.assemble.flags import BY_NAME
from rtstone.documents.imported import tool
from rtstone.documents.plan import NONE, Case, Plan
from rtstone.documents.run import Distribution, Result, Run, Value
from rtstone.printable import shown
from rtstone.report.parts.words import (
    OBSERVED,
    STATISTICS,
    assignments,
    counted_units,
    emulated,
    growths,
    labels,
    lacking_rights,
    load_lines,
    measured,
    model,
    observed,
    reached,
    system,
    words,
)
from rtstone.report.run.answer import answer
from rtstone.report.run.loads import lines as load_effects
from rtstone.report.run.shapes import correction
from rtstone.runner.measure import Listener
from rtstone.store.rundir import runs
from rtstone.units import count, plain, quantity
from rtstone.wire.records import Progress

_ROOMY = 120  # a table with a column for everything needs so much
_BENCH = 16  # the least width of a column with the name of a bench
_ENDLESS = 100_000  # columns of what is no terminal: no text is wrapped there
_NUMBERS = ("n", *STATISTICS.values())
_LONG = 100  # rows of a table that a terminal shows


class _Trimmed:
    """A stream without blanks at the ends of lines, which tables are padded with."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write("\n".join(line.rstrip(" ") for line in text.split("\n")))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Console(Console):
    """A console that leaves a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(file: TextIO) -> Console:
    """A console on a stream: plain and without bounds where that is no terminal."""
    if file.isatty():
        return _Console(file=file, highlight=False)
    trimmed = cast(TextIO, _Trimmed(file))
    return _Console(file=trimmed, highlight=False, width=_ENDLESS, soft_wrap=False)


def figure(value: float | None, unit: str = "ns") -> str:
    """A value in a table or a list, where what is unknown is a dash."""
    if value is None:
        return "-"
    return quantity(value, unit) if unit else plain(value)


# ---- the course of a run ------------------------------------------------------------------------


def _case_label(plan: Plan, case: Case) -> str:
    told = assignments(plan.benches[case.bench], case.params, case.params)
    return f"{case.bench} {told}".rstrip()


def _load_starting(load: str) -> str:
    return "ending the load" if load == NONE else f"starting load {load}"


def _numbers(values: dict[str, float | None], unit: str) -> str:
    return "  ".join(f"{name} {figure(value, unit)}" for name, value in values.items())


def _outcome(result: Result) -> str:
    if result.status != "ok":
        return f"{result.status}: {result.reason}"
    if not result.n:
        return f"ok {_first_figures(result)}".rstrip()
    values = {"min": result.min, "p50": result.p50, "p99": result.p99, "max": result.max}
    series = f"{result.series}: " if result.series else ""
    known = f"  {told}" if (told := reached(result)) else ""
    return f"{series}n {count(result.n)}  {_numbers(values, result.unit)}{known}"


def _so_far(result: Result) -> str:
    """Of a case that goes on."""
    told = result.until
    width = f" {told.statistic} ± {told.width:.2%}" if told and told.width is not None else ""
    return f"n {count(result.n)} {width}"


def _first_figures(result: Result) -> str:
    """What a bench without samples tells first: what it is run for."""
    facts = list(result.figures.items())[:2]
    return ", ".join(f"{name} {figure(fact.value, fact.unit)}" for name, fact in facts)


class Lines(Listener):
    """One plain line for each case as it completes."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def started(self, plan: Plan) -> None:
        """Takes note of the plan."""
        self._plan = plan

    def load_starting(self, load: str) -> None:
        """Prints what is waited for."""
        print(_load_starting(load), file=self._file, flush=True)

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

    def load_starting(self, load: str) -> None:
        """Says what is waited for."""
        self._live.update(Text(_load_starting(load)), refresh=True)

    def case_started(self, case: Case) -> None:
        """Shows the case."""
        self._begin = time.monotonic()
        self._draw(case, 0.0, "")

    def progress(self, case: Case, record: Progress, unit: str) -> None:
        """Shows the figures so far, or what the case says instead."""
        elapsed = time.monotonic() - self._begin
        by_time = elapsed / max(self._plan.expected_s(case) or math.inf, 1e-9)
        share = min(max((record.done or 0) / 1000, by_time), 1.0)
        if record.text is not None:
            self._draw(case, share, record.text)
            return
        per_tick = 1e9 / record.hz if unit == "ns" else 1.0
        net = Net(record.overhead, per_tick, record.batch)
        names = ("min", "p50", "p99") if record.batch > 1 else ("min", "p50", "p99", "max")
        values = {name: net.value(getattr(record, name)) for name in names}
        self._draw(case, share, f"n {count(record.n)}  {_numbers(values, unit)}")

    def round_ended(self, case: Case, results: list[Result]) -> None:
        """Shows what is known so far."""
        self._draw(case, 1.0, _so_far(results[-1]))

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
        if self._plan.until:  # nobody knows how many rounds there will be
            left = f"{done / whole:.0%}"
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

    In a narrow terminal everything but the figures stands in one column; where even that would
    cut a number short, each result is a block of lines.
    """
    yield from _head(run)
    yield from _answer(run)
    lines = list(_lines(run))
    gaps = [gap for gap in (2, 1) if width >= max(_ROOMY, _needs(lines, _others(lines, gap), gap))]
    if gaps:
        yield _table(lines, gaps[0])
    elif width >= _needs(lines, _BENCH, gap=1):
        yield _narrow_table(lines)
    else:
        yield from _blocks(lines, width)
    yield from _footnotes(run)
    yield from _told(run)
    if place is not None:
        yield Text(f"stored in {shown(str(place))}", style="dim")
        known = place.absolute() == (runs() / run.run_id).absolute()
        name = run.run_id if known else shlex.quote(shown(str(place)))
        yield Text(f"a page of it: rtstone report {name} -o report.html", style="dim")


_TOLD = {"title", "label", "model", "system"}  # of a target's detail, elsewhere


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
    if model(run):
        facts["system"] = system(run)
    facts |= {
        name: v for name, v in run.target.detail.items() if name not in _TOLD and v is not None
    }
    if run.agent:
        facts |= {"agent": f"{run.agent.version}, port {run.agent.port}, source {run.agent.source}"}
        facts |= {"compiler": run.agent.compiler, "flags": run.agent.flags}
    for name, value in (facts | run.conditions).items():
        table.add_row(name, Text(words(value)))
    return table


def _head(run: Run) -> Iterator[Text]:
    parts = _place(run)
    if run.clock:
        cost = figure(run.clock.overhead_ns, run.clock.unit)
        parts.append(f"clock {run.clock.source}, a read costs {cost}")
    head = Text(" · ".join(parts))
    if without := lacking_rights(run):
        head.append(f" · WITHOUT {' and '.join(without)}", style="bold red")
    yield head
    if run.status != "complete":
        yield Text(f"INCOMPLETE: {run.reason}", style="bold red")


_GRADES = {"bad": "bold red", "note": "bold", "good": "bold green", "info": "bold"}


def _answer(run: Run) -> Iterator[Text]:
    """The verdict, what it rests on, and the worst findings."""
    told = answer(run)
    yield Text(told.verdict, style=_GRADES[told.grade])
    yield from (Text(text) for text in told.basis)
    for place, finding in enumerate(told.worst, 1):
        head = (f"{place}. {finding.head}: ", _GRADES[finding.grade])
        yield Text.assemble(head, (finding.text, "dim"))
    for finding in told.others:
        yield Text.assemble(f"{finding.head}: ", (finding.text, "dim"))
    for one in told.estimates:
        case = f"{one.subject.title} load={one.subject.result.load}"
        yield Text(f"worst case of {case}: {one.outcome}", style="dim")
    yield Text()


def _place(run: Run) -> list[str]:
    """What was measured: of a model first of all that it is one."""
    if model(run):
        return [str(system(run)), run.target.name]
    parts = [part for part in (run.target.name, emulated(run)) if part]
    if run.agent:
        parts.append(f"{run.agent.os} {run.agent.arch}")
    elif measured_by := tool(run):
        parts += [part for part in (measured_by, system(run)) if part]
    if cpu := run.conditions.get("cpu.model"):
        parts.append(str(cpu))
    return parts


class _Line(NamedTuple):
    """What a line of the table says; ``figures`` are n and the statistics, or a status alone."""

    bench: str
    label: str
    figures: list[str]
    time: str = ""
    missed: str | None = None
    flags: str = ""
    style: str = ""


def _lines(run: Run) -> Iterator[_Line]:
    for result, label in zip(run.results, labels(run), strict=True):
        state = [result.status] if result.status != "ok" and result.n else []
        flags = " ".join(state + result.flags)
        if not result.n:
            style = {"ok": "", "unsupported": "dim"}.get(result.status, "red")
            yield _Line(result.bench, label, [result.status], flags=flags, style=style)
            continue
        yield _Line(
            bench=result.bench,
            label=label,
            figures=_figures(result, result.unit),
            time=observed(result) or "-",
            missed=None if result.missed is None else count(result.missed),
            flags=flags,
        )
        if more := correction(result):
            yield _Line(result.bench, f"{label} corrected".strip(), _figures(more, result.unit))


def _figures(of: Result | Distribution, unit: str) -> list[str]:
    return [count(of.n), *(figure(getattr(of, member), unit) for member in STATISTICS)]


def _needs(lines: list[_Line], others: int, gap: int) -> int:
    """The width of a terminal in which no number of a table is cut short.

    ``others`` is the width of the columns that are no figures, ``gap`` stands before each figure.
    """
    rows = [_NUMBERS, *(line.figures for line in lines if len(line.figures) == len(_NUMBERS))]
    return others + sum(gap + max(map(len, column)) for column in zip(*rows, strict=True))


def _others(lines: list[_Line], gap: int) -> int:
    """The width of the columns of a roomy table that are no figures, no word of them parted."""
    columns = [
        ["bench", *(line.bench for line in lines)],
        _label_words(lines),
        [OBSERVED, *(line.time for line in lines)],
        ["missed"] if _periodic(lines) else [],
        ["flags", *(word for line in lines for word in line.flags.split())],
    ]
    return sum(gap + max(map(len, column)) for column in columns if column)


def _label_words(lines: list[_Line]) -> list[str]:
    return ["parameters", *(word for line in lines for word in line.label.split())]


def _periodic(lines: list[_Line]) -> bool:
    return any(line.missed is not None for line in lines)


def _table(lines: list[_Line], gap: int) -> Table:
    periodic = _periodic(lines)
    table = Table(box=None, header_style="bold", padding=(0, gap, 0, 0), pad_edge=False)
    table.add_column("bench", no_wrap=True)
    least = max(map(len, _label_words(lines)))
    table.add_column("parameters", overflow="fold", min_width=least)
    for name in (*_NUMBERS, OBSERVED, *["missed"] * periodic):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("flags", overflow="fold", style="yellow")
    family = bench = ""
    for line in lines:
        if family and _family(line.bench) != family:
            table.add_row()
        family = _family(line.bench)
        name = "" if line.bench == bench else line.bench
        bench = line.bench
        table.add_row(
            Text(name, "bold cyan"),
            Text(line.label),
            *_cells(line),
            Text(line.time, "dim"),
            *[Text(line.missed or "")] * periodic,
            Text(line.flags),
        )
    return table


def _cells(line: _Line) -> list[Text]:
    cells = [Text(figure, line.style) for figure in line.figures]
    return cells + [Text("")] * (len(_NUMBERS) - len(cells))


def _narrow_table(lines: list[_Line]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("bench", overflow="fold", min_width=_BENCH)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(_where(line), *_cells(line))
    return table


def _where(line: _Line) -> Text:
    """Everything but the figures."""
    where = Text.assemble((line.bench, "bold cyan"), f" {line.label}" if line.label else "")
    if line.time:
        where.append(f" {OBSERVED} {line.time}", style="dim")
    if line.missed:
        where.append(f" missed {line.missed}")
    where.append(f" {line.flags}" if line.flags else "", style="yellow")
    return where


def _blocks(lines: list[_Line], width: int) -> Iterator[Text]:
    for line in lines:
        yield _where(line)
        pieces = line.figures
        if len(pieces) == len(_NUMBERS):
            pieces = [" ".join(pair) for pair in zip(_NUMBERS, line.figures, strict=True)]
        yield from (Text(row, line.style) for row in packed(pieces, width))


def packed(pieces: list[str], width: int) -> list[str]:
    """Indented rows of pieces, none of which is parted."""
    glued = "  ".join(piece.replace(" ", "\0") for piece in pieces)
    rows = textwrap.wrap(
        glued, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    return [row.replace("\0", " ") for row in rows]


def _family(bench: str) -> str:
    return bench.partition(".")[0]


def _told(run: Run) -> Iterator[RenderableType]:
    """What the results tell beside numbers."""
    for result, label in zip(run.results, labels(run), strict=True):
        for told in result.tables:
            title = Text(f"\n{result.bench} {label}".rstrip() + f": {told.title}", "bold cyan")
            if len(told.rows) > _LONG:
                yield title.append(f": {count(len(told.rows))} rows, in the report and --json")
                continue
            yield title
            table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
            for name in told.columns:
                table.add_column(Text(name), overflow="fold")
            for row in told.rows:
                table.add_row(*map(Text, row))
            yield table


def _footnotes(run: Run) -> Iterator[Text]:
    loads = sorted({r.load for r in measured(run)} or {r.load for r in run.results})
    what = " and ".join([*counted_units(run)] or ["times"]).capitalize()
    measured_by = tool(run)
    net = f"as {measured_by} told them" if measured_by else "net of the clock's overhead"
    yield Text(f"\n{what} are {net}.  Load: {', '.join(loads)}.", style="dim")
    for result, label in zip(run.results, labels(run), strict=True):
        name = f"{result.bench} {label}".rstrip()
        if result.status != "ok":
            yield Text.assemble((f"{result.status} ", "red"), f"{name}: {result.reason}")
        if (known := reached(result)) and result.status == "ok":
            yield Text(f"{name}: {known}")
        # Counts of what went wrong: worth a line only if it did.
        facts = {key: fact for key, fact in result.figures.items() if fact.value != 0}
        if facts:
            items = (f"{key} {figure(fact.value, fact.unit)}" for key, fact in facts.items())
            yield Text(f"{name}: {', '.join(items)}")
    for line in load_lines(run):
        yield Text(line)
    yield from map(Text, load_effects(run))
    for growth in growths(run):
        yield Text(f"{growth.name}: {growth.rate} ({growth.interval}), {growth.verdict}")
    occurring = {name for result in run.results for name in result.flags}
    for flag in BY_NAME.values():
        if flag.name in occurring:
            yield Text.assemble((flag.name, "yellow"), f": {flag.cause}; {flag.advice}")
    for note in run.notes:
        yield Text(f"note: {note}")
