"""What a target lacks gives a result `unsupported`; what no target has is a usage error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rtstone.documents.plan import LoadSpec, UnsupportedCase
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.capabilities import CHOICES, WORDS, lack, merge_catalogues
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.measure.suite import Expanded, Wanted, expand
from rtstone.results.derived import DERIVED
from rtstone.targets import find
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import Bench, Load, Param

KINDS = ["thread", "clone", "fork"]
THERE = Catalogue(
    {
        "proc.create": Bench(
            "proc.create",
            "",
            params=[
                Param("kind", "choice", default="thread", choices=KINDS),
                Param("prio", "int", default=98, min=1, max=98),
                Param("how", "choice", default="a", choices=["a"]),
                Param("samples", "int", default=10, min=0, max=100),
            ],
        ),
        "posix.options": Bench("posix.options", "", params=[Param("time", "duration", max=9)]),
    },
    {
        "heavy": Load("heavy", "", params=[Param("disk", "bool", default=True)]),
        "bg": Load("bg", "", params=[Param("by", "choice", choices=["irq", "timer"])]),
    },
)
HERE = Catalogue(
    {
        "null": Bench("null", ""),
        "dk.guarantee": DERIVED["dk.guarantee"].bench,
        "proc.create": Bench(
            "proc.create",
            "",
            params=[
                Param("kind", "choice", default="thread", choices=["thread", "process"]),
                Param("prio", "int", default=61, min=1, max=61),
                Param("samples", "int", default=5, min=0, max=1000),
            ],
        ),
    },
    {"bg": Load("bg", "", params=[Param("by", "choice", choices=["timer"])])},
)


def expanded(*wanted: Wanted, **options: Any) -> Expanded:
    return expand(list(wanted), Request(**options), HERE, merge_catalogues(HERE, THERE))


def reasons(expansion: Expanded) -> list[tuple[dict[str, Any], str, str]]:
    return [(case.params, case.load, case.reason) for case in expansion.absent]


def test_what_both_have_keeps_its_own_defaults() -> None:
    both = merge_catalogues(HERE, THERE).benches["proc.create"]
    kind, prio, samples, how = (both.param(n) for n in ("kind", "prio", "samples", "how"))
    assert kind
    assert kind.choices == ["thread", "process", "clone", "fork"]
    assert prio
    assert (prio.default, prio.min, prio.max) == (61, 1, 98)
    assert samples
    assert (samples.default, samples.max) == (5, 1000)
    assert how


def test_texts_that_have_no_room_here_come_from_elsewhere() -> None:
    params = [Param("size", "size", default=8, help=""), Param("kind", "choice", help="its own")]
    small = Bench("mem.copy", "", params=params, metric="memory")
    full = Bench(
        "mem.copy",
        "Copy",
        source="a paper",
        help="One copy.",
        params=[Param("size", "size", help="of a block"), Param("kind", "int", help="another")],
    )
    both = merge_catalogues(Catalogue({"mem.copy": small}, {}), Catalogue({"mem.copy": full}, {}))
    bench = both.benches["mem.copy"]
    assert (bench.title, bench.source, bench.help) == ("Copy", "a paper", "One copy.")
    assert bench.metric == "memory"
    assert [(p.default, p.help) for p in bench.params] == [(8, "of a block"), (None, "its own")]
    said = Load("spin", "Mine", help="my help")
    both = merge_catalogues(
        Catalogue({}, {"spin": said}), Catalogue({}, {"spin": Load("spin", "Theirs")})
    )
    assert (both.loads["spin"].title, both.loads["spin"].help) == ("Mine", "my help")


def test_values_that_are_not_there_and_those_that_are() -> None:
    plan = expanded(
        Wanted("proc.create", {"kind": [*KINDS, "process"], "samples": [7, 8]}),
    )
    assert [case.params["kind"] for case in plan.cases] == ["thread"] * 2 + ["process"] * 2
    why = "is not supported here, it has thread, process"
    assert plan.absent == [  # once, whatever else is requested
        UnsupportedCase(number, "proc.create", {"kind": kind}, "none", f"kind={kind} {why}")
        for number, kind in [(5, "clone"), (6, "fork")]
    ]


def test_each_has_a_number_of_its_own() -> None:
    plan = expanded(
        Wanted("proc.create", {"kind": [*KINDS, "process"]}),
        Wanted("posix.options", {"time": "5ns"}),
        Wanted("dk.guarantee", {}),
    )
    numbers = [case.id for case in [*plan.cases, *plan.absent, *plan.derived]]
    assert numbers == list(range(1, len(numbers) + 1))


def test_numbers_out_of_its_range() -> None:
    plan = expanded(Wanted("proc.create", {"prio": [1, 98]}))
    assert [case.params for case in plan.cases] == [{"prio": 1}]
    assert reasons(plan) == [
        ({"prio": 98}, "none", "prio=98 is not supported here, it may be 1 to 61")
    ]


def test_parameters_that_it_lacks() -> None:
    plan = expanded(Wanted("proc.create", {"how": "a"}))
    assert reasons(plan) == [
        ({"how": "a"}, "none", "proc.create has no parameter how on this target")
    ]
    # A parameter given for many benches applies to those that have it.
    assert expanded(Wanted("proc.create", {}, common={"how": "a"})).cases[0].params == {}
    assert expanded(Wanted("proc.create", {}), params={"how": "a"}).cases[0].params == {}


def test_benches_that_it_lacks() -> None:
    plan = expanded(Wanted("posix.options", {"time": "5ns"}), loads=("none", "bg:by=timer"))
    assert not plan.cases
    assert reasons(plan) == [
        ({}, load, "this target has no bench posix.options") for load in ("none", "bg:by=timer")
    ]
    assert not plan.calls  # nothing is started for it


def test_what_it_lacks_of_what_they_need() -> None:
    """The reason is a property of the system, not of its agent, where the agent told which."""
    board = Catalogue(
        {
            "sys.read": Bench("sys.read", needs=["network", "posix", "files", "heap"]),
            "a.b": Bench("a.b"),
        },
        {"copy": Load("copy", needs=["files"]), "odd": Load("odd", needs=["future", "heap"])},
    )
    here = HERE._replace(capabilities=frozenset({"heap"}), apart={"a.": "a is in the image m"})

    def why(bench: str, load: str, here: Catalogue) -> str | None:
        missing = lack(bench, {}, LoadSpec(load), here, merge_catalogues(here, board))
        return missing and missing.reason

    needs = "needs a network, calls of POSIX and a file system, which this system does not have"
    assert why("sys.read", "none", here) == needs
    assert why("a.b", "none", here) == "a is in the image m"
    assert why("null", "copy", here) == (
        "load copy needs a file system, which this system does not have"
    )
    assert why("null", "odd", here) == "load odd needs future, which this system does not have"
    everything = here._replace(
        capabilities=frozenset({"posix", "files", "heap", "future", "network"})
    )
    for silent in (everything, here._replace(capabilities=None)):
        assert why("sys.read", "none", silent) == "this target has no bench sys.read"
        assert why("null", "copy", silent) == "this target has no load copy"
    assert why("null", "bg", here) is None


def test_what_it_lacks_of_what_a_choice_takes() -> None:
    kind = Param("kind", "choice", default="thread", choices=["thread", "static"])
    bench = Bench("proc.create", params=[kind])
    everywhere = Catalogue({bench.id: bench}, {})

    def why(value: str, capabilities: frozenset[str] | None) -> str | None:
        here = Catalogue({bench.id: bench}, {}, capabilities=capabilities)
        missing = lack(bench.id, {"kind": value}, LoadSpec("none"), here, everywhere)
        return missing and missing.reason

    assert why("fork", frozenset()) == "kind=fork needs processes, which this system does not have"
    other = "is not supported here, it has thread, static"
    assert why("fork", frozenset({"process"})) == f"kind=fork {other}"
    assert why("fork", None) == f"kind=fork {other}"
    assert why("task", frozenset()) == f"kind=task {other}"
    assert why("static", frozenset()) is None


def test_a_load_that_its_cpu_cannot_bear_runs_without_one_of_its_parts() -> None:
    load = Load("heavy", params=[Param("network", "bool", default=True), Param("place", "text")])
    slow = Catalogue({"null": Bench("null")}, {"heavy": load}, beyond={"heavy": "is beyond it"})
    calls = (
        LoadSpec("heavy"),
        LoadSpec("heavy", {"place": "any"}),
        LoadSpec("heavy", {"network": True}),
    )
    for call in calls:
        missing = lack("null", {}, call, slow, slow)
        assert missing and missing.reason == "load heavy is beyond it"
    assert lack("null", {}, LoadSpec("heavy", {"network": False}), slow, slow) is None


def test_each_choice_that_takes_a_capability_is_one_of_a_bench() -> None:
    with Interrupt() as interrupt:
        offered = [catalogue(find(name), interrupt) for name in ("local", "sim")]
    tables = [t for here in offered for t in (*here.benches.values(), *here.loads.values())]
    params = [param for table in tables for param in table.params]
    choices = {(param.name, choice) for param in params for choice in param.choices or ()}
    assert set(CHOICES) <= choices
    assert set(CHOICES.values()) <= set(WORDS)


def test_each_capability_has_words() -> None:
    port = (Path(__file__).parents[2] / "agent/core/port.h").read_text()
    names = re.findall(r'^    X\(\w+, "(\w+)"\)', port, re.MULTILINE)
    assert list(WORDS) == names


def test_loads_that_it_lacks() -> None:
    plan = expanded(
        Wanted("proc.create", {"samples": [1, 2]}),
        loads=("none", "heavy:disk=off", "bg:by=irq", "bg"),
    )
    assert [case.load for case in plan.cases] == ["none", "none", "bg", "bg"]
    assert reasons(plan) == [
        ({}, "heavy:disk=off", "this target has no load heavy"),
        ({}, "bg:by=irq", "load bg: by=irq is not supported here, it has timer"),
    ]
    assert set(plan.calls) == {"none", "bg"}


@pytest.mark.parametrize(
    ("wanted", "options", "says"),
    [
        (Wanted("posix.optoins", {}), {}, "unknown bench 'posix.optoins'; .*'posix.options'"),
        (Wanted("proc.create", {"kind": "clown"}), {}, "bad value 'clown' of kind.*clone, fork"),
        (Wanted("proc.create", {"prio": 99}), {}, "bad value '99' of prio.* 1 to 98"),
        (Wanted("posix.options", {"tme": 1}), {}, "unknown parameter 'tme'.*'time'"),
        (Wanted("proc.create", {}), {"loads": ("heavi",)}, "unknown load 'heavi'.*'heavy'"),
        (Wanted("proc.create", {}), {"loads": ("heavy:dsk=off",)}, "unknown parameter 'dsk'"),
        (Wanted("proc.create", {}), {"params": {"knd": "x"}}, "no bench of this run has"),
    ],
)
def test_what_nobody_has(wanted: Wanted, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        expanded(wanted, **options)
