from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.documents.run import Distribution, Figure, Result, Run, Slope, Target, Value
from rtstone.report.parts import frame, shapes
from rtstone.report.parts.bars import bars
from rtstone.report.parts.typeset import quantity, typeset
from rtstone.report.run import html
from rtstone.summary import COLUMNS, LABELS
from rtstone.wire.records import Bench, Param
from tests.report.synthetic import HOSTILE, answer, compose, instructions, run, unprivileged
from tests.report.test_hartstone import ROWS
from tests.report.test_hartstone import result as experiment

pytestmark = pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
LIMIT = 1_500_000


class Reader(HTMLParser):
    """Collect the elements, attributes and text that a browser sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)
        else:
            self.words.append(data)

    @property
    def data(self) -> Any:
        """Return the data that the page's script reads."""
        return unpacked(self.scripts[0])

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True)))


@pytest.fixture(scope="module")
def full() -> Run:
    return run()


@pytest.fixture(scope="module")
def text(full: Run) -> str:
    return compose([full])


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    return Reader(text)


def test_of_the_headline_only_the_first_sentence_is_bold() -> None:
    short = Result(case=0, bench="dk.periodic", params={"period": 10**6}, load="none", status="ok",
                   n=5000, flags=["no_rt"], missed=0, max=3.2e6, p50=900.0)  # fmt: skip
    trial = msgspec.structs.replace(run(), results=[short], slopes=[])
    (says,) = re.findall(r'<p class="says">(.*?)</p>', compose([trial]), re.DOTALL)
    first, _, further = says.partition(' <span class="further">')
    assert first.endswith("privileges.") and further.startswith("This grants them: ")


def test_loads_nothing(page: Reader) -> None:
    assert page.attributes("src") == []
    assert all(link.startswith(("#", "data:")) for link in page.attributes("href"))
    style = next(w for w in page.words if "--paper" in w)
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a for a in page.attributes("content") if "default-src" in a)
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_size(text: str, full: Run) -> None:
    assert len(full.results) == 60
    assert len(text.encode()) <= LIMIT


def test_hostile_strings_are_text(text: str, page: Reader) -> None:
    assert [tag for tag, _ in page.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert "\u2028" not in page.scripts[0]
    assert "{{7*7}}" in text
    assert any(HOSTILE in w for w in page.words)


def test_embedded_data_is_packed_without_markup() -> None:
    data = {HOSTILE: [HOSTILE, "<!--", "&", 1.5, None]}
    packed = frame.embed(data)
    assert unpacked(packed) == data
    assert not set(packed) & set("<>&\u2028\u2029")
    with pytest.raises(ValueError, match="JSON"):
        frame.embed([float("nan")])


def test_every_result_has_its_row_and_section(page: Reader, full: Run) -> None:
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    for index, result in enumerate(full.results):
        assert f"r0-{index}" in ids
        assert any(result.bench in w for w in page.words)
    links = {link[1:] for link in page.attributes("href") if link.startswith("#")}
    assert links <= set(ids)


def test_the_columns_of_results_are_those_of_the_table_of_statistics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html, "COLUMNS", COLUMNS | {"p90": "p90"})
    page = Reader(compose([run()]))
    tables = [at for at, (_, attrs) in enumerate(page.tags) if attrs.get("class") == "results"]
    for at, end in pairwise([*tables, len(page.tags)]):
        part = page.tags[at:end]
        body = next(place for place, (tag, _) in enumerate(part) if tag == "tbody")
        columns = sum(tag == "th" for tag, _ in part[:body])
        assert sum(int(attrs.get("span") or 1) for tag, attrs in part if tag == "col") == columns
        spans = {attrs["colspan"] for _, attrs in part if "colspan" in attrs}
        assert spans <= {str(columns - 1)}


def test_every_picture_has_a_name_and_its_data(page: Reader) -> None:
    data = page.data
    pictures = [attrs for _, attrs in page.tags if "data-chart" in attrs]
    inside = {f"{key}-{kind}" for key, d in data["details"].items() for kind in d["charts"]}
    views = {view for output in page.attributes("data-views") for view in output.split()}
    assert {p["data-chart"] for p in pictures} | views | inside == set(data["charts"])
    assert all(p["role"] == "img" and p["aria-label"] for p in pictures)


def test_details_say_without_script_what_is_missing(page: Reader) -> None:
    assert "noscript" in [tag for tag, _ in page.tags]
    assert any("are built by this page" in w for w in page.words)


def table(data: dict[str, Any], key: str, caption: str) -> dict[str, tuple[Any, ...]]:
    """Return the rows of a table inside a detail, by their names."""
    for form, *columns in data["details"][key]["tables"]:
        title, _, names = data["forms"][form]
        if title == caption:
            return dict(zip(names, zip(*columns, strict=True), strict=True))
    raise AssertionError(caption)


def test_tables_of_a_detail(page: Reader, full: Run) -> None:
    data = page.data
    late = next(i for i, r in enumerate(full.results) if r.missed)
    rows = table(data, f"r0-{late}", "Statistics")
    assert list(rows) == ["n", *LABELS.values()]
    assert rows["n"] == ("12\u202f288", "12\u202f296", "")
    assert rows["p50"][2].count("µs") == 2
    assert rows["p99.99"][0] == ["not enough samples"]
    batched = next(i for i, r in enumerate(full.results) if r.batch > 1)
    assert table(data, f"r0-{batched}", "Statistics")["max"][0] == [
        "batched: no time of a single call"
    ]


def test_parameters_are_told_as_a_person_writes_them() -> None:
    bench = Bench(
        "mem.memset", "memset",
        params=[Param("size", "size", "B", 64), Param("touch", "bool", default=True)],
    )  # fmt: skip
    params: dict[str, Value] = {"size": 16384, "touch": False}
    result = Result(case=0, bench="mem.memset", params=params, load="none", status="ok")
    slope = Slope(
        bench="mem.memset", load="none", over="size", params={"touch": False}, slope=0.5,
        points=[(64.0, 1.0), (1024.0, 500.0), (65536.0, 9e3)], ci95=(0.4, 0.6), unit="ns per B",
        constant=False,
    )  # fmt: skip
    reader = Reader(compose([run(results=[result], slopes=[slope], benches=[bench])]))
    data = reader.data
    assert table(data, "r0-0", "Parameters") == {"size": ("16KiB",), "touch": ("off",)}
    assert "size=16KiB touch=off" in reader.words
    assert "mem.memset touch=off" in reader.words
    assert data["charts"]["r0-slope-0"]["names"] == ["64B", "1KiB", "64KiB"]


def test_what_was_too_large_for_a_batched_histogram_is_drawn() -> None:
    result = Result(
        case=0, bench="x.y", params={}, load="none", status="ok", n=10, batch=4, overflow=2,
        min=5.0, raw_min=40.0, raw_max=4000.0, histogram=[(5.0, 8)],
    )  # fmt: skip
    assert shapes.samples(result) == [(5.0, 8), (995.0, 1)]
    unknown = msgspec.structs.replace(result, raw_max=None)
    assert shapes.samples(unknown) == [(5.0, 8), (5.0, 1)]
    assert shapes.undrawn(unknown) == 1


def test_header_cells_say_what_they_head(page: Reader) -> None:
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.tags if tag == "th")


def test_extremes_survive_thinning(page: Reader, full: Run) -> None:
    charts = page.data["charts"]
    for index, result in enumerate(full.results):
        if result.trace and len(result.trace.rows) > 1:
            rows = charts[f"r0-{index}-trace"]["rows"]
            assert len(rows) <= 4 * shapes.TRACE_MOST
            assert max(rows[3::4]) == pytest.approx(result.max, rel=5e-4)
        if result.histogram:
            _, flat = charts[f"r0-{index}-histogram"]["series"][-1]
            assert sum(flat[1::2]) == result.n - shapes.undrawn(result)


def test_what_is_beyond_the_histogram_has_no_place_but_the_maximum() -> None:
    """96.5% within; the curve stops there, and the bars have one sample at the maximum."""
    cut = Result(
        case=0, bench="cyclictest", params={}, load="none", status="ok", n=1000, overflow=35,
        min=5e3, max=4e6, histogram=[(5e3, 900), (9e3, 65)],
    )  # fmt: skip
    assert shapes.samples(cut) == [(5e3, 900), (9e3, 65), (4e6, 1)]
    values = shapes.curve(shapes.samples(cut), cut.n)
    last = max(i for i, value in enumerate(values[:-1]) if value is not None)
    assert 10 ** (-last / shapes.CURVE_STEPS) > 0.035 > 10 ** (-(last + 1) / shapes.CURVE_STEPS)
    assert values[last] == 9e3 and values[-1] == 4e6
    assert bars(cut, 3)[-1] == "not drawn: 34 samples beyond the histogram, below the maximum"


def test_curve_ends_at_the_maximum() -> None:
    values = shapes.curve([(1.0, 900), (5.0, 99), (80.0, 1)], 1000)
    assert values[0] == 1
    assert values[-1] == 80
    assert all(value is not None for value in values)
    assert values == sorted(value for value in values if value is not None)
    assert len(values) == 3 * shapes.CURVE_STEPS + 1
    assert values[shapes.CURVE_STEPS + 1] == 5


def test_nulls_and_empty_runs() -> None:
    bare = Result(case=0, bench="x.y", params={"a": None}, load="none", status="ok")
    single = Result(case=1, bench="x.z", params={}, load="none", status="ok", n=3)
    odd = msgspec.structs.replace(single, histogram=[(0.0, 3)], min=0.0, max=0.0, mean=0.0)
    below = msgspec.structs.replace(single, histogram=[(-2.0, 3)], min=-2.0, max=-2.0)
    for results in ([], [bare], [single], [odd, below], [bare, single, odd, below]):
        text = compose([run(1, results=results, slopes=[], conditions={}, clock=None)])
        assert Reader(text).data["charts"] is not None
        assert "None" not in Reader(text).words


def test_lack_of_rights_and_incompleteness_come_first() -> None:
    words = " ".join(Reader(compose([unprivileged()])).words)
    for alarm in (
        "Measured without real-time scheduling and locked memory.",
        "55 of 55 results ran without real-time scheduling",
        "This run is incomplete",
    ):
        assert words.index(alarm) < words.index("The worst findings")


def test_lack_of_rights_is_told_where_nothing_could_run() -> None:
    result = Result(case=0, bench="x.y", params={}, load="none", status="unsupported")
    refused = run(results=[result], slopes=[], conditions={"rights.realtime": False})
    output = " ".join(Reader(compose([refused])).words)
    assert "Measured without real-time scheduling." in output
    assert "The target gave no right to real-time scheduling." in output


def test_instructions_are_never_told_as_time() -> None:
    reader = Reader(compose([instructions()]))
    words = " ".join(w for w in reader.words if "--paper" not in w)
    assert "Counted in instructions, not in time." in words
    assert not re.search(r"\d[\u202f ](ns|µs|ms|s)\b", words)


def test_the_answer_comes_first_and_leads_to_its_evidence(page: Reader, full: Run) -> None:
    output = answer(full)
    text = "".join(page.words)
    assert 0 < text.index(typeset(output.verdict)) < text.index("What was measured")
    worst = output.worst[0].evidence
    first = page.attributes("href").index(f"#r0-{worst}")
    assert first < page.attributes("href").index("#r0-0")
    assert "#r0-growth" in page.attributes("href")


def test_several_runs_on_one_page(full: Run) -> None:
    reader = Reader(compose([full, instructions()]))
    ids = reader.attributes("id")
    assert len(ids) == len(set(ids))
    assert {"r0-0", "r1-0"} <= set(ids)


def test_a_page_of_many_results_is_light() -> None:
    """As many results as in the suite full, each shaped like a real one."""
    base = run(3000)
    many = [msgspec.structs.replace(r, case=i) for i, r in enumerate(base.results * 3)][:147]
    assert len(compose([run(results=many)]).encode()) <= LIMIT


def test_a_map_holds_every_block_maximum_in_its_place(full: Run, page: Reader) -> None:
    late = next(i for i, r in enumerate(full.results) if r.missed)
    chart, output = page.data["charts"][f"r0-{late}-heat"], full.results[late].blocks
    assert output
    cells = [chart["cells"][at : at + 3] for at in range(0, len(chart["cells"]), 3)]
    assert sum(n for _, _, n in cells) == len(output.max) == chart["blocks"]
    grid = chart["grid"]
    worst = max(range(len(output.max)), key=lambda at: output.max[at])
    (top,) = [c for c in cells if c[1] == max(row for _, row, _ in cells)]
    assert top[0] == worst // chart["each"]
    edges = [10 ** (grid["start"] + (top[1] + k) * grid["width"]) for k in (0, 1)]
    assert edges[0] * 0.999 <= output.max[worst] <= edges[1] * 1.001


def test_worst_samples_stand_on_the_trace(full: Run, page: Reader) -> None:
    late = next(i for i, r in enumerate(full.results) if r.missed)
    flat = page.data["charts"][f"r0-{late}-trace"]["worst"]
    assert flat[:2] == [
        float(f"{v:.4g}") for w in full.results[late].worst[:1] for v in (w.at_s, w.value)
    ]
    assert len(flat) == 2 * len(full.results[late].worst)


def test_a_comparison_of_many_results_leaves_them_to_the_pages_of_their_runs() -> None:
    base = run(20)
    many = [msgspec.structs.replace(r, case=i) for i, r in enumerate(base.results * 2)]
    runs = [run(20, results=many, run_id=f"run-{name}", target=Target(name=name)) for name in "ab"]
    text = compose(runs)
    page = Reader(text)
    ids = page.attributes("id")
    assert "compared-table" in ids
    assert "r0-0" not in ids
    assert {"r0-conditions", "r1-conditions"} <= set(ids)
    assert {link[1:] for link in page.attributes("href") if link.startswith("#")} <= set(ids)
    assert "rtstone report run-b -o run.html" in text


def test_several_runs_share_the_budget_of_traces() -> None:
    single = run(20).results
    assert shapes.trace_budget([]) == shapes.TRACE_MOST
    assert shapes.trace_budget([*single] * 20) < shapes.trace_budget(single)


def test_missing_bundle_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "BUNDLE", tmp_path / "charts.js")
    with pytest.raises(frame.MissingBundleError, match="make charts"):
        compose([])


def test_the_first_chart_is_the_distribution_of_the_worst_wakeup(full: Run, page: Reader) -> None:
    """That of the result itself, not another drawing of it; before any table of results."""
    late = next(i for i, r in enumerate(full.results) if r.missed)
    ids = page.attributes("data-chart")
    assert ids[0] == f"r0-over-{late}-histogram"  # the same case ran on two CPUs
    chart = page.data["charts"][ids[0]]
    names = [name for name, _ in chart["series"]]
    assert names == ["cpu 2", "cpu 3"]
    for (_, flat), r in zip(chart["series"], full.results[late : late + 2], strict=True):
        assert sum(flat[1::2]) == r.n
    marked = [name for name in COLUMNS.values() if name != "min"]
    assert [[name for name, _ in marks] for marks in chart["points"]] == [marked] * 2
    assert any(f"{', '.join(marked[:-1])}, maximum of" in text for text in page.words)
    corrected = {
        place: r.corrected.n
        for place, r in enumerate(full.results[late : late + 2])
        if r.missed and r.corrected
    }
    assert {i: sum(flat[1::2]) for i, flat in chart["corrected"]} == corrected
    curve = page.data["charts"][ids[0].replace("histogram", "percentiles")]
    assert {i: n for i, n, _ in curve["corrected"]} == corrected
    output = " ".join(page.words)
    assert "Pale: with what 8 missed activations (cpu 2) add." in output
    with_missed = full.results[late].corrected
    assert with_missed
    assert f"cpu 2 with these: {percentiles_of(with_missed)}." in output


@pytest.mark.parametrize(
    ("conditions", "name", "title"),
    [
        ({"machine.host": "bench-3"}, None, "bench-3: local"),
        ({"machine.host": "bench-3", "cpu.model": "Ryzen"}, "tuned", "tuned, bench-3: Ryzen"),
        ({"machine.host": "(none)"}, None, "local"),
        ({"machine.host": "d3adb33f0a1b"}, None, "local"),
        ({}, "tuned", "tuned: local"),
    ],
)
def test_the_title_names_the_machine(
    conditions: dict[str, Value], name: str | None, title: str
) -> None:
    single = Run(
        run_id="r", created="c", status="complete", target=Target(name="local"), results=[],
        name=name, conditions=conditions,
    )  # fmt: skip
    assert html.title(single) == title


def percentiles_of(distribution: Distribution) -> str:
    """Return what a caption has beyond the median."""
    values = (distribution.p99, distribution.p999, distribution.max)
    named = zip(("p99", "p99.9", "max"), values, strict=True)
    return ", ".join(f"{name} {quantity(v, 'ns')}" for name, v in named if v is not None)


def test_what_repetitions_missed_is_drawn_behind_what_they_observed() -> None:
    """Of repetitions only some of which missed something, nothing is left out of either."""
    base = run(200)
    late = next(r for r in base.results if r.missed)
    assert late.corrected
    lines = [("none", late), ("heavy", late)]
    none = {"missed": 0, "corrected": None}
    lines += [("heavy", msgspec.structs.replace(late, **none))]
    lines += [("light", msgspec.structs.replace(late, missed=3, corrected=None))]
    results = [msgspec.structs.replace(r, case=i, load=load) for i, (load, r) in enumerate(lines)]
    reader = Reader(compose([run(20, results=results, slopes=[])]))
    chart = reader.data["charts"][reader.attributes("data-chart")[0]]
    corrected_n = late.corrected.n
    assert [(i, sum(flat[1::2])) for i, flat in chart["corrected"]] == [
        (0, corrected_n), (1, corrected_n + late.n),
    ]  # fmt: skip
    output = " ".join(reader.words)
    missed = f"(cpu 2, load none: {late.missed}; cpu 2, load heavy: {late.missed})"
    assert f"with what 16 missed activations {missed} add." in output
    assert "Not in these curves: 3 missed activations (cpu 2, load light)." in output


def test_one_wakeup_is_drawn_with_what_its_misses_add() -> None:
    base = run(20)
    late = [msgspec.structs.replace(r, case=0) for r in base.results if r.missed]
    reader = Reader(compose([run(20, results=late, slopes=[])]))
    assert reader.attributes("data-chart")[0] == "r0-0-histogram"
    output = " ".join(reader.words)
    assert late[0].corrected
    added = f"With what 8 missed activations add: {percentiles_of(late[0].corrected)}. n"
    assert added in output
    assert "max 8.01\u202fms" in output
    (opened,) = [attrs for _, attrs in reader.tags if attrs.get("id") == "r0-0"]
    assert "open" in opened  # so few results are open from the start


def test_loads_are_laid_one_over_the_other_and_repetitions_are_one_line() -> None:
    base = run(200)
    pick = next(r for r in base.results if r.bench == "sem.wait.busy")
    loads = ["none", "heavy", "none", "heavy"]
    results = [
        msgspec.structs.replace(r, case=i, load=load)
        for i, (r, load) in enumerate(zip([pick] * 4, loads, strict=True))
    ]
    (first, *_), charts = drawn(results)
    assert [(name, sum(flat[1::2])) for name, flat in charts[first]["series"]] == [
        ("load none", 400), ("load heavy", 400),
    ]  # fmt: skip


def test_a_page_of_hartstone_begins_with_its_table() -> None:
    experiments = {
        "hart.PH.1": {
            "breakdown utilisation": 98.0,
            "first miss at": 100.0,
            "final test at": 104.0,
        },
        "hart.AH.1": {"no breakdown up to": 21.8, "final test at": 21.8},
    }
    results = [
        Result(case=i, bench=bench, params={}, load="none", status="ok",
               figures={name: Figure(value=v, unit="%") for name, v in figures.items()},
               flags=["cut_short"] if i else [], tables=experiment(bench, ROWS).tables)
        for i, (bench, figures) in enumerate(experiments.items())
    ]  # fmt: skip
    reader = Reader(compose([run(20, results=results, slopes=[])]))
    ids = reader.attributes("id")
    assert ids.index("r0-hartstone") < ids.index("r0-curves") < ids.index("r0-table")
    output = [word.strip().replace("\u202f", " ") for word in reader.words]
    assert "1 of 2 did not break down within its tests: hart.AH.1." in output
    assert "none up to 21.8 %" in output
    assert "cut_short" in output[: output.index("Results", output.index("first miss at"))]
    shown = reader.attributes("data-chart")
    assert shown[:2] == ["r0-0-deadlines", "r0-1-deadlines"]  # no distribution is put before them


def test_a_command_can_be_copied_from_a_phrase() -> None:
    output = "No verdict, n = 1 000: no rights. This grants them: start --ulimit memlock=-1 <x>"
    assert frame.commands(output) == (
        "No verdict, n\u00a0=\u00a01\u202f000: no rights. This grants them: "
        '<code class="copy">start <span class="word">--ulimit</span> memlock=-1 &lt;x&gt;</code>'
    )
    assert frame.commands("as `a --b=-1`, -2") == (
        'as <code>a <span class="word">--b=-1</span></code>, \u22122'
    )
    assert frame.commands("It is unknown: rtstone compare --run A B") == (
        'It is unknown: <code class="copy">rtstone compare <span class="word">--run</span> A B'
        "</code>"
    )
    assert frame.commands("<b>: done") == "&lt;b&gt;: done"


def test_without_distributions_the_first_chart_is_of_ranges() -> None:
    output = [
        Result(case=i, bench="cyclictest", params={}, series=f"thread {i}", load="unknown",
               status="ok", n=40, min=5.0, mean=9.0, max=90.0 + i)
        for i in range(2)
    ]  # fmt: skip
    (first, *_), charts = drawn(output)
    assert charts[first]["kind"] == "ranges"
    assert [row["at"][-1] for row in charts[first]["rows"]] == [90, 91]


def drawn(results: list[Result]) -> tuple[list[str], dict[str, Any]]:
    """The ids of the charts of a page, in order, and their data."""
    reader = Reader(compose([run(20, results=results, slopes=[])]))
    return reader.attributes("data-chart"), reader.data["charts"]
