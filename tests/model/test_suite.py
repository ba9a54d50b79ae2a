from __future__ import annotations

from pathlib import Path

import pytest

from rtstone.errors import UsageError
from rtstone.model.suite import Wanted, expand, load, select, shipped
from rtstone.wire.records import Bench, Param


def write(path: Path, text: str) -> Path:
    file = path / "mine.toml"
    file.write_text(text)
    return file


def test_lists_expand_to_a_grid_in_the_order_written(tmp_path: Path, ballast: Bench) -> None:
    text = '[[case]]\nbench = "ctx.ballast"\n'
    text += 'params = { ballast = [0, 33], policy = ["fifo", "rr"], time = "1ms" }\n'
    cases = expand(load(write(tmp_path, text)).cases, {}, {}, {"ctx.ballast": ballast})
    assert [case.id for case in cases] == [1, 2, 3, 4]
    assert [(c.params["ballast"], c.params["policy"]) for c in cases] == [
        (0, "fifo"), (0, "rr"), (33, "fifo"), (33, "rr"),
    ]  # fmt: skip
    assert {case.params["time"] for case in cases} == {10**6}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('titel = "x"', "unknown key 'titel'.*did you mean 'title'"),
        ('[[case]]\nbensh = "null"', "unknown key 'bensh'.*case 1.*did you mean 'bench'"),
        ("[[case]]\nparams = {}", "no bench named.*case 1"),
        ("[[case]]\nbench = 3", "'bench' is not text"),
        ('title = []\n[[case]]\nbench = "null"', "'title' is not text"),
        ("case = 3", "'case' is not a list of tables"),
        ("x = " + "[" * 9999, "nested too deeply"),
        ("case = [1]", "not a table"),
        ("title = ", "not a TOML file"),
        ('title = "x"', "no cases"),
    ],
)
def test_bad_suites_are_refused_with_the_file(tmp_path: Path, text: str, told: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError, match=told) as error:
        load(file)
    assert str(file) in str(error.value)


def test_not_utf8_and_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not a TOML file"):
        load(tmp_path / "x.toml")
    with pytest.raises(UsageError, match="cannot read suite"):
        load(tmp_path / "y.toml")


def test_unknown_benches_and_parameters_of_a_suite(tmp_path: Path, ballast: Bench) -> None:
    benches = {"ctx.ballast": ballast}
    file = write(tmp_path, '[[case]]\nbench = "ctx.balast"')
    with pytest.raises(UsageError, match=r"ctx\.balast.*mine\.toml.*mean 'ctx\.ballast'"):
        expand(load(file).cases, {}, {}, benches)
    file = write(tmp_path, '[[case]]\nbench = "ctx.ballast"\nparams = { polizy = "rr" }')
    with pytest.raises(UsageError, match=r"polizy.*mine\.toml.*mean 'policy'"):
        expand(load(file).cases, {}, {}, benches)


def test_given_parameters_go_first_and_apply_where_known(ballast: Bench) -> None:
    benches = {
        "ctx.ballast": ballast,
        "null": Bench("null", "", params=[Param("time", "duration")]),
    }
    wanted = [Wanted("ctx.ballast", {"ballast": [0, 1]}), Wanted("null", {})]
    cases = expand(wanted, {"ballast": "7", "time": "1"}, {}, benches)
    assert [case.params for case in cases] == [{"ballast": 7, "time": 10**9}, {"time": 10**9}]


def test_a_given_parameter_unknown_to_every_bench_is_an_error(ballast: Bench) -> None:
    with pytest.raises(
        UsageError, match=r"no bench of this run has .* 'polic'; did you mean 'policy'"
    ):
        expand([Wanted("ctx.ballast", {})], {"polic": "rr"}, {}, {"ctx.ballast": ballast})


def test_defaults_yield_to_what_is_given(ballast: Bench) -> None:
    benches = {"ctx.ballast": ballast}
    wanted = [Wanted("ctx.ballast", {"samples": 5})]
    (case,) = expand(wanted, {}, {"time": "2", "samples": 0}, benches)
    assert case.params == {"samples": 0, "time": 2 * 10**9}
    (case,) = expand(wanted, {"samples": "9"}, {"time": "2", "samples": 0}, benches)
    assert case.params["samples"] == 9


def test_a_case_named_twice_runs_once(ballast: Bench) -> None:
    wanted = [Wanted("ctx.ballast", {"ballast": [1, 2]}), Wanted("ctx.ballast", {"ballast": 2})]
    assert len(expand(wanted, {}, {}, {"ctx.ballast": ballast})) == 2


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
    with pytest.raises(UsageError, match=r"sets an end, in bench 'ctx\.ballast', mine\.toml"):
        expand(wanted, {}, {}, {"ctx.ballast": ballast})
    assert expand(wanted, {"time": "1"}, {}, {"ctx.ballast": ballast})


def test_the_shipped_suites_can_be_read() -> None:
    assert {"quick", "full"} <= shipped().keys()
    for path in shipped().values():
        assert load(path).description
