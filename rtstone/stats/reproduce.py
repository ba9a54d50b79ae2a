"""Fill a publication's tables with the published numbers and those of today's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median
from typing import Literal, NamedTuple

from msgspec import structs

from rtstone.documents import reproduction
from rtstone.documents.explanation import Explanation
from rtstone.documents.plan import REDUCED, load_name
from rtstone.documents.reproduction import (
    Cell,
    Column,
    Found,
    Item,
    Listing,
    Printed,
    Reproduction,
    Shown,
    System,
    Table,
)
from rtstone.documents.run import GRAVITY, NO_REASON, Figure, Result, Run
from rtstone.errors import UsageError
from rtstone.results.derived import FLOOR
from rtstone.results.flags import TRACED
from rtstone.results.load_rates import load_place
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.results.rhealstone import PARTIAL
from rtstone.results.slope import fit
from rtstone.stats import breakdowns
from rtstone.stats.comparison import systems
from rtstone.stats.comparison.conditions import unit as unit_of
from rtstone.stats.comparison.scatter import Past
from rtstone.stats.contrasts import contrasts
from rtstone.stats.guaranteed import TITLE, guarantee_table
from rtstone.stats.published import layout, selection
from rtstone.stats.published.layout import Here, Show
from rtstone.stats.statements import statements
from rtstone.stats.worstcase.guarantee import REQUEST
from rtstone.summary import EXTREME
from rtstone.units import CLOCK, count, quantity
from rtstone.wire import parameters as benches

_PLAIN = "transcribed"  # the quality of a number that needs no remark

MOVED = 0.1  # share of the mean of the others by which one sample may raise the mean unmarked

_OF_SINGLES = {"max", *EXTREME}  # of what batches do not have, but single calls do

_ONLY = layout.Axis(label="")  # the variant of a table without variants

Place = tuple[int, int, int]  # table, item, system


class Reproduced(NamedTuple):
    """The document, and the results behind its cells for drawing figures."""

    document: Reproduction
    results: dict[Place, list[Result]]


class _Today(NamedTuple):
    """A column of today, its runs, and what their traces say of single samples."""

    column: Column
    runs: list[Run]
    traces: list[Explanation]


class _Source(NamedTuple):
    """A system of a table, and where its cells come from.

    ``printed``: what selects its published numbers, None for a system of today.
    """

    system: System
    printed: dict[str, str] | None
    today: _Today | None = None
    here: Here = Here()


def reproduce(
    source: str,
    runs: Sequence[Run],
    past: Past | None = None,
    traces: Sequence[Explanation] = (),
) -> Reproduced:
    """Return the tables of a publication, with the numbers of these runs beside the published ones.

    Runs that differ only in the seed are one system.  ``past``: returns stored runs, which show how
    far single runs scatter.  ``traces``: of samples of traced runs.  Raises UsageError for an
    unknown publication or a run that is named twice.
    """
    laid = layout.layout(source)
    ids = [run.run_id for run in runs]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise UsageError(f"run named twice, {twice}; name runs that differ")
    measured = [run for run in runs if not any(_traces(run, other) for other in runs)]
    columns = systems.systems(measured) if measured else []
    todays = [_today(system, runs, traces) for system in columns]
    results: dict[Place, list[Result]] = {}
    picked: set[int] = set()
    tables: list[Table] = []
    for table in laid.table:
        if todays and not any(_may_have(table, today) for today in todays):
            continue
        number = len(tables)
        builder = _Table(source, table, todays)
        tables.append(builder.document())
        results |= {(number, *place): results_ for place, results_ in builder.results.items()}
        picked |= builder.picked
    return Reproduced(
        Reproduction(
            source=source,
            title=laid.title,
            publication=layout.publication(source),
            platform=layout.platform(source),
            printed=laid.printed,
            suites=laid.suites,
            columns=[
                structs.replace(today.column, unshown=_unshown(today, laid.suites, picked))
                for today in todays
            ],
            tables=tables,
            notes=laid.notes,
            contrasts=contrasts([column.runs for column in columns], tables, results, past),
            statements=statements(source, columns),
        ),
        results,
    )


# ---- today's systems ----------------------------------------------------------------------------


def _traces(run: Run, measured: Run) -> bool:
    """Return whether a run traced a system that another run measured, and is in its column."""
    if (run.target.name, run.agent) != (measured.target.name, measured.agent):
        return False
    return _was_traced(run) and not _was_traced(measured)


def _was_traced(run: Run) -> bool:
    return any(TRACED in result.flags for result in run.results)


def _today(system: systems.System, runs: Sequence[Run], traces: Sequence[Explanation]) -> _Today:
    first = system.first
    mine = [*system.runs, *(run for run in runs if _traces(run, first))]
    detail = first.target.detail
    facts = [first.agent.os if first.agent else None, first.conditions.get("cpu.model")]
    if beside := detail.get("beside"):
        facts.append(f"beside {beside} (load {detail['beside_load']}) under a hypervisor")
    # What each part of each load did: the range over all results.
    loads = []
    results = [result for run in system.runs for result in run.results if result.load_rates]
    for load in dict.fromkeys(result.load for result in results):
        under = [result for result in results if result.load == load]
        parts = dict.fromkeys(rate.component for result in under for rate in result.load_rates)
        loads.append(f"{load}: {', '.join(f'{part} {_rates(part, under)}' for part in parts)}")
    remarks = []
    for run in system.runs:
        if run.status != "complete":
            remarks.append(f"the run is incomplete: {run.reason or NO_REASON}")
        if run.conditions.get("rights.realtime") is False:
            remarks.append("ran without real-time scheduling")
        remarks += run.notes
    return _Today(
        Column(
            label=system.label,
            kind="model" if system.model else "here",
            target=first.target.name,
            unit=unit_of(first) or "ns",
            runs=[run.run_id for run in mine],
            created=first.created,
            system=", ".join(str(fact) for fact in facts if fact),
            model=system.model or None,
            suites=list(dict.fromkeys(run.suite for run in system.runs if run.suite)),
            loads=loads,
            remarks=list(dict.fromkeys(remarks)),
        ),
        mine,
        [trace for trace in traces if any(run.run_id == trace.run_id for run in mine)],
    )


def _unshown(today: _Today, suites: Sequence[str], picked: Collection[int]) -> dict[str, int]:
    """Return by bench how many results of the publication's suites are in no table.

    ``picked``: the identities of those that are.
    """
    return Counter(
        result.bench
        for run in today.runs
        if run.suite and set(run.suite.split()) <= set(suites)
        for result in run.results
        if id(result) not in picked
        and result.bench != FLOOR
        and result.status != "unsupported"  # a model has the tables of its configuration
    )


# ---- a table ------------------------------------------------------------------------------------


def _may_have(table: layout.Table, today: _Today) -> bool:
    """Return whether a system is of the kind that a table is for; one that never began may be."""
    agent = today.runs[0].agent
    if table.only is None or agent is None:
        return True
    return (table.only == "posix") == ("posix" in agent.caps)


def _variants(table: layout.Table, today: _Today) -> list[layout.Axis]:
    """Return the variants of a table; for a model of one configuration only that, on one CPU."""
    config = today.runs[0].target.detail.get("config")
    axes = table.variant or [_ONLY]
    if not config or not any("config" in axis.here.params for axis in axes):
        return axes
    return [
        structs.replace(axis, here=Here(params={"config": "1cpu"}).within(axis.here))
        for axis in axes
        if axis.here.params.get("config") == config
    ]


class _Table:
    """Builds the cells of a table and their footnotes."""

    def __init__(self, source: str, table: layout.Table, todays: Sequence[_Today]) -> None:
        self._source, self._table = source, table
        self._todays = todays
        self._footnotes: list[str] = []
        self.results: dict[tuple[int, int], list[Result]] = {}
        self.picked: set[int] = set()  # identities of the results that it shows
        self._sources = [
            _Source(System(label=axis.label, kind="printed"), axis.printed)
            for axis in table.columns(source)
        ]
        for place, today in enumerate(todays):
            for axis in _variants(table, today) if _may_have(table, today) else ():
                label = ", ".join(filter(None, (today.column.label, axis.label)))
                here = axis.here.within(table.here)
                simulated = any(isinstance(s, Show) and s.is_simulated for s in here.show)
                kind = "model" if simulated else today.column.kind
                system = System(label=label, kind=kind, column=place)
                self._sources.append(_Source(system, None, today, here))
        remarks = [
            _remarks_of(record)
            for item in self._table.item
            for source in self._sources
            for record in self._records(item, source)
            if record.value is not None
        ]
        self._common = [
            text
            for text in (remarks[0] if remarks else [])
            if all(text in each for each in remarks)
        ]

    def _records(self, item: layout.Item, source: _Source) -> list[Printed]:
        if item.printed is None or source.printed is None:
            return []
        return self._table.records(self._source, source.printed, item.printed)

    def document(self) -> Table:
        """Return the table with its cells filled."""
        table = self._table
        items = []
        for place, item in enumerate(table.item):
            unit = table.unit if item.unit is None else item.unit
            cells = [
                self._printed(item, source)
                if source.today is None
                else self._here(item, source, source.today, unit, (place, number))
                for number, source in enumerate(self._sources)
            ]
            notes = [self._note(text) for text in item.notes]
            items.append(Item(label=item.label, unit=unit, cells=cells, at=item.at, notes=notes))
        shown = [record for said in table.said for record in table.records(self._source, said)]
        printed = [f"all printed numbers: {'; '.join(self._common)}"] if self._common else []
        return Table(
            id=table.id, title=table.title, stub=table.stub, unit=table.unit, form=table.form,
            across=table.systems == "columns", systems=[source.system for source in self._sources],
            items=items, said=shown, notes=[*printed, *table.notes], footnotes=self._footnotes,
            figures=[
                reproduction.Figure(
                    kind=d.kind, title=d.title, value=d.value, over=d.over, slowest=d.slowest
                )
                for d in table.draw
            ],
            listings=[
                self._guarantee(number, today) if table.guarantee else self._listing(number, today)
                for number, today in enumerate(self._todays)
                if table.listed or table.guarantee
            ],
        )  # fmt: skip

    @staticmethod
    def _guarantee(number: int, today: _Today) -> Listing:
        """Return the guarantee that the runs of a system allow, or why there is none to state."""
        results = [r for run in today.runs for r in run.results if r.bench in REQUEST]
        if results and all(result.status == "unsupported" for result in results):
            why = "; ".join(dict.fromkeys(result.reason or NO_REASON for result in results))
            return Listing(column=number, title=TITLE, status="unsupported", reason=why)
        try:
            table = guarantee_table(today.runs)
        except UsageError as error:
            return Listing(column=number, title=TITLE, status="not run", reason=str(error))
        return Listing(
            column=number, title=TITLE, status="ok", columns=table.columns, rows=table.rows
        )

    def _listing(self, number: int, today: _Today) -> Listing:
        """Return the table of texts of a system, of its last result that has one."""
        wanted, title = self._table.here, self._table.listed
        results = selection.picked(wanted, today.runs)
        self.picked |= set(map(id, results))
        tables = [table for r in results for table in r.tables if table.title == title]
        if tables:
            columns, rows = tables[-1].columns, tables[-1].rows
            return Listing(column=number, title=title, status="ok", columns=columns, rows=rows)
        if not results:
            absent, why = selection.absence(wanted, today.runs)
            return Listing(column=number, title=title, status=absent, reason=why)
        last = results[-1]
        reason = last.reason or f"it reported no table '{title}'"
        return Listing(column=number, title=title, status=last.status, reason=reason)

    def _printed(self, item: layout.Item, source: _Source) -> Cell:
        records = self._records(item, source)
        if not records and item.computed and (computed := self._computed(item, source)):
            return computed
        if not records:
            why = item.unprinted or self._table.unprinted or "not in the publication"
            return Cell(notes=[self._note(f"not printed: {why}")])
        remarks = dict.fromkeys(text for record in records for text in _remarks_of(record))
        own = [text for text in remarks if text not in self._common]
        notes = [self._note(f"printed number: {'; '.join(own)}")] if own else []
        return Cell(printed=records, notes=notes)

    def _computed(self, item: layout.Item, source: _Source) -> Cell | None:
        """Return what an item computes from the published numbers of a system, if it has any."""
        above = self._table.item[: self._table.item.index(item)]
        if item.computed == "slope":
            above = [other for other in above if other.at is not None]
        records = [(other.at, record) for other in above for record in self._records(other, source)]
        numbers = [(at, r.value, r.unit) for at, r in records if isinstance(r.value, int | float)]
        units = {unit for _, _, unit in numbers}
        if len(units) != 1:
            return None
        counted = f"computed from {len(numbers)} printed numbers of {len(records)}"
        (unit,) = units
        if item.computed == "slope":
            line = fit([(at or 0, value) for at, value, _ in numbers])
            if line is None:
                return None
            shown = Shown(value=line.slope, unit=f"{unit} each")
        elif item.computed == "count":
            shown = Shown(value=len(numbers))
        elif len(numbers) < len(records):
            shown = Shown(value="incomplete")
            counted = f"{len(numbers)} of {len(records)} numbers are printed: no sum of all"
        else:
            shown = Shown(value=round(sum(value for _, value, _ in numbers), 4), unit=unit)
        return Cell(computed=shown, notes=[self._note(counted)])

    def _here(
        self,
        item: layout.Item,
        source: _Source,
        today: _Today,
        unit: str | None,
        place: tuple[int, int],
    ) -> Cell:
        if item.here is None:
            return Cell(notes=[self._note(f"not here: {item.lacks or self._table.lacks}")])
        wanted = item.here.within(source.here)
        results = selection.picked(wanted, today.runs)
        self.picked |= set(map(id, results))
        if item.unmodelled and today.column.kind == "model":
            return Cell(notes=[self._note(f"not modelled: {item.unmodelled}")])
        of_traces = any(isinstance(show, Show) and show.traced for show in wanted.show)
        if of_traces:
            shown = _found_in_traces(wanted, results, today, unit)
            if shown.status == "not run":
                return Cell(notes=[self._note(f"{shown.reason}")])
        else:
            untraced = [result for result in results if TRACED not in result.flags]
            shown = _found_here(wanted, untraced or results, today, unit)
        if shown.values and not of_traces:
            self.results[place] = [result for result in results if _has_values(result)]
        notes = []
        if shown.load and wanted.load and shown.load != wanted.load:
            reduced = REDUCED.get(load_name(shown.load))
            words = f"{shown.load}, {reduced}" if reduced else shown.load
            notes.append(self._note(f"under load {words}"))
        if shown.missed:
            due = f"{count(shown.missed)} of {count(shown.n + shown.missed)} activations"
            note = f"missed {due}, which the statistics include"
            notes.append(self._note(note))
        if "mean" in wanted.show and _moved(results):
            share = f"{MOVED:.0%}"
            note = f"the largest sample alone raises this mean by over {share}"
            notes.append(self._note(note))
        if PARTIAL in shown.flags:
            note = "incomplete, over fewer components than it should have"
            notes.append(self._note(note))
        if shown.status != "ok":
            why = shown.reason or NO_REASON
            notes.append(self._note(f"{shown.status}: {why}"))
        return Cell(here=shown, notes=notes)

    def _note(self, text: str) -> int:
        """Return the number of the footnote with this text."""
        if text not in self._footnotes:
            self._footnotes.append(text)
        return self._footnotes.index(text) + 1


def _remarks_of(record: Printed) -> list[str]:
    """Return the remarks on a published number: its quality, and its notes one by one."""
    quality = [] if record.quality == _PLAIN else [record.quality]
    return [*quality, *(record.note.split("; ") if record.note else [])]


# ---- what is found ------------------------------------------------------------------------------


def _has_values(result: Result) -> bool:
    return bool(result.n or result.missed or result.figures or result.tables)


def _moved(results: Sequence[Result]) -> bool:
    """Return whether the mean of all samples is higher by ``MOVED`` because of the largest one."""
    sampled = [result for result in results if result.n]
    if len({result.unit for result in sampled}) != 1:
        return False
    whole_ = pooled([whole(result) for result in sampled])
    if whole_.n < 2 or whole_.mean is None or whole_.max is None:
        return False
    rest = (whole_.n * whole_.mean - whole_.max) / (whole_.n - 1)
    return whole_.mean - rest > MOVED * rest > 0


def _found_here(wanted: Here, results: Sequence[Result], today: _Today, unit: str | None) -> Found:
    if not wanted.bench:  # facts of the system itself
        return Found(status="ok", values=[_shown(show, [], today, unit) for show in wanted.show])
    if not results:
        status, why = selection.absence(wanted, today.runs)
        return Found(status=status, reason=why, bench=wanted.bench)
    valued = [result for result in results if _has_values(result)]
    values = [_shown(show, valued, today, unit) for show in wanted.show] if valued else []
    measured = any(
        isinstance(show, str) or show.figure or show.slope or show.breakdown or show.interval
        for show in wanted.show
    )
    if values and not measured:  # only how it was run
        return Found(status="ok", values=values)
    worst = max(results, key=lambda result: GRAVITY.index(result.status))
    misses = [result.missed for result in valued if result.missed is not None]
    spans = [span for result in valued if (span := result.section_s) is not None]
    return Found(
        status=worst.status,
        reason=worst.reason,
        values=values,
        n=sum(result.n for result in valued),
        missed=sum(misses) if misses else None,
        results=len(valued),
        load=results[0].load,
        place=sorted({where for result in valued if (where := load_place(result))}),
        section_s=(min(spans), max(spans)) if spans else None,
        flags=list(dict.fromkeys(flag for result in valued for flag in result.flags)),
        bench=wanted.bench,
    )


def _found_in_traces(
    wanted: Here, results: Sequence[Result], today: _Today, unit: str | None
) -> Found:
    """Return how long parts of the traced samples took, or why nobody knows."""
    own = {id(result) for result in results}
    cases = {
        (run.run_id, result.case, result.series)
        for run in today.runs
        for result in run.results
        if id(result) in own
    }
    traces = [trace for trace in today.traces if (trace.run_id, trace.case, trace.series) in cases]
    if traces:
        shows = [show for show in wanted.show if isinstance(show, Show)]
        return Found(
            status="ok",
            values=[_of_traces(show, traces, unit) for show in shows],
            n=len(traces),
            results=len({(trace.run_id, trace.case) for trace in traces}),
            load=traces[0].load,
            flags=[TRACED],
            bench=wanted.bench,
        )
    refused = [result for result in results if result.status != "ok"]
    if refused:
        return Found(status=refused[0].status, reason=refused[0].reason, bench=wanted.bench)
    if any(TRACED in result.flags for result in results):
        why = "its trace has no sample that tells it"
        return Found(status="incomplete", reason=why, bench=wanted.bench)
    status, why = selection.absence(wanted, today.runs) if not results else ("not run", "")
    if status == "not run":
        command = f"rtstone run {wanted.bench} --load {wanted.load} --trace worst"
        why = f"needs a traced run: {command}, named after the publication"
    return Found(status=status, reason=why, bench=wanted.bench)


def _of_traces(show: Show, traces: Sequence[Explanation], unit: str | None) -> Shown:
    """Return how long some kinds of parts took together, over all samples that were traced."""
    units = {trace.unit for trace in traces}
    if len(units) != 1:
        return Shown(value=None)
    lengths = [
        sum(part.length for part in trace.way.segments if part.kind in show.traced)
        for trace in traces
    ]
    return _converted([max(lengths) if show.most else median(lengths)], units.pop(), unit)


def _entry(result: Result) -> str:
    """Return whether the timed call of a result enters the kernel, as its agent has counted."""
    entered, calls = (result.evidence.get(name) for name in ("entered", "entered_of"))
    if not isinstance(entered, int) or not isinstance(calls, int) or not calls:
        why = result.evidence.get("entered_why") or "its agent does not count"
        return f"unknown: {why}"
    return "no" if not entered else "yes" if entered == calls else f"{entered} of {calls} calls"


def _shown(show: str | Show, results: Sequence[Result], today: _Today, unit: str | None) -> Shown:
    if isinstance(show, str):
        results = [result for result in results if result.n]
        units = {result.unit for result in results}
        if len(units) != 1:
            return Shown(value=None)
        if show in _OF_SINGLES:
            results = [result.single or result for result in results]
        value = getattr(pooled([whole(result) for result in results]), show)
        return _converted([value], units.pop(), unit)
    if show.figure:
        figures: list[Figure] = []
        for result in results:
            candidates = (result.figures[name] for name in show.figure if name in result.figures)
            figures += [figure for figure in candidates if figure.value is not None][:1]
        if len({figure.unit for figure in figures}) != 1:
            return Shown(value=None)
        return _converted([figure.value for figure in figures], figures[0].unit, unit)
    if show.table is not None:
        return _of_tables(show, results)
    if show.entered:
        entries = dict.fromkeys(_entry(result) for result in results if result.n)
        return Shown(value="; ".join(entries) or None)
    if show.slope is not None or show.interval or show.breakdown:
        return _evaluated(show, results, today, unit)
    if show.param is not None:
        benches_ = (b for run in today.runs for b in run.benches if b.id == results[0].bench)
        bench = next(benches_, None) if results else None
        param = bench.param(show.param) if bench else None
        values = dict.fromkeys(result.params.get(show.param) for result in results)
        texts = [benches.quantity(param, value) for value in values if param and value is not None]
        return Shown(value=", ".join(texts) or None)
    if show.part is not None:
        return Shown(value=_rates(show.part, results))
    run = today.runs[0]
    facts = {**run.conditions, "agent.os": run.agent.os if run.agent else None}
    if run.clock:
        facts |= {"clock": run.clock.source,
                  "clock.step": quantity(run.clock.resolution_ns, run.clock.unit),
                  "clock.overhead": quantity(run.clock.overhead_ns, run.clock.unit)}  # fmt: skip
    values_ = (facts.get(name) for name in show.fact)
    fact = next((value for value in values_ if value not in (None, "", [])), None)
    return Shown(value=None if fact is None else str(fact))


def _of_tables(show: Show, results: Sequence[Result]) -> Shown:
    """Return a field of a table of texts, or how many of its rows have "yes"."""
    tables = [table for r in results for table in r.tables if table.title == show.table]
    if not tables or show.column not in tables[0].columns:
        return Shown(value=None)
    rows = [dict(zip(tables[0].columns, row, strict=True)) for row in tables[0].rows]
    if not show.all:
        fits = (row for row in rows if all(row.get(k) == v for k, v in show.where.items()))
        return Shown(value=next((row[show.column] for row in fits), None))
    first = tables[0].columns[0]
    confirmed = {row[first] for row in rows if row[show.column] == "yes"}
    missing = [name for name in show.all if name not in confirmed]
    counted = f"{len(show.all) - len(missing)} of {len(show.all)} options"
    return Shown(value=f"{counted}; not {', '.join(missing)}" if missing else counted)


def _evaluated(show: Show, results: Sequence[Result], today: _Today, unit: str | None) -> Shown:
    """Return what was concluded from the samples or tests of results: with its uncertainty."""
    if show.breakdown is not None:
        return breakdowns.shown(show.breakdown, results)
    if show.slope is not None:
        return _of_slopes(show.slope, results, today, unit)
    intervals = [(result.ci95.get(show.interval), result.unit) for result in results if result.n]
    ends, own = intervals[0] if len(intervals) == 1 else (None, "")
    return _converted(ends or [], own, unit)


def _of_slopes(
    number: Literal["slope", "interval", "growth"],
    results: Sequence[Result],
    today: _Today,
    unit: str | None,
) -> Shown:
    """Return the number of the slopes whose points these results are."""
    slopes = selection.slopes(results, today.runs)
    if number == "growth":
        growths = dict.fromkeys(s.growth for s in slopes if s.growth)
        return Shown(value=", ".join(growths) or None)
    if len({slope.unit for slope in slopes}) != 1:
        return Shown(value=None)
    values = [value for s in slopes for value in (s.ci95 if number == "interval" else (s.slope,))]
    return _converted(values, slopes[0].unit, unit)


def _converted(values: Sequence[float | None], unit: str, wanted: str | None) -> Shown:
    """Return the range of values, converted to the table's unit if both are times.

    A unit may be a time per something, which stays.
    """
    numbers = [value for value in values if value is not None]
    time, per, rest = unit.removesuffix(" per hop").partition(" per ")
    if time in CLOCK and wanted in CLOCK:
        numbers = [value * CLOCK[time] / CLOCK[wanted] for value in numbers]
        time = wanted
    unit = f"{time}{per}{rest}"
    if not numbers:
        return Shown(value=None, unit=unit)
    low, most = min(numbers), max(numbers)
    return Shown(value=low, most=None if most == low else most, unit=unit)


def _rates(part: str, results: Sequence[Result]) -> str | None:
    """Return the range of rates of a part of a load, and its target rate."""
    rates = [rate for result in results for rate in result.load_rates if rate.component == part]
    if not rates:
        return None
    ends = (end(rate.achieved for rate in rates) for end in (min, max))
    low, most = (f"{end:.3g}" if end < 999.5 else str(round(end)) for end in ends)
    span = low if low == most else f"{low} to {most}"
    wanted = rates[0].wanted
    return f"{span}{'' if wanted is None else f' of {wanted:g}'} {rates[0].unit}/s"
