"""Limits relative to several runs: the lines by hand, and how often an unchanged system fails."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from pathlib import Path
from statistics import variance

import pytest

from rtstone.documents.run import BREAKDOWN, Figure
from rtstone.results.estimates import estimate_whole
from rtstone.results.omitted import Missed
from rtstone.stats import draft, limits
from rtstone.stats.budget import margin
from rtstone.stats.cases import cases
from rtstone.stats.comparison.effects import LEVEL
from rtstone.stats.limits import Span, beyond, exactly, verdict
from rtstone.stats.prediction import WIDEST, Observed, Rules
from rtstone.stats.tolerance import EPISODE, MOST, WIDE, Number, Outcome, Tolerance
from rtstone.summary import ENOUGH
from tests.bench.gates import Audit, relative
from tests.stats.test_gate import FLAT, result, run, stalling

# Five runs around 1000, in logarithms; one more is expected within 2.131847 (Student's t of 4,
# one-sided 5%) times 0.015811 (their s) times sqrt(1 + 1/5).
AWAY = (-0.02, -0.01, 0.0, 0.01, 0.02)
BEFORE = [1000 * exp(away) for away in AWAY]
CHANCE = 2.131847 * 0.0158114 * sqrt(1.2)  # 3.69%
# The run furthest out lies 0.025 above the others, whose s is 0.012910.
EPISODES = 1.25 * 0.025 / (0.0129099 * sqrt(1.25)) * 0.0158114 * sqrt(1.2)  # 3.75%


def judged(away: float, factor: float, *, bound: str = "<=", step: float = 0.0) -> Outcome:
    """Judge one number that lies so far from the centre, in logarithms."""
    number = Number("p50", exactly(1000 * exp(away)), BEFORE, factor, bound, step)
    return Tolerance([number]).judged(number)


@pytest.mark.parametrize(
    ("percent", "passes", "fails"),
    [
        (10, log(1.1), log(1.1)),  # beyond what chance does
        (3.7, CHANCE, EPISODES),
        (2, CHANCE, EPISODES),  # chance goes further than the limit, but not three times as far
        (1, log(1.01), EPISODES),  # it does
        (0, 0.0, EPISODES),
        (-10, log(0.9), log(0.9) + EPISODES),  # better than the baseline is asked for
    ],
)
def test_the_lines_are_where_they_are_said_to_be(
    percent: float, passes: float, fails: float
) -> None:
    factor = 1 + percent / 100
    for line, below, above in [(passes, {"passed"}, {"failed", "inconclusive"}),
                               (fails, {"passed", "inconclusive"}, {"failed"})]:  # fmt: skip
        assert judged(line - 2e-6, factor).verdict in below
        assert judged(line + 2e-6, factor).verdict in above
        for sign, verdicts in ((-1, below), (1, above)):  # a lower limit, mirrored
            away = -(line + sign * 2e-6)
            assert judged(away, 1 / factor, bound=">=").verdict in verdicts
    outcome = judged(0.0, factor)
    assert outcome.detectable == pytest.approx(exp(fails) - 1, abs=3e-6)
    assert outcome.centre == pytest.approx(1000)
    assert outcome.allowed == pytest.approx(1000 * factor)
    lower = judged(0.0, 1 / factor, bound=">=")
    assert lower.detectable == pytest.approx(1 - exp(-fails), abs=3e-6)


def test_it_says_how_many_more_runs_would_settle_it() -> None:
    """0.03 above: chance does that with ten runs (Student's t of 9), with eleven no more."""
    ten, eleven = (
        student * 0.0158114 * sqrt(1 + 1 / runs)
        for runs, student in ((10, 1.833113), (11, 1.812461))
    )
    assert eleven < 0.03 < ten
    assert judged(0.03, 1.01).missing_runs == 11 - len(BEFORE)
    # With so many it passes, as chance goes no further than three times the limit.
    nine = 1.859548 * 0.0158114 * sqrt(1 + 1 / 9)
    assert judged(0.013, exp(nine / 3 + 1e-6)).missing_runs == 9 - len(BEFORE)
    never = judged(0.015, 1.001)
    assert (never.verdict, never.missing_runs) == ("inconclusive", None)
    assert never.reason == "unchanged runs may differ by as much, however many are in the baseline"
    assert judged((CHANCE + EPISODES) / 2, 1.02).reason == (
        "hardly further off than single runs of the baseline were"
    )


def test_a_step_of_the_clock_is_no_failure() -> None:
    def alike(value: float, step: float) -> str:
        number = Number("p50", exactly(value), [20.0] * 5, 1.02, "<=", step)
        return Tolerance([number]).judged(number).verdict

    assert (alike(21, 0), alike(21, 1), alike(21.1, 1)) == ("failed", "inconclusive", "failed")
    assert alike(20.4, 0) == "passed"


def test_values_below_zero_are_judged_by_their_difference() -> None:
    """s = 1, t of 4 = 2.131847: 2.3353 above the mean; the limit is 10% of 2 above it."""
    before = [-2.0 + away * sqrt(2.5) for away in (-0.8, -0.4, 0.0, 0.4, 0.8)]
    for value, expected in [(-1.81, "passed"), (-1.79, "inconclusive"), (0.33, "inconclusive"),
                        (0.34, "failed")]:  # fmt: skip
        number = Number("slope", exactly(value), before, 1.1)
        outcome = Tolerance([number]).judged(number)
        assert outcome.verdict == expected
        assert outcome.allowed == pytest.approx(-1.8)
        assert outcome.detectable == pytest.approx(2.3353 / 2, rel=1e-4)


def test_where_nothing_could_fail_nothing_passes() -> None:
    """Two runs a factor of 2.5 apart: t of 1 makes of that more than any limit can mean."""
    number = Number("p50", exactly(100.0), [100.0, 250.0], 1.1)
    outcome = Tolerance([number]).judged(number)
    assert (outcome.verdict, outcome.detectable) == ("inconclusive", None)
    assert outcome.missing_runs
    lower = number._replace(bound=">=", own=exactly(500.0), factor=0.9)
    outcome = Tolerance([lower]).judged(lower)
    assert (outcome.verdict, outcome.detectable) == ("inconclusive", None)


def test_an_interval_of_its_own_has_to_be_within_the_limit_or_beyond() -> None:
    for low, high, expected in [(1000, 1099, "passed"), (1000, 1101, "inconclusive"),
                            (1101, 1200, "failed"), (1099, 1200, "inconclusive")]:  # fmt: skip
        number = Number("p50", Span(1100 if high > 1100 else 1050, low, high), BEFORE, 1.1)
        outcome = Tolerance([number]).judged(number)
        assert outcome.verdict == expected
        assert outcome.detectable == pytest.approx(1.1 * number.own.value / low - 1, abs=1e-6)


def test_an_episode_of_the_baseline_is_expected_again_in_any_case() -> None:
    """One of ten cases was 30% slower once; the run has that in another one."""
    quiet = [[1000 * (1 + case / 100) * exp(away) for away in AWAY] for case in range(10)]
    noisy = [*quiet[:9], [*quiet[9][:4], quiet[9][4] * 1.3]]
    for before, expected in ((quiet, "failed"), (noisy, "inconclusive")):
        numbers = [Number("p50", exactly(1000.0 + 10 * k), b, 1.1) for k, b in enumerate(before)]
        numbers[0] = numbers[0]._replace(own=exactly(1250.0))
        rule = Tolerance(numbers)
        assert rule.judged(numbers[0]).verdict == expected


def test_three_runs_show_an_episode() -> None:
    """The third lies 0.095 above two that are 0.01 apart."""
    logs = [0.0, 0.01, 0.1]
    number = Number("p50", exactly(1000.0), [1000 * exp(away) for away in logs], 1.1)
    furthest = 0.095 / sqrt(0.00005 * (1 + 1 / 2))
    reach = 1.25 * furthest * sqrt(variance(logs) * (1 + 1 / 3))
    assert Tolerance([number]).judged(number).detectable == pytest.approx(exp(reach) - 1)


# ---- its parts ----------------------------------------------------------------------------------


def test_the_scatter_of_a_number_is_averaged_with_its_like_for_twice_the_freedom() -> None:
    quiet, other = [100.0, 101.0, 99.0, 100.0, 100.0], [100.0, 130.0, 90.0, 110.0, 95.0]
    rules = Rules([Observed("p50", quiet), Observed("p50", other)], 2)
    squares = [variance(map(log, values)) for values in (quiet, other)]
    square = (squares[0] + sum(squares) / 2) / 2
    assert rules.scatter(Observed("p50", quiet))[:2] == pytest.approx((square, 8))
    # Student's t of 8, one-sided 2.5%: two limits share 5%
    expected = exp(2.3060041 * sqrt(square * (1 + 1 / 5)))
    assert rules.factor(Observed("p50", quiet)) == pytest.approx(expected, rel=1e-7)
    assert rules.scatter(Observed("p99", quiet))[:2] == pytest.approx((squares[0], 4))
    assert rules.above([1.0, 2.0, 3.0]) == pytest.approx(2 + 4.3026527 * sqrt(4 / 3))


@pytest.mark.parametrize("bound", ["<=", ">="])
def test_what_is_beyond_fails_and_what_is_not_does_not(bound: str) -> None:
    """3 and 4 make 5, so that 105, or 95, is where an interval is just beyond the limit."""
    allowed, worse = Span(100, 96, 104), 1 if bound == "<=" else -1
    line = beyond(Span(0, -3, 3), allowed, bound)
    assert line == 100 + 5 * worse
    for excess, fails in ((1e-9, True), (-1e-9, False)):
        value = line + worse * excess
        assert (verdict(Span(value, value - 3, value + 3), allowed, bound) == "failed") is fails


# ---- how often it is wrong ----------------------------------------------------------------------


def shares(audit: Audit, gates: int = 25) -> tuple[float, float, float]:
    """Return the shares of gates that passed, that failed, and that failed the first case."""
    counts = relative(audit, gates)
    return counts["passed"] / gates, counts["failed"] / gates, counts["first"] / gates


@pytest.mark.parametrize("percent", [5, 10])
def test_an_unchanged_system_passes_and_one_that_is_15_percent_slower_fails(percent: int) -> None:
    passed, failed, _ = shares(Audit(percent=percent))
    assert passed >= 0.9
    assert failed <= 0.02
    assert shares(Audit(percent=percent, worse=15))[2] >= 0.8


def test_episodes_make_few_gates_fail() -> None:
    """A tenth of all values is larger by 20 to 50%: without a rule for that, six of ten fail."""
    assert shares(Audit(percent=10, episodes=0.1))[1] <= 0.05


def test_what_the_page_says_of_constants_is_so() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs/guides/gate.md").read_text().split())
    for sentence in (
        f"at most {LEVEL:.0%} of the runs of an unchanged system fail any of them",
        f"further off by {EPISODE - 1:.0%} than any run of the baseline",
        "three times as far as the limit itself",
        f"up to {MOST} runs",
        f"less than {WIDEST:g} times the value of a single baseline",
        f"in {limits.SHOWN:.0%} of the runs",
        "five times its minimum number of samples",
        "half of what the named runs had",
        "more than four times the observed value",
        f"plus {margin('20%'):.0%} (`--margin`)",
    ):
        assert sentence in text, sentence
    assert (WIDE, draft._AMPLE, draft._SHORTER, WIDEST, ENOUGH) == (3, 5, 2, 4, 10)


def test_the_most_that_one_more_run_misses() -> None:
    """Without stalls the rule of three; with 500 of four each their scatter, on square roots."""
    none = [Missed(0, 60_000, 0)] * 5
    assert Rules([], 1).rate(none) == pytest.approx(log(20) / 300_000)
    level = 501 * 4 / 300_000
    half = 2.808279 * sqrt(1.2 * 4 / 60_000) / 2  # Student's t of 5000, one-sided 0.25%
    expected = (sqrt(level) + half) ** 2
    assert Rules([], 20).rate([Missed(400, 60_000, 100)] * 5) == pytest.approx(expected, rel=1e-6)


def test_a_draft_predicts_median_and_tails_together() -> None:
    """A case has up to three limits: Student's t of 2 at 5%/3 is 5.339336."""
    runs = [run(result([t * v for v in FLAT[::100]]), run_id=str(t)) for t in (0.99, 1.0, 1.01)]
    (case,) = draft.draft(runs, 0.2).cases
    (limit,) = case.limits
    logs = [log(t) for t in (0.99, 1.0, 1.01)]
    top = exp(sum(logs) / 3 + 5.339336 * sqrt(variance(logs) * (1 + 1 / 3)))
    assert limit.statistic == "p50"
    assert limit.top / limit.values[1] == pytest.approx(top, rel=1e-6)


def test_a_draft_limits_no_time_below_zero_and_a_breakdown_with_margin() -> None:
    below = [run(result([-3.0] * 200), run_id=str(k)) for k in range(3)]
    (case,) = draft.draft(below, 0.2).cases
    assert {limit.top for limit in case.limits} == {0.0}
    broken = result(bench="hart.PH.1", figures={BREAKDOWN: Figure(value=72.0, unit="%")})
    (case,) = draft.draft([run(broken)], 0.2).cases
    assert case.breakdown is not None
    assert case.breakdown.top == pytest.approx(72 / 4 / 1.2)


def test_what_is_limited_needs_five_times_its_least_samples() -> None:
    """p99 needs 1000 samples: 4999 do not make a limit of it, 5000 do."""

    def limits(n: int) -> Sequence[str]:
        values = [1000.0 + k % 100 for k in range(n)]
        runs = [run(result(values), run_id=str(k)) for k in range(3)]
        (case,) = draft.draft(runs, 0.2).cases
        assert case.predicted_for_n == n // 2
        return [limit.statistic for limit in case.limits]

    assert limits(4999) == ["p50", "p90"]
    assert limits(5000) == ["p50", "p99"]


def test_after_stalls_a_tail_needs_twice_the_stalls_of_an_interval() -> None:
    few, many = (cases(run(stalling(0.7, 1, seconds)))[0] for seconds in (20, 60))
    assert estimate_whole(few.results, "p90")
    assert "p90" not in draft._shown(draft.DraftedCase(few, [few], None))
    assert "p90" in draft._shown(draft.DraftedCase(many, [many], None))
