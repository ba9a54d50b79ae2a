"""What the tables of LaTeX have in their cells: numbers in one unit for all, and footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from rtstone import __version__
from rtstone.documents.case_name import CaseName, setting
from rtstone.documents.plan import NONE
from rtstone.documents.run import NO_REASON, Value
from rtstone.report.parts.model import Cell
from rtstone.results.flags import BY_NAME
from rtstone.units import SYMBOLS, count, split, trimmed
from rtstone.wire.records import Bench

PERIOD = "period"  # the parameter that no reader of a paper knows the default of
INSTRUCTIONS = "instructions"
_UNIT = re.compile(r"(?<=\d)[a-z]+$")  # of a value as users write it, without a blank
_THIN = "\u202f"  # a blank within a number
_US = 1e3  # ns
_EXACT = {INSTRUCTIONS: "Numbers are instructions.", "ns": "Times are in \xb5s."}


def whole(n: float) -> str:
    """Return a whole number with its digits in groups of three."""
    return count(n).replace(" ", _THIN)


def number(value: float | None, unit: str, bucket: float = 0.0) -> str:
    """Return a value in µs, in instructions, or in its unit, which the table names once.

    ``bucket``: the width of the buckets of another tool, of which the first begins at 0.
    """
    if value is None:
        return "-"
    if value == 0 and bucket:
        return f"<{trimmed(bucket / _US, '')}".rstrip()
    if not isfinite(value):
        return str(value)
    if unit == INSTRUCTIONS:
        return whole(value) if value == int(value) else split(value, "")[0]
    return split(value / _US if unit == "ns" else value, "")[0]


def units(names: Iterable[str]) -> str:
    """Return the sentence of a caption on the units of times and instructions, if there are any."""
    used = set(names)
    return " ".join(text for unit, text in _EXACT.items() if unit in used)


def named(text: str, unit: str) -> str:
    """Return the name of a row with its unit, unless the caption says it: ``rate (B/s)``."""
    return text if unit in _EXACT or not unit else f"{text} ({unit})"


def circumstances(
    cases: Iterable[tuple[CaseName, Mapping[str, Value]]], tables: Iterable[Bench]
) -> str:
    """Return the sentences of a caption on what names of cases leave out: periods and loads.

    ``cases``: their names, with the parameters.  ``tables``: of their benches.
    """
    by_id = {table.id: table for table in tables}
    periods: dict[str, list[str]] = {}
    loads: dict[str, None] = {}
    for name, params in cases:
        loads[name.load] = None
        table = by_id.get(name.bench)
        if table and table.param(PERIOD) and PERIOD in params and f"{PERIOD}=" not in name.params:
            value = _UNIT.sub(_spaced, setting(table, PERIOD, params[PERIOD]))
            benches = periods.setdefault(value, [])
            benches += [] if name.bench in benches else [name.bench]
    sentences = [f"{PERIOD.title()} of {', '.join(b)}: {value}." for value, b in periods.items()]
    if NONE in loads:
        sentences.append(f"Without load{'' if len(loads) == 1 else ' where none is named'}.")
    elif len(loads) == 1:
        sentences.append(f"Under load {next(iter(loads))}.")
    return " ".join(sentences)


def _spaced(unit: re.Match[str]) -> str:
    return f" {SYMBOLS.get(unit[0], unit[0])}"


class Footnotes:
    """The footnotes of a table: reasons why a result is not valid, and its flags, in words."""

    def __init__(self, flags: Sequence[Sequence[str]]) -> None:
        """Take the flags of each result: those that all have are in a sentence instead."""
        sets = [set(each) for each in flags]
        self._shared = [name for name in BY_NAME if sets and all(name in each for each in sets)]
        self.texts: list[str] = []

    @property
    def shared(self) -> str:
        """The sentence of a caption on the flags that all results have; empty without any."""
        causes = "; ".join(BY_NAME[name].cause for name in self._shared)
        return f"Of all rows: {causes}." if causes else ""

    def marked(self, text: str, status: str, reason: str | None, flags: Iterable[str]) -> Cell:
        """Return a cell with the marks of what there is to know about its result."""
        notes = [] if status == "ok" else [f"{status}: {reason or NO_REASON}"]
        notes += [
            BY_NAME[name].cause if name in BY_NAME else name
            for name in flags
            if name not in self._shared
        ]
        for note in notes:
            self.texts += [] if note in self.texts else [note]
        return Cell(text, marks=[self.texts.index(note) + 1 for note in notes])


def comments(lines: Iterable[str], missing: Iterable[str], command: str) -> list[str]:
    """Return what a file says of its origin: these lines, the version, and what has the rest.

    ``missing``: names of the numbers that the table leaves out; ``command``: prints them.
    """
    rest = ", ".join(missing)
    left_out = [f"not in the table: {rest}; {command}"] if rest else []
    return [*lines, f"rtstone {__version__}", *left_out]
