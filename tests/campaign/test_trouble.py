"""What goes wrong costs its own jobs only, and is told in a line: targets, jobs, the disk."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from rtstone.campaign import work
from rtstone.campaign.jobs import Job
from rtstone.campaign.matrix import Cell
from tests.campaign import killing
from tests.campaign.conftest import Board
from tests.conftest import Cli

FILE = """
targets = {targets}
measure = ["sched.yield"]
repeat = 3
[params]
samples = 100
"""


def written(folder: Path, *targets: str) -> Path:
    path = folder / "trouble.toml"
    path.write_text(FILE.format(targets=list(targets)))
    return path


def cells(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cell["target"]: cell for cell in document["cells"]}


def test_a_target_that_comes_back_loses_nothing(cli: Cli, tmp_path: Path, board: Board) -> None:
    name = board([4, 5])  # twice before its second job
    done = cli("campaign", "run", written(tmp_path, "sim", name), "--json")
    assert done.status == 0, done.err
    assert done.document["jobs"]["done"] == 6
    again = [line for line in done.err.splitlines() if line.startswith("again  ")]
    assert len(again) == 2
    assert all("the board is off" in line for line in again)


def test_a_target_that_vanishes_for_good_is_given_up(
    cli: Cli, tmp_path: Path, board: Board
) -> None:
    name = board(range(4, 100))
    file = written(tmp_path, "sim", name)
    done = cli("campaign", "run", file, "--json")
    assert done.status == 3
    cell = cells(done.document)
    assert cell["sim"]["jobs"]["done"] == 3
    assert (cell[name]["jobs"]["done"], cell[name]["jobs"]["failed"]) == (1, 2)
    assert all("the board is off" in missing["reason"] for missing in cell[name]["missing"])
    assert int((tmp_path / "starts").read_text()) == 3 + 4  # the last one gave it up
    board([])
    assert cli("campaign", "status", file, "--json").document["jobs"]["failed"] == 2
    assert "2 jobs planned again" in cli("campaign", "retry", file).out
    assert cli("campaign", "run", file, "--json").document["jobs"]["done"] == 6


def test_a_run_with_invalid_results_is_stored_and_its_path_reported(
    cli: Cli, tmp_path: Path
) -> None:
    """Within 0.2 s the load has no time to keep its rates, so that the run is incomplete."""
    file = tmp_path / "short.toml"
    file.write_text(
        "targets = ['sim']\nmeasure = ['rheal.im']\n"
        "loads = ['none', 'heavy/reduced']\ntime = '0.2s'\n"
    )
    done = cli("campaign", "run", file, "--json")
    assert done.status == 3
    cell = {cell["load"]: cell for cell in done.document["cells"]}
    assert (len(cell["none"]["runs"]), cell["none"]["incomplete"]) == (1, [])
    assert cell["heavy/reduced"]["runs"] == []
    (path,) = cell["heavy/reduced"]["incomplete"]
    assert cli("show", path, "--json").document["status"] == "incomplete"


def test_a_latency_that_is_required_is_that_of_each_job(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "required.toml"
    file.write_text(
        "targets = ['sim']\nmeasure = ['dk.periodic']\ntime = '0.2s'\nlimit = '100ns'\n"
    )
    done = cli("campaign", "run", file, "--json")
    assert (done.status, done.document["jobs"]["done"]) == (0, 1)
    document = cli("show", "last", "--json").document
    assert document["requirement"] == {"latency": 100, "stop_above": None, "unit": "ns"}
    assert document["command"][-2:] == ["--limit", "100ns"]
    assert cli("show", "last", "-q").out.startswith("100 ns not met: in the model, 200 of 200 ")
    assert cli("check", "last").status == 1


def test_a_target_that_never_answered_is_missing_and_not_forgotten(
    cli: Cli, tmp_path: Path, board: Board
) -> None:
    name = board([1, 2])  # planned, and planned again at the end
    file = written(tmp_path, "sim", name)
    done = cli("campaign", "run", file, "--json")
    assert done.status == 3
    assert done.document["absent"][name]["jobs"] == 3
    text = cli("campaign", "status", file).out
    assert "3 of 6 jobs done, 3 of targets that did not answer" in text
    assert "no answer:" in text
    done = cli("campaign", "run", file, "--json")
    assert (done.status, done.document["jobs"]["done"], done.document["absent"]) == (0, 6, {})


def test_one_that_is_off_when_the_campaign_goes_on_keeps_its_jobs(
    cli: Cli, tmp_path: Path, board: Board
) -> None:
    name = board([])
    file = written(tmp_path, "sim", name)
    file.write_text(file.read_text() + "[limits]\nruns = 2")
    done = cli("campaign", "run", file, "--json")
    assert (done.status, done.document["jobs"]["done"]) == (0, 2)
    assert f"the runs of [limits] have been made; `rtstone campaign run {file}` goes" in done.err
    starts = int((tmp_path / "starts").read_text())
    board([starts + 1, starts + 2])  # while it is planned, and at its next job
    file.write_text(file.read_text().replace("runs = 2", "runs = 20"))
    done = cli("campaign", "run", file, "--json")
    assert (done.status, done.document["jobs"]["done"]) == (0, 6)


def test_an_interrupt_ends_the_jobs_and_the_next_run_goes_on(tmp_path: Path) -> None:
    file, home, log = written(tmp_path, "sim"), tmp_path / "home", tmp_path / "log"
    jobs = 4 + 4 * len(os.sched_getaffinity(0))  # of which as many as there are CPUs run at once
    file.write_text(file.read_text().replace("repeat = 3", f"repeat = {jobs}"))
    running = killing.runner(file, home, log)
    while not killing.runs(home, "trouble"):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert running.wait() == 130
    assert log.read_text().splitlines()[-1] == "rtstone: interrupted"
    assert len(killing.runs(home, "trouble")) < jobs
    assert killing.left_behind(home) == []
    killing.undisturbed(file, home, log)
    assert len(killing.runs(home, "trouble")) == jobs


def test_one_that_answers_at_the_end_is_measured_then(
    cli: Cli, tmp_path: Path, board: Board
) -> None:
    done = cli("campaign", "run", written(tmp_path, "sim", board([1])), "--json")
    assert (done.status, done.document["jobs"]["done"]) == (0, 6)


def test_a_job_that_crashes_or_hangs_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(spec: str) -> Job:
        cell = Cell(spec, "sched.yield")
        return Job(campaign="x", key="0" * 16, cell=cell, spec=spec, lane="core", expected_s=0.0)

    killed = work.perform(job("sim"), str(tmp_path), str(tmp_path), lambda process: process.kill())
    assert (killed.fault, killed.reason) == ("defect", "its process ended by SIGKILL")
    monkeypatch.setattr(work, "SPARE_S", 0.01)
    late = work.perform(job("sim"), str(tmp_path), str(tmp_path), lambda process: None)
    assert late.fault == "target"
    assert "did not end within 0 s; it was stopped" in str(late.reason)


def test_what_has_changed_since_it_was_planned_is_not_measured_under_its_name(
    tmp_path: Path,
) -> None:
    cell = Cell("sim", "sched.yield")
    job = Job(campaign="x", key="0" * 16, cell=cell, spec="sim", lane="core")
    outcome = work.perform(job, str(tmp_path), str(tmp_path), lambda process: None)
    assert outcome.fault == "job"
    assert "not what was planned" in str(outcome.reason)
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can mount a small disk"
)
def test_a_full_disk_ends_it_in_a_line_and_loses_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "sim", "sim:rtai-24.1.8")
    home = tmp_path / "home"
    home.mkdir()
    run = shlex.join([killing.RTSTONE, "campaign", "run", str(file), "--json"])
    script = f"""
        mount -t tmpfs -o size=340k none {home} || exit 99
        {run} >{tmp_path}/first.json 2>{tmp_path}/first; echo $?
        ls {home}/runs | wc -l
        mount -o remount,size=64m {home}
        {run} >{tmp_path}/second.json 2>{tmp_path}/second; echo $?
        ls {home}/runs | wc -l
        ls -A {home}/runs/.staged/trouble
    """
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script],
        env=killing.environment(home), capture_output=True, text=True, check=False,
    )  # fmt: skip
    first, number, second, every, *left = done.stdout.split()
    lines = [
        line for line in (tmp_path / "first").read_text().splitlines() if line.startswith("rtstone")
    ]
    assert (first, len(lines)) == ("4", 1), (done, (tmp_path / "first").read_text())
    assert "No space left on device" in lines[0] or "disk is full" in lines[0]
    assert int(number) < 6
    assert (second, every, left) == ("0", "6", []), (tmp_path / "second").read_text()
