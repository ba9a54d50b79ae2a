"""How a case is called: each clause of the rule."""

from __future__ import annotations

import pytest
from msgspec import structs

from rtstone.documents.case_name import (
    Case,
    CaseName,
    case_names,
    result_names,
    setting,
    usual_load,
)
from rtstone.documents.run import Result, Run, Target, Value
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "mem.memset", "memset",
    params=[
        Param("size", "size", "B", 64),
        Param("touch", "bool", default=True),
        Param("period", "duration", "ns", 10**6),
        Param("order", "choice", default="fifo", choices=["fifo", "lifo"]),
        Param("samples", "int", default=1000),
    ],
)  # fmt: skip


def texts(*params: dict[str, Value], bench: Bench = BENCH) -> list[str]:
    cases = [(bench.id, values, "", "none") for values in params]
    return [name.params for name in case_names(cases, [bench])]


def test_a_default_is_not_named() -> None:
    assert texts({"size": 64, "touch": True}) == [""]


def test_what_is_no_default_is_named_in_the_order_of_the_case() -> None:
    assert texts({"touch": False, "size": 16384}) == ["touch=off size=16KiB"]


def test_what_differs_within_a_bench_is_named_even_if_it_is_a_default() -> None:
    assert texts({"size": 64, "touch": True}, {"size": 65536, "touch": True}) == [
        "size=64B", "size=64KiB"
    ]  # fmt: skip


def test_what_differs_between_benches_is_not_named() -> None:
    cases = [("a", {"size": 64}, "", "none"), ("b", {"size": 65536}, "", "none")]
    assert [str(name) for name in case_names(cases, [])] == ["a", "b"]


@pytest.mark.parametrize(
    "name", ["samples", "time", "warmup", "prio", "cpus", "raw", "config", "batch"]
)
def test_how_it_was_measured_is_named_only_where_it_differs(name: str) -> None:
    bench = Bench("b", "b", params=[Param(name, "int", default=1000)])
    assert texts({name: 5}, {name: 5}, bench=bench) == ["", ""]
    assert texts({name: 5}, {name: 6}, bench=bench) == [f"{name}=5", f"{name}=6"]


def test_without_its_table_a_bench_has_no_defaults() -> None:
    cases: list[Case] = [
        ("x", {"size": 1, "touch": False}, "", "none"),
        ("x", {"size": 2, "touch": False}, "", "none"),
    ]
    assert [name.params for name in case_names(cases, [BENCH])] == ["size=1", "size=2"]


def name_of(load: str, *rest: str, usual: str | None = None) -> CaseName:
    cases: list[Case] = [("b", {}, "cpu 1", each) for each in (load, *rest)]
    return case_names(cases, [], usual)[0]


def test_the_only_load_is_not_named() -> None:
    assert str(name_of("cpu")) == str(name_of("cpu", "cpu")) == "b cpu 1"


def test_of_several_loads_all_but_none_are_named() -> None:
    assert str(name_of("cpu", "none")) == str(name_of("cpu", "io")) == "b cpu 1, load cpu"
    assert str(name_of("none", "cpu")) == "b cpu 1"
    assert [usual_load(loads) for loads in (["cpu"], ["cpu", "io"], [])] == ["cpu", "none", "none"]


def test_a_caller_can_set_the_usual_load() -> None:
    assert str(name_of("cpu", usual="none")) == "b cpu 1, load cpu"
    assert str(name_of("none", usual="cpu")) == "b cpu 1, load none"


def test_each_form_of_a_name() -> None:
    name = CaseName("dk.periodic", "period=250us", "cpu 1", "heavy", usual=False)
    assert f"{name}" == "dk.periodic period=250us cpu 1, load heavy"
    assert name.label == "period=250us cpu 1, load heavy"
    assert name.within_bench == "period=250us cpu 1"
    assert name.with_load == str(name)
    assert name.without_load == "dk.periodic period=250us cpu 1"
    usual = name._replace(usual=True)
    assert f"{usual}" == usual.without_load and usual.label == usual.within_bench
    assert usual.with_load == name.with_load
    bare = CaseName("null", "", "", "heavy", usual=False)
    assert (f"{bare}", bare.label, bare.within_bench) == ("null, load heavy", "load heavy", "")
    assert bare._replace(usual=True).label == ""


def test_results_are_named_among_all_of_their_run() -> None:
    first = Result(case=1, bench=BENCH.id, params={"size": 64}, load="none", status="ok", n=1)
    results = [first, structs.replace(first, params={"size": 65536}, series="cpu 1", load="io")]
    run = Run(
        run_id="r", created="c", status="complete", target=Target(name="local"), benches=[BENCH],
        results=results,
    )  # fmt: skip
    assert [str(name) for name in result_names(run)] == [
        "mem.memset size=64B", "mem.memset size=64KiB cpu 1, load io"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("size", 16384, "16KiB"),
        ("touch", False, "off"),
        ("period", 1_500_000, "1500us"),
        ("order", "lifo", "lifo"),
        ("samples", 10000, "10000"),
        ("none such", 10000, "10000"),
        ("none such", True, "on"),
        ("none such", [1, "a"], "1, a"),
        ("none such", [], "none"),
        ("size", None, "unknown"),
    ],
)
def test_parameters_as_a_person_writes_them(name: str, value: Value, text: str) -> None:
    assert setting(BENCH, name, value) == text
