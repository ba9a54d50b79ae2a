"""The gate on trends: what fails, what cannot tell, and what passes."""

from __future__ import annotations

import pytest

from rtstone.documents.check import Gate
from rtstone.documents.observation import Observation
from rtstone.errors import UsageError
from rtstone.stats.trend.gate import gate
from tests.stats.observed import CMDLINE, counted, noisy, observation, observed, result
from tests.stats.observed import with_conditions as under


def checked(observations: list[Observation], last: int = 5) -> Gate:
    return gate(observations[-1].run, observations, last, lambda one: one.result)


def slowed(at: int, factor: float = 1.1, runs: int = 60) -> list[Observation]:
    values = noisy(3, runs)
    values[at:] *= factor
    return observed(values)


def test_a_change_for_the_worse_in_the_last_runs_fails_and_an_older_one_does_not() -> None:
    found = checked(slowed(55))
    assert (found.verdict, found.exit_code) == ("failed", 1)
    assert {check.what: check.verdict for check in found.checks} == {
        "p50": "failed",
        "p99": "failed",
    }
    assert "since run run-0055" in str(found.checks[0].reason)
    assert checked(slowed(40)).verdict == "passed"
    assert checked(slowed(40), last=25).verdict == "failed"


def test_a_change_for_the_better_passes() -> None:
    found = checked(slowed(55, 0.9))
    assert (found.verdict, found.exit_code) == ("passed", 0)


def test_the_reason_names_the_word_that_came() -> None:
    found = [
        under(one, kernel_cmdline=f"{CMDLINE} nohz=off") if place >= 55 else one
        for place, one in enumerate(slowed(55))
    ]
    assert str(checked(found).checks[0].reason).endswith(
        "first difference: kernel command line nohz=off"
    )


def test_too_few_runs_are_inconclusive() -> None:
    found = checked(observed([1.0] * 5))
    assert (found.verdict, found.exit_code) == ("inconclusive", 3)
    assert found.checks[0].reason == "runs of this case: 5; a trend needs 6"
    assert (
        checked(slowed(58), last=2).checks[0].reason
        == "a change shows after 3 runs; ask for as many"
    )


def test_in_the_lab_one_run_is_enough() -> None:
    assert checked(counted([5000, 5001]), last=1).verdict == "failed"
    assert checked(counted([5000, 5000]), last=1).verdict == "passed"
    assert checked(counted([5001, 5000]), last=1).verdict == "passed"
    assert checked(counted([5001]), last=1).verdict == "inconclusive"


def test_what_the_run_could_not_measure_is_told_and_other_targets_do_not_count() -> None:
    before = observed(noisy(4, 30))
    bad = observation(30, result(None, status="failed", reason="it died", n=0))
    found = checked([*before, bad])
    assert (found.verdict, found.exit_code) == ("not measured", 3)
    assert found.checks[0].reason == "failed: it died"
    assert {check.series for check in checked([*counted([1, 2, 3]), *before]).checks} == {""}


def test_a_run_without_samples_is_an_error() -> None:
    one = observation(0, result(None, n=0))
    with pytest.raises(UsageError, match="no results with samples, in run run-0000"):
        checked([one])


def test_cases_of_one_bench_have_labels() -> None:
    found = [
        observation(place, result(5.0, params={"size": size}))._replace(place=size)
        for place in range(6)
        for size in (1, 2)
    ]
    assert {check.label for check in checked(found).checks} == {"size=1", "size=2"}
