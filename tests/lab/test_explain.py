"""Samples of emulated boards, explained: what is told of them adds up to them, each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.errors import UsageError
from rtstone.explain.lab import by_replay
from rtstone.interrupt import Interrupt
from rtstone.lab import ready, systems
from tests.conftest import Cli
from tests.report.explained import explained_run

pytestmark = pytest.mark.lab


def explained(cli: Cli, place: Path, *words: str) -> dict[str, Any]:
    done = cli("explain", place, *words, "--json")
    assert done.status == 0, done.err
    return dict(done.document)


def check_sums(explanation: dict[str, Any]) -> None:
    """Everything that is told of a sample adds up to it."""
    for way in filter(None, (explanation["way"], explanation["against"])):
        raw = way["sample"]["raw"]
        assert sum(part["length"] for part in way["segments"]) == raw
        assert sum(stack["cost"] for stack in way["stacks"]) == raw
        assert way["segments"][0]["start"] == 0
    assert (
        sum(function["own"] for function in explanation["functions"])
        == explanation["way"]["sample"]["raw"]
    )
    totals = explanation["all_samples"]
    assert sum(n for _, n in totals["functions"]) == totals["cost"]


def measured(cli: Cli, place: Path, system: str, *words: str) -> dict[str, Any]:
    if lacking := ready.missing(systems.find(system)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    run = cli("run", *words, "--target", f"qemu:{system}", "--out", place, "--json")
    assert run.status == 0, run.err
    return dict(run.document["results"][0])


@pytest.mark.parametrize("system", ["freertos-a64", "freertos-m3", "freertos-m4f"])
def test_the_tick_makes_a_sample_longer_by_its_instructions(
    cli: Cli, tmp_path: Path, system: str
) -> None:
    result = measured(cli, tmp_path / "run", system, "sem.post.higher", "-p", "samples=1500")
    explanation = explained(cli, tmp_path / "run")
    check_sums(explanation)
    assert explanation["way"]["sample"]["value"] == result["max"]
    assert [part["kind"] for part in explanation["against"]["segments"]] == [
        "task",
        "switch",
        "return",
    ]
    tick = sum(part["length"] for part in explanation["way"]["segments"] if part["kind"] == "irq")
    longer = explanation["way"]["sample"]["raw"] - explanation["against"]["sample"]["raw"]
    assert longer > 10
    assert 0 <= longer - tick <= 1  # on AArch64 with the vector's jump


@pytest.mark.parametrize(
    ("system", "board"),
    [("freertos-rv64", "QEMU virt, RV64"), ("freertos-a9", "ARM Versatile Express, Cortex-A9")],
)
def test_a_processor_that_is_not_known_is_refused(
    cli: Cli, tmp_path: Path, system: str, board: str
) -> None:
    measured(cli, tmp_path / "run", system, "sem.post.higher", "-p", "samples=20")
    done = cli("explain", tmp_path / "run")
    assert done.status == 2
    assert done.says.startswith(f"rtstone: explain does not know the instructions of {board}")


def test_a_wake_up_is_explained_twice_alike(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "run"
    result = measured(cli, place, "freertos-a64", "dk.periodic", "-p", "samples=20")
    explanation = explained(cli, place)
    check_sums(explanation)
    assert explanation["way"]["sample"]["value"] == result["max"]
    kinds = [part["kind"] for part in explanation["way"]["segments"]]
    assert kinds == ["irq-delay", "handler", "wakeup", "handler", "switch", "return"]
    (path,) = place.glob("explanation-*.json")
    path.unlink()
    assert explained(cli, place) == explanation


def test_series_of_a_case(cli: Cli, tmp_path: Path) -> None:
    """Series of tasks are each explained, and what nothing tells the begin of is refused."""
    place = tmp_path / "tasks"
    measured(cli, place, "freertos-a64", "dk.periodic", "-p", "samples=20", "-p", "tasks=2")
    for series in ("task0", "task1"):
        explanation = explained(cli, place, "--series", series)
        check_sums(explanation)
        assert explanation["series"] == series
    other = tmp_path / "interrupt"
    measured(cli, other, "freertos-a64", "int.latency.self", "-p", "samples=20")
    explanation = explained(cli, other, "--series", "task")
    check_sums(explanation)
    assert "vTaskSwitchContext" in {function["name"] for function in explanation["functions"]}
    done = cli("explain", other, "--series", "handler")
    assert done.status == 2
    assert "where samples of series 'handler' begin is not known" in done.says


def test_a_run_that_changed_since_is_not_explained(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "run"
    run = cli("run", "null", "-p", "samples=50", "--target", "qemu:freertos-m3", "--out", place,
              "--json")  # fmt: skip
    if run.status == 4:
        pytest.skip(run.says)
    document = place / "run.json"
    document.write_text(document.read_text().replace('"warmup":1000', '"warmup":1001', 1))
    done = cli("explain", place)
    assert done.status == 4
    assert "the run does not repeat itself: results of the replay differ" in done.says


def test_few_samples_have_no_median(tmp_path: Path) -> None:
    """It was an internal error, after the run had been repeated."""
    run = explained_run()
    few = structs.replace(run.results[0], n=10, p50=None)
    with pytest.raises(UsageError, match="no median of 10 samples of "):
        by_replay(tmp_path, run, few, "worst", "median", interrupt=Interrupt())
