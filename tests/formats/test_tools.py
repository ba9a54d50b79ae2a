"""Files that the tools of this machine make, of every kind that they can: each is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rtstone.documents.run import Run
from tests.agent.rights import realtime
from tests.formats.long import run_of

pytestmark = pytest.mark.machine


def output(*command: str) -> str:
    """What a tool prints, errors included; the test is skipped where there is no such tool."""
    if not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]}")
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=True
    )
    return done.stdout


CYCLICTEST = ("cyclictest", "-t2", "-l20", "-i2000")


@realtime
@pytest.mark.parametrize(
    ("options", "form", "most"),
    [
        (["-q"], "cyclictest-statistics", 20),
        (["-q", "-N"], "cyclictest-statistics", 20),
        ([], "cyclictest-statistics", 20),
        (["-v"], "cyclictest-samples", 20),
        (["-q", "-v"], "cyclictest-samples", 20),
        (["-q", "-h300"], "cyclictest", 20),
        (["-q", "-H300"], "cyclictest", 20),
        (["-h300"], "cyclictest", 20),
    ],
)  # fmt: skip
def test_cyclictest(options: Sequence[str], form: str, most: int) -> None:
    run = run_of(output(*CYCLICTEST, *options).encode())
    assert run.target.detail["format"] == form
    assert [r.series for r in run.results] == ["thread 0", "thread 1"]
    assert all(r.n <= most for r in run.results)
    assert max(r.n for r in run.results) > 0  # on a busy machine one may end the other early
    assert ("statistics_only" in run.results[0].flags) == (form == "cyclictest-statistics")


@realtime
@pytest.mark.parametrize("options", [[], ["-h300"]])
def test_json_of_cyclictest(options: Sequence[str], tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    output(*CYCLICTEST, "-q", *options, f"--json={path}")
    run = run_of(path.read_bytes())
    assert run.target.detail["format"] == "cyclictest-json"
    assert run.results[0].params == {"interval": 2_000_000}


@realtime
def test_histogram_file_of_cyclictest(tmp_path: Path) -> None:
    path = tmp_path / "histogram"
    output(*CYCLICTEST, "-q", "-h300", f"--histfile={path}")
    assert 0 < max(r.n for r in run_of(path.read_bytes()).results) <= 20


@pytest.mark.skipif(os.geteuid() != 0, reason="stress-ng --cyclic needs root")
@pytest.mark.parametrize("options", [[], ["--cyclic-dist", "10000"]])
def test_stress_ng(options: Sequence[str], tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    command = ("stress-ng", "--cyclic", "1", "--metrics", "--yaml", str(path), *options)
    for seconds in (1, 5, 20):  # on a busy machine it takes no sample for a while
        output_text = output(*command, "-t", str(seconds))
        if "cyclic: sched" in output_text:
            break
    printed = run_of(output_text.encode())
    assert printed.target.detail["format"] == "stress-ng"
    assert printed.results[0].n > 0
    metrics = run_of(path.read_bytes())
    assert metrics.target.detail["format"] == "stress-ng-yaml"
    assert metrics.results[0].figures["bogo ops"].value is not None


def test_jitterdebugger(tmp_path: Path) -> None:
    """Its -D wants a unit, or it ends at once and writes nothing."""
    output("jitterdebugger", "-D", "1s", "-s", "-o", str(tmp_path / "out"))
    runs: list[Run] = [
        run_of((tmp_path / "out" / name).read_bytes()) for name in ("results.json", "samples.raw")
    ]
    assert [run.target.detail["format"] for run in runs] == [
        "jitterdebugger", "jitterdebugger-raw",
    ]  # fmt: skip
    assert all(result.n > 0 for run in runs for result in run.results)
