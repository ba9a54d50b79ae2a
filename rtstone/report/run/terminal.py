"""A run on the terminal: its summary with the table of results, and its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rtstone.assemble.flags import BY_NAME
from rtstone.documents.imported import tool
from rtstone.documents.run import Distribution, Result, Run, Value
from rtstone.printable import shown
from rtstone.report.parts.console import figure, packed, plain_table
from rtstone.report.parts.shapes import correction
from rtstone.report.parts.words import (
    OBSERVED,
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
from rtstone.report.run.loads import load_effects
from rtstone.statistics import COLUMNS
from rtstone.stats.evaluate import RunEvaluation
from rtstone.units import count

_ROOMY = 120  # least width of a table with a column for everything
_BENCH = 16  # least width of a column with the name of a bench
_NUMBERS = ("n", *COLUMNS.values())
_LONG = 100  # rows of a table shown on a terminal


def summary(evaluated: RunEvaluation, width: int) -> Iterator[RenderableType]:
    """Yield the parts of a run's summary.

    On a narrow terminal everything but the figures shares one column; if even that would truncate
    a number, each result is a block of lines.
    """
    run = evaluated.run
    yield from _head(run)
    yield from _answer(evaluated)
    lines = list(_lines(run))
    gaps = [gap for gap in (2, 1) if width >= max(_ROOMY, _needs(lines, _others(lines, gap), gap))]
    if gaps:
        yield _table(lines, gaps[0])
    elif width >= _needs(lines, _BENCH, gap=1):
        yield _narrow_table(lines)
    else:
        yield from _blocks(lines, width)
    yield from _footnotes(evaluated)
    yield from _told(run)


def stored(place: Path, name: str) -> Iterator[Text]:
    """Yield where a run is stored, and how to make a page of it; ``name``: on a command line."""
    yield Text(f"stored in {shown(str(place))}", style="dim")
    yield Text(f"a page of it: rtstone report {name} -o report.html", style="dim")


_TOLD = {"title", "label", "model", "system"}  # keys of a target's detail that are shown elsewhere


def conditions(run: Run) -> Table:
    """Return everything known about the circumstances of a run."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    facts: dict[str, Value] = {
        "run": run.run_id,
        **({"name": run.name} if run.name else {}),
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
    if run.interrupted:
        yield Text(str(run.reason).capitalize(), style="bold yellow")
    elif run.status != "complete":
        yield Text(f"INCOMPLETE: {run.reason}", style="bold red")


_GRADES = {"bad": "bold red", "note": "bold", "good": "bold green", "info": "bold"}


def _answer(evaluated: RunEvaluation) -> Iterator[Text]:
    """Yield the verdict, its basis, and the worst findings."""
    told = answer(evaluated)
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
    """Return what was measured, after the run's name; a model is named as such first."""
    name = [run.name] if run.name else []
    if model(run):
        return [*name, str(system(run)), run.target.name]
    parts = [part for part in (*name, run.target.name, emulated(run)) if part]
    if run.agent:
        parts.append(f"{run.agent.os} {run.agent.arch}")
    elif measured_by := tool(run):
        parts += [part for part in (measured_by, system(run)) if part]
    if cpu := run.conditions.get("cpu.model"):
        parts.append(str(cpu))
    return parts


class _Line(NamedTuple):
    """A line of the table; ``figures``: n and the statistics, or a status alone."""

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
            told = "not begun" if result.not_begun else result.status
            style = {"ok": "", "unsupported": "dim", "not begun": "dim"}.get(told, "red")
            yield _Line(result.bench, label, [told], flags=flags, style=style)
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
    return [count(of.n), *(figure(getattr(of, member), unit) for member in COLUMNS)]


def _needs(lines: list[_Line], others: int, gap: int) -> int:
    """Return the width of a terminal in which no number of a table is truncated.

    Rich only knows the minimum width of words, and `1.20 µs` is two.  ``others``: width of the
    columns that are no figures.  ``gap``: blanks before each figure.
    """
    rows = [_NUMBERS, *(line.figures for line in lines if len(line.figures) == len(_NUMBERS))]
    return others + sum(gap + max(map(len, column)) for column in zip(*rows, strict=True))


def _others(lines: list[_Line], gap: int) -> int:
    """Return the width of the other columns of a roomy table, without breaking words."""
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
    table = plain_table(gap)
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
    table = plain_table(1)
    table.add_column("bench", overflow="fold", min_width=_BENCH)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(_where(line), *_cells(line))
    return table


def _where(line: _Line) -> Text:
    """Return everything but the figures in one text."""
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


def _family(bench: str) -> str:
    return bench.partition(".")[0]


def _told(run: Run) -> Iterator[RenderableType]:
    """Yield what the results say beside numbers."""
    for result, label in zip(run.results, labels(run), strict=True):
        for told in result.tables:
            title = Text(f"\n{result.bench} {label}".rstrip() + f": {told.title}", "bold cyan")
            if len(told.rows) > _LONG:
                yield title.append(f": {count(len(told.rows))} rows, in the report and --json")
                continue
            yield title
            table = plain_table()
            for name in told.columns:
                table.add_column(Text(name), overflow="fold")
            for row in told.rows:
                table.add_row(*map(Text, row))
            yield table


def _footnotes(evaluated: RunEvaluation) -> Iterator[Text]:
    run = evaluated.run
    loads = sorted({r.load for r in measured(run)} or {r.load for r in run.results})
    what = " and ".join([*counted_units(run)] or ["times"]).capitalize()
    measured_by = tool(run)
    net = f"as reported by {measured_by}" if measured_by else "net of the clock's overhead"
    yield Text(f"\n{what} are {net}.  Load: {', '.join(loads)}.", style="dim")
    for result, label in zip(run.results, labels(run), strict=True):
        name = f"{result.bench} {label}".rstrip()
        if result.status != "ok" and not result.not_begun:
            yield Text.assemble((f"{result.status} ", "red"), f"{name}: {result.reason}")
        if (known := reached(result)) and result.status == "ok":
            yield Text(f"{name}: {known}")
        # Counts of what went wrong, shown only if not zero.
        facts = {key: fact for key, fact in result.figures.items() if fact.value != 0}
        if facts:
            items = (f"{key} {figure(fact.value, fact.unit)}" for key, fact in facts.items())
            yield Text(f"{name}: {', '.join(items)}")
    for line in load_lines(run):
        yield Text(line)
    yield from map(Text, load_effects(evaluated))
    for growth in growths(run):
        yield Text(f"{growth.name}: {growth.rate} ({growth.interval}), {growth.verdict}")
    occurring = {name for result in run.results for name in result.flags}
    for flag in BY_NAME.values():
        if flag.name in occurring:
            yield Text.assemble((flag.name, "yellow"), f": {flag.cause}; {flag.advice}")
    for note in run.notes:
        yield Text(f"note: {note}")
