"""A campaign survives the end of its runners at any moment: nothing is lost or there twice."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.campaign import killing
from tests.lab.boards import needs

pytestmark = [pytest.mark.lab, needs("freertos-a64")]

FILE = """
targets = ["sim", "sim:rtai-24.1.8", "qemu:freertos-a64"]
measure = ["dk.periodic sync.test2", "sched.yield.pair"]
repeat = 2
[params]
samples = 100
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaign") / "killed.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def quiet(file: Path) -> Path:
    """The home of a campaign that nothing disturbed."""
    home = file.parent / "quiet"
    killing.undisturbed(file, home, file.parent / "quiet.log")
    return home


def test_two_runners_killed_at_random_moments(file: Path, quiet: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    killing.killed(file, home, tmp_path / "log", kills=6, mean_s=0.6, seed=19)
    assert set(killing.keys(home, "killed").values()) == {1}
    undisturbed, disturbed = killing.runs(quiet, "killed"), killing.runs(home, "killed")
    assert len(undisturbed) == 12
    assert killing.differing(undisturbed, disturbed) == []
    end = time.monotonic() + 5
    while (left := killing.left_behind(home)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def test_it_goes_on_without_its_table(file: Path, quiet: Path, tmp_path: Path) -> None:
    home, log = Path(shutil.copytree(quiet, tmp_path / "home")), tmp_path / "log"
    before = {path: path.stat().st_mtime_ns for path in (home / "runs").rglob("*.json")}
    table = home / "campaigns" / "killed" / "jobs.db"
    table.write_bytes(b"damaged" * 1000)
    for tail in ("-wal", "-shm"):
        table.with_name(table.name + tail).unlink(missing_ok=True)
    killing.undisturbed(file, home, log)
    assert {path: path.stat().st_mtime_ns for path in (home / "runs").rglob("*.json")} == before
    gone = next((home / "runs").glob("killed.*"))
    for file_of_run in gone.iterdir():
        file_of_run.unlink()
    gone.rmdir()
    killing.undisturbed(file, home, log)
    assert len(killing.runs(home, "killed")) == 12
