"""How a case is called: ``dk.periodic period=250us cpu 1, load heavy``, everywhere.

A parameter is named if it differs between the cases of its bench, or if it is no default and not
one of SELDOM_NAMED.  The load is named unless it is the usual one.  In a sentence, a list of such
names is separated by semicolons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rtstone.documents.capacity import distinguishing_kinds
from rtstone.documents.case_key import ANOTHER_RUN, differing
from rtstone.documents.plan import NONE
from rtstone.documents.run import Run, Value
from rtstone.wire.parameters import quantity
from rtstone.wire.records import Bench

# Parameters that are named only where they differ.
SELDOM_NAMED = ANOTHER_RUN | {"config", "batch", "taskset"}

Case = tuple[str, Mapping[str, Value], str, str]  # bench, parameters, series, load


class CaseName(NamedTuple):
    """The name of a case; ``params``: those to be named, as ``period=250us touch=off``.

    ``usual``: whether its load is the usual one, which need not be named.
    """

    bench: str
    params: str
    series: str
    load: str
    usual: bool

    @property
    def within_bench(self) -> str:
        """What distinguishes it within its bench, where the load is stated beside."""
        return f"{self.params} {self.series}".strip()

    @property
    def label(self) -> str:
        """What distinguishes it within its bench: ``period=250us cpu 1, load heavy``."""
        load = "" if self.usual else f"load {self.load}"
        return ", ".join(filter(None, (self.within_bench, load)))

    @property
    def without_load(self) -> str:
        """The name where the load is stated beside."""
        return f"{self.bench} {self.within_bench}".rstrip()

    @property
    def with_load(self) -> str:
        """The name where it stands alone: its load is always named."""
        return f"{self.without_load}, load {self.load}"

    def __str__(self) -> str:
        """Return the name."""
        return self.without_load if self.usual else self.with_load


def case_names(
    cases: Sequence[Case], tables: Iterable[Bench], usual: str | None = None
) -> list[CaseName]:
    """Return the names of cases, by which they can be distinguished from each other.

    ``tables``: of their benches; without its table, a bench has no defaults.  ``usual``: the load
    that need not be named, by default ``usual_load`` of these cases.
    """
    by_id = {table.id: table for table in tables}
    several = differing((bench, params) for bench, params, _, _ in cases)
    if usual is None:
        usual = usual_load(load for *_, load in cases)
    names = []
    for bench, params, series, load in cases:
        table = by_id.get(bench)
        settings = []
        for name, value in params.items():
            param = table.param(name) if table and name not in SELDOM_NAMED else None
            if (bench, name) in several or (param is not None and value != param.default):
                settings.append(f"{name}={setting(table, name, value)}")
        names.append(CaseName(bench, " ".join(settings), series, load, load == usual))
    return names


def result_names(run: Run) -> list[CaseName]:
    """Return the name of each result of a run; where kinds of CPUs differ, its series has that."""
    cases: list[Case] = [
        (r.bench, r.params, f"{r.series} ({kind})".strip() if kind else r.series, r.load)
        for r, kind in zip(run.results, distinguishing_kinds(run), strict=True)
    ]
    return case_names(cases, run.benches)


def usual_load(loads: Iterable[str]) -> str:
    """Return the load that need not be named: the only one, else "none"."""
    different = set(loads)
    return different.pop() if len(different) == 1 else NONE


def setting(table: Bench | None, name: str, value: Value) -> str:
    """Return the value of a parameter as users write it."""
    param = table.param(name) if table else None
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return quantity(param, value) if param else str(value)
