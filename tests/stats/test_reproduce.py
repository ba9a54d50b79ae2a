from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.explanation import Explanation, Kind, Sample, Segment, Way
from rtstone.documents.plan import load_name
from rtstone.documents.reproduction import Cell, Found, Listing, Printed, Reproduction, Table
from rtstone.documents.run import (
    HARTSTONE,
    Agent,
    Clock,
    Distribution,
    Figure,
    Result,
    Run,
    Slope,
    Target,
    Value,
)
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.results.derived import FLOOR
from rtstone.results.rhealstone import STAND_INS
from rtstone.stats import published
from rtstone.stats.published import layout
from rtstone.stats.published.layout import Here, Show
from rtstone.stats.reproduce import MOVED, reproduce
from rtstone.targets import find
from rtstone.wire import parameters as benches
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import Rate, TextTable
from tests.conftest import Cli

SOURCES = layout.names()
DOCS = Path(__file__).parents[2] / "docs"


def _measure(cli: Cli, target: str, *part: str) -> Run:
    done = cli("run", *part, "--target", target, "--json")
    assert done.status == 0, done.err
    return msgspec.json.decode(done.out.encode(), type=Run)


# ---- printed numbers ----------------------------------------------------------------------------


def test_each_publication_has_a_layout() -> None:
    assert set(SOURCES) == set(published.sources())


@pytest.mark.parametrize("source", SOURCES)
def test_every_record_has_one_place(source: str) -> None:
    document = reproduce(source, []).document
    placed = Counter(
        id(record) for table in document.tables for record in [*table.said, *_printed(table)]
    )
    stated = {id(record) for statement in document.statements for record in statement.said}
    records = published.find(source=source)
    alone = [record for record in records if not placed[id(record)] and id(record) in stated]
    assert [r for r in records if r not in alone and placed[id(r)] != 1] == []
    assert placed.total() + len(alone) == len(records)


def _printed(table: Table) -> Iterator[Printed]:
    for item in table.items:
        for cell in item.cells:
            yield from cell.printed


@pytest.mark.parametrize("source", SOURCES)
def test_a_record_stands_under_its_own_system(source: str) -> None:
    """Where the publication's systems are columns, none gets the number of another."""
    for table in reproduce(source, []).document.tables:
        names = {record.system for record in _printed(table)}
        labels = [system.label for system in table.systems]
        if names != set(labels):
            continue  # columns of another kind
        for item in table.items:
            for label, cell in zip(labels, item.cells, strict=True):
                assert {record.system for record in cell.printed} <= {label}


@pytest.mark.parametrize("source", SOURCES)
def test_no_place_is_empty_without_a_reason(source: str) -> None:
    for table in reproduce(source, []).document.tables:
        for item in table.items:
            for cell in item.cells:
                assert cell.printed or cell.notes, (table.title, item.label)


MINIMAL = """
title = "t"
printed = "1"
suites = ["gutsalov"]
[[table]]
id = "Table 1"
title = "t"
[[table.item]]
label = "minimal"
"""


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('printed = { condition = "minimal load" }', "write here or lacks"),
        ('lacks = "x"', "write printed or unprinted"),
        ('lacks = "x"\nprinted = { condition = "maximal load" }', "picks no published number"),
        ('lacks = "x"\nwanted = "y"', "unknown field `wanted`"),
    ],
)
def test_a_layout_that_matches_nothing_is_refused(tmp_path: Path, added: str, message: str) -> None:
    path = tmp_path / "gutsalov.toml"
    path.write_text(MINIMAL + added)
    with pytest.raises(UsageError, match=message):
        layout.read("gutsalov", path)


def test_an_unknown_publication_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'gutsalov'"):
        reproduce("gutsalow", [])


# ---- what is selected from runs -----------------------------------------------------------------


@pytest.fixture(scope="module")
def here() -> Catalogue:
    with Interrupt() as interrupt:
        return catalogue(find("local"), interrupt)


def _wanted(source: str) -> Iterator[tuple[str, Here]]:
    """Yield every place that shows something of today's systems, with the name of its row."""
    for table in layout.layout(source).table:
        if table.listed:
            listing = structs.replace(table.here, show=[Show(table=table.listed)])
            yield f"{table.title}, listed", listing
        for item in table.item:
            for axis in table.variant or [layout.Axis(label="")]:
                if item.here is not None:
                    place = item.here.within(axis.here.within(table.here))
                    yield f"{table.title}, {item.label} {axis.label}", place


def _deciding(source: str) -> Iterator[tuple[str, Here]]:
    """Yield every place whose numbers decide a statement, with its words."""
    for statement in layout.layout(source).statement:
        for number in [] if statement.lacks else statement.number:
            here = number.here.within(statement.here)
            yield statement.words, here
            if number.against is not None:
                yield statement.words, number.against.within(here)


class Measured(NamedTuple):
    """A case of a publication's suites with all its parameters; None: it is derived."""

    bench: str
    load: str
    params: dict[str, Value] | None

    def shown_by(self, place: Here, here: Catalogue) -> bool:
        """Return whether a place of the layout selects this case."""
        if self.bench != place.bench:
            return False
        if self.params is None:
            return True
        if place.load not in ("", load_name(self.load)):
            return False
        table = here.benches[place.bench]
        wanted = {k: benches.values(table, k, v)[0] for k, v in place.params.items()}
        return wanted.items() <= self.params.items()


def _measured(source: str, here: Catalogue) -> list[Measured]:
    wanted = suite.select(layout.layout(source).suites, here.benches)
    expanded = suite.expand(wanted, Request(), here)
    assert expanded.absent == []  # or the tests below would not see these
    measured = [Measured(case.bench, "", None) for case in expanded.derived]
    for case in expanded.cases:
        if case.bench != FLOOR:
            defaults: dict[str, Value] = {
                param.name: param.default for param in here.benches[case.bench].params
            }
            measured.append(Measured(case.bench, case.load, defaults | case.params))
    return measured


@pytest.mark.parametrize("source", SOURCES)
def test_the_suite_runs_what_the_layout_looks_for(source: str, here: Catalogue) -> None:
    measured = _measured(source, here)
    for name, place in [*_wanted(source), *_deciding(source)]:
        assert place.show, name
        if place.bench:  # not a fact of the system itself
            assert any(case.shown_by(place, here) for case in measured), name


@pytest.mark.parametrize("source", SOURCES)
def test_the_layout_shows_what_the_suite_runs(source: str, here: Catalogue) -> None:
    places = [place for _, place in _wanted(source)]
    for case in _measured(source, here):
        assert any(case.shown_by(place, here) for place in places), case


@pytest.mark.parametrize("source", SOURCES)
def test_the_layout_shows_every_slope(source: str, here: Catalogue) -> None:
    """Of the cases that differ in one parameter alone, over which their bench has a slope."""
    lines: dict[CaseKey, list[Measured]] = {}
    for case in _measured(source, here):
        if case.params is not None and (over := here.benches[case.bench].slope_over):
            key = case_key(case.bench, case.params, load=case.load, ignoring={over})
            lines.setdefault(key, []).append(case)
    places = [
        place for _, place in _wanted(source)
        if any(isinstance(show, Show) and show.slope for show in place.show)
    ]  # fmt: skip
    for key, cases in lines.items():
        over = here.benches[key.bench].slope_over
        if len({case.params[over] for case in cases if case.params and over}) >= 3:
            assert any(all(c.shown_by(place, here) for c in cases) for place in places), key


@pytest.mark.parametrize("source", SOURCES)
def test_no_result_of_a_run_is_left_out(cli: Cli, source: str) -> None:
    """Of no series either, which the suite does not know."""
    part = [*layout.layout(source).suites, "--time", "0.02", "-p", "samples=5"]
    if source == "sjoblom":  # each case once, not five times
        part += ["--load", "none", "-p", "work=1ms"]
    done = cli("run", *part, "--target", "sim", "--json")
    assert done.status in {0, 3}, done.err  # 3: a case ended before its first sample
    run = msgspec.json.decode(done.out.encode(), type=Run)
    (column,) = reproduce(source, [run]).document.columns
    assert column.unshown == {}


def test_what_no_table_shows_is_counted(base_run: Run) -> None:
    other = _result(bench="sem.try.free", params={"type": "named"})
    results = [_result(), other, other, _result(bench="clk.resolution", params={})]
    lacking = structs.replace(_result(bench="sem.post.higher"), status="unsupported", n=0)
    run = structs.replace(base_run, suite="gutsalov", results=[*results, lacking])
    (column,) = reproduce("gutsalov", [run]).document.columns
    assert column.unshown == {"sem.try.free": 2, "clk.resolution": 1}
    for name in (None, "full", "gutsalov full"):  # what else a user measured
        (column,) = reproduce("gutsalov", [structs.replace(run, suite=name)]).document.columns
        assert column.unshown == {}


def test_the_tail_of_a_batched_result_is_that_of_its_single_calls(base_run: Run) -> None:
    batched = structs.replace(_result(bench="sem.create", params={"type": "named"}), batch=8)
    batched = structs.replace(batched, n=10_000, mean=100.0, max=None)
    alone = structs.replace(batched, batch=1, mean=90.0, max=7000.0)

    def cell(result: Result) -> list[float | int | str | None]:
        run = structs.replace(base_run, suite="gutsalov", results=[result])
        document = reproduce("gutsalov", [run]).document
        (table,) = (t for t in document.tables if t.title.startswith("Semaphores with a name"))
        (here, *_) = (cell.here for cell in table.items[0].cells if cell.here and cell.here.values)
        return [shown.value for shown in here.values]

    assert cell(structs.replace(batched, single=alone)) == [0.1, 7.0]
    assert cell(batched) == [0.1, None]


@pytest.mark.parametrize(
    ("evidence", "text"),
    [({"entered": 0, "entered_of": 110}, "no"), ({"entered": 110, "entered_of": 110}, "yes"),
     ({"entered": 3, "entered_of": 110}, "3 of 110 calls"),
     ({"entered_why": "counted on x86-64 only"}, "unknown: counted on x86-64 only"),
     ({}, "unknown: its agent does not count")],
)  # fmt: skip
def test_a_row_says_whether_the_call_enters_the_kernel(
    base_run: Run, evidence: dict[str, Value], text: str
) -> None:
    result = _result(bench="sem.create", params={"type": "unnamed"})
    result = structs.replace(result, evidence=evidence)
    run = structs.replace(base_run, suite="gutsalov", results=[result])
    document = reproduce("gutsalov", [run]).document
    (table,) = (t for t in document.tables if t.title.endswith("enter the kernel?"))
    values = [c.here.values for c in table.items[0].cells if c.here and c.here.values]
    assert [[shown.value for shown in shown_] for shown_ in values] == [[text]]


def test_obenlands_page_names_the_clock_and_whether_calls_enter_the_kernel(base_run: Run) -> None:
    at = {"config": "1cpu"}
    pair = structs.replace(
        _result(bench="sync.test1", params={**at, "type": "named"}),
        evidence={"entered": 0, "entered_of": 110},
    )
    read = _result(bench="det.bintime", params={**at, "clock": "library"})
    clock = Clock(source="tsc", hz=10**9, resolution_ns=1.5, overhead_ns=20)
    run = _on(base_run, "posix", suite="obenland", results=[pair, read], clock=clock)
    tables = {table.title: table for table in reproduce("obenland", [run]).document.tables}

    def texts(title: str) -> dict[str, list[Any]]:
        return {
            item.label: [shown.value for shown in cell.here.values]
            for item in tables[title].items
            for cell in item.cells
            if cell.here
        }

    assert list(texts("The clock of these measurements").values()) == [
        ["tsc"], ["1.50 ns"], ["20.0 ns"], ["library"],
    ]  # fmt: skip
    assert texts("sync test 1: does a pair of post and wait enter the kernel?")["named"] == ["no"]
    bare = reproduce("obenland", [structs.replace(run, clock=None)]).document.tables
    (unknown,) = (table for table in bare if table.title == "The clock of these measurements")
    assert [c.here.values[0].value for c in unknown.items[0].cells if c.here] == [None]


@pytest.mark.parametrize(
    ("cpus", "text"),
    [([1], ["on CPU 1, which was measured"]), ([0], ["on CPU 0, beside the measured CPU 1"]),
     ([0, 1, 2], ["on CPU 0-2, the measured CPU 1 among them"]), (None, [])],
)  # fmt: skip
def test_a_cell_says_where_the_load_ran(
    base_run: Run, cpus: list[int] | None, text: list[str]
) -> None:
    result = structs.replace(
        _result(bench="int.latency.phase", params={}), load="driver", evidence={"cpus": [1]},
        load_rates=[Rate("scan", "bytes", 1e6, 1.0, cpus=cpus)],
    )  # fmt: skip
    run = structs.replace(base_run, suite="gutsalov", results=[result])
    document = reproduce("gutsalov", [run]).document
    cells = [c.here for t in document.tables for i in t.items for c in i.cells if c.here]
    assert next(cell.place for cell in cells if cell.load == "driver") == text


def _named(text: str) -> Iterator[str]:
    """Yield the tables, figures and sections that a text names: ``Figures 2 to 4``."""
    for kind, first, joint, last in re.findall(
        r"\b(Table|Figure|section)s? (\d+(?:\.\d+)?[ab]?)(?: (to|and) (\d+))?", text
    ):
        yield f"{kind} {first}"
        if joint:
            yield from (
                f"{kind} {n}"
                for n in range(int(first) + 1 if joint == "to" else int(last), int(last) + 1)
            )


@pytest.mark.parametrize("source", SOURCES)
def test_each_printed_table_and_figure_has_a_counterpart(source: str) -> None:
    contents = set(published.sources()[source].contents)
    named: set[str] = set()
    for table in layout.layout(source).table:
        titles = [table.id, *(d.title for d in table.draw), *(i.label for i in table.item)]
        titles += [note for note in table.notes if re.match("(Table|Figure)s? ", note)]
        named |= {name for title in titles for name in _named(title)}
    named |= {record.table for record in published.find(source=source) if record.table in contents}
    assert contents - named == set()
    parts = {re.sub("[ab]$", "", name) for name in contents}
    assert named - contents - parts == set()


@pytest.mark.parametrize(
    ("bench", "table"),
    [
        ("dk.lat_ctx", "part 1 Table 1"),
        ("dk.setitimer", "part 1 prose"),
        ("dk.irqsoff", "part 1 prose"),
        ("dk.irq_latency", "part 1 prose"),
        ("dk.schedlat", "part 2 prose"),
        ("dk.guarantee", "part 2 prose"),
        ("dk.periodic", "part 3 prose"),
    ],
)
def test_a_bench_names_the_part_that_its_numbers_are_of(
    here: Catalogue, bench: str, table: str
) -> None:
    assert published.find(source="dankwardt", table=table)
    assert f"Dankwardt, {table[:6]}" in here.benches[bench].source


# A simulated system has none of these.
LOCAL = ["dk.lat_ctx", "dk.nanosleep", "dk.pagefaults", "dk.setitimer", "env.check", "env.setup",
         "posix.metrics", "posix.options", "sync.rwlock.handover", "sys.footprint"]  # fmt: skip
SIMULATED = {
    "a breakdown": ["hart.PH.1", "-p", "set=golatowski", "-p", "duration=2s"],
    "none": ["hart.PH.1", "--time", "0.5"],
    "a pointer": ["ipc.srsr", "-p", "mechanism=mailbox", "-p", "samples=5"],
    "two loads": ["dk.compare", "sched.yield", "--load", "none", "--load", "min",
                  "-p", "samples=5"],
    "the others": ["det.bintime", "det.response", "det.timer_jitter", "dk.irq_latency",
                   "dk.irqsoff", "dk.latencytest", "hart.raw", "int.latency.phase",
                   "mq.throughput", "rheal.mean_rate", "rheal.rate", "rheal.sum_time",
                   "rheal.weighted_rate", "rheal.weighted_time",
                   "sched.bg50.half", "sync.irqthread", "sync.test3",
                   "-p", "time=1s"],
    "the application-specific rate": ["rheal.mean_rate", "-p", "weight_il=2"],
}  # fmt: skip


def test_every_figure_and_table_that_is_shown_is_told_by_its_bench(cli: Cli) -> None:
    runs = [_measure(cli, "sim:rmos3-pc1", *simulated) for simulated in SIMULATED.values()]
    runs.append(_measure(cli, "local", *LOCAL, "-p", "samples=5"))
    own: dict[str, set[str]] = {
        "sys.footprint": {"image", "kernel, code"},  # on a board, to root
        # where the system has signals and no interrupts
        "rheal.sum_time": {
            f"sum of times, with {stand_in} in the interrupt's place"
            for stand_in in STAND_INS.values()
        },
    }
    unsupported = set()
    for result in (result for run in runs for result in run.results):
        if result.status == "unsupported" and os.geteuid():
            unsupported.add(result.bench)
        columns = {f"{t.title}/{column}" for t in result.tables for column in ["", *t.columns]}
        own.setdefault(result.bench, set()).update(result.figures, columns)
    for source in SOURCES:
        for place, wanted_cell in [*_wanted(source), *_deciding(source)]:
            for show in wanted_cell.show:
                if not isinstance(show, str) and (show.figure or show.table):
                    table = [f"{show.table}/{show.column}"] if show.table else []
                    bench = wanted_cell.bench
                    if bench.startswith(HARTSTONE) and bench != "hart.raw":
                        bench = "hart.PH.1"  # one function reports all experiments
                    if bench in unsupported:
                        continue  # an ordinary user may not lock enough memory for it
                    assert {*show.figure, *table} <= own[bench], place


# ---- what is found in runs ----------------------------------------------------------------------


def _column(document: Reproduction, table: str, label: str) -> list[Cell]:
    cell = next(t for t in document.tables if t.id == table)
    place = [system.label for system in cell.systems].index(label)
    return [item.cells[place] for item in cell.items]


def _value(cell: Cell, place: int = 0) -> float:
    assert cell.here is not None
    assert cell.here.status == "ok", cell.here.reason
    value = cell.here.values[place].value
    assert isinstance(value, int | float)
    return float(value)


def test_a_model_reproduces_its_own_column(cli: Cli) -> None:
    """The model is derived from the published numbers, so both columns must be equal."""
    document = reproduce(
        "gutsalov", [_measure(cli, "sim:rtai-22.2.4", "gutsalov", "--time", "5")]
    ).document
    assert document.columns[0].kind == "model"
    for table, label in (("Table 1", ""), ("Table 2", ", FIFO"), ("Table 2", ", RR"),
                         ("Table 3", "")):  # fmt: skip
        theirs = _column(document, table, "RTAI-22.2.4")
        ours = _column(document, table, f"sim:rtai-22.2.4{label}")
        for printed, cell in zip(theirs, ours, strict=True):
            assert cell.here
            if printed.computed:  # from the others
                assert _value(cell) == pytest.approx(printed.computed.value, abs=0.002)
                continue
            value = printed.printed[0].value
            assert isinstance(value, float)
            assert _value(cell) == pytest.approx(value, abs=0.051)
            assert cell.here.n >= 1000
            assert cell.here.section_s


def test_pairs_of_maximum_and_average(cli: Cli) -> None:
    run = _measure(
        cli, "sim:lynxos-3.0.1", "ctx.sync", "mq.latency", "-p", "entity=thread,process",
        "-p", "config=1cpu",
    )  # fmt: skip
    document = reproduce("obenland", [run]).document
    for id_ in ("Table 9", "Table 10"):
        table = next(t for t in document.tables if t.id == id_)
        rows = [system.label for system in table.systems]
        lynx, ours = rows.index("Lynx"), rows.index("sim:lynxos-3.0.1, 1 proc")
        pairs = [
            (place, record.value, item.cells[ours])
            for item in table.items[:2]
            for place, record in enumerate(item.cells[lynx].printed)
        ]
        assert len(pairs) == 4
        for place, value, cell in pairs:
            assert isinstance(value, float)
            assert _value(cell, place) == pytest.approx(value, abs=0.051)
    heavy = table.items[-1].cells[ours].here
    assert heavy and heavy.status == "not run"
    assert "mq.throughput" in str(heavy.reason)


@pytest.mark.parametrize(
    ("model", "config", "only"),
    [
        ("solaris-8-1rt", "1rt", "sim:solaris-8-1rt, 1 rt"),
        ("lynxos-3.0.1", "1cpu", "sim:lynxos-3.0.1, 1 proc"),
    ],
)
def test_a_model_stands_for_the_configuration_that_it_is_made_after(
    cli: Cli, model: str, config: str, only: str
) -> None:
    run = _measure(cli, f"sim:{model}", "det.timer_jitter", "-p", "config=1cpu,2cpu,1rt",
                   "-p", "period=1ms", "-p", "samples=20")  # fmt: skip
    assert run.target.detail["config"] == config
    document = reproduce("obenland", [run]).document
    figure = next(t for t in document.tables if t.id == "Figure 5a")
    assert [s.label for s in figure.systems if s.kind == "model"] == [only]
    cell = _column(document, "Figure 5a", only)[1].here  # measured with config=1cpu
    assert cell and (cell.status, cell.n) == ("ok", 20)


# ---- with made-up results -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def base_run(here: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(
        run_id="a-0001", created="2026-11-21T00:00:00+00:00", status="complete",
        target=Target(name="local"), benches=list(here.benches.values()),
    )  # fmt: skip


def _result(**members: Any) -> Result:
    whole: dict[str, Any] = {
        "case": 1, "bench": "sem.create", "params": {"type": "unnamed"}, "load": "none",
        "status": "ok", "n": 100, "min": 1000.0, "mean": 2500.0, "max": 9000.0, "sd": 1.0,
        "histogram": [(2500.0, 100)],
    }  # fmt: skip
    return Result(**(whole | members))


def _create(run: Run, *results: Result) -> Found:
    document = reproduce("gutsalov", [structs.replace(run, results=list(results))]).document
    cells = _column(document, "Table 3", "local")[0].here
    assert cells
    return cells


def test_units_are_those_of_the_table(base_run: Run) -> None:
    (shown,) = _create(base_run, _result()).values
    assert (shown.value, shown.unit) == (2.5, "us")


def test_instructions_stay_instructions(base_run: Run) -> None:
    (shown,) = _create(base_run, _result(unit="instructions", mean=2500.0)).values
    assert (shown.value, shown.unit) == (2500.0, "instructions")


def test_several_results_are_one_set_of_samples(base_run: Run) -> None:
    other = _result(n=300, mean=6500.0, histogram=[(6500.0, 300)])
    cell = _create(base_run, _result(), other)
    assert (cell.n, cell.results) == (400, 2)
    assert cell.values[0].value == pytest.approx(5.5)


def test_another_case_is_not_taken_for_it(base_run: Run) -> None:
    for wrong in ({"load": "heavy"}, {"params": {"type": "named"}}, {"bench": "sem.delete"}):
        assert _create(base_run, _result(**wrong)).status == "not run"


def _minimal(run: Run, *loads: str) -> tuple[Found, list[str]]:
    """Return the cell of load min, and its notes, given results under these loads."""
    results = [_result(bench="int.latency.phase", params={}, load=load) for load in loads]
    document = reproduce("gutsalov", [structs.replace(run, results=results)]).document
    table = next(t for t in document.tables if t.id == "Table 1")
    cell = table.items[0].cells[-1]
    assert cell.here
    return cell.here, [table.footnotes[n - 1] for n in cell.notes]


def test_a_load_is_the_same_whatever_its_options(base_run: Run) -> None:
    cell, notes = _minimal(base_run, "min:place=any")
    assert (cell.status, cell.load, cell.n) == ("ok", "min:place=any", 100)
    assert notes == ["under load min:place=any"]


@pytest.mark.parametrize(
    ("loads", "taken"),
    [
        (["min:place=any", "min"], "min"),  # as in the publication
        (["min:place=any", "min:place=others"], "min:place=any"),
    ],
)
def test_loads_that_were_started_in_different_ways_are_not_one(
    base_run: Run, loads: list[str], taken: str
) -> None:
    cell, _ = _minimal(base_run, *loads)
    assert (cell.load, cell.n) == (taken, 100)


def _figure_6(run: Run, *loads: str, **target: Any) -> tuple[Cell, list[str]]:
    """Return the cell of heavy load of the first configuration, and its notes."""
    results = [
        _result(bench="det.bintime", params={"config": "1cpu"}, load=load, case=number)
        for number, load in enumerate(loads, 1)
    ]
    run = structs.replace(run, results=results, target=Target(name="local", **target))
    tables = reproduce("obenland", [run]).document.tables
    table = next(t for t in tables if t.id == "Figure 6")
    place = next(n for n, s in enumerate(table.systems) if s.kind != "printed")
    item = next(item for item in table.items if item.label == "heavy load")
    return item.cells[place], [table.footnotes[n - 1] for n in item.cells[place].notes]


def test_what_stands_in_for_a_load_is_shown_and_labelled(base_run: Run) -> None:
    cell, notes = _figure_6(base_run, "none", "heavy/reduced")
    assert cell.here
    assert (cell.here.status, cell.here.load) == ("ok", "heavy/reduced")
    assert notes == ["under load heavy/reduced, reduced: no disk, no network, no file search"]
    cell, notes = _figure_6(base_run, "heavy/reduced", "heavy")
    assert cell.here
    assert (cell.here.load, notes) == ("heavy", [])


def test_what_a_model_cannot_know_has_no_number(base_run: Run) -> None:
    cell, notes = _figure_6(base_run, "none", "heavy", detail={"label": "a model"})
    assert cell.here is None
    assert notes == [
        "not modelled: no table has what the load does to a reading of the clock; the prose: close "
        "to 1 s on 1 proc"
    ]


def _on(run: Run, *caps: str, **members: Any) -> Run:
    """Return a run of a system with these capabilities."""
    agent = Agent(
        version="0", source="0", common="0", compiler="", flags="", port="", os="", arch="",
        caps=list(caps),
    )  # fmt: skip
    return structs.replace(run, agent=agent, **members)


def test_a_system_has_no_row_of_what_its_kind_cannot_have(base_run: Run) -> None:
    """An RTOS and a POSIX system make different calls in dk.schedlat."""
    titles = {
        "posix": "Part 2: latency of preemptible kernels, by the system call that is in the way",
        "heap": "Part 2: latency during the long calls of an RTOS",
    }
    runs = [
        _on(base_run, cap, run_id=f"{cap}-0001", name=cap, results=[
            _result(bench="dk.schedlat", params={}, series=series)
        ])
        for cap, series in (("posix", "read"), ("heap", "queue"))
    ]  # fmt: skip
    for run, cap in zip(runs, titles, strict=True):
        tables = {table.title: table for table in reproduce("dankwardt", [run]).document.tables}
        assert [title in tables for title in titles.values()] == [c == cap for c in titles]
        first = tables[titles[cap]].items[0].cells[-1].here
        assert first and (first.status, first.n) == ("ok", 100)
    tables = {table.title: table for table in reproduce("dankwardt", runs).document.tables}
    for title, place in zip(titles.values(), (0, 1), strict=True):
        assert [s.column for s in tables[title].systems if s.kind != "printed"] == [place]
    both = reproduce("dankwardt", [])  # the printed tables alone
    assert set(titles.values()) <= {table.title for table in both.document.tables}


def test_figures_are_of_the_results_of_their_own_table(base_run: Run) -> None:
    """Also behind a table that is left out."""
    result = _result(bench="dk.nanosleep", params={}, load="copy", unit="ns")
    reproduced = reproduce("dankwardt", [_on(base_run, "posix", results=[result])])
    tables = reproduced.document.tables
    (place,) = {table for table, _, _ in reproduced.results if tables[table].figures}
    assert tables[place].title == "nanosleep of 50 ms, deviation by load"


def test_the_guarantee_that_a_run_allows_is_shown_or_why_there_is_none(base_run: Run) -> None:
    def listing(run: Run) -> Listing:
        document = reproduce("dankwardt", [run]).document
        (table,) = [
            t for t in document.tables if t.title.endswith("guarantee that these runs allow")
        ]
        (shown,) = table.listings
        return shown

    nothing = listing(base_run)
    assert nothing.status == "not run"
    assert nothing.reason and "dk.periodic" in nothing.reason
    why = "load copy needs a file system"
    lacking = _result(bench="dk.periodic", params={}, status="unsupported", reason=why, n=0)
    unsupported = listing(structs.replace(base_run, results=[lacking, lacking]))
    assert (unsupported.status, unsupported.reason) == ("unsupported", why)
    result = _result(bench="dk.periodic", params={}, load="copy")
    few = listing(structs.replace(base_run, results=[result]))
    parts = {part: text for part, text in few.rows if part}
    assert few.status == "ok"
    assert parts["latency"] == "nothing is guaranteed"
    assert few.rows[1][0] == "" and few.rows[1][1].startswith("because ")
    assert parts["tested under load copy"].endswith("100 samples")
    assert {"excluded", "violation", "what measurement cannot prove"} <= parts.keys()


def test_a_series_that_a_bench_left_out_has_its_reason(base_run: Run) -> None:
    table_left_out = TextTable(
        "left out", ["series", "what", "why"], [["open", "calls of open", "No such file"]]
    )
    results = [_result(bench="dk.schedlat", params={}, series="read", tables=[table_left_out])]
    document = reproduce("dankwardt", [structs.replace(base_run, results=results)]).document
    table = next(t for t in document.tables if t.id == "part 2 prose")
    cell = {item.label: item.cells[-1].here for item in table.items}["open, close"]
    assert cell and (cell.status, cell.reason) == ("unsupported", "calls of open: No such file")


def test_a_load_whose_name_begins_alike_is_another(base_run: Run) -> None:
    assert _minimal(base_run, "minimal", "min/reduced")[0].status == "not run"


def test_a_result_that_is_not_ok_says_why_under_the_table(base_run: Run) -> None:
    bad = _result(status="unsupported", reason="no semaphores", n=0, params={})
    run = structs.replace(base_run, results=[bad])
    table = next(t for t in reproduce("gutsalov", [run]).document.tables if t.id == "Table 3")
    cell = table.items[0].cells[-1]
    assert cell.here
    assert (cell.here.status, cell.here.values) == ("unsupported", [])
    assert [table.footnotes[n - 1] for n in cell.notes] == ["unsupported: no semaphores"]
    other = structs.replace(run, run_id="b-0002", target=structs.replace(run.target, name="b"))
    both = next(t for t in reproduce("gutsalov", [run, other]).document.tables if t.id == "Table 3")
    assert [each.notes for each in both.items[0].cells[-2:]] == [cell.notes] * 2


def test_an_incomplete_result_keeps_its_number_and_its_mark(base_run: Run) -> None:
    cell = _create(base_run, _result(status="incomplete", reason="load died"))
    assert (cell.status, cell.values[0].value) == ("incomplete", 2.5)


def test_a_slope_is_shown_in_the_unit_of_its_place(base_run: Run) -> None:
    slope = Slope(
        bench="ctx.ballast", load="none", over="ballast", params={"policy": "rr"},
        points=[(0, 500), (33, 500), (65, 600)], slope=1500, ci95=(500, 2500), unit="ns per task",
        constant=False, statistic="min", growth="linear",
    )  # fmt: skip
    params: dict[str, Value] = {"policy": "rr", "state": "ready", "ballast": 33}
    slopes = [
        structs.replace(slope, params={"policy": "fifo"}, slope=7),
        structs.replace(slope, load="min", slope=8),
        structs.replace(slope, bench="sem.wait.busy", slope=9),
    ]
    run = structs.replace(
        base_run, results=[_result(bench="ctx.ballast", params=params)], slopes=[*slopes, slope]
    )
    cell = _column(reproduce("gutsalov", [run]).document, "Table 2", "local, RR")[-1].here
    assert cell and cell.status == "ok"
    value, interval, growth = cell.values
    assert (value.value, value.most, value.unit) == (1.5, None, "us per task")
    assert (interval.value, interval.most, interval.unit) == (0.5, 2.5, "us per task")
    assert (growth.value, growth.unit) == ("linear", None)


# ---- parts of traced samples --------------------------------------------------------------------


def _trace(case: int, lengths: dict[Kind, float], run_id: str = "a-0001") -> Explanation:
    """Return the explanation of a sample whose parts took these times, in ns."""
    segments = [Segment(kind=kind, start=0, length=length) for kind, length in lengths.items()]
    total = sum(lengths.values())
    way = Way(sample=Sample(index=1, at_s=0, value=total, raw=total), segments=segments, stacks=[])
    return Explanation(
        run_id=run_id, target="local", case=case, bench="int.latency.user", params={}, load="min",
        unit="ns", source="trace", sentence="", way=way, functions=[],
    )  # fmt: skip


def _parts(
    run: Run, results: Sequence[Result], *traces: Explanation
) -> list[tuple[Cell, list[str]]]:
    """Return the cells of Figure 1 under minimal load, by part, with their footnotes."""
    run = structs.replace(run, suite="gutsalov", results=list(results))
    document = reproduce("gutsalov", [run], traces=traces).document
    table = next(table for table in document.tables if table.id == "Figure 1")
    place = next(n for n, system in enumerate(table.systems) if system.label == "local, minimal")
    cells = [item.cells[place] for item in table.items]
    return [(cell, [table.footnotes[note - 1] for note in cell.notes]) for cell in cells]


WOKEN: dict[str, Any] = {"bench": "int.latency.user", "params": {}, "load": "min"}


def test_the_parts_of_a_latency_are_those_of_the_traced_samples(base_run: Run) -> None:
    results = [
        _result(**WOKEN, case=1, flags=["traced"]),
        _result(**WOKEN, case=2),
        _result(**(WOKEN | {"load": "driver"}), case=3, flags=["traced"]),
    ]
    cells = _parts(
        base_run, results,
        _trace(
            1, {"irq-delay": 1000, "handler": 2000, "wakeup": 500, "switch": 300, "return": 200}
        ),
        _trace(
            1, {"irq-delay": 3000, "handler": 1000, "irq": 500, "softirq": 1500, "blocking": 4000}
        ),
        _trace(1, {"irq-delay": 2000, "handler": 2500, "task": 7000}),
        _trace(3, {"irq-delay": 9e6}), _trace(1, {"irq-delay": 9e6}, "another-run"),
    )  # fmt: skip
    shown = [
        cell.here and [(value.value, value.unit) for value in cell.here.values] for cell, _ in cells
    ]
    assert shown == [
        [(2, "us"), (3, "us")], None, [(2.5, "us"), (3, "us")], [(4, "us"), (7, "us")],
    ]  # fmt: skip
    first = cells[0][0].here
    assert first and (first.status, first.n, first.flags) == ("ok", 3, ["traced"])


def test_parts_need_a_traced_run_and_one_that_tells_them(base_run: Run) -> None:
    ((untraced, notes), *_) = _parts(base_run, [_result(**WOKEN)])
    assert untraced.here is None  # nothing that a run of the suite lacks
    assert notes == [
        "needs a traced run: rtstone run int.latency.user --load min --trace worst, "
        "named after the publication"
    ]
    bad = _result(**WOKEN, status="unsupported", reason="no tracefs at /sys/kernel/tracing", n=0)
    ((refused, _), *_) = _parts(base_run, [_result(**WOKEN), bad])
    assert refused.here and (refused.here.status, refused.here.reason) == (
        "unsupported", "no tracefs at /sys/kernel/tracing",
    )  # fmt: skip
    ((mute, _), *_) = _parts(base_run, [_result(**WOKEN, flags=["traced"])])
    assert mute.here and mute.here.status == "incomplete"


def test_a_traced_run_is_in_the_column_of_the_system_that_it_traced(base_run: Run) -> None:
    plain = structs.replace(base_run, results=[_result(**WOKEN)], name="plain")
    traced = structs.replace(
        base_run, run_id="b-0002", name="traced", results=[_result(**WOKEN, flags=["traced"])]
    )
    trace = _trace(1, {"irq-delay": 3000}, "b-0002")
    document = reproduce("gutsalov", [plain, traced], traces=[trace]).document
    assert [(c.label, c.runs) for c in document.columns] == [("plain", ["a-0001", "b-0002"])]
    figure = next(table for table in document.tables if table.id == "Figure 1")
    cell = figure.items[0].cells[0].here
    assert cell and [value.value for value in cell.values] == [3, 3]
    alone = structs.replace(traced, target=Target(name="ssh:there"))
    labels = [column.label for column in reproduce("gutsalov", [plain, alone]).document.columns]
    assert labels == ["plain", "traced"]


def test_a_statistic_is_not_of_what_was_measured_while_it_was_traced(base_run: Run) -> None:
    traced = _result(mean=9000.0, flags=["traced"])
    assert _create(base_run, _result(), traced).values[0].value == 2.5
    assert _create(base_run, traced).values[0].value == 9


def test_sums_and_slopes_of_printed_numbers_are_computed() -> None:
    document = reproduce("golatowski", []).document
    table = document.tables[0]
    place = {item.label: n for n, item in enumerate(table.items)}
    sums = {
        system.label: [table.items[place[label]].cells[n].computed for label in ("sum", "of six")]
        for n, system in enumerate(table.systems)
    }
    values = {name: [shown and shown.value for shown in pair] for name, pair in sums.items()}
    assert values == {
        "RMOS3-PC1": [34.6, 6], "RMOS3 for Windows": [161.5, 6],
        "Lynx": ["incomplete", 5], "SORIX (Unix SV Rel. 4)": ["incomplete", 4],
    }  # fmt: skip
    lynx = table.items[place["sum"]].cells[2]
    assert [table.footnotes[n - 1] for n in lynx.notes] == [
        "5 of 6 numbers are printed: no sum of all"
    ]
    document = reproduce("gutsalov", []).document
    for name, slopes in (("Table 2", [0.036487, 0, 0.435281]), ("Table 3", [0.019456, 0, None])):
        growth = next(t for t in document.tables if t.id == name).items[-1]
        computed = [cell.computed and cell.computed.value for cell in growth.cells]
        assert computed == pytest.approx(slopes, abs=1e-6)


def test_a_table_of_texts_is_shown_whole(base_run: Run) -> None:
    groups = TextTable("POSIX.1 metric groups", ["group", "measured by"], [["a", "b"], ["c", "d"]])
    runs = [
        structs.replace(base_run, run_id=f"a-{n}", target=Target(name=f"t{n}"), results=results)
        for n, results in enumerate(
            [
                [_result(bench="posix.metrics", params={}, n=0, tables=[groups])],
                [_result(bench="posix.metrics", params={}, n=0, status="failed", reason="x")],
                [],
            ]
        )
    ]
    table = next(t for t in reproduce("gutsalov", runs).document.tables if t.id == "Groups")
    whole, failed, absent = table.listings
    assert [listing.column for listing in table.listings] == [0, 1, 2]
    assert (whole.status, whole.columns, whole.rows) == ("ok", groups.columns, groups.rows)
    assert (failed.status, failed.reason, failed.rows) == ("failed", "x", [])
    assert absent.status == "not run"
    assert "posix.metrics" in str(absent.reason)


@pytest.mark.parametrize(
    ("mean", "most", "marked"),
    [
        (2500.0, 9000.0, False),
        (2700.0, 26000.0, False),  # 2464.6 without it, which is raised by 9.5%
        (2727.0, 27700.0, True),  # 2474.7, by 10.2%
        (0.0, 0.0, False),
    ],
)
def test_a_mean_that_one_sample_moved_is_marked(
    base_run: Run, mean: float, most: float, marked: bool
) -> None:
    run = structs.replace(base_run, results=[_result(mean=mean, max=most)])
    table = next(t for t in reproduce("gutsalov", [run]).document.tables if t.id == "Table 3")
    notes = [table.footnotes[n - 1] for n in table.items[0].cells[-1].notes]
    assert notes == (["the largest sample alone raises this mean by over 10%"] * marked)


def test_the_documents_say_from_where_a_mean_is_marked() -> None:
    for page in ("reference/rules", "guides/reproduce"):
        text = " ".join((DOCS / f"{page}.md").read_text("utf-8").split())
        assert f"mean that the largest sample alone raises by over {MOVED:.0%}" in text
    assert MOVED == 0.1


def test_simulated_columns_are_models_and_measured_ones_are_not(base_run: Run) -> None:
    figures = {
        "breakdown utilisation": Figure(value=60.0, unit="%"),
        "first miss at": Figure(value=62.0, unit="%"),
        "raw speed": Figure(value=16_000, unit="KWIPS"),
        "duration of a test": Figure(value=1.0, unit="s"),
    }
    params: dict[str, Value] = {"set": "auto", "policy": "rm"}
    run = structs.replace(
        base_run, results=[_result(bench="hart.PH.1", params=params, n=0, figures=figures)]
    )
    document = reproduce("golatowski", [run]).document
    table = next(t for t in document.tables if t.title == "All series, rate monotonic")
    kinds = {system.label: system.kind for system in table.systems}
    assert kinds == {"local, measured": "here", "local, simulated": "model",
                     "local, cost of the OS": "here"}  # fmt: skip
    measured, simulated, gap = (cell.here for cell in table.items[0].cells)
    assert measured and simulated and gap
    assert [(v.value, v.most) for v in measured.values] == [(60.0, 62.0)]
    ends = [value for v in simulated.values for value in (v.value, v.most)]
    assert ends == pytest.approx([100, 102])  # harmonic periods
    assert [(v.value, v.most) for v in gap.values] == [pytest.approx((38, 42))]
    third = next(t for t in document.tables if t.id == "Class 3")
    assert {system.kind for system in third.systems} == {"model"}


def test_a_mean_of_loop_differences_has_its_interval(base_run: Run) -> None:
    classic = _result(bench="rheal.ts", params={"form": "classic"}, ci95={"mean": (2000.0, 3000.0)})
    run = structs.replace(base_run, results=[classic])
    cell = _column(reproduce("golatowski", [run]).document, "Table 1", "local, classic")[1].here
    assert cell
    assert [(v.value, v.most, v.unit) for v in cell.values] == [(2.5, None, "us"), (2.0, 3.0, "us")]
    twice = structs.replace(base_run, results=[classic, classic])
    cell = _column(reproduce("golatowski", [twice]).document, "Table 1", "local, classic")[1].here
    assert cell  # of a mean of two results no interval is known
    assert cell.values[1].value is None


def test_a_number_over_too_few_components_is_marked(base_run: Run) -> None:
    total = _result(bench="rheal.sum_time", params={"form": "sampled", "variant": "rtems"}, n=0,
                    figures={"sum of times": Figure(value=29.0, unit="us")})  # fmt: skip
    for flags, notes in (([], []),
                         (["partial"], ["incomplete, over fewer components than it should "
                                        "have"])):  # fmt: skip
        run = structs.replace(base_run, results=[structs.replace(total, flags=flags)])
        table = reproduce("golatowski", [run]).document.tables[0]
        place = [system.label for system in table.systems].index("local, sampled")
        cell = next(item for item in table.items if item.label == "sum").cells[place]
        assert [table.footnotes[n - 1] for n in cell.notes] == notes


def test_the_published_experiment_is_rate_monotonic_and_no_other_policy_is_in_its_cells(
    base_run: Run,
) -> None:
    """FreeRTOS has no scheduling by deadline, and all of PH-1 under the published policy."""
    own: dict[str, Value] = {"set": "auto"}
    speed = {"raw speed": Figure(value=100.0, unit="KWIPS")}
    measured = _result(bench="hart.PH.1", params={**own, "policy": "rm"}, figures=speed, n=0)
    why = "needs deadline: FreeRTOS schedules by fixed priorities"
    lacking = _result(bench="hart.PH.1", params={**own, "policy": "edf"}, status="unsupported",
                      reason=why, n=0)  # fmt: skip
    run = structs.replace(base_run, suite="golatowski", results=[measured, lacking],
                          conditions={"board": "virt-a53"})  # fmt: skip
    tables = reproduce("golatowski", [run]).document.tables
    published = [table for table in tables if table.id in {"Table 2", "Figures 2 and 3"}]
    here = [c.here for t in published for i in t.items for c in i.cells if c.here and c.here.n == 0]
    assert {cell.status for cell in here if cell.results} == {"ok"}
    assert why not in [cell.reason for cell in here]
    (edf,) = (table for table in tables if table.title.startswith("Periodic series, earliest"))
    assert [c.here.reason for c in edf.items[0].cells if c.here] == [why] * 3
    (platform,) = (table for table in tables if table.title == "Test platform")
    (cell,) = (c.here for c in platform.items[0].cells if c.here)
    assert cell.values[0].value == "virt-a53"


def test_a_run_named_twice_is_refused(base_run: Run) -> None:
    with pytest.raises(UsageError, match="named twice"):
        reproduce("gutsalov", [base_run, base_run])


def test_missed_activations_are_counted_in_and_told(base_run: Run) -> None:
    omitted = Distribution(
        n=150,
        min=1000.0,
        mean=4500.0,
        sd=1.0,
        p50=2500.0,
        p90=8500.0,
        p99=None,
        p999=None,
        p9999=None,
        max=9000.0,
        histogram=[(2500.0, 100), (8500.0, 50)],
    )
    lossy = _result(missed=50, corrected=omitted)
    document = reproduce("gutsalov", [structs.replace(base_run, results=[lossy])]).document
    cell = _column(document, "Table 3", "local")[0]
    assert cell.here
    assert (cell.here.n, cell.here.missed) == (100, 50)
    assert cell.here.values[0].value == 4.5
    table = next(table for table in document.tables if table.id == "Table 3")
    footnotes = [table.footnotes[number - 1] for number in cell.notes]
    assert footnotes == ["missed 50 of 150 activations, which the statistics include"]
    assert _create(base_run, _result()).missed is None
