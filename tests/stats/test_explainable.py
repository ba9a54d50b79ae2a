"""Which result, and which of its samples, is explained."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.run import Result, Run, Target
from rtstone.errors import UsageError
from rtstone.stats.explainable import choose, sample_of
from tests.report.explained import explained_run


def run_of(*results: dict[str, Any], target: Target | None = None) -> Run:
    each = [
        Result(**{"case": n, "params": {}, "load": "none", "status": "ok", "n": 100, "p50": 10.0,
                  "max": 20.0, **members})
        for n, members in enumerate(results)
    ]  # fmt: skip
    return Run(
        run_id="r", created="2026-01-01T00:00:00Z", status="complete", results=each,
        target=target or Target(name="qemu:linux-6.1"),
    )  # fmt: skip


WAKE = {"bench": "dk.periodic", "missed": 0}


@pytest.mark.parametrize(
    ("results", "bench", "expected"),
    [
        ([{"bench": "a.b", "max": 900.0}, WAKE, WAKE | {"max": 21.0}], None, (2, 2)),
        ([{"bench": "x.tick", "missed": 3, "max": 900.0}, WAKE], None, (1, 1)),
        ([{"bench": "x.tick", "missed": 3}, {"bench": "a.b", "max": 900.0}], None, (0, 1)),
        ([{"bench": "a.b", "p50": 1000.0, "max": 5000.0}, {"bench": "a.c", "max": 90.0}], None,
         (1, 1)),
        ([{"bench": "null", "p50": 0.1, "max": 500.0}, {"bench": "a.c"}], None, (1, 1)),
        ([{"bench": "a.b", "p50": None, "max": 5.0}, {"bench": "a.c", "p50": None}], None, (1, 1)),
        ([{"bench": "a.b", "p50": 0.0, "max": 5.0}, {"bench": "a.c", "p50": 0.0}], None, (1, 1)),
        ([WAKE | {"n": 0, "max": None}, {"bench": "a.b"}], None, (1, 1)),
        ([WAKE, {"bench": "a.b", "load": "x"}, {"bench": "a.b", "max": 30.0}], "a.b", (2, 2)),
        ([{"bench": "a.b"}, {"bench": "a.c", "max": 30.0}, {"bench": "aa.c"}], "a", (1, 2)),
        ([{"bench": "a.b", "max": 99.0, "flags": ["derived"]}, {"bench": "a.c"}], "a", (1, 1)),
    ],
)  # fmt: skip
def test_the_result_that_is_taken(
    results: list[dict[str, Any]], bench: str | None, expected: tuple[int, int]
) -> None:
    run = run_of(*results)
    chosen = choose(run, bench)
    assert (run.results.index(chosen.result), chosen.among) == expected


@pytest.mark.parametrize(
    ("results", "bench", "says"),
    [
        ([WAKE], "dk.per", "unknown bench 'dk.per', of this run; did you mean 'dk.periodic'?"),
        ([WAKE | {"n": 0, "max": None, "status": "failed", "reason": "killed"}], None,
         "no single samples in run r; dk.periodic is failed: killed"),
        ([{"bench": "a.b", "batch": 64, "max": None}], "a", "timed together (batched)"),
        ([{"bench": "a.b", "n": 0, "max": None}], "a.b", "only figures"),
        ([], None, "no single samples in run r"),
    ],
)  # fmt: skip
def test_a_run_without_samples(results: list[dict[str, Any]], bench: str | None, says: str) -> None:
    with pytest.raises(UsageError) as error:
        choose(run_of(*results), bench)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (Target(name="sim"), "no system ran"),
        (Target(name="sim:rtai-22.2.4"), "no system ran"),
        (Target(name="import:cyclictest", detail={"imported": "cyclictest 2.4"}),
         "cyclictest 2.4 took them, not rtstone"),
    ],
)  # fmt: skip
def test_a_run_that_nobody_can_explain(target: Target, says: str) -> None:
    with pytest.raises(UsageError, match="run r cannot be explained") as error:
        choose(run_of(WAKE, target=target))
    assert says in str(error.value)


def test_an_agent_without_a_system_behind_any_target() -> None:
    run = explained_run()
    assert run.agent
    behind = structs.replace(run, agent=structs.replace(run.agent, port="sim"))
    with pytest.raises(UsageError, match="no system ran"):
        choose(behind)


RESULT = run_of({"bench": "a.b", "p90": 15.0}).results[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("worst", "worst"), ("median", "median"), ("p50", "p50"), ("p90", "p90"), ("0", "0"),
     ("099", "99"), ("7", "7")],
)  # fmt: skip
def test_names_of_samples(text: str, expected: str) -> None:
    assert sample_of(RESULT, text, "--sample") == expected


def test_percentiles_are_known_by_their_labels() -> None:
    large = structs.replace(RESULT, n=10**6, p999=19.0)
    assert sample_of(large, "p99.9", "--sample") == sample_of(large, "p999", "--sample") == "p999"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("100", "no sample 100 of a.b, in --sample; it has 0 to 99"),
        ("9" * 5000, f"no sample {'9' * 20} of a.b"),
        ("p99", "no p99 of 100 samples of a.b, in --sample; name a sample by its number, 0 to 99"),
        ("wurst", "bad sample 'wurst', in --sample; did you mean 'worst'?"),
        ("-1", "bad sample '-1'"),
        ("\u0663", "bad sample"),
        ("max", "bad sample 'max'"),
        ("", "bad sample ''"),
    ],
)
def test_samples_that_are_not_there(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        sample_of(RESULT, text, "--sample")
    assert says in str(error.value)
