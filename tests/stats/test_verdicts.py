from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest

from rtstone.documents.comparison import Comparison, Effect
from rtstone.documents.run import Run
from rtstone.stats.comparison.compare import compare
from tests.chance import Sequential, is_fine
from tests.stats.runs import Samples, session

pytestmark = pytest.mark.simulation

PAIRS, CASES, N = 6, 8, 1000
COMPARISONS = 400  # at most; usually 63 are enough
SELDOM = 0.01, 0.1  # how often a large enough difference may be missed, and must not be missed
Rng = np.random.Generator

# ---- systems ------------------------------------------------------------------------------------


def latencies(rng: Rng, runs: int, cases: int = CASES, n: int = N, sd: float = 0.15) -> Samples:
    """Draw log-normal latencies, one in a hundred longer by 50 to 100%."""
    base = 2000 * np.exp(sd * rng.standard_normal((runs, cases, n), dtype=np.float32))
    late = rng.random((runs, cases, n), dtype=np.float32)
    return np.asarray(np.where(late < 0.01, base * (1.5 + 50 * late), base), dtype=np.float64)


def independent(rng: Rng, runs: int) -> Samples:
    return latencies(rng, runs)


def autocorrelated(rng: Rng, runs: int) -> Samples:
    """Draw autocorrelated latencies (correlation 0.9)."""
    noise = rng.standard_normal((N, runs, CASES), dtype=np.float32)
    noise[0] /= np.sqrt(1 - 0.9**2)
    for place in range(1, N):
        noise[place] += 0.9 * noise[place - 1]
    return np.asarray(2000 * np.exp(0.05 * np.moveaxis(noise, 0, -1)), dtype=np.float64)


def unsteady(rng: Rng, runs: int) -> Samples:
    """Draw runs that are off by some percent, sometimes many; half of the cases have two states."""
    off = 0.02 * rng.standard_t(3, (runs, CASES, 1))
    off[:, ::2] += 0.1 * rng.integers(0, 2, (runs, CASES // 2, 1))
    common = 0.05 * rng.standard_normal((runs, 1, 1))  # the machine at that moment
    return np.asarray(latencies(rng, runs) * np.exp(off + common), dtype=np.float64)


SYSTEMS = {"independent": independent, "autocorrelated": autocorrelated, "unsteady": unsteady}

# ---- ways to compare them -----------------------------------------------------------------------


def paired(runs: Sequence[Run]) -> Comparison:
    return compare(runs)


def _sides(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    bare = [(run.turn, msgspec.structs.replace(run, turn=None)) for run in runs]
    first, other = ([run for turn, run in bare if turn and turn.side == side] for side in "AB")
    return first, other


def grouped(runs: Sequence[Run]) -> Comparison:
    return compare(_sides(runs))


def single(runs: Sequence[Run]) -> Comparison:
    first, other = _sides(runs)
    return compare([first[0], other[0]], floor=[*first[1:], *other[1:]])


WAYS = {"pairs": paired, "runs": grouped, "floor": single}


def effects(comparison: Comparison, part: str = "") -> list[Effect]:
    return [e for row in comparison.rows for e in row.effects if part in ("", e.part)]


def verdicts(comparison: Comparison, part: str, case: int = 0) -> str:
    (row,) = [row for row in comparison.rows if row.bench == f"case.{case}"]
    (effect,) = [effect for effect in row.effects if effect.part == part]
    return effect.verdict


# ---- identical systems --------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_identical_systems_are_called_different_in_one_of_twenty_comparisons(system: str) -> None:
    """This is the share of whole comparisons of 16 effects each, in every way of comparing.

    One in a hundred is fine, one in twelve is detected, each with an error of 1% (tests/chance.py).
    """
    rng = np.random.default_rng(6)
    alarms = {way: Sequential(fine=0.01, wrong=0.08) for way in WAYS}
    for _ in range(COMPARISONS):
        runs = session(SYSTEMS[system](rng, 2 * PAIRS))
        for way, test in alarms.items():
            rules = WAYS[way](runs).rules
            assert rules
            assert rules.tally.inconclusive or rules.tally.no_difference
            test.take(rules.tally.different > 0)
        if all(test.decided for test in alarms.values()):
            break
    assert {test.verdict for test in alarms.values()} == {"fine"}, alarms


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_the_intervals_of_two_single_runs_hold_the_true_ratio(factor: float) -> None:
    """All of them together, in 95% of comparisons, beside a noise floor of further runs."""
    rng = np.random.default_rng(13)

    def outside() -> Iterator[bool]:
        for _ in range(COMPARISONS):
            samples = unsteady(rng, 2 * PAIRS)
            samples[[place for place in range(2 * PAIRS) if place % 4 in (1, 2)]] *= factor
            first, other = _sides(session(samples))
            ends = [e.ci95 for e in effects(compare([first[0], other[0]], floor=first[1:]))]
            assert None not in ends
            yield any(not low <= factor <= high for low, high in filter(None, ends))

    assert is_fine(outside(), 0.01, 0.08)


# ---- systems that differ ------------------------------------------------------------------------


def shifted(samples: Samples, factor: float, case: int = 0) -> Samples:
    """Return samples in which B is slower by a factor in one case."""
    changed = samples.copy()
    for place in range(len(samples)):
        if place % 4 in (1, 2):
            changed[place, case] *= factor
    return changed


def missed(outcomes: Iterator[str]) -> Iterator[bool]:
    """Yield for comparisons with a slower system whether the difference was missed."""
    for verdict in outcomes:
        assert verdict != "better"
        yield verdict != "worse"


@pytest.mark.parametrize("sd", [0.1, 0.2])
def test_three_percent_are_found_in_ten_pairs_of_a_thousand_samples(sd: float) -> None:
    rng = np.random.default_rng(3)
    outcomes = (
        verdicts(paired(session(shifted(latencies(rng, 20, 2, sd=sd), 1.03))), "median")
        for _ in range(200)
    )
    assert is_fine(missed(outcomes), *SELDOM)


def test_three_percent_are_found_in_single_runs_with_a_known_floor() -> None:
    rng = np.random.default_rng(4)

    def single_runs() -> Iterator[str]:
        for _ in range(200):
            first, other = _sides(session(shifted(latencies(rng, 16, 1, n=10_000), 1.03)))
            yield verdicts(compare([first[0], other[0]], floor=first[1:]), "median")

    assert is_fine(missed(single_runs()), *SELDOM)


def test_the_smaller_is_better_and_the_first_column_is_what_it_is_compared_with() -> None:
    rng = np.random.default_rng(5)
    comparison = paired(session(shifted(latencies(rng, 20, 2), 0.9)))
    effect = next(e for e in effects(comparison, "median") if e.verdict == "better")
    assert effect.ratio == pytest.approx(0.9, abs=0.01)
    assert effect.ci95
    assert effect.ci95[0] < 0.9 < effect.ci95[1] < 1
    assert (effect.basis, effect.runs, effect.column) == ("pairs", 20, "local (B)")


def test_a_longer_tail_moves_the_tail_alone() -> None:
    rng = np.random.default_rng(7)
    samples = latencies(rng, 20, 2, n=2000)
    for place in (p for p in range(20) if p % 4 in (1, 2)):
        case = samples[place, 0]
        samples[place, 0] = np.where(case > np.quantile(case, 0.97), 1.3 * case, case)
    comparison = paired(session(samples))
    assert verdicts(comparison, "tail") == "worse"
    assert verdicts(comparison, "median") == "no difference"
    assert {verdicts(comparison, part, 1) for part in ("median", "tail")} <= {
        "no difference", "inconclusive",
    }  # fmt: skip


def test_a_drift_fools_runs_one_after_the_other_but_not_in_turn() -> None:
    rng = np.random.default_rng(8)
    drift = np.exp(0.01 * np.arange(16))[:, None, None]
    samples = np.asarray(latencies(rng, 16, 2) * drift, dtype=np.float64)
    in_turn = paired(session(samples))
    assert verdicts(in_turn, "median") != "worse"
    assert in_turn.rules
    assert in_turn.rules.tally.different == 0
    one_after_the_other = grouped(session(samples, first=range(8)))
    assert verdicts(one_after_the_other, "median") == "worse"
    assert one_after_the_other.rules
    (remark,) = one_after_the_other.rules.remarks
    assert "a drift of the machine looks like a difference" in remark


def test_the_more_cases_the_surer_each_verdict_must_be() -> None:
    rng = np.random.default_rng(9)
    few, many = (paired(session(latencies(rng, 12, cases))) for cases in (1, 20))
    assert few.rules
    assert many.rules
    assert (few.rules.effects, many.rules.effects) == (2, 40)
    widths = [
        np.mean([np.ptp(e.ci95) for e in effects(c, "median") if e.ci95]) for c in (few, many)
    ]
    assert widths[1] > 1.5 * widths[0]


# ---- missing samples ----------------------------------------------------------------------------


def test_what_is_missing_is_enough_once_it_is_there() -> None:
    """With that many more samples about half of them have a verdict, with twice as many most."""
    rng = np.random.default_rng(10)

    def measured(pairs: int) -> Effect:
        samples = latencies(rng, 2 * pairs, 1)
        noise = np.exp(0.08 * rng.standard_normal((2 * pairs, 1, 1)))
        return effects(paired(session(np.asarray(samples * noise, np.float64))), "median")[0]

    short = [effect for effect in (measured(4) for _ in range(30)) if effect.missing]
    assert len(short) > 15
    wanted = int(np.median([(e.missing or 0) / N for e in short]))
    assert 4 < wanted < 100
    for pairs, most in ((wanted, 8), (2 * wanted, 16)):
        longer = [measured(4 + pairs).verdict for _ in range(20)]
        assert longer.count("no difference") >= most


def test_few_runs_that_agree_by_chance_are_no_proof() -> None:
    """A system with two states: in 3 pairs of 8 cases both sides soon differ without scatter."""
    constant = np.full((6, 8, N), 2000.0)
    constant[[1, 2, 5], 0] = 2200.0
    comparison = paired(session(constant))
    effect = effects(comparison, "median")[0]
    assert effect.verdict == "inconclusive"
    assert effect.reason == "about 2 more pairs"
    assert effect.missing == 2 * N


def test_without_a_floor_single_runs_prove_little() -> None:
    rng = np.random.default_rng(11)
    for factor, verdict in ((1.5, "inconclusive"), (6.0, "worse")):
        samples = shifted(latencies(rng, 4, 1), factor)
        first, other = _sides(with_histograms(session(samples), samples))
        comparison = compare([first[0], other[0]])
        assert verdicts(comparison, "median") == verdict
        assert verdicts(comparison, "tail") == "inconclusive"
        assert comparison.rules
        assert "unknown" in comparison.rules.floor
        median_effect = effects(comparison, "median")[0]
        assert median_effect.ratio == pytest.approx(factor, rel=0.05)
        assert median_effect.floor is None


def with_histograms(runs: Sequence[Run], samples: Samples) -> list[Run]:
    def filled(run: Run, place: int) -> Run:
        results = [
            msgspec.structs.replace(
                result, histogram=[(v, 1) for v in sorted(samples[place, case])]
            )
            for case, result in enumerate(run.results)
        ]
        return msgspec.structs.replace(run, results=results)

    return [filled(run, place) for place, run in enumerate(runs)]


def test_the_pairs_that_are_said_to_settle_single_runs_do_so() -> None:
    """About half of such effects have a verdict with as many, most with twice as many."""
    rng = np.random.default_rng(12)

    def noisy(runs: int) -> list[Run]:
        noise = np.exp(0.08 * rng.standard_normal((runs, 1, 1)))
        return session(np.asarray(latencies(rng, runs, 1) * noise, np.float64))

    wanted = []
    for _ in range(20):
        first, other = _sides(noisy(24))
        (row,) = compare([first[0], other[0]], floor=[*first[1:], *other[1:]]).rows
        effect = next(e for e in row.effects if e.part == "median")
        wanted += [effect.pairs] if effect.pairs else []
    assert len(wanted) > 10
    number = int(np.median(wanted))
    assert 6 < number < 100
    for pairs, least in ((number, 6), (2 * number, 16)):
        settled = [
            verdicts(paired(noisy(2 * pairs)), "median") != "inconclusive" for _ in range(20)
        ]
        assert sum(settled) >= least
