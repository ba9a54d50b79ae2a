"""Growth on several systems: which pairs differ, and the largest samples over seeds."""

from __future__ import annotations

from math import log2

import pytest
from msgspec import structs

from rtstone.documents.run import Run
from rtstone.stats.growth import UNDECIDED
from rtstone.stats.growth_changes import growth_changes
from rtstone.wire.records import Bench
from tests.stats.grown import Cost, exact, in_lab, on_machine, tables

LINEAR = exact(lambda n: 600 + 12 * n)
STEEPER = exact(lambda n: 600 + 13 * n)
LOG = exact(lambda n: 1300 + 20 * log2(n))
NLOGN = exact(lambda n: 600 + 2 * n * log2(n))
SQUARE = exact(lambda n: 600 + n * n)
FLAT = exact(lambda n: 1000)


def noisy(cost: Cost, share: float = 0.02) -> Cost:
    """Return a cost with noise of a machine: each round and n has its own."""
    return lambda n, number: (
        (cost(n, 0)[0] * (1 + share * ((7 * number + 3 * int(log2(n))) % 5) / 5),) * 2
    )


def verdicts(*runs: Run) -> dict[str, list[str]]:
    rows = growth_changes(tables(*runs)).rows
    return {f"{row.bench.removeprefix('grow.')}/{row.over}": list(row.verdicts) for row in rows}


def test_kernels_differ_in_classes_and_slopes() -> None:
    """In the order: another class, another slope, the same, what one lacks; then by growth."""
    old = in_lab("old", {"fork/maps": FLAT, "mq/a": LINEAR, "open/b": LINEAR, "poll/c": LOG})
    new = in_lab("new", {"fork/maps": FLAT, "mq/a": STEEPER, "open/b": LOG, "epoll/d": LOG})
    assert verdicts(old, new) == {
        "open/b": ["class"], "mq/a": ["slope"], "fork/maps": ["same"],
        "poll/c": ["unknown"], "epoll/d": ["unknown"],
    }  # fmt: skip
    assert list(verdicts(old, new)) == ["open/b", "mq/a", "fork/maps", "poll/c", "epoll/d"]
    assert verdicts(old, new, old)["open/b"] == ["class", "same"]
    both = [in_lab(name, {"a/b": LOG, "c/d": LINEAR}) for name in ("old", "new")]
    assert list(verdicts(*both)) == ["c/d", "a/b"]


def test_what_noise_may_hide_is_no_difference() -> None:
    """A machine where no growth is seen says nothing against one; one where it is seen does."""
    algorithm = in_lab("kernel", {"wakeup/a": LOG, "take/b": LINEAR, "give/c": FLAT})
    machine = on_machine({"wakeup/a": noisy(FLAT), "take/b": noisy(LINEAR), "give/c": noisy(LOG)})
    assert verdicts(algorithm, machine) == {
        "give/c": ["class"], "wakeup/a": ["unseen"], "take/b": ["same"],
    }  # fmt: skip
    assert verdicts(machine, algorithm) == verdicts(algorithm, machine)


def test_slopes_within_1_percent_are_alike() -> None:
    first = in_lab("first", {"mq/a": exact(lambda n: 6e5 + 12e3 * n)})
    for each, verdict in ((11.9e3, "same"), (12.1e3, "same"), (11.8e3, "slope"), (12.2e3, "slope")):
        second = in_lab("second", {"mq/a": exact(lambda n, each=each: 6e5 + each * n)})  # type: ignore[misc]
        assert verdicts(first, second)["mq/a"] == [verdict], each


def test_what_may_be_either_class_differs_from_neither() -> None:
    """Linear or n log n, by noise: beside the lab's, which has one of them."""
    rounds = (-0.4, -0.2, 0.0, 0.2, 0.4)
    line = on_machine({"mq/a": lambda n, number: ((400 + 2 * n) * (1 + rounds[number]),) * 2})
    (table,) = tables(line)
    assert table.pairs[0].growth == UNDECIDED
    for cost, verdict in ((LINEAR, "same"), (NLOGN, "same"), (SQUARE, "class"), (LOG, "class")):
        assert verdicts(in_lab("kernel", {"mq/a": cost}), line)["mq/a"] == [verdict]


def test_slopes_of_different_units_are_not_compared() -> None:
    lab = in_lab("kernel", {"mq/a": LINEAR})
    assert verdicts(lab, on_machine({"mq/a": noisy(STEEPER, 0.001)}))["mq/a"] == ["same"]
    both = [on_machine({"mq/a": noisy(cost, 0.001)}) for cost in (LINEAR, STEEPER)]
    assert verdicts(*both)["mq/a"] == ["slope"]


def test_where_to_measure_distinguishes_no_pairs() -> None:
    a, b = (in_lab(name, {"mq/a": LINEAR}) for name in ("old", "new"))
    for result in b.results:
        result.params["prio"] = 10
    assert len(growth_changes(tables(a, b)).rows) == 1


# ---- seeds --------------------------------------------------------------------------------------


def test_runs_of_several_seeds_are_one_system() -> None:
    """The cost is the least of all seeds; fewer than three say nothing of the worst."""

    def cost(n: int, seed: int) -> tuple[float, float]:
        return 1000 + seed, 2000 + (1, 2, 5)[seed - 1] * n

    runs = [in_lab("kernel", {"wakeup/a": cost}, seed=seed) for seed in (1, 2, 3)]
    (two,) = tables(*runs[:2])
    assert two.seeds == [1, 2] and two.pairs[0].worst is None
    (table,) = tables(*runs)
    (pair,) = table.pairs
    assert table.runs == [run.run_id for run in runs]
    assert (pair.growth, pair.points[0].cost, pair.points[0].worst) == ("constant", 1001, 2005)
    assert pair.worst is not None
    assert pair.worst.growth == "linear"
    slope, low, high = pair.worst.slope, pair.worst.low, pair.worst.high
    assert slope == pytest.approx(5, rel=0.01)
    assert slope is not None and low is not None and high is not None
    assert low <= slope <= high


def test_ticks_that_hit_some_of_the_seeds_are_no_growth() -> None:
    """As on stock kernels, where a tick adds 2,818 instructions to one of the samples, or none."""

    def cost(n: int, seed: int) -> tuple[float, float]:
        ticked = (int(log2(n)) // 2 * seed) % 3 == 1
        return 3000, 3000 + 2818 * ticked

    (table,) = tables(*(in_lab("kernel", {"x/a": cost}, seed=seed) for seed in (1, 2, 3)))
    (pair,) = table.pairs
    assert pair.worst is not None
    assert pair.worst.growth == "constant" and pair.worst.p > 0.05


def test_a_pair_that_a_system_lacks_has_its_place() -> None:
    table = growth_changes(tables(in_lab("old", {"a/b": LOG}), in_lab("new", {"c/d": LOG})))
    assert [system.system for system in table.systems] == ["old", "new"]
    assert [[pair is not None for pair in row.pairs] for row in table.rows] == [
        [True, False], [False, True],
    ]  # fmt: skip


def test_a_bench_without_a_title_has_its_name() -> None:
    """As of the agents for small boards."""
    run = structs.replace(in_lab("board", {"give/waiters": FLAT}), benches=[Bench("grow.give", "")])
    assert tables(run)[0].pairs[0].service == "grow.give"
