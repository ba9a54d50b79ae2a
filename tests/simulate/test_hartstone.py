"""The Hartstone sets and what a scheduler without an operating system makes of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise

import pytest

from rtstone.errors import UsageError
from rtstone.model.documents import Figure, Result, Run, Target
from rtstone.simulate import hartstone as h
from rtstone.simulate.documents import Cost

PH, PN = h.BASELINES["PH"], h.BASELINES["PN"]
FREE = Cost()


def test_baselines_are_those_of_the_publications() -> None:
    assert [t.speed for t in PH["sei"]] == [64] * 5
    assert h.total(PH["sei"]) == 320
    assert [t.speed for t in PH["golatowski"]] == [512] * 5
    assert h.total(PH["golatowski"]) == 2560
    assert sum(t.hz for t in PH["golatowski"]) == 31
    assert h.total(PN["sei"]) == 322


@pytest.mark.parametrize(("number", "step"), [(1, 32), (2, 32), (3, 62), (4, 64)])
def test_steps_of_ph(number: int, step: int) -> None:
    totals = [h.total(tasks) for tasks in islice(h.tests("PH", number, PH["sei"]), 20)]
    assert [b - a for a, b in pairwise(totals)] == [step] * 19


def test_pn_1_avoids_multiples_once() -> None:
    """48, 66 and 84 are multiples of 2; 85 is one of 5, but the rule adds 1 Hz and no more."""
    hz = [tasks[-1].hz for tasks in islice(h.tests("PN", 1, PN["sei"]), 4)]
    assert hz == [31, 49, 67, 85]


def test_auto_is_near_a_fifth_and_steps_little() -> None:
    for series in h.BASELINES:
        tasks, m = h.auto(series, 1_234_567)
        assert m > 100
        assert 0.19 < h.total(tasks) / 1_234_567 <= Fraction(1, 5)
        for number in (1, 2, 3, 4):
            first, second = islice(h.tests(series, number, tasks, m), 2)
            assert h.total(second) - h.total(first) <= Fraction(1_234_567, 20)


@pytest.mark.parametrize("policy", h.POLICIES)
@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("which", ["sei", "golatowski", "auto"])
def test_harmonic_sets_break_down_at_exactly_100_percent(
    policy: str, number: int, which: str
) -> None:
    raw = h.default_raw(PH["sei" if which == "auto" else which], which)
    found = h.experiment(h.Ask(f"PH.{number}", which, policy, raw), FREE)
    assert found.breakdown == 100
    assert found.first_miss is not None
    assert found.first_miss > 100
    assert found.ended == "misses"


def test_non_harmonic_sets_cost_rate_monotonic_and_not_edf() -> None:
    for number in (2, 3, 4):
        rm, edf = (
            h.experiment(h.Ask(f"PN.{number}", "sei", p, 1610), FREE).breakdown for p in h.POLICIES
        )
        assert rm is not None
        assert edf is not None
        assert 74 <= rm < edf <= 100


def test_activations_are_met_missed_or_skipped() -> None:
    ask = h.Ask("PH.1", "sei", "rm", 1600)
    found = h.experiment(ask, FREE)
    sets = h.tests("PH", 1, PH["sei"])
    for test, tasks in zip(found.tests, sets, strict=False):
        assert test.activations == sum(10 * t.hz for t in tasks)
        assert test.activations == test.met + test.missed + test.skipped
        assert (test.late_mean_ns is None) == (test.missed == 0)
    last = found.tests[-1]
    assert last.missed + last.skipped >= h.STOP_MISSES


def test_a_factor_that_was_measured_goes_before() -> None:
    found = h.experiment(h.Ask("PH.1", "auto", "rm", 1_000_000, 500), FREE)
    assert found.factor == 500
    assert found.tests[0].utilisation == 16
    assert (found.breakdown, found.first_miss) == (99.2, 100.8)  # steps of 1.6%


def test_costs_lower_the_breakdown() -> None:
    ask = h.Ask("PH.1", "sei", "rm", 1600)
    free = h.experiment(ask, FREE).breakdown
    dear = h.experiment(ask, Cost(switch_ns=50_000, tick_ns=1_000_000, tick_cost_ns=50_000))
    assert free is not None
    assert dear.breakdown is not None
    assert dear.breakdown < free - 5  # the ticks alone take 5%


def test_an_experiment_that_never_misses_ends_at_the_cap() -> None:
    found = h.experiment(h.Ask("PH.3", "golatowski", "rm", 12_800), FREE)
    assert (found.first_miss, found.ended, len(found.tests)) == (None, "tests", h.MOST_TESTS)


def test_the_gap_is_what_the_measurement_lacks() -> None:
    found = h.experiment(h.Ask("PH.1", "sei", "rm", 1600), FREE, measured=91.5)
    assert (found.measured, found.gap) == (91.5, 8.5)


def measured(bench: str, figures: dict[str, Figure], load: str = "none") -> Result:
    return Result(case=1, bench=bench, params={"set": "sei", "policy": "fifo"}, load=load,
                  status="ok", figures=figures)  # fmt: skip


def test_results_of_a_run_are_found_and_others_left() -> None:
    figure = Figure(value=88.5, unit="%")
    run = Run(run_id="x", created="", status="complete", target=Target(name="local"), results=[
        measured("hart.PH.1", {h.FIGURE: figure, h.RAW_SPEED: Figure(value=1e6, unit="KWIPS")}),
        measured("hart.PH.2", {}),
        measured("hart.PH.3", {h.FIGURE: figure}, load="heavy"),
        measured("ctx.ballast", {h.FIGURE: figure}),
    ])  # fmt: skip
    found = h.measured(run)
    assert list(found) == [("PH.1", "sei", "rm")]
    (result,) = found.values()
    assert (h.percent(result), h.whole(result, h.RAW_SPEED)) == (88.5, 1_000_000)
    assert h.whole(result, h.FACTOR) is None


def test_what_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'PH\.1'"):
        list(h.asks(("PH1",), "sei", ("rm",), None))
    with pytest.raises(UsageError, match="no set 'golatowski'"):
        list(h.asks(("PN.1",), "golatowski", ("rm",), None))
    assert len(list(h.asks((), "golatowski", ("rm",), None))) == 4


@pytest.mark.parametrize("raw", [1, 1601, 999_999_937])
def test_ticks_are_exact_at_any_raw_speed(raw: int) -> None:
    for series in h.BASELINES:
        tasks = next(islice(h.tests(series, 2, h.BASELINES[series]["sei"]), 5, None))
        what, second = h.task_set(tasks, raw)
        for task, period, nominal in zip(tasks, what.period, what.nominal, strict=True):
            assert Fraction(second, int(period)) == task.hz
            assert Fraction(int(nominal), second) == Fraction(task.load, raw)
