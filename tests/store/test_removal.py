"""Runs are removed file by file: what rtstone has made goes, and nothing else."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.documents.run import Turn
from rtstone.errors import UsageError
from rtstone.results.assembly import replay
from rtstone.store import index
from rtstone.store.baseline import note
from rtstone.store.layout import runs
from rtstone.store.removal import remove
from rtstone.store.rundir import RunDirectory
from rtstone.units import size
from tests.conftest import Cli, Fake


def stored(plan: Plan, run_id: str, out: Path | None = None, **members: object) -> Path:
    plan = msgspec.structs.replace(plan, run_id=run_id, **members)
    directory = RunDirectory(plan, out)
    directory.append(b"boot\n")
    run = replay(plan, b"")
    first = msgspec.structs.replace(run.results[0], status="ok", reason=None)
    directory.finish(msgspec.structs.replace(run, results=[first]))
    return directory.path


def session(plan: Plan, name: str, *sides: Literal["A", "B"]) -> list[str]:
    """Store a session as compare --run does; return the ids of its runs."""
    members = []
    for number, side in enumerate(sides, 1):
        turn = Turn(session=name, side=side, pair=(number + 1) // 2)
        stored(plan, f"{name}-{number:03}{side}", turn=turn)
        members.append(f"{name}-{number:03}{side}")
    return members


def ids() -> list[str]:
    return [entry.run_id for entry in index.entries()]


def test_a_run_is_removed_with_all_its_files(plan: Plan, cli: Cli) -> None:
    path, other = stored(plan, "20260101-a"), stored(plan, "20260102-b")
    (path / "wire-2.log").write_bytes(b"more\n")
    (path / "run.json.new").write_bytes(b"{")
    size = sum(file.stat().st_size for file in path.iterdir())
    assert remove(path).size == size
    assert not path.exists()
    assert ids() == ["20260102-b"]
    assert sorted(file.name for file in other.iterdir()) == ["plan.json", "run.json", "wire.log"]


def test_what_rtstone_has_not_made_stays(plan: Plan, cli: Cli, tmp_path: Path) -> None:
    path, precious = stored(plan, "20260101-a"), tmp_path / "precious"
    precious.write_text("precious")
    (path / "notes.txt").write_text("mine")
    (path / "wire-2.log").symlink_to(precious)
    (path / "run.json").unlink()
    (path / "run.json").mkdir()
    done = cli("rm", "20260101-a", "--yes")
    assert done.status == 0
    assert "run.json, wire-2.log and 0" not in done.out
    assert "not made by rtstone" in done.out
    assert "notes.txt" in done.out
    left = ["notes.txt", "run.json", "wire-2.log"]
    assert sorted(file.name for file in path.iterdir()) == left
    assert precious.read_text() == "precious"
    assert ids() == []


def test_a_run_elsewhere_goes_with_its_entry(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(plan, "20260101-a", out)
    other = stored(plan, "20260102-b", tmp_path / "other")
    assert remove(runs() / "20260101-a").left == []
    assert not list(out.iterdir())
    assert not (runs() / "20260101-a").is_symlink()
    remove(other)
    assert not (runs() / "20260102-b").is_symlink()
    assert ids() == []


def test_a_run_that_goes_on_is_not_removed(plan: Plan, cli: Cli) -> None:
    directory = RunDirectory(msgspec.structs.replace(plan, run_id="20260101-a"))
    before = sorted(directory.path.iterdir())
    done = cli("rm", "20260101-a", "--yes")
    assert done.status == 2
    assert "still goes on" in done.says
    assert "1 going on" in cli("prune", "--keep", "0").out
    assert sorted(directory.path.iterdir()) == before
    directory.close()
    assert cli("rm", "20260101-a", "--yes").status == 0


def test_a_run_that_is_resumed_is_not_removed(plan: Plan) -> None:
    path = stored(plan, "20260101-a")
    resumed, _, _ = RunDirectory.resume(path)
    with pytest.raises(UsageError, match="still goes on"):
        remove(path)
    resumed.begin()
    with pytest.raises(UsageError, match="still goes on"):
        remove(path)
    resumed.close()
    remove(path)


@pytest.mark.parametrize("harm", ["none", "foreign", "link", "damaged"])
def test_only_what_is_a_run_of_rtstone_is_removed(plan: Plan, tmp_path: Path, harm: str) -> None:
    """A directory with such names, or a link in the store to another run, is not removed."""
    path = stored(plan, "20260101-a", tmp_path / "out")
    if harm == "none":
        (path / "plan.json").unlink()
    elif harm == "foreign":
        (runs() / "20260109-x").symlink_to(path)
        path = runs() / "20260109-x"
    elif harm == "link":
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    else:
        (path / "plan.json").write_bytes(b"{")
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(UsageError):
        remove(path)
    assert sorted((tmp_path / "out").iterdir()) == before


def test_a_damaged_run_of_the_store_can_be_removed(plan: Plan) -> None:
    path = stored(plan, "20260101-a")
    (path / "plan.json").write_bytes(b"{")
    remove(path)
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_run_is_that_users(plan: Plan) -> None:
    path = stored(plan, "20260101-a")
    os.chown(path, 12345, 12345)
    with pytest.raises(UsageError, match="another user's"):
        remove(path)
    assert (path / "run.json").exists()


def test_it_asks_on_a_terminal_only(plan: Plan, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(plan, "20260101-a")
    done = cli("rm", "last")
    assert (done.status, path.exists()) == (2, True)
    assert "give --yes" in done.says
    monkeypatch.setattr("rtstone.cli.rm.sys.stdin.isatty", lambda: True, raising=False)
    answers = iter([False, True])
    monkeypatch.setattr("rtstone.cli.rm.click.confirm", lambda *_, **__: next(answers))
    assert "nothing was removed" in cli("rm", "last").err
    assert path.exists()
    assert "removed 20260101-a" in cli("rm", "last").out
    assert not path.exists()


def test_last_is_not_guessed(fake: Fake, cli: Cli) -> None:
    """The run that a person wants to be rid of may be the one that has no results."""
    assert cli("run", "null").status == 0
    fake(at=1, fate="kill")
    assert cli("run", "null").status == 4
    assert "name the one to remove" in cli("rm", "last", "--yes").says
    assert len(ids()) == 2


def test_if_one_of_several_is_unknown_none_is_removed(plan: Plan, cli: Cli) -> None:
    stored(plan, "20260101-a")
    assert cli("rm", "20260101-a", "nobody", "--yes").status == 2
    assert ids() == ["20260101-a"]


def test_the_list_shows_which_runs_are_of_one_session(plan: Plan, cli: Cli) -> None:
    stored(plan, "20260101-a")
    assert "session" not in cli("list", "runs").out
    members = session(plan, "20260101-s", "A", "B")
    heads, *lines = cli("list", "runs").out.splitlines()
    assert heads.endswith("  session")
    assert [(line.partition(" ")[0], line.rpartition("  ")[2]) for line in lines[1:]] == [
        (members[0], "1 of 2"), (members[1], "2 of 2"),
    ]  # fmt: skip
    assert "of" not in lines[0].split()
    assert cli("list", "runs", "--last", "1").out.splitlines()[1].endswith("  2 of 2")


def test_a_session_is_removed_as_a_whole(plan: Plan, cli: Cli) -> None:
    session(plan, "20260101-s", "A", "B")
    session(plan, "20260101-s2", "A")
    assert "removed 2 runs" in cli("rm", "20260101-s", "--yes").out
    assert ids() == ["20260101-s2-001A"]
    assert "removed 20260101-s2-001A" in cli("rm", "20260101", "--yes").out  # the last of its own


@pytest.mark.parametrize("interleaved", [True, False])
def test_a_session_is_removed_as_a_whole_or_not_at_all(
    plan: Plan, cli: Cli, *, interleaved: bool
) -> None:
    """A session of compare --run, and one of several targets, in which ids have no side."""
    if interleaved:
        members = session(plan, "20260101-s", "A", "B")
    else:
        members = [f"20260101-s-{number:02}" for number in (2, 1)]
        for run_id in members:
            stored(plan, run_id, session="20260101-s")
    stored(plan, "20260102-other")
    everything = ids()
    for words in ([members[1]], [members[1], "20260102-other"], [runs() / members[0]]):
        done = cli("rm", *words, "--yes")
        assert (done.status, done.out) == (2, "")
        assert "is one of 2 runs of a session, which are removed together" in done.says
        assert "rtstone rm 20260101-s`" in done.says
    assert ids() == everything
    assert "removed 3 runs" in cli("rm", "20260101-s", "20260102-other", "--yes").out
    assert ids() == []


def test_all_runs_of_a_session_may_be_named_one_by_one(plan: Plan, cli: Cli) -> None:
    members = session(plan, "20260101-s", "A", "B")
    assert cli("rm", *members, "--yes").status == 0
    assert ids() == []


def test_a_session_of_which_a_run_goes_on_stays_whole(plan: Plan, cli: Cli) -> None:
    stored(plan, "20260101-s-01", session="20260101-s")
    member = msgspec.structs.replace(plan, run_id="20260101-s-02", session="20260101-s")
    directory = RunDirectory(member)
    before = ids()
    assert len(before) == 2
    done = cli("rm", "20260101-s", "--yes")
    assert (done.status, "still goes on" in done.says) == (2, True)
    assert "2 going on" in cli("prune", "--keep", "0").out
    assert ids() == before
    directory.close()
    assert "removed 2 runs" in cli("prune", "--keep", "0").out


def test_prune_keeps_or_removes_whole_sessions(plan: Plan, cli: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        for number in (1, 2, 3):
            stored(plan, f"20260101-{name}-{number:02}", session=f"20260101-{name}")
    (tmp_path / "budget.toml").touch()
    note("20260101-a-02", tmp_path / "budget.toml")
    everything = ids()
    assert "would remove 0 runs" in cli("prune", "--keep", "2", "--dry-run").out
    done = cli("prune", "--keep", "1")
    assert "1 baselines, 2 of their sessions" in done.out
    assert ids() == everything
    (tmp_path / "budget.toml").unlink()
    assert "removed 3 runs" in cli("prune", "--keep", "1").out
    assert ids() == everything[3:]


def test_if_one_of_several_goes_on_none_is_removed(plan: Plan, cli: Cli) -> None:
    stored(plan, "20260101-a")
    directory = RunDirectory(msgspec.structs.replace(plan, run_id="20260102-b"))
    done = cli("rm", "20260101-a", "20260102-b", "--yes")
    assert (done.status, done.out) == (2, "")
    assert ids() == ["20260101-a", "20260102-b"]
    directory.close()


# ---- prune --------------------------------------------------------------------------------------


def test_prune_keeps_the_last_the_named_and_the_baselines(
    plan: Plan, cli: Cli, tmp_path: Path
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text("")
    old = (datetime.now(UTC) - timedelta(days=40)).isoformat(timespec="seconds")
    new = datetime.now(UTC).isoformat(timespec="seconds")
    stored(plan, "1-old", created=old)
    stored(plan, "2-named", created=old, name="tuned")
    stored(plan, "3-base", created=old)
    stored(plan, "4-base-of-none", created=old)
    stored(plan, "5-elsewhere", tmp_path / "out", created=old)
    stored(plan, "6-new", created=new)
    session(structs.replace(plan, created=new), "7-s", "A", "B")
    stored(plan, "8-last", created=new)
    note("3-base", budget)
    note("4-base-of-none", tmp_path / "gone.toml")
    before = ids()
    dry = cli("prune", "--keep", "2", "--dry-run")
    assert [line.split()[2].rstrip(",") for line in dry.out.splitlines()[:3]] == [
        "1-old", "4-base-of-none", "6-new",
    ]  # fmt: skip
    assert ids() == before
    done = cli("prune", "--keep", "2", "--older-than", "30d")
    assert "removed 2 runs" in done.out
    assert "1 named, 1 baselines, 1 stored elsewhere, 1 newer" in done.out
    stayed = ["2-named", "3-base", "5-elsewhere", "6-new", "7-s-001A", "7-s-002B", "8-last"]
    assert ids() == stayed
    cli("prune", "--keep", "1")
    assert ids() == ["2-named", "3-base", "5-elsewhere", "8-last"]
    budget.unlink()
    cli("prune", "--keep", "0")
    assert ids() == ["2-named", "5-elsewhere"]
    assert "nothing to remove" in cli("prune", "--keep", "0").out


def test_a_baseline_that_a_check_used_stays(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "null"\np50 = "+900%"\n')
    for _ in range(2):
        assert cli("run", "null").status == 0
    first, second = ids()
    cli("check", second, "--budget", budget, "--baseline", first)
    cli("prune", "--keep", "0")
    assert ids() == [first]


@pytest.mark.parametrize(
    "options", [[], ["--keep", "-1"], ["--keep", "1", "--older-than", "month"]]
)
def test_prune_is_told_how_many_to_keep(cli: Cli, options: list[str]) -> None:
    assert cli("prune", *options).status == 2


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1 020 B"), (1024, "1 KiB"), (43_400, "42.4 KiB"), (5 << 30, "5 GiB")],
)
def test_a_size_has_the_unit_that_suits_it(number: int, text: str) -> None:
    assert size(number) == text
