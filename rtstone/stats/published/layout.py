"""Layouts of a publication's tables and figures, and the results to fill in.

There is one TOML file per source.  ``printed`` selects numbers of published.json by their members,
combined from table, column and item; ``here`` selects results of a run, and what to show of them,
in the same way.  A place without ``here`` needs a reason in ``lacks``, one without ``printed`` a
reason in ``unprinted``, so that no place is empty without explanation.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from rtstone import resources, structures, toml
from rtstone.documents.explanation import Kind
from rtstone.documents.reproduction import Printed
from rtstone.errors import UsageError, unknown
from rtstone.stats.published import find, sources
from rtstone.summary import NAMES


class Show(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to show of results other than a statistic: one of these members is set.

    ``figure``: the first of these figures that exists.  ``table`` and ``column``: a field of one of
    their tables, in the row that matches ``where``; with ``all``, which of these rows have "yes".
    ``param``: the values of a parameter.  ``part``: the rates of a part of the load.  ``fact``: the
    first known one of these conditions of the run; of its clock "clock", "clock.step" and
    "clock.overhead".  ``slope``: of the line through these results,
    how much each unit adds, its 95% interval, or how it grows.  ``breakdown``: of an experiment of
    Hartstone, measured, simulated under a policy, or the gap between both (stats/breakdowns.py).
    ``entered``: whether the timed call enters the kernel.  ``interval``: the
    95% interval of this statistic, of a single result.  ``traced``: how long these kinds of parts
    took together, of the samples that a traced run has kept: their median, with ``most`` the most.
    """

    figure: list[str] = []
    table: str | None = None
    column: str = ""
    where: dict[str, str] = {}
    all: list[str] = []
    param: str | None = None
    part: str | None = None
    fact: list[str] = []
    slope: Literal["slope", "interval", "growth"] | None = None
    entered: bool = False
    interval: str = ""
    breakdown: Literal["measured", "rm", "edf", "gap"] | None = None
    traced: list[Kind] = []
    most: bool = False

    @property
    def is_simulated(self) -> bool:
        """Whether nothing of it was measured."""
        return self.breakdown in {"rm", "edf"}


class Here(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of results of a run; empty members are inherited from the wider selection.

    ``show``: what to show; a name is a statistic of all samples of the results.
    """

    bench: str = ""
    params: dict[str, str | bool] = {}
    load: str = ""
    series: str | None = None
    show: list[str | Show] = []

    def within(self, wider: Here) -> Here:
        """Return this selection, completed from the wider one."""
        return Here(
            bench=self.bench or wider.bench,
            params={**wider.params, **self.params},
            load=self.load or wider.load,
            series=wider.series if self.series is None else self.series,
            show=self.show or wider.show,
        )


class Axis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published column, or a variant of today's columns (a configuration, say)."""

    label: str
    printed: dict[str, str] = {}
    here: Here = Here()


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is shown of every system: a row if systems are columns, else a column.

    ``unit``: if not the table's.  ``at``: its value on the axis of a curve.  ``lacks``: why there
    is no number of today.  ``unprinted``: why there is no published one.  ``computed``: what is
    computed instead from the published numbers of the items above it: of all their sum and their
    number, of those with ``at`` the slope.  ``unmodelled``: why the models derived from the
    publication know nothing of it, so that what they count is not shown.
    """

    label: str
    printed: dict[str, str] | None = None
    here: Here | None = None
    unit: str | None = None
    at: float | None = None
    lacks: str = ""
    unprinted: str = ""
    computed: Literal["sum", "count", "slope"] | None = None
    unmodelled: str = ""
    notes: list[str] = []


class Draw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure: drawn from the numbers of the table, or from the results behind it.

    ``value``: index of the drawn number in a cell.  ``over``: the axis of a curve.  ``slowest``:
    False leaves the slowest system out of a figure over time.
    """

    kind: Literal["bars", "curves", "trace", "deadlines", "lateness"]
    title: str
    value: int = 0
    over: str = ""
    slowest: bool = True


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or a figure of the publication.

    ``id``: its name in published.json.  ``stub``: the heading of its items.  ``unit``: of all
    numbers without their own.  ``form``: the meaning of a cell's numbers.  ``said``: selects what
    the publication states in words.  ``listed``: the title of a table of texts of the results that
    ``here`` selects, which is shown whole for each of today's systems; ``guarantee``: in its place,
    the guarantee that their runs allow.  ``only``: the kind of systems that can have its numbers;
    columns of the other kind are left out, and the table if there is no other.
    """

    id: str
    title: str
    item: list[Item] = []
    stub: str = ""
    unit: str | None = None
    form: str = ""
    systems: Literal["rows", "columns"] = "columns"
    printed: dict[str, str] = {}
    here: Here = Here()
    column: list[Axis] = []
    variant: list[Axis] = []
    said: list[dict[str, str]] = []
    lacks: str = ""
    unprinted: str = ""
    notes: list[str] = []
    draw: list[Draw] = []
    listed: str = ""
    guarantee: bool = False
    only: Literal["posix", "rtos"] | None = None

    def records(self, source: str, *wanted: dict[str, str]) -> list[Printed]:
        """Return the published numbers that this table and these places select."""
        merged = {"table": self.id, **self.printed}
        for place in wanted:
            merged |= place
        return find(source=source, **merged)

    def columns(self, source: str) -> list[Axis]:
        """Return the published columns: as written, or one for each system of the numbers."""
        if self.column:
            return self.column
        picked = [r for item in self.item if item.printed is not None
                  for r in self.records(source, item.printed)]  # fmt: skip
        return [
            Axis(label=name, printed={"system": name})
            for name in dict.fromkeys(r.system for r in picked)
        ]


class Number(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number that decides a statement.

    ``here``: results, and the statistic or figure of them; of two statistics the ratio.
    ``against``: what it is divided by, completed from ``here``.  ``printed``, ``printed_against``:
    the published counterparts.  ``at``: of a growth, the place of the printed number.
    """

    here: Here = Here()
    against: Here | None = None
    printed: dict[str, str] | None = None
    printed_against: dict[str, str] | None = None
    at: float | None = None


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement of the prose, and the numbers that decide it.

    ``words``: the author's, in short; empty: as in the record that ``said`` selects.  ``rule``:
    what the numbers are.  "value": statistics or figures in ``unit``; "ratio": of two; "growth":
    by the slope, how many times as much the most of the parameter takes as the least; "systems":
    the ratio of a system that is not Linux to one that is.  It holds if each number, or any, is at
    least ``least`` and at most ``most`` (``scope``).  ``about``: the only kind of system that is
    judged.  ``lacks``: why no number decides.
    """

    words: str = ""
    table: str
    said: list[dict[str, str]] = []
    about: Literal["", "Linux", "RTOS"] = ""
    rule: Literal["value", "ratio", "growth", "systems"] = "value"
    scope: Literal["each", "any"] = "each"
    meaning: str = ""
    here: Here = Here()
    number: list[Number] = []
    unit: str | None = None
    least: float | None = None
    most: float | None = None
    printed: dict[str, str] = {}
    lacks: str = ""

    def records(self, source: str) -> list[Printed]:
        """Return the published records that the statement is in."""
        return [record for said in self.said for record in find(source=source, **said)]


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The layout of a publication.

    ``suites``: to be run for it.  ``printed``: the year of publication.
    """

    title: str
    printed: str
    suites: list[str]
    table: list[Table]
    statement: list[Statement] = []
    notes: list[str] = []

    @property
    def traced(self) -> bool:
        """Whether it has numbers of traced samples."""
        shows = (
            show
            for table in self.table
            for item in table.item
            if item.here
            for show in item.here.within(table.here).show
        )
        return any(isinstance(show, Show) and show.traced for show in shows)


def unmodelled(source: str) -> list[tuple[Here, str]]:
    """Return what the models derived from a publication know nothing of, and why."""
    return [
        (item.here.within(table.here), item.unmodelled)
        for table in layout(source).table
        for item in table.item
        if item.unmodelled and item.here
    ]


def names() -> list[str]:
    """Return the publications that can be reproduced."""
    return list(resources.tables("stats/published"))


@cache
def layout(source: str) -> Layout:
    """Return the layout of a publication.  Raises UsageError for an unknown one."""
    layouts = resources.tables("stats/published")
    if source not in layouts:
        raise unknown("publication", source, layouts)
    return read(source, layouts[source])


def read(source: str, path: Path) -> Layout:
    """Read a layout.

    Raises UsageError if it selects nothing, or leaves a place empty without a reason.
    """
    try:
        layout_ = structures.convert(toml.read(path, "layout"), Layout)
    except msgspec.ValidationError as error:
        raise UsageError(f"not a layout, {path}: {error}") from error
    for table in layout_.table:
        heres = [
            table.here,
            *(a.here for a in table.variant),
            *(i.here for i in table.item if i.here),
        ]
        for name in (show for here in heres for show in here.show if isinstance(show, str)):
            if name not in NAMES:
                raise unknown("statistic", name, NAMES, f"in {path}, {table.title}")
        faults = []
        for item in table.item:
            if not (item.here is not None or item.lacks or table.lacks):
                faults.append(f"'{item.label}' has nothing of this system; write here or lacks")
            if item.printed is None and not (item.unprinted or table.unprinted):
                faults.append(f"'{item.label}' has nothing printed; write printed or unprinted")
            if item.printed is not None and not table.records(source, item.printed):
                faults.append(f"'{item.label}' picks no published number; mend printed")
        faults += [
            f"said {said} picks no statement"
            for said in table.said
            if not table.records(source, said)
        ]
        faults += [
            f"column '{axis.label}' picks no published number"
            for axis in table.column
            if not table.records(source, axis.printed)
        ]
        if faults:
            raise UsageError(f"a place that is not explained, {path}: {table.title}, {faults[0]}")
    for statement in layout_.statement:
        if fault := _fault(source, statement):
            raise UsageError(f"a statement without a rule, {path}: '{statement.words}' {fault}")
    return layout_


def _fault(source: str, statement: Statement) -> str:
    """Return what a statement lacks to be judged, and what to write; empty if nothing."""
    shows = [number.here.show or statement.here.show for number in statement.number]
    names = [show for several in shows for show in several if isinstance(show, str)]
    for said in statement.said:
        if not find(source, **said):
            return f"picks no published record by {said}; mend said"
    for number in statement.number:
        if number.printed and not find(source, **(statement.printed | number.printed)):
            return f"picks no published number by {number.printed}; mend printed"
    if unknown_names := [name for name in names if name not in NAMES]:
        return f"has the unknown statistic '{unknown_names[0]}'; mend show"
    if statement.lacks:
        return ""
    if not statement.meaning or not shows or not all(shows):
        return "has no number; write number with show and meaning, or lacks"
    if statement.least is None and statement.most is None:
        return "has no limit; write least or most"
    return ""


def publication(source: str) -> str:
    """Return the citation of a publication."""
    return sources()[source].text


def platform(source: str) -> str:
    """Return what the author of a publication measured on."""
    return sources()[source].platform
