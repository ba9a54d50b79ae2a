"""Parts of a campaign that were carried out elsewhere come together, and nothing else with them."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rtstone.campaign import pull
from rtstone.cli.main import _status
from rtstone.store.index import entries
from rtstone.store.intake import refusal, take_in
from rtstone.store.layout import LARGEST
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


@cache
def whole() -> dict[str, dict[str, bytes]]:
    """Carry the campaign out elsewhere; return the files of each run."""
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", home)
        file = Path(home, "parts.toml")
        file.write_text(FILE)
        assert _status(["campaign", "work", str(file), "--shard", "1/1"]) == 0
        return {
            run.name: {part.name: part.read_bytes() for part in run.iterdir()}
            for run in sorted(Path(home, "runs").glob("parts.*"))
        }


def some_runs(home: Path, number: int = 1) -> list[Path]:
    """Put so many of the six runs of the campaign into a home."""
    paths = []
    for name, files in list(whole().items())[:number]:
        paths.append(home / "runs" / name)
        paths[-1].mkdir(parents=True)
        for part, content in files.items():
            (paths[-1] / part).write_bytes(content)
    return paths


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
    document = cli("campaign", "status", file, "--json").document
    assert (document["jobs"]["done"], document["jobs"]["planned"]) == (6, 0)


def test_what_is_no_complete_run_is_left_out(cli: Cli, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    first, second, third, *_ = some_runs(other, 6)
    (first / "run.json").unlink()
    (second / "run.json").write_text("{")
    document = json.loads((third / "run.json").read_text())
    (third / "run.json").write_text(json.dumps(document | {"status": "incomplete", "reason": "x"}))
    (other / "runs" / "parts.zz").mkdir()
    done = cli("campaign", "pull", file, other)
    assert done.out == "3 runs taken, 0 here already\n"
    lines = [line for line in done.err.splitlines() if line.startswith("left out: ")]
    assert len(lines) == 2  # the first is no run at all
    assert any(f"{second.name}: not a readable run.json" in line for line in lines)
    assert any(f"{third.name}: it holds incomplete run" in line for line in lines)


def test_a_campaign_that_is_carried_out_beside_it_takes_nothing_away(
    cli: Cli, file: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It removed what was on its way, as that of a runner that is gone."""
    other = tmp_path / "other"
    some_runs(other, 6)
    checked: list[Path] = []

    def beside(path: Path) -> str | None:
        if not checked:
            assert cli("campaign", "run", file).status == 0
        checked.append(path)
        assert path.is_dir()
        return refusal(path)

    monkeypatch.setattr(pull, "refusal", beside)
    done = cli("campaign", "pull", file, other)
    assert (done.status, len(checked), "left out" in done.err) == (0, 6, False), done.err
    assert killing.left_behind(home) == []


def test_what_a_killed_one_left_goes_with_the_next(
    cli: Cli, file: Path, tmp_path: Path, home: Path
) -> None:
    other = tmp_path / "other"
    some_runs(other)
    left = home / "runs" / ".staged" / "parts"
    for name in ("pull-earlier", "0123456789abcdef-x"):  # before there were marks, and since then
        (left / name / "parts.0123456789abcdef").mkdir(parents=True)
    (home / "campaigns" / "parts").mkdir(parents=True)
    (home / "campaigns" / "parts" / "runner-0123456789abcdef.lock").touch()
    assert "1 run taken" in cli("campaign", "pull", file, other).out
    assert killing.left_behind(home) == []


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


def test_a_run_arrives_as_a_whole_and_once(tmp_path: Path, home: Path) -> None:
    (run,) = some_runs(tmp_path / "other")
    (home / "runs").mkdir(parents=True)
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    assert take_in(run, 7)
    assert [entry.arrival for entry in entries()] == [7]
    assert not take_in(copy, 8)
    assert copy.is_dir()
    assert [entry.arrival for entry in entries()] == [7]


def damaged(run: Path, kind: str) -> str:
    """Make a run hostile in one way, and return how it is told."""
    other = run.parent.parent / f"other-{kind}"
    match kind:
        case "pipe":
            (run / "wire.log").unlink()
            os.mkfifo(run / "wire.log")
            return "wire.log is a pipe, not a regular file"
        case "link":
            (run / "wire.log").rename(other)
            (run / "wire.log").symlink_to(other)
            return "wire.log is a link"
        case "huge":
            os.truncate(run / "wire.log", LARGEST + 1)
            return "wire.log is larger than 1024 MiB"
        case "another's plan":
            plan = json.loads((run / "plan.json").read_text())
            (run / "plan.json").write_text(json.dumps(plan | {"run_id": "../x\x1b[31m"}))
            return "its plan.json is that of ../x"
        case "deep":
            (run / "run.json").write_text("[" * 100_000)
            return "not a readable run.json"
    text = (run / "run.json").read_text()
    changed = re.sub(r'"duration_s": *[0-9.e-]+', f'"duration_s": {kind}', text)
    assert changed != text
    (run / "run.json").write_text(changed)
    return "not a readable run.json"


HOSTILE = ("pipe", "link", "huge", "another's plan", "deep", "1e400", "NaN", "[[]]")


def test_a_hostile_run_costs_only_itself(cli: Cli, file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("repeat = 3", "repeat = 5"))
    other = tmp_path / "other"
    work(cli, file, other, "1/1")
    paths = sorted((other / "runs").glob("parts.*"))
    reasons = [damaged(run, kind) for run, kind in zip(paths, HOSTILE, strict=False)]
    # Of another campaign, and names that are none.
    shutil.copytree(paths[-1], other / "runs" / "else.0123456789abcdef")
    for name in (
        "parts.0123456789abcdef\n",
        "parts.0123456789abcdef.x",
        "parts..",
        f"parts.{'f' * 200}",
    ):
        shutil.copytree(paths[-1], other / "runs" / name)
    done = cli("campaign", "pull", file, other)
    assert (done.status, done.out) == (0, "2 runs taken, 0 here already\n"), done.err
    left = [line for line in done.err.splitlines() if line.startswith("left out: ")]
    assert len(left) == len(HOSTILE)
    assert all(any(why in line for line in left) for why in reasons), left
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    ("created", "taken"),
    [("1970-01-01T00:00:00+00:00", 6), ("9999-12-31T23:59:59+00:00", 0), ("yesterday", 0)],
)
def test_a_clock_that_is_wrong_there(
    cli: Cli, file: Path, tmp_path: Path, created: str, taken: int
) -> None:
    other = tmp_path / "other"
    some_runs(other, 6)
    for part in (other / "runs").glob("parts.*/*.json"):
        part.write_text(json.dumps(json.loads(part.read_text()) | {"created": created}))
    done = cli("campaign", "pull", file, other)
    assert f"{taken} runs taken" in done.out
    assert done.err.count("not a time with its offset from UTC") == 6 - taken
    assert cli("list", "runs").out.count(created[:10]) == taken
    for words in (("show", "last"), ("campaign", "report", file)):
        assert cli(*words).status in {0, 2, 3}, words


# ---- by ssh -------------------------------------------------------------------------------------


@pytest.fixture
def machine(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("board")
    with board(folder) as machine, logged_in(machine, tmp_path, monkeypatch):
        yield machine


@NEEDED
def test_runs_come_by_ssh(cli: Cli, file: Path, machine: Board) -> None:
    some_runs(machine.folder / "elsewhere", 3)
    done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert done.out == "3 runs taken, 0 here already\n", done.err
    assert "3 of 6 jobs done" in cli("campaign", "plan", file).out
    done = cli("campaign", "pull", file, "board:/run/board/nowhere")
    assert (done.status, "no runs in /run/board/nowhere" in done.says) == (4, True)


@NEEDED
@pytest.mark.parametrize(
    ("say", "message"),
    [
        ("yes", "board answers with more than 1 MiB"),
        ("printf x", "board sent no archive of runs"),
        ("head -c 5000 /dev/urandom", "board sent no archive of runs"),
    ],
)
def test_what_is_no_archive_is_refused_in_a_line(
    cli: Cli, file: Path, machine: Board, say: str, message: str
) -> None:
    some_runs(machine.folder / "elsewhere")
    machine.program("tar", f"exec {say}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pull, "LARGEST", 1 << 20)
        done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert (done.status, message in done.says) == (4, True), done.err


@NEEDED
def test_only_runs_of_the_campaign_are_asked_for(
    cli: Cli, file: Path, machine: Board, home: Path, tmp_path: Path
) -> None:
    """Neither another directory of this machine nor a run of another campaign gets in."""
    (run,) = some_runs(machine.folder / "elsewhere")
    own = tmp_path / "parts" / "own.0123456789abcdef"
    shutil.copytree(run, own)
    for part in own.glob("*.json"):
        part.write_text(json.dumps(json.loads(part.read_text()) | {"run_id": own.name}))
    with pytest.MonkeyPatch.context() as patch:
        listed = f"echo {own}; echo {own.name}; echo ../{run.name}; : "
        patch.setattr(pull, "_LIST", listed)
        done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert done.out == "0 runs taken, 0 here already\n", done.err
    assert own.is_dir()
    assert not (home / "runs" / own.name).exists()


@NEEDED
def test_a_hostile_archive_writes_nothing_but_runs(
    cli: Cli, file: Path, machine: Board, tmp_path: Path, home: Path
) -> None:
    (run,) = some_runs(machine.folder / "elsewhere")
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
    (machine.folder / "evil.tar").write_bytes(text.getvalue())
    machine.program("tar", f"cat {shlex.quote('/run/board/evil.tar')}")
    before = {path for path in tmp_path.rglob("*") if "run" not in path.parts}
    done = cli("campaign", "pull", file, "board:/run/board/elsewhere")
    assert done.out == "0 runs taken, 0 here already\n"
    assert "plan.json is not a regular file" in done.err
    assert not list(home.rglob("*evil*"))
    assert not Path("/tmp/evil").exists()
    assert not [path for path in home.rglob("*") if path.is_symlink()]
    assert {path for path in tmp_path.rglob("*") if "run" not in path.parts} == before
