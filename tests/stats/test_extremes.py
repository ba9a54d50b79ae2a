"""The worst-case estimate against distributions whose worst case is known.

Every sample goes through the summaries that the recorder makes: that is all the estimate may see.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, log
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pytest
from msgspec import structs
from numpy.random import Generator
from numpy.typing import NDArray

from rtstone.documents.run import Blocks, Result
from rtstone.documents.worstcase import WorstCase
from rtstone.results.flags import FLAGS
from rtstone.stats.worstcase import bound, outcome
from rtstone.stats.worstcase.bound import Estimate
from rtstone.stats.worstcase.critical import EXTREME, PARETO, critical, simulated
from rtstone.stats.worstcase.extremes import LEAST_S, PER_HOUR, worst_case
from rtstone.stats.worstcase.tails import (
    Bins,
    Limit,
    excess_limit,
    fit_excesses,
    fit_maxima,
    return_level,
)  # fmt: skip
from rtstone.wire.buckets import bounds
from tests.bench.bounds import KINDS, outcomes
from tests.stats.recorded import recorded

pytestmark = pytest.mark.simulation

Draw = Callable[[Generator, int], NDArray[np.float64]]

N, SECTION_S = 60_000, 600.0
BASE, SCALE = 5_000.0, 10_000.0  # ns: what is always there, and the scale of what varies
SETS = 40
EXCEEDED = PER_HOUR / (N / SECTION_S * 3600)  # share of the samples that may exceed the bound


class Law(NamedTuple):
    """A distribution in units of SCALE above BASE: samples, and the level exceeded by a share."""

    draw: Draw
    level: Callable[[float], float]
    bounded_in: float  # the share of sets in which there is a bound, at least
    within: float  # the median of bound / truth, at most


def _stalled(stalls: int, clear: float = 20.0, size: float = 30.0) -> Draw:
    """Exponential, but for so many stalls, at random places, clear of all the rest."""

    def draw(random: Generator, n: int) -> NDArray[np.float64]:
        samples = random.exponential(size=n)
        places = random.choice(n, stalls, replace=False)
        samples[places] = clear + size * random.exponential(size=stalls)
        return samples

    return draw


LAWS = {
    "exponential": Law(lambda r, n: r.exponential(size=n), lambda p: -log(p), 0.8, 7),
    "weibull 0.7": Law(lambda r, n: r.weibull(0.7, n), lambda p: (-log(p)) ** (1 / 0.7), 0.7, 12),
    "weibull 1.5": Law(lambda r, n: r.weibull(1.5, n), lambda p: (-log(p)) ** (1 / 1.5), 0.85, 4),
    "weibull 2": Law(lambda r, n: r.weibull(2, n), lambda p: (-log(p)) ** (1 / 2), 0.85, 3),
    "uniform": Law(lambda r, n: r.random(n), lambda _: 1.0, 0.85, 1.2),
    "beta": Law(lambda r, n: r.beta(2, 2, n), lambda _: 1.0, 0.85, 1.2),
    "pareto": Law(
        lambda r, n: (r.random(n) ** -0.2 - 1) / 0.2, lambda p: (p**-0.2 - 1) / 0.2, 0.4, 16
    ),
    "lognormal": Law(
        lambda r, n: np.exp(0.3 * r.standard_normal(n)),
        lambda p: float(np.exp(-0.3 * NormalDist().inv_cdf(p))), 0.85, 5,
    ),
    "stalls enough": Law(
        _stalled(600), lambda p: 20 + 30 * log(600 / N / p), 0.8, 5
    ),
}  # fmt: skip


def estimates(draw: Draw, sets: int = SETS, seed: int = 123) -> list[WorstCase]:
    random = np.random.default_rng(seed)
    return [worst_case([recorded(BASE + SCALE * draw(random, N), SECTION_S)]) for _ in range(sets)]


@pytest.mark.parametrize("name", LAWS)
def test_bounds_hold_at_their_stated_rate(name: str) -> None:
    law = LAWS[name]
    truth = BASE + SCALE * law.level(EXCEEDED)
    bounds = estimates(law.draw)
    ratios = [bound.bound / truth for bound in bounds if bound.bound is not None]
    assert len(ratios) >= law.bounded_in * SETS
    # 5% of 40 is 2; more than 5 come about once in a hundred times
    assert sum(ratio < 1 for ratio in ratios) <= 5
    assert 1 <= np.median(ratios) < law.within
    assert all(
        bound.method == "pot" or name in {"uniform", "beta"} for bound in bounds[:3] if bound.bound
    )


@pytest.mark.parametrize("stalls", [1, 3, 5, 20])
def test_a_few_stalls_are_inconclusive(stalls: int) -> None:
    bounds = estimates(_stalled(stalls), sets=20)
    assert sum(bound.verdict == "inconclusive" for bound in bounds) >= 0.95 * len(bounds)
    reasons = [bound.reason for bound in bounds if bound.reason]
    assert any("stand" in reason or "law" in reason for reason in reasons)
    # until the fit of the highest threshold has as many of them as it needs
    shares = [
        bound.more_s
        for bound in bounds
        if "stand" in str(bound.reason) and bound.more_s is not None
    ]
    if stalls <= 5:
        assert np.median(shares) == pytest.approx(SECTION_S * (120 / stalls - 1), rel=0.5)


def test_as_many_stalls_as_it_asks_for_give_a_bound() -> None:
    bounds = estimates(_stalled(120))
    assert sum(bound.verdict == "bound" for bound in bounds) >= 0.7 * SETS


def test_stalls_within_reach_of_the_rest_give_a_bound_only_if_it_holds() -> None:
    truth = BASE + SCALE * (8 + 10 * log(80 / N / EXCEEDED))
    bounds = [
        estimate.bound for estimate in estimates(_stalled(80, clear=8, size=10)) if estimate.bound
    ]
    assert len(bounds) <= 0.25 * SETS
    assert all(bound > truth for bound in bounds)


def _rising(random: Generator, n: int) -> NDArray[np.float64]:
    samples: NDArray[np.float64] = random.exponential(size=n) * np.linspace(1, 1.4, n)
    return samples


def _stepping(random: Generator, n: int) -> NDArray[np.float64]:
    samples: NDArray[np.float64] = random.exponential(size=n) * np.repeat([1, 1.4], n // 2)
    return samples


def _bursting(random: Generator, n: int) -> NDArray[np.float64]:
    samples = random.exponential(size=n)
    samples[n // 2 : n // 2 + n // 20] *= 2
    return samples


@pytest.mark.parametrize("draw", [_rising, _stepping, _bursting])
def test_what_is_not_the_same_throughout_is_inconclusive(draw: Draw) -> None:
    bounds = estimates(draw, sets=15)
    assert not any(bound.bound for bound in bounds)
    failed = [{check.name for check in bound.checks if not check.passed} for bound in bounds]
    assert sum("stationarity" in names for names in failed) >= 13
    assert all(bound.more_s is None for bound in bounds if "trend" in str(bound.checks[2].detail))


def _lingering(random: Generator, n: int) -> NDArray[np.float64]:
    """Each large sample is followed by two that are nearly as large."""
    fresh = random.exponential(size=n + 2)
    samples: NDArray[np.float64]
    samples = np.max([fresh[2:], fresh[1:-1] - 0.3, fresh[:-2] - 0.6], axis=0)
    return samples


def _wandering(random: Generator, n: int) -> NDArray[np.float64]:
    """Gaussian, each sample like those before it (correlation 0.9)."""
    steps = random.standard_normal(n)
    kernel = 0.9 ** np.arange(200)
    samples: NDArray[np.float64] = np.convolve(steps, kernel)[:n] * (1 - 0.9**2) ** 0.5 + 6
    return samples


@pytest.mark.parametrize(
    ("draw", "level"),
    [
        (_lingering, lambda p: -log(p)),
        (_wandering, lambda p: 6 - NormalDist().inv_cdf(p)),
    ],
)
def test_dependent_samples_are_bounded_by_block_maxima(
    draw: Draw, level: Callable[[float], float]
) -> None:
    bounds = estimates(draw, sets=15)
    bounds_ = [bound.bound for bound in bounds if bound.bound is not None]
    assert len(bounds_) >= 10
    assert all(bound.method == "block maxima" for bound in bounds if bound.bound)
    assert sum(bound < BASE + SCALE * level(EXCEEDED) for bound in bounds_) <= 2
    assert any("cluster" in bound.checks[3].detail for bound in bounds)


def test_a_coarse_clock_widens_intervals_and_deceives_no_test() -> None:
    random = np.random.default_rng(5)
    samples = [BASE + SCALE * random.exponential(size=N) for _ in range(15)]
    bounds = [worst_case([recorded(sample, SECTION_S, tick=200)]) for sample in samples]
    held = [
        bound.bound > BASE - SCALE * log(EXCEEDED) for bound in bounds if bound.bound is not None
    ]
    assert len(held) >= 12
    assert sum(held) >= len(held) - 1
    coarser = worst_case([recorded(samples[0], SECTION_S, tick=20_000)])
    assert coarser.bound is None
    assert "fewer than 20 values" in str(coarser.reason)


def test_runs_of_one_case_are_taken_together_unless_they_differ() -> None:
    random = np.random.default_rng(8)  # with 7, the samples are of those that no law fits by chance

    def run(scale: float) -> Result:
        return recorded(BASE + scale * random.exponential(size=N), SECTION_S)

    alike = worst_case([run(SCALE) for _ in range(4)])
    assert (alike.verdict, alike.n, alike.section_s) == ("bound", 4 * N, 4 * SECTION_S)
    unlike = worst_case([run(SCALE), run(SCALE), run(1.3 * SCALE)])
    assert "the runs differ" in str(unlike.reason)
    assert unlike.more_s is None


# ---- what is no data for it ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound() -> Result:
    return recorded(BASE + SCALE * np.random.default_rng(1).exponential(size=N), SECTION_S)


def test_a_sound_result_says_all_it_rests_on(sound: Result) -> None:
    estimate = worst_case([sound])
    assert estimate.bound is not None
    assert estimate.bound > sound.max > 0  # type: ignore[operator]
    assert (estimate.n, estimate.section_s, estimate.observed_max) == (N, SECTION_S, sound.max)
    assert (estimate.exceedance_per_hour, estimate.confidence) == (PER_HOUR, 0.95)
    assert [check.name for check in estimate.checks] == [
        "samples", "duration", "stationarity", "independence", "goodness of fit", "no gap",
        "stability", "agreement", "shape",
    ]  # fmt: skip
    assert all(check.passed and check.detail for check in estimate.checks)
    rarer = worst_case([sound], exceedance=PER_HOUR / 1000).bound
    assert rarer is not None
    assert rarer > estimate.bound


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"status": "incomplete", "reason": "load died"}, "incomplete: load died"),
        ({"n": 0, "histogram": []}, "no samples"),
        ({"unit": "instructions"}, "a rate per hour"),
        ({"batch": 16, "max": None}, "mean of several operations"),
        ({"overflow": 1}, "too large for the histogram"),
        *(({"flags": [flag.name]}, flag.spoils) for flag in FLAGS if "worst case" in flag.voids),
        ({"n": N + 1}, "not hold every sample"),
        ({"evidence": {}}, "measured time is not recorded"),
        ({"histogram": [(5.0, N)]}, "one value"),
        ({"blocks": None}, "order"),
    ],
)
def test_what_is_no_data_for_it_is_said(
    sound: Result, changed: dict[str, object], says: str
) -> None:
    estimate = worst_case([structs.replace(sound, **changed)])
    assert (estimate.verdict, estimate.bound, estimate.method) == ("inconclusive", None, None)
    assert says in str(estimate.reason)
    assert estimate.more_s is None


def test_too_little_says_how_much_longer() -> None:
    random = np.random.default_rng(2)
    few = worst_case([recorded(BASE + SCALE * random.exponential(size=640), 100.0)])
    assert few.more_s == pytest.approx(100 * (64 / 10 - 1))  # ten blocks, of the 64 it needs
    short = worst_case([recorded(BASE + SCALE * random.exponential(size=N), 10.0)])
    assert short.more_s == pytest.approx(50)
    assert "events that happen once a minute cannot be seen in under 60 s" in str(short.reason)


def test_the_largest_counts_though_the_end_cut_its_block_short(sound: Result) -> None:
    assert sound.blocks is not None
    top = structs.replace(
        sound,
        max=9e6,
        n=N + 1,
        histogram=[*sound.histogram, (9e6, 1)],
        blocks=Blocks(samples=sound.blocks.samples, max=sound.blocks.max),
    )
    assert "stands apart" in str(worst_case([top]).reason)


def test_what_cannot_be_asked_is_refused(sound: Result) -> None:
    for wrong in ([], [sound, structs.replace(sound, bench="dk.nanosleep")]):
        with pytest.raises(ValueError, match="one case"):
            worst_case(wrong)
    with pytest.raises(ValueError, match="above 0"):
        worst_case([sound], exceedance=0)


# ---- what it stands on --------------------------------------------------------------------------


def test_the_summaries_here_are_the_recorders() -> None:
    values = np.array([1.0, 255, 256, 257, 1000, 1001, 54321, 1e9])
    points = dict(recorded(np.repeat(values, 100)).histogram)
    buckets = {bounds(index, 7) for index in range(4000)}
    for value in values[1:-1]:
        first, width = next((a, w) for a, w in buckets if a <= value < a + w)
        assert first + (width - 1) / 2 in points


@pytest.mark.parametrize("family", [PARETO, EXTREME])
def test_critical_values_are_those_that_the_script_finds(family: object) -> None:
    assert family in (PARETO, EXTREME)
    chosen = PARETO if family is PARETO else EXTREME
    tenth, _ = simulated(chosen, 0.0, sets=200)
    assert tenth == pytest.approx(critical(chosen, 0.0)[0], rel=0.2)


# ---- exactly ------------------------------------------------------------------------------------


def _drawn_evenly(quantile: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Result:
    """Return a result of N samples spread evenly over a distribution, in random order."""
    shares = (np.arange(N) + 0.5) / N
    samples = np.random.default_rng(1).permutation(quantile(shares))
    return recorded(BASE + SCALE * samples, SECTION_S)


def _tail_bins(shape: float, values: int = 256) -> Bins:
    """Return excesses spread evenly over a generalised Pareto distribution of scale 1000."""
    shares = (np.arange(values) + 0.5) / values
    excesses = return_level(-np.log1p(-shares), log(1000), shape)
    return Bins(excesses - 0.01, excesses + 0.01, np.ones(values))


@pytest.mark.parametrize("shape", [-0.4, -0.05, 0.02, 0.1, 0.3])
def test_a_fit_without_an_end_is_the_best_of_those(shape: float) -> None:
    """If the best distribution has no end it is that; it once ended up at shape 0 instead."""
    for fit, bins in ((fit_excesses, _tail_bins(shape)), (fit_maxima, _maxima_bins(shape))):
        free, bounded = fit(bins), fit(bins, least_shape=0.0)
        assert free.shape == pytest.approx(shape, abs=0.05)
        if free.shape >= 0:
            assert bounded == free
        else:
            assert bounded.shape == 0
            assert bounded.likelihood < free.likelihood


def _maxima_bins(shape: float, values: int = 256) -> Bins:
    shares = (np.arange(values) + 0.5) / values
    maxima = return_level(-np.log(-np.log(shares)), log(1000), shape)
    return Bins(maxima - 0.01, maxima + 0.01, np.ones(values))


def test_an_exponential_tail_of_known_scale_has_the_limit_of_its_likelihood() -> None:
    """The farthest level of all (scale, shape) that lose 3.0 in twice the log-likelihood.

    By brute force over a fine grid, where the threshold's rate takes none of the deviance.
    """
    bins = _tail_bins(0.0)
    bounds = excess_limit(bins, 1000.0, bound._DEVIANCE)
    best = fit_excesses(bins, least_shape=0.0).likelihood
    farthest = 0.0
    middle = (bins.low + bins.high) / 2
    for shape in np.linspace(0, 0.4, 161):
        scale = np.linspace(700, 1300, 241)[:, None]
        depth = np.log1p(shape * middle / scale) / shape if shape else middle / scale
        density = -np.log(scale) - (1 + shape) * depth
        loss = 2 * (best - (density.sum(axis=1) + 256 * log(0.02)))
        inside = scale[loss <= 3.0, 0]
        if len(inside):
            level = return_level(log(1000), np.log(inside[-1]), float(shape))
            farthest = max(farthest, float(level))
    assert bounds.level == pytest.approx(farthest, rel=0.015)
    assert bounds.level / excess_limit(bins, 1000.0, 2.71).level > 1.02


def test_of_evenly_drawn_samples_the_bound_is_exact() -> None:
    """Of exponential ones: 202 us is the level; what the 96 largest do not exclude is 689 us."""
    estimate = worst_case([_drawn_evenly(lambda u: -np.log1p(-u))])
    assert estimate.method == "pot"
    assert estimate.bound == pytest.approx(689_220.47, rel=1e-6)


def test_a_shape_of_a_half_is_the_limit(sound: Result) -> None:
    for shape, finite in ((0.499, True), (0.5, False), (inf, False)):
        judged = Estimate([sound], PER_HOUR, [])
        judged._shape(Limit(1e6, shape, 0.3))
        assert [check.passed for check in judged._checks] == [finite]
    judged = Estimate([sound], PER_HOUR, [])
    judged._shape(Limit(inf, 0.2, 0.1))
    assert not judged._checks[0].passed
    judged = Estimate([sound], PER_HOUR, [])
    judged._shape(Limit(1e6, 0.7, 0.3))  # 0.4 above the likeliest; 0.2 takes four times as long
    assert judged._more_s == [pytest.approx(3 * SECTION_S)]


def test_the_docs_state_the_constants() -> None:
    docs = re.sub(r"\s+", " ", Path("docs/guides/worst-case.md").read_text())
    *excesses, last = outcome.EXCESSES
    for words in (
        f"leave {', '.join(map(str, excesses))} and {last} samples above",
        f"**Samples**: {last / outcome.TAIL:.0f}, in {outcome.LEAST_BLOCKS} blocks",
        f"**Duration**: {LEAST_S} s",
        f"`exceedance_per_hour` {PER_HOUR}",
        f"with {outcome.CONFIDENCE:.0%} confidence",
        f"shape below {outcome.SHAPE}",
        f"lose at most {bound._DEVIANCE} in twice the log-likelihood",
        f"until there are at most {bound._MANY}",
        f"the largest 1 to {bound._TOP} samples",
    ):
        assert words in docs, words
    assert outcome.TAIL == 0.1
    assert "at most a tenth of all" in docs


# ---- mixtures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["share 0.03%, 3 times", "share 0.1%, 3 times"])
def test_heavier_samples_that_hide_among_the_others_are_bounded(name: str) -> None:
    """Of the bounds of these sets half were below; `python -m tests.bench.bounds` draws more."""
    (outcome_of_kind,) = outcomes(KINDS[name], 8, seed=3, extrapolations=[60])
    assert len(outcome_of_kind.ratios) >= 5
    assert outcome_of_kind.below <= 1
