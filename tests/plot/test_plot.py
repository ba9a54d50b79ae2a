"""Figures for papers: what is drawn is what the documents hold, and it fits into a column."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.reproduction import (
    Cell,
    Column,
    Found,
    Item,
    Printed,
    Reproduction,
    Shown,
    System,
    Table,
)
from rtstone.documents.reproduction import Figure as Drawing
from rtstone.documents.run import Distribution, Figure, Grid, Result, Run, Target, Trace, Value
from rtstone.errors import Inconclusive, UsageError
from rtstone.plot import axes as looks_of
from rtstone.plot import draw
from rtstone.plot.choose import MOST, subject
from rtstone.plot.draw import FORMATS, Plot, Request, plot, render
from rtstone.plot.publication import Publication
from rtstone.results.histogram import Histogram
from rtstone.results.omitted import whole
from rtstone.results.pool import percentiles
from rtstone.stats.published.layout import names
from rtstone.summary import PERCENTILES
from rtstone.wire.buckets import index_of
from rtstone.wire.records import Bench, Param
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.formats.long import DATA, run_of
from tests.formats.test_export import own
from tests.formats.test_import import cyclictest_json
from tests.report.test_hartstone import ROWS
from tests.report.test_hartstone import result as experiment

GRID = Grid(bits=7, per_tick=1.0, overhead=0)


def distribution(values: Sequence[int]) -> dict[str, Any]:
    """Return the members of a distribution that a recorder of ns makes of these values."""
    counts = sorted(Counter(index_of(value, 7) for value in values).items())
    points = Histogram(len(values), sum(values), min(values), max(values), 7, counts).points()
    expected = percentiles(points, len(values), 0)
    ends = {"min": float(min(values)), "max": float(max(values))}
    return {"n": len(values), "histogram": points, "mean": None, "sd": None, **ends, **expected}


def drawn_at(seed: int, n: int = 4000) -> list[int]:
    draws = np.random.default_rng(seed)
    return [int(v) for v in draws.lognormal(9 + seed / 4, 0.4, n)]


def result(seed: int, **members: Any) -> Result:
    values = drawn_at(seed)
    rows = [(float(k), 10, 1000.0 + k, 2000.0 + k, 3000.0 * (k + 1)) for k in (0, 1, 4, 5)]
    texts: dict[str, Any] = {
        "case": 1, "bench": "dk.periodic", "params": {"period": 10**6}, "load": "none",
        "status": "ok", "grid": GRID, "missed": 0, "evidence": {"section_ns": 4 * 10**9},
        "trace": Trace(width_s=1.0, rows=rows), **distribution(values),
    }  # fmt: skip
    return Result(**texts | members)


def run(*results: Result, **members: Any) -> Run:
    measured_run = Run(
        run_id="20260102-030405.006-own-ab12", created="2026-01-02T03:04:05+00:00",
        status="complete", target=Target(name="local"), results=list(results),
    )  # fmt: skip
    return structs.replace(measured_run, **members)


def stalled(seed: int = 5) -> Result:
    """Return a result of which 50 activations were omitted."""
    samples = [*drawn_at(seed), *(100_000 * k for k in range(1, 51))]
    return result(seed, missed=50, corrected=Distribution(**distribution(samples)))


def loads() -> Run:
    return run(result(1), result(2, load="heavy"), stalled())


def patches(drawn: Plot) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return values and edges of each curve, as matplotlib has them; an empty column is 0.

    On the observed samples of a column stand those that were computed, in a hatched area of their
    own that has the colour of the curve.  Thin lines are of observed samples alone.
    """
    (axes,) = drawn.figure.axes
    steps = [p for p in axes.patches if type(p).__name__ == "StepPatch"]
    areas = {p.get_edgecolor(): p.get_data() for p in steps if p.get_hatch()}
    curves = []
    for patch in steps:
        if patch.get_fill() or patch.get_linewidth() == draw._ALONE:
            continue
        values, edges, _ = patch.get_data()
        values = np.where(np.equal(values, 0.5), 0, values)
        if (area := areas.get(patch.get_edgecolor())) is not None:
            values = np.where(np.isnan(area.values), values, area.values)
        curves.append((values, edges))
    return curves


# ---- what is drawn is what the documents hold ---------------------------------------------------


def check_counted(result: Result, values: Any, edges: Any, factor: float) -> None:
    """Check that each column holds the samples of the buckets that lie in it."""
    points = whole(result).histogram
    positive = [(value, count) for value, count in points if value / factor >= edges[0]]
    texts = np.histogram(
        [value / factor for value, _ in positive], edges, weights=[count for _, count in positive]
    )[0]
    assert values.tolist() == texts.tolist()
    assert sum(values) == sum(count for _, count in points)


def test_a_histogram_counts_what_the_document_counts() -> None:
    drawn = plot([loads()], Request())
    curves = patches(drawn)
    assert len(curves) == 3
    for result, (values, edges) in zip(loads().results, curves, strict=True):
        check_counted(result, values, edges, 1000)  # µs
        widths = np.log10(edges[1:] / edges[:-1])[values > 0]
        assert max(widths) < 1.2 * np.median(widths) + 0.01
    assert "+ 50 omitted" in drawn.caption[2]
    assert (drawn.figure.axes[0].get_xscale(), drawn.figure.axes[0].get_yscale()) == ("log", "log")


def test_observed_and_computed_samples_have_areas_of_their_own() -> None:
    """Below is what was observed; on it, hatched, what was computed for omitted activations."""
    drawn = plot([run(stalled())], Request())
    filled = [p for p in drawn.figure.axes[0].patches if p.get_fill()]
    assert [bool(patch.get_hatch()) for patch in filled] == [False, True]
    below, above = (patch.get_data() for patch in filled)
    ((total, edges),) = patches(drawn)
    counts = np.where(np.equal(below.values, 0.5), 0, below.values)
    assert below.edges.tolist() == above.edges.tolist() == edges.tolist()
    assert sum(counts) == 4000 and sum(total) == 4050
    added = ~np.isnan(above.values)
    assert added.any() and (total[added] > counts[added]).all()
    assert (total[~added] == counts[~added]).all()
    assert above.baseline.tolist() == below.values.tolist()
    assert title(drawn) == "no load, n = 4 000 + 50 omitted"
    assert legend(drawn) == ["observed", "omitted, computed", "maximum"]
    assert drawn.caption[-2].endswith(
        "hatched: what was computed for activations that were omitted"
    )
    assert legend(plot([run(result(1))], Request())) == ["maximum"]


def test_the_observed_samples_are_stronger_than_computed_ones() -> None:
    """What was observed is the evidence: dark, with a full line; what was computed is white."""
    from matplotlib.colors import rgb_to_hsv, to_rgb

    drawn = plot([run(stalled())], Request())
    observed, computed = (p for p in drawn.figure.axes[0].patches if p.get_fill())
    (line,) = (p for p in drawn.figure.axes[0].patches if not p.get_fill())
    assert rgb_to_hsv(to_rgb(computed.get_facecolor())).tolist() == [0, 0, 1]
    assert sum(to_rgb(observed.get_facecolor())) < 2.5
    assert computed.get_linewidth() < line.get_linewidth()


def test_the_line_of_observed_samples_alone_has_the_colour_of_its_curve() -> None:
    both = run(stalled(), structs.replace(stalled(6), load="heavy"))
    drawn = plot([both], Request("percentiles"))
    steps = drawn.figure.axes[0].patches
    thin = [p for p in steps if p.get_linewidth() == draw._ALONE]
    assert [p.get_data().edges[-1] for p in thin] == [400.0, 400.0]  # 1/(1-q) of 4000 samples
    assert [p.get_edgecolor() for p in thin] == [p.get_edgecolor() for p in steps if p not in thin]
    assert legend(drawn)[-1] == "observed alone"
    lines = plot([run(stalled())], Request("percentiles"))
    assert legend(lines) == ["omitted included", "observed alone", "maximum"]


def test_curves_of_which_one_lacks_what_the_others_include_say_so() -> None:
    theirs = json.loads(cyclictest_json([{28: 9000}]))
    theirs["thread"]["0"] |= {"cycles": 9002, "max": 3250, "avg": 28.5}
    colleague = structs.replace(run_of(json.dumps(theirs).encode()), name="colleague")
    counted = structs.replace(run_of(cyclictest_json([{28: 9000, 3250: 2}])), name="before")
    drawn = plot([colleague, counted], Request())
    name = "colleague"
    assert drawn.caption[2] == (
        f"not like the others: {name} lacks the activations that late wake-ups hid, which its "
        "tool does not count; the others include them"
    )
    assert drawn.caption[3] == (
        f"not drawn: 2 samples of {name} beyond its histogram, up to 3.25 ms"
    )
    assert not any("not like" in line for line in plot([colleague], Request()).caption)
    assert not any(line.startswith("not ") for line in plot([counted], Request()).caption)


@pytest.mark.parametrize("name", ["cyclictest-2.4-h.txt", "rteval.xml", "rtla-timerlat.txt"])
def test_a_histogram_of_another_tool(name: str) -> None:
    imported = run_of((DATA / name).read_bytes())
    drawn = plot([imported], Request())
    wanted = [r for r in imported.results if r.bench in {"cyclictest", "timerlat.thread"} and r.n]
    for bar, (values, edges) in zip(wanted, patches(drawn), strict=True):
        check_counted(bar, values, edges, 1000)
        if bar.overflow:
            assert any(f", {bar.overflow} beyond" in line for line in drawn.caption)


def test_what_is_not_above_zero_has_a_column_of_its_own() -> None:
    below = structs.replace(result(1), histogram=[(-30.0, 4), (0.0, 3), (1000.0, 3993)])
    ((values, edges),) = patches(plot([run(below)], Request()))
    assert (values[0], sum(values)) == (7, 4000)
    assert 0 < edges[0] < edges[1] <= 1.0


def test_percentiles_are_those_of_the_document_up_to_what_n_supports() -> None:
    drawn = plot([loads()], Request("percentiles"))
    for result, (values, edges) in zip(loads().results, patches(drawn), strict=True):
        whole_run = whole(result)
        for name, share in PERCENTILES.items():
            over = 10_000 / (10_000 - share)
            place = int(np.searchsorted(edges, over * (1 - 1e-12))) - 1
            if getattr(whole_run, name) is not None:
                assert values[place] * 1000 == pytest.approx(getattr(whole_run, name))
            else:
                assert over > edges[-1]
        assert edges[-1] == whole_run.n / 10
    marks = [line.get_ydata()[0] * 1000 for line in drawn.figure.axes[0].lines]
    assert marks == pytest.approx([result.max for result in loads().results])
    labels = [text.get_text() for text in drawn.figure.axes[0].get_xticklabels()]
    assert labels == ["50", "90", "99"]  # p99.9 needs 10 000


def test_a_timeline_is_the_trace_with_its_gaps() -> None:
    drawn = plot([run(result(1))], Request("timeline"))
    line, mean = drawn.figure.axes[0].lines
    times, highs = (np.asarray(d, float) for d in line.get_data())
    trace = result(1).trace
    assert trace is not None
    for start, _, _, average, high in trace.rows:
        inside = np.flatnonzero(times == start)[-1]
        assert highs[inside] * 1000 == high
        assert np.asarray(mean.get_ydata(), float)[inside] * 1000 == average
    assert np.isnan(highs[np.flatnonzero(times == 2.0)[-1]])  # nothing from 2 s to 4 s
    with pytest.raises(
        UsageError, match=r"no trace of dk\.periodic, for a figure of kind timeline"
    ):
        plot([run(result(1, trace=None))], Request("timeline"))


def hartstone(number: int, *values: tuple[str, float | None]) -> Run:
    results = [
        Result(
            case=k, bench=f"hart.PH.{k}", params={}, load="none", status="ok",
            figures={name: Figure(value=value, unit="%")},
        )
        for k, (name, value) in enumerate(values, 1)
    ]  # fmt: skip
    return run(*results, run_id=f"run-{number}", target=Target(name=f"board {number}"))


def test_maxima_are_those_of_the_documents_in_the_row_of_their_load() -> None:
    """A run may lack a load, and have one that none before it has."""
    other = run(result(4), result(5, load="exit"), run_id="20260102-030405.007-own-ab12")
    drawn = plot([loads(), other], Request("maxima"))
    (axes,) = drawn.figure.axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows == ["no load", "heavy", "exit"]
    assert axes.get_xscale() == "log" and axes.get_ylim()[0] > axes.get_ylim()[1]
    for drawn_run, marks in zip((loads(), other), axes.lines, strict=True):
        wanted = [
            (r.max / 1000, rows.index("no load" if r.load == "none" else r.load))
            for r in drawn_run.results if r.max
        ]  # fmt: skip
        assert list(zip(*marks.get_data(), strict=True)) == wanted
    marks = {(line.get_marker(), line.get_color()) for line in axes.lines}
    assert len(marks) == 2
    with pytest.raises(UsageError, match="9 runs are too many"):
        plot([run(result(k), run_id=f"r{k}") for k in range(9)], Request("maxima"))


def test_breakdowns_are_the_figures() -> None:
    first = hartstone(1, ("breakdown utilisation", 64.5), ("no breakdown up to", 98.0))
    other = hartstone(2, ("breakdown utilisation", 71.25), ("breakdown utilisation", None))
    (axes,) = (drawn := plot([first, other], Request("breakdown"))).figure.axes
    widths = sorted(bar.get_width() for bar in axes.patches if bar.get_width())
    assert widths == [64.5, 71.25, 98.0]
    labels = [text.get_text() for text in axes.texts]
    assert sorted(labels) == ["64.5", "71.2", "> 98", "?"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["PH.1", "PH.2"]
    assert legend(drawn) == ["board 1", "board 2"]
    with pytest.raises(UsageError, match="no Hartstone experiment in run 2026"):
        plot([loads()], Request("breakdown"))


def test_an_experiment_with_two_policies_has_two_bars() -> None:
    edf = [structs.replace(r, params={"policy": "edf"}) for r in _experiments(91.8)]
    fifo = [structs.replace(r, params={"policy": "fifo"}) for r in _experiments(99.8)]
    (axes,) = plot([run(*edf, *fifo)], Request("breakdown")).figure.axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["PH.1 policy=edf", "PH.1 policy=fifo"]
    assert len({bar.get_y() for bar in axes.patches if bar.get_width()}) == 2


def _experiments(value: float) -> list[Result]:
    return hartstone(1, ("breakdown utilisation", value)).results


# ---- what runs are about ------------------------------------------------------------------------


def component(name: str, time: float, **members: Any) -> Result:
    values: dict[str, Any] = {"mean": time, "max": 2 * time, "p50": time, "n": 100}
    base: dict[str, Any] = {
        "case": 1, "bench": f"rheal.{name}", "params": {}, "load": "none", "status": "ok",
    }  # fmt: skip
    return Result(**base | values | members)


def rhealstone(**members: Any) -> Run:
    results = [
        component("ts", 1500.0), component("il", 4000.0), component("ts", 3000.0, load="heavy"),
        component("db", 0.0, status="unsupported", mean=None, max=None, p50=None, n=0),
    ]  # fmt: skip
    return run(*results, suite="rhealstone", **members)


def test_components_are_bars_of_means_with_their_maxima() -> None:
    drawn = plot([rhealstone()], Request("components"))
    (axes,) = drawn.figure.axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["interrupt latency", "task switch", "deadlock breaking"]  # Golatowski's order
    assert sorted(bar.get_width() for bar in axes.patches) == [1.5, 3.0, 4.0]
    assert sorted(line.get_xdata()[0] for line in axes.lines) == [3.0, 6.0, 8.0]
    assert sorted(text.get_text() for text in axes.texts) == ["1.5", "3", "4", "n.e."]
    assert legend(drawn) == ["no load", "load heavy", "maximum"]
    (axes,) = plot([rhealstone()], Request("components", loads=["heavy"])).figure.axes
    assert [bar.get_width() for bar in axes.patches] == [3.0]
    with pytest.raises(UsageError, match=r"no component of Rhealstone in run .*`rtstone run rheal"):
        plot([loads()], Request("components"))
    with pytest.raises(UsageError, match="under load idle"):
        plot([rhealstone()], Request("components", loads=["idle"]))


def test_batched_components_have_the_maximum_of_single_calls() -> None:
    single = component("ts", 1000.0, max=9000.0)
    batched = component("ts", 1000.0, batch=100, max=None, single=single)
    (axes,) = plot([run(batched)], Request("components")).figure.axes
    assert [line.get_xdata()[0] for line in axes.lines] == [9.0]


@pytest.mark.parametrize(
    ("runs", "kind"),
    [
        ([loads()], "histogram"),
        ([hartstone(1, ("breakdown utilisation", 64.5))], "breakdown"),
        ([rhealstone()], "components"),
        ([rhealstone(), hartstone(1, ("breakdown utilisation", 64.5))], "histogram"),
        ([run(result(1), *rhealstone().results)], "histogram"),
        ([run(result(1), suite="obenland")], "publication"),
        ([run(result(1), suite="obenland"), run(result(1), suite="dankwardt")], "histogram"),
        ([run(result(1), suite="mine")], "histogram"),
    ],
)
def test_a_plot_is_of_what_its_runs_are_about(runs: list[Run], kind: str) -> None:
    assert subject(runs, names(), None, ()) == kind
    assert subject(runs, names(), "dk.periodic", ()) == "histogram"
    assert subject([run(result(1), suite="obenland")], names(), None, ["none"]) == "histogram"


def published(cells: Sequence[Cell], *figures: Drawing, **members: Any) -> Publication:
    systems = [System(label="Lynx", kind="printed"), System(label="here", kind="here", column=0)]
    items = [Item(label="post", unit="us", cells=list(cells), at=1.0)]
    table = Table(
        id="Table 1", title="Semaphores", stub="", unit="us", form="", across=True,
        systems=systems, items=items, figures=list(figures),
    )  # fmt: skip
    column = Column(label="here", kind="here", target="local", unit="ns", runs=["r1"], created="")
    document = Reproduction(
        source="obenland", title="Real-time", publication="", platform="", printed="2001",
        suites=["obenland"], columns=[column], tables=[table],
    )  # fmt: skip
    return Publication(document, members.get("results", {}))


def cell(value: float, unit: str = "us") -> Cell:
    return Cell(here=Found(status="ok", values=[Shown(value=value, unit=unit)]))


def printed(value: float) -> Cell:
    record = {"source": "obenland", "table": "Table 1", "system": "", "metric": "", "condition": ""}
    return Cell(printed=[Printed(**record, value=value, unit="us", quality="transcribed")])


def test_figures_of_a_publication_have_its_numbers_and_todays() -> None:
    bars = Drawing(kind="bars", title="Figure 7a: worst case")
    published_ = published([printed(6.0), cell(2.5)], bars)
    drawn = plot([], Request("publication", publication=published_))
    (axes,) = drawn.figure.axes
    assert sorted(bar.get_width() for bar in axes.patches) == [2.5, 6.0]
    assert legend(drawn) == ["Lynx (printed)", "here (here)"]
    assert "drawn: Figure 7a: worst case" in drawn.caption and "here (here): r1" in drawn.caption
    other = Drawing(kind="bars", title="Figure 8", value=1)
    both = published([printed(6.0), cell(2.5)], bars, other)
    caption = plot([], Request("publication", publication=both)).caption
    assert "not drawn: Figure 8; see `rtstone reproduce -o page.html`" in caption
    with pytest.raises(UsageError, match=r"unknown figure 'figure 7b'.*did you mean 'Figure"):
        plot([], Request("publication", publication=both, figure="figure 7b"))
    with pytest.raises(UsageError, match="no figure of obenland has a number to draw"):
        plot([], Request("publication", publication=both, figure="figure 8"))


@pytest.mark.parametrize("kind", ["bars", "curves", "trace"])
def test_a_system_that_counts_instructions_has_axes_of_its_own(
    kind: Literal["bars", "curves", "trace"],
) -> None:
    counted = structs.replace(result(1), unit="instructions")
    both = published(
        [printed(6.0), cell(2.5, "instructions")], Drawing(kind=kind, title="Figure 7a"),
        results={(0, 0, 0): [result(1)], (0, 0, 1): [counted]},
    )  # fmt: skip
    timed, apart = plot([], Request("publication", publication=both)).figure.axes
    titles = [axes.get_title(loc="left").partition(":")[0] for axes in (timed, apart)]
    assert titles == ["Figure 7a", "Figure 7a, in instructions"]
    if kind == "bars":
        assert [[bar.get_width() for bar in axes.patches] for axes in (timed, apart)] == [
            [6.0], [2.5],
        ]  # fmt: skip
        return
    heights = [[line.get_ydata().max() for line in axes.lines] for axes in (timed, apart)]
    assert heights == ([[6.0], [2.5]] if kind == "curves" else [[18.0], [18_000.0]])


def test_lines_of_a_publication() -> None:
    over_time = Drawing(kind="trace", title="Figures 2 to 6")
    results = {(0, 0, 1): [result(1)]}
    traced = published([printed(6.0), cell(2.5)], over_time, results=results)
    (axes,) = plot([], Request("publication", publication=traced)).figure.axes
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [0.0, 1.0, 4.0, 5.0]
    assert line.get_ydata().tolist() == [3.0, 6.0, 15.0, 18.0]  # µs: 3000 ns times 1, 2, 5, 6
    growth = Drawing(kind="curves", title="Figure 7", over="tasks")
    (axes,) = plot(
        [], Request("publication", publication=published([printed(6.0), cell(2.5)], growth))
    ).figure.axes
    assert sorted(line.get_ydata()[0] for line in axes.lines) == [2.5, 6.0]


def test_deadlines_and_lateness_of_an_experiment_are_over_its_utilisation() -> None:
    drawings = [Drawing(kind="deadlines", title="Figure 2"), Drawing(kind="lateness", title="F. 3")]
    results = {(0, 0, 1): [experiment("hart.PH.1", ROWS)]}
    drawn = published([Cell(), cell(1.0, "KWIPS")], *drawings, results=results)
    plotted = plot([], Request("publication", publication=drawn))
    missed, late = plotted.figure.axes
    assert [axes.get_title(loc="left") for axes in (missed, late)] == [
        "Figure 2: here",
        "F. 3: here",
    ]
    assert missed.lines[0].get_xdata().tolist() == [20, 30, 60, 70]
    shares = [line.get_ydata().tolist() for line in missed.lines]
    assert shares[0] == [0, 0, 75, 0]
    assert [str(share) for share in shares[1]] == ["nan", "0.0", "0.0", "nan"]
    assert [text.get_text() for text in missed.get_legend().get_texts()] == [
        "task 1", "task 2", "task 3 sporadic",
    ]  # fmt: skip
    assert late.lines[0].get_ydata().tolist() == [0, 0, pytest.approx(0.032), 0]  # ms
    assert (missed.get_ylim()[0], late.get_ylim()[0]) == (0, 0)
    (above,) = missed.child_axes
    assert [text.get_text() for text in above.get_xticklabels()] == [
        "8 Hz",
        "9 Hz",
        "12 Hz",
        "16 Hz",
    ]
    assert not plotted.figure.legends  # of systems there are none
    clean = published([Cell(), cell(1.0)], *drawings, results={
        (0, 0, 1): [experiment("hart.PH.1", ROWS[:4])]
    })  # fmt: skip
    with pytest.raises(UsageError, match="no figure of obenland has a number to draw"):
        plot([], Request("publication", publication=clean))


def test_a_figure_without_printed_numbers_says_so() -> None:
    drawing = Drawing(kind="lateness", title="Figure 3")
    both = published([Cell(), cell(1.0)], drawing, results={
        (0, 0, 1): [experiment("hart.PH.1", ROWS)]
    })  # fmt: skip
    remark = "of today's runs alone, as no printed number is known: Figure 3"
    assert remark not in plot([], Request("publication", publication=both)).caption
    (table,) = both.document.tables
    own = structs.replace(table, systems=[structs.replace(s, kind="here") for s in table.systems])
    alone = both._replace(document=structs.replace(both.document, tables=[own]))
    assert remark in plot([], Request("publication", publication=alone)).caption


def test_a_publication_without_figures_has_bars_of_its_tables() -> None:
    bare = published([printed(6.0), cell(2.5)])
    (axes,) = plot([], Request("publication", publication=bare)).figure.axes
    assert sorted(bar.get_width() for bar in axes.patches) == [2.5, 6.0]
    assert axes.get_title(loc="left") == "Semaphores"


# ---- names, choice ------------------------------------------------------------------------------


def legend(drawn: Plot) -> list[str]:
    """Return the entries of the legend, with plain blanks."""
    texts = (text.get_text() for text in drawn.figure.legends[0].get_texts())
    return [text.replace("\u202f", " ") for text in texts]


def title(drawn: Plot) -> str:
    """Return the line above the entries of the legend."""
    text: str = drawn.figure.legends[0].get_title().get_text()
    return text.replace("\u202f", " ")


def test_the_legend_says_what_tells_curves_from_each_other() -> None:
    """What all have in common stands above it, once."""
    drawn = plot([loads()], Request())
    assert legend(drawn) == [
        "no load, n = 4 000", "load heavy, n = 4 000", "no load, n = 4 000 + 50 omitted",
        "omitted, computed",
    ]  # fmt: skip
    assert title(drawn) == ""
    cpus = plot([run(result(1, series="CPU 0"), result(2, series="CPU 1"))], Request())
    assert (legend(cpus), title(cpus)) == (["CPU 0", "CPU 1"], "no load, n = 4 000 each")
    periods = plot([run(result(1), result(2, params={"period": 2 * 10**6}))], Request())
    assert legend(periods) == ["period=1000000", "period=2000000"]
    kernels = [
        run(result(k), run_id=f"run {k}", conditions={"kernel.release": f"6.{k}-rt"})
        for k in (1, 2)
    ]
    assert legend(plot(kernels, Request())) == ["Linux 6.1-rt", "Linux 6.2-rt"]
    alike = [run(result(1), run_id=f"run {k}") for k in (1, 2)]
    assert legend(plot(alike, Request()))[1] == "local run 2"
    late = [run(stalled(k), run_id=f"run {k}") for k in (1, 2)]
    drawn = plot(late, Request())
    assert legend(drawn)[:2] == ["local run 1, 50 omitted", "local run 2, 50 omitted"]
    assert title(drawn) == "no load, n = 4 050 each"
    assert legend(plot(late, Request("timeline"))) == ["local run 1", "local run 2"]


def test_what_curves_have_in_common_has_their_parameters_and_load() -> None:
    """A reader of a paper does not know the default of the period."""
    period = Param("period", "duration", "ns", 10**6)
    touch = Param("touch", "bool", default=True)
    table = Bench("dk.periodic", "A periodic task", params=[period, touch])

    def drawn(*params: dict[str, Any]) -> Plot:
        results = [result(1, params=own, load="heavy") for own in params]
        runs = [run(r, run_id=f"r{k}", benches=[table]) for k, r in enumerate(results)]
        return plot(runs, Request())

    usual = {"period": 10**6, "touch": True}
    both = drawn(usual, usual)
    assert title(both) == "period=1ms, load heavy, n = 4 000 each"
    assert legend(both) == ["local r0", "local r1"]
    assert title(drawn(usual)) == "period=1ms, load heavy, n = 4 000"
    other = {"period": 250_000, "touch": False}
    both = drawn(other, {**other, "touch": True})
    assert title(both) == "period=250us, load heavy, n = 4 000 each"
    assert legend(both) == ["local r0, touch=off", "local r1, touch=on"]


def test_the_caption_says_what_was_measured_and_when() -> None:
    conditions: dict[str, Value] = {
        "kernel.name": "Linux",
        "kernel.release": "6.1-rt",
        "cpu.model": "A72",
    }
    both = [run(result(k), run_id=f"r{k}", conditions=conditions) for k in (1, 2)]
    caption = plot(both, Request()).caption
    assert caption[-1] == "measured: Linux 6.1-rt, A72, 2026-01-02; run r1, r2"


class Named(Run, frozen=True, kw_only=True):
    """A run that its user gave a name."""

    name: str | None = None


def test_a_run_is_called_as_its_user_called_it() -> None:
    members = structs.asdict(loads()) | {"results": [result(1)]}
    runs = [Named(**members | {"run_id": name, "name": name}) for name in ("stock", "tuned")]
    assert legend(plot(runs, Request())) == ["stock", "tuned"]
    unnamed = [runs[0], Named(**members)]
    assert legend(plot(unnamed, Request()))[1] == "local"


def test_of_too_many_the_largest_are_drawn_and_it_is_said() -> None:
    many = run(*(result(k, series=f"CPU {k}") for k in range(12)), result(1, status="failed"))
    drawn = plot([many], Request())
    assert len(patches(drawn)) == MOST
    assert drawn.caption[-4] == "left out: 4 results with smaller maxima; choose with --load"
    assert drawn.caption[-3] == "left out: 1 result not valid, see `rtstone show`"
    largest = sorted(many.results[:12], key=lambda r: r.max or 0)[-MOST:]
    assert {line.split(",")[0] for line in legend(drawn)} == {r.series for r in largest}
    assert not any("computed" in line for line in legend(drawn))
    assert title(drawn) == "no load, n = 4 000 each"


@pytest.mark.parametrize(
    ("run_request", "says"),
    [
        (Request(bench="dk.periodik"), "unknown bench 'dk.periodik'.*did you mean 'dk.periodic'"),
        (Request(loads=["hevy"]), "unknown load 'hevy'.*did you mean 'heavy'"),
    ],
)
def test_what_cannot_be_chosen(run_request: Request, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plot([loads()], run_request)


def test_where_there_is_nothing_to_draw() -> None:
    with pytest.raises(UsageError, match=r"no valid result of dk\.periodic: it broke"):
        plot([run(result(1, status="failed", reason="it broke"))], Request())
    measured_run = run(result(1, bench="sem.post"), result(1, bench="sem.wait"))
    with pytest.raises(UsageError, match=r"choose with --bench: sem\.post, sem\.wait"):
        plot([measured_run], Request())
    assert len(patches(plot([measured_run], Request(bench="sem.wait")))) == 1
    with pytest.raises(UsageError, match="results in instructions and ns have no axis in common"):
        plot([run(result(1), result(2, unit="instructions"))], Request())
    few = structs.replace(result(1), n=9, histogram=[(1000.0, 9)])
    with pytest.raises(Inconclusive, match=r"9 samples of dk\.periodic, too few for a percentile"):
        plot([run(few)], Request("percentiles"))


@pytest.mark.parametrize("kind", ["histogram", "percentiles"])
def test_statistics_alone_are_no_distribution(kind: str) -> None:
    statistics = run_of((DATA / "cyclictest-2.4-q.txt").read_bytes())
    with pytest.raises(UsageError, match=r"statistics only, of cyclictest thread 0: .*histogram"):
        plot([statistics], Request(kind))


def test_odd_documents_are_drawn() -> None:
    """Fractions of ns, samples beyond the histogram, names with quotes, buckets without edges."""
    for kind in ("histogram", "percentiles"):
        assert render(plot([own()], Request(kind)), "svg")
    odd = structs.replace(result(1), histogram=[(900.0, 4000)], min=900.0, max=900.0)
    assert render(plot([run(odd)], Request()), "svg")


def test_names_are_text_whatever_they_hold() -> None:
    texts = ["command:echo $HOME", "command:$a$b^2", "<b>&amp;", "負荷", "a\nb"]
    drawn = plot([run(*(result(k, load=load) for k, load in enumerate(texts)))], Request())
    assert legend(drawn)[1].replace("\\$", "$") == "load command:$a$b^2"
    text = render(drawn, "svg").decode()
    assert "<b>" not in text
    assert render(drawn, "png")
    bars = structs.replace(hartstone(1, ("breakdown utilisation", 5.0)), target=Target(name="$x$"))
    assert render(
        plot([bars, hartstone(2, ("breakdown utilisation", 5.0))], Request("breakdown")), "svg"
    )


def test_means_of_several_operations_have_no_tail() -> None:
    batched = structs.replace(result(1), batch=100, max=None, p999=None, p9999=None)
    drawn = plot([run(batched)], Request("percentiles"))
    ((_, edges),) = patches(drawn)
    assert edges[-1] == pytest.approx(100)  # the 99th percentile
    assert not drawn.figure.axes[0].lines


def test_an_axis_says_what_is_measured() -> None:
    def title(result: Result, name: str = "Hand-over of a mutex") -> str:
        texts = run(result, benches=[Bench(result.bench, name)])
        text: str = plot([texts], Request()).figure.axes[0].get_xlabel()
        return text

    assert title(result(1)) == "wake-up latency (µs)"
    assert title(result(1, bench="dk.latencytest")) == "Hand-over of a mutex (µs)"
    assert title(result(1, bench="sem.post"), "x" * 99) == "sem.post (µs)"
    assert title(result(1, unit="instructions")) == "wake-up latency (k instr)"
    with pytest.raises(UsageError, match=r"no samples of hart\.PH\.1 in run run-1, in --bench"):
        plot([hartstone(1, ("breakdown utilisation", 5.0))], Request(bench="hart.PH.1"))


# ---- the file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["histogram", "percentiles", "timeline"])
def test_everything_fits_into_a_column_and_can_be_read(kind: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    long = "heavy:disk=off,irq=external and the stress of a compiler beside it"
    named = [structs.replace(r, load=f"{long} {k}") for k, r in enumerate(loads().results)]
    drawn = plot([run(*named)], Request(kind))
    canvas = FigureCanvasAgg(drawn.figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    width, height = canvas.get_width_height()
    box = drawn.figure.axes[0].get_window_extent()
    for text in drawn.figure.findobj(Text):
        at = text.get_window_extent()
        middle = ((at.x0 + at.x1) / 2, (at.y0 + at.y1) / 2)
        beyond = middle[0] > box.x1 + 1 or middle[0] < 0  # a tick that is not drawn
        beyond |= middle[1] > box.y1 + 1 and middle[0] < box.x0
        if text.get_visible() and text.get_text() and not beyond:
            assert not re.search(r"(n =|\d)\n", text.get_text())
            assert text.get_fontsize() >= 6
            assert at.x0 >= -1 and at.x1 <= width + 1 and at.y1 <= height + 1, text
    (legend_box,) = (legend.get_window_extent() for legend in drawn.figure.legends)
    assert legend_box.y0 >= drawn.figure.axes[0].get_window_extent().y1 - 1
    size = drawn.figure.get_size_inches() * 25.4
    assert size[0] == pytest.approx(84)


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.1, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("kind", ["histogram", "percentiles"])
def test_axes_have_ticks_that_say_a_number(spread: float, kind: str) -> None:
    draws = np.random.default_rng(1).lognormal(10, spread, 4000)
    spread_result = structs.replace(result(1), **distribution([int(v) for v in draws]))
    (axes,) = plot([run(spread_result)], Request(kind)).figure.axes
    axes.figure.canvas.draw()
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        places = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        labels = [label.get_text() for at, label in places if low <= at <= high]
        assert 2 <= len(labels) == len(set(labels)) <= 10 and all(labels), (spread, labels)
        assert len({"$" in label for label in labels}) == 1, labels  # of one notation


def test_maxima_of_one_decade_have_ticks_that_say_a_number() -> None:
    """From 240 to 5530 µs there is one power of ten."""
    ends = [result(k, load=str(k), max=value) for k, value in enumerate((240e3, 5530e3))]
    (axes,) = plot([run(*ends)], Request("maxima")).figure.axes
    axes.figure.canvas.draw()
    low, high = axes.get_xlim()
    places = zip(axes.xaxis.get_majorticklocs(), axes.xaxis.get_majorticklabels(), strict=True)
    labels = [label.get_text() for at, label in places if low <= at <= high]
    assert labels == ["500", "1000", "2000", "5000"]


def test_the_number_of_a_bar_stands_beside_it_and_not_at_its_maximum() -> None:
    """Unless both are so near that they would touch."""
    drawn = plot([run(component("ts", 1000.0, max=9000.0), component("il", 9000.0, max=9001.0))],
                 Request("components"))  # fmt: skip
    places = {text.get_text(): text.xy[0] for text in drawn.figure.axes[0].texts}
    assert places == {"1": 1.0, "9": pytest.approx(9.001)}


def test_a_legend_takes_a_quarter_of_a_column_s_figure_at_most() -> None:
    """Of two runs of which one had omitted activations."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    named = [
        run(result(1, load="heavy"), run_id="a", target=Target(name="stock")),
        run(structs.replace(stalled(), load="heavy"), run_id="b", target=Target(name="tuned")),
    ]
    for kind in ("histogram", "percentiles"):
        figure = plot(named, Request(kind)).figure
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
        (entries,) = figure.legends
        lines = {round(text.get_window_extent().y0) for text in entries.get_texts()}
        assert len(lines) < len(entries.get_texts()) == 3
        assert entries.get_window_extent().height < 0.25 * figure.bbox.height
        assert figure.axes[0].get_window_extent().height > 0.55 * figure.bbox.height


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_run_gives_the_same_bytes(form: str) -> None:
    first = render(plot([loads()], Request()), form)
    assert first == render(plot([loads()], Request()), form)
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert first.startswith(begins[form])
    assert not re.search(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}T|CreationDate", first)
    if form == "svg":
        (texts,) = re.findall(rb'<svg [^>]*?width="([0-9.]+)pt"', first)
        assert float(texts) == pytest.approx(84 / 25.4 * 72)


def test_curves_differ_in_grey_too() -> None:
    looks = [str(dashes) for _, dashes in looks_of.LOOKS]
    assert len(looks_of.LOOKS) == len(set(looks_of.MARKS)) == MOST
    for a in range(4):  # of four curves no two have the same dashes
        assert looks.index(looks[a]) == a
    assert (
        len({(color, dashes) for (color, _), dashes in zip(looks_of.LOOKS, looks, strict=True)})
        == MOST
    )


def test_matplotlib_is_imported_only_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import rtstone.cli.plot, rtstone.api, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("version", [None, "3.6.3"])  # not installed; Debian 12's
def test_without_a_matplotlib_that_works_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    def version_of(name: str) -> str:
        assert name == "matplotlib"
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", version_of)
    texts = f"here is {version}" if version else "which is not installed"
    wheel = r"install it with: pip install 'rtstone\[plot\]'$"
    with pytest.raises(UsageError, match=rf"needs matplotlib 3.9 or newer, {texts}; {wheel}"):
        plot([loads()], Request())
    monkeypatch.setattr(draw, "PACKAGED", Path(draw.__file__).parent)  # as the package is installed
    with pytest.raises(UsageError, match=rf"{texts}; .*plot/bin/pip install rtstone-\*\.whl m"):
        plot([loads()], Request())


def test_the_extra_asks_for_the_matplotlib_that_a_plot_needs() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert extras["plot"] == [f"matplotlib>={'.'.join(map(str, draw.OLDEST))}"]


# ---- the command --------------------------------------------------------------------------------


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    name = store_run(loads())
    out = tmp_path / "figure.svg"
    done = cli("plot", name, "-o", out, "--width", "3.5in", "--height", "60mm", "--load", "heavy")
    assert (done.status, done.err) == (0, "")
    first, caption, *_ = done.out.splitlines()
    assert first.startswith(f"{out}: ")
    assert caption.startswith("load heavy, n = 4 000: dk.periodic, load heavy, over 4.00 s, p50 ")
    size = re.search(r'width="([0-9.]+)pt" height="([0-9.]+)pt"', out.read_text())
    assert size and math.isclose(float(size[1]), 3.5 * 72)
    assert math.isclose(float(size[2]), 60 / 25.4 * 72, rel_tol=1e-6)
    for kind in ("histogram", "percentiles", "timeline", "maxima"):
        assert cli("plot", name, "--kind", kind, "-o", tmp_path / "a.pdf").status == 0
    wrong = cli("plot", name, "--kind", "publication", "-o", tmp_path / "a.pdf")
    assert (wrong.status, wrong.out) == (2, "")
    assert "no runs of one publication's suite, in --kind publication" in wrong.says
    wrong = cli("plot", name, "--figure", "7a", "-o", tmp_path / "a.pdf")
    assert wrong.status == 2 and "--figure selects figures of a publication" in wrong.says


def test_the_command_draws_a_session_and_last_is_all_of_it(cli: Cli, tmp_path: Path) -> None:
    ids = [f"20260102-030405.006-own-ab12-{number:02}" for number in (1, 2, 3)]
    for number, run_id in enumerate(ids, 1):
        members = {"run_id": run_id, "session": "20260102-030405.006-own-ab12"}
        store_run(run(result(number), target=Target(name=f"board-{number}"), **members))
    for name in ("last", "20260102-030405.006-own-ab12"):
        done = cli("plot", name, "-o", tmp_path / "a.svg")
        assert done.status == 0
        assert all(f"run {run_id}" in done.out for run_id in ids)
    done = cli("plot", ids[1], "-o", tmp_path / "a.svg")
    assert [run_id in done.out for run_id in ids] == [False, True, False]


def test_the_command_draws_what_a_run_is_about(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    done = cli("plot", store_run(rhealstone()), "-o", out)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].startswith("Rhealstone: the mean of each component (µs)")
    done = cli("plot", store_run(hartstone(1, ("breakdown utilisation", 5.0))), "-o", out)
    assert done.out.splitlines()[1].startswith("Hartstone: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "a.jpg"], "no format of 'a.jpg', in -o; write a name that ends in .svg or"),
        (["-o", ""], "empty file name, in -o"),
        (["-o", "a.svg", "--kind", "histogramm"], "did you mean 'histogram'?"),
        (["-o", "a.svg", "--width", "84"], "bad length '84', in --width; write 30mm to 1000mm"),
        (["-o", "a.svg", "--height", "9m"], "bad length '9m', in --height"),
        (["-o", "a.svg", "--width", "1mm"], "bad length '1mm'"),
    ],
)
def test_wrong_use(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("plot", store_run(loads()), *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.says
    assert not list(tmp_path.glob("*.svg"))
