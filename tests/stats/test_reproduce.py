from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.reproduction import Cell, Found, Printed, Reproduction, Table
from rtstone.documents.run import Distribution, Result, Run
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.stats import published
from rtstone.stats.published import layout
from rtstone.stats.published.layout import Here
from rtstone.stats.reproduce import reproduce
from rtstone.targets import find
from rtstone.wire import parameters as benches
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import TextTable
from tests.conftest import Cli

SOURCES = layout.names()


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
    records = published.find(source=source)
    assert [record for record in records if placed[id(record)] != 1] == []
    assert placed.total() == len(records)


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
    for table in layout.layout(source).table:
        for item in table.item:
            for axis in table.variant or [layout.Axis(label="")]:
                if item.here is not None:
                    place = item.here.within(axis.here.within(table.here))
                    yield f"{table.title}, {item.label} {axis.label}", place


@pytest.mark.parametrize("source", SOURCES)
def test_the_suite_runs_what_the_layout_looks_for(source: str, here: Catalogue) -> None:
    wanted = suite.select(layout.layout(source).suites, here.benches)
    expanded = suite.expand(wanted, Request(), here)
    cases = [(c.bench, c.load, c.params) for c in [*expanded.cases, *expanded.derived]]
    derived = {case.bench for case in expanded.derived}  # with parameters of others
    for place, wanted_cell in _wanted(source):
        assert wanted_cell.show, place
        if not wanted_cell.bench or wanted_cell.bench in derived:
            assert wanted_cell.bench in {"", *derived}, place
            continue
        table = here.benches[wanted_cell.bench]
        params = {k: benches.values(table, k, v)[0] for k, v in wanted_cell.params.items()}
        defaults = {param.name: param.default for param in table.params}
        fitting = [
            load for bench, load, case in cases
            if bench == wanted_cell.bench and params.items() <= (defaults | case).items()
        ]  # fmt: skip
        assert fitting, place
        assert not wanted_cell.load or wanted_cell.load in fitting, place


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
LOCAL = ["dk.lat_ctx", "posix.metrics", "posix.options", "sys.footprint"]
SIMULATED = {
    "a breakdown": ["hart.PH.1", "-p", "set=golatowski", "-p", "duration=2s"],
    "none": ["hart.PH.1", "--time", "0.5"],
    "a pointer": ["ipc.srsr", "-p", "mechanism=mailbox", "-p", "samples=5"],
    "the others": ["dk.irqsoff", "mq.throughput", "rheal.mean_rate", "rheal.rate", "rheal.sum_time",
                   "rheal.weighted_rate", "rheal.weighted_time", "sched.bg50.half", "sync.test3",
                   "-p", "time=1s"],
    "the application-specific rate": ["rheal.mean_rate", "-p", "weight_il=2"],
}  # fmt: skip


def test_every_figure_and_table_that_is_shown_is_told_by_its_bench(cli: Cli) -> None:
    runs = [_measure(cli, "sim:rmos3-pc1", *simulated) for simulated in SIMULATED.values()]
    runs.append(_measure(cli, "local", *LOCAL, "-p", "samples=5"))
    own: dict[str, set[str]] = {"sys.footprint": {"image", "kernel, code"}}  # on a board, to root
    for result in (result for run in runs for result in run.results):
        columns = {f"{t.title}/{column}" for t in result.tables for column in t.columns}
        own.setdefault(result.bench, set()).update(result.figures, columns)
    for source in SOURCES:
        for place, wanted_cell in _wanted(source):
            for show in wanted_cell.show:
                if not isinstance(show, str) and (show.figure or show.table):
                    table = [f"{show.table}/{show.column}"] if show.table else []
                    assert {*show.figure, *table} <= own[wanted_cell.bench], place


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
            value = printed.printed[0].value
            assert isinstance(value, float)
            assert _value(cell) == pytest.approx(value, abs=0.051)
            assert cell.here
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
    from rtstone.documents.run import Target

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
    assert notes == ["local: under load min:place=any"]


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


def test_a_series_that_the_system_does_not_have_was_run_all_the_same(base_run: Run) -> None:
    """An RTOS and a POSIX system make different calls in dk.schedlat."""
    results = [_result(bench="dk.schedlat", params={}, series=name) for name in ("read", "scan")]
    document = reproduce("dankwardt", [structs.replace(base_run, results=results)]).document
    table = next(t for t in document.tables if t.id == "part 2 prose")
    cell = {item.label: item.cells[-1].here for item in table.items}
    assert {label for label, here in cell.items() if here and here.status == "ok"} == {
        "read", "directory scan",
    }  # fmt: skip
    heap = cell["heap"]
    assert heap and (heap.status, heap.reason) == (
        "unsupported", "its dk.schedlat has read, scan and no other series",
    )  # fmt: skip


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
    assert [table.footnotes[n - 1] for n in cell.notes] == ["local: unsupported: no semaphores"]


def test_an_incomplete_result_keeps_its_number_and_its_mark(base_run: Run) -> None:
    cell = _create(base_run, _result(status="incomplete", reason="load died"))
    assert (cell.status, cell.values[0].value) == ("incomplete", 2.5)


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
    assert footnotes == ["local: missed 50 of 150 activations, which the statistics include"]
    assert _create(base_run, _result()).missed is None
