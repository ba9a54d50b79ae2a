from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.documents.plan import Case
from rtstone.documents.run import Value
from rtstone.errors import UsageError
from rtstone.measure.request import Request
from rtstone.measure.suite import Expanded, Wanted, expand, load, select, shipped
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import Bench, Load, Param

LOADS = {
    "heavy": Load("heavy", "", params=[Param("disk", "bool", default=True)]),
    "command": Load("command", "", params=[Param("run", "text", max=99)]),
    "console": Load("console", "", params=[Param("allow", "bool", default=False)]),
}


def expanded(wanted: list[Wanted], *benches: Bench, **options: Any) -> Expanded:
    return expand(wanted, Request(**options), Catalogue({b.id: b for b in benches}, LOADS))


def cases_of(wanted: list[Wanted], *benches: Bench, **options: Any) -> list[Case]:
    return expanded(wanted, *benches, **options).cases


def write(path: Path, text: str) -> Path:
    file = path / "mine.toml"
    file.write_text(text)
    return file


def test_lists_expand_to_a_grid_in_the_order_written(tmp_path: Path, ballast: Bench) -> None:
    text = '[[case]]\nbench = "ctx.ballast"\n'
    text += 'params = { ballast = [0, 33], policy = ["fifo", "rr"], time = "1ms" }\n'
    cases = cases_of(load(write(tmp_path, text)).cases, ballast)
    assert [case.id for case in cases] == [1, 2, 3, 4]
    assert [(c.params["ballast"], c.params["policy"]) for c in cases] == [
        (0, "fifo"), (0, "rr"), (33, "fifo"), (33, "rr"),
    ]  # fmt: skip
    assert {case.params["time"] for case in cases} == {10**6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('titel = "x"', "unknown key 'titel'.*did you mean 'title'"),
        ('[[case]]\nbensh = "null"', "unknown key 'bensh'.*case 1.*did you mean 'bench'"),
        ("[[case]]\nparams = {}", "no bench named.*case 1"),
        ("[[case]]\nbench = 3", "'bench' is not text"),
        ('title = []\n[[case]]\nbench = "null"', "'title' is not text"),
        ("case = 3", "'case' is not a list"),
        ("x = " + "[" * 9999, "nested too deeply"),
        ("case = [1]", "not a table"),
        ("title = ", "not a TOML file"),
        ('title = "x"', "no cases"),
    ],
)
def test_bad_suites_are_refused_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError, match=message) as error:
        load(file)
    assert str(file) in str(error.value)


def test_not_utf8_and_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not a TOML file"):
        load(tmp_path / "x.toml")
    with pytest.raises(UsageError, match="cannot read suite"):
        load(tmp_path / "y.toml")


def test_unknown_benches_and_parameters_of_a_suite(tmp_path: Path, ballast: Bench) -> None:
    file = write(tmp_path, '[[case]]\nbench = "ctx.balast"')
    with pytest.raises(UsageError, match=r"ctx\.balast.*mine\.toml.*mean 'ctx\.ballast'"):
        expanded(load(file).cases, ballast)
    file = write(tmp_path, '[[case]]\nbench = "ctx.ballast"\nparams = { polizy = "rr" }')
    with pytest.raises(UsageError, match=r"polizy.*mine\.toml.*mean 'policy'"):
        expanded(load(file).cases, ballast)


def test_given_parameters_go_first_and_apply_where_known(ballast: Bench) -> None:
    null = Bench("null", "", params=[Param("time", "duration")])
    wanted = [Wanted("ctx.ballast", {"ballast": [0, 1]}), Wanted("null", {})]
    cases = cases_of(wanted, ballast, null, params={"ballast": "7", "time": "1"})
    assert [case.params for case in cases] == [{"ballast": 7, "time": 10**9}, {"time": 10**9}]


def test_a_given_parameter_unknown_to_every_bench_is_an_error(ballast: Bench) -> None:
    with pytest.raises(
        UsageError, match=r"no bench of this run has .* 'polic'; did you mean 'policy'"
    ):
        expanded([Wanted("ctx.ballast", {})], ballast, params={"polic": "rr"})


def test_defaults_yield_to_what_is_given(ballast: Bench) -> None:
    wanted = [Wanted("ctx.ballast", {"samples": 5})]
    (case,) = cases_of(wanted, ballast, time="2")
    assert case.params == {"samples": 0, "time": 2 * 10**9}
    (case,) = cases_of(wanted, ballast, time="2", params={"samples": "9"})
    assert case.params["samples"] == 9


def test_a_case_named_twice_runs_once(ballast: Bench) -> None:
    wanted = [Wanted("ctx.ballast", {"ballast": [1, 2]}), Wanted("ctx.ballast", {"ballast": 2})]
    assert len(cases_of(wanted, ballast)) == 2


def test_names_are_benches_suites_or_files(tmp_path: Path, ballast: Bench) -> None:
    benches = {"ctx.ballast": ballast}
    file = write(tmp_path, '[[case]]\nbench = "null"')
    assert select(["ctx.ballast", str(file)], benches) == [
        Wanted("ctx.ballast", {}), Wanted("null", {}, f"{file}, case 1"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="did you mean 'quick'"):
        select(["quik"], benches)
    file.rename(tmp_path / "mine")
    with pytest.raises(UsageError, match=r"name of a suite file ends in \.toml"):
        select([str(tmp_path / "mine")], benches)


def test_a_case_must_have_an_end(ballast: Bench) -> None:
    wanted = [Wanted("ctx.ballast", {"samples": 0}, "mine.toml, case 1")]
    with pytest.raises(UsageError, match=r"never end, in bench 'ctx\.ballast', mine\.toml"):
        expanded(wanted, ballast)
    assert cases_of(wanted, ballast, params={"time": "1"})


def test_the_shipped_suites_can_be_read() -> None:
    assert {"quick", "full"} <= shipped().keys()
    for path in shipped().values():
        assert load(path).description


# ---- loads, configurations, time scale ----------------------------------------------------------

PLACED = Bench(
    "a.b",
    "",
    params=[
        Param("n", "int", default=0),
        Param("samples", "int", default=1000),
        Param("time", "duration", default=10 * 10**9),
        Param("config", "choice", default="bound", choices=["bound", "1cpu", "2cpu"]),
    ],
)


def rows_of(cases: list[Case], *names: str) -> list[tuple[Value, ...]]:
    return [(case.load, *(case.params.get(name) for name in names)) for case in cases]


def test_all_cases_run_under_each_load_in_turn() -> None:
    wanted = [Wanted("a.b", {"n": [1, 2]})]
    cases = cases_of(wanted, PLACED, loads=("none", "heavy", "none", "heavy"))
    assert rows_of(cases, "n") == [
        ("none", 1), ("none", 2), ("heavy", 1), ("heavy", 2),
        ("none", 1), ("none", 2), ("heavy", 1), ("heavy", 2),
    ]  # fmt: skip
    assert [case.id for case in cases] == list(range(1, 9))


def test_a_suite_names_loads_and_a_case_its_own(tmp_path: Path) -> None:
    text = 'loads = ["none", "heavy"]\nparams = { config = ["1cpu", "2cpu"], other = 3 }\n'
    text += '[[case]]\nbench = "a.b"\n[[case]]\nbench = "a.b"\nloads = ["none"]\nparams = {n = 7}'
    wanted = load(write(tmp_path, text)).cases
    # cases that need the same load and configuration are adjacent
    assert rows_of(cases_of(wanted, PLACED), "config", "n") == [
        ("none", "1cpu", None), ("none", "1cpu", 7), ("none", "2cpu", None), ("none", "2cpu", 7),
        ("heavy", "1cpu", None), ("heavy", "2cpu", None),
    ]  # fmt: skip
    # the command line takes precedence
    cases = cases_of(wanted, PLACED, loads=("heavy",), params={"config": "bound"})
    assert rows_of(cases, "config", "n") == [("heavy", "bound", None), ("heavy", "bound", 7)]


def test_a_load_that_a_target_lacks_has_a_stand_in_of_the_suite_alone(tmp_path: Path) -> None:
    """An RTOS has no files and no network; it runs what is left of the load."""
    text = 'loads = ["none", "heavy"]\n[[case]]\nbench = "a.b"\n'
    wanted = load(write(tmp_path, text)).cases
    both = {"heavy": Load("heavy"), "heavy/reduced": Load("heavy/reduced")}
    here, rtos = Catalogue({"a.b": PLACED}, both), Catalogue({"a.b": PLACED}, {**both})
    del rtos.loads["heavy"]

    def loads(wanted: list[Wanted], **request: Any) -> list[str]:
        expansion = expand(wanted, Request(**request), rtos, here)
        return [case.load for case in [*expansion.cases, *expansion.absent]]

    assert loads(wanted) == ["none", "heavy/reduced"]
    assert loads(wanted, loads=("heavy",)) == ["heavy"]  # unsupported, as it was requested
    slow = here._replace(beyond={"heavy": "is beyond this CPU"})
    assert [case.load for case in expand(wanted, Request(), slow, here).cases] == [
        "none", "heavy/reduced",
    ]  # fmt: skip
    text = text.replace('"heavy"', '"heavy", "heavy/reduced"')
    wanted = load(write(tmp_path, text)).cases
    assert loads(wanted) == ["none", "heavy/reduced", "heavy"]


@pytest.mark.parametrize(
    ("own", "value", "time"),
    [
        ({}, None, 2 * 10**9),  # the default of 10 s is longer
        ({"time": "1s"}, None, 10**9),  # shorter ones are unchanged
        ({"time": "60s", "samples": 0}, None, 2 * 10**9),
        ({"time": "60s"}, "5", 5 * 10**9),
        ({"time": "60s"}, "0", 60 * 10**9),
        ({"time": "0"}, "5", 5 * 10**9),
    ],
)
def test_a_time_scale_limits_and_leaves_the_samples(
    own: dict[str, object], value: str | None, time: int
) -> None:
    expansion = expanded([Wanted("a.b", {"samples": 50} | own, time="2s")], PLACED, time=value)
    assert expansion.cases[0].params["time"] == time
    assert expansion.cases[0].params["samples"] == own.get("samples", 50)
    assert expansion.scale_s == {None: 2, "5": 5, "0": None}[value]


def test_an_experiment_is_whole_where_time_is_simulated() -> None:
    benches = {b.id: b for b in (msgspec.structs.replace(PLACED, id=name)
                                 for name in ("hart.PH.1", "hart.raw"))}  # fmt: skip
    wanted = [Wanted(name, {"samples": 50}, time="2s") for name in benches]
    for time, limit in ((None, 2 * 10**9), ("1", 10**9)):
        request = Request(time=time)
        for simulated, experiment in ((True, None), (False, limit)):
            catalogue = Catalogue(benches, LOADS)
            cases = expand(wanted, request, catalogue, simulated=simulated).cases
            assert [case.params.get("time") for case in cases] == [experiment, limit]
    (alone,) = expand([Wanted("hart.PH.1", {})], Request(time="1"), Catalogue(benches, LOADS),
                      simulated=True).cases  # fmt: skip
    assert alone.params["time"] == 10**9  # a bench by its name takes the time that is asked for


@pytest.mark.parametrize("time", [None, "1"])
def test_the_classic_form_has_all_measurements_where_time_is_simulated(time: str | None) -> None:
    """A model of a system on which one takes 10 s has as many as any other."""
    form = Param("form", "choice", default="sampled", choices=["sampled", "classic"])
    variant = Param("variant", "choice", default="rtems", choices=["rtems", "kar"])
    bench = msgspec.structs.replace(PLACED, id="rheal.ts", params=[*PLACED.params, form, variant])
    catalogue = Catalogue({"rheal.ts": bench}, LOADS)
    own: dict[str, object] = {"samples": 50, "form": ["sampled", "classic"]}

    def times(wanted: Wanted, request: Request, *, simulated: bool) -> list[object]:
        cases = expand([wanted], request, catalogue, simulated=simulated).cases
        return [case.params.get("time") for case in cases]

    limit = 2 * 10**9 if time is None else 10**9
    suite, request = Wanted("rheal.ts", own, time="2s"), Request(time=time)
    assert times(suite, request, simulated=True) == [limit, 0]
    assert times(suite, request, simulated=False) == [limit, limit]
    longer = Request(time=time, params={"time": "3s"})
    assert times(suite, longer, simulated=True) == [3 * 10**9] * 2
    kar = Wanted("rheal.ts", {**own, "variant": "kar"}, time="2s")
    assert times(kar, request, simulated=True) == [limit, limit]
    assert 0 not in times(Wanted("rheal.ts", own), request, simulated=True)


def test_a_derived_bench_brings_the_cases_it_is_made_from() -> None:
    from rtstone.results.derived import DERIVED

    types = Param("type", "choice", default="unnamed", choices=["unnamed", "named"])
    entity = Param("entity", "choice", default="thread", choices=["thread", "process"])
    benches = [
        Bench("sync.test1", "", params=[types]),
        Bench("sync.test2", "", params=[types, entity]),
        DERIVED["ctx.sync"].bench,
    ]
    expansion = expanded([Wanted("ctx.sync", {})], *benches, loads=("none", "heavy"))
    assert [(case.bench, case.load) for case in expansion.cases] == [
        (bench, load)
        for load in ("none", "heavy")
        for bench in ("sync.test1", "sync.test2", "sync.test2")
    ]
    assert [(case.id, case.bench) for case in expansion.derived] == [(7, "ctx.sync")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hevy", "unknown load 'hevy'; did you mean 'heavy'"),
        ("heavy:dsk=off", "unknown parameter 'dsk', in load 'heavy'.*did you mean 'disk'"),
        ("heavy:disk=maybe", "bad value 'maybe' of disk, in load 'heavy'.*on or off"),
        ("heavy:off", "bad load 'heavy:off'; write heavy:name=value"),
        ("heavy:disk=on,disk=off", "several values of disk"),
        ("heavy:disk=on,off", "several values of disk"),
        ("none:x=1", "unknown load 'none'"),
    ],
)
def test_bad_loads_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        expanded([Wanted("a.b", {})], PLACED, loads=(spec,))


@pytest.mark.parametrize(
    ("yes", "spec", "params"),
    [
        (False, "console", {}),
        (True, "console", {"allow": True}),
        (True, "console:allow=off", {"allow": False}),
        (True, "heavy:disk=off", {"disk": False}),
        (True, "none", {}),
    ],
)
def test_yes_allows_what_a_load_asks_for_and_nothing_else(
    yes: bool, spec: str, params: dict[str, bool]
) -> None:
    calls = expanded([Wanted("a.b", {})], PLACED, loads=(spec,), yes=yes).calls
    assert calls[spec].params == params


def test_a_load_may_be_a_command_with_anything_in_it() -> None:
    specs = ("command:make -j4 V=1,2", "command:run=sleep 1", "heavy:disk=off")
    calls = expanded([Wanted("a.b", {})], PLACED, loads=specs).calls
    assert [call.params for call in calls.values()] == [
        {"run": "make -j4 V=1,2"}, {"run": "sleep 1"}, {"disk": False},
    ]  # fmt: skip
