"""The table of a run's results on the terminal."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise, product
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rtstone.documents.case_name import CaseName, result_names
from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import Distribution, Result, Run
from rtstone.report.parts.console import figure, folded, packed, plain_table
from rtstone.report.parts.shapes import correction
from rtstone.report.parts.words import OBSERVED, observed
from rtstone.summary import COLUMNS
from rtstone.units import count

ALIKE = 3  # rows of a bench that differ in nothing but their names are one row from here on
_NAMES = ("bench", "parameters")
FIGURES = ("n", *COLUMNS.values(), OBSERVED, "missed")
_LAST = ("min", "p99", "flags", "missed", "p99.9")
_REST = tuple(name for name in COLUMNS.values() if name not in {"p50", "max", *_LAST})
_DROPPED = (*_REST, *_LAST)  # first to last, if narrow
_PART = 3  # rows of a family of benches that is set off by a blank line
_FOLDS = (2, 9)  # most lines that parameters take, the more only if columns are not enough
_GAPS = (2, 1)  # blanks between columns, depending on room


class Row(NamedTuple):
    """A row of the table by column: its names, its figures as text, and its flags."""

    bench: str
    label: str
    name: CaseName
    figures: dict[str, str]
    flags: str = ""


def table(run: Run, width: int) -> Iterator[RenderableType]:
    """Yield the results that have samples, and which columns there was no room for.

    Columns are dropped in a fixed order until no number is cut and no word is broken; n and time
    are not, as no maximum is given without them.  If even the last ones do not fit, each result is
    a block of lines.
    """
    groups = groupby(rows(run), lambda line: line.bench)
    lines = [line for _, group in groups for line in _folded(list(group))]
    if not lines:
        return
    used = [name for name in FIGURES if any(line.figures.get(name, "-") != "-" for line in lines)]
    used += ["flags"] if any(line.flags for line in lines) else []
    order = [name for name in _DROPPED if name in used]
    bench = max(map(len, ["bench", *(line.bench for line in lines)]))
    for folds, dropped, gap in product(_FOLDS, range(len(order) + 1), _GAPS):
        names = [name for name in used if name not in order[:dropped]]
        first = _label_width(lines, folds)
        # Rich only knows the minimum width of words, and `1.20 µs` is two.
        widths = [bench, first, *(_width(lines, name) for name in names)]
        spare = width - sum(widths) - gap * (len(widths) - 1)
        if spare >= 0:
            yield _table(lines, first + spare, names, gap, spare)
            if dropped:
                columns = ", ".join(order[:dropped])
                yield Text(f"no room for {columns}; in --json and the report", style="dim")
            return
    for line in lines:
        comma = ", " if line.label.startswith("load ") else " "  # as in the whole name
        yield Text.assemble((line.bench, "bold cyan"), f"{comma}{line.label}".rstrip())
        pieces = [f"{name} {value}" for name, value in line.figures.items()]
        yield from (Text(row) for row in packed([*pieces, *line.flags.split()], width))


def rows(run: Run) -> list[Row]:
    """Return a row for each result that has samples, and for what is computed beside it."""
    return [
        line for r, name in zip(run.results, result_names(run), strict=True) if r.n
        for line in _lines(r, name)
    ]  # fmt: skip


def _lines(result: Result, name: CaseName) -> Iterator[Row]:
    state = ["not begun" if result.not_begun else result.status] if result.status != "ok" else []
    bucket = bucket_ns([result])
    figures = _figures(result, result.unit, bucket) | {OBSERVED: observed(result) or "-"}
    if result.missed is not None:
        figures["missed"] = count(result.missed)
    yield Row(result.bench, name.label, name, figures, " ".join(state + result.flags))
    for word, other in (("corrected", correction(result)), ("single calls", result.single)):
        if other:
            figures = _figures(other, result.unit, bucket)
            yield Row(result.bench, ", ".join(filter(None, (name.label, word))), name, figures)


def _figures(samples: Result | Distribution, unit: str, bucket: float) -> dict[str, str]:
    """Return n and the statistics as text, by the names of their columns."""
    statistics = {name: getattr(samples, member) for member, name in COLUMNS.items()}
    return {"n": count(samples.n)} | {
        name: figure(value, unit, bucket) for name, value in statistics.items()
    }


def _folded(lines: list[Row]) -> Iterator[Row]:
    """Yield the lines of a bench, many that say the same as one."""
    alike: dict[tuple[str, ...], list[Row]] = {}
    for line in lines:
        alike.setdefault(_essence(line), []).append(line)
    for line in lines:
        same = alike[_essence(line)]
        if len(same) < ALIKE:
            yield line
        elif line is same[0]:
            times = {other.figures.get(OBSERVED) for other in same}
            figures = line.figures | ({OBSERVED: "various"} if len(times) > 1 else {})
            yield line._replace(
                label=f"{len(same)} alike, by {varied(line.name for line in same)}",
                figures=figures,
            )


def _essence(line: Row) -> tuple[str, ...]:
    """Return what lines that say the same have in common."""
    return (*(value for name, value in line.figures.items() if name != OBSERVED), line.flags)


def varied(names: Iterable[CaseName]) -> str:
    """Return in which parameters cases of one bench differ, and whether in their loads."""
    values: dict[str, set[str]] = {}
    for name in names:
        for assignment in name.params.split():
            values.setdefault(assignment.partition("=")[0], set()).add(assignment)
        values.setdefault("load", set()).add(name.load)
    return " ".join(name for name, texts in values.items() if len(texts) > 1)


def _width(lines: Sequence[Row], name: str) -> int:
    if name == "flags":
        return max(len(name), _longest_word(line.flags for line in lines))
    return max(map(len, [name, *(line.figures.get(name, "") for line in lines)]))


def _label_width(lines: Sequence[Row], folds: int) -> int:
    """Return the width at which no word is broken and parameters take so many lines at most."""
    widest = max(len(line.label) for line in lines)
    widths = range(_longest_word(line.label for line in lines), widest)

    def fits(width: int) -> bool:  # and so does any wider one
        return all(len(folded(line.label, width)) <= folds for line in lines)

    place = bisect_left(widths, True, key=fits)
    return widths[place] if place < len(widths) else max(widest, len(_NAMES[1]))


def _longest_word(texts: Iterator[str]) -> int:
    return max([len(_NAMES[1]), *(len(word) for text in texts for word in text.split())])


def _table(lines: Sequence[Row], first: int, names: Sequence[str], gap: int, spare: int) -> Table:
    """Return the table; rich would take the width of one folded column from the other.

    ``first``: most width of the parameters.  ``spare``: what they do not need goes to the flags.
    """
    table = plain_table(gap)
    table.add_column("bench", no_wrap=True, style="bold cyan")
    label = min(first, max(len(text) for text in (_NAMES[1], *(line.label for line in lines))))
    table.add_column("parameters", overflow="fold", width=label)
    for name in names:
        if name != "flags":
            table.add_column(name, justify="right", no_wrap=True, min_width=_width(lines, name))
    if "flags" in names:
        room = _width(lines, "flags") + min(spare, first - label)
        table.add_column("flags", overflow="fold", style="yellow", max_width=room)
    # A blank line sets off a family of benches from another, if either is of some length.
    families = [len(list(g)) for _, g in groupby(lines, lambda line: line.bench.partition(".")[0])]
    begins = {
        at for at, pair in zip(accumulate(families), pairwise(families), strict=False)
        if max(pair) >= _PART
    }  # fmt: skip
    bench = ""
    for place, line in enumerate(lines):
        if place in begins:
            table.add_row()
        cells = [Text(line.figures.get(name, "")) for name in names if name != "flags"]
        cells += [Text(line.flags)] if "flags" in names else []
        table.add_row("" if line.bench == bench else line.bench, Text(line.label), *cells)
        bench = line.bench
    return table
