"""The page in a real browser: it draws, it is silent, it fits."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from rtstone.report.explanation import page as explanation
from rtstone.report.growth.page import compose as growth_page
from rtstone.report.page import compose as compose_page
from rtstone.report.parts import frame
from rtstone.report.parts.model import Cell, Grid, Head, Page, Section
from rtstone.report.parts.model_html import write
from rtstone.stats.evaluate import evaluate_runs
from rtstone.stats.growth_changes import growth_changes
from tests.report.explained import drawn, explained_run, hostile, small
from tests.report.synthetic import run
from tests.report.test_growth import OLD_AND_NEW
from tests.report.test_html import Reader
from tests.stats.lab import lab, result, study
from tests.waiting import soon

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    # what no page here needs, and what it costs to begin with: a fifth of the CPU time
    "--in-process-gpu --disable-extensions --disable-breakpad "
    "--disable-features=Translate,OptimizationHints,MediaRouter"
)
pytestmark = [
    pytest.mark.waits,
    pytest.mark.skipif(
        not (CHROMIUM.exists() and DRIVER.exists()),
        reason="no browser; run: apt-get install chromium chromium-driver",
    ),
    pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts"),
]
LATE = next(i for i, result in enumerate(run(20).results) if result.missed)
PERIODIC = f"document.getElementById('r0-{LATE}')"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(compose_page(evaluate_runs([run()])), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = str(CHROMIUM)
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    # A busy machine's window has the focus late, and until then no element gets events of focus.
    driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: webdriver.Chrome, page: str) -> Iterator[webdriver.Chrome]:
    """The page, freshly loaded at 1280 px; nothing may have gone wrong when the test is over."""
    width(browser, 1280)
    visit(browser, page)
    yield browser
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    assert js(browser, "performance.getEntriesByType('resource').length") == 0
    assert "rtstone" in browser.title


def visit(browser: webdriver.Chrome, page: str) -> None:
    """Load a page and wait until its script is at work."""
    browser.get("about:blank")
    browser.get(page)
    eventually(lambda: js(browser, "'ready' in document.documentElement.dataset"), "not unpacked")


def js(browser: webdriver.Chrome, expression: str) -> Any:
    return browser.execute_script(f"return {expression}")


def width(browser: webdriver.Chrome, pixels: int, scale: int = 1) -> None:
    size = {"width": pixels, "height": 900, "deviceScaleFactor": scale, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


PATIENCE_S = 60  # of a machine that has other things to do


def eventually(holds: Callable[[], object], goal: str) -> None:
    assert soon(holds, PATIENCE_S), goal


def undrawn(within: str) -> str:
    return f"{within}.querySelectorAll('[data-chart]:not(:has(svg path))').length"


def open_periodic(browser: webdriver.Chrome) -> None:
    js(browser, f"location.hash = {PERIODIC}.id")
    eventually(lambda: js(browser, f"{PERIODIC}.open"), "the fragment did not open its result")
    js(browser, f"{PERIODIC}.querySelector('.trace').scrollIntoView()")
    eventually(lambda: not js(browser, undrawn(PERIODIC)), "charts of an opened result missing")


UNSEEN = """
    [...document.querySelectorAll("[data-chart]:not(:has(svg path))")]
    .filter(c => !c.closest("details:not([open])")).length
""".replace("\n", " ")


def overflow(browser: webdriver.Chrome) -> Any:
    return js(
        browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def test_draws_what_is_in_view_without_being_scrolled(opened: webdriver.Chrome) -> None:
    assert js(opened, "document.querySelectorAll('.result [data-drawn]').length") == 0
    eventually(lambda: not js(opened, undrawn("document")), "charts wait for their turn")
    assert js(opened, "scrollY") == 0
    width(opened, 1440)
    eventually(lambda: js(opened, BESIDE), "the distribution is not beside the verdict")
    open_periodic(opened)


@pytest.mark.parametrize("size", ["1280,800", "390,300"])
def test_a_picture_by_the_command_line_has_the_first_chart(
    page: str, size: str, tmp_path: Path
) -> None:
    """Nobody scrolls there, and nothing waits for idle time."""
    command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={tmp_path}",
               f"--window-size={size}", "--dump-dom", page]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first = next(attrs for _, attrs in Reader(done.stdout).tags if "data-chart" in attrs)
    assert first.get("data-drawn")


FIRST = "document.querySelector('.opening .chart').getBoundingClientRect()"
SAYS = "document.querySelector('.opening .answer-box').getBoundingClientRect()"
BESIDE = f"{FIRST}.left > {SAYS}.right && {FIRST}.bottom < innerHeight && {FIRST}.width > 500"
STACKED = f"{FIRST}.top > {SAYS}.bottom && {FIRST}.left < 40"


@pytest.mark.parametrize(
    ("link", "word"), [("td.flags a.flag", "word-missed"), ("th a.word", "word-p999")]
)
def test_a_flag_and_the_head_of_a_column_lead_to_their_words(
    opened: webdriver.Chrome, link: str, word: str
) -> None:
    entry = f"document.getElementById('{word}')"
    place = f"{entry}.getBoundingClientRect()"
    assert not js(opened, f"{entry}.closest('details').open")
    js(opened, f"document.querySelector(\"{link}[href='#{word}']\").click()")
    eventually(lambda: js(opened, f"{entry}.checkVisibility()"), "its word is hidden")
    eventually(
        lambda: js(opened, f"{place}.top >= 0 && {place}.bottom <= innerHeight"),
        "its word is out of sight",
    )


def test_lines_are_switched_viewed_and_saved(opened: webdriver.Chrome, tmp_path: Path) -> None:
    """The legend, the views and the file of the chart of the first screen."""
    figure = "document.querySelector('.opening figure')"
    strokes = f"[...{figure}.querySelectorAll('.chart svg path[stroke-dasharray]')].length"
    eventually(lambda: not js(opened, undrawn("document.querySelector('.opening')")), "not drawn")
    pale = f"[...{figure}.querySelectorAll('.chart svg path[stroke-opacity=\"0.5\"]')].length"
    assert js(opened, pale) == 1  # what cpu 2 missed, behind its line
    js(opened, f"{figure}.querySelectorAll('.key-line')[0].click()")
    assert js(opened, pale) == 0
    js(opened, f"{figure}.querySelectorAll('.key-line')[0].click()")
    before = js(opened, strokes)
    js(opened, f"{figure}.querySelectorAll('.key-line')[1].click()")
    assert js(opened, f"{figure}.querySelectorAll('.key-line')[1].ariaPressed") == "false"
    assert js(opened, strokes) < before
    js(opened, f"{figure}.querySelector('.numbers').open = true")
    head = f"{figure}.querySelector('.numbers thead')?.textContent ?? ''"
    eventually(
        lambda: js(opened, head) == "fromtocpu 2cpu 2 correctedcpu 3", "no table of the histogram"
    )
    js(opened, f"{figure}.querySelectorAll('.views button')[1].click()")
    assert js(opened, pale) == 1
    eventually(lambda: "one in" in js(opened, head), "the table is not that of the percentiles")
    assert "Percentile curve" in js(opened, f"{figure}.querySelector('.chart').ariaLabel")
    target = {"behavior": "allow", "downloadPath": str(tmp_path)}
    opened.execute_cdp_cmd("Browser.setDownloadBehavior", target)
    js(opened, f"{figure}.querySelector('.save').click()")
    eventually(lambda: list(tmp_path.glob("*.svg")), "no file was saved")
    (saved,) = tmp_path.glob("*.svg")
    assert saved.name == "percentile-curve-of-dk.periodic-by-cpu.svg"
    root = ElementTree.fromstring(saved.read_bytes())
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg"
    assert root.findtext(f"{name}title") == "Percentile curve of dk.periodic by CPU"
    texts = ["".join(node.itertext()) for node in root.iter(f"{name}text")]
    assert {"percentile", "time", "99.9%"} <= set(texts)
    assert any(text.startswith("cpu 2 ") for text in texts)
    assert not any("cpu 3" in text for text in texts)  # it is switched off
    fonts = {v for node in root.iter() for k, v in node.attrib.items() if k == "font-family"}
    styles = " ".join(node.get("style", "") for node in root.iter())
    assert fonts | set(re.findall(r"font-family:([^;]*)", styles)) == {"sans-serif"}
    assert "var(" not in saved.read_text(encoding="utf-8")


def test_paper_holds_the_evidence_and_what_was_opened(opened: webdriver.Chrome) -> None:
    closed = "[...document.querySelectorAll('details.result:not([open])')].map(d => d.id)"
    results = js(opened, f"{closed}.length")
    links = "[...document.querySelectorAll('.answer a:not(.word)')].map(a => a.hash.slice(1))"
    named = {link for link in js(opened, links) if link != "r0-growth"}
    js(opened, "document.getElementById('r0-1').open = true")
    js(opened, "dispatchEvent(new Event('beforeprint'))")
    left = js(opened, closed)
    assert named
    assert len(left) == results - len(named) - 1
    assert not named & set(left)
    assert js(opened, undrawn("document")) == 0
    js(opened, "dispatchEvent(new Event('afterprint'))")
    assert js(opened, f"{closed}.length") == results - 1


WIDE = """
document.querySelector("main").insertAdjacentHTML("beforeend",
  `<div class="scroll"><table id="wide" style="white-space: nowrap; overflow-wrap: normal">
   ${"<td>12345.6</td>".repeat(40)}</table></div>`)
""".replace("\n", " ")


def test_a_wide_table_has_all_its_columns_on_paper(opened: webdriver.Chrome) -> None:
    js(opened, WIDE)
    right = "document.querySelector('#wide').getBoundingClientRect().right"
    width(opened, 703)  # of A4 within the margins
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert js(opened, right) > 703
    js(opened, "dispatchEvent(new Event('beforeprint'))")
    assert 500 < js(opened, right) <= 703
    js(opened, "dispatchEvent(new Event('afterprint'))")
    assert js(opened, right) > 703
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_fits_a_narrow_screen(opened: webdriver.Chrome) -> None:
    width(opened, 360)
    assert overflow(opened) == 0
    assert js(opened, STACKED)
    js(opened, "document.querySelectorAll('details.result').forEach(d => { d.open = true })")
    open_periodic(opened)
    assert overflow(opened) == 0
    cut = (
        "[...document.querySelectorAll('.scroll caption')].filter(c => c.offsetWidth > innerWidth)"
    )
    assert js(opened, f"{cut}.map(caption => caption.textContent)") == []


def test_both_themes(opened: webdriver.Chrome) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    line = f"{PERIODIC}.querySelector('.percentiles svg').outerHTML"
    open_periodic(opened)
    light = js(opened, ground), js(opened, line)
    js(opened, "document.getElementById('theme').click()")
    dark = js(opened, ground), js(opened, line)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert js(opened, "document.getElementById('theme').getAttribute('aria-pressed')") == "true"
    js(opened, "document.getElementById('theme').click()")
    assert js(opened, ground) == light[0]
    js(opened, "localStorage.clear()")


TOUCHING = """
    [...document.querySelectorAll('.results tr')].flatMap(row => {
        const seen = c => c.innerText.trim() && !c.querySelector('.hidden-text');
        const texts = [...row.cells].filter(seen).map(c => {
            const range = document.createRange();
            range.selectNodeContents(c);
            return [c.textContent.trim(), range.getBoundingClientRect()];
        });
        return texts.slice(1).map(([t, r], i) => [t, r.left - texts[i][1].right]);
    }).filter(([, gap]) => gap < 0)
""".replace("\n", " ")


OUTSIDE = """
  [...document.querySelectorAll(".broad caption, .broad th, .broad td")]
    .map(cell => [cell.textContent.trim().slice(0, 20), cell.getBoundingClientRect()])
    .filter(([, place]) => place.width && (place.right > innerWidth || place.width < 24))
    .map(([text, place]) => `${text}: ${place.width} wide, to ${place.right}`)
""".replace("\n", " ")


def test_a_table_of_many_systems_is_on_paper_in_groups_of_columns(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """Of a comparison and of a publication: no column is cut off, and none is too small to read."""
    heads = [Head("here", f"system {n}") for n in range(24)]
    cells = [Cell(f"{n} 234.5 \xb5s", below="sd 12.3") for n in range(24)]
    grid = Grid("call", heads, [(Head("", f"sem_wait {n}"), cells) for n in range(3)])
    systems = [lab(f"system-{n}", [result("null", [5.0 + n] * 30)]) for n in range(8)]
    files = {
        "publication.html": write(Page("A page", [Section("t", "A table", [grid])], {})),
        "compared.html": compose_page(evaluate_runs(systems)),
    }
    width(browser, 703)  # of A4 between its margins
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        visit(browser, (tmp_path / name).as_uri())
        js(browser, "dispatchEvent(new Event('beforeprint'))")
        assert js(browser, "document.querySelectorAll('.broad td').length") >= 24
        assert js(browser, OUTSIDE.strip()) == [], name
        size = "parseFloat(getComputedStyle(document.querySelector('.broad td .num')).fontSize)"
        assert js(browser, size) > 8, name
        scale = "document.querySelector('.broad td').getBoundingClientRect().width"
        assert js(browser, scale) > 60, name
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("medium", ["screen", "print"])
def test_numbers_stay_in_their_columns(opened: webdriver.Chrome, medium: str) -> None:
    """Also n of nine digits, and on paper, where columns are narrow."""
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium})
    width(opened, {"screen": 1280, "print": 703}[medium])  # 703: of A4 between its margins
    first = "document.querySelector('.results td.value')"
    js(opened, f"{first}.textContent = '235\\u202f234\\u202f565'")
    touching = js(opened, TOUCHING.strip())
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert touching == []


def test_fits_at_twice_the_size(opened: webdriver.Chrome) -> None:
    """200% of a window of 1280 px: half as many CSS pixels, each twice as large."""
    width(opened, 640, scale=2)
    assert overflow(opened) == 0
    open_periodic(opened)
    assert overflow(opened) == 0


def test_follows_the_system(opened: webdriver.Chrome) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = js(opened, ground)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert js(opened, ground) != light
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_rows_and_tables_behind_charts(opened: webdriver.Chrome) -> None:
    js(opened, "document.querySelector('tr[data-href]').click()")
    eventually(lambda: js(opened, "document.querySelector('#r0-0').open"), "row leads nowhere")
    js(opened, "document.querySelectorAll('#r0-0 .numbers').forEach(d => { d.open = true })")
    filled = "document.querySelectorAll('#r0-0 .numbers tbody tr').length"
    eventually(lambda: js(opened, filled) > 10, "no table behind the charts")


CELLS = """
    [...document.querySelectorAll('%s table')].find(t => t.caption.textContent === '%s')
    .querySelectorAll('tr').values().map(r => [...r.cells].map(c => c.textContent)).toArray()
"""


def cells(browser: webdriver.Chrome, within: str, caption: str) -> list[list[str]]:
    rows: list[list[str]] = js(browser, " ".join((CELLS % (within, caption)).split()))
    return [[cell.replace("\u202f", " ") for cell in row] for row in rows]


def test_the_inside_of_a_detail_is_built_when_it_is_opened(opened: webdriver.Chrome) -> None:
    assert js(opened, "document.querySelectorAll('.inside').length") == 0
    open_periodic(opened)
    assert js(opened, "document.querySelectorAll('.inside').length") == 1
    late = run().results[LATE]
    head, n, *_, most = cells(opened, f"#r0-{LATE}", "Statistics")
    assert head == ["statistic", "observed", "corrected", "95% interval"]
    assert late.corrected is not None
    assert [word.replace(" ", "") for word in n[:3]] == ["n", str(late.n), str(late.corrected.n)]
    assert most == ["max", "8.01 ms", "8.01 ms", ""]
    assert len(cells(opened, f"#r0-{LATE}", "Worst samples")) == 17
    assert ["sched", "fifo"] in cells(opened, f"#r0-{LATE}", "Around the timed section")
    js(opened, f"{PERIODIC}.open = false")
    js(opened, f"{PERIODIC}.open = true")
    assert js(opened, f"{PERIODIC}.querySelectorAll('.inside').length") == 1
    heads = "document.querySelectorAll('.inside th:not([scope])').length"
    assert js(opened, heads) == 0
    assert "late" in js(opened, f"{PERIODIC}.querySelector('.flag-list dd').textContent")


def test_what_is_hostile_is_text_in_a_detail_too(opened: webdriver.Chrome) -> None:
    js(opened, "document.querySelectorAll('details.result').forEach(d => { d.open = true })")
    unbuilt = "document.querySelectorAll('.result:not(:has(.inside))').length"
    eventually(lambda: not js(opened, unbuilt), "details not built")
    assert js(opened, "document.querySelectorAll('img').length") == 0
    assert "{{7*7}}" in js(opened, "document.querySelector('#r0-details').textContent")


def test_curves_of_a_simulation_are_drawn(browser: webdriver.Chrome, tmp_path: Path) -> None:
    from rtstone.documents.simulation import Cost, Request, Simulation
    from rtstone.report.simulation.page import compose
    from rtstone.simulate.study import Study
    from rtstone.simulate.study import run as simulated
    from rtstone.simulate.taskset import Rules
    from rtstone.simulate.workload import Workload

    policies = ["rm", "edf"]
    study = Study(
        Workload(1, 2 * 10**9), tuple(map(Rules, policies)), (3,), (500_000, 1_200_000), 5
    )
    points, breakdown = simulated(study, 1)
    request = Request(
        policies=policies, tasks=[3], utilisation=[0.5, 1.2], sets=5, seed=1, time_ns=2 * 10**9,
        execution="nominal", deadlines="period", aperiodic_load=0.1, server="background",
        server_budget_ns=None, server_period_ns=None, protocol=None, quantum_ns=10**6, costs=Cost(),
    )  # fmt: skip
    simulation = Simulation(
        version="0", numpy="0", request=request, points=points, breakdown=breakdown
    )
    (tmp_path / "x.html").write_text(compose(simulation), encoding="utf-8")
    width(browser, 1280)
    visit(browser, (tmp_path / "x.html").as_uri())
    eventually(lambda: not js(browser, undrawn("document")), "curves not drawn")
    assert "with 3 tasks, deadlines hold up to" in js(
        browser, "document.querySelector('.opening .says').textContent"
    )
    assert js(browser, "document.querySelectorAll('#n3 .keys').length") == 1  # one for all charts
    lines = "[...document.querySelectorAll('#n3 .chart')].map(c => c.innerHTML.length)"
    before = js(browser, lines)
    js(browser, "document.querySelector('#n3 .key-line').click()")
    assert all(now < then for now, then in zip(js(browser, lines), before, strict=True))
    js(browser, "document.querySelector('.numbers').open = true")
    eventually(lambda: js(browser, "document.querySelectorAll('.numbers tr').length"), "no table")
    width(browser, 360)
    eventually(lambda: overflow(browser) <= 0, "wider than a narrow screen")
    js(browser, "dispatchEvent(new Event('beforeprint'))")
    assert js(browser, undrawn("document")) == 0
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "compared.html"
    path.write_text(compose_page(evaluate_runs(study())), encoding="utf-8")
    return path.as_uri()


AT_LOAD = """
addEventListener("load", () => {
  const lines = document.querySelectorAll(".first-chart svg path");
  document.documentElement.dataset.first = lines.length;
  dispatchEvent(new Event("beforeprint"));
  document.documentElement.dataset.undrawn = UNSEEN;
});
""".replace("UNSEEN", UNSEEN)


def test_a_page_that_counts_as_loaded_has_its_charts(
    browser: webdriver.Chrome, compared: str
) -> None:
    """A browser without a reader takes a screenshot or prints when the page is loaded."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": AT_LOAD})
    browser.get(compared)
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    at_load = js(browser, "{...document.documentElement.dataset}")
    assert int(at_load["first"]) > 2
    assert int(at_load["undrawn"]) == 0
    assert "ready" in at_load


@pytest.mark.parametrize("pixels", [1280, 360])
def test_a_comparison_fits_and_draws(browser: webdriver.Chrome, compared: str, pixels: int) -> None:
    width(browser, pixels)
    visit(browser, compared)
    assert overflow(browser) == 0
    assert js(browser, "document.documentElement.scrollHeight") < 7000
    eventually(lambda: not js(browser, UNSEEN), "charts wait for their turn")
    js(browser, "document.querySelectorAll('#compared details').forEach(d => { d.open = true })")
    assert overflow(browser) == 0
    section = "document.querySelector('#compared-ranges')"
    for index in range(js(browser, f"{section}.querySelectorAll('.chart').length")):
        chart = f"{section}.querySelectorAll('.chart')[{index}]"
        js(browser, f"{chart}.scrollIntoView()")  # what is passed too quickly is not drawn
        drawn = partial(js, browser, f"{chart}.querySelector('svg path')")
        eventually(drawn, "a chart of the comparison missing")
    assert not js(browser, undrawn(section))
    reason = "document.querySelector('a[href=\"#compared-table-n1\"]')"
    js(browser, f"{reason}.focus()")
    assert js(browser, f"document.activeElement === {reason}")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_rows_of_one_verdict_are_shown_alone(browser: webdriver.Chrome, compared: str) -> None:
    width(browser, 1280)
    visit(browser, compared)
    every = js(browser, "document.querySelectorAll('[data-verdict]').length")
    choices = "[...document.querySelectorAll('.filter input')]"
    for choice in reversed(range(js(browser, f"{choices}.length"))):
        verdict = js(browser, f"({choices}[{choice}].click(), {choices}[{choice}].value)")
        shown = "[...document.querySelectorAll('[data-verdict]')].filter(r => !r.hidden)"
        verdicts_shown = js(browser, f"{shown}.map(r => r.dataset.verdict)")
        assert set(verdicts_shown) == {verdict} if verdict else len(verdicts_shown) == every
        count_shown = js(browser, "document.querySelector('.filter output').textContent")
        assert count_shown == f"{len(verdicts_shown)} of {every} shown"


# ---- why a sample was slow ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def why(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An explanation with 500 functions."""
    path, run = tmp_path_factory.mktemp("report") / "why.html", explained_run()
    path.write_text(explanation.compose(drawn(run), run), encoding="utf-8")
    return path.as_uri()


FLAME = "document.querySelectorAll('[data-boxes]')[2]"
WALK = """
    const [chart, boxes] = [%s, [...%s.children]];
    const seen = new Set(), left = [boxes[0]], names = ['ArrowDown', 'ArrowRight', 'ArrowLeft'];
    while (left.length) {
        const box = left.pop();
        if (seen.has(box)) continue;
        seen.add(box);
        for (const key of names) {
            box.focus();
            box.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
            left.push(document.activeElement);
        }
    }
    return [seen.size, boxes.length];
"""


def press(browser: webdriver.Chrome, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key})


def test_the_keyboard_reaches_every_box_and_tells_what_it_is(
    browser: webdriver.Chrome, why: str
) -> None:
    width(browser, 1440)
    visit(browser, why)
    seen, boxes = browser.execute_script(WALK % (FLAME, FLAME))
    assert seen == boxes > 100
    stops = f"[...{FLAME}.children].filter(box => box.tabIndex === 0).length"
    assert js(browser, stops) == 1  # the tab key leaves the chart at once
    js(browser, f"{FLAME}.children[0].focus()")
    for _ in range(11):
        press(browser, "ArrowDown")
    here, says = "document.activeElement", f"{FLAME}.closest('figure').querySelector('.box-says')"
    assert js(browser, f"{here}.ariaLevel") == "12"
    assert js(browser, f"{says}.textContent === {here}.ariaLabel")
    part = f"{here}.getBoundingClientRect().width / {FLAME}.getBoundingClientRect().width"
    before = js(browser, part)
    assert before < 0.5
    press(browser, "Enter")
    assert js(browser, part) > 0.99
    press(browser, "ArrowUp")  # what called it is as wide
    assert js(browser, f"[{here}.ariaLevel, {part} > 0.99]") == ["11", True]
    press(browser, "ArrowDown")
    press(browser, "Escape")
    assert js(browser, part) == pytest.approx(before)
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


NAMES = """
    [...%s.children].filter(box => {
        const [name, frame] = [box.firstChild.getBoundingClientRect(), box.getBoundingClientRect()];
        return name.top < frame.bottom;
    }).map(box => [box.firstChild.textContent, box.getBoundingClientRect().width])
""".replace("\n", " ")


@pytest.mark.parametrize("pixels", [1440, 390])
def test_a_flame_graph_is_readable_with_500_functions(
    browser: webdriver.Chrome, why: str, pixels: int
) -> None:
    """A name is shown in every box that has room for a few letters, and in no other."""
    width(browser, pixels)
    visit(browser, why)
    assert overflow(browser) == 0
    named = js(browser, (NAMES % FLAME).strip())
    wide = f"[...{FLAME}.children].filter(box => box.getBoundingClientRect().width > 30).length"
    assert len(named) == js(browser, wide) > 15
    assert min(box for _, box in named) > 25
    js(browser, "document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert overflow(browser) == 0


def test_what_is_hostile_is_text_in_an_explanation_too(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    run = explained_run()
    (tmp_path / "x.html").write_text(explanation.compose(hostile(run), run), encoding="utf-8")
    visit(browser, (tmp_path / "x.html").as_uri())
    js(browser, f"{FLAME.replace('[2]', '[0]')}.children[7].focus()")
    assert js(browser, "document.querySelectorAll('img').length") == 0
    assert "{{7*7}}" in js(browser, "document.querySelector('.says').textContent")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


# ---- for everyone -------------------------------------------------------------------------------

AXE = frame.HERE.parents[1] / "node_modules" / "axe-core" / "axe.min.js"
FOUND = """
    const done = arguments[0];
    axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(
        violations.map(v => `${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)}`)));
"""
CONTROLS = "a[href], button, input, summary, [tabindex='0']"


@pytest.fixture
def dark(browser: webdriver.Chrome) -> Iterator[None]:
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def barriers(browser: webdriver.Chrome) -> Any:
    """What axe finds wrong, contrasts included."""
    browser.set_script_timeout(60)
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    return browser.execute_async_script(FOUND)


needs_axe = pytest.mark.skipif(not AXE.exists(), reason="no axe-core; run: npm ci")


@needs_axe
def test_a_run_has_no_barriers(opened: webdriver.Chrome) -> None:
    open_periodic(opened)
    js(opened, f"{PERIODIC}.querySelectorAll('.numbers').forEach(d => {{ d.open = true }})")
    eventually(lambda: js(opened, f"{PERIODIC}.querySelector('.numbers tbody tr')"), "no table")
    assert barriers(opened) == []


@needs_axe
@pytest.mark.usefixtures("dark")
def test_a_comparison_in_the_dark_has_no_barriers(browser: webdriver.Chrome, compared: str) -> None:
    width(browser, 360)
    visit(browser, compared)
    assert barriers(browser) == []


@needs_axe
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_explanation_has_no_barriers(
    browser: webdriver.Chrome, tmp_path: Path, theme: str
) -> None:
    run = explained_run()
    (tmp_path / "x.html").write_text(explanation.compose(small(run), run), encoding="utf-8")
    width(browser, {"light": 1440, "dark": 390}[theme])
    visit(browser, (tmp_path / "x.html").as_uri())
    js(browser, f"document.documentElement.dataset.theme = '{theme}'")
    js(browser, "document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert barriers(browser) == []


@needs_axe
@pytest.mark.parametrize(("theme", "pixels"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("systems", [1, 2])
def test_growth_is_drawn_fits_and_has_no_barriers(
    browser: webdriver.Chrome, tmp_path: Path, theme: str, pixels: int, systems: int
) -> None:
    each = OLD_AND_NEW[:systems]
    compared = growth_changes(each) if systems > 1 else None
    (tmp_path / "x.html").write_text(growth_page(each, compared), encoding="utf-8")
    width(browser, pixels)
    visit(browser, (tmp_path / "x.html").as_uri())
    js(browser, f"document.documentElement.dataset.theme = '{theme}'")
    js(browser, "document.querySelectorAll('details').forEach(d => { d.open = true })")
    for chart in range(js(browser, "document.querySelectorAll('[data-chart]').length")):
        js(browser, f"document.querySelectorAll('[data-chart]')[{chart}].scrollIntoView()")
        drawn = f"document.querySelectorAll('[data-chart]')[{chart}].querySelector('svg path')"
        eventually(partial(js, browser, drawn), f"chart {chart} is not drawn")
    assert overflow(browser) == 0
    assert barriers(browser) == []
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_the_keyboard_reaches_every_control_and_sees_where_it_is(
    opened: webdriver.Chrome,
) -> None:
    """Tab goes through all controls in the order of the page, the first of which skips the bar."""
    js(opened, "document.querySelectorAll('#r0-table tr[data-href]').forEach(r => r.remove())")
    visible = f'[...document.querySelectorAll("{CONTROLS}")].filter(e => e.checkVisibility())'
    expected = js(opened, f"{visible}.length")
    tab = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    walked = 0
    for place in range(expected):
        opened.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", **tab})
        opened.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **tab})
        here = f"{visible}[{place}] === document.activeElement"
        outlined = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        walked += js(opened, f"{here} && {outlined}")
        if place == 0:
            assert js(opened, "document.activeElement.className") == "skip"
    assert walked == expected


def test_everything_that_can_be_reached_has_a_name(opened: webdriver.Chrome) -> None:
    open_periodic(opened)
    nodes = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"link", "button", "image", "img", "table", "region", "group", "navigation", "heading"}
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node["ignored"]
        and (node["role"]["value"] in roles or focusable(node))
        and not node.get("name", {}).get("value")
        and node["role"]["value"] not in UNNAMED
    ]
    assert nameless == []
    assert sum(node["role"]["value"] == "main" for node in nodes) == 1


UNNAMED = {"RootWebArea", "group", "generic", "Details"}  # a details element is told by its summary


def focusable(node: dict[str, Any]) -> bool:
    held = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
    return bool(held.get("focusable"))


def test_headings_lead_down_one_step_at_a_time(opened: webdriver.Chrome) -> None:
    levels = js(opened, "[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
