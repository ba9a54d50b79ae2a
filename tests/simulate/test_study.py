"""Random task sets and their evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rtstone.report.simulation.page import percent
from rtstone.simulate.engine import Simulator, simulate
from rtstone.simulate.study import (
    HEAVIEST,
    KEPT,
    STEPS,
    Study,
    _settled,
    breakdown,
    measure,
    run,
    wilson,
)
from rtstone.simulate.taskset import POLICIES, Rules, TaskSet, stacked
from rtstone.simulate.workload import (
    APERIODIC_LOAD,
    Workload,
    _times,
    critical_sections,
    draw,
    fill,
    uunifast,
)  # fmt: skip

SECOND = 10**9
WORKLOAD = Workload(seed=123, end=2 * SECOND)


def study(**changed: object) -> Study:
    plain = Study(WORKLOAD, tuple(map(Rules, ("rm", "edf"))), (3, 8), (500_000, 1_100_000), 60)
    return replace(plain, **changed)  # type: ignore[arg-type]


def test_the_same_for_any_number_of_workers() -> None:
    alone = run(study(), 1)
    assert run(study(), 2) == alone
    assert [p.sets for p in alone[0]] == [60] * 8


def test_a_point_does_not_depend_on_what_else_is_asked() -> None:
    points, broken = run(study(), 1)
    fewer, alone = run(study(rules=(Rules("edf"),), tasks=(8,), ppm=(1_100_000,)), 1)
    assert fewer == [p for p in points if (p.policy, p.tasks, p.utilisation) == ("edf", 8, 1.1)]
    assert alone == [b for b in broken if (b.policy, b.tasks) == ("edf", 8)]


def test_progress_comes_to_its_end() -> None:
    seen: list[tuple[int, int]] = []
    run(study(sets=3), 1, lambda done, total: seen.append((done, total)))
    assert seen == [(k, 6) for k in range(1, 7)]


def test_another_seed_is_another_answer() -> None:
    other = study(workload=replace(WORKLOAD, seed=124), sets=5)
    assert run(other, 1) != run(study(sets=5), 1)


def test_sets_are_as_specified() -> None:
    """Totals are exact to a ns, periods log-uniform, shares uniform on the simplex."""
    shapes = [draw(WORKLOAD, 4, 800_000, k) for k in range(4000)]
    shares = np.array([s.share for s in shapes])
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares.min() > 0
    # Dirichlet(1, 1, 1, 1): mean 1/4, variance 3/80
    assert shares.mean(axis=0) == pytest.approx(np.full(4, 0.25), abs=0.02)
    assert shares.var(axis=0) == pytest.approx(np.full(4, 3 / 80), rel=0.1)
    decades = np.log10(np.concatenate([s.period for s in shapes]) / 1e7)
    assert 0 <= decades.min() < 0.01
    assert 1.99 < decades.max() < 2
    counts, _ = np.histogram(decades, 10, (0, 2))
    assert counts.min() > 1400
    ts = fill(replace(WORKLOAD, exact=True), shapes[0], 0.8, (4, 800_000, 0))
    assert 0.8 - 1e-6 < float((ts.nominal / ts.period).sum()) <= 0.8


def test_execution_times_and_requests_are_as_specified() -> None:
    key = (10, 900_000, 7)
    ts = fill(replace(WORKLOAD, end=60 * SECOND), draw(WORKLOAD, *key), 0.9, key)
    assert ts.work is not None
    share = ts.work / np.repeat(ts.nominal, np.diff(ts.first))
    assert share.min() > 0.499
    assert share.max() <= 1
    assert share.mean() == pytest.approx(0.75, abs=0.01)
    assert ts.request_work.sum() / ts.end == pytest.approx(APERIODIC_LOAD, rel=0.1)
    assert np.diff(ts.arrival).std() == pytest.approx(np.diff(ts.arrival).mean(), rel=0.1)
    tight = fill(replace(WORKLOAD, constrained=True), draw(WORKLOAD, *key), 0.9, key)
    assert (tight.deadline >= tight.nominal).all()
    assert (tight.deadline <= tight.period).all()
    assert (tight.deadline < tight.period).any()


def test_the_simplex_from_its_corners() -> None:
    assert uunifast(np.array([])).tolist() == [1]
    assert uunifast(np.array([0.0, 0.5])).tolist() == [1, 0, 0]
    assert uunifast(np.array([1.0, 1.0])).tolist() == [0, 0, 1]


def test_numbers_of_a_set_are_those_of_the_simulator() -> None:
    key = (5, 1_200_000, 3)
    request = study(rules=tuple(map(Rules, POLICIES)))
    ts = fill(WORKLOAD, draw(WORKLOAD, *key), 1.2, key)
    assert ts.value is not None
    for row, policy in zip(measure(request, 5, 1_200_000, [3])[0].tolist(), POLICIES, strict=True):
        named = dict(zip(KEPT, row, strict=True))
        counts = simulate(ts, Rules(policy)).counts
        assert named["missed"] + int(counts["met"].sum()) == named["due"]
        assert named["value_met"] == sum((counts["met"] * ts.value).tolist())
        assert named["requests"] == len(ts.arrival) >= named["served"]


def test_breakdown_of_known_sets() -> None:
    """EDF schedules 100%, within the simulated time; fixed priorities at least their bound."""
    request = study(rules=(Rules("edf"), Rules("rm")), workload=replace(WORKLOAD, end=20 * SECOND))
    for number in range(20):
        ((edf,), (rm,)) = breakdown(request, 4, [number])[0]
        assert 2048 <= edf < 1.05 * 2048
        assert 4 * (2 ** (1 / 4) - 1) * 2048 - 1 <= rm <= edf


HOW = {
    "free": (WORKLOAD, {}),
    "constrained": (replace(WORKLOAD, constrained=True), {}),
    "served": (WORKLOAD, {"server": "polling", "server_period": 10**7, "server_budget": 10**6}),
    "costs": (WORKLOAD, {"switch_cost": 20_000, "tick": 10**6, "tick_cost": 5_000}),
    "sections": (replace(WORKLOAD, resources=True), {"protocol": "inherit"}),
    "ceilings": (replace(WORKLOAD, resources=True, constrained=True), {"protocol": "ceiling"}),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_breakdown_is_that_of_whole_simulations(policy: str, how: str) -> None:
    """Nothing of a simulation is left out that matters."""
    workload, members = HOW[how]
    rules = Rules(policy, **members)  # type: ignore[arg-type]
    breakdown_result = breakdown(study(workload=workload, rules=(rules,)), 5, range(8))
    assert breakdown_result[:, 0, 0].tolist() == [
        _by_bisection(workload, 5, k, rules) for k in range(8)
    ]


def _by_bisection(workload: Workload, n: int, number: int, rules: Rules) -> int:
    key = (n, 0, number)
    shape = draw(workload, *key)
    whole = fill(replace(workload, exact=True), shape, 1.0, key)
    low, high = 0, int(HEAVIEST * STEPS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        nominal = np.maximum(1, (whole.nominal * (middle / STEPS)).astype(np.int64))
        sections = critical_sections(shape, nominal) if workload.resources else ()
        ts = replace(whole, nominal=nominal, sections=sections)
        if simulate(ts, rules).counts["missed"].any():
            high = middle
        else:
            low = middle
    return low


@pytest.mark.parametrize("policy", POLICIES)
def test_idling_in_time_settles_the_rest(policy: str) -> None:
    """Verdicts on small sets with any deadlines within their periods, with requests and without."""
    rng = np.random.default_rng(4)
    sets = [_small(rng) for _ in range(4000)]
    rules = Rules(policy, quantum=1)
    whole = Simulator(stacked(sets)).run(rules)
    none = np.empty(0, np.int64)
    alone = stacked([replace(ts, arrival=none, request_work=none) for ts in sets])
    early = Simulator(alone).run(rules, settled=_settled(alone, rules))
    missed = whole.counts["missed"].any(axis=1)
    if policy != "llf":  # of which nothing is settled
        assert (early.counts["missed"].any(axis=1) == missed).all()
        assert 500 < missed.sum() < 3500
        ended = early.totals["executed"] + early.totals["idle"] < 400
        assert ended.sum() > 200
    else:
        assert not _settled(alone, rules).any()


def _small(rng: np.random.Generator) -> TaskSet:
    period = rng.integers(4, 40, 3)
    nominal = 1 + (period * 0.8 * rng.dirichlet([1, 1, 1]) * rng.random()).astype(np.int64)
    arrival = np.sort(rng.integers(0, 400, 20))
    return TaskSet(
        end=400, period=period, deadline=rng.integers(nominal, period + 1), nominal=nominal,
        value=rng.integers(1, 9, 3), arrival=arrival, request_work=rng.integers(1, 5, 20),
    )  # fmt: skip


def test_the_interval_of_a_share() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-3)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "-"), (0, "0%"), (1, "100%"), (1e-6, "<0.01%"), (1 - 1e-6, ">99.99%"), (0.5, "50.00%")],
)
def test_a_share_is_never_rounded_to_none_or_all(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_a_critical_section_is_a_tenth_long_and_ends_in_the_first_half() -> None:
    """docs/guides/simulate.md says so; at 0 it begins at once, at 1 it ends halfway."""
    begin, length = _times(np.array([0.0, 0.5, 1.0]), np.array([1000, 1000, 1000]))
    assert length.tolist() == [100, 100, 100]
    assert begin.tolist() == [0, 200, 400]
    assert (begin + length).max() == 500
    assert _times(np.array([1.0]), np.array([3]))[1].tolist() == [1]  # never empty
