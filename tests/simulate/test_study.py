"""Random task sets and their evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rtstone.report.simulation.text import percent
from rtstone.simulate.engine import Simulator
from rtstone.simulate.study import KEPT, Study, breakdown, measure, run, wilson
from rtstone.simulate.taskset import POLICIES, Rules
from rtstone.simulate.workload import APERIODIC_LOAD, Workload, draw, fill, uunifast

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
    asked = study(rules=tuple(map(Rules, POLICIES)))
    ts = fill(WORKLOAD, draw(WORKLOAD, *key), 1.2, key)
    assert ts.value is not None
    for row, policy in zip(measure(asked, *key), POLICIES, strict=True):
        kept = dict(zip(KEPT, row, strict=True))
        counts = Simulator(ts).run(Rules(policy)).counts
        assert kept["missed"] + int(counts["met"].sum()) == kept["due"]
        assert kept["value_met"] == sum((counts["met"] * ts.value).tolist())
        assert kept["requests"] == len(ts.arrival) >= kept["served"]


def test_breakdown_of_known_sets() -> None:
    """EDF schedules 100%, within the simulated time; fixed priorities at least their bound."""
    asked = study(rules=(Rules("edf"), Rules("rm")), workload=replace(WORKLOAD, end=20 * SECOND))
    for number in range(20):
        (edf,), (rm,) = breakdown(asked, 4, number)
        assert 2048 <= edf < 1.05 * 2048
        assert 4 * (2 ** (1 / 4) - 1) * 2048 - 1 <= rm <= edf


def test_the_interval_of_a_share() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-3)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-3)


@pytest.mark.parametrize(
    ("share", "told"),
    [(None, "-"), (0, "0%"), (1, "100%"), (1e-6, "<0.01%"), (1 - 1e-6, ">99.99%"), (0.5, "50.00%")],
)
def test_a_share_is_never_rounded_to_none_or_all(share: float | None, told: str) -> None:
    assert percent(share) == told
