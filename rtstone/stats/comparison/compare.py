"""Compare runs side by side: the same cases of several systems as rows of one table."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, cast

from msgspec import structs

from rtstone.documents.capacity import KIND, named
from rtstone.documents.case_key import KEEPING, MEASURING, hashable, may_be, measured_apart
from rtstone.documents.case_name import setting
from rtstone.documents.comparison import Cell, Comparison, Difference, Row
from rtstone.documents.imported import NO_LOAD_KNOWN, bucket_ns, tool
from rtstone.documents.run import GRAVITY, NO_REASON, Result, Run, Value
from rtstone.errors import UsageError
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled, section_s
from rtstone.stats.comparison.axes import axes
from rtstone.stats.comparison.conditions import (
    circumstances,
    differing,
    free,
    in_order,
    incompatibility,
    mixed,
    unit,
    value,
)
from rtstone.stats.comparison.judgement import Content, Judge
from rtstone.stats.comparison.main_case import main_cases, wakeups
from rtstone.stats.comparison.scatter import Past, scatter
from rtstone.stats.comparison.systems import System, session, systems
from rtstone.summary import COLUMNS, LABELS
from rtstone.units import count, quantity
from rtstone.wire.records import Bench


class _Key(NamedTuple):
    """The identity of a row; ``params``: (name, value) in the order of the bench."""

    bench: str
    params: tuple[tuple[str, Value], ...]
    series: str
    figure: str | None
    load: str
    unit: str


class _Place(NamedTuple):
    """A result, and the column and run that it is from."""

    column: int
    run: int  # index among the column's runs
    result: Result


def compare(
    named: Sequence[Run | Sequence[Run]], floor: Sequence[Run] = (), past: Past | None = None
) -> Comparison:
    """Return the comparison of two systems or more, with verdicts.

    Several runs of one system are given as a list.  ``floor``: runs of one system that show how far
    single runs scatter.  Without it, those that ``past`` returns do, if they are of the same target
    under the same conditions.  Raises UsageError if the runs cannot be compared.
    """
    return compare_with_results(named, floor, past)[0]


def compare_with_results(
    named: Sequence[Run | Sequence[Run]], floor: Sequence[Run] = (), past: Past | None = None
) -> tuple[Comparison, list[list[list[Result]]]]:
    """Return the comparison, and the results behind each row by column.  Raises UsageError."""
    runs = [run for column in named for run in ([column] if isinstance(column, Run) else column)]
    ids = [run.run_id for run in (*runs, *floor)]
    if len(ids) < 2:
        alone = next(iter(runs), None)
        beside = alone and len(alone.results) > 1
        name = shlex.quote(alone.name or alone.run_id) if alone else ""
        raise UsageError(
            "one run has nothing to compare with; name two or more"
            + (f" (`rtstone show {name}` has its own cases below each other)" if beside else "")
        )
    for place, name in enumerate(ids):
        if name in ids[:place]:
            raise UsageError(f"run named twice, {name}; name two that differ")
    columns = systems(named)
    if len(columns) == 1:
        label, runs = columns[0]
        if interleaved := session(runs):
            raise UsageError(f"no pair of runs in the session, {interleaved}; measure it again")
        raise UsageError(
            f"only one system, {label}, in {len(runs)} runs that differ in the seed; "
            "name a run of another"
        )
    if why := incompatibility(columns):
        raise UsageError(why)
    for system in columns:
        if len(system.runs) > 1 and not session(system.runs) and (why := mixed(system.runs)):
            raise UsageError(f"not one system, {system.label}: {why}; name its runs separately")
    table = _Table(columns)
    if not any(sum(cell is not None for cell in row.cells) > 1 for row in table.rows):
        raise UsageError(_apart(table, columns))
    equal, differences = circumstances(columns)
    if not any(difference.aspect == KIND for difference in differences):
        differences = table.kinds() + differences
    stored = scatter(columns, past) if past and not floor else []
    contents = table.contents(floor or stored)
    woken = wakeups(contents)
    pools = [pair.pool for pair in woken if pair.pool]
    effects, spreads, rules = Judge(columns, floor, stored).verdicts(contents, pools)
    pooled = [effects[-number] for number, _ in enumerate(pools, 1)]
    rows = [
        structs.replace(row, effects=effects.get(n, []), spreads=spreads.get(n, []))
        for n, row in enumerate(table.rows)
    ]
    behind = [[list(chain(*runs)) for runs in content.columns] for content in contents]
    remarks = []
    if loose := [system.label for system in columns if free(system.first)]:
        remarks.append(
            f"{', '.join(loose)}: the emulator ran freely (icount off), so these are times of the "
            "host, which never repeat; not comparable"
        )
    for system in columns:
        remarks += [f"{system.label} is incomplete: {why}" for why in system.column().reasons]
    comparison = Comparison(
        columns=[system.column() for system in columns],
        units=list(dict.fromkeys(text for run in runs if (text := unit(run)))),
        equal=equal,
        differences=in_order(differences + table.differences),
        remarks=remarks,
        rows=rows,
        rules=rules,
        main=main_cases([system.label for system in columns], rows, woken, pooled),
        axes=axes(rows),
        benches=[bench for bench in table.benches.values() if bench.id in table.order],
    )
    return comparison, behind


def _apart(table: _Table, apart: Sequence[System]) -> str:
    """Return why no row has two cells."""
    columns: dict[str, set[int]] = defaultdict(set)
    for row in table.rows:
        columns[row.bench] |= {place for place, cell in enumerate(row.cells) if cell}
    both = [bench for bench, places in columns.items() if len(places) > 1]
    foreign = any(tool(system.first) for system in apart)
    if not both and foreign:
        return _foreign(apart)
    if not both:
        return f"no bench in common, in {_list(apart)}; measure the same suite on each"
    if foreign and (loads := _loads_apart(apart, both[0])):
        return f"no load in common, in {_list(apart)}: {both[0]} {loads}"
    names = " ".join(shlex.quote(system.first.name or system.first.run_id) for system in apart)
    return (
        f"no case in common, in {_list(apart)}: of {both[0]} {_differing(table, apart, both[0])}; "
        f"measure the same on each, or draw both: `rtstone plot {names}`"
    )


def _differing(table: _Table, apart: Sequence[System], bench: str) -> str:
    """Return in what the cases of a bench differ: ``policy is fifo on a, other on b``."""
    own = [[r for run in system.runs for r in run.results if r.bench == bench] for system in apart]
    params = [[table.identity(result) for result in results] for results in own]
    names = dict.fromkeys(name for sides in params for each in sides for name in each)
    row = table.benches.get(bench)
    aspects = {
        name: [{setting(row, name, each.get(name)) for each in sides} for sides in params]
        for name in names
    }
    aspects |= {
        "series": [{r.series for r in results} for results in own],
        "load": [{r.load for r in results} for results in own],
    }
    texts = []
    for name, sides in aspects.items():
        if set.intersection(*sides):
            continue
        values = ", ".join(
            f"{' and '.join(sorted(values)) or 'none'} on {system.label}"
            for values, system in zip(sides, apart, strict=True)
        )
        texts.append(f"{name} is {values}")
    return "; ".join(texts) or "parameters, series or loads differ"


def _foreign(apart: Sequence[System]) -> str:
    """Return what to do with numbers of two tools: draw both, or read the worst beside each other.

    Procedures of tools differ, so that no verdict is made of a difference.
    """
    worst = [
        max((r for r in s.first.results if r.n), key=lambda r: r.max or 0.0, default=None)
        for s in apart
    ]
    benches = " and ".join(dict.fromkeys(r.bench for r in worst if r))
    text = f"no bench in common, in {_list(apart)}: tools measure by procedures of their own"
    if all(r and r.histogram for r in worst):
        runs = " ".join(shlex.quote(system.first.name or system.first.run_id) for system in apart)
        return f"{text} ({benches}); `rtstone plot {runs}` draws both"
    numbers = [
        f"{system.label}, {r.bench}, load {r.load}: {_numbers(r)}" if r else f"{system.label}: none"
        for system, r in zip(apart, worst, strict=True)
    ]
    return f"{text}; their worst, beside each other: {'; '.join(numbers)}"


def _numbers(result: Result) -> str:
    statistics = {label: getattr(result, name) for name, label in LABELS.items()}
    pieces = [
        f"{label} {quantity(v, result.unit)}" for label, v in statistics.items() if v is not None
    ]
    return ", ".join([f"n {count(result.n)}", *pieces])


def _loads_apart(apart: Sequence[System], bench: str) -> str:
    """Return which loads systems have of a bench, if one is not known, and what to do about it."""
    loads = {
        system.label: list(dict.fromkeys(
            r.load for run in system.runs for r in run.results if r.bench == bench
        ))
        for system in apart
    }  # fmt: skip
    if not any(NO_LOAD_KNOWN in names for names in loads.values()):
        return ""
    texts = [f"{' and '.join(names)} on {label}" for label, names in loads.items() if names]
    return f"under load {', '.join(texts)}; `rtstone import FILE --load NAME` names it"


def _list(columns: Iterable[System]) -> str:
    return ", ".join(system.label for system in columns)


# ---- rows ---------------------------------------------------------------------------------------


class _Table:
    """Builds the rows, and the differences in parameters between results of one row."""

    def __init__(self, columns: Sequence[System]) -> None:
        self._systems = columns
        runs = [run for system in columns for run in system.runs]
        self.benches: dict[str, Bench] = {}
        for bench in (bench for run in runs for bench in run.benches):
            # With the parameters that only another system's table of it has.
            table = self.benches.setdefault(bench.id, bench)
            names = {param.name for param in table.params}
            added = [param for param in bench.params if param.name not in names]
            if added:
                self.benches[bench.id] = structs.replace(table, params=[*table.params, *added])
        places = [
            _Place(column, number, result)
            for column, system in enumerate(columns)
            for number, run in enumerate(system.runs)
            for result in run.results
        ]
        self._telling = measured_apart(((p.column, p.run), p.result) for p in places)
        filled = [p for p in places if p.result.n or p.result.figures or p.result.missed]
        blank = [p for p in places if p.result.status != "ok" and p not in filled]
        self._rows: dict[_Key, list[_Place]] = defaultdict(list)
        for place in filled:
            for key in self._keys(place.result):
                self._rows[key].append(place)
        # Those that name more of their parameters are assigned first: they are more specific.
        for place in sorted(blank, key=lambda place: -len(place.result.params)):
            self._cover(place)
        self.order = list(dict.fromkeys(place.result.bench for place in places))
        self.differences = self._differences()
        loads = list(dict.fromkeys(place.result.load for place in places))
        cases = list(dict.fromkeys(key[:4] for key in self._rows))

        def rank(key: _Key) -> tuple[int, int, int]:
            return self.order.index(key.bench), cases.index(key[:4]), loads.index(key.load)

        self._order = sorted(self._rows, key=rank)
        self.rows = [self._row(key) for key in self._order]

    def contents(self, floor: Sequence[Run]) -> list[Content]:
        """Return the results behind each row, by column and run."""
        beside: dict[_Key, dict[int, list[Result]]] = defaultdict(lambda: defaultdict(list))
        for number, run in enumerate(floor):
            for result in run.results:
                for key in self._keys(result):
                    beside[key][number].append(result)
        contents = []
        for key, row in zip(self._order, self.rows, strict=True):
            columns: list[list[list[Result]]] = [[[] for _ in s.runs] for s in self._systems]
            for place in self._rows[key]:
                columns[place.column][place.run].append(place.result)
            contents.append(Content(row, columns, [beside[key][n] for n in range(len(floor))]))
        return contents

    def _keys(self, result: Result) -> Iterator[_Key]:
        """Yield the key of a result's row; without samples, one for each figure."""
        params = tuple(self.identity(result).items())
        if result.n or (result.missed and not result.figures):
            yield _Key(result.bench, params, result.series, None, result.load, result.unit)
            return
        for name, figure in result.figures.items():
            yield _Key(result.bench, params, result.series, name, result.load, figure.unit)

    def identity(self, result: Result) -> dict[str, Value]:
        """Return the parameters that identify a case.

        Missing ones have their default, as benches without a parameter behave like its default.  Of
        unsupported cases only the parameters that are the cause are known.
        """
        table = self.benches.get(result.bench)
        params = dict(result.params)
        if table and result.status != "unsupported":
            for param in table.params:
                params.setdefault(param.name, param.default)
        makes = self._telling[result.bench]
        names = [param.name for param in table.params if param.name in params] if table else []
        return {
            name: cast("Value", hashable(params[name]))
            for name in dict.fromkeys([*names, *sorted(params)])
            if name not in KEEPING and (name not in MEASURING or name in makes)
        }

    def _cover(self, place: _Place) -> None:
        """Assign a result without numbers to every row that it may belong to.

        It may lack some of its parameters, and its series.
        """
        result, params = place.result, self.identity(place.result)
        covered = [
            key
            for key, occupants in self._rows.items()
            if (key.bench, key.load) == (result.bench, result.load)
            and may_be(dict(key.params), params)
            and not any(
                (other.column, other.run) == (place.column, place.run) for other in occupants
            )
        ]
        bare = _Key(result.bench, tuple(params.items()), "", None, result.load, result.unit)
        for key in covered or [bare]:
            self._rows[key].append(place)

    def _row(self, key: _Key) -> Row:
        cells: list[Cell | None] = []
        for column, system in enumerate(self._systems):
            here = sorted(
                (place for place in self._rows[key] if place.column == column),
                key=lambda place: place.run,
            )
            cells.append(_cell(key, system, here) if here else None)
        return Row(
            bench=key.bench, params=dict(key.params), series=key.series, figure=key.figure,
            load=key.load, unit=key.unit, cells=cells,
        )  # fmt: skip

    def _differences(self) -> list[Difference]:
        """Return how columns were measured differently, each difference once for all benches."""
        differences = []
        for key, places in self._rows.items():
            table = self.benches.get(key.bench)
            for name, grade in MEASURING.items():
                param = table.param(name) if table else None
                seen: dict[int, dict[str, None]] = defaultdict(dict)
                for column, _, result in places:
                    if name in result.params and (result.n or result.figures):
                        seen[column][value(param, result.params[name])] = None
                values = [(self._systems[c].label, " and ".join(t)) for c, t in seen.items()]
                differences.append(differing(name, grade, values, key.bench))
        return _merged(differences)

    def kinds(self) -> list[Difference]:
        """Return the benches of which columns measured a case on different kinds of CPUs."""
        differences = []
        for key, places in self._rows.items():
            by_column: dict[int, list[_Place]] = defaultdict(list)
            for place in places:
                by_column[place.column].append(place)
            kinds = []
            for column, here in by_column.items():
                system = self._systems[column]
                names = (named(system.runs[place.run], [place.result]) for place in here)
                if kind := " or ".join(dict.fromkeys(filter(None, names))):
                    kinds.append((system.label, kind))
            differences.append(differing(KIND, "care", kinds, key.bench))
        return _merged(differences)


def _merged(differences: Iterable[Difference | None]) -> list[Difference]:
    """Return each difference once, with all its benches."""
    merged: dict[tuple[str, str], Difference] = {}
    for difference in filter(None, differences):
        key = difference.aspect, str(difference.values)
        benches = merged.get(key, difference).benches + difference.benches
        merged[key] = structs.replace(difference, benches=list(dict.fromkeys(benches)))
    return list(merged.values())


# ---- cells --------------------------------------------------------------------------------------


def _cell(key: _Key, system: System, places: Sequence[_Place]) -> Cell:
    results = [place.result for place in places]
    missing = len(system.runs) - len({place.run for place in places})
    status = max((result.status for result in results), key=GRAVITY.index)
    texts = []
    for place in places:
        if place.result.status != "ok":
            why = place.result.reason or NO_REASON
            named_run = len(system.runs) > 1 and place.result.status != "unsupported"
            texts.append(f"{system.run_label(place.run)}: {why}" if named_run else why)
    texts = list(dict.fromkeys(texts))
    if missing:
        status = max(status, "incomplete", key=GRAVITY.index)
        texts.append(f"not part of {missing} of {len(system.runs)} runs")
    cell = Cell(
        status=status,
        reason="; ".join(texts) or None,
        flags=list(dict.fromkeys(flag for result in results for flag in result.flags)),
    )
    if key.figure:
        values = [r.figures[key.figure].value for r in results if key.figure in r.figures]
        measured = [v for v in values if v is not None]
        low, high = min(measured, default=None), max(measured, default=None)
        return structs.replace(cell, runs=len(measured), min=low, max=high)
    counted = [result for result in results if result.n or result.missed]
    if not counted:
        return cell
    together = pooled([whole(result) for result in counted])
    misses = [result.missed for result in counted if result.missed is not None]
    return structs.replace(
        cell,
        runs=len(counted),
        n=sum(result.n for result in counted),
        missed=sum(misses) if len(misses) == len(counted) else None,
        corrected=any(result.missed and result.corrected for result in counted),
        **{name: getattr(together, name) for name in ("mean", *COLUMNS)},
        batched=any(result.batch > 1 for result in counted),
        section_s=section_s(counted),
        bucket_ns=bucket_ns(counted),
    )
