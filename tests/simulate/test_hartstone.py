"""The Hartstone sets, and their outcome under a scheduler without an operating system."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec import structs

from rtstone.documents.breakdown import FIRST_MISS
from rtstone.documents.run import BREAKDOWN, Figure, Result, Run, Target, Value
from rtstone.documents.simulation import Cost
from rtstone.errors import UsageError
from rtstone.simulate import hartask as a
from rtstone.simulate import hartsets as s
from rtstone.simulate import hartstone as h
from rtstone.simulate.hartengine import FORMS, POLICIES
from rtstone.simulate.hartsets import SECOND

FREE = Cost()


def ask(experiment: str, which: str = "sei", **members: object) -> h.Ask:
    return h.Ask(experiment, **({"set": which, "raw": h.RAW[which]} | members))  # type: ignore[arg-type]


def kwips(experiment: str, tests: int, which: str = "sei") -> list[float]:
    base = s.baseline(experiment.split(".", maxsplit=1)[0], which)
    return [s.set_of_test(experiment, base, 1, n).kwips() for n in range(1, tests + 1)]


def test_baselines_are_those_of_the_publications() -> None:
    assert [t.hz * t.load for t in s.baseline("PH")] == [64] * 5
    assert [t.hz * t.load for t in s.baseline("PH", "golatowski")] == [512] * 5
    assert sum(t.hz for t in s.baseline("PH", "golatowski")) == 31
    assert kwips("PN.1", 1) == [322]


@pytest.mark.parametrize(
    ("name", "first", "step"),
    [("PH.1", 320, 32), ("PH.2", 320, 32), ("PH.3", 320, 62), ("PH.4", 320, 64),
     ("AH.2", 196, 19.6), ("AH.3", 196, 10), ("AH.4", 196, 20),
     ("SH.1", 320, 32), ("SH.2", 320, 32), ("SH.3", 320, 62), ("SH.4", 320, 64),
     ("SA.2", 196, 19.6), ("SA.3", 196, 72)],
)  # fmt: skip
def test_steps(name: str, first: float, step: float) -> None:
    """A1 comes 10 times a second and takes 2 KWIPP, B1 twice and takes 8."""
    rates = kwips(name, 10)
    assert rates[0] == pytest.approx(first)
    assert [y - x for x, y in pairwise(rates)] == pytest.approx([step] * 9, abs=1e-4)


def test_steps_in_turn() -> None:
    """SA.4 adds a task like the third (4 KWIPP at 8 Hz), then one like the sporadic one."""
    assert [y - x for x, y in pairwise(kwips("SA.4", 5))] == pytest.approx([32, 20, 32, 20])


def test_interarrivals_become_shorter() -> None:
    """As a whole, or all but the random part."""
    base = s.baseline("AH")
    hz = [s.set_of_test("AH.1", base, 1, n).tasks[5].hz for n in (1, 2, 11)]
    assert hz == pytest.approx([10, 20, 110])
    hz = [s.set_of_test("AH.1", base, 1, n, "shortest").tasks[5].hz for n in (1, 11, 200)]
    assert hz == pytest.approx([10, 1 / 0.075, 1 / (0.05 + 0.05 / 20.9)])


@pytest.mark.parametrize("name", ["AH.1", "SA.1"])
def test_sporadic_experiments_break_down(name: str) -> None:
    """On a system without costs; with the random part as it is, not within 200 tests."""
    whole = h.experiment(h.Ask(name, duration_ns=SECOND), FREE)
    assert whole.ended == "misses" and len(whole.tests) < 60
    shortest = h.experiment(h.Ask(name, gaps="shortest", duration_ns=SECOND), FREE)
    assert (shortest.ended, shortest.first_miss) == ("tests", None)


def test_a_throttled_system_breaks_down_at_its_limit() -> None:
    """Harmonic tasks of which every second needs the same: what is left to them is what they get.

    PH.3 needs 60.0 + 3.1% more in each test (raw speed 2000 KWIPS: 16% + 3.1%).
    """
    limit = FREE
    for runtime_ms in (950, 800):
        limit = Cost(rt_runtime_ns=runtime_ms * 1_000_000, rt_period_ns=SECOND)
        experiment = h.experiment(h.Ask("PH.3", "sei", raw=2000, duration_ns=2 * SECOND), limit)
        assert experiment.breakdown is not None and experiment.first_miss is not None
        assert experiment.breakdown <= runtime_ms / 10 < experiment.first_miss
        assert experiment.breakdown_free == pytest.approx(99.7)
    edf = h.experiment(h.Ask("PH.3", "sei", "edf", raw=2000, duration_ns=2 * SECOND), limit)
    assert edf.breakdown == edf.breakdown_free  # limited by admission, never throttled


def test_pn_1_avoids_multiples_once() -> None:
    """48, 65 and 82 are multiples; 66 is one of 2, but the rule adds 1 Hz and no more."""
    base = s.baseline("PN")
    rates = [s.set_of_test("PN.1", base, 1, n).tasks[4].rate for n in (1, 2, 3, 4)]
    assert rates == [310, 490, 660, 830]


def test_levels_are_as_many_as_rates_up_to_a_limit() -> None:
    tasks = [s.Task(rate, 1) for rate in (20, 40, 20, 80)]
    assert s.levels(tuple(tasks)) == [3, 2, 3, 1]
    assert s.levels(tuple(tasks), server=True) == [4, 3, 4, 2]
    assert s.levels(tuple(s.Task(10 * n, 1) for n in range(1, 13))) == [9] * 4 + [*range(8, 0, -1)]


@pytest.mark.parametrize("series", s.SERIES)
def test_auto_is_near_a_fifth_and_steps_little(series: str) -> None:
    m = s.factor(series, 1_234_567)
    assert m > 100
    for number in (1, 2, 3, 4):
        name = f"{series}.{number}"
        first, second = (
            s.set_of_test(name, s.baseline(series, "auto", m), m, n).utilisation(1_234_567)
            for n in (1, 2)
        )
        assert 0.13 < first <= 0.2  # SA: the number of its steps is the tighter limit
        assert first > 0.199 or series == "SA"
        assert 0 < second - first <= 0.05


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("which", s.SETS)
def test_harmonic_sets_break_down_at_exactly_100_percent(
    policy: str, number: int, which: str
) -> None:
    experiment = h.experiment(ask(f"PH.{number}", which, policy=policy), FREE)
    assert experiment.breakdown == pytest.approx(100)
    assert experiment.first_miss is not None
    assert experiment.first_miss > 101
    assert experiment.ended == "misses"


def test_non_harmonic_sets_cost_rate_monotonic_and_not_edf() -> None:
    for number in (2, 3, 4):
        rm, edf = (
            h.experiment(ask(f"PN.{number}", policy=p, raw=1610), FREE).breakdown for p in POLICIES
        )
        assert rm is not None
        assert edf is not None
        assert 74 <= rm < edf <= 100


def test_the_server_costs_no_more_than_its_work_for_one() -> None:
    """Task 5 needs 2 KWI and waits for 1 at most, so that it bears 528 Hz at 1600 KWIPS: 82%."""
    free, served = (h.experiment(ask(name), FREE).breakdown for name in ("PH.1", "SH.1"))
    assert free == 100
    assert served is not None
    assert 82 <= served < 100
    assert served == h.experiment(ask("SH.1", form="server"), FREE).breakdown


def test_activations_are_met_missed_or_skipped() -> None:
    events = list(h.play(ask("PH.1"), FREE))
    for played in events:
        for task, row in zip(played.task_set.tasks, played.outcome.counts, strict=True):
            assert row["met"] + row["missed"] + row["skipped"] == 10 * task.hz
    document = h.experiment(ask("PH.1"), FREE)
    for test, played in zip(document.tests, events, strict=True):
        assert test.activations == sum(10 * task.hz for task in played.task_set.tasks)
        assert (test.late_mean_ns is None) == (test.missed == 0)
    assert document.tests[-1].missed + document.tests[-1].skipped >= h.STOP_MISSES


def test_a_factor_that_was_measured_goes_before() -> None:
    experiment = h.experiment(ask("PH.1", "auto", factor=500), FREE)
    assert experiment.factor == 500
    assert experiment.tests[0].utilisation == 16
    assert experiment.breakdown == pytest.approx(99.2)
    assert experiment.first_miss == pytest.approx(100.8)  # steps of 1.6%


def test_costs_lower_the_breakdown() -> None:
    cost = Cost(switch_ns=50_000, tick_ns=1_000_000, tick_cost_ns=50_000)
    dear = h.experiment(ask("PH.1"), cost)
    assert dear.breakdown_free == h.experiment(ask("PH.1"), FREE).breakdown == 100
    assert dear.breakdown is not None
    assert dear.breakdown < 95  # ticks alone take 5%


def test_a_server_costs_two_switches_a_call() -> None:
    cost = Cost(switch_ns=50_000)
    monitor, server = (h.experiment(ask("SH.2", form=form), cost).breakdown for form in FORMS)
    assert monitor is not None
    assert server is not None
    assert server < monitor


def test_how_experiments_end() -> None:
    experiment = h.experiment(ask("PH.3", "golatowski"), FREE)
    assert (experiment.first_miss, experiment.ended, len(experiment.tests)) == (
        None,
        "tests",
        s.MOST_TESTS,
    )
    heavy = h.experiment(ask("PH.4", stop_misses=10**6), FREE)
    assert heavy.ended == "utilisation"
    step = heavy.tests[1].utilisation - heavy.tests[0].utilisation
    assert 150 - step < heavy.tests[-1].utilisation <= 150
    first = h.experiment(ask("PH.4", stop_misses=1), FREE)
    assert first.ended == "misses"
    assert first.tests[-1].utilisation == first.first_miss


def test_the_gap_is_what_the_measurement_lacks() -> None:
    def beside(*experiment: object) -> h.Measured:
        return h.Measured(ask("PH.1"), 91.5, *experiment)  # type: ignore[arg-type]

    measured = h.experiment(ask("PH.1"), FREE, beside(93.5))
    assert (measured.measured, measured.gap) == (91.5, 8.5)
    assert h.experiment(ask("PH.1"), FREE, beside(None)).gap is None  # it never missed
    disturbed = h.experiment(ask("PH.1"), FREE, beside(93.5, ("steal",)))
    assert (disturbed.measured, disturbed.gap, disturbed.disturbed) == (91.5, None, ["steal"])


# ---- from a measured run ------------------------------------------------------------------------


def figures(**share: float) -> dict[str, Figure]:
    names = {"breakdown": BREAKDOWN, "first": FIRST_MISS, "raw": a.RAW_SPEED, "factor": a.FACTOR,
             "duration": a.DURATION}  # fmt: skip
    return {names[name]: Figure(value=value, unit="") for name, value in share.items()}


def result(bench: str, figures: dict[str, Figure], load: str = "none", **params: Value) -> Result:
    return Result(case=1, bench=bench, params=dict(params.items()), load=load, status="ok",
                  figures=figures)  # fmt: skip


def run(*results: Result) -> Run:
    return Run(run_id="x", created="", status="complete", target=Target(name="local"),
               results=list(results))  # fmt: skip


SERVED = result("hart.SH.3", figures(breakdown=88.5, first=90, raw=10_546_237.6, factor=6590,
                duration=1.5), set="auto", policy="rm", form="server", stop="first",
                stop_misses=50)  # fmt: skip


def test_an_experiment_is_simulated_as_it_was_measured() -> None:
    beside = a.measured(run(
        SERVED,
        result("hart.PH.1", figures(breakdown=0, raw=1e6), set="sei", policy="edf", stop_misses=9),
        result("hart.raw", figures(raw=2_000_000)),
    ))  # fmt: skip
    served, plain = beside.experiments
    assert served == h.Measured(
        h.Ask("SH.3", "auto", "rm", 10_546_200, 6590, "server", "shortest", 1_500_000_000, 1),
        88.5,
        90,
    )
    assert plain == h.Measured(
        h.Ask("PH.1", "sei", "edf", 1_000_000, gaps="shortest", stop_misses=9), 0, None
    )
    assert (beside.raw, beside.left_out) == (2_000_000, ())


def test_what_cannot_be_simulated_is_told() -> None:
    edf = result("hart.SH.1", figures(breakdown=80), policy="edf", form="server")
    failed = Result(case=1, bench="hart.PH.4", params={}, load="none", status="incomplete")
    beside = a.measured(run(edf, failed, result("hart.PH.3", figures(breakdown=80), "heavy"),
                            result("hart.PH.2", {}), result("ctx.ballast", {})))  # fmt: skip
    assert beside.experiments == ()
    assert [text.partition(":")[0] for text in beside.left_out] == [
        "hart.SH.1 policy=edf form=server", "hart.PH.4", "hart.PH.3", "hart.PH.2",
    ]  # fmt: skip
    assert "load heavy" in beside.left_out[2]
    spoilt = structs.replace(result("hart.PH.1", figures(breakdown=80)), flags=["no_rt"])
    assert a.measured(run(spoilt)).left_out == (
        "hart.PH.1: not simulated, measured without real-time privileges",
    )


def test_all_twenty_are_simulated_beside_a_run() -> None:
    beside = a.measured(run(SERVED))
    asks = list(a.asks(a.Choice(), beside))
    assert [ask.experiment for ask, _ in asks] == list(s.EXPERIMENTS)
    assert [experiment for _, experiment in asks if experiment] == list(beside.experiments)
    assert {(ask.policy, ask.raw) for ask, _ in asks} == {("rm", 10_546_200)}
    edf = list(a.asks(a.Choice(("SH.3",), policies=("edf",)), beside))
    assert edf == [(h.Ask("SH.3", policy="edf", raw=10_546_200), None)]
    monitor = list(a.asks(a.Choice(("SH.3",), form="monitor"), beside))
    assert monitor == [(h.Ask("SH.3", raw=10_546_200), None)]
    ((faster, experiment),) = a.asks(a.Choice(("SH.3",), raw=2000), beside)
    assert (faster.raw, faster.form, experiment) == (2000, "server", beside.experiments[0])


def test_what_is_simulated_without_a_run() -> None:
    assert len(list(a.asks(a.Choice(), None))) == 40
    assert len(list(a.asks(a.Choice(set="golatowski"), None))) == 8
    served = [ask for ask, _ in a.asks(a.Choice(form="server"), None)]
    assert {outcome.policy for outcome in served} == {"rm"}
    assert [outcome.form for outcome in served] == ["monitor"] * 12 + ["server"] * 8


def test_what_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'PH\.1'"):
        list(a.asks(a.Choice(("PH1",)), None))
    with pytest.raises(UsageError, match="no set 'golatowski'"):
        list(a.asks(a.Choice(("PN.1",), set="golatowski"), None))
    with pytest.raises(UsageError, match="not simulated under edf"):
        list(a.asks(a.Choice(("SH.1",), policies=("edf",), form="server"), None))
