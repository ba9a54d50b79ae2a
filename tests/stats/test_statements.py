"""Statements of the publications' prose, judged on planted numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.reproduction import Judgement
from rtstone.documents.run import Figure, Result, Run, Slope, Target, Value
from rtstone.errors import UsageError
from rtstone.results.estimates import batches, estimate
from rtstone.results.slope import fit
from rtstone.stats import published
from rtstone.stats import statements as judging
from rtstone.stats.comparison.systems import systems
from rtstone.stats.published import layout
from rtstone.stats.published.layout import Here, Number, Show
from rtstone.stats.statements import NO_BOUND, NOT_TIME, ONE_NUMBER, PAIR, statements
from rtstone.wire.records import Bench, Param, TextTable
from tests.stats.runs import AGENT, CLOCK

SOURCES = layout.names()
BENCH = Bench(
    "mem.memset", "Set", slope_over="size",
    params=[Param("size", "size", "bytes", 64),
            Param("kind", "choice", None, "a", choices=["a", "b"])],
)  # fmt: skip
OTHER = structs.replace(BENCH, id="mem.memcpy.fwd")


def _result(samples: object, bench: str = "mem.memset", /, **params: Value) -> Result:
    """Return a result with exactly these samples, in their order."""
    values = np.asarray(samples, float)
    distinct, counts = np.unique(values, return_counts=True)
    ordered, n = np.sort(values), len(values)

    def rank(q: float) -> float | None:
        return float(ordered[int(np.ceil(q * n)) - 1]) if n >= 10 / (1 - q) else None

    return Result(
        case=1, bench=bench, params={"size": 64, "kind": "a", **params}, load="none", status="ok",
        n=n, min=float(ordered[0]), mean=float(values.mean()), sd=float(values.std(ddof=1)),
        max=float(ordered[-1]), p50=rank(0.5), p90=rank(0.9), p99=rank(0.99), p999=rank(0.999),
        histogram=list(zip(distinct.tolist(), counts.tolist(), strict=True)),
        batches=batches(values),
    )  # fmt: skip


def _even(value: float, share: float = 0.0, far: float = 0.0) -> list[float]:
    """Return 2000 samples around a value, in no order; every so many are ``far``."""
    every = round(1 / share) if share else 0
    samples = [
        far if every and n % every == 0 else value * (1 + 0.01 * (n - 999) / 1000)
        for n in range(2000)
    ]
    shuffled: list[float] = np.random.default_rng(1).permutation(samples).tolist()
    return shuffled


def _run(*results: Result, os: str = "Linux 6.1", run_id: str = "a", **members: object) -> Run:
    run = Run(
        run_id=run_id, created="2026-11-21T00:00:00+00:00", status="complete",
        target=Target(name=os), agent=structs.replace(AGENT, os=os), clock=CLOCK,
        results=list(results), benches=[BENCH, OTHER],
    )  # fmt: skip
    return structs.replace(run, **members)


def _judged(wanted: layout.Statement, *runs: Run) -> list[Judgement]:
    return judging._statement("sjoblom", wanted, systems(runs)).here


def _wanted(rule: str, *show: str | Show, **members: object) -> layout.Statement:
    members = {"number": [Number()], **members}
    here = Here(bench="mem.memset", load="none", show=list(show))
    return layout.Statement(table="t", rule=rule, here=here, **members)  # type: ignore[arg-type]


# ---- a value ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "same"),
    [
        ({"most": 102.0}, "yes"),
        ({"least": 98.0}, "yes"),
        ({"least": 98.0, "most": 102.0}, "yes"),
        ({"most": 98.0}, "no"),
        ({"least": 102.0}, "no"),
        ({"most": 100.0}, "undetermined"),
        ({"least": 100.0}, "undetermined"),
    ],
)
def test_the_interval_of_a_statistic_decides(limits: dict[str, float], same: str) -> None:
    (here,) = _judged(_wanted("value", "p50", **limits), _run(_result(_even(100.0))))
    assert here.same == same
    assert here.value == pytest.approx(100.0)
    assert here.low and here.high and 98.9 < here.low <= 100 <= here.high < 101.1
    assert here.reason == (
        None if same != "undetermined" else "the interval reaches over the limit"
    )


def test_a_time_is_converted_to_the_unit_of_the_limit() -> None:
    (here,) = _judged(_wanted("value", "p50", unit="us", most=0.2), _run(_result(_even(100.0))))
    assert here.same == "yes"
    assert here.value == pytest.approx(0.1)


def test_instructions_are_held_against_no_limit_of_time() -> None:
    counted = structs.replace(_result(_even(100.0)), unit="instructions")
    (here,) = _judged(_wanted("value", "p50", unit="us", most=0.2), _run(counted))
    assert (here.same, here.value, here.reason) == ("undetermined", None, NOT_TIME)


def test_a_largest_sample_can_refute_a_bound_but_not_show_it() -> None:
    run = _run(_result(_even(100.0, 0.01, 500.0)))
    assert _judged(_wanted("value", "max", most=499.0), run)[0].same == "no"
    (here,) = _judged(_wanted("value", "max", most=501.0), run)
    assert (here.same, here.low, here.high) == ("undetermined", 500.0, None)
    assert here.reason == NO_BOUND.format(n=2000)
    assert _judged(_wanted("value", "max", least=500.0), run)[0].same == "yes"


def test_a_model_repeats_its_largest_sample() -> None:
    model = _run(_result(_even(100.0, 0.01, 500.0)), target=_model("x"))
    assert _judged(_wanted("value", "max", most=501.0), model)[0].same == "yes"
    assert _judged(_wanted("value", "max", most=499.0), model)[0].same == "no"


def test_several_seeds_of_a_model_are_no_exact_numbers() -> None:
    runs = [
        _run(_result(_even(value)), run_id=str(value),
             target=Target(name="sim:x", detail={"model": "x", "seed": seed, "system": "x"}))
        for seed, value in enumerate((100.0, 100.05))
    ]  # fmt: skip
    (here,) = _judged(_wanted("value", "p50", most=1e3), *runs)
    assert here.low is not None
    assert here.high is not None
    assert here.low < (here.value or 0) < here.high
    (here,) = _judged(_wanted("value", "p50", most=1e3), runs[0])
    assert (here.low, here.high) == (here.value, here.value)


def test_every_case_has_to_keep_the_limit_and_the_one_that_does_not_is_named() -> None:
    run = _run(*(_result(_even(value), size=n) for n, value in ((1024, 100.0), (2048, 150.0))))
    assert _judged(_wanted("value", "p50", most=152.0), run)[0].same == "yes"
    (here,) = _judged(_wanted("value", "p50", most=120.0), run)
    assert (here.same, here.numbers, here.most) == ("no", 1, None)
    assert here.value == pytest.approx(150.0)  # which decides
    assert here.reason == "does not hold in 1 of 2 cases: mem.memset size=2KiB"
    (here,) = _judged(_wanted("value", "p50", most=150.0), run)
    assert here.same == "undetermined"
    assert str(here.reason).startswith("is undetermined in 1 of 2 cases: mem.memset size=2KiB; ")


def test_several_cases_have_wider_intervals() -> None:
    """Of five, each is at 99%, so that all of them together are wrong in 5% at most."""
    results = [_result(_even(100.0), size=n) for n in (64, 128, 256, 512, 1024)]
    for count, level in ((1, 0.95), (5, 0.99)):
        (here,) = _judged(_wanted("value", "p50", most=1e3), _run(*results[:count]))
        expected = estimate(results[:1], "p50", level)
        assert expected is not None
        assert (here.low, here.high) == (expected.low, expected.high)


def test_a_smallest_sample_has_no_lower_end() -> None:
    run = _run(_result(_even(100.0)))
    (here,) = _judged(_wanted("value", "min", least=98.0), run)
    assert (here.same, here.low) == ("undetermined", None)
    assert here.high == here.value
    assert _judged(_wanted("value", "min", most=100.0), run)[0].same == "yes"
    assert _judged(_wanted("value", "min", least=100.0), run)[0].same == "no"


def test_a_reason_names_three_cases_and_counts_the_others() -> None:
    run = _run(*(_result(_even(100.0 + n), size=1024 * n) for n in range(1, 6)))
    (here,) = _judged(_wanted("value", "p50", most=102.5), run)
    assert here.reason == "does not hold in 3 of 5 cases: " + "; ".join(
        f"mem.memset size={n}KiB" for n in (3, 4, 5)
    )
    (here,) = _judged(_wanted("value", "p50", most=90.0, number=[
        Number(), Number(here=Here(bench="mem.memcpy.fwd")),
    ]), run)  # fmt: skip
    assert str(here.reason).startswith("does not hold in 5 of 6 cases: mem.memset size=1KiB; ")
    assert str(here.reason).endswith("mem.memset size=3KiB; and 2 others")


def test_of_some_statements_any_case_is_enough() -> None:
    run = _run(*(_result(_even(value), size=n) for n, value in ((1024, 100.0), (2048, 150.0))))
    for least, same in ((120.0, "yes"), (150.0, "undetermined"), (160.0, "no")):
        (here,) = _judged(_wanted("value", "p50", least=least, scope="any"), run)
        assert here.same == same
        assert bool(here.reason) == (same != "no")


def test_what_the_system_lacks_is_left_out_and_what_failed_is_not() -> None:
    sound = _result(_even(100.0))
    wanted = _wanted("value", "p50", most=150.0, number=[
        Number(here=Here(params={"kind": "a"})), Number(here=Here(params={"kind": "b"})),
    ])  # fmt: skip
    lacking = structs.replace(sound, n=0, status="unsupported", reason="has none",
                              params={"kind": "b"})  # fmt: skip
    assert _judged(wanted, _run(sound, lacking))[0].same == "yes"
    (here,) = _judged(wanted, _run(sound, structs.replace(lacking, status="failed")))
    assert here.same == "undetermined"
    assert "failed: has none" in str(here.reason)
    (here,) = _judged(wanted, _run(lacking))
    assert here.same == "undetermined"
    assert "unsupported: has none" in str(here.reason)


def test_a_percentile_of_too_few_samples_decides_nothing() -> None:
    (here,) = _judged(_wanted("value", "p999", most=1e9), _run(_result(_even(100.0))))
    assert (here.same, here.value, here.reason) == (
        "undetermined", None, "no p99.9 of 2 000 samples",
    )  # fmt: skip


# ---- figures and facts --------------------------------------------------------------------------


def _figures(*values: float) -> list[Result]:
    return [
        structs.replace(_result([1.0, 2.0]), figures={"share": Figure(value=value, unit="%")})
        for value in values
    ]


def test_a_figure_needs_several_runs_for_an_interval() -> None:
    """Of 9, 10 and 11 the mean is 10, s 1, and t(2; 95%) s / sqrt(3) = 2.484."""
    wanted = _wanted("value", Show(figure=["share"]), most=12.6)
    (here,) = _judged(wanted, _run(*_figures(10.0)))
    assert (here.same, here.value, here.reason) == ("undetermined", 10.0, ONE_NUMBER)
    (here,) = _judged(wanted, _run(*_figures(9.0, 10.0, 11.0)))
    assert here.same == "yes"
    assert [here.low, here.high] == pytest.approx([7.516, 12.484], abs=1e-3)
    narrower = structs.replace(wanted, most=12.4)
    assert _judged(narrower, _run(*_figures(9.0, 10.0, 11.0)))[0].same == "undetermined"
    assert (
        _judged(structs.replace(wanted, most=7.5), _run(*_figures(9.0, 10.0, 11.0)))[0].same == "no"
    )


def test_a_number_in_a_table_of_texts_is_a_fact() -> None:
    limits = TextTable("Limits", ["limit", "value"], [["x", "99"], ["y", "many"]])
    run = _run(structs.replace(_result([1.0, 2.0]), tables=[limits]))
    show = Show(table="Limits", column="value", where={"limit": "x"})
    for least, same in ((99, "yes"), (100, "no")):
        assert _judged(_wanted("value", show, least=least), run)[0].same == same
    (here,) = _judged(_wanted("value", structs.replace(show, where={"limit": "y"}), least=1), run)
    assert (here.same, here.reason) == ("undetermined", "no number in its table 'Limits'")


# ---- ratios -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("far", "same"), [(130.0, "yes"), (300.0, "no"), (None, "undetermined")])
def test_the_ratio_of_two_statistics_of_the_same_samples(far: float | None, same: str) -> None:
    """p99 of 130, and of 300, in 1 of 50 samples; or of 1 in 100, where the interval has both."""
    samples = _even(100.0, 0.02, far) if far else _even(100.0, 0.01, 300.0)
    (here,) = _judged(_wanted("ratio", "p99", "p50", most=1.5), _run(_result(samples)))
    assert here.same == same
    if far:
        assert here.value == pytest.approx(far / 100, rel=1e-3)
    assert here.low is not None
    assert here.high is not None
    assert here.low <= (here.value or 0) <= here.high


def test_the_ratio_of_largest_and_smallest_has_no_upper_end() -> None:
    run = _run(_result(_even(100.0, 0.01, 198.0)))
    (here,) = _judged(_wanted("ratio", "max", "min", least=1.5), run)
    assert (here.same, here.low, here.high) == ("yes", here.value, None)
    assert here.value == pytest.approx(2.0, rel=1e-3)
    assert _judged(_wanted("ratio", "max", "min", most=2.5), run)[0].same == "undetermined"
    assert _judged(_wanted("ratio", "max", "min", most=1.9), run)[0].same == "no"


def test_one_sample_is_neither_the_largest_nor_the_smallest() -> None:
    lonely = structs.replace(_result([5.0, 5.0]), n=1, sd=None, histogram=[(5.0, 1)], batches=None)
    (here,) = _judged(_wanted("ratio", "max", "min", least=1.0), _run(lonely))
    assert (here.same, here.value, here.reason) == ("undetermined", None, "no max of 1 sample")


def test_a_ratio_without_an_interval_below_it_has_no_lower_end() -> None:
    dependent = structs.replace(_result(_even(100.0)), batches=None, sd=None)
    run = _run(dependent, _result(_even(50.0), "mem.memcpy.fwd"))
    against = [Number(against=Here(bench="mem.memcpy.fwd", show=["max"]))]
    (here,) = _judged(_wanted("ratio", "max", most=1.0, number=against), run)
    assert (here.same, here.low, here.high) == ("undetermined", None, None)
    assert here.value == pytest.approx(2.0)


def test_a_ratio_of_two_benches_pairs_their_cases() -> None:
    wanted = _wanted("ratio", "p50", least=1.5, number=[
        Number(against=Here(bench="mem.memcpy.fwd"))
    ])  # fmt: skip
    first = [_result(_even(value), size=n) for n, value in ((64, 20.0), (1024, 400.0))]
    other = [
        _result(_even(value), "mem.memcpy.fwd", size=n) for n, value in ((1024, 200.0), (64, 10.0))
    ]
    (here,) = _judged(wanted, _run(*first, *other))
    assert (here.same, here.numbers) == ("yes", 2)
    assert here.value == pytest.approx(2.0)
    (here,) = _judged(wanted, _run(*first, *other[:1]))
    assert here.same == "undetermined"
    assert "mem.memset size=64" in str(here.reason)


def test_cases_are_paired_whatever_their_number_of_samples() -> None:
    wanted = _wanted("ratio", "p50", least=1.5, number=[
        Number(against=Here(bench="mem.memcpy.fwd"))
    ])  # fmt: skip
    first = [_result(_even(20.0), size=n, samples=n) for n in (64, 1024)]
    other = [_result(_even(10.0), "mem.memcpy.fwd", size=n, samples=7) for n in (64, 1024)]
    assert _judged(wanted, _run(*first, *other))[0].same == "yes"


def test_a_model_of_one_configuration_has_that_alone() -> None:
    def judged(config: str, number: str) -> Judgement:
        target = Target(name="sim:x", detail={"model": "x", "config": config})
        run = _run(_result(_even(100.0), config="1cpu"), target=target)
        place = [Number(here=Here(params={"config": number}))]
        return _judged(_wanted("value", "p50", most=150.0, number=place), run)[0]

    assert judged("1rt", "1rt").same == "yes"
    assert judged("1cpu", "1cpu").same == "yes"
    other = judged("1rt", "1cpu")
    assert (other.same, other.reason) == ("undetermined", "is a model of configuration 1rt")


def test_what_a_model_does_not_know_decides_nothing() -> None:
    """No table has what the load does to a reading of the clock, so the model is as without it."""
    wanted = next(
        s for s in layout.layout("obenland").statement if "close to 1 s" in s.words
    )  # fmt: skip
    result = structs.replace(_result(_even(1000.0), "det.bintime", config="1cpu"), load="heavy")
    bench = structs.replace(BENCH, id="det.bintime")

    def judged(**detail: str) -> Judgement:
        run = _run(result, target=Target(name="x", detail=dict(detail)), benches=[bench])
        return judging._statement("obenland", wanted, systems([run])).here[0]

    assert judged().value is not None
    model = judged(label="a model")
    assert (model.same, model.value) == ("undetermined", None)
    assert str(model.reason).startswith("not modelled: no table has what the load does")


def test_what_is_not_above_zero_has_no_ratio() -> None:
    (here,) = _judged(_wanted("ratio", "max", "min", most=9), _run(_result([-1.0, 2.0, 3.0])))
    assert (here.same, here.value) == ("undetermined", None)
    assert "not above zero" in str(here.reason)


# ---- growth -------------------------------------------------------------------------------------


def _slope(*points: tuple[float, float]) -> Run:
    slope = Slope(
        bench="mem.memset", load="none", over="size", params={"kind": "a"}, points=list(points),
        slope=0.0, ci95=(0.0, 0.0), unit="ns per byte", constant=False, statistic="min",
    )  # fmt: skip
    results = [_result(_even(y), size=int(x)) for x, y in points]
    return _run(*results, slopes=[slope])


GROWS = {"least": 1.1}
CONSTANT = {"least": 0.9, "most": 1.1}


@pytest.mark.parametrize(
    ("points", "value", "grows", "constant"),
    [
        ([(1, 100.0), (5, 140.0), (16, 250.0)], 2.5, "yes", "no"),
        ([(1, 100.0), (5, 100.0), (16, 100.0)], 1.0, "no", "yes"),
        ([(1, 100.0), (5, 300.0), (16, 250.0)], None, "undetermined", "undetermined"),
    ],
)
def test_growth_is_that_of_the_slope_over_the_whole_range(
    points: list[tuple[float, float]], value: float | None, grows: str, constant: str
) -> None:
    (here,) = _judged(_wanted("growth", "min", **GROWS), _slope(*points))
    assert here.same == grows
    assert value is None or here.value == pytest.approx(value)
    assert _judged(_wanted("growth", "min", **CONSTANT), _slope(*points))[0].same == constant


def test_growth_has_the_interval_of_its_slope() -> None:
    """Of 100, 110 and 150 over 0, 1 and 2 the slope is 25, so that 50 are added to 100."""
    line = fit([(0, 100.0), (1, 110.0), (2, 150.0)])
    assert line is not None
    (here,) = _judged(_wanted("growth", "min", **GROWS), _slope((0, 100.0), (1, 110.0), (2, 150.0)))
    assert here.value == pytest.approx(1.5)
    assert [here.low, here.high] == pytest.approx([1 + line.low / 50, 1 + line.high / 50])


def test_growth_is_of_the_figure_that_the_statement_names() -> None:
    """Least samples of differences may fall, even below 0, while what they are of grows."""
    run = _slope((1, 100.0), (5, 140.0), (16, 250.0))
    of_figure = structs.replace(run.slopes[0], statistic="figure", figure="lowest of 3")
    of_least = structs.replace(run.slopes[0], points=[(1, 100.0), (5, 60.0), (16, -50.0)])
    wanted = _wanted("growth", Show(figure=["lowest of 3"]), **GROWS)
    (here,) = _judged(wanted, structs.replace(run, slopes=[of_least, of_figure]))
    assert here.same == "yes"
    assert here.value == pytest.approx(2.5)
    (here,) = _judged(wanted, structs.replace(run, slopes=[of_least]))
    assert (here.same, here.value) == ("undetermined", None)
    assert here.reason == "the slope is of min, not of lowest of 3: measure it anew"


def test_without_a_slope_there_is_no_growth() -> None:
    (here,) = _judged(_wanted("growth", "min", **GROWS), _run(_result(_even(100.0))))
    assert here.same == "undetermined"
    assert "no slope" in str(here.reason)


# ---- two systems --------------------------------------------------------------------------------


def _pair(linux: float, other: float) -> tuple[Run, Run]:
    return _run(_result(_even(linux))), _run(_result(_even(other)), os="OSE 5.3", run_id="b")


@pytest.mark.parametrize(
    ("linux", "other", "same"),
    [(100.0, 900.0, "yes"), (900.0, 100.0, "no"), (100.0, 150.0, "undetermined")],
)
def test_a_system_is_held_against_linux_as_compare_does(
    linux: float, other: float, same: str
) -> None:
    """Single runs whose noise is unknown differ beyond a ratio of four only."""
    for order in (1, -1):
        both = _judged(_wanted("systems", "p50", least=1.02), *_pair(linux, other)[::order])
        ours, theirs = both[::order][1], both[::order][0]
        assert ours.same == same
        assert ours.value == pytest.approx(other / linux)
        assert (theirs.same, theirs.reason) == (None, "is what the others are compared with")


def test_models_are_compared_exactly() -> None:
    linux, other = (structs.replace(run, target=_model(run.run_id)) for run in _pair(100.0, 150.0))
    assert _judged(_wanted("systems", "p50", least=1.02), linux, other)[1].same == "yes"
    assert _judged(_wanted("systems", "p50", least=1.6), linux, other)[1].same == "no"
    spread = structs.replace(other, results=[_result(_even(150.0, 0.02, 300.0))])
    assert _judged(_wanted("systems", "p99", "p50", most=0.98), linux, spread)[1].same == "no"
    assert (
        _judged(_wanted("systems", "p99", "p50", most=0.98), spread_of(linux), other)[1].same
        == "yes"
    )


def _model(name: str) -> Target:
    return Target(name=f"sim:{name}", detail={"model": name})


def spread_of(run: Run) -> Run:
    return structs.replace(run, results=[_result(_even(100.0, 0.02, 300.0))])


def test_the_spreads_of_single_runs_decide_nothing() -> None:
    linux, other = _pair(100.0, 100.0)
    (_, here) = _judged(_wanted("systems", "p99", "p50", most=0.98), spread_of(linux), other)
    assert (here.same, here.low, here.high) == ("undetermined", None, None)


def test_a_statement_on_two_systems_needs_both() -> None:
    for run in _pair(100.0, 900.0):
        (here,) = _judged(_wanted("systems", "p50", least=1.02), run)
        assert (here.same, here.reason) == ("undetermined", PAIR)


def test_a_statement_is_asked_of_its_own_kind_of_system_alone() -> None:
    wanted = _wanted("value", "p50", most=200.0, about="Linux")
    linux, other = _judged(wanted, *_pair(100.0, 900.0))
    assert (linux.same, other.same, other.reason) == ("yes", None, "is about Linux")
    linux, other = _judged(structs.replace(wanted, about="RTOS"), *_pair(100.0, 900.0))
    assert (linux.same, other.same) == (None, "no")


# ---- the statements of the publications ---------------------------------------------------------

# What their numbers have to keep, by how their words begin.
LIMITS: dict[str, list[tuple[str, float | None, float | None]]] = {
    "dankwardt": [
        ("timers of 15 ms come every 20 ms, two ticks", 19.9, 20.1),
        ("interrupts are masked for over 100 us only r", None, 100.0),
        ("a response within 50 ms takes no more than a", None, 50.0),
        ("scheduling latency reaches 100 ms under stre", 100.0, None),
        ("lat_ctx: the highest of three runs is about ", None, 1.1),
        ("lat_ctx: larger processes cost more, as refi", 1.1, None),
        ("preemptible kernels: latencies from a few ms", None, 10.0),
        ("a sleep of N ms takes N + 10 ms", 9.5, 10.5),
        ("a periodic task of a sub-kernel is at most 3", None, 30.0),
    ],
    "golatowski": [
    ],
    "gutsalov": [
        ("a switch takes the same time whatever the nu", 0.9, 1.1),
        ("the average is the typical case", 0.9, 1.1),
        ("the system allows more than 129 tasks on one", 129.0, None),
    ],
    "obenland": [
        ("POSIX requires 32 real-time priorities; Lynx", 32.0, None),
        ("timer jitter stays below 200 us without load", None, 200.0),
        ("timer jitter without load is lowest with a r", None, 0.98),
        ("under heavy load, timer jitter without a res", 1.0, None),
        ("the interval between two clock readings stay", None, 10.0),
        ("elsewhere that interval is 100 us at most, w", None, 100.0),
        ("under heavy load that interval is close to 1", 0.5, 2.0),
        ("test 1: load has little effect with a reserv", 0.8, 1.25),
        ("test 1: a named semaphore is much slower (So", 2.0, None),
        ("test 2: the types of semaphore are about equ", 0.8, 1.25),
        ("test 3: with a mutex that inherits nothing i", 5.0, None),
        ("test 3: no inversion where the lock inherits", None, 5.0),
        ("test 3: acceptable under heavy load with a r", None, 5.0),
        ("signals degrade strongly under load on 1 pro", 2.0, None),
        ("a switch between processes is faster than be", None, 0.98),
        ("at worst it is an order of magnitude slower ", 5.0, None),
    ],
    "sjoblom": [
        ("memcpy: Linux is faster", 1.02, None),
        ("memmove: that of Linux is not tuned, and may", 1.02, None),
        ("memset: Linux is faster", 1.02, None),
        ("memset: both are nearly deterministic", None, 1.5),
        ("malloc: OSE is deterministic while served fr", None, 1.5),
        ("malloc: OSE is slower from main memory", 1.02, None),
        ("malloc: Linux is less deterministic", None, 0.98),
        ("malloc: the worst cases of small and large b", 0.67, 1.5),
        ("free: OSE holds up well", None, 1.5),
        ("free: Linux is far from deterministic", 2.0, None),
        ("create: Linux is slightly faster on average", 1.02, None),
        ("create: OSE is more deterministic", None, 0.98),
        ("create: OSE takes 11 us, and took 47 us once", None, 4.3),
        ("kill: both are deterministic", None, 1.5),
        ("kill: OSE is very slow", 2.0, None),
        ("send and receive: the time grows with the si", 1.1, None),
        ("send and receive: the time is constant on OS", 0.9, 1.1),
        ("send and receive: pointers with the copies a", None, 1.5),
        ("yield: OSE is slower on average", 1.02, None),
        ("yield: OSE is deterministic", None, 1.5),
        ("yield: Linux varies by nearly a factor of tw", 1.5, None),
        ("scheduler 50: the test is unreliable", 1.1, None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_the_limits_of_the_statements_are_these(source: str) -> None:
    judged = [wanted for wanted in layout.layout(source).statement if not wanted.lacks]
    assert [
        (wanted.words[: len(words)], wanted.least, wanted.most)
        for wanted, (words, _, _) in zip(judged, LIMITS[source], strict=True)
    ] == LIMITS[source]


# Whether the published numbers of a system bear out the statement, where there are any.
THEN = {
    ("dankwardt", "timers of 15 ms come every 20 ms, two ticks", "Linux 2.4.9"): True,
    ("dankwardt", "a response within 50 ms takes no more than a", "Linux 2.4"): True,
    ("dankwardt", "a sleep of N ms takes N + 10 ms", "Linux 2.4"): True,
    ("gutsalov", "a switch takes the same time whatever the nu", "RTAI-22.2.4"): False,
    ("gutsalov", "a switch takes the same time whatever the nu", "RTAI-24.1.8"): True,
    ("gutsalov", "a switch takes the same time whatever the nu", "Linux-2.2.15"): False,
    ("obenland", "POSIX requires 32 real-time priorities; Lynx", "LynxOS 3.0.1"): True,
    ("obenland", "a switch between processes is faster than be", "Lynx"): False,
    ("obenland", "a switch between processes is faster than be", "Solaris (1 rt)"): True,
    ("obenland", "a switch between processes is faster than be", "Solaris (1 proc)"): True,
    ("obenland", "a switch between processes is faster than be", "Solaris (2 proc)"): True,
    ("obenland", "at worst it is an order of magnitude slower ", "Lynx"): False,
    ("obenland", "at worst it is an order of magnitude slower ", "Solaris (1 rt)"): True,
    ("obenland", "at worst it is an order of magnitude slower ", "Solaris (1 proc)"): False,
    ("obenland", "at worst it is an order of magnitude slower ", "Solaris (2 proc)"): False,
    ("sjoblom", "create: OSE takes 11 us, and took 47 us once", "OSE 5.3"): True,
}  # fmt: skip


def test_the_published_numbers_are_judged_by_the_same_rule() -> None:
    seen = {
        (source, statement.words[:44], then.system): then.same
        for source in SOURCES
        for statement in statements(source, [])
        for then in statement.then
        if then.same is not None
    }
    assert seen == THEN


def test_published_numbers_give_ratio_growth_and_value() -> None:
    values = {
        (statement.words[:10], then.system): then.value
        for source in SOURCES
        for statement in statements(source, [])
        for then in statement.then
    }
    assert values["create: OS", "OSE 5.3"] == pytest.approx(47 / 11)
    assert values["a switch b", "Lynx"] == pytest.approx(24.2 / 20.1)
    assert values["a switch t", "RTAI-24.1.8"] == 1.0
    # The slope of 0.4, 0.4, 0.9, 1.4, 5.3 us over 0, 1, 33, 65, 129 tasks is 0.036487 us each.
    assert values["a switch t", "RTAI-22.2.4"] == pytest.approx(1 + 0.036487 * 129 / 0.4, rel=1e-4)
    assert values["timers of ", "Linux 2.4.9"] == 19.99
    assert values["timer jitt", "Lynx"] == "<200 us"


@pytest.mark.parametrize("source", SOURCES)
def test_each_record_of_the_prose_is_in_a_statement(source: str) -> None:
    """Those that a number decides, or that say why none does."""
    wanted = layout.layout(source).statement
    picked = {id(record) for each in wanted for record in each.records(source)}
    for each in wanted:
        for number in each.number:
            if number.printed is not None:
                records = published.find(source, **(each.printed | number.printed))
                picked |= set(map(id, records))
    prose = [
        record for record in published.find(source)
        if record.quality in {"statement", "bound from prose"}
    ]  # fmt: skip
    assert [r for r in prose if id(r) not in picked and "hdparm" not in r.condition] == []


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("", "has no number; write number with show and meaning, or lacks"),
        ('meaning = "x"\nnumber = [{ here = { show = ["p50"] } }]', "has no limit"),
        ('meaning = "x"\nnumber = [{ here = { show = ["p51"] } }]', "unknown statistic 'p51'"),
        ('lacks = "x"\nsaid = [{ metric = "y" }]', "picks no published record"),
        ('lacks = "x"\nnumber = [{ printed = { metric = "y" } }]', "picks no published number"),
        ('lacks = "x"\nrules = "y"', "unknown field `rules`"),
    ],
)
def test_a_statement_that_nothing_can_decide_is_refused(
    tmp_path: Path, added: str, message: str
) -> None:
    path = tmp_path / "gutsalov.toml"
    path.write_text(
        'title = "t"\nprinted = "1"\nsuites = ["gutsalov"]\ntable = []\n'
        f'[[statement]]\ntable = "prose"\nwords = "w"\n{added}'
    )
    with pytest.raises(UsageError, match=message):
        layout.read("gutsalov", path)
