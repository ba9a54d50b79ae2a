"""The server's views in a real browser: silent, of one host, accessible, within the window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import time
from typing import Any

import pytest
from msgspec.structs import replace
from selenium import webdriver

from rtstone.documents.run import Run
from rtstone.server.projects import Places
from rtstone.server.settings import Settings
from tests.report.test_browser import (
    CONTROLS,
    barriers,
    browser,
    eventually,
    needs_axe,
    pytestmark,
)
from tests.server.conftest import BEGUN, DAY, Copied
from tests.server.serving import Served, serving

__all__ = ["browser", "pytestmark"]

NOW = (time() - BEGUN) / DAY
SCRIPTED = "return document.documentElement.classList.contains('scripted')"
LOOKS = [(1200, "light"), (390, "dark")]  # a theme changes colours, a width the layout


@pytest.fixture
def served(places: Places, copied: Copied) -> Iterator[Served]:
    """Serve a project with a change, a silent target and a campaign."""
    for n in range(9):
        late = n > 5
        copied(f"r-{n}", day=NOW - 9 + n, scale=1.5 if late else 1.0, edit=under_load,
               conditions={"kernel.cmdline": "quiet skew_tick=1" if late else "quiet"})  # fmt: skip
        copied(f"old.{n:016x}", day=NOW - 60 + n, conditions={}, target="board")
    with serving(Settings(places.store, port=0)) as server:
        server.settled()
        yield server


def under_load(run: Run) -> Run:
    """Return a run with a short name of a case, and longer ones."""
    *services, periodic = run.results
    return replace(run, results=[*(replace(r, load="heavy") for r in services), periodic])


def views(served: Served) -> list[str]:
    listed = served.client.get("/p/main/series.json", params={"target": "sim"}).json()["series"]
    key = next(head["key"] for head in listed if head["bench"] == "dk.periodic")
    return ["/p/main/", f"/p/main/series/{key}", "/p/main/latencies",
            "/p/main/series?target=sim", "/p/main/runs/r-8", "/p/main/compare?run=r-5&run=r-6",
            "/p/main/search?bench=dk.periodic", "/p/main/campaigns",
            "/p/main/campaigns/old"]  # fmt: skip


def look(browser: webdriver.Chrome, width: int, theme: str) -> None:
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@needs_axe
def test_each_view_is_silent_fits_and_has_no_barriers(
    browser: webdriver.Chrome, served: Served
) -> None:
    try:
        for width, theme in LOOKS:
            look(browser, width, theme)
            for address in views(served):
                browser.get(served.url + address)
                js = browser.execute_script
                eventually(partial(js, SCRIPTED), f"the script has not run, on {address}")
                beyond = js("return document.documentElement.scrollWidth - innerWidth")
                assert beyond <= 0, (address, width)
                requested = js("return performance.getEntriesByType('resource').map(r => r.name)")
                assert all(url.startswith(served.url) for url in requested), address
                assert barriers(browser) == [], (address, width, theme)
                assert browser.get_log("browser") == [], address  # type: ignore[no-untyped-call]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# The words of visible lists that the end of a line breaks, in names also behind a dot.
BROKEN = """
const broken = [];
for (const details of document.querySelectorAll(".listed details")) details.open = true;
for (const cell of document.querySelectorAll(".listed th, .listed td")) {
  if (!cell.checkVisibility()) continue;
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}_.]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = [...range.getClientRects()].map(line => Math.round(line.top));
      if (new Set(lines).size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_word_of_a_list_is_broken(browser: webdriver.Chrome, served: Served, width: int) -> None:
    try:
        look(browser, width, "light")
        for address in views(served):
            browser.get(served.url + address)
            assert browser.execute_script(BROKEN) == [], (address, width)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_keyboard_reaches_every_link_and_the_chart_is_drawn(
    browser: webdriver.Chrome, served: Served
) -> None:
    look(browser, 1200, "light")
    for address in views(served)[:2]:
        browser.get(served.url + address)
        js: Any = browser.execute_script
        eventually(partial(js, SCRIPTED), f"the script has not run, on {address}")
        visible = f'[...document.querySelectorAll("{CONTROLS}")].filter(e => e.checkVisibility())'
        expected = js(f"return {visible}.length")
        tab = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        reached = set()
        for _ in range(expected + 5):
            for kind in ("keyDown", "keyUp"):
                browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, **tab})
            reached.add(js(f"return {visible}.indexOf(document.activeElement)"))
        assert len(reached - {-1}) == expected, address
    eventually(lambda: js("return document.querySelectorAll('.chart svg, .chart canvas').length"),
               "no chart is drawn")  # fmt: skip
