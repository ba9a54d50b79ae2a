"""Trends: where planted changes are found, what is said of them, and what is pooled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.observation import Observation
from rtstone.documents.run import Distribution, Figure, Result, Target, Value
from rtstone.documents.trend import Trend
from rtstone.report.trend.page import trend_lines
from rtstone.report.trend.text import change, summary, switch
from rtstone.results.pool import pooled
from rtstone.stats.trend.changepoints import fewest_runs
from rtstone.stats.trend.differences import differences
from rtstone.stats.trend.trend import TrendRequest, trend
from rtstone.wire.records import Bench, Param
from tests.chance import is_fine
from tests.report.synthetic import statistics
from tests.stats.noise import autoregressive, cycle
from tests.stats.observed import (
    CMDLINE,
    counted,
    experiment,
    followed,
    noisy,
    observation,
    observed,
    only,
    result,
    with_conditions,
)

# ---- changes ------------------------------------------------------------------------------------


def test_a_planted_change_is_found_where_it_is_with_its_size() -> None:
    values = noisy(1, 80)
    values[50:] *= 1.06
    series = only(followed(observed(values)))
    (change,) = series.changes
    assert abs(change.at - 50) <= 1
    assert change.effect.verdict == "worse"
    assert change.effect.ci95 and change.effect.ci95[0] < 1.06 < change.effect.ci95[1]
    assert (change.before, change.after) == (f"run-{change.at - 1:04}", f"run-{change.at:04}")
    assert [part.runs for part in series.segments] == [change.at, 80 - change.at]
    values[50:] /= 1.06**2
    (change,) = only(followed(observed(values))).changes
    assert change.effect.verdict == "better"


def test_a_mean_that_one_stall_moves_is_not_followed() -> None:
    values = noisy(2, 60)
    values[40] *= 100
    assert only(followed(observed(values))).changes == []


def test_what_the_comparison_does_not_confirm_is_a_doubt() -> None:
    """A change of the scatter alone splits a series, but neither side is slower."""
    rng = np.random.default_rng(7)
    noise = np.concatenate([0.002 * rng.normal(size=60), 0.2 * rng.normal(size=60)])
    series = only(followed(observed(10_000 * np.exp(noise - noise.mean()))))
    assert series.changes == []
    assert series.doubts
    assert len(series.segments) == 1


def test_in_the_lab_any_difference_is_a_change_without_statistics() -> None:
    series = only(followed(counted([5000, 5000, 5001, 5001, 4000])))
    assert series.exact
    assert [(c.at, c.effect.verdict, c.p) for c in series.changes] == [
        (2, "worse", None), (4, "better", None),
    ]  # fmt: skip
    assert [part.value for part in series.segments] == [5000, 5001, 4000]
    assert series.least == 2


def test_of_too_few_runs_nothing_is_said() -> None:
    assert only(followed(observed([100, 100, 200, 200]))).changes == []
    assert only(followed(observed([100]))).changes == []


@pytest.mark.simulation
def test_equal_systems_seldom_change_and_three_standard_deviations_are_found() -> None:
    """Both methods have to agree: at most 5% of series of 100 runs, and 95% within 5 runs."""

    def alarms() -> Iterator[bool]:
        for seed in range(2000):
            yield bool(only(followed(observed(noisy(seed, 100)))).changes)

    def overlooked() -> Iterator[bool]:
        for seed in range(2000):
            values = noisy(seed, 100)
            values[95:] *= 1.06
            series = only(followed(observed(values))).changes
            yield not any(change.effect.verdict == "worse" for change in series)

    assert is_fine(alarms(), 0.03, 0.08)
    assert is_fine(overlooked(), 0.02, 0.08)


# ---- differences --------------------------------------------------------------------------------


def changed(at: int, **conditions: Any) -> list[Observation]:
    """Return runs that slow down at a place, with other conditions from there on."""
    values = noisy(5, 60)
    values[at:] *= 1.2
    return [
        with_conditions(observation, **conditions) if place >= at else observation
        for place, observation in enumerate(observed(values))
    ]


def test_a_planted_word_of_the_kernel_is_named_first() -> None:
    planted = {"kernel_cmdline": f"{CMDLINE} skew_tick=1", "libc": "b", "memory_swappiness": 1}
    before = {"libc": "a", "memory_swappiness": 60}
    observations = [
        with_conditions(observation, **before) if place < 30 else observation
        for place, observation in enumerate(changed(30, **planted))
    ]
    (change,) = only(followed(observations)).changes
    assert [difference.aspect for difference in change.differences] == [
        "kernel command line", "C library", "memory.swappiness",
    ]  # fmt: skip
    first = change.differences[0]
    assert (first.come, first.gone, first.stays) == (["skew_tick=1"], [], True)


@pytest.mark.parametrize(
    ("condition", "before", "after", "aspect"),
    [
        ("sched.fair_server", ["0: 50000000/1000000000"], ["0: 0/1000000000"],
         "deadline server (ns of a period)"),
        ("sched.ext_server", "none", ["0: 50000000/1000000000"],
         "deadline server of sched_ext (ns of a period)"),
        ("sched_ext.state", "disabled", "enabled", "sched_ext"),
        ("sched_ext.ops", "lavd", "rusty", "scheduler of sched_ext"),
        ("rseq.slice_extension", False, True, "slice extension"),
        ("rseq.slice_extension_ns", "5000", "50000", "slice extension (ns)"),
        ("sched.proxy_exec", False, True, "proxy execution"),
        ("sched.rt_group_sched", "no", "on", "RT_GROUP_SCHED"),
    ],
)  # fmt: skip
def test_a_scheduler_that_was_set_otherwise_is_named_first(
    condition: str, before: Any, after: Any, aspect: str
) -> None:
    history = [
        observation._replace(
            run=structs.replace(
                observation.run,
                conditions=observation.run.conditions
                | {condition: after if place >= 30 else before, "libc": "ab"[place >= 30]},
            )
        )
        for place, observation in enumerate(changed(30))
    ]
    (change,) = only(followed(history)).changes
    assert [difference.aspect for difference in change.differences] == [aspect, "C library"]


def test_what_changes_by_itself_or_comes_and_goes_is_no_difference() -> None:
    observations = [
        with_conditions(observation, cpu_mhz=place, uptime=place * 60, cpu_governor="ab"[place % 2])
        for place, observation in enumerate(changed(30))
    ]
    (change,) = only(followed(observations)).changes
    assert change.differences == []


def test_a_kernel_that_is_another_in_each_run_is_named() -> None:
    observations = [
        with_conditions(observation, kernel_release=f"6.9-{place}")
        for place, observation in enumerate(changed(30))
    ]
    (change,) = only(followed(observations)).changes
    (difference,) = change.differences
    assert (difference.aspect, difference.before, difference.after) == (
        "kernel",
        "6.9-29",
        "6.9-30",
    )


def test_a_word_that_came_some_runs_off_is_named_after_what_holds() -> None:
    observations = [
        with_conditions(observation, cpu_microcode=hex(1 + (place >= 30)),
                        kernel_cmdline=CMDLINE if place < 32 else f"{CMDLINE} nohz=off")
        for place, observation in enumerate(changed(30))
    ]  # fmt: skip
    (change,) = only(followed(observations)).changes
    assert change.at == 30
    assert [(difference.aspect, difference.stays) for difference in change.differences] == [
        ("microcode", True), ("kernel command line", False),
    ]  # fmt: skip


def test_in_the_lab_the_word_is_told_of_two_runs() -> None:
    counts, other = counted([5000, 5200])
    other = with_conditions(other, kernel_cmdline=f"{CMDLINE} nohz=off")
    (change,) = only(followed([counts, other])).changes
    assert [(d.aspect, d.come) for d in change.differences] == [
        ("kernel command line", ["nohz=off"])
    ]


# ---- which results are one series ---------------------------------------------------------------


def test_targets_loads_parameters_and_units_are_series_and_kernels_are_not() -> None:
    lab = Target(name="qemu:linux-6.1-rt+append=nohz=off", detail={"board": "q", "system": "l"})
    observations = [
        observation(0, result(1.0)),
        observation(1, result(1.0), conditions={"kernel.release": "6.9"}),
        observation(2, result(1.0, load="heavy")),
        observation(3, result(1.0, params={"period": 5})),
        observation(4, result(1.0), target=Target(name="ssh:board")),
        observation(5, result(1.0, unit="instructions")),
        observation(6, result(1.0), target=lab),
        observation(7, result(1.0), target=structs.replace(lab, name="qemu:linux-6.1-rt")),
        observation(8, result(1.0, params={"time": 5, "prio": 3, "raw": True})),
        observation(
            9, result(1.0), target=structs.replace(lab, detail=lab.detail | {"device": "s"})
        ),
    ]
    assert [series.runs for series in followed(observations).series] == [3, 1, 1, 1, 1, 2, 1]


@pytest.mark.parametrize(
    ("host", "machine", "called", "name"),
    [
        ("bench-3", None, None, "bench-3: local"),
        ("bench-3", "3f2a9c", None, "bench-3: local (3f2a)"),
        ("(none)", "3f2a9c", None, "local (3f2a)"),
        (None, None, None, "local"),
        ("d3adb33f0a1b", None, None, "local"),  # a container's, another one at each start
        ("bench-3", "3f2a9c", "the board", "the board"),
    ],
)
def test_what_is_local_is_so_to_its_machine_whatever_its_kernel(
    host: str | None, machine: str | None, called: str | None, name: str
) -> None:
    detail: dict[str, Value] = {"machine": machine} if machine else {}
    target = Target(name="local", detail=detail, called=called)
    observations = [
        observation(n, result(1.0), target=target,
                    conditions={"machine.host": host, "kernel.release": f"6.{n}"})
        for n in range(3)
    ]  # fmt: skip
    (series,) = followed(observations, "p50").series
    assert (series.target, series.runs) == (name, 3)


def test_measuring_parameters_that_a_run_varies_are_series() -> None:
    first, other = (observation(0, result(1.0, params={"cpus": cpu})) for cpu in "01")
    trend_of_both = followed([first, other._replace(place=1)])
    assert [series.params for series in trend_of_both.series] == [{"cpus": "0"}, {"cpus": "1"}]


def test_a_parameter_that_an_older_bench_lacks_has_its_default() -> None:
    def bench(*names: str) -> Bench:
        params = [Param(name=name, type="int", default=1) for name in names]
        return Bench(id="dk.periodic", title="", source="", params=params)

    observations = [
        observation(0, result(1.0, params={"a": 1}), table=bench("a")),
        observation(1, result(1.0, params={"a": 1, "b": 1}), table=bench("a", "b")),
    ]
    assert only(followed(observations)).runs == 2


def test_runs_without_a_value_are_counted_by_reason() -> None:
    observations = [
        *observed([1.0, 1.0]),
        observation(2, result(None)),
        observation(3, result(None, status="failed", n=0)),
        observation(4, result(None, batch=8)),
    ]
    series = only(followed(observations, "max"))
    assert series.runs == 2
    assert series.without == {
        "n is too small for max": 1, "failed": 1, "samples are means of several operations": 1,
    }  # fmt: skip
    series = only(followed(observations, "missed"))
    assert (series.runs, series.without["missed activations are not counted"]) == (0, 4)


# ---- pooling ------------------------------------------------------------------------------------


def drawn(seed: int, n: int, median: float) -> dict[str, Any]:
    values = np.random.default_rng(seed).lognormal(np.log(median), 0.3, n)
    return statistics(values.tolist())


def test_percentiles_of_a_kernel_are_those_of_all_its_samples() -> None:
    results = [result(None, **drawn(seed, 300, 1000 * (1 + seed % 3))) for seed in range(12)]
    assert results[0].p99 is None  # n is too small in each run
    observations = [
        observation(place, result, conditions={"kernel.release": "ab"[place % 2]})
        for place, result in enumerate(results)
    ]
    series = only(followed(observations, by="kernel"))
    assert [place.label for place in series.places] == ["a", "b"]
    for first, place in enumerate(series.places):
        assert place.pooled.value == pooled(results[first::2]).p50
        assert (place.pooled.runs, place.pooled.n) == (6, 1800)
    assert only(followed(observations, "p99", by="kernel")).without == {
        "n is too small for p99": 12
    }


def test_a_commit_is_read_from_the_release_of_the_kernel() -> None:
    observations = [
        with_conditions(observation, kernel_release=f"6.9.0-rc1-00012-g{'ab'[place // 2] * 12}")
        for place, observation in enumerate(observed([1.0] * 4))
    ]
    series = only(followed([*observations, observation(9, result(1.0))], by="commit"))
    assert [place.label for place in series.places] == ["a" * 12, "b" * 12]
    assert series.without == {"no commit is known of the run": 1}


# ---- correlated runs ----------------------------------------------------------------------------


def test_levels_of_runs_that_are_like_those_beside_them_are_doubts() -> None:
    """Of ten series with correlation 0.8 most have a split; that levels wander is told of each."""
    rng = np.random.default_rng(3)
    draws = autoregressive(10, 60, rng, 0.8)
    series = [only(followed(observed(1e4 * np.exp(0.01 * draw)))) for draw in draws]
    assert sum(bool(series.changes) for series in series) <= 2
    doubtful = [series for series in series if series.doubts]
    assert len(doubtful) >= 5
    assert all(series.correlated for series in doubtful if not series.changes)
    assert any("wander as far without a change" in s.doubts[0].reason for s in doubtful)
    step = draws[0].copy()
    step[30:] += 20
    (change,) = only(followed(observed(1e4 * np.exp(0.01 * step)))).changes
    assert change.at == 30


def test_a_daily_cycle_is_no_change() -> None:
    draws = cycle(4, 100, np.random.default_rng(5), 24)
    for draw in draws:
        series = only(followed(observed(1e4 * np.exp(0.01 * draw))))
        assert series.changes == []
        assert series.correlated and series.correlated > 0.5


def test_runs_that_do_not_depend_on_those_beside_them_are_not_called_correlated() -> None:
    assert only(followed(observed(noisy(1, 80)))).correlated is None


# ---- missed activations -------------------------------------------------------------------------


def lossy(place: int, lost: int) -> Observation:
    """A run that loses so many of 2000 activations to stalls in which none is sampled."""
    n = 2000 - lost
    measurement = result(10_000.0 + place % 3, n=n, missed=lost, histogram=[(10_000.0, n)])
    if not lost:
        return observation(place, measurement)
    stalls = [(10_000.0, n), (5e8, lost)]
    corrected = statistics([value for value, count in stalls for _ in range(count)])
    distribution = Distribution(
        **{name: corrected[name] for name in Distribution.__struct_fields__}
    )
    return observation(place, structs.replace(measurement, corrected=distribution))


def test_lost_activations_are_a_change_for_the_worse_by_default() -> None:
    observations = [lossy(place, 600 if place >= 20 else 0) for place in range(40)]
    by_metric = {
        series.metric: series
        for series in trend(
            observations, TrendRequest(), lambda observation: observation.result
        ).series
    }
    assert list(by_metric) == ["p50", "p99", "missed"]
    (change,) = by_metric["missed"].changes
    assert (change.at, change.effect.verdict, change.effect.difference) == (20, "worse", 30)
    (change,) = by_metric["p99"].changes
    assert (change.at, change.effect.verdict) == (20, "worse")
    assert by_metric["p99"].corrected
    # Of all activations after the change together: 30% are later than the 99th of a hundred.
    assert by_metric["p99"].segments[1].value == pytest.approx(5e8, rel=0.01)
    text = "\n".join(
        str(line) for line in trend_lines(trend(observations, TrendRequest(), full), 110)
    )
    assert ": missed: 40 runs, 2026-11-21, 0 % -> 30 %; 1 change" in " ".join(text.split())
    assert "p99, corrected: 40 runs" in text


def full(observation: Observation) -> Result:
    return observation.result


def test_a_case_that_counts_no_activations_has_no_series_of_them() -> None:
    history = trend(observed(noisy(1, 8)), TrendRequest(), full)
    assert [series.metric for series in history.series] == ["p50", "p99"]


def test_of_too_few_runs_it_is_told_how_many_a_change_takes() -> None:
    series = only(followed(observed([100.0] * 4 + [1000.0] * 3)))
    assert (series.changes, series.least) == ([], 8)
    assert "too few runs to find a change: it takes 8" in summary(series)
    (change,) = only(followed(observed([100.0] * 4 + [1000.0] * 4))).changes
    assert change.at == 4
    assert "no change found" in summary(only(followed(observed(noisy(1, 8)))))


def test_the_factor_of_a_change_is_that_of_the_levels_beside_it() -> None:
    """Of twelve runs after it four are slow: the median of all samples is of the others."""
    wide = [1000.0, 1000.0, 4000.0] * 4
    series = only(followed(observed([100.0] * 11 + wide)))
    (shift,) = series.changes
    before, after = (part.value for part in series.segments)
    assert before == pytest.approx(100, rel=0.01)
    assert after == pytest.approx(1000, rel=0.01)
    assert shift.effect.ratio == pytest.approx(10 * 4 ** (1 / 3), rel=0.02)
    text = change(series, shift, 0)
    assert "100 ns -> 1.00 µs, 10 times, of a typical run 15.9 times (" in text
    same = only(followed(observed([100.0] * 8 + [200.0] * 8)))
    assert ", +100% (+100% to +100%); 8 and 8 runs" in change(same, same.changes[0], 0)


def test_the_least_number_of_runs_is_that_whose_halves_any_order_can_keep_apart() -> None:
    assert [fewest_runs(level) for level in (0.11, 0.1, 0.05, 0.05 / 3, 0.05 / 135)] == [
        6, 6, 8, 9, 15,
    ]  # fmt: skip


@pytest.mark.parametrize(("runs", "differs"), [(7, False), (8, True)])
def test_a_condition_of_four_runs_in_five_of_a_side_is_that_of_the_side(
    runs: int, differs: bool
) -> None:
    """Of the ten runs before, so many have another C library; the others that of the runs after."""
    before = [observation(place, result(1.0), conditions={"libc": "a" if place < runs else "b"})
              for place in range(10)]  # fmt: skip
    after = [observation(place, result(1.0), conditions={"libc": "b"}) for place in range(10, 20)]
    conditions = differences(
        [observation.whole for observation in before], [observation.whole for observation in after]
    )
    assert [condition.aspect for condition in conditions] == ["C library"] * differs


def test_of_runs_that_lost_their_rights_these_are_the_first_condition() -> None:
    """The kernel is another, too, and /dev/cpu_dma_latency was lost with the rights."""
    runs = []
    for place in range(16):
        able = place < 8
        evidence = {"sched": "fifo" if able else "other", "locked": able}
        conditions = {"cpu_dma_latency": "held at 0 us" if able else "not held: Permission denied",
                      "kernel.release": "6.1.0" if able else "6.1.1"}  # fmt: skip
        measured = result(100.0 if able else 3000.0, evidence=evidence)
        seen = observation(place, measured, conditions=conditions)
        runs.append(seen._replace(run=structs.replace(seen.run, results=[measured])))
    (shift,) = only(followed(runs)).changes
    assert [difference.aspect for difference in shift.differences] == [
        "rights", "/dev/cpu_dma_latency", "kernel",
    ]  # fmt: skip
    assert switch(shift.differences[0]) == (
        "rights: real-time -> without real-time scheduling and locked memory"
    )


# ---- figures that sum up results without samples ------------------------------------------------


def usual(observations: list[Observation]) -> Trend:
    """Return the trend of the metrics that are followed if none is named."""
    return trend(observations, TrendRequest(), full)


def test_a_breakdown_is_followed_and_less_is_worse() -> None:
    held = 60 + np.random.default_rng(1).choice([0.0, 1.5], 40)
    held[30:] -= 15
    document = usual([experiment(n, v, v + 1.5) for n, v in enumerate(held)])
    series = only(document)
    assert (series.metric, series.figure, series.unit) == ("figure", "breakdown utilisation", "%")
    (change,) = series.changes
    assert (change.at, change.effect.verdict) == (30, "worse")
    levels = [part.value for part in series.segments]
    assert levels == [np.median(held[:30]), np.median(held[30:])]
    text = "\n".join(map(str, trend_lines(document, 80)))
    assert text.startswith("hart.PH.1, on local: breakdown utilisation: 40 runs")
    assert "1. worse since" in text


def test_a_breakdown_a_step_off_is_no_change_however_often() -> None:
    """Each run held to the last test before a miss: what lies within a step is not known."""
    held = [60.0] * 20 + [61.4] * 20
    coarse = only(usual([experiment(n, v, v + 1.5) for n, v in enumerate(held)]))
    assert coarse.changes == []
    sharp = only(usual([experiment(n, v, v + 0.1) for n, v in enumerate(held)]))
    assert [(change.at, change.effect.verdict) for change in sharp.changes] == [(20, "better")]


def test_what_held_below_the_first_miss_is_the_breakdown_and_none_is_no_value() -> None:
    runs = [
        experiment(0, 60.0, 61.5),
        experiment(1, 80.0, None),
        experiment(2, 60.0, 61.5, status="incomplete"),
        experiment(3, 60.0, 61.5),
    ]
    series = only(usual(runs))
    assert series.runs == 2
    assert series.without == {"no test missed a deadline": 1, "incomplete": 1}


def number(place: int, time: float, components: int = 6) -> Observation:
    figures = {
        "sum of times": Figure(value=time, unit="us"),
        "sum of times, with a signal in the interrupt's place": Figure(value=9 * time, unit="us"),
        "components": Figure(value=components, unit="of 6"),
    }
    bare = result(None, n=0, bench="rheal.sum_time", unit="us", figures=figures, missed=None)
    return observation(place, bare)


def test_a_sum_of_rhealstone_is_followed_among_those_of_the_same_components() -> None:
    times = noisy(1, 40) / 100
    times[30:] *= 1.2
    series = only(usual([number(n, time) for n, time in enumerate(times)]))
    assert (series.figure, series.unit) == ("sum of times", "us")
    (change,) = series.changes
    assert (change.at, change.effect.verdict) == (30, "worse")
    mixed = [number(n, 100.0, 5 if n < 4 else 6) for n in range(12)]
    series = only(usual(mixed))
    assert (series.runs, series.changes) == (8, [])
    assert series.without == {"5 components, where the newest run has 6": 4}


def test_figures_and_statistics_of_samples_exclude_each_other() -> None:
    both = [experiment(0, 60.0, 61.5), *observed([1e4, 1e4])]
    chosen = {(s.bench, s.metric) for s in followed(both, "p50", "figure").series}
    assert chosen == {("hart.PH.1", "figure"), ("dk.periodic", "p50")}
    other = {"speed": Figure(value=1.0, unit="KWIPS")}
    bare = observation(0, result(None, n=0, bench="hart.raw", figures=other))
    assert usual([bare]).series == []
