"""Parts of a campaign that were carried out elsewhere come together, and nothing else with them."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone.store.arriving import take_in
from rtstone.store.index import entries
from tests.campaign import killing
from tests.conftest import Cli
from tests.targets.board import NEEDED, Board, board, logged_in

FILE = """
targets = ["sim", "sim:rtai-24.1.8"]
measure = ["sched.yield"]
repeat = 3
[params]
samples = 100
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "parts.toml"
    path.write_text(FILE)
    return path


def work(cli: Cli, file: Path, home: Path, part: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        done = cli("campaign", "work", file, "--shard", part)
    assert done.status == 0, done.err


def test_parts_are_disjoint_and_whole_together(cli: Cli, file: Path, tmp_path: Path) -> None:
    homes = [tmp_path / f"home-{part}" for part in (1, 2, 3)]
    for number, home in enumerate(homes, 1):
        work(cli, file, home, f"{number}/3")
    parts = [set(killing.runs(home, "parts")) for home in homes]
    assert [len(part) for part in parts] == [2, 2, 2]
    assert len(set.union(*parts)) == 6
    assert "2 runs taken, 0 here already" in cli("campaign", "pull", file, homes[0]).out
    assert "0 runs taken, 2 here already" in cli("campaign", "pull", file, homes[0]).out
    assert "2 runs taken, 0 here already" in cli("campaign", "pull", file, homes[1]).out
    done = cli("campaign", "run", file, "--json")  # what is there is not measured again
    assert (done.status, done.document["jobs"]["done"]) == (0, 6)
    assert len([line for line in done.err.splitlines() if line.startswith("done  ")]) == 2
    assert [entry.arrival for entry in entries()] == [1, 2, 3, 4, 5, 6]


def test_parts_may_share_a_directory(cli: Cli, file: Path, home: Path) -> None:
    for number in (1, 2):
        work(cli, file, home, f"{number}/2")
    found = cli("campaign", "status", file, "--json").document
    assert (found["jobs"]["done"], found["jobs"]["planned"]) == (6, 0)


def test_what_is_no_complete_run_is_left_out(cli: Cli, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    work(cli, file, other, "1/1")
    first, second, third, *_ = sorted((other / "runs").glob("parts.*"))
    (first / "run.json").unlink()
    (second / "run.json").write_text("{")
    document = json.loads((third / "run.json").read_text())
    (third / "run.json").write_text(json.dumps(document | {"status": "incomplete", "reason": "x"}))
    (other / "runs" / "parts.zz").mkdir()
    done = cli("campaign", "pull", file, other)
    assert done.out == "3 runs taken, 0 here already\n"
    told = [line for line in done.err.splitlines() if line.startswith("left out: ")]
    assert len(told) == 2  # the first is no run at all
    assert any(f"{second.name}: not a readable run.json" in line for line in told)
    assert any(f"{third.name}: it holds incomplete run" in line for line in told)


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_a_bad_part(cli: Cli, file: Path, part: str) -> None:
    done = cli("campaign", "work", file, "--shard", part)
    assert (done.status, f"bad part '{part}'" in done.says) == (2, True)


def test_a_bad_source(cli: Cli, file: Path, tmp_path: Path, home: Path) -> None:
    done = cli("campaign", "pull", file, tmp_path / "nowhere")
    assert (done.status, "no runs, in" in done.says) == (2, True)
    (home / "runs").mkdir(parents=True)
    done = cli("campaign", "pull", file, home)
    assert (done.status, "there is nothing to pull" in done.says) == (2, True)


def test_a_run_arrives_as_a_whole_and_once(
    cli: Cli, file: Path, tmp_path: Path, home: Path
) -> None:
    other = tmp_path / "other"
    work(cli, file, other, "1/6")
    (run,) = (other / "runs").glob("parts.*")
    (home / "runs").mkdir(parents=True)
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    assert take_in(run, 7)
    assert [entry.arrival for entry in entries()] == [7]
    assert not take_in(copy, 8)
    assert copy.is_dir()
    assert [entry.arrival for entry in entries()] == [7]


# ---- by ssh -------------------------------------------------------------------------------------


@pytest.fixture
def there(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("board")
    with board(folder) as found, logged_in(found, tmp_path, monkeypatch):
        yield found


@NEEDED
def test_runs_come_by_ssh(cli: Cli, file: Path, there: Board) -> None:
    work(cli, file, there.folder / "elsewhere", "1/2")
    done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert done.out == "3 runs taken, 0 here already\n", done.err
    assert "3 of 6 jobs done" in cli("campaign", "plan", file).out
    done = cli("campaign", "pull", file, "board:/run/board/nowhere")
    assert (done.status, "no runs in /run/board/nowhere" in done.says) == (4, True)


@NEEDED
def test_a_hostile_archive_writes_nothing_but_runs(
    cli: Cli, file: Path, there: Board, tmp_path: Path, home: Path
) -> None:
    work(cli, file, there.folder / "elsewhere", "1/6")
    (run,) = (there.folder / "elsewhere" / "runs").glob("parts.*")
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w") as archive:
        for name in ("../evil", "/tmp/evil", f"{run.name}/../../evil", f"{run.name}/sub/run.json",
                     "parts.0123456789abcdef/run.json", f"{run.name}/evil"):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"evil"))
        link = tarfile.TarInfo(f"{run.name}/plan.json")
        link.type, link.linkname = tarfile.SYMTYPE, str(file)
        archive.addfile(link)
        for path in run.iterdir():
            if path.name != "plan.json":
                archive.add(path, f"{run.name}/{path.name}")
    (there.folder / "evil.tar").write_bytes(text.getvalue())
    there.program("tar", f"cat {shlex.quote('/run/board/evil.tar')}")
    before = {path for path in tmp_path.rglob("*") if "run" not in path.parts}
    done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert done.out == "0 runs taken, 0 here already\n"
    assert "it has no plan.json" in done.err
    assert not list(home.rglob("*evil*"))
    assert not Path("/tmp/evil").exists()
    assert not [path for path in home.rglob("*") if path.is_symlink()]
    assert {path for path in tmp_path.rglob("*") if "run" not in path.parts} == before
