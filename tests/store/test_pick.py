from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.cli.run_filter import RunFilter, pick
from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Target
from rtstone.errors import UsageError
from rtstone.folders import results
from rtstone.results.assembly import replay
from rtstone.store import index, layout, run_catalogue
from rtstone.store.run_catalogue import Entry
from rtstone.store.rundir import RunDirectory
from tests.conftest import Cli

NOW = datetime.now(UTC)


def entry(run_id: str, ago: timedelta = timedelta(), **members: str) -> Entry:
    fields: dict[str, Any] = {
        "suite": "quick",
        "target": "local",
        "status": "complete",
        "benches": "null sem.post",
    }
    fields |= {"created": (NOW - ago).isoformat(timespec="seconds")} | members
    return Entry(run_id=run_id, ok=1, results=1, arrival=0, name=None, measured=1, **fields)


ENTRIES = [
    entry("a", timedelta(days=3), target="qemu:linux-6.1", benches="mem.free"),
    entry("b", timedelta(hours=5), suite="quick sjoblom", status="incomplete"),
    entry("c", timedelta(minutes=50), target="qemu:freertos-a64"),
    entry("d", suite="mine.toml", benches="sem.wait"),
]


@pytest.mark.parametrize(
    ("run_filter", "expected"),
    [
        (RunFilter(), "abcd"),
        (RunFilter(suite="quick"), "abc"),
        (RunFilter(suite="sjoblom"), "b"),
        (RunFilter(suite="quick sjoblom"), "b"),
        (RunFilter(target="qemu"), "ac"),
        (RunFilter(target="qemu:linux-6.1"), "a"),
        (RunFilter(bench="sem"), "bcd"),
        (RunFilter(bench="sem.post"), "bc"),
        (RunFilter(status="incomplete"), "b"),
        (RunFilter(status="unfinished"), ""),
        (RunFilter(since="4d"), "abcd"),
        (RunFilter(since="6h"), "bcd"),
        (RunFilter(since="55min"), "cd"),
        (RunFilter(since=(NOW - timedelta(hours=1)).isoformat()), "cd"),
        (RunFilter(since=(NOW - timedelta(hours=1)).astimezone().isoformat()[:19]), "cd"),
        (RunFilter(since="2999-01-01"), ""),
        (RunFilter(last=2), "cd"),
        (RunFilter(suite="obenland"), ""),
        (RunFilter(target="sim"), ""),
        (RunFilter(last=9), "abcd"),
        (RunFilter(last=1, target="qemu"), "c"),
        (RunFilter(target="qemu", since="6h", bench="null"), "c"),
    ],
)
def test_every_wish_counts(run_filter: RunFilter, expected: str) -> None:
    assert "".join(run.run_id for run in pick(ENTRIES, run_filter, NOW)) == expected


@pytest.mark.parametrize(
    ("run_filter", "message"),
    [
        (RunFilter(suite="quik"), "unknown suite 'quik', of the stored runs; did you mean 'quick'"),
        (RunFilter(target="qemo"), "did you mean 'qemu'"),
        (RunFilter(bench="sem.pots"), "did you mean 'sem.post'"),
        (RunFilter(status="done"), "known: complete, damaged, incomplete, unfinished"),
        (RunFilter(since="yesterday"), "bad time 'yesterday', in --since"),
        (RunFilter(since="7 d"), "bad time"),
    ],
)
def test_nonsense_is_refused(run_filter: RunFilter, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", ".")):
        pick(ENTRIES, run_filter)


def test_without_runs_there_is_no_name_to_be_wrong() -> None:
    assert pick([], RunFilter(suite="x", target="y", bench="z")) == []


def stored(plan: Plan, run_id: str, bench: str, target: str) -> Path:
    plan = msgspec.structs.replace(
        plan,
        run_id=run_id,
        target=Target(name=target),
        cases=[Case(1, bench, {})],
        benches={bench: plan.benches["ctx.ballast"]},
    )
    directory = RunDirectory(plan)
    directory.finish(replay(plan, b""))
    return directory.path


def test_the_command(plan: Plan, cli: Cli) -> None:
    for run_id, bench, target in (("a", "null", "sim"), ("b", "mem.free", "local")):
        stored(plan, run_id, bench, target)
    rows = cli("list", "runs", "--bench", "mem", "--json").document["runs"]
    assert [(row["run_id"], row["benches"]) for row in rows] == [("b", ["mem.free"])]
    head, line = cli("list", "runs", "--target", "sim").out.splitlines()
    assert head.split()[:2] == ["run", "id"]
    assert line.split() == ["a", plan.created, "sim", "quick", "incomplete", "0", "1"]
    assert (
        cli("list", "runs", "--last", "1", "--status", "incomplete").out.splitlines()[1][0] == "b"
    )
    for wrong in (
        ("runs", "--suite", "x"),
        ("suites", "--suite", "quick"),
        ("runs", "--last", "0"),
    ):
        done = cli("list", *wrong)
        assert (done.status, done.out) == (2, "")
        assert done.says


def test_a_fresh_index_opens_no_run(plan: Plan, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for run_id in "abc":
        stored(plan, run_id, "null", "sim")
    for file in results().glob("catalogue.db*"):
        file.unlink()
    opened: list[str] = []
    read = run_catalogue._read

    def watched(folder: Path) -> Entry | None:
        opened.append(folder.name)
        return read(folder)

    monkeypatch.setattr(run_catalogue, "_read", watched)
    assert len(cli("list", "runs", "--json").document["runs"]) == 3
    assert sorted(opened) == ["a", "b", "c"]
    monkeypatch.setattr(layout, "opened", lambda path: pytest.fail(f"{path} was opened"))
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was opened"))
    monkeypatch.setattr(Path, "open", lambda path, *_: pytest.fail(f"{path} was opened"))
    assert len(cli("list", "runs", "--bench", "null", "--json").document["runs"]) == 3


def test_an_index_of_another_version_is_made_anew(plan: Plan, home: Path) -> None:
    import sqlite3

    stored(plan, "a", "null", "sim")
    connection = sqlite3.connect(home / "catalogue.db")
    connection.execute("CREATE TABLE runs (run_id TEXT PRIMARY KEY, created TEXT)")
    connection.execute("INSERT INTO runs VALUES ('old', '')")
    connection.commit()
    connection.close()
    assert [(e.run_id, e.benches) for e in index.entries()] == [("a", "null")]


@pytest.mark.parametrize("created", ["", "yesterday", "0001-01-01T00:00:00+14:00", "\ud800"])
def test_a_run_that_does_not_say_when_it_was_made_is_of_long_ago(created: str) -> None:
    odd = entry("odd")._replace(created=created)
    assert pick([odd, *ENTRIES], RunFilter(since="100d"), NOW) == ENTRIES
    assert pick([odd], RunFilter(), NOW) == [odd]
