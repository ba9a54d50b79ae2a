"""What decides between two systems: their worst wake-ups, else the case that differs most."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from rtstone.documents.comparison import Comparison, Effect, MainCase, Part, Verdict
from rtstone.documents.run import NOT_BEGUN, Result, Run
from rtstone.stats.comparison import main_case
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.effects import LOST
from tests.chance import Sequential, is_fine
from tests.stats.lab import lab, result
from tests.stats.runs import distributions, run
from tests.stats.runs import result as timed

# Maximum and missed activations of wake-ups under each load, by system.
Worst = dict[str, tuple[float, int]]
STOCK: Worst = {"none": (9e3, 0), "syscalls": (88.9e3, 2), "heavy": (12e3, 0)}
RT: Worst = {"none": (9.5e3, 0), "syscalls": (15e3, 0), "heavy": (18.2e3, 0)}


def woken(load: str, maximum: float, missed: int = 0, n: int = 100, **members: Any) -> Result:
    values = [1000.0] * (n - 1) + [maximum]
    return result("dk.periodic", values, load=load, missed=missed, **members)


def system(name: str, worst: Worst, *further: Result, without: Sequence[str] = ()) -> Run:
    """Return a run of the lab; ``without``: loads under which it was lost."""
    bad = [result("dk.periodic", load=load, status="failed", reason="panic") for load in without]
    results = [woken(load, *v) for load, v in worst.items() if load not in without]
    return lab(name, [*results, *bad, *further])


def only(comparison: Comparison) -> MainCase:
    (case,) = comparison.main
    return case


def loads(comparison: Comparison, case: MainCase) -> dict[Part, tuple[str, str]]:
    """Return the loads that the values of each effect are from."""
    return {
        entry.effect.part: (comparison.rows[a].load, comparison.rows[b].load)
        for entry in case.effects
        for a, b in [entry.rows]
    }


def test_each_system_is_judged_by_its_own_worst_load() -> None:
    """The one that is 52% later under one load is 4.9 times earlier at worst."""
    comparison = compare([system("stock", STOCK), system("rt", RT)])
    heavy = next(row for row in comparison.rows if row.load == "heavy")
    assert [e.verdict for e in heavy.effects if e.part == "maximum"] == ["worse"]
    case = only(comparison)
    assert (case.kind, case.verdict, case.column) == ("worst wake-up", "better", "rt")
    assert [entry.effect.part for entry in case.effects] == ["missed", "maximum", "tail"]
    missed, maximum, tail = (entry.effect for entry in case.effects)
    assert missed.values
    assert missed.values[0] == pytest.approx(200 / 102)
    assert missed.values[1] == 0.0
    assert maximum.values == (88.9e3, 18.2e3)
    assert maximum.ratio == pytest.approx(18.2 / 88.9)
    assert (tail.verdict, tail.reason) == ("inconclusive", "no p99 of 100 samples")
    assert loads(comparison, case) == {
        "missed": ("syscalls", "syscalls"),  # what missed none is beside the other there
        "maximum": ("syscalls", "heavy"), "tail": ("syscalls", "heavy"),
    }  # fmt: skip
    (contrary,) = compare([system("rt", RT), system("stock", STOCK)]).main
    assert contrary.verdict == "worse"


def test_under_one_load_the_effects_are_those_of_the_row() -> None:
    alone = [system(name, {"heavy": w["heavy"]}) for name, w in (("stock", STOCK), ("rt", RT))]
    comparison = compare(alone)
    (row,) = comparison.rows
    case = only(comparison)
    parts = {e.part: e for e in row.effects}
    assert [entry.effect for entry in case.effects] == [parts["maximum"], parts["tail"]]
    assert case.verdict == "worse"


def test_the_worst_of_each_run_is_compared_and_counted_among_the_effects() -> None:
    """By brute force: the largest percentile of any load, run by run."""
    tails = np.array([[[10, 30], [12, 28], [11, 33], [15, 35]],
                      [[95, 20], [94, 21], [97, 19], [99, 98]]], float)  # fmt: skip

    def measured(side: int, place: int) -> Run:
        results = [
            timed(
                "dk.periodic",
                {"n": 2000, "min": 1.0, "p50": 5.0, "p99": 1e3 * p99, "max": 2e3 * p99},
            )
            for p99 in tails[side, place]
        ]
        named = zip(results, ("none", "heavy"), strict=True)
        under = [msgspec.structs.replace(r, load=load, missed=0) for r, load in named]
        return run(under, f"{side}-{place}", minute=2 * place + side)

    comparison = compare([[measured(side, place) for place in range(4)] for side in range(2)])
    case = only(comparison)
    (entry,) = case.effects
    worst = np.log(tails.max(axis=2))
    assert entry.effect.ratio == pytest.approx(np.exp(worst[1].mean() - worst[0].mean()))
    assert (entry.effect.verdict, case.verdict) == ("worse", "worse")
    assert (entry.effect.basis, entry.effect.runs) == ("runs", 8)
    assert loads(comparison, case) == {"tail": ("heavy", "none")}
    assert comparison.rules
    assert comparison.rules.effects == 1 + 2 * 2  # this, and medians and tails of two rows
    assert sum(vars_of(comparison)) == 2 * 2


def vars_of(comparison: Comparison) -> list[int]:
    """Return the numbers of verdicts of each kind."""
    assert comparison.rules
    return list(msgspec.structs.asdict(comparison.rules.tally).values())


def test_of_several_benches_the_periodic_task_is_looked_at_first() -> None:
    def benches(name: str, *ids: str) -> Run:
        own = [result(bench, [9e3] * 100, missed=0) for bench in ids]
        return lab(name, own)

    for ids in (("dk.schedlat", "dk.periodic"), ("dk.schedlat", "dk.other")):
        comparison = compare([benches(name, *ids) for name in "ab"])
        (row, _) = only(comparison).effects[0].rows
        assert comparison.rows[row].bench == (ids[1] if "dk.periodic" in ids else ids[0])
    intervals = compare([benches(name, "dk.latencytest") for name in "ab"])
    assert [case.kind for case in intervals.main] == []  # its values are periods


def test_a_run_without_one_of_the_loads_shows_nothing_of_the_worst() -> None:
    """It was quick, as the load that is worse was not part of it."""
    both = {"none": (9e3, 0), "heavy": (88e3, 0)}
    seeds = [lab(name, [woken(load, top + 100 * seed, missed) for load, (top, missed) in w.items()],
                 seed=seed)
             for name, shorter in (("a", 0), ("b", 3)) for seed in (1, 2, 3)
             for w in [{"none": (9e3, 0)} if seed == shorter else both]]  # fmt: skip
    entry = next(e for e in only(compare(seeds)).effects if e.effect.part == "maximum")
    assert (entry.effect.runs, entry.effect.verdict) == (5, "no difference")


# ---- what was lost ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "lost_by", "verdict"),
    [
        (("stock", "rt"), "rt", "inconclusive"),  # the lost one may have been worse than all
        (("stock", "rt"), "stock", "better"),  # whatever it was, it made stock no better
        (("rt", "stock"), "rt", "inconclusive"),
        (("rt", "stock"), "stock", "worse"),
    ],
)
def test_a_wake_up_that_was_lost_may_have_been_the_worst(
    order: tuple[str, str], lost_by: str, verdict: Verdict
) -> None:
    worst = {"stock": STOCK, "rt": RT}
    runs = [
        system(name, worst[name], without=["heavy"] if name == lost_by else []) for name in order
    ]
    case = only(compare(runs))
    assert case.verdict == verdict
    assert [place.column for place in case.lost] == [lost_by]
    assert case.alone == []


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        ((False, False), {"better", "worse", "no difference"}), ((True, False), {"better"}),
        ((False, True), {"worse"}), ((True, True), set()),
    ],
)  # fmt: skip
def test_verdicts_left_where_something_was_lost(
    lost: tuple[bool, bool], left: set[Verdict]
) -> None:
    verdicts: tuple[Verdict, ...] = ("better", "worse", "no difference")
    for verdict in verdicts:
        effect = Effect(part="tail", statistic="p99", column="b", verdict=verdict)
        expected = verdict if verdict in left else "inconclusive"
        assert main_case._verdict([effect], *lost) == expected


def test_a_run_lost_among_several_counts_as_lost() -> None:
    seeds = [lab("rt", [woken("none", 9e3), woken("heavy", 12e3 + s)], seed=s) for s in (1, 2, 3)]
    bad = result("dk.periodic", load="heavy", status="incomplete", reason="load died")
    seeds[1] = lab("rt", [woken("none", 9e3), bad], seed=2)
    stock = [lab("stock", [woken(k, *v) for k, v in STOCK.items() if k != "syscalls"], seed=s)
             for s in (1, 2, 3)]  # fmt: skip
    case = only(compare([*stock, *seeds]))
    assert {place.column for place in case.lost} == {"rt"}
    assert case.verdict == "inconclusive"


def test_what_only_one_ran_is_not_considered() -> None:
    fewer = {load: v for load, v in STOCK.items() if load != "syscalls"}
    comparison = compare([system("stock", STOCK), system("rtos", fewer)])
    case = only(comparison)
    (place,) = case.alone
    assert (place.column, comparison.rows[place.row].load) == ("stock", "syscalls")
    assert case.verdict == "inconclusive"
    assert not any(entry.effect.part == "missed" for entry in case.effects)  # only that missed any
    unsupported = result("dk.periodic", load="syscalls", status="unsupported", reason="no calls")
    assert only(compare([system("stock", STOCK), system("rtos", fewer, unsupported)])).alone
    bare = result("dk.periodic", load="syscalls", status="incomplete", reason=NOT_BEGUN)
    interrupted = only(compare([system("stock", STOCK), system("rtos", fewer, bare)]))
    assert (len(interrupted.alone), interrupted.lost) == (1, [])


def test_a_system_that_lost_all_its_wake_ups_has_no_verdict() -> None:
    null = result("null", [5.0] * 30)
    case = only(compare([system("a", STOCK, null), system("b", STOCK, null, without=[*STOCK])]))
    assert (case.verdict, case.effects, len(case.lost)) == ("inconclusive", [], 3)


# ---- the verdict of several effects -------------------------------------------------------------


def parts(missed: Verdict | None, maximum: Verdict, points: float = 0.0) -> list[Effect]:
    effects = [Effect(part="maximum", statistic="max", column="b", verdict=maximum)]
    if missed:
        own = Effect(
            part="missed", statistic="missed", column="b", verdict=missed, difference=points
        )
        effects.insert(0, own)
    return effects


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        (parts("worse", "better"), "worse"), (parts("better", "worse"), "better"),
        (parts("no difference", "better"), "better"), (parts(None, "worse"), "worse"),
        (parts("no difference", "no difference"), "no difference"),
        (parts("inconclusive", "no difference"), "inconclusive"), ([], "inconclusive"),
        (parts("inconclusive", "better", LOST + 0.1), "inconclusive"),
        (parts("inconclusive", "better", LOST - 0.1), "better"),
        (parts("inconclusive", "better", -9.0), "better"),
        (parts("inconclusive", "worse", -LOST - 0.1), "inconclusive"),
    ],
)  # fmt: skip
def test_missed_activations_decide_before_lateness(effects: list[Effect], verdict: Verdict) -> None:
    assert main_case._of_effects(effects) == verdict


# ---- without wake-ups ---------------------------------------------------------------------------


def exact(name: str, **benches: float) -> Run:
    return lab(name, [result(bench, [value] * 3000) for bench, value in benches.items()])


def test_without_wake_ups_the_case_that_differs_most_decides() -> None:
    comparison = compare([exact("a", null=5, x=10, y=10), exact("b", null=5, x=30, y=2)])
    case = only(comparison)
    (entry,) = case.effects
    assert comparison.rows[entry.rows[0]].bench == "y"
    assert (case.kind, case.verdict) == ("largest", "better")


def test_where_nothing_differs_it_is_what_is_most_in_doubt() -> None:
    case = only(compare([exact("a", null=5, x=10), exact("b", null=5, x=10)]))
    assert (case.kind, case.verdict) == ("nearest", "no difference")
    assert case.effects[0].effect.possible == 0.0


def test_wake_ups_that_another_column_lacks_are_compared_with_the_next() -> None:
    null = result("null", [5.0] * 20_000)
    runs = [lab("rtos", [null]), system("stock", STOCK, null), system("rt", RT, null)]
    kinds = {(c.column, c.against): (c.kind, c.verdict) for c in compare(runs).main}
    assert kinds["rt", "stock"] == ("worst wake-up", "better")
    assert kinds["stock", None] == ("nearest", "no difference")


# ---- the best two of several --------------------------------------------------------------------


def lateness(order: str, tops: dict[str, float]) -> Comparison:
    return compare([system(name, {"none": (tops[name], 0)}) for name in order])


def test_the_best_two_of_several_are_compared_with_each_other() -> None:
    """Whichever the first is: by brute force over all orders."""
    tops = {"a": 9e3, "b": 8e3, "c": 30e3, "d": 7e3}
    for order in itertools.permutations("abcd"):
        first, *_ = lateness("".join(order), tops).main
        assert first.final == "d"
        assert {first.column, first.against or order[0]} == {"b", "d"}
        assert first.verdict == ("better" if first.column == "d" else "worse")
        beside = [case.column for case in lateness("".join(order), tops).main if not case.against]
        assert set(beside) == set(order[1:])  # each beside the first, as ever


def test_of_two_systems_none_is_the_best() -> None:
    assert only(lateness("ab", {"a": 1e3, "b": 2e3})).final is None


def test_a_system_that_lost_a_wake_up_is_not_the_best() -> None:
    quick: Worst = {"none": (1e3, 0), "heavy": (1e3, 0)}
    slow: Worst = {"none": (9e3, 0), "heavy": (9e3, 0)}
    runs = [system("a", slow), system("b", {**slow, "none": (9.9e3, 0)}),
            system("c", quick, without=["heavy"])]  # fmt: skip
    case = compare(runs).main[0]
    assert (case.final, case.column, case.against, case.verdict) == ("a", "b", None, "worse")


def test_all_pairs_are_judged_together() -> None:
    """Looking for the best two makes no verdict less certain: each pair is an effect more."""
    rng = np.random.default_rng(8)
    sides = [*drawn(rng), *drawn(rng)[:1]]
    named = [
        [msgspec.structs.replace(r, run_id=f"{side}-{n}") for n, r in enumerate(runs)]
        for side, runs in enumerate(sides)
    ]
    rules = compare(named).rules
    assert rules
    assert rules.effects == 2 * 2 * 2 + 3  # medians and tails of two rows, and three pairs


# ---- how often it is wrong ----------------------------------------------------------------------

RUNS = 6  # of each side


def drawn(rng: np.random.Generator, factor: float = 1.0) -> list[list[Run]]:
    """Draw runs under two equal loads, off by some percent, sometimes hit by a bad second."""
    late = 2000 * np.exp(0.15 * rng.standard_normal((2, RUNS, 2, 1000)))
    late *= np.exp(0.05 * rng.standard_normal((2, RUNS, 2, 1)))
    late[..., -20:] *= np.where(rng.random((2, RUNS, 2, 1)) < 0.1, 10.0, 1.0)
    late[1] *= factor
    sides = []
    for side in range(2):
        runs = []
        for place in range(RUNS):
            own = [
                msgspec.structs.replace(timed("dk.periodic", statistics), load=load, missed=0)
                for statistics, load in zip(
                    distributions(late[side, place]), ("none", "heavy"), strict=True
                )
            ]
            runs.append(run(own, f"{side}-{place}", minute=2 * place + side))
        sides.append(runs)
    return sides


@pytest.mark.simulation
def test_equal_systems_have_different_worst_wake_ups_in_one_of_twenty_comparisons() -> None:
    rng = np.random.default_rng(3)
    ways = {name: Sequential(fine=0.01, wrong=0.08) for name in ("runs", "floor")}
    for _ in range(400):
        first, other = drawn(rng)
        single = compare([first[0], other[0]], floor=[*first[1:], *other[1:]])
        for name, comparison in (("runs", compare([first, other])), ("floor", single)):
            ways[name].take(only(comparison).verdict in ("better", "worse"))
        if all(way.decided for way in ways.values()):
            break
    assert {way.verdict for way in ways.values()} == {"fine"}, ways


@pytest.mark.simulation
def test_its_intervals_hold_the_true_ratio() -> None:
    rng = np.random.default_rng(4)

    def outside() -> Iterator[bool]:
        for factor in itertools.islice(itertools.cycle((0.8, 1.0, 1.3)), 300):
            (entry,) = only(compare(drawn(rng, factor))).effects
            assert entry.effect.ci95
            yield not entry.effect.ci95[0] <= factor <= entry.effect.ci95[1]

    assert is_fine(outside(), 0.01, 0.08)
