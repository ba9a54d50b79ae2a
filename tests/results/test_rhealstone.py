"""The numbers derived from Rhealstone's components, on made-up results."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Result
from rtstone.errors import UsageError
from rtstone.measure.request import Request
from rtstone.measure.suite import Wanted, expand
from rtstone.results import derived, rhealstone
from rtstone.results.derived import DERIVED
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import Bench, Param

# ns
MEANS = {"il": 1000.0, "ts": 2000.0, "pt": 4000.0, "im": 5000.0, "ss": 8000.0, "db": 10_000.0}
SUM_US = 30.0
SUM_RATE = 1e6 + 5e5 + 2.5e5 + 2e5 + 1.25e5 + 1e5


def component(name: str, **members: Any) -> Result:
    params = {"form": "sampled", "config": "bound"}
    if name == "db":
        params |= {"variant": "rtems", "lock": "inherit"}
    defaults: dict[str, Any] = {
        "case": 1, "bench": f"rheal.{name}", "load": "none", "status": "ok", "n": 5,
        "mean": MEANS[name], "params": params | members.pop("with_params", {}),
    }  # fmt: skip
    return Result(**defaults | members)


def components(**members: Any) -> list[Result]:
    return [component(name, **members) for name in MEANS]


def derive(plan: Plan, number: str, measured: list[Result], **weights: int) -> list[Result]:
    case = Case(9, f"rheal.{number}", {f"weight_{k}": v for k, v in weights.items()})
    tables = plan.benches | {case.bench: derived.DERIVED[case.bench].bench}
    plan = msgspec.structs.replace(plan, derived=[case], benches=tables)
    return derived.results(plan, measured)


def value(result: Result, name: str) -> tuple[Any, str]:
    figure = result.figures[name]
    assert figure.value is not None
    return figure.value, figure.unit


@pytest.mark.parametrize(
    ("number", "name", "expected", "unit"),
    [
        ("sum_time", "sum of times", SUM_US, "us"),
        ("weighted_time", "weighted sum of times", SUM_US, "us"),
        ("rate", "sum of rates", SUM_RATE, "1/s"),
        ("weighted_rate", "weighted sum of rates", SUM_RATE, "1/s"),
        ("mean_rate", "rate of the mean time", 1 / 5e-6, "1/s"),
    ],
)
def test_equal_weights(plan: Plan, number: str, name: str, expected: float, unit: str) -> None:
    (result,) = derive(plan, number, components())
    assert value(result, name) == (pytest.approx(expected), unit)
    assert value(result, "components") == (6, "of 6")
    assert (result.status, result.flags, result.reason) == ("ok", ["derived"], None)
    assert set(result.figures) == {name, "components"}


@pytest.mark.parametrize(("irq", "stand_in"), [("signal", "a signal"), ("eventfd", "an eventfd")])
def test_a_signal_is_no_interrupt(plan: Plan, irq: str, stand_in: str) -> None:
    """The number is over the five others, and a second one has what stood for the interrupt."""
    measured = [component("il", with_params={"irq": irq}), *components()[1:]]
    (total,) = derive(plan, "sum_time", measured)
    assert list(total.figures) == [
        "sum of times", f"sum of times, with {stand_in} in the interrupt's place", "components",
    ]  # fmt: skip
    numbers = [figure.value for figure in total.figures.values()]
    assert numbers == pytest.approx([SUM_US - 1, SUM_US, 5])
    assert (total.status, total.flags) == ("ok", ["derived", "partial"])
    why = f"{stand_in} stood in the interrupt's place"
    assert total.reason == f"n.e.: interrupt latency, {why}"
    assert total.tables[0].rows[0] == ["rheal.il", "interrupt latency", "1", "5", why]
    (rate,) = derive(plan, "mean_rate", measured)
    assert value(rate, "rate of the mean time")[0] == pytest.approx(1e6 / (29 / 5))
    own = component("il", with_params={"irq": "interrupt"})
    (total,) = derive(plan, "sum_time", [own, *components()[1:]])
    assert value(total, "sum of times") == (pytest.approx(SUM_US), "us")
    (alone,) = derive(plan, "sum_time", measured[:1])
    assert (alone.status, "sum of times" in alone.figures) == ("incomplete", False)


@pytest.mark.parametrize(
    ("number", "name", "expected"),
    [
        ("weighted_time", "weighted sum of times", 2 * 1 + 3 * 2 + 0 * 4 + 5 + 8 + 10),
        ("weighted_rate", "weighted sum of rates", 2e6 + 1.5e6 + 0 + 2e5 + 1.25e5 + 1e5),
        # 8 operations take 31 us
        ("mean_rate", "application-specific rate of the mean time", 8 / 31e-6),
    ],
)
def test_weights(plan: Plan, number: str, name: str, expected: float) -> None:
    (result,) = derive(plan, number, components(), il=2, ts=3, pt=0)
    assert value(result, name)[0] == pytest.approx(expected)
    assert result.params["weight_ts"] == 3
    if number == "mean_rate":  # the generic note remains
        assert value(result, "rate of the mean time")[0] == pytest.approx(2e5)


@pytest.mark.parametrize("number", ["sum_time", "rate", "mean_rate"])
def test_what_the_system_cannot_have_is_named_and_the_rest_is_told(plan: Plan, number: str) -> None:
    absent = component("db", status="unsupported", reason="n.e.: M ran", n=0, mean=None)
    (result,) = derive(plan, number, [*components()[:-1], absent])
    assert result.status == "ok"
    assert result.flags == ["derived", "partial"]
    assert value(result, "components") == (5, "of 6")
    assert "n.e.: deadlock breaking, n.e.: M ran" in (result.reason or "")
    assert result.tables[0].rows[-1] == [
        "rheal.db", "deadlock breaking", "n.e.", "0", "n.e.: M ran",
    ]  # fmt: skip
    expected = {"sum_time": 20.0, "rate": SUM_RATE - 1e5, "mean_rate": 1 / 4e-6}[number]
    first = next(iter(result.figures.values()))
    assert first.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ({"status": "failed", "reason": "killed"}, "n.e.: message latency, failed: killed"),
        ({"status": "incomplete", "reason": "load x"}, "message latency, incomplete: load x"),
        ({"bench": "null"}, "message latency, it did not run"),
    ],
)
def test_what_was_lost_makes_it_incomplete(plan: Plan, lost: dict[str, Any], message: str) -> None:
    measured = [r for r in components() if r.bench != "rheal.im"]
    (result,) = derive(plan, "sum_time", [*measured, component("im", **lost)])
    assert result.status == "incomplete"
    assert message in (result.reason or "")
    assert value(result, "sum of times")[0] == pytest.approx(25)
    assert "partial" in result.flags


def test_a_mean_that_is_no_time_is_not_determined(plan: Plan) -> None:
    (result,) = derive(plan, "rate", [*components()[1:], component("il", mean=0.0)])
    assert value(result, "components")[0] == 5
    assert "interrupt latency, mean not above 0" in (result.reason or "")


def test_loads_forms_and_variants_are_kept_apart(plan: Plan) -> None:
    measured = [
        *components(),
        component("db", with_params={"variant": "kar"}, mean=20_000.0),
        *components(with_params={"form": "classic"}, mean=1000.0),
        *components(load="heavy", mean=3000.0),
    ]
    result = derive(plan, "sum_time", measured)
    sums: list[Any] = [
        (r.load, r.params["form"], r.params["variant"], value(r, "sum of times")[0]) for r in result
    ]
    assert sums == [
        ("none", "sampled", "rtems", pytest.approx(30)),
        ("none", "sampled", "kar", pytest.approx(40)),
        ("none", "classic", "rtems", pytest.approx(6)),
        ("heavy", "sampled", "rtems", pytest.approx(18)),
    ]


def test_a_load_that_comes_twice_makes_two(plan: Plan) -> None:
    result = derive(plan, "sum_time", [*components(), *components(mean=1000.0)])
    assert [value(r, "sum of times")[0] for r in result] == [pytest.approx(30), pytest.approx(6)]


def test_a_case_that_was_run_once_more_makes_no_number_of_its_own(plan: Plan) -> None:
    again = component("db", mean=1000.0)
    (result,) = derive(plan, "sum_time", [*components(), again])
    assert value(result, "sum of times")[0] == pytest.approx(30)


def test_of_two_forms_of_interrupt_the_first_counts(plan: Plan) -> None:
    other = component("il", with_params={"irq": "eventfd"}, mean=7000.0)
    (result,) = derive(plan, "sum_time", [*components(), other])
    assert value(result, "sum of times")[0] == pytest.approx(30)


def test_instructions_are_no_time(plan: Plan) -> None:
    (result,) = derive(plan, "sum_time", components(unit="instructions"))
    assert value(result, "sum of times") == (30_000, "instructions")
    (result,) = derive(plan, "rate", components(unit="instructions"))
    assert value(result, "sum of rates") == (pytest.approx(SUM_RATE / 1e9), "1/instructions")


def test_nothing_is_made_of_nothing(plan: Plan) -> None:
    (result,) = derive(plan, "rate", [])
    assert (result.status, result.reason) == ("incomplete", "none of its components ran")
    absent = components(status="unsupported", reason="no rights", n=0, mean=None)
    (result,) = derive(plan, "rate", absent)
    assert result.status == "unsupported"
    assert value(result, "components")[0] == 0


# ---- requesting them ----------------------------------------------------------------------------


def offered() -> Catalogue:
    form = Param("form", "choice", default="sampled", choices=["sampled", "classic"])
    variant = Param("variant", "choice", default="rtems", choices=["rtems", "kar"])
    samples = Param("samples", "int", default=100)
    benches = [Bench(f"rheal.{name}", "", params=[form, variant, samples]) for name in MEANS]
    numbers = [entry.bench for entry in DERIVED.values() if entry.bench.id.startswith("rheal.")]
    return Catalogue({bench.id: bench for bench in [*benches, *numbers]}, {})


def test_a_number_brings_its_components_once() -> None:
    wishes = [Wanted("rheal.sum_time", {}), Wanted("rheal.rate", {}), Wanted("rheal.rate", {})]
    expanded = expand(wishes, Request(), offered())
    assert len(expanded.cases) == 2 * 5 + 2 * 2
    assert [(c.id, c.bench, c.params) for c in expanded.derived] == [
        (15, "rheal.sum_time", {}), (16, "rheal.rate", {}),
    ]  # fmt: skip


def test_a_case_that_is_named_beside_a_number_is_the_same_one() -> None:
    wishes = [Wanted("rheal.db", {}), Wanted("rheal.sum_time", {})]
    assert len(expand(wishes, Request(), offered()).cases) == 2 * 5 + 2 * 2


def test_weights_are_parameters_of_the_number() -> None:
    wishes = [Wanted("rheal.mean_rate", {"weight_il": 3}), Wanted("rheal.sum_time", {})]
    expanded = expand(wishes, Request(params={"weight_ts": "7"}), offered())
    assert [c.params for c in expanded.derived] == [{"weight_il": 3, "weight_ts": 7}, {}]


@pytest.mark.parametrize(
    ("params", "message"),
    [({"weight_li": 3}, "unknown parameter 'weight_li'"), ({"weight_il": -1}, "bad value '-1'")],
)
def test_a_wrong_weight_is_refused(params: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        expand([Wanted("rheal.mean_rate", params)], Request(), offered())


def test_a_reason_of_several_components_is_told_once(plan: Plan) -> None:
    lost = [component(name, status="unsupported", reason="no load", n=0) for name in ("il", "ts")]
    rest = [r for r in components() if r.bench not in {"rheal.il", "rheal.ts"}]
    (result,) = derive(plan, "sum_time", [*lost, *rest])
    assert result.reason == "n.e.: interrupt latency, task switch, no load"


def test_the_components_of_a_run() -> None:
    assert rhealstone.components([]) is None
    measured = [
        component("il", with_params={"irq": "signal"}), component("ts"),
        component("pt", status="unsupported", reason="no priorities", mean=None),
        component("im", unit="instructions"), component("ts", load="heavy", mean=9.0),
    ]  # fmt: skip
    first = rhealstone.components(measured)
    assert first and (first.load, first.form) == ("none", "sampled")
    assert {name: each.mean_ns for name, each in first.times.items()} == {
        "il": None, "ts": 2000.0, "pt": None, "im": None, "ss": None, "db": None,
    }  # fmt: skip
    lacks = {name: each.lack for name, each in first.times.items() if each.mean_ns is None}
    assert lacks == {
        "il": "a signal stood in the interrupt's place", "pt": "no priorities",
        "im": "it is in instructions", "ss": "it did not run", "db": "it did not run",
    }  # fmt: skip
