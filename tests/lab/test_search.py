"""A search on an emulated board: measured once, and the same each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rtstone.campaign import search
from rtstone.campaign.running import GIVEN_UP, Ended, Limits, Runner
from rtstone.interrupt import bound
from rtstone.lab import ready, systems
from rtstone.store.layout import runs
from tests.campaign import killing
from tests.conftest import Cli
from tests.lab.boards import needs

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    ("system", "load", "seed"),
    [("linux-6.1", "syscalls", 5), ("freertos-a64", "heavy/reduced", 3)],
)
def test_a_search_goes_on_and_its_worst_is_there_again(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, system: str, load: str, seed: int
) -> None:
    if system != "freertos-a64" and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")
    monkeypatch.setattr(search, "LOADS", (load, "of another system"))
    monkeypatch.setattr(search, "SAMPLES", 100)
    if lacking := ready.missing(systems.find(system)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    words = ["search", "dk.periodic", "--target", f"qemu:{system}", "--seed", str(seed), "--json"]
    first = cli(*words, "--programs", "1").document
    measured = set(runs().iterdir())
    again = cli(*words, "--programs", "1").document
    assert again == first
    assert set(runs().iterdir()) == measured
    assert first["programs"] == 1
    assert first["unit"] == "instructions"
    assert [each["load"] for each in first["loads"]] == [load]
    assert 0 < first["switched"] <= first["bound"]
    listed = (first["control"], *first["loads"], *first["records"], first["least"])
    assert first["bound"] >= max(each["bound"] for each in listed)
    assert first["defects"] == []
    least, (record,) = first["least"], first["records"]
    assert first["control"]["longest"] > 0
    assert least["longest"] >= 0.95 * record["longest"]
    done = cli("run", "dk.periodic", "-p", f"samples={first['samples']}", "--target",
               f"qemu:{system}", "--load", least["load"], "--json")  # fmt: skip
    assert done.document["results"][0]["max"] == least["longest"]


class GivingUp(Runner):
    """Carries out no job, as if the target had failed too often."""

    def run(self, limits: Limits) -> Ended:
        table = self._table
        for target in table.targets():
            table.give_up(target, f"{GIVEN_UP}, 5 failures: it is silent")
        return Ended(0, None)


class Idle(Runner):
    """Carries out no job, as if nobody did."""

    def run(self, limits: Limits) -> Ended:
        return Ended(0, "no worker is there")


@needs("freertos-m4f")
def test_what_was_not_measured_for_time_or_a_target_is_measured_by_the_next_search(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOADS", ())
    monkeypatch.setattr(search, "SAMPLES", 20)
    words = ["search", "dk.periodic", "--target", "qemu:freertos-m4f"]
    done = cli(*words, "--hours", "1e-9")
    assert done.status == 3
    assert "that only computes no value (not measured: the time was over)" in done.out.replace(
        "\n", " "
    )
    for runner, why in ((GivingUp, f"{GIVEN_UP}, 5 failures"), (Idle, "no worker is there")):
        with monkeypatch.context() as patched:
            patched.setattr(search, "Runner", runner)
            done = cli(*words, "--programs", "1")
        assert (done.status, done.out) == (4, "")
        assert why in done.says
    document = cli(*words, "--programs", "1", "--json").document
    assert (document["programs"], document["failed"]) == (1, 0)
    assert document["control"]["longest"] > 0


SEARCH = """
from rtstone.campaign import search
from rtstone.cli.main import main
search.LOADS = ()
search.SAMPLES = 20
search.GENERATION = 3
main()
"""
# With seed 58 one of the first programs needs more memory than the board has.
WORDS = (
    "search", "dk.periodic", "--target", "qemu:freertos-m4f", "--seed", "58", "--programs", "7",
    "--json",
)  # fmt: skip


def begun(home: Path, log: Path) -> subprocess.Popen[bytes]:
    """Begin a short search, whose lines and document go to a log."""
    with log.open("wb") as to:
        return subprocess.Popen(
            bound([sys.executable, "-c", SEARCH, *WORDS]),
            env=killing.environment(home), stdin=subprocess.DEVNULL, stdout=to, stderr=to,
        )  # fmt: skip


def ended(home: Path, log: Path) -> tuple[dict[str, Any], str]:
    """Return the document of such a search, and the lines before it."""
    assert begun(home, log).wait() == 0, log.read_text()
    lines, brace, document = log.read_text().partition("{")
    return json.loads(brace + document), lines


def early_document(home: Path, log: Path) -> dict[str, Any]:
    """Interrupt such a search once it has measured something, and return its document."""
    search = begun(home, log)
    while not list((home / "runs").glob("search-*")):
        time.sleep(0.05)
    search.terminate()
    assert search.wait() == 130, log.read_text()
    text = log.read_text()
    document, end = json.JSONDecoder().raw_decode(text, text.index("{"))
    assert text[end:].strip() == "rtstone: interrupted"
    return dict(document)


@needs("freertos-m4f")
def test_a_search_that_is_killed_at_any_moment_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    begin = time.monotonic()
    undisturbed = ended(tmp_path / "quiet", tmp_path / "quiet.log")
    took_s, random, home = time.monotonic() - begin, Random(40), tmp_path / "home"
    assert early_document(home, tmp_path / "early.log")["early"] == "interrupted"
    for number in range(10):
        search = begun(home, tmp_path / f"{number}.log")
        time.sleep(random.uniform(0, took_s / 4))
        search.kill()
        search.wait()
    assert ended(home, tmp_path / "log") == undisturbed
    (name,) = {path.name.partition(".")[0] for path in (home / "runs").glob("search-*")}
    first, second = (killing.runs(place, name) for place in (tmp_path / "quiet", home))
    assert killing.differing(first, second) == []
    assert killing.left_behind(home) == []
    assert undisturbed[0]["programs"] == 7
    assert undisturbed[0]["failed"] > 0
