"""Test runs of KCIDB, by the schema of its own library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kcidb_io  # type: ignore[import-untyped]
import pytest
from msgspec import structs

from rtstone.documents.check import Check, Gate
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.report.check.kcidb import VERSION, Submission, kcidb, submission
from tests.conftest import Cli
from tests.report import synthetic
from tests.stats.test_gate import run

SUBMISSION = Submission("mylab", "maestro:68a1")


def check(**members: Any) -> Check:
    first: dict[str, Any] = {
        "bench": "dk.periodic", "load": "none", "what": "p999", "limit": "<= 1us",
        "verdict": "failed", "unit": "ns", "observed": 1500.0,
    }  # fmt: skip
    return Check(**first | members)


def test_runs(*checks: Check, policy: Any = "inconclusive", measured: Run | None = None) -> Any:
    """Return the test runs of checks, which KCIDB's own library has validated."""
    gate = Gate(
        run_id="r", target="local", created="2026-01-01T00:00:00+00:00", budget="", title="t",
        policy=policy, verdict="failed", checks=list(checks),
    )  # fmt: skip
    document = json.loads(kcidb(gate, measured or run(), SUBMISSION))
    kcidb_io.schema.V5_3.validate(document)
    return document["tests"]


test_runs.__test__ = False  # type: ignore[attr-defined]


def test_it_is_the_newest_version_that_the_library_knows() -> None:
    latest = kcidb_io.schema.LATEST
    assert {"major": latest.major, "minor": latest.minor} == VERSION
    document = json.loads(kcidb(Gate(
        run_id="r", target="", created="", budget="", title="", policy="pass", verdict="passed",
        checks=[]), run(), SUBMISSION))  # fmt: skip
    latest.validate(document)
    assert document["tests"] == []


def test_a_check_is_a_test_run() -> None:
    measured = structs.replace(run(), conditions={"kernel.release": "6.12", "machine.host": "h"})
    (own,) = test_runs(check(section_s=10.0, n=10_000), measured=measured)
    members = own.pop("misc")["rtstone"]
    assert own == {
        "id": "mylab:r:dk.periodic, load none: p99.9 <= 1us",
        "build_id": "maestro:68a1",
        "origin": "mylab",
        "path": "rtstone.dk.periodic.load-none.p999",
        "start_time": "2026-01-01T00:00:00+00:00",
        "environment": {"comment": "local", "misc": {"kernel.release": "6.12"}},
        "status": "FAIL",
        "comment": "p99.9 1.50 µs, n 10 000, 10.0 s, limit <= 1us",
        "duration": 10.0,
        "number": {"value": 1.5e-6, "unit": "s", "prefix": "metric"},
    }
    assert members["verdict"] == "failed" and members["n"] == 10_000 and "ci95" not in members


@pytest.mark.parametrize(
    ("policy", "statuses"),
    [
        ("inconclusive", ["PASS", "DONE", "MISS", "FAIL"]),
        ("pass", ["PASS", "DONE", "MISS", "FAIL"]),
        ("fail", ["PASS", "FAIL", "FAIL", "FAIL"]),
    ],
)
def test_what_is_not_decided_is_no_pass_and_no_failure(policy: str, statuses: list[str]) -> None:
    verdicts = ("passed", "inconclusive", "not measured", "failed")
    runs = test_runs(*(check(verdict=verdict) for verdict in verdicts), policy=policy)
    assert [own["status"] for own in runs] == statuses
    assert ["number" in own for own in runs] == [status != "MISS" for status in statuses]


@pytest.mark.parametrize(
    ("unit", "number"),
    [
        ("ns per KiB", {"value": 3e-9, "unit": "s/KiB", "prefix": "metric"}),
        ("instructions", {"value": 3.0, "unit": "instructions"}),
        ("%", {"value": 3.0, "unit": "%"}),
        ("", {"value": 3.0}),
    ],
)
def test_a_number_has_the_unit_of_its_check(unit: str, number: dict[str, Any]) -> None:
    (own,) = test_runs(check(unit=unit, observed=3.0))
    assert own["number"] == number


def test_every_test_run_has_an_id_and_a_place() -> None:
    params = [{"period": 1_500_000}, {"period": 250_000}]
    runs = test_runs(
        check(), check(), check(limit="<= 2us"), *(check(params=own) for own in params),
        check(**{"load": "a.b: c..d", "what": "slope over size"}),
    )  # fmt: skip
    assert len({own["id"] for own in runs}) == 6
    assert runs[1]["id"] == f"{runs[0]['id']} (2)"
    assert runs[3]["path"] == "rtstone.dk.periodic.period-1500us.load-none.p999"
    assert runs[5]["path"] == "rtstone.dk.periodic.load-a-b-c-d.slope-over-size"


@pytest.mark.parametrize(
    ("origin", "build", "says"),
    [
        (None, "maestro:1", "--kcidb needs --kcidb-origin NAME"),
        ("mylab", None, "--kcidb needs --kcidb-build ID"),
        ("My Lab", "maestro:1", "bad name 'My Lab', in --kcidb-origin"),
        ("mylab", "maestro", "bad id 'maestro', in --kcidb-build"),
        ("mylab", ":1", "bad id ':1', in --kcidb-build"),
        ("mylab", "Maestro:1", "bad id 'Maestro:1', in --kcidb-build"),
    ],
)
def test_what_kcidb_would_not_take(origin: str | None, build: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        submission(origin, build)


def test_texts_of_others_keep_to_the_schema() -> None:
    hostile = synthetic.HOSTILE
    (own,) = test_runs(check(bench="x", load=hostile, series=hostile, reason=hostile))
    assert hostile in own["comment"]


def test_the_command_writes_them(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", "wakeup", "--target", "sim", "--time", "1").status == 0
    file = tmp_path / "runs.json"
    words = ["check", "last", "--limit", "wakeup p99<=1ms", "--limit", "wakeup p99.99<=1ms"]
    options = ["--kcidb-origin", "mylab", "--kcidb-build", "maestro:68a1"]
    done = cli(*words, "--kcidb", file, *options)
    assert done.status == 3
    document = json.loads(file.read_text())
    kcidb_io.schema.LATEST.validate(document)
    assert [own["status"] for own in document["tests"]] == ["PASS", "DONE"]
    done = cli(*words, *options)
    assert done.status == 2 and "--kcidb-origin applies only with --kcidb FILE" in done.says
    done = cli(*words, "--kcidb", tmp_path / "other.json")
    assert done.status == 2 and "--kcidb needs --kcidb-origin NAME" in done.says
    assert not (tmp_path / "other.json").exists()
