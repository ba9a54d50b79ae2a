"""The gate on trends: what fails, what cannot tell, and what passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.check import Gate
from rtstone.documents.observation import Observation
from rtstone.documents.run import Distribution
from rtstone.documents.trend import Trend
from rtstone.errors import UsageError
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST
from rtstone.stats.trend.serial import CHANCE, UNSURE
from rtstone.stats.trend.trend import TrendRequest, follow
from rtstone.stats.trend.trend_gate import COARSEST, COARSEST_MISSED, gate
from tests.stats.noise import autoregressive
from tests.stats.observed import (
    CMDLINE,
    counted,
    experiment,
    noisy,
    observation,
    observed,
    result,
    suite_checked,
)
from tests.stats.observed import with_conditions as under

ROOT = Path(__file__).parents[2]
WORDS = {6: "six"}


def checked(observations: list[Observation], last: int = 5) -> Gate:
    return gate(observations[-1].run, observations, last, lambda check: check.result)


def slowed(at: int, factor: float = 1.1, runs: int = 60) -> list[Observation]:
    values = noisy(3, runs)
    values[at:] *= factor
    return observed(values)


def test_a_change_for_the_worse_in_the_last_runs_fails_and_an_older_one_does_not() -> None:
    gate = checked(slowed(55))
    assert (gate.verdict, gate.exit_code) == ("failed", 1)
    assert {check.what: check.verdict for check in gate.checks} == {
        "p50": "failed",
        "p99": "failed",
    }
    assert "since run run-0055" in str(gate.checks[0].reason)
    assert checked(slowed(40)).verdict == "passed"
    assert checked(slowed(40), last=25).verdict == "failed"


def test_a_change_for_the_better_passes() -> None:
    gate = checked(slowed(55, 0.9))
    assert (gate.verdict, gate.exit_code) == ("passed", 0)


def test_the_reason_names_the_word_that_came() -> None:
    observations = [
        under(check, kernel_cmdline=f"{CMDLINE} nohz=off") if place >= 55 else check
        for place, check in enumerate(slowed(55))
    ]
    assert str(checked(observations).checks[0].reason).endswith(
        "first difference: kernel command line nohz=off"
    )


def test_too_few_runs_are_inconclusive() -> None:
    gate = checked(observed([1.0] * 5))
    assert (gate.verdict, gate.exit_code) == ("inconclusive", 3)
    assert gate.checks[0].reason == "runs of this case: 5; a trend needs 6"
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
    gate = checked([*before, bad])
    assert (gate.verdict, gate.exit_code) == ("not measured", 3)
    assert gate.checks[0].reason == "failed: it died"
    assert {check.series for check in checked([*counted([1, 2, 3]), *before]).checks} == {""}


def test_a_run_without_samples_is_an_error() -> None:
    empty = observation(0, result(None, n=0))
    with pytest.raises(UsageError, match="no results to follow, in run run-0000"):
        checked([empty])


def test_cases_of_one_bench_have_labels() -> None:
    observations = [
        observation(place, result(5.0, params={"size": size}))._replace(place=size)
        for place in range(6)
        for size in (1, 2)
    ]
    assert {check.label for check in checked(observations).checks} == {"size=1", "size=2"}


# ---- its power ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("cases", "runs", "last"), [(1, 6, 3), (1, 8, 3), (10, 6, 3), (10, 16, 5)])
@pytest.mark.parametrize("slower", ["one", "all"])
def test_ten_times_slower_cases_fail(cases: int, runs: int, last: int, slower: str) -> None:
    values = 1e4 * np.exp(0.02 * autoregressive(cases, runs, np.random.default_rng(1)))
    values[: 1 if slower == "one" else cases, -last:] *= 10
    gate = suite_checked(values, last)
    assert (gate.verdict, gate.exit_code) == ("failed", 1)
    failed = {check.label for check in gate.checks if check.verdict == "failed"}
    assert len(failed) == (1 if slower == "one" else cases)
    (first, *_) = (check for check in gate.checks if check.verdict == "failed")
    assert str(first.reason).endswith(f"since run run-{runs - last:04}")
    assert first.observed == pytest.approx(values[0, -1])  # of this run


def test_an_unchanged_suite_passes_and_says_what_would_have_failed() -> None:
    rng = np.random.default_rng(2)
    gate = suite_checked(1e4 * np.exp(0.01 * autoregressive(10, 16, rng)), 5)
    assert gate.verdict == "passed"
    least = [check.detectable for check in gate.checks if check.what == "p50"]
    assert all(check is not None and 0.01 < check < 0.15 for check in least)


def test_a_gate_that_could_find_nothing_is_inconclusive_and_says_what_it_takes() -> None:
    """A case that came later shares the level with the others: 20 orders are too few for half."""
    rng = np.random.default_rng(3)
    values = 1e4 * np.exp(0.02 * autoregressive(2, 12, rng))
    observations = [
        observation(run, result(float(values[case, run]), params={"size": case}))._replace(
            place=case
        )
        for run in range(12)
        for case in (0, 1)
        if case == 0 or run >= 6
    ]
    gate = checked(observations, 3)
    assert gate.verdict == "inconclusive"
    late = [check for check in gate.checks if check.label == "size=1"]
    assert {check.verdict for check in late} == {"inconclusive"}
    assert {check.detectable for check in late} == {None}
    assert all(
        str(check.reason).startswith(
            "no change can be told from chance with 6 runs; it takes about"
        )
        for check in late
    )
    assert {check.verdict for check in gate.checks if check.label == "size=0"} == {"passed"}


def test_what_scatters_too_much_is_inconclusive() -> None:
    """Half of the runs are a hundred times as slow as the others: four times as slow is nothing."""
    values = [100.0 if run % 2 else 10_000.0 for run in range(16)]
    (check, *_) = checked(observed(values)).checks
    assert check.verdict == "inconclusive"
    assert "16 runs scatter too much to show a change of 300%" in str(check.reason)


def test_what_changed_before_the_last_runs_or_drifts_does_not_fail() -> None:
    values = noisy(3, 16)
    values[8:] *= 1.5
    assert checked(observed(values)).verdict == "passed"
    assert checked(observed(values), last=8).verdict == "failed"
    drift = checked(observed(noisy(3, 12) * np.exp(0.05 * np.arange(12))), last=4)
    assert drift.verdict == "inconclusive"
    assert "but it rose before these runs" in str(drift.checks[0].reason)


def test_runs_that_are_like_those_beside_them_do_not_fail_and_why_is_told() -> None:
    for seed in range(30):
        walk = autoregressive(1, 16, np.random.default_rng(seed), 0.8)[0]
        walk[-5:] += 2 * (walk.max() - walk[-5:].min())
        (check, *_) = checked(observed(1e4 * np.exp(0.01 * walk))).checks
        if check.verdict == "inconclusive" and "such runs may wander as far" in str(check.reason):
            return
    raise AssertionError("no series wanders")


# ---- missed activations -------------------------------------------------------------------------


def losing(run: int, lost: int) -> Observation:
    """A run of 2000 activations of 10 µs, of which stalls of 1 s take some with them."""
    base = 10_000.0 + run % 3
    n = 2000 - lost
    seen = result(base, n=n, missed=lost, histogram=[(base, n)])
    if not lost:
        return observation(run, seen)
    late = 5e8
    members = dict.fromkeys(("min", "p50"), base) | dict.fromkeys(("p90", "p99", "max"), late)
    whole = Distribution(
        n=2000, mean=None, sd=None, p999=None, p9999=None,
        histogram=[(base, n), (late, lost)], **members,
    )  # fmt: skip
    return observation(run, structs.replace(seen, corrected=whole))


def test_lost_activations_fail_though_no_sample_is_later() -> None:
    gate = checked([losing(run, 600 if run >= 12 else 0) for run in range(16)], 4)
    by_part = {check.what: check for check in gate.checks}
    assert {part: check.verdict for part, check in by_part.items()} == {
        "p50": "passed", "p99": "failed", "missed": "failed",
    }  # fmt: skip
    assert by_part["p99"].observed == 5e8
    assert by_part["p99"].corrected
    assert by_part["missed"].observed == pytest.approx(30)
    assert by_part["missed"].reason == "+30 since run run-0012"
    assert by_part["missed"].detectable is not None
    assert by_part["missed"].detectable < 0.01  # of the activations
    calm = checked([losing(run, 0) for run in range(16)], 4)
    assert {check.what: check.verdict for check in calm.checks} == {
        "p50": "passed", "p99": "passed", "missed": "passed",
    }  # fmt: skip


def test_a_run_that_has_no_value_where_others_had_one_is_inconclusive() -> None:
    gate = checked([*observed(noisy(4, 20)), observation(20, result(1e4, p99=None, n=200))])
    verdicts = {check.what: (check.verdict, check.reason) for check in gate.checks}
    assert verdicts["p50"][0] == "passed"
    assert verdicts["p99"] == ("inconclusive", "this run has none: n is too small for p99")


def test_what_the_documentation_states_of_the_gate_is_so() -> None:
    text = " ".join((ROOT / "docs" / "guides" / "trend.md").read_text("utf-8").split())
    assert f"fewer than {WORDS[2 * SHORTEST]} runs" in text
    assert f"N below {SHORTEST}" in text
    assert f"a rise of {100 * COARSEST:g}%" in text
    assert f"{COARSEST_MISSED:g} in a hundred" in text
    assert f"at most {100 * LEVEL:g}% of the checks fail" in text
    assert f"{UNSURE:g} standard errors" in text
    assert f"more than {CHANCE:g} standard errors" in text


def test_earlier_changes_share_the_level_of_all_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a run of noise in one of many series would begin its history anew."""
    levels = []

    def recorded(through: Any, request: TrendRequest, full: Any) -> Trend:
        levels.append(request.level)
        return follow(through, request, full)

    monkeypatch.setattr("rtstone.stats.trend.trend_gate.follow", recorded)
    suite_checked(np.full((4, 7), 1e4), 3)
    assert levels == [0.05 / 12]  # four cases, p50, p99 and missed


def test_one_activation_is_the_least_loss_that_can_be_found() -> None:
    """Of 2000 in each run none was missed: one more is 1 of 2001."""
    rng = np.random.default_rng(2)
    gate = suite_checked(1e4 * np.exp(0.01 * autoregressive(1, 8, rng)), 3)
    (least,) = (check.detectable for check in gate.checks if check.what == "missed")
    assert least == pytest.approx(1 / 2001, rel=0.01)


def rates(values: Any, unit: str) -> list[Observation]:
    return [observation(place, result(float(v), unit=unit)) for place, v in enumerate(values)]


def test_of_a_rate_less_is_worse_and_the_share_is_of_what_is_lost() -> None:
    values = noisy(3, 16)
    values[-5:] *= 0.7
    (check, *_) = checked(rates(values, "MB/s")).checks
    assert check.verdict == "failed"
    assert str(check.reason).startswith("-30%")
    assert check.detectable is not None and 0.01 < check.detectable < 0.15
    values[-5:] /= 0.49
    assert {check.verdict for check in checked(rates(values, "MB/s")).checks} == {"passed"}
    assert checked(rates(noisy(3, 16), "m")).verdict == "inconclusive"


def test_a_lower_breakdown_fails_and_one_within_a_step_does_not() -> None:
    """What an experiment held to is known to the step of its tests."""
    rng = np.random.default_rng(4)
    held = 60 + rng.choice([0.0, 1.5], 24)
    held[-5:] -= 15
    (check,) = checked([experiment(n, v, v + 1.5) for n, v in enumerate(held)]).checks
    assert (check.what, check.verdict, check.unit) == (
        "breakdown utilisation", "failed", "%",
    )  # fmt: skip
    assert str(check.reason).startswith("-2")
    held = np.repeat([61.4, 60.0], [19, 5])
    (check,) = checked([experiment(n, v, v + 1.5) for n, v in enumerate(held)]).checks
    assert check.verdict != "failed"
    (check,) = checked([experiment(n, v, v + 0.1) for n, v in enumerate(held)]).checks
    assert check.verdict == "failed"
