"""One case has one name, whatever command reports it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from rtstone.documents.run import Run
from rtstone.wire.records import Bench, Param
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.stats.recorded import latencies, run

BENCH = Bench(
    "dk.periodic", "Lateness.",
    params=[Param("period", "duration", "ns", 10**6), Param("align", "duration", "ns", 0)],
)  # fmt: skip
PARAMS = {"period": 250_000, "align": 0}
NAME = "dk.periodic period=250us cpu 1, load heavy"


def loaded(run_id: str) -> Run:
    results = [latencies(), latencies(load="heavy", seed=2)]
    cases = [structs.replace(r, params=PARAMS, series="cpu 1", missed=3) for r in results]
    return structs.replace(run(run_id, *cases), benches=[BENCH])


@pytest.fixture
def stored() -> list[str]:
    return [store_run(loaded(run_id)) for run_id in ("20261121-a", "20261122-b")]


def budget(tmp_path: Path) -> str:
    path = tmp_path / "budget.toml"
    path.write_text('[[case]]\nbench = "dk.periodic"\nloads = ["*"]\nmissed = 0\n')
    return str(path)


def test_every_command_calls_a_case_the_same(cli: Cli, stored: list[str], tmp_path: Path) -> None:
    first, last = stored
    commands = [
        ("show", first), ("show", first, "--worst-case"), ("guarantee", first),
        ("compare", first, last, "--all"), ("trend", "dk.periodic"),
        ("check", first, "--budget", budget(tmp_path)),
    ]  # fmt: skip
    for command in commands:
        done = cli(*command)
        assert NAME in " ".join(done.out.split()), (command, done.out, done.err)
        assert "load=" not in done.out, command


def test_a_check_names_what_is_no_default_and_its_document_keeps_the_label(
    cli: Cli, stored: list[str], tmp_path: Path
) -> None:
    command = ("check", stored[0], "--budget", budget(tmp_path))
    assert f"failed        {NAME}: missed " in cli(*command).out
    document = cli(*command, "--json").document
    assert {check["label"] for check in document["checks"]} == {"cpu 1"}
    xml, page = tmp_path / "check.xml", tmp_path / "check.md"
    cli(*command, "--junit", str(xml), "--markdown", str(page))
    assert f'name="{NAME}: missed' in xml.read_text("utf-8")
    assert "| dk.periodic period=250us cpu 1 | heavy |" in page.read_text("utf-8")


def test_a_ci_system_sees_each_case_of_a_bench_as_a_test(cli: Cli, tmp_path: Path) -> None:
    """Also in the check of a trend, whose checks have no label; and whatever is corrected."""
    runs = []
    for number in range(6):
        document = loaded(f"2026112{number}-a")
        slower = [structs.replace(r, case=r.case + 2, params={**PARAMS, "period": 500_000})
                  for r in document.results]  # fmt: skip
        runs.append(store_run(structs.replace(document, results=[*document.results, *slower])))
    xml = tmp_path / "check.xml"
    for options in (("--budget", budget(tmp_path)), ("--trend", "5")):
        cli("check", runs[-1], *options, "--junit", str(xml))
        names = [test.get("name", "") for test in ET.parse(xml).iter("testcase")]
        assert len(names) == len(set(names)) >= 4, names
        for period in ("250us", "500us"):
            assert any(f"dk.periodic period={period} cpu 1, load heavy: " in n for n in names)
        assert not any("corrected" in name for name in names)


def test_a_trend_check_names_the_series(cli: Cli, stored: list[str]) -> None:
    done = cli("check", stored[1], "--trend", "5")
    assert f"{NAME}: missed" in done.out
    document = cli("check", stored[1], "--trend", "5", "--json").document
    assert {check["label"] for check in document["checks"]} == {""}
