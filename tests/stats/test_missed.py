"""Missed activations are an effect of a comparison: what a stall hides is in no sample."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from rtstone.documents.comparison import Comparison, Effect
from rtstone.documents.run import Result, Run, Turn
from rtstone.report.comparison.latex import latex
from rtstone.report.comparison.page import comparison_lines
from rtstone.report.parts.words import WITH_MISSED
from rtstone.report.run.loads import by_load
from rtstone.results.omitted import Missed, has_room, whole
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.effects import LOST, Noise, Sides, judge, width
from rtstone.stats.comparison.loads import compare_loads
from rtstone.stats.comparison.verdicts import JudgedCase, Side, _of_shares, _within, judged
from rtstone.stats.evaluate import evaluate_run
from rtstone.stats.trend.baseline_gate import gate
from tests.chance import Sequential
from tests.report.synthetic import compose
from tests.stats.lab import lab
from tests.stats.lab import result as counted_result
from tests.stats.lossy import lossy, quiet, result, without_losses
from tests.stats.periodic import measured
from tests.stats.runs import run

QUIET = [quiet(number) for number in range(6)]
LOSSY = [lossy(number) for number in range(5)]


def effect(comparison: Comparison, part: str = "missed") -> Effect:
    (selected,) = [e for row in comparison.rows for e in row.effects if e.part == part]
    return selected


def text(comparison: Comparison, width: int = 100) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*comparison_lines(comparison, width, True), sep="\n")
    return " ".join(captured.get().split())


# ---- systems that differ in nothing else --------------------------------------------------------


def test_three_runs_against_three_show_the_loss() -> None:
    comparison = compare([QUIET[:3], LOSSY[:3]])
    row_effect = effect(comparison)
    assert (row_effect.verdict, row_effect.basis, row_effect.statistic) == (
        "worse",
        "runs",
        "missed",
    )
    assert row_effect.difference == pytest.approx(30.8, abs=0.5)
    assert row_effect.values
    assert row_effect.values[0] == 0.0
    assert row_effect.values[1] == pytest.approx(30.8, abs=0.5)
    assert row_effect.difference_ci95
    assert LOST < row_effect.difference_ci95[0] < 31 < row_effect.difference_ci95[1]
    assert effect(compare([LOSSY[:3], QUIET[:3]])).verdict == "better"
    (row,) = comparison.rows
    assert [(c and c.missed, c and c.corrected) for c in row.cells] == [
        (0, False), (pytest.approx(9250, abs=150), True),
    ]  # fmt: skip
    words = text(comparison)
    assert "- worse dk.periodic missed +31 points" in words
    assert "missed 31% of its activations against none" in words.partition(". ")[0]
    assert "(31%)" in words  # in the table


def test_without_the_losses_nothing_differs() -> None:
    """The samples alone do not tell: the test above fails if they are all that is read."""
    bare = [without_losses(variant) for variant in LOSSY[:3]]
    comparison = compare([QUIET[:3], bare])
    assert comparison.rules
    assert comparison.rules.tally.different == 0
    assert all(e.part != "missed" for row in comparison.rows for e in row.effects)


def in_pairs() -> list[Run]:
    """Return the runs of both systems as if they had been taken in turn."""
    sides: tuple[tuple[Literal["A", "B"], list[Run]], ...] = ("A", QUIET[:5]), ("B", LOSSY[:5])
    return [
        structs.replace(variant, turn=Turn(session="s", side=side, pair=pair))
        for side, runs in sides
        for pair, variant in enumerate(runs)
    ]


def test_pairs_show_it_too_and_each_pair_alone_is_not_certain() -> None:
    comparison = compare(in_pairs())
    row_effect = effect(comparison)
    assert (row_effect.verdict, row_effect.basis, row_effect.runs) == ("worse", "pairs", 10)
    assert comparison.rules
    assert [pair.tally.no_difference for pair in comparison.rules.pairs] == [0] * 5


def test_a_single_pair_tells_the_loss_and_that_one_run_each_proves_nothing() -> None:
    comparison = compare([QUIET[0], LOSSY[0]])
    row_effect = effect(comparison)
    assert (row_effect.verdict, row_effect.reason) == ("inconclusive", "noise floor unknown")
    assert comparison.rules
    assert comparison.rules.tally.no_difference == 0
    first = text(comparison).partition(". ")[0]
    assert "missed 24% of its activations" in first
    assert "not certain: noise floor unknown" in first
    assert "is possible" not in text(
        comparison
    )  # an interval of the samples alone says less than that


def test_a_known_floor_makes_a_single_pair_certain_only_of_what_stalls_can_tell() -> None:
    floor = [structs.replace(variant, run_id=f"floor-{n}") for n, variant in enumerate(QUIET[1:])]
    row_effect = effect(compare([QUIET[0], LOSSY[2]], floor))
    assert (row_effect.verdict, row_effect.reason) == ("inconclusive", "too few stalls")


def test_a_tail_that_each_stall_decides_is_not_judged() -> None:
    tail = effect(compare([QUIET[:3], LOSSY[:3]]), "tail")
    assert (tail.verdict, tail.ratio) == ("inconclusive", None)
    # Stalls of 1.3, 1.2 and 1.1 s last 1.206 s where one is met; 24 in 1% of the time take 2 893 s.
    assert tail.missing == pytest.approx((289.3 - 1) * LOSSY[2].results[0].n, rel=0.01)
    assert tail.reason == (
        "too few stalls: each, a late wake-up with those that it hid, moves even the p99"
    )


def test_a_percentile_with_room_for_many_stalls_includes_them() -> None:
    short = tuple(0.02 for _ in range(3))  # one in 500 samples is late, 2% of a second each
    assert has_room("p50", [result(1, short)])
    assert not has_room("p99", [result(1, short)])
    # 24 stalls of 21 activations (20, and one by the edge of a bucket) fill half of 1008.
    for due, room in ((1010, True), (1000, False)):
        own = np.full(due, 5000.0)
        stalled = measured(own, np.array([[0.1, 0.12]]))[0]
        assert has_room("p50", [stalled]) is room


def test_the_page_has_a_column_and_says_so_first() -> None:
    page = compose([*QUIET[:1], *LOSSY[:1]])
    assert "missed 24% of its activations" in page
    assert 'data-name="local (lossy-0) missed"' in page or "missed</a></th>" in page


def test_loads_of_one_run_are_compared_by_what_they_lose_too() -> None:
    """In the lab, where numbers repeat, a load that only loses activations is worse."""

    def under(load: str, missed: int) -> Result:
        lossy = counted_result("dk.nanosleep", [5000.0] * 2000, load=load)
        return structs.replace(lossy, missed=missed)

    variant = lab("linux-6.1", [under("none", 0), under("exit", 700)])
    matrix = compare_loads(variant)
    assert matrix
    (case,) = matrix.cases
    cell = case.cells[1]
    assert cell and cell.effect
    assert (cell.effect.part, cell.effect.verdict) == ("missed", "worse")
    loads = by_load(evaluate_run(variant))
    assert loads
    shown = loads.cases[0].cells[1]
    assert shown and shown.changed and shown.strength == 1.0
    assert shown.verdict == "- worse, missed +25.9 points"


def test_a_load_shows_the_samples_with_what_was_missed() -> None:
    runs = [structs.replace(pair.results[0], load=load) for load, pair in
            (("none", QUIET[0]), ("exit", LOSSY[0]))]  # fmt: skip
    matrix = compare_loads(structs.replace(QUIET[0], results=runs))
    assert matrix
    cells = [cell for cell in matrix.cases[0].cells if cell]
    assert [cell.whole.n for cell in cells] == [10_000, 10_000]


def test_a_system_that_lost_all_is_a_row() -> None:
    names = ("min", "mean", "sd", "p50", "p90", "p99", "p999", "p9999", "max", "corrected")
    none = dict.fromkeys(names)
    variant = structs.replace(result(1), n=0, missed=10_000, histogram=[], **none)
    gone = [run([variant], f"gone-{n}", minute=30 + n) for n in range(3)]
    row_effect = effect(compare([QUIET[:3], gone]))
    assert (row_effect.verdict, row_effect.difference) == ("inconclusive", 100.0)
    assert "10 000 (100%)" in text(compare([QUIET[0], gone[0]]))


def test_equal_histograms_do_not_hide_what_was_missed() -> None:
    """Of several seeds, equal samples were taken for a repetition whatever they had missed."""

    def seeds(name: str, missed: int) -> list[Run]:
        variant = structs.replace(counted_result("dk.nanosleep", [5000.0] * 1000), missed=missed)
        return [lab(name, [variant], seed=seed) for seed in (1, 2, 3)]

    comparison = compare([*seeds("a", 0), *seeds("b", 500)])
    assert (effect(comparison).verdict, effect(comparison).basis) == ("inconclusive", "runs")


# ---- the gate against earlier runs --------------------------------------------------------------


def test_the_gate_fails_what_lost_activations() -> None:
    checks = {check.what: check for check in gate(LOSSY[2], QUIET[:5], "x").checks}
    assert checks["missed"].verdict == "failed"
    assert (checks["missed"].unit, checks["missed"].limit) == ("%", "not worse")
    assert checks["missed"].observed == pytest.approx(36, abs=0.5)
    assert checks["missed"].reason == "+36 points against the earlier runs"
    assert checks["p99"].verdict == "inconclusive"


def test_the_gate_does_not_pass_what_too_few_stalls_leave_open() -> None:
    variant = run([result(50, (1.0,))], "once", minute=40)
    verdict = gate(variant, QUIET[:5], "x")
    checks = {check.what: check for check in verdict.checks}
    assert (verdict.verdict, checks["missed"].verdict) == ("inconclusive", "inconclusive")
    assert checks["missed"].reason == "+9.99 points against the earlier runs: too few stalls"


def test_the_gate_passes_what_nobody_lost_and_says_so() -> None:
    verdict = gate(QUIET[5], QUIET[:5], "x")
    assert verdict.verdict == "passed"
    (missed,) = [check for check in verdict.checks if check.what == "missed"]
    assert (missed.verdict, missed.observed) == ("passed", 0.0)


# ---- systems that do not differ -----------------------------------------------------------------


def drawn(rng: np.random.Generator, often: float, spread: float) -> Missed:
    """Draw what a run of 10 000 activations misses; ``spread``: of how often, from run to run."""
    sizes = 3 * rng.lognormal(0, 1, rng.poisson(often * rng.lognormal(0, spread))).round() + 1
    total, squares = int(sizes.sum()), float((sizes**2).sum())
    return Missed(total, 10_000, total**2 / squares if total else 0.0)


def side(runs: list[Missed]) -> Missed:
    total = [sum(getattr(variant, name) for variant in runs) for name in Missed._fields]
    return Missed(*total)


@pytest.mark.simulation
@pytest.mark.parametrize(("often", "spread"), [(0.5, 0.0), (3.0, 0.7), (30.0, 0.7), (300.0, 1.0)])
def test_equal_systems_with_stalls_are_seldom_called_different(often: float, spread: float) -> None:
    """In three runs against three, in a single one against five, and in pairs."""
    rng = np.random.default_rng(1)
    ways = {name: Sequential(fine=0.05, wrong=0.12) for name in ("runs", "gate", "pairs")}
    for _ in range(3000):
        runs = [drawn(rng, often, spread) for _ in range(10)]
        for way, first, other in (("runs", runs[:3], runs[3:6]), ("gate", runs[:5], runs[5:6]),
                                  ("pairs", runs[:5], runs[5:])):  # fmt: skip
            of_first, of_other = ([100 * run.rate for run in side] for side in (first, other))
            sides = Sides(
                of_first, of_other, ratio=False, paired=way == "pairs", losses=True,
                within=partial(_of_shares, side(first), side(other)),
            )  # fmt: skip
            judgement = judge(sides._replace(envelope=width(sides)), 0.04, -1)
            ways[way].take(judgement.verdict in ("better", "worse"))
        if all(way.decided for way in ways.values()):
            break
    assert {way.verdict for way in ways.values()} == {"fine"}, ways


# ---- the rule, by numbers -----------------------------------------------------------------------


def test_sides_that_lose_scatter_alike_and_stalls_widen_the_interval() -> None:
    """Pooled scatter: s² = (2·4 + 2·0)/4 = 2, se = √(2·(1/3 + 1/3)) = 2/√3; t(4; 95%) = 2.776."""
    sides = Sides([10.0, 12.0, 14.0], [30.0, 30.0, 30.0], False, losses=True)
    judged = judge(sides, 0.05, -1)
    half = 2.7764451 * (4 / 3) ** 0.5
    assert judged.interval == pytest.approx((18 - half, 18 + half))
    assert (judged.verdict, judged.basis, judged.runs) == ("worse", "runs", 6)
    wide = judge(sides._replace(within=lambda _: (-1.0, 19.0)), 0.05, -1)
    assert wide.interval == pytest.approx((-1.0, 18 + half))
    assert wide.verdict == "inconclusive"


def test_what_runs_do_at_their_start_loses_at_most_so_much() -> None:
    """Two sides of two runs may be in two states by chance; beyond LOST points that is none."""
    noise = Noise(0.0, 20, 20, 0.0)
    for low, verdict in ((LOST + 0.1, "worse"), (LOST - 0.1, "inconclusive")):
        sides = Sides([0.0, 0.0], [low, low], False, losses=True)
        assert judge(sides, 0.01, -1).verdict == verdict
        single = Sides([0.0], [low], False, losses=True, noise=noise)
        assert judge(single, 0.01, -1).verdict == verdict
    assert LOST == 1.0


def test_the_interval_of_a_share_is_that_of_its_stalls() -> None:
    """Byar's limits of 9 events at 95%: 4.12 and 17.08; of none, 3.67 (Rothman, Boice 1982)."""
    lost = Missed(omitted=900, due=10_000, stalls=9)
    low, high = lost.interval_at(0.95)
    assert (low, high) == lost.interval
    assert (low, high) == pytest.approx((0.0411, 0.1708), abs=1e-4)
    assert lost.interval_at(0.99) == pytest.approx((0.0311, 0.2002), abs=1e-4)
    none = Missed(omitted=0, due=10_000, stalls=0)
    assert none.interval_at(0.95, 100) == pytest.approx((0.0, 0.0367), abs=1e-4)
    assert none.interval_at(0.95)[1] == pytest.approx(0.0367 / 100, abs=1e-6)


def test_a_single_pair_takes_its_noise_from_others_and_its_stalls_from_itself() -> None:
    noise = Noise(0.0, 5, 6, 0.0)
    sides = Sides([0.0], [20.0], False, losses=True, noise=noise, within=lambda _: (2.0, 60.0))
    assert judge(sides, 0.01, -1).interval == pytest.approx((2.0, 60.0))
    assert judge(sides, 0.01, -1).verdict == "worse"
    assert judge(sides._replace(within=lambda _: (-2.0, 60.0)), 0.01, -1).reason == "too few stalls"


def test_the_document_has_what_was_missed() -> None:
    checks = msgspec.json.decode(msgspec.json.encode(compare([QUIET[0], LOSSY[0]])))
    (row,) = checks["rows"]
    assert [cell["missed"] for cell in row["cells"]] == [0, LOSSY[0].results[0].missed]
    assert [e["part"] for e in row["effects"]] == ["median", "tail", "missed"]


# ---- what mutants showed to be untested ---------------------------------------------------------


def case_of(
    first: list[list[Result]], other: list[list[Result]], *, better: int = -1,
    noise: Sequence[list[Result]] = (),
) -> JudgedCase:  # fmt: skip
    a, b = (Side(runs, 1.0, counted=False, repeats=False) for runs in (first, other))
    return JudgedCase(0, "b", None, better, a, b, paired=False, noise=noise)


def test_a_loss_is_worse_whatever_is_better_in_the_unit_of_the_case() -> None:
    runs = [[variant.results for variant in side] for side in (QUIET[:3], LOSSY[:3])]
    effects, _ = judged([case_of(*runs, better=1)])
    assert [e.verdict for e in effects[0] if e.part == "missed"] == ["worse"]


def test_each_pair_alone_is_judged_by_its_own_stalls() -> None:
    """Three stalls against none do not prove anything, however alike all other pairs are."""
    comparison = compare(in_pairs())
    assert comparison.rules
    assert [pair.tally.different for pair in comparison.rules.pairs] == [0] * 5


def test_the_median_that_few_stalls_decide_is_that_of_the_wake_ups_there_were() -> None:
    median = effect(compare([QUIET[:3], LOSSY[:3]]), "median")
    assert median.ratio == pytest.approx(1, abs=0.02)
    corrected = LOSSY[0].results[0].corrected
    assert corrected and corrected.p50
    assert median.values
    (_, seen) = median.values
    assert seen == pytest.approx(5000, rel=0.05)
    assert seen
    assert seen < corrected.p50


@pytest.mark.parametrize(("second", "said"), [("lossy", True), ("quiet", False)])
def test_what_is_printed_says_that_it_includes_what_was_missed(second: str, said: bool) -> None:
    comparison = compare([QUIET[0], LOSSY[0] if second == "lossy" else QUIET[1]])
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(*comparison_lines(comparison, 200, True), sep="\n")
    text = console.export_text()
    assert ("p99.9" in text, " with the missed ones, max " in text) == (True, said)
    assert (f"Verdicts  {WITH_MISSED}" in text) == said
    assert (f"1 part in 128.  {WITH_MISSED}" in text) == said
    assert (WITH_MISSED in latex(comparison)) == said


def test_a_table_for_a_paper_has_the_highest_percentile_that_there_is() -> None:
    def table(n: int) -> str:
        sides = (counted_result("dk.nanosleep", [5000.0, 7000.0] * n, load="none"),)
        return latex(compare([lab("a", sides), lab("b", sides)]))

    assert ("p99.9" in _heads(table(10_000)), "p99 &" in _heads(table(10_000))) == (True, False)
    assert ("p99.9" in _heads(table(1000)), "p99 &" in _heads(table(1000))) == (False, True)


def _heads(text: str) -> str:
    """Return the headings of a table."""
    return text.partition(r"\toprule")[2].partition(r"\midrule")[0]


def test_the_smallest_and_the_largest_are_those_observed() -> None:
    """The last activation that a stall hides may be less late than any that was observed."""
    both = []
    for variant in LOSSY[:2]:
        (seen,) = variant.results
        assert seen.corrected
        lowest = structs.replace(seen, corrected=structs.replace(seen.corrected, min=160.0))
        both.append(structs.replace(variant, results=[lowest]))
        assert (whole(lowest).min, whole(lowest).max) == (seen.min, seen.max)
    low = [variant.results[0].min or 0 for variant in both]
    top = [variant.results[0].max or 0 for variant in both]
    for columns, ends in (
        ([QUIET[0], both[0]], (low[0], top[0])),
        ([QUIET[:2], both], (min(low), max(top))),
    ):
        (row,) = compare(columns).rows
        cell = row.cells[1]
        assert cell
        assert cell.corrected
        assert (cell.min, cell.max) == ends


def test_stalls_of_the_noise_floor_decide_percentiles_too() -> None:
    floor = [structs.replace(variant, run_id=f"f-{n}") for n, variant in enumerate(LOSSY[:3])]
    tail = effect(compare(QUIET[:2], floor), "tail")
    assert tail.reason == (
        "too few stalls: each, a late wake-up with those that it hid, moves even the p99"
    )


def test_equal_samples_do_not_repeat_if_not_as_many_were_missed() -> None:
    def seeds(name: str, missed: int) -> list[Run]:
        variant = structs.replace(
            counted_result("dk.nanosleep", [5000.0, 5100.0] * 500), missed=missed
        )
        return [lab(name, [variant], seed=seed) for seed in (1, 2, 3)]

    assert effect(compare([*seeds("a", 7), *seeds("b", 7)]), "median").basis == "exact"
    assert effect(compare([*seeds("a", 0), *seeds("b", 7)]), "median").basis == "runs"


def test_a_single_run_with_losses_is_as_uncertain_as_its_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even beside noise runs of the same length: a percentile at the edge of stalls jumps."""
    noise = [variant.results for variant in QUIET[2:4]]
    quiet_case = case_of([QUIET[0].results], [QUIET[1].results], noise=noise)
    assert _within(quiet_case, "p50", True, observed=False) is None
    short = [[result(1, (0.004, 0.004, 0.004))]]
    lossy_case = case_of([QUIET[0].results], short, noise=noise)
    interval = _within(lossy_case, "p50", True, observed=False)
    assert interval
    ends = interval(0.95)
    assert ends
    assert -0.1 < ends[0] < ends[1] < 0.1
    assert _within(lossy_case, "p50", True, observed=True) is None
    monkeypatch.setattr("rtstone.results.estimates.estimate_whole", lambda *_: None)
    assert interval(0.95) == (-math.inf, math.inf)


def test_losses_that_do_not_follow_from_the_samples_have_no_percentile() -> None:
    variant = result(1, (0.004,))
    assert variant.corrected
    assert has_room("p50", [variant])
    wrong = structs.replace(variant, missed=(variant.missed or 0) + 900)
    assert not has_room("p50", [wrong])
    assert not has_room("p50", [variant, wrong])


def test_how_many_more_runs_settle_a_loss_follows_from_the_whole_interval() -> None:
    """Half of it is 20 about 12: by the square root law (20 / 12)² = 2.78 times as many runs."""
    sides = Sides([0.0, 0.0], [12.0, 12.0], False, losses=True, within=lambda _: (-8.0, 32.0))
    judgement = judge(sides, 0.3, -1)
    assert judgement.factor == pytest.approx((20 / 12) ** 2)
    assert judgement.reason == "about 4 more runs a side"


def test_a_tail_that_is_not_judged_passes_the_gate_only_if_no_loss_is_open() -> None:
    """A few stalls more put a p99 beyond four times the earlier one; so do those of a loss."""
    short, longer = (0.03, 0.03, 0.03), (0.03, 0.04, 0.05)
    before = [run([result(n, short)], f"b-{n}", minute=n) for n in range(5)]
    checks = {c.what: c for c in gate(run([result(9, longer)], "x", minute=9), before, "x").checks}
    assert checks["p99"].observed and checks["p99"].observed > 4 * 10_000
    assert (checks["missed"].verdict, checks["p99"].verdict) == ("passed", "passed")
    lost = run([result(9, (1.0,))], "y", minute=9)
    checks = {c.what: c for c in gate(lost, QUIET[:5], "x").checks}
    assert (checks["missed"].verdict, checks["p99"].verdict) == ("inconclusive", "inconclusive")
