"""A dask cluster carries out a campaign, and loses a worker: the same runs as on one machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign import killing
from tests.campaign.cluster import Cluster, cluster
from tests.server.killing import free_port

FILE = """
targets = ["sim", "sim:rtai-24.1.8"]
measure = ["dk.periodic sync.test2", "sched.yield.pair"]
repeat = 3
[params]
samples = 100
"""


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield a cluster of one worker."""
    with cluster(tmp_path_factory.mktemp("dask") / "cluster") as started:
        started.worker()
        yield started


def rtstone(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [killing.RTSTONE, *words], env=killing.environment(home), capture_output=True, check=False
    )


def test_a_worker_is_killed_and_another_one_comes(dask: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "farm.toml"
    file.write_text(FILE)
    quiet, home, log = tmp_path / "quiet", tmp_path / "home", tmp_path / "log"
    killing.undisturbed(file, quiet, tmp_path / "quiet.log")
    first = dask.worker()
    runner = killing.runner(file, home, log, "--engine", f"dask:{dask.address}")
    end = time.monotonic() + 60
    while len(killing.runs(home, "farm")) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    first.kill()
    dask.worker()
    assert runner.wait() == 0, log.read_text()
    undisturbed, disturbed = killing.runs(quiet, "farm"), killing.runs(home, "farm")
    assert len(undisturbed) == 12
    assert killing.differing(undisturbed, disturbed) == []
    assert set(killing.keys(home, "farm").values()) == {1}
    assert killing.left_behind(home) == []


def test_a_simulation_has_the_same_document_on_both_engines(dask: Cluster, tmp_path: Path) -> None:
    study = ["simulate", "--policy", "rm,edf", "--tasks", "5", "--utilisation", "0.7,0.95",
             "--sets", "120", "--json"]  # fmt: skip
    here = rtstone(tmp_path, *study)
    elsewhere = rtstone(tmp_path, *study, "--engine", f"dask:{dask.address}")
    assert (here.returncode, elsewhere.returncode) == (0, 0), elsewhere.stderr
    assert here.stdout == elsewhere.stdout
    assert here.stdout


def test_no_scheduler_is_one_line(tmp_path: Path) -> None:
    file, address = tmp_path / "farm.toml", f"127.0.0.1:{free_port()}"
    file.write_text(FILE)
    for words in (["campaign", "run", str(file)], ["simulate", "--sets", "10"]):
        done = rtstone(tmp_path / "home", *words, "--engine", f"dask:{address}")
        assert done.returncode == 4
        assert done.stderr.decode().startswith(
            f"rtstone: no dask scheduler answers at {address}; start one there with: "
        )
        assert len(done.stderr.splitlines()) == 1
    done = rtstone(tmp_path, "campaign", "run", str(file), "--engine", "dsk:1")
    assert (done.returncode, b"unknown engine 'dsk:1'" in done.stderr) == (2, True)
