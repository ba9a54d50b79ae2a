"""Lost activations, and stored runs as noise floor, from the command to programs and pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import rtstone
from rtstone.documents.run import Run, Target
from rtstone.pytest_plugin import Compared, Runner
from rtstone.stats.comparison.scatter import scatter
from rtstone.stats.comparison.systems import System
from rtstone.store.measurements import before
from rtstone.wire.records import Loaded
from tests.cli.test_check import stored
from tests.conftest import Cli
from tests.stats.lossy import lossy, quiet

QUIET, LOSSY = [quiet(n) for n in range(5)], [lossy(n) for n in range(3)]


def keep(*runs: Run) -> list[str]:
    """Store runs, and return their names."""
    for run in runs:
        stored(run, run.run_id)
    return [run.run_id for run in runs]


def test_commands_and_programs_say_that_activations_were_lost(cli: Cli, tmp_path: Path) -> None:
    a, b = ",".join(keep(*QUIET[:3])), ",".join(keep(*LOSSY))
    done = cli("compare", a, b)
    assert "missed 31% of its activations" in " ".join(done.out.split()).partition(". ")[0]
    document = json.loads(cli("compare", a, b, "--json").out)
    comparison = rtstone.compare(a.split(","), b.split(","))
    for verdicts in (
        [e["verdict"] for e in document["rows"][0]["effects"] if e["part"] == "missed"],
        [e.verdict for e in comparison.rows[0].effects if e.part == "missed"],
    ):
        assert verdicts == ["worse"]
    page = tmp_path / "compared.html"
    done = cli("report", a, b, "-o", str(page))
    assert done.status == 0, done.err
    assert "missed 31% of its activations" in " ".join(page.read_text().split())


def test_check_fails_a_run_that_lost_activations(cli: Cli, tmp_path: Path) -> None:
    names = keep(*QUIET, LOSSY[2])
    baseline = [word for name in names[:5] for word in ("--baseline", name)]
    summary = tmp_path / "gate.md"
    done = cli("check", names[5], *baseline, "--markdown", str(summary))
    assert done.status == 1
    assert "missed 35.97 %" in summary.read_text()
    assert "missed 35.97 %" in done.out
    again = cli("check", names[4], *baseline[:8])
    assert again.status == 0, again.out


def test_the_plug_in_fails_a_test_of_a_system_that_lost_activations(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    keep(*QUIET, LOSSY[2])
    earlier = Compared.__new__(Compared)
    vars(earlier).update(_url="https://host/series/key", _runs=QUIET, _remark="")
    measured: dict[str, Any] = {"it": rtstone.load(LOSSY[2].run_id)}
    monkeypatch.setattr(rtstone, "run", lambda bench, **_: measured["it"])
    with pytest.raises(pytest.fail.Exception, match=r"missed 35.97 %"):
        Runner("local", [earlier])("dk.periodic")
    measured["it"] = rtstone.load(QUIET[4].run_id)
    vars(earlier)["_runs"] = QUIET[:4]
    assert Runner("local", [earlier])("dk.periodic") is measured["it"]


# ---- the noise floor of stored runs -------------------------------------------------------------


def floor_of(cli: Cli, *names: str) -> str:
    rules = json.loads(cli("compare", *names, "--json").out)["rules"]
    return str(rules["floor"])


def test_two_runs_take_their_floor_from_older_runs_under_the_same_conditions(cli: Cli) -> None:
    runs = [quiet(number) for number in range(10)]
    slower = structs.replace(
        runs[9], results=[structs.replace(r, p50=1.3 * (r.p50 or 0)) for r in runs[9].results]
    )
    names = keep(*runs[:9], slower)
    floor = floor_of(cli, "last~1", "last")
    assert floor == "from 8 stored runs under the same conditions: quiet-0 to quiet-7"
    comparison = rtstone.compare("last~1", "last")
    median = next(e for e in comparison.rows[0].effects if e.part == "median")
    assert (median.verdict, median.basis) == ("worse", "single")
    assert median.ratio == pytest.approx(1.3, abs=0.02)
    first = cli("compare", names[3], names[4]).out
    assert "between" in first
    assert "is possible" in " ".join(first.split())
    assert floor_of(cli, names[0], names[1]).startswith("unknown")
    assert floor_of(cli, ",".join(names[3:6]), ",".join(names[6:9])).startswith("from the scatter")
    chosen = ",".join(names[:4])
    assert floor_of(cli, "last~1", "last", "--floor", chosen).startswith("from 4 further runs")


@pytest.mark.parametrize(
    "change",
    [
        {"conditions": {"kernel.release": "6.12"}},
        {"conditions": {"kernel.cmdline": "isolcpus=1"}},
        {"conditions": {"cpu.model": "another"}},
        {"target": msgspec.UNSET},
        {"agent": msgspec.UNSET},
    ],
)
def test_runs_under_other_conditions_are_no_noise_floor(cli: Cli, change: dict[str, Any]) -> None:
    same = {"kernel.release": "6.1", "kernel.cmdline": "quiet", "cpu.model": "one"}
    runs = [structs.replace(quiet(number), conditions=same) for number in range(6)]
    members = dict(change)
    if "conditions" in members:
        members["conditions"] = same | members["conditions"]
    if "target" in members:
        members["target"] = structs.replace(runs[0].target, name="ssh:other")
    if "agent" in members:
        assert runs[0].agent
        members["agent"] = structs.replace(runs[0].agent, source="bb")
    keep(*(structs.replace(run, **members) for run in runs[:3]), *runs[3:])
    assert floor_of(cli, "last~1", "last").startswith("unknown")


def test_runs_between_and_after_those_compared_are_no_noise_floor(cli: Cli) -> None:
    """A change lies between them: runs of both sides would count it as noise."""
    names = keep(*(quiet(number) for number in range(6)))
    assert floor_of(cli, names[1], names[5]).startswith("unknown")
    assert "from 2 stored runs" in floor_of(cli, names[2], names[5])
    assert "from 2 stored runs" in floor_of(cli, names[5], names[2])


def test_runs_of_another_target_or_under_a_load_set_differently_are_no_noise_floor(
    cli: Cli,
) -> None:
    runs = [quiet(number) for number in range(5)]
    keep(*runs[:3], structs.replace(runs[3], target=Target(name="ssh:other")))
    assert [run.run_id for run in before(runs[4])] == ["quiet-2", "quiet-1", "quiet-0"]

    def loaded(run: Run, rate: int) -> Run:
        loads = [Loaded(load=name, status="ok", params={"rate": rate if name == "b" else 1})
                for name in "ab"]  # fmt: skip
        return structs.replace(run, loads=loads)

    systems = [System(run.run_id, [loaded(run, 1)]) for run in runs[3:]]
    alike = [loaded(run, 1) for run in runs[2::-1]]
    assert [run.run_id for run in scatter(systems, lambda _: alike)] == [
        "quiet-0", "quiet-1", "quiet-2",
    ]  # fmt: skip
    groups = [
        [loaded(run, 2) for run in alike],
        [structs.replace(run, target=Target(name="ssh:other")) for run in alike],
        [
            structs.replace(run, target=Target(name="local", detail={"machine": "x"}))
            for run in alike
        ],
    ]
    for other in groups:

        def past(_: Run, other: list[Run] = other) -> list[Run]:
            return other

        assert scatter(systems, past) == []
    assert scatter([System("both", runs[3:]), systems[0]], lambda _: alike) == []
