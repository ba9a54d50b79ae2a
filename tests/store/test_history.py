"""The history of the store: what it keeps of runs, and that it follows the run directories."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.observation import Observation
from rtstone.documents.plan import Plan
from rtstone.documents.run import Distribution, Result, Run
from rtstone.store import history as histories
from rtstone.store.history import Wanted, history
from rtstone.store.index import chronological, entries
from rtstone.store.removal import remove
from rtstone.store.run_catalogue import Entry
from rtstone.store.rundir import RunDirectory, load
from tests.stats.runs import run

BENCH = "dk.periodic"


def result(value: float, bench: str = BENCH, n: int = 20) -> Result:
    return Result(
        case=1, bench=bench, params={"a": 1}, load="none", status="ok", n=n, p50=value,
        histogram=[(value, n)], evidence={"sched": "fifo"},
    )  # fmt: skip


def stored(plan: Plan, run_id: str, *results: Result) -> Path:
    directory = RunDirectory(structs.replace(plan, run_id=run_id))
    bare = run(results or [result(5.0)], run_id)
    directory.finish(structs.replace(bare, benches=list(plan.benches.values())))
    return directory.path


def read(
    takes: Callable[[str], bool] = lambda bench: True, runs: set[str] | None = None
) -> list[Observation]:
    wanted = Wanted({entry.run_id for entry in entries()} if runs is None else runs, takes)
    with history(wanted) as selection:
        assert not selection.damaged
        return selection.observations


def values() -> list[float | None]:
    return [observation.result.p50 for observation in read()]


def test_results_are_kept_without_what_takes_room(plan: Plan) -> None:
    path = stored(plan, "a", result(5.0), result(6.0, "other"))
    whole = load(path)
    with history(Wanted({"a"}, lambda bench: bench == BENCH)) as selection:
        (observation,) = selection.observations
        assert selection.with_histogram(observation).histogram == [(5.0, 20)]
        assert selection.whole(observation) == whole.results[0]
    assert observation.result == structs.replace(whole.results[0], histogram=[])
    assert (observation.run.run_id, observation.run.conditions, observation.run.results) == (
        "a",
        whole.conditions,
        [],
    )
    assert observation.whole.results == [observation.result]


def test_only_what_is_wanted_is_returned_in_the_order_of_the_runs(plan: Plan) -> None:
    for place, run_id in enumerate(["c", "a", "b"]):
        stored(plan, run_id, result(float(place)), result(10.0 + place, "x.y"))
    assert values() == [0, 10, 1, 11, 2, 12]
    assert [
        observation.result.p50 for observation in read(lambda bench: bench == "x.y", {"c", "b"})
    ] == [10, 12]
    assert values() == [0, 10, 1, 11, 2, 12]  # the others are still there


def test_a_run_is_read_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(plan, "a")
    assert values() == [5.0]

    def never(path: Path) -> Run:
        raise AssertionError(path)

    monkeypatch.setattr(histories, "load", never)
    assert values() == [5.0]


def test_it_follows_removed_and_changed_runs(plan: Plan, home: Path) -> None:
    path = stored(plan, "a")
    stored(plan, "b", result(6.0))
    assert values() == [5.0, 6.0]
    remove(home / "runs" / "b")
    assert values() == [5.0]
    changed = structs.replace(load(path), results=[result(7.0)])
    (path / "run.json").write_bytes(msgspec.json.encode(changed))
    assert values() == [7.0]
    with closing(sqlite3.connect(home / "catalogue.db")) as database:
        for table in ("runs", "heads", "results", "histograms"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,), table


def test_a_run_that_is_not_finished_is_none_yet(plan: Plan) -> None:
    directory = RunDirectory(structs.replace(plan, run_id="a"))
    assert values() == []
    directory.finish(run([result(5.0)], "a"))
    assert values() == [5.0]


def test_a_copied_directory_is_a_run_of_its_own(plan: Plan, home: Path) -> None:
    shutil.copytree(stored(plan, "a"), home / "runs" / "b")
    assert sorted(observation.run.run_id for observation in read()) == ["a", "b"]


def test_a_damaged_document_is_told_and_the_rest_is_read(plan: Plan) -> None:
    path = stored(plan, "a")
    stored(plan, "b")
    assert len(entries()) == 2
    (path / "run.json").write_bytes(b"{")
    with history(Wanted({"a", "b"}, lambda bench: True)) as selection:
        assert [observation.run.run_id for observation in selection.observations] == ["b"]
        (why,) = selection.damaged
    assert why.startswith("not a readable run.json, ")


@pytest.mark.parametrize("harm", ["delete", "garbage", "truncate", "text", "version", "directory"])
def test_it_is_made_anew_or_done_without(plan: Plan, home: Path, harm: str) -> None:
    stored(plan, "a")
    assert values() == [5.0]
    file = home / "catalogue.db"
    match harm:
        case "delete":
            file.unlink()
        case "garbage":
            file.write_bytes(b"not a database" * 1000)
        case "truncate":
            file.write_bytes(file.read_bytes()[:5000])
        case "directory":
            file.unlink()
            file.mkdir()
        case _:
            change = {"text": "UPDATE results SET data = '{'", "version": "PRAGMA user_version=99"}
            with closing(sqlite3.connect(file)) as database:
                database.execute(change[harm])
                database.commit()
    assert values() == [5.0]
    stored(plan, "b", result(6.0))
    assert values() == [5.0, 6.0]


def test_runs_are_in_the_order_of_their_measurement(plan: Plan) -> None:
    """They may arrive in another: imported from old files, pulled, or pushed late."""
    days = {"c": "2020-09-03", "b": "2020-09-02", "d": "2020-09-04", "a": "2020-09-01"}
    for value, (name, day) in enumerate(days.items()):
        begun = {"created": f"{day}T10:00:00+00:00"}
        directory = RunDirectory(structs.replace(plan, run_id=name, **begun))
        directory.finish(structs.replace(run([result(float(value))], name), **begun))
    assert [observation.run.run_id for observation in read()] == ["a", "b", "c", "d"]
    assert [entry.run_id for entry in entries()] == list(days)  # `last` is what came last


def test_a_run_without_a_time_stays_behind_the_one_it_came_after() -> None:
    times = {"b": "2020-09-02T10:00:00+00:00", "x": "?", "a": "2020-09-01T10:00:00+00:00"}
    stored = [
        Entry(name, time, None, "local", "complete", 1, 1, "") for name, time in times.items()
    ]
    assert [entry.run_id for entry in chronological(stored)] == ["a", "b", "x"]


def test_what_was_omitted_is_kept_with_its_histogram_apart(plan: Plan) -> None:
    bare = dict.fromkeys(("min", "mean", "sd", "p50", "p90", "p99", "p999", "p9999", "max"))
    corrected = Distribution(n=30, histogram=[(5.0, 20), (900.0, 10)], **bare | {"p50": 5.0})
    stored(plan, "a", structs.replace(result(5.0), missed=10, corrected=corrected))
    with history(Wanted({"a"}, lambda bench: bench == BENCH)) as selection:
        (observation,) = selection.observations
        assert observation.result.corrected == structs.replace(corrected, histogram=[])
        assert selection.with_histogram(observation).corrected == corrected
        assert selection.with_histogram(observation).histogram == [(5.0, 20)]
