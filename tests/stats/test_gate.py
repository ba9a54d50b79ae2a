"""Verdicts on made-up results: just within a limit, just beyond it, and inconclusive ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.check import Check, Gate
from rtstone.documents.run import Clock, Figure, Result, Run, Slope, Target
from rtstone.errors import UsageError
from rtstone.report.check.text import reason as reason_text
from rtstone.results.estimates import batches, estimate_whole
from rtstone.results.interval import lasting as correlated
from rtstone.results.omitted import lacking, lacking_most
from rtstone.stats.budget import load
from rtstone.stats.gate import check
from rtstone.stats.limits import Span, exactly, samples_missing, verdict
from rtstone.stats.worstcase.extremes import worst_case
from rtstone.summary import least_n
from rtstone.wire.records import Bench, Param
from tests.report.synthetic import evidence, statistics
from tests.stats.lab import AGENT, counts
from tests.stats.periodic import lasting, measured
from tests.stats.recorded import recorded

BENCHES = [
    Bench(
        "dk.periodic", "Periodic", slope_over="size",
        params=[
            Param("period", "duration", "ns", 1_000_000, 1, 10**12),
            Param("samples", "int", None, 1000, 0, 10**9),
            Param("size", "size", "B", 64, 1, 1 << 20),
        ],
    ),
    Bench("dk.sleep", "Sleep"),
    Bench("hart.PH.1", "Hartstone"),
]  # fmt: skip
FLAT = [float(value) for value in range(1, 10_001)]  # p50 5000, p99 9900, p999 9990


def result(values: Sequence[float] = (), bench: str = "dk.periodic", **members: Any) -> Result:
    base: dict[str, Any] = {
        "case": 1, "params": {}, "load": "none", "status": "ok", "evidence": evidence(10.0),
    }  # fmt: skip
    if len(values):
        base |= statistics(list(values)) | {"histogram": counts(values)}
    return Result(bench=bench, **(base | members))


def run(*results: Result, **changes: Any) -> Run:
    members: dict[str, Any] = {
        "run_id": "20261121-120000-quick-ab12",
        "created": "2026-11-21T12:00:00+00:00",
        "status": "complete",
        "target": Target(name="local"),
        "agent": AGENT,
        "clock": Clock(source="tsc", hz=10**9, resolution_ns=1, overhead_ns=20),
        "results": list(results),
        "benches": BENCHES,
    }
    return Run(**(members | changes))


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    """Check a run against the text of a budget."""

    def held(text: str, measured: Run, *baselines: Run) -> Gate:
        path = tmp_path / "budget.toml"
        path.write_text(text)
        return check(measured, load(path), baselines)

    return held


def entry(*limits: str, bench: str = "dk.periodic") -> str:
    return "\n".join(["[[case]]", f'bench = "{bench}"', *limits, ""])


def only(gate: Gate) -> Check:
    (check,) = gate.checks
    return check


# ---- observed values ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ('max = "10us"', "passed"),
        ('max = "9999ns"', "failed"),
        ('min = "1ns"', "passed"),
        ('min = "0.9ns"', "failed"),
        ("missed = 3", "passed"),
        ("missed = 2", "failed"),
    ],
)
def test_a_fact_is_within_a_limit_or_beyond_it(gate: Any, limit: str, verdict: str) -> None:
    judged = gate(entry(limit), run(result(FLAT, missed=3)))
    assert judged.verdict == verdict
    assert judged.exit_code == {"passed": 0, "failed": 1}[verdict]
    assert only(judged).ci95 is None
    assert only(judged).n == 10_000
    assert only(judged).section_s == 10


def test_the_same_case_several_times_is_one_set_of_samples(gate: Any) -> None:
    twice = run(result(FLAT, missed=1), result([20_000.0, *FLAT[1:]], case=2, missed=2))
    judged = gate(entry("missed = 2", 'max = "15us"'), twice)
    assert {(c.what, c.verdict, c.observed, c.n) for c in judged.checks} == {
        ("missed", "failed", 3, 20_000),
        ("max", "failed", 20_000, 20_000),
    }
    assert only(gate(entry("missed = 3"), twice)).section_s == 20


# ---- values with an interval ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ('p50 = "5.2us"', "passed"),
        ('p50 = "4.8us"', "failed"),
        ('p50 = "5us"', "inconclusive"),
        ('p50 = "5.05us"', "inconclusive"),
        ('p99 = "9.93us"', "passed"),
        ('p99 = "9.87us"', "failed"),
        ('p99 = "9.9us"', "inconclusive"),
        ('mean = "5.1us"', "passed"),
        ('mean = "4.9us"', "failed"),
        ('mean = "5001ns"', "inconclusive"),
    ],
)
def test_it_is_the_interval_that_is_judged(gate: Any, limit: str, verdict: str) -> None:
    check = only(gate(entry(limit), run(result(FLAT))))
    assert check.verdict == verdict
    assert check.ci95 is not None
    assert check.allowed is not None
    low, high = check.ci95
    assert {"passed": high <= check.allowed, "failed": low > check.allowed}.get(verdict, True)
    assert (verdict == "inconclusive") == (low <= check.allowed < high)


@pytest.mark.parametrize(
    ("limit", "least", "verdict"),
    [
        ('p50 = "5us"', 10_000, "passed"),
        ('p50 = "4999ns"', 10_000, "failed"),
        ('p50 = "5us"', 10_001, "inconclusive"),
        ('p9999 = "5us"', 1, "inconclusive"),
    ],
)
def test_a_prediction_is_held_against_the_value(
    gate: Any, limit: str, least: int, verdict: str
) -> None:
    check = only(gate(entry(limit, f"predicted_for_n = {least}"), run(result(FLAT))))
    assert check.verdict == verdict
    if verdict == "inconclusive":
        assert check.reason == f"the limit was predicted for at least {least} samples"
        assert check.missing == (1 if least > 10_000 else None)


def test_an_open_question_says_what_would_settle_it(gate: Any) -> None:
    check = only(gate(entry('p50 = "5050ns"'), run(result(FLAT))))
    # 1.96 sqrt(n/4) = 98 ranks of 1 ns; half the distance needs four times as many samples
    assert check.missing is not None
    assert check.missing == pytest.approx(10_000 * ((98 / 50) ** 2 - 1), rel=0.03)
    assert check.missing_s == pytest.approx(check.missing * 10 / 10_000)
    assert "; about 39.0 s in total may settle it: `rtstone run … --time 39`" in reason_text(check)
    near = only(gate(entry('p50 = "5010ns"'), run(result(FLAT))))
    assert (near.verdict, near.missing, near.missing_s) == ("inconclusive", None, None)
    assert "near its middle; how much longer a run has to be cannot be" in str(near.reason)
    many = [float(v) / 4 for v in range(1, 40_001)]
    assert only(gate(entry('p50 = "5050ns"'), run(result(many)))).verdict == "passed"


def test_a_percentile_that_n_does_not_allow_is_an_open_question(gate: Any) -> None:
    check = only(gate(entry('p9999 = "9998ns"'), run(result(FLAT))))
    assert (check.verdict, check.observed, check.missing) == ("inconclusive", None, 90_000)
    assert (least_n("p50"), least_n("p99"), least_n("p9999")) == (20, 1000, 100_000)


def test_but_not_where_too_many_samples_are_beyond_the_limit(gate: Any) -> None:
    """Of 10 000 samples four or more are beyond p99.99 in 1.9% of runs, three or more in 8.0%."""
    check = only(gate(entry('p9999 = "9996ns"'), run(result(FLAT))))
    assert (check.verdict, check.reason) == (
        "failed", "it is 10.0 µs at least, just above the limit (97.5% sure)"
    )  # fmt: skip
    assert check.observed is None  # no lower percentile's value under this name
    assert only(gate(entry('p9999 = "9997ns"'), run(result(FLAT)))).verdict == "inconclusive"


def test_nor_where_enough_of_them_are_within_it(gate: Any) -> None:
    """0.999^3688 is 2.5%: so many samples are not all below p99.9, if it is above the limit."""
    short = run(result(FLAT[:3687]))
    check = only(gate(entry('p999 = "4us"'), short))
    assert (check.verdict, check.missing) == ("inconclusive", 1)
    check = only(gate(entry('p999 = "4us"'), run(result(FLAT[:3688]))))
    assert (check.verdict, check.observed) == ("passed", None)
    assert check.reason == "it is 3.69 µs at most (97.5% sure)"
    assert only(gate(entry('p999 = "3687ns"'), run(result(FLAT[:3688])))).verdict == "inconclusive"
    # A tool's largest sample is anything within its bucket.
    coarse = result(FLAT[:3688], evidence=evidence(10.0) | {"bucket_ns": 1000})
    assert only(gate(entry('p999 = "4us"'), run(coarse))).verdict == "inconclusive"
    assert only(gate(entry('p999 = "5us"'), run(coarse))).verdict == "passed"


def test_what_is_beyond_a_tools_histogram_no_longer_run_shows(gate: Any) -> None:
    within = FLAT[:9958]
    beyond = result(within, overflow=10, flags=["imported", "beyond"])
    beyond = structs.replace(beyond, n=9968, max=50_000.0, p999=None)
    check = only(gate(entry('p999 = "20us"'), run(beyond)))
    assert (check.verdict, check.missing) == ("inconclusive", None)
    assert check.reason == (
        "p99.9 is among the 10 samples beyond the histogram, of which only the largest is known; "
        "measure with a histogram that includes the maximum"
    )
    assert only(gate(entry('p999 = "60us"'), run(beyond))).verdict == "passed"
    # With one less beyond it, p99.9 is within the histogram: of a longer run it is known.
    fewer = structs.replace(beyond, histogram=[*beyond.histogram, (9959.0, 1)], overflow=9)
    check = only(gate(entry('p999 = "20us"'), run(fewer)))
    assert (check.reason, check.missing) == ("n is too small for p99.9", 32)


@pytest.mark.parametrize(
    ("limit", "verdict", "reason"),
    [
        ("39us", "failed", "it is 40.0 µs at least (97.5% sure)"),  # the last bucket's edge
        ("41us", "inconclusive", "p99 is among the 645 samples beyond the histogram"),
        ("4400us", "inconclusive", "p99 is among the 645 samples beyond the histogram"),
        ("5ms", "passed", "it is 4.42 ms at most (97.5% sure)"),
    ],
)
def test_of_what_is_beyond_a_histogram_only_its_ends_are_known(
    gate: Any, limit: str, verdict: str, reason: str
) -> None:
    within = [20_000.0] * 9000 + [39_000.0] * 355
    cut = result(within, flags=["imported", "buckets", "beyond"], batches=None)
    cut = structs.replace(
        cut, n=10_000, overflow=645, max=4.42e6, p99=None, p999=None, evidence={"bucket_ns": 1000}
    )
    for results in ([cut], [cut, cut]):
        check = only(gate(entry(f'p99 = "{limit}"'), run(*results)))
        assert check.verdict == verdict
        assert reason.replace("645", "645" if len(results) == 1 else "1 290") in str(check.reason)
    check = only(gate(entry('p90 = "1ms"'), run(cut)))
    assert (check.verdict, check.ci95) == ("passed", (20_000.0, 39_000.0))


def test_without_a_histogram_no_longer_run_shows_a_percentile(gate: Any) -> None:
    bare = result(FLAT[:500], flags=["imported", "statistics_only"])
    bare = structs.replace(bare, histogram=[], p50=None, p90=None, p99=None)
    check = only(gate(entry('p99 = "400ns"'), run(bare)))
    assert (check.verdict, check.missing) == ("inconclusive", None)
    assert "the tool kept no histogram" in str(check.reason)


def test_means_of_operations_are_not_told_to_become_more(gate: Any) -> None:
    batched = result(FLAT[:5000], batch=8, p999=None)
    check = only(gate(entry('p999 = "20us"'), run(batched)))
    assert (check.verdict, check.missing) == ("inconclusive", None)
    assert "which have no p99.9 of single ones" in str(check.reason)


def test_a_short_run_with_stalls_lacks_the_larger_of_two(gate: Any) -> None:
    """It has too few samples for p99.9, and too few stalls by far more."""
    few = stalling(0.4, section_s=8)
    assert few.missed and few.max and few.n < least_n("p999")
    check = only(gate(entry(f'p999 = "{int(few.max) - 1}ns"'), run(few)))
    assert (check.verdict, check.reason) == ("inconclusive", "n is too small for p99.9")
    assert check.missing is not None and check.missing > 5 * (least_n("p999") - few.n)
    assert check.missing == lacking("p999", [few])
    # How many a longer run would have is not known from four.
    fewer = stalling(2.0, section_s=8)
    check = only(gate(entry('p999 = "2ms"'), run(fewer)))
    assert (check.verdict, check.missing) == ("inconclusive", None)
    assert check.reason == (
        "n is too small for p99.9; "
        "how much longer a run has to be cannot be predicted from this one"
    )


def test_a_limit_that_nothing_omitted_could_exceed_passes(gate: Any) -> None:
    """Stalls of 5 ms hide five activations; one in 20 s leaves the run without an interval."""
    few = stalling(20.0)
    assert few.missed and estimate_whole([few], "p999") is None
    for name in ("p50", "p99", "p999"):
        above = only(gate(entry(f'{name} = "5s"'), run(few)))
        assert above.verdict == "passed", name
    assert re.fullmatch(
        r"it is \d\.\d+ ms at most, whatever was omitted \(97\.5% sure\)", str(above.reason)
    )
    assert above.corrected
    # A third as long, its stalls might by chance be fewer than those of longer runs.
    short = stalling(5.0, section_s=15)
    assert short.missed
    check, top = (only(gate(entry(f'{name} = "5s"'), run(short))) for name in ("p999", "max"))
    assert (check.verdict, top.verdict) == ("passed", "passed")
    assert re.fullmatch(
        r"no activation was above \d\.\d+ ms: as of max, a fact of this run", str(check.reason)
    )
    missing = lacking_most("p999", [short])
    assert missing is not None
    longer = stalling(5.0, section_s=2 + round((short.n + missing) / 1000))
    judged = only(gate(entry('p999 = "5s"'), run(longer)))
    assert judged.verdict == "passed" and "97.5% sure" in str(judged.reason)
    # Of too few samples for it no percentile is known, however low the limit that they are below.
    fewer = structs.replace(short, n=9000, corrected=None, missed=0, batches=None)
    assert only(gate(entry('p9999 = "5s"'), run(fewer))).verdict == "inconclusive"


@pytest.mark.parametrize(("n", "verdict"), [(6, "failed"), (5, "inconclusive")])
def test_nor_where_every_sample_is(gate: Any, n: int, verdict: str) -> None:
    """All of six are above the median by chance in 1.6% of runs, all of five in 3.1%."""
    check = only(gate(entry('p50 = "1999ns"'), run(result([2000.0 + k for k in range(n)]))))
    assert (check.verdict, check.observed) == (verdict, None)
    if verdict == "failed":
        assert (
            check.reason == "every sample is beyond it, the least is 2.00 µs, just above the limit"
        )


@pytest.mark.parametrize("statistic", ["mean", "p50", "p99", "p999"])
def test_a_run_with_few_stalls_fails_a_limit_below_its_samples(gate: Any, statistic: str) -> None:
    """It has no interval, as stalls are too few; yet each activation was later than 999 ns."""
    few = stalling(20.0, length_s=2.0)
    check = only(gate(entry(f'{statistic} = "400ns"'), run(few)))
    assert check.verdict == "failed"
    assert check.observed == getattr(few.corrected, statistic)
    if statistic != "mean":
        beside = only(gate(entry(f'{statistic} = "1001ns"'), run(few)))
        if statistic == "p50":  # half of the activations may be omitted in other such runs
            assert beside.verdict == "inconclusive"
            return
        assert beside.verdict == "failed"
        assert re.fullmatch(
            r"it is 1\.\d+ µs at least, whatever was omitted \(97\.5% sure\)", str(beside.reason)
        )
    high = "3s" if statistic == "mean" else "1999ms"
    longer = only(gate(entry(f'{statistic} = "{high}"'), run(few)))
    assert longer.verdict == "inconclusive"
    assert longer.reason == (
        "too few independent stalls for an interval; "
        "how much longer a run has to be cannot be predicted from this one"
    )
    assert (longer.missing, longer.missing_s) == (None, None)


def test_many_stalls_that_are_worth_few_say_so(gate: Any) -> None:
    rng = np.random.default_rng(3)
    starts = np.arange(1.0, 41.0)
    ends = starts + np.where(starts == 20.0, 0.9, 0.005)
    late = 1000 + 100 * rng.exponential(size=60_000)
    uneven, _ = measured(late, np.column_stack([starts, ends]))
    check = only(gate(entry('p99 = "890ms"'), run(uneven)))
    assert check.verdict == "inconclusive"
    assert check.reason == (
        "too few independent stalls for an interval: "
        "40 are worth about 1 of one length that come alone; "
        "how much longer a run has to be cannot be predicted from this one"
    )


def test_a_median_beyond_the_limit_fails_whatever_lasts(gate: Any) -> None:
    """Samples drift through the minute, one in ten is early, and one stall omits 500 ms."""
    rng = np.random.default_rng(2)
    late = 15_400 + 1000 * np.sin(np.arange(60_000) / 10_000) + 100 * rng.exponential(size=60_000)
    late[rng.random(60_000) < 0.1] = 8000
    few, _ = measured(late, np.array([[30.0, 30.5]]))
    assert correlated("p50", [few])
    assert only(gate(entry('p50 = "10us"'), run(few))).verdict == "failed"
    assert only(gate(entry('p50 = "15.6us"'), run(few))).verdict == "inconclusive"


def test_what_no_number_of_samples_settles_says_what_does(gate: Any) -> None:
    strange = structs.replace(stalling(20.0, length_s=2.0), missed=1)
    check = only(gate(entry('p99 = "1999ms"'), run(strange)))
    assert (check.verdict, check.missing) == ("inconclusive", None)
    assert "no number of them gives an interval; limit missed, or" in str(check.reason)
    equal = only(gate(entry('p50 = "5us"'), run(result(FLAT))))
    assert (equal.verdict, equal.missing) == ("inconclusive", None)
    assert (
        equal.reason == "it equals the limit: more samples do not settle that, another limit does"
    )


def stalling(each_s: float, seed: int = 1, section_s: int = 60, length_s: float = 0.005) -> Result:
    """Return a minute in which the task is repeatedly stalled, for 5 ms by default."""
    rng = np.random.default_rng(seed)
    stalls = lasting(lambda _, n: np.full(n, length_s), each_s)(rng, section_s)
    late = 1000 + 100 * rng.exponential(size=section_s * 1000)
    return measured(late, stalls)[0]


def test_omitted_activations_are_counted_in(gate: Any) -> None:
    stalled = stalling(0.2)
    assert stalled.p99 is not None
    assert stalled.p99 < 20e3 < stalled.corrected.p99  # type: ignore[union-attr,operator]
    check = only(gate(entry('p99 = "20us"'), run(stalled)))
    assert (check.verdict, check.corrected, check.n) == ("failed", True, 60_000)
    none = structs.replace(stalled, missed=0)
    assert only(gate(entry('p99 = "20us"'), run(none))).verdict == "passed"


# ---- a share of the activations ---------------------------------------------------------------


def test_a_share_of_missed_activations_is_judged_by_its_interval(gate: Any) -> None:
    """About 300 stalls that hide four or five activations each: 2.1% of all."""
    stalled = stalling(0.2)
    share = 100 * (stalled.missed or 0) / 60_000
    assert 1.5 < share < 2.7
    for limit, expected in [(1.2 * share, "passed"), (1.01 * share, "inconclusive"),
                        (0.95 * share, "inconclusive"), (0.5 * share, "failed")]:  # fmt: skip
        check = only(gate(entry(f'missed = "{limit:.4f}%"'), run(stalled)))
        assert (check.verdict, check.unit) == (expected, "%")
        assert check.observed == pytest.approx(share, abs=0.01)
        assert check.ci95 is not None
        assert 0.8 * share < check.ci95[0] < share < check.ci95[1] < 1.2 * share
        assert check.detectable is not None
        assert (100 * check.detectable <= share) == (expected == "failed")


def test_one_stall_however_long_is_no_rate(gate: Any) -> None:
    rng = np.random.default_rng(1)
    once, _ = measured(1000 * rng.exponential(size=60_000), np.array([[7.0, 7.1]]))
    assert once.missed in (99, 100)
    assert only(gate(entry("missed = 42"), run(once))).verdict == "failed"  # a count is a fact
    for limit, expected in [("0.05%", "inconclusive"), ("0.2%", "inconclusive"), ("1%", "passed")]:
        assert only(gate(entry(f'missed = "{limit}"'), run(once))).verdict == expected
    predicted = gate(entry('missed = "0.2%"', "predicted_for_n = 60000"), run(once))
    assert only(predicted).verdict == "passed"


def test_a_share_passes_only_where_the_run_could_have_shown_more(gate: Any) -> None:
    """None missed of n: up to 3.668/n are possible (Byar)."""
    check = only(gate(entry('missed = "0.01%"'), run(result(FLAT[:300], missed=0))))
    assert (check.verdict, check.observed) == ("inconclusive", 0)
    assert check.ci95 is not None
    assert check.ci95[0] == 0
    assert check.ci95[1] == pytest.approx(100 * 3.668 / 300, rel=1e-3)
    assert check.reason == "300 activations do not exclude 1.2%"
    assert check.missing is not None
    assert check.missing + 300 == pytest.approx(36_680, rel=1e-3)
    enough = structs.replace(result(FLAT[:300], missed=0), n=300 + check.missing)
    assert only(gate(entry('missed = "0.01%"'), run(enough))).verdict == "passed"
    short = structs.replace(enough, n=enough.n - 1)
    assert only(gate(entry('missed = "0.01%"'), run(short))).verdict == "inconclusive"
    never = only(gate(entry('missed = "1e-300%"'), run(result(FLAT[:300], missed=0))))
    assert (never.verdict, never.missing) == ("inconclusive", None)
    early = only(
        gate(entry('missed = "2%"', "predicted_for_n = 301"), run(result(FLAT[:300], missed=0)))
    )
    assert (early.verdict, early.missing) == ("inconclusive", 1)


def test_a_count_says_what_rate_it_could_have_found(gate: Any) -> None:
    """None of n lost: a rate of 1 - 0.05^(1/n) shows in 95% of the runs."""
    check = only(gate(entry("missed = 0"), run(result(FLAT, missed=0))))
    assert check.verdict == "passed"
    assert check.detectable == pytest.approx(1 - 0.05 ** (1 / 10_000), rel=1e-9)
    # more than 3 one by one: 7.754 expected (Poisson; Byar's approximation to 1%)
    check = only(gate(entry("missed = 3"), run(result(FLAT, missed=0))))
    assert check.detectable == pytest.approx(7.754 / 10_000, rel=0.01)
    check = only(gate(entry("missed = 3"), run(result([1.0], missed=0))))
    assert (check.verdict, check.detectable) == ("passed", None)
    for limit in ("missed = 0", 'missed = "0%"', 'missed = "1%"'):
        nothing = only(gate(entry(limit), run(result(missed=0))))
        assert (nothing.verdict, nothing.reason) == ("inconclusive", "no activations were due")


def test_an_absolute_limit_says_what_would_have_failed(gate: Any) -> None:
    """Samples that are all that much slower fail, a nanosecond less and they do not."""
    for limit in ('p50 = "5.2us"', 'mean = "5.2us"', 'p99 = "9.95us"', 'max = "11us"'):
        check = only(gate(entry(limit), run(result(FLAT))))
        assert check.verdict == "passed"
        assert check.detectable is not None
        assert check.observed is not None
        bound = check.detectable * check.observed
        for extra, fails in ((1.0, True), (-1.0, False)):
            slower = run(result([v + bound + extra for v in FLAT]))
            slower_check = only(gate(entry(limit), slower))
            assert (slower_check.verdict == "failed") is fails, limit
    assert only(gate(entry('p50 = "1us"'), run(result(FLAT)))).detectable == 0


# ---- relative to a baseline -------------------------------------------------------------------


def scaled(factor: float, n: int = 10_000) -> Result:
    return result([factor * v for v in FLAT[:n]])


def alike(number: int = 5) -> list[Run]:
    """Return runs of one system that do not differ."""
    return [run(scaled(1.0), run_id=f"before-{k}") for k in range(number)]


@pytest.mark.parametrize(
    ("limit", "factor", "verdict", "detectable"),
    [
        ('p50 = "+10%"', 1.0, "passed", 0.1),
        ('p50 = "1.1x"', 1.05, "passed", 0.1),
        ('p50 = "+10%"', 1.2, "failed", 0.1),
        ('p50 = "+10%"', 1.1, "passed", 0.1),
        ('p50 = "+0%"', 1.0, "passed", 1 / 5000),  # a step of the clock
        ('p50 = "-10%"', 0.8, "passed", -0.1),
        ('p50 = "-10%"', 1.0, "failed", -0.1),
        ('min = "2x"', 1.9, "passed", 1.0),
        ('min = "2x"', 2.1, "failed", 1.0),
    ],
)
def test_relative_limits(
    gate: Any, limit: str, factor: float, verdict: str, detectable: float
) -> None:
    check = only(gate(entry(limit), run(scaled(factor)), *alike()))
    assert check.verdict == verdict
    assert check.baseline == pytest.approx(1 if "min" in limit else 5000)
    assert check.detectable == pytest.approx(detectable, abs=2e-4)
    assert check.ci95 is None or "min" not in limit


@pytest.mark.parametrize(
    ("limit", "factor", "verdict", "runs"),
    [
        ('p50 = "+10%"', 1.0, "passed", None),
        ('p50 = "+10%"', 1.1, "inconclusive", None),  # its interval holds the limit
        ('p50 = "+10%"', 1.2, "inconclusive", 4),
        ('p50 = "+10%"', 3.99, "inconclusive", 4),
        ('p50 = "+10%"', 4.01, "failed", None),
        ('p50 = "5x"', 4.01, "passed", None),
    ],
)
def test_a_single_baseline_does_not_show_how_runs_differ(
    gate: Any, limit: str, factor: float, verdict: str, runs: int | None
) -> None:
    check = only(gate(entry(limit), run(scaled(factor)), *alike(1)))
    assert (check.verdict, check.missing_runs) == (verdict, runs)
    if "5x" not in limit:
        assert check.detectable == pytest.approx(3.0)


def test_a_wide_interval_of_a_single_baseline_is_taken_into_account(gate: Any) -> None:
    few = result([float(v) for v in range(100, 10_001, 100)])
    limit = entry('p50 = "4.2x"')
    assert only(gate(limit, run(scaled(4.5)), run(few, run_id="b"))).verdict == "inconclusive"
    assert only(gate(limit, run(scaled(5.5)), run(few, run_id="b"))).verdict == "failed"


def test_several_numbers_are_judged_together(gate: Any) -> None:
    """One number that is 4.9% off fails alone; among 20 of its like chance does that."""
    rng = np.random.default_rng(5)
    ratios = np.exp(0.02 * rng.standard_normal((6, 20)))
    ratios[5, 0] = 1.049 * ratios[:5, 0].mean()

    def runs_of(cases: int) -> list[Run]:
        return [
            run(*(result([t * v for v in FLAT[::100]], load=f"x{k}") for k, t in enumerate(row)),
                run_id=f"run-{place}")
            for place, row in enumerate(ratios[:, :cases])
        ]  # fmt: skip

    *before, last = runs_of(1)
    alone = only(gate(entry('p50 = "+1%"'), last, *before))
    *before, last = runs_of(20)
    among = gate(entry('p50 = "+1%"'), last, *before).checks[0]
    assert (alone.detectable or 0) < (among.detectable or 0)
    assert among.verdict == "inconclusive"


def test_what_scatters_more_does_not_widen_the_lines_of_another_number(gate: Any) -> None:
    """Minima scatter ten times as far as medians: 2.776445 is Student's t of 4 at 5%/2."""

    def run_at(away: float) -> Run:
        values = [exp(away) * v for v in FLAT[::100]]
        return run(result([10 * exp(10 * away), *values[1:]]), run_id=f"away {away}")

    before = [run_at(away) for away in (-0.02, -0.01, 0.0, 0.01, 0.02)]
    judged = gate(entry('p50 = "+1%"', 'min = "+1%"'), run(result(FLAT)), *before)
    s = 0.0158114 * sqrt(1 + 1 / 5)
    assert {c.what: c.detectable for c in judged.checks} == {
        "p50": pytest.approx(exp(2.776445 * s) - 1, rel=1e-4),
        "min": pytest.approx(exp(2.776445 * 10 * s) - 1, rel=1e-4),
    }


def test_a_run_shorter_than_the_baselines_has_its_own_uncertainty(gate: Any) -> None:
    before = [run(scaled(1 + k / 1000), run_id=str(k)) for k in range(5)]
    check = only(gate(entry('p50 = "+5%"'), run(scaled(1.12)), *before))
    assert check.verdict == "failed"
    few = run(result([1.12 * v for v in FLAT[::100]]))
    check = only(gate(entry('p50 = "+5%"'), few, *before))
    assert (check.verdict, check.reason) == ("inconclusive", "its interval holds the limit")
    assert check.missing == 10_000 - 100


def test_each_baseline_must_have_the_case_and_be_another_run(gate: Any) -> None:
    have, lack = run(result(FLAT), run_id="a"), run(result(FLAT, load="heavy"), run_id="b")
    for limit in ('p50 = "+10%"', 'min = "+10%"'):
        check = only(gate(entry(limit), run(result(FLAT)), have, lack))
        assert (check.verdict, check.reason) == ("not measured", "the baseline has no such case")
    for names, says in [(("a", "a"), "named twice"), (("c", "a"), "its own baseline")]:
        with pytest.raises(UsageError, match=says):
            runs = [run(result(FLAT), run_id=name) for name in names]
            gate(entry('p50 = "+10%"'), run(result(FLAT), run_id="c"), *runs)


def test_no_number_of_samples_that_could_be_told() -> None:
    far = Span(2e-150, -1e60, 1e60)
    assert samples_missing(far, exactly(1e-150), 10) is None
    assert samples_missing(Span(10, 8, 12), exactly(9), 100) == 300


def test_the_baseline_must_have_been_measured_alike(gate: Any) -> None:
    other = structs.replace(AGENT, compiler="GNU 13")
    judged = gate(
        entry('p50 = "+10%"', 'p90 = "1ms"'),
        run(scaled(1.0)),
        run(scaled(1.0), run_id="before", agent=other),
    )
    assert [c.verdict for c in judged.checks] == ["inconclusive", "passed"]
    assert "compiler (the run: GNU 12.2.0, the baseline: GNU 13)" in judged.remarks[0]


def test_another_deadline_server_is_another_condition(gate: Any) -> None:
    limit = entry('p50 = "+10%"')
    base: dict[str, Any] = {
        "kernel.release": "7.2.13", "sched.rt_group_sched": "no", "sched.rt_runtime_us": "-1",
        "sched.rt_period_us": "1000000",
    }  # fmt: skip
    off, default = (
        base | {"sched.fair_server": [f"0-3: {ns}/1000000000"]} for ns in (0, 50_000_000)
    )
    judged = run(scaled(1.0), conditions=off)
    for conditions, expected in ((off, "passed"), (default, "inconclusive"), (base, "passed")):
        report = gate(limit, judged, run(scaled(1.0), run_id="before", conditions=conditions))
        assert only(report).verdict == expected
        says = "the run: nothing, the baseline: 50 ms of 1 s"
        assert any(says in remark for remark in report.remarks) is (expected == "inconclusive")


def test_what_the_baseline_lacks_never_passes(gate: Any) -> None:
    limit = entry('p50 = "+10%"')
    for base, why in [
        (result(FLAT, load="heavy"), "no such case"),
        (result(FLAT, params={"period": 5}), "no such case"),
        (result(FLAT, status="incomplete", reason="x"), "is incomplete: x"),
        (result(FLAT, flags=["no_rt"]), "the baseline's result is no_rt"),
    ]:
        check = only(gate(limit, run(result(FLAT)), run(base, run_id="before")))
        assert check.verdict == "not measured"
        assert why in str(check.reason)
    samples = result(FLAT, params={"samples": 7})  # does not make it another case
    assert only(gate(limit, run(result(FLAT)), run(samples, run_id="b"))).verdict == "passed"


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ('max = "+10%"', "the largest samples of two runs differ by chance"),
        ('p50 = "5 instr"', "has another unit: the samples are ns"),
    ],
)
def test_limits_that_mean_nothing(gate: Any, limit: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        gate(entry(limit), run(result(FLAT)), run(result(FLAT), run_id="before"))


def test_relative_limits_need_a_baseline(gate: Any) -> None:
    with pytest.raises(UsageError, match="there is no baseline"):
        gate(entry('p50 = "+1%"'), run(result(FLAT)))


def test_instructions_repeat_exactly(gate: Any) -> None:
    clock = Clock(source="c", hz=1, resolution_ns=1, overhead_ns=0, unit="instructions")
    counted = run(result(FLAT, unit="instructions"), clock=clock)
    measured_run = run(
        result([v + 1 for v in FLAT], unit="instructions"), clock=clock, run_id="before"
    )
    for limit, expected in [
        ('max = "10k instr"', "passed"), ('max = "9.999 k instr"', "failed"),
        ('max = "+0%"', "passed"), ('max = "-0.1%"', "failed"),
    ]:  # fmt: skip
        check = only(gate(entry(limit), counted, measured_run))
        assert (check.verdict, check.unit, check.section_s) == (expected, "instructions", None)
    with pytest.raises(UsageError, match="has another unit"):
        gate(entry('max = "10us"'), counted)
    with pytest.raises(UsageError, match="instructions and time cannot be compared"):
        gate(entry('max = "+1%"'), counted, run(result(FLAT), run_id="before"))


# ---- the worst case ---------------------------------------------------------------------------


def test_a_bound(gate: Any) -> None:
    samples = 5000 + 10_000 * np.random.default_rng(5).exponential(size=60_000)
    measured = recorded(samples)
    bound = worst_case([measured], 1e-2)
    assert bound.bound is not None
    assert bound.observed_max is not None
    rate = "exceedance_per_hour = 1e-2"
    for allowed, expected, observed in [
        (bound.bound * 1.01, "passed", bound.bound),
        (bound.bound * 0.99, "failed", bound.bound),
        (bound.observed_max * 0.99, "failed", bound.observed_max),
    ]:
        check = only(gate(entry(f'bound = "{allowed}ns"', rate), run(measured)))
        assert (check.verdict, check.observed) == (expected, observed)
    assert "bound at 0.001 an hour" in only(gate(entry('bound = "9ms"'), run(measured))).what
    stolen = run(structs.replace(measured, flags=["steal"]))
    limit = f'bound = "{bound.bound * 1.01}ns"'
    assert "hypervisor took the CPU" in str(only(gate(entry(limit, rate), stolen)).reason)
    assert only(gate(entry(limit, rate, 'accept = ["steal"]'), stolen)).verdict == "passed"


def test_no_bound_is_an_open_question_unless_a_sample_is_beyond_it(gate: Any) -> None:
    short = recorded(np.random.default_rng(5).exponential(10_000, size=3000), section_s=3)
    check = only(gate(entry('bound = "1s"'), run(short)))
    assert (check.verdict, check.observed) == ("inconclusive", None)
    assert "there is none: " in str(check.reason)
    assert check.missing_s
    assert only(gate(entry('bound = "20us"'), run(short))).verdict == "failed"


def test_few_samples_that_depend_on_each_other_settle_nothing(gate: Any) -> None:
    """40 samples that rise: independent ones like them pass, of these nothing is known."""
    values = [float(value) for value in range(100, 140)]
    shuffled = np.random.default_rng(1).permutation(values)
    for order, expected in ((np.array(values), "inconclusive"), (shuffled, "passed")):
        check = only(gate(entry('mean = "200ns"'), run(result(values, batches=batches(order)))))
        assert check.verdict == expected
    long = [float(value) for value in range(100, 200)]
    wide = only(gate(entry('mean = "170ns"'), run(result(long, batches=batches(np.array(long))))))
    assert (wide.observed, wide.verdict) == (149.5, "inconclusive")  # it was at 187 at the end


# ---- slopes and figures -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ('"2.2ns"', "passed"),
        ('"1.7ns"', "failed"),
        ('"2ns"', "inconclusive"),
        ('"2.2ns/B"', "passed"),
        ('"2.2us/KiB"', "inconclusive"),
        ('"2.3us/KiB"', "passed"),
        ('"1.8us/KiB"', "failed"),
    ],
)
def test_slopes(gate: Any, limit: str, verdict: str) -> None:
    slope = Slope(
        bench="dk.periodic", load="none", over="size", params={}, points=[(0, 0), (1, 2), (2, 4)],
        slope=2, ci95=(1.8, 2.2), unit="ns per B", constant=False,
    )  # fmt: skip
    points = [result(FLAT, params={"size": size}) for size in (1, 2, 3)]
    check = only(gate(entry(f"slope = {limit}"), run(*points, slopes=[slope])))
    assert check.verdict == verdict
    assert check.n == 30_000
    lost = [*points[:2], result(status="failed", reason="it died")]
    check = only(gate(entry(f"slope = {limit}"), run(*lost, slopes=[])))
    assert (check.verdict, check.reason) == ("not measured", "failed: it died")


def test_there_is_no_slope(gate: Any) -> None:
    with pytest.raises(UsageError, match="no slope, for which a run needs three values"):
        gate(entry('slope = "1ns"'), run(result(FLAT)))


def hartstone(name: str, value: float) -> Run:
    return run(result(bench="hart.PH.1", figures={name: Figure(value=value, unit="%")}))


@pytest.mark.parametrize(
    ("name", "value", "limit", "verdict"),
    [
        ("breakdown utilisation", 61, ">= 60%", "passed"),
        ("breakdown utilisation", 59, ">= 60%", "failed"),
        ("breakdown utilisation", 59, "60%", "passed"),
        ("no breakdown up to", 61, ">= 60%", "passed"),
        ("no breakdown up to", 59, ">= 60%", "inconclusive"),
        ("no breakdown up to", 61, "<= 60%", "failed"),
    ],
)
def test_figures(gate: Any, name: str, value: float, limit: str, verdict: str) -> None:
    text = entry(f'figures = {{ "breakdown utilisation" = "{limit}" }}', bench="hart.*")
    assert only(gate(text, hartstone(name, value))).verdict == verdict


def test_figures_relative_to_a_baseline(gate: Any) -> None:
    text = entry('figures = { "breakdown utilisation" = ">= -10%" }', bench="hart.PH.1")
    for value, expected in [(55.0, "passed"), (53.0, "failed")]:
        base = [
            structs.replace(hartstone("breakdown utilisation", 60.0), run_id=f"before-{k}")
            for k in range(3)
        ]
        check = only(gate(text, hartstone("breakdown utilisation", value), *base))
        assert check.verdict == expected
        assert check.detectable == pytest.approx(0.1, abs=1e-6)


def test_a_figure_that_is_not_there(gate: Any) -> None:
    text = entry('figures = { "breakdown utilization" = ">= 60%" }', bench="hart.PH.1")
    with pytest.raises(UsageError, match="did you mean 'breakdown utilisation'"):
        gate(text, hartstone("breakdown utilisation", 1))
    text = entry('p99 = "1us"', bench="hart.PH.1")
    with pytest.raises(UsageError, match=r"no samples to limit.*it has the figures breakdown"):
        gate(text, hartstone("breakdown utilisation", 1))


# ---- what was not measured --------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["inconclusive", "pass", "fail"])
@pytest.mark.parametrize(
    "members",
    [
        {"status": "unsupported", "reason": "no timer"},
        {"status": "failed", "reason": "it died"},
        {"status": "incomplete", "reason": "the load died", "values": FLAT},
        {"flags": ["no_rt"], "values": FLAT},
        {"flags": ["clock_backwards"], "values": FLAT},
        {"flags": ["other_run"], "values": FLAT},
        {"flags": ["throttled"], "values": FLAT},
        {"flags": ["server"], "values": FLAT},
        {"batch": 8, "max": None, "values": FLAT},
    ],
)
def test_it_never_passes(gate: Any, policy: str, members: dict[str, Any]) -> None:
    rest = {name: value for name, value in members.items() if name != "values"}
    bad = structs.replace(result(members.get("values", ())), **rest)
    good = result(FLAT, load="heavy")
    judged = gate(f'inconclusive = "{policy}"\n{entry("""max = "1s" """)}', run(good, bad))
    assert [c.verdict for c in judged.checks] == ["passed", "not measured"]
    assert judged.exit_code == (1 if policy == "fail" else 3)
    assert judged.ordered[0].reason


def test_flags_can_be_accepted_and_others_are_only_told(gate: Any) -> None:
    bad = run(result(FLAT, flags=["no_rt", "no_mlock"]))
    judged = gate(entry('max = "1s"', 'accept = ["no_rt"]'), bad)
    assert (judged.verdict, only(judged).flags) == ("passed", ["no_rt", "no_mlock"])
    assert gate(entry('max = "1s"'), run(result(FLAT, flags=["no_mlock"]))).verdict == "passed"


@pytest.mark.parametrize(("policy", "status"), [("inconclusive", 3), ("pass", 0), ("fail", 1)])
def test_what_an_open_question_ends_as(gate: Any, policy: str, status: int) -> None:
    text = f'inconclusive = "{policy}"\n' + entry('p50 = "5us"', 'max = "1s"')
    judged = gate(text, run(result(FLAT)))
    assert [c.verdict for c in judged.checks] == ["inconclusive", "passed"]
    assert judged.exit_code == status
    assert gate(text.replace('"1s"', '"1us"'), run(result(FLAT))).exit_code == 1


# ---- what an entry selects --------------------------------------------------------------------


def many() -> Run:
    return run(
        *(
            result(FLAT, bench, params=params, load=load, series=series, missed=0)
            for load in ("none", "heavy")
            for bench, params, series in (
                ("dk.periodic", {"period": 1_000_000}, "cpu 0"),
                ("dk.periodic", {"period": 1_000_000}, "cpu 1"),
                ("dk.periodic", {"period": 2_000_000}, "cpu 0"),
                ("dk.sleep", {}, ""),
            )
        )
    )


@pytest.mark.parametrize(
    ("text", "n"),
    [
        (entry("missed = 0"), 6),
        (entry("missed = 0", bench="dk.*"), 8),
        (entry("missed = 0", 'loads = ["heavy"]'), 3),
        (entry("missed = 0", 'loads = ["none", "h*"]'), 6),
        (entry("missed = 0", 'params = { period = "1ms" }'), 4),
        (entry("missed = 0", 'params = { period = ["1ms", "2ms"] }'), 6),
        (entry("missed = 0", 'params = { period = "2ms" }', bench="dk.*"), 2),
        (entry("missed = 0", 'series = "cpu 0"'), 4),
        (entry("missed = 0", 'series = "cpu *"'), 6),
    ],
)
def test_entries_name_cases(gate: Any, text: str, n: int) -> None:
    assert len(gate(text, many()).checks) == n


def test_what_tells_cases_apart_is_told(gate: Any) -> None:
    labels = {(c.label, c.load) for c in gate(entry("missed = 0"), many()).checks}
    assert labels == {
        (label, load)
        for label in ("period=1ms cpu 0", "period=1ms cpu 1", "period=2ms cpu 0")
        for load in ("none", "heavy")
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry("missed = 0", bench="dk.periodc"), "unknown bench 'dk.periodc'.*'dk.periodic'"),
        (entry("missed = 0", bench="sem.*"), "unknown bench"),
        (entry("missed = 0", 'loads = ["none", "hevy"]'), "'hevy'.*did you mean 'heavy'"),
        (entry("missed = 0", 'params = { periode = "1ms" }'), "did you mean 'period'"),
        (entry("missed = 0", 'params = { periode = 1 }', bench="dk.*"), "did you mean 'period'"),
        (entry("missed = 0", 'params = { period = "1m" }'), "bad value '1m' of period"),
        (entry("missed = 0", 'params = { period = "3ms" }'), "there are: period=1ms cpu 0; per"),
        (entry("missed = 0", 'series = "cpu 2"'), "unknown series 'cpu 2'"),
    ],
)  # fmt: skip
def test_an_entry_that_names_nothing_is_an_error(gate: Any, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        gate(text, many())


def test_a_case_that_did_not_run_may_be_any_series_and_what_was_not_told(gate: Any) -> None:
    lost = run(
        result(status="incomplete", reason="not run"),
        result(status="unsupported", reason="no", load="heavy", params={"size": 1}),
    )
    text = entry("missed = 0", 'params = { period = "1ms" }', 'series = "cpu 3"')
    assert [c.verdict for c in gate(text, lost).checks] == ["not measured"] * 2


# ---- the rule itself --------------------------------------------------------------------------


def test_more_samples_help_only_where_the_runs_own_interval_is_too_wide() -> None:
    wide = Span(110, 90, 130)
    assert verdict(wide, exactly(100)) == "inconclusive"
    assert samples_missing(wide, exactly(100), 1000) == 3000  # half the width
    assert verdict(Span(110, 100, 120), exactly(100)) == "inconclusive"
    assert verdict(Span(110, 100.1, 120), exactly(100)) == "failed"
    assert samples_missing(Span(110, 105, 115), Span(100, 80, 120), 1000) is None
    assert samples_missing(Span(110, 98, 115), Span(100, 80, 104), 1000) == 715  # 12²/(10² - 4²)
    assert samples_missing(Span(90, 85, 102), Span(100, 96, 120), 1000) == 715
    assert samples_missing(Span(100, 90, 110), exactly(100), 1000) is None
    assert verdict(Span(90, 80, 100), exactly(100)) == "passed"
    assert verdict(Span(-5, -6, -4), exactly(-4)) == "passed"


# ---- what another tool does not count -----------------------------------------------------------


def hidden(most: int | None, largest: float, *, beyond: int = 10) -> Result:
    """Return an import of 10 000 samples of 50 µs, and some beyond a histogram of 400 µs."""
    blank = result([50_000.0] * 10_000)
    n = 10_000 + beyond
    return structs.replace(
        blank, n=n, overflow=beyond, max=largest, p99=50_000.0, missed=None, batches=None,
        flags=["imported", "beyond", "omission"],
        evidence={"bucket_ns": 1000} | ({} if most is None else {"missed_most": most}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("most", "largest", "verdict", "reason"),
    [
        (1000, 100e6, "inconclusive", "may have hidden up to 1 000 activations"),
        (20, 2e6, "passed", None),  # p99 has room for 100
        (None, 100e6, "inconclusive", "does not count the activations that late wake-ups hid"),
        (1000, 900e3, "passed", None),  # none was later than the limit
        (None, 900e3, "passed", None),
    ],
)
def test_what_another_tool_may_have_hidden_decides(
    gate: Any, most: int | None, largest: float, verdict: str, reason: str | None
) -> None:
    judged = only(gate(entry('p99 = "1ms"'), run(hidden(most, largest))))
    assert judged.verdict == verdict
    assert (reason or "") in (judged.reason or "") and (judged.reason is None) == (reason is None)
