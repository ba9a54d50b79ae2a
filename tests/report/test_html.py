from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from rtstone.model.documents import Result, Run
from rtstone.report import html
from tests.report.synthetic import HOSTILE, instructions, run, unprivileged

pytestmark = pytest.mark.skipif(not html.BUNDLE.exists(), reason="no charts.js; run: make charts")
LIMIT = 1_500_000


class Reader(HTMLParser):
    """The elements, attributes and text that a browser would see."""

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

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]


@pytest.fixture(scope="module")
def full() -> Run:
    return run()


@pytest.fixture(scope="module")
def text(full: Run) -> str:
    return html.compose([full])


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    return Reader(text)


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


def test_embedded_data_is_json_without_markup() -> None:
    data = {HOSTILE: [HOSTILE, "<!--", "&", 1.5, None]}
    found = html.embed(data)
    assert json.loads(found) == data
    assert not set(found) & set("<>&\u2028\u2029")


def test_every_result_has_its_row_and_section(page: Reader, full: Run) -> None:
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    for index, result in enumerate(full.results):
        assert f"r0-{index}" in ids
        assert any(result.bench in w for w in page.words)
    links = {link[1:] for link in page.attributes("href") if link.startswith("#")}
    assert links <= set(ids)


def test_every_picture_has_a_name_and_its_data(page: Reader) -> None:
    data = json.loads(page.scripts[0])["charts"]
    pictures = [attrs for _, attrs in page.tags if "data-chart" in attrs]
    assert {p["data-chart"] for p in pictures} == set(data)
    assert all(p["role"] == "img" and p["aria-label"] for p in pictures)


def test_header_cells_say_what_they_head(page: Reader) -> None:
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.tags if tag == "th")


def test_extremes_survive_thinning(page: Reader, full: Run) -> None:
    charts = json.loads(page.scripts[0])["charts"]
    for index, result in enumerate(full.results):
        if result.trace and len(result.trace.rows) > 1:
            rows = charts[f"r0-{index}-trace"]["rows"]
            assert len(rows) <= html.TRACE_MOST
            assert max(r[3] for r in rows) == pytest.approx(result.max, rel=1e-4)
        if result.histogram:
            pairs = charts[f"r0-{index}-histogram"]["series"][-1]["pairs"]
            assert sum(n for _, n in pairs) == result.n


def test_curve_ends_at_the_maximum() -> None:
    points = html.curve([(1.0, 900), (5.0, 99), (80.0, 1)])
    assert points[0] == [1, 1]
    assert points[-1] == [1000, 80]
    assert [v for _, v in points] == sorted(v for _, v in points)
    assert next(v for x, v in points if x >= 10.5) == 5


def test_nulls_and_empty_runs() -> None:
    bare = Result(case=0, bench="x.y", params={"a": None}, load="none", status="ok")
    one = Result(case=1, bench="x.z", params={}, load="none", status="ok", n=3)
    odd = msgspec.structs.replace(one, histogram=[(0.0, 3)], min=0.0, max=0.0, mean=0.0)
    below = msgspec.structs.replace(one, histogram=[(-2.0, 3)], min=-2.0, max=-2.0)
    for results in ([], [bare], [one], [odd, below], [bare, one, odd, below]):
        text = html.compose([run(1, results=results, slopes=[], conditions={}, clock=None)])
        assert "NaN" not in Reader(text).scripts[0]
        assert "None" not in Reader(text).words


def test_lack_of_rights_and_incompleteness_come_first() -> None:
    words = " ".join(Reader(html.compose([unprivileged()])).words)
    assert words.index("without real-time rights") < words.index("What stands out")
    assert words.index("This run is incomplete") < words.index("What stands out")


def test_instructions_are_never_told_as_time() -> None:
    reader = Reader(html.compose([instructions()]))
    words = " ".join(w for w in reader.words if "--paper" not in w)
    assert "Counted in instructions, not in time." in words
    assert not re.search(r"\d[\u202f ](ns|µs|ms|s)\b", words)


def test_no_maximum_without_n_and_time(full: Run) -> None:
    findings = html.page_of(full, "r0").findings
    assert findings[0].head == "Worst wake-up 8.01\u202fms"
    assert "n = 12\u202f288, over 12.3\u202fs, load none" in findings[0].text
    assert findings[1].head == "8 missed activations"
    assert {f.grade for f in findings} == {"note", "bad", "info"}


def test_several_runs_on_one_page(full: Run) -> None:
    reader = Reader(html.compose([full, instructions()]))
    ids = reader.attributes("id")
    assert len(ids) == len(set(ids))
    assert {"r0-0", "r1-0"} <= set(ids)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 ns"),
        (-0.5, "\N{MINUS SIGN}0.500 ns"),
        (0.0076, "0.00760 ns"),
        (7, "7.00 ns"),
        (999.6, "1.00 µs"),
        (12_345, "12.3 µs"),
        (8_012_345, "8.01 ms"),
        (61e9, "61.0 s"),
        (None, "unknown"),
    ],
)
def test_quantities(value: float | None, expected: str) -> None:
    assert html.quantity(value, "ns").replace("\u202f", " ") == expected


def test_file_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    html.render([run(20)], path)
    before = path.read_text(encoding="utf-8")

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        html.render([run(20)], path)
    assert path.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [path]


def test_missing_bundle_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "BUNDLE", tmp_path / "charts.js")
    with pytest.raises(html.MissingBundleError, match="make charts"):
        html.compose([])
