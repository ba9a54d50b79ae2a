"""Pages of a run and of a comparison: time to write them, size, time to draw them.

The pages show runs of suite `full` on two models; a headless browser without a
network draws them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

ROUNDS = 5
MODELS = ("rtai-22.2.4", "rtai-24.1.8")
RTSTONE = Path(sys.executable).with_name("rtstone")
CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
# Until the data is unpacked and everything in view is drawn.
DRAWN = """
    const done = arguments[0];
    const look = () => 'ready' in document.documentElement.dataset
        ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 2);
    look();
"""


def run(*command: str | Path) -> float:
    """Run a command that must succeed and return its time in s."""
    begin = time.perf_counter()
    subprocess.run([str(part) for part in command], capture_output=True, check=True)
    return time.perf_counter() - begin


def browser() -> webdriver.Chrome:
    """Start a headless browser."""
    options = Options()
    options.binary_location = str(CHROMIUM)
    for flag in FLAGS:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(str(DRIVER)))


def drawn_s(driver: webdriver.Chrome, page: Path) -> float:
    """Return the time from the start of loading until everything in view is drawn, in s."""
    driver.get("about:blank")
    driver.get(page.as_uri())
    drawn: Any = driver.execute_async_script(DRAWN)
    return float(drawn) / 1000


def printed_s(driver: webdriver.Chrome) -> float:
    """Return the time to fill and draw everything that is printed, in s."""
    begin = time.perf_counter()
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    return time.perf_counter() - begin


def main() -> int:
    """Print a line for each page."""
    with TemporaryDirectory() as home:
        os.environ["RTSTONE_HOME"] = home
        for model in MODELS:
            run(RTSTONE, "run", "full", "--target", f"sim:{model}")
        driver = browser() if CHROMIUM.exists() and DRIVER.exists() else None
        for name, runs in (("a run", ["last"]), ("a comparison", ["last~1", "last"])):
            page = Path(home) / "page.html"
            wrote = median(run(RTSTONE, "report", *runs, "-o", page) for _ in range(ROUNDS))
            print(f"{name} of full: written in {wrote:.2f} s, {page.stat().st_size / 1e6:.2f} MB")
            if driver is None:
                print("  not drawn, no browser (apt-get install chromium chromium-driver)")
                continue
            drew = median(drawn_s(driver, page) for _ in range(ROUNDS))
            print(f"  drawn in {drew:.2f} s; for paper in {printed_s(driver):.1f} s")
        if driver is not None:
            driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
