"""The cases of a run, and the selection of those that an entry of a budget names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rtstone.documents.breakdown import breakdown
from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.case_name import case_names, setting
from rtstone.documents.other_names import is_called
from rtstone.documents.run import BREAKDOWN, NO_REASON, UNREACHED, Misses, Result, Run, Value
from rtstone.errors import UsageError, nearest, unknown
from rtstone.results import pool
from rtstone.stats.budget import Entry, fits
from rtstone.wire.parameters import values
from rtstone.wire.records import Bench


class Case(NamedTuple):
    """One case under one load, with its results: several if it was run several times."""

    bench: str
    params: Mapping[str, Value]  # all; of an unsupported case only those that are the cause
    series: str
    load: str
    results: list[Result]

    @property
    def status(self) -> str | None:
        """The reason why it has no valid result, None if it has one."""
        bad = [result for result in self.results if result.status != "ok"]
        return f"{bad[0].status}: {bad[0].reason or NO_REASON}" if bad else None

    @property
    def flags(self) -> list[str]:
        """All flags, each once."""
        return list(dict.fromkeys(flag for result in self.results for flag in result.flags))

    @property
    def n(self) -> int:
        """The number of samples."""
        return sum(result.n for result in self.results)

    @property
    def unit(self) -> str:
        """The unit of its samples."""
        return self.results[0].unit

    @property
    def section_s(self) -> float | None:
        """The measured time in s; None if unknown, or in instructions."""
        return pool.section_s(self.results)

    @property
    def missed(self) -> int | None:
        """The number of activations that never happened, None if not counted."""
        counts = [result.missed for result in self.results if result.missed is not None]
        return sum(counts) if counts else None

    @property
    def required(self) -> Misses | None:
        """The misses of a limit on its activations, None if there was none."""
        return pool.closest([result.required for result in self.results])


def cases(run: Run) -> list[Case]:
    """Return the cases of a run in their order."""
    tables = {table.id: table for table in run.benches}
    cases_: dict[CaseKey, Case] = {}
    for result in run.results:
        table = tables.get(result.bench)
        params: dict[str, Value] = dict(result.params)
        if table is not None and result.status != "unsupported":
            params = {**{param.name: param.default for param in table.params}, **params}
        key = case_key(result.bench, params, result.series, result.load)
        case = Case(result.bench, params, result.series, result.load, [])
        cases_.setdefault(key, case).results.append(result)
    return list(cases_.values())


def label(case: Case, table: Bench | None, alternatives: Iterable[Case]) -> str:
    """Return the label of a case in a check's document: what differs within its bench, series.

    It is what JUnit calls a test.  Texts name more, see documents/case_name.py.
    """
    rest = [other for other in alternatives if other.bench == case.bench and other.status is None]
    words = [
        f"{name}={setting(table, name, value)}"
        for name, value in case.params.items()
        if any(name in other.params and other.params[name] != value for other in rest)
    ]
    return " ".join([*words, *([case.series] if case.series else [])])


class Matcher:
    """Selects the cases of one run that entries name."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.cases = cases(run)
        self.tables = {table.id: table for table in run.benches}

    def matching(self, entry: Entry) -> list[Case]:
        """Return the cases that an entry names.  Raises UsageError if there are none."""

        def means(bench: str, params: Mapping[str, Value] | None = None) -> bool:
            return fits(bench, entry.bench) or is_called(bench, entry.bench, params)

        benches = dict.fromkeys(case.bench for case in self.cases)
        named = [bench for bench in benches if means(bench)]
        if not named:
            raise unknown("bench", entry.bench, benches, f"of this run, in {entry.where}")
        wanted = {bench: self._wanted(entry, bench) for bench in named}
        if all(params is None for params in wanted.values()):
            names = {param.name for bench in named for param in self.tables[bench].params}
            name = next(
                (name for name in entry.params if name not in names), next(iter(entry.params))
            )
            raise unknown("parameter", name, names, f"in {entry.where}")
        matching = [
            case
            for case in self.cases
            if (params := wanted.get(case.bench)) is not None
            and means(case.bench, case.params)
            and all(
                name not in case.params
                or case.params[name] in accepted
                or str(case.params[name]) in accepted
                for name, accepted in params.items()
            )
        ]
        if not matching:
            cases = [(c.bench, c.params, c.series, c.load) for c in self.cases if c.bench in named]
            labels = [
                name.within_bench or "its defaults" for name in case_names(cases, self.run.benches)
            ]
            raise UsageError(
                f"no result of {entry.bench} has the parameters that are named, in {entry.where}; "
                f"there are: {'; '.join(dict.fromkeys(labels))}"
            )
        loads = {case.load for case in matching}
        for pattern in entry.loads:
            if not any(fits(load, pattern) for load in loads):
                raise UsageError(
                    f"no result under load '{pattern}', in {entry.where}; {nearest(pattern, loads)}"
                )
        patterns = entry.loads or ["*"]
        matching = [case for case in matching if any(fits(case.load, p) for p in patterns)]
        series = entry.series
        if series is None:
            return matching
        own = [case for case in matching if fits(case.series, series)]
        # A case that failed may be of any series.
        lost = [case for case in matching if not case.n and not case.series and case.status]
        if not own and not lost:
            raise unknown("series", series, {case.series for case in matching}, f"in {entry.where}")
        return [case for case in matching if case in own or case in lost]

    def _wanted(self, entry: Entry, bench: str) -> dict[str, list[Value]] | None:
        """Return the accepted values of each parameter, None if the bench has no such parameter.

        If the run has no table of the bench (an imported run), values are compared as text.
        """
        table = self.tables.get(bench)
        if table is None:
            return {name: [str(text)] for name, text in entry.params.items()}
        if bench != entry.bench and any(table.param(name) is None for name in entry.params):
            return None
        names = {name for case in self.cases if case.bench == bench for name in case.params}
        return {
            name: [str(text)]
            if table.param(name) is None and name in names  # of a derived bench
            else values(table, name, text, entry.where)
            for name, text in entry.params.items()
        }


def figure(case: Case | None, name: str) -> tuple[float, str] | None:
    """Return value and unit of a figure, the smallest one of several results."""
    results = case.results if case else []
    if name in (BREAKDOWN, UNREACHED):
        reached = [at for result in results if (at := breakdown(result))]
        held = [at.held for at in reached if at.broke == (name == BREAKDOWN)]
        return (min(held), "%") if held else None
    figures = [result.figures[name] for result in results if name in result.figures]
    return min(((float(f.value), f.unit) for f in figures if f.value is not None), default=None)
