"""Other names of benches: each stands for what the agent has, wherever a bench is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import rtstone
from rtstone.api import Measured
from rtstone.cli.main import _status
from rtstone.documents.other_names import OTHER_NAMES, is_called, settings
from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.measure.suite import select, shipped
from rtstone.plot import choose as drawing
from rtstone.server.pages.queries import named_benches
from rtstone.stats.explainable import choose
from rtstone.stats.worstcase.guarantee import guarantee
from rtstone.store.rundir import load
from rtstone.targets import find
from rtstone.wire.parameters import Benches, values
from tests.conftest import Cli

AUDIO_NS = 1_333_333  # 64 frames at 48 kHz


@pytest.fixture(scope="module")
def benches() -> Benches:
    with Interrupt() as interrupt:
        return catalogue(find("local"), interrupt).benches


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a run of `wakeup`, `audio`, `oslat` and det.bintime."""
    home: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        patch.chdir(home)
        assert rtstone.run("wakeup", target="sim", time="20ms").missed == 0
        for names in (["audio"], ["oslat", "det.bintime"]):
            assert _status(["run", *names, "--target", "sim", "--time", "20ms", "-q"]) == 0
    return home


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "measured" in request.fixturenames:
        monkeypatch.setenv("RTSTONE_HOME", str(request.getfixturevalue("measured")))


def test_each_name_stands_for_what_there_is(benches: Benches) -> None:
    for name, other in OTHER_NAMES.items():
        assert name not in benches
        if other.family:
            assert name in shipped()
            assert any(is_called(bench, name) for bench in benches)
            continue
        assert name not in shipped()
        table = benches[other.bench]
        for parameter, value in {**other.params, **other.lasting}.items():
            param = table.param(parameter)
            assert param is not None
            assert param.default != value or parameter == "samples"
        for word in settings(other, table):
            parameter, equals, text = word.partition("=")
            assert not equals or values(table, parameter, text)


def test_the_names_are_these() -> None:
    assert {name: (o.bench, dict(o.params), o.loads) for name, o in OTHER_NAMES.items()} == {
        "wakeup": ("dk.periodic", {}, ()),
        "cyclictest": ("dk.periodic", {}, ()),
        "timerlat": ("int.latency.timerlat", {}, ()),
        "hwlatdetect": ("hw.latency", {}, ()),
        "oslat": ("det.bintime", {"clock": "counter"}, ()),
        "audio": ("dk.periodic", {"period": AUDIO_NS}, ("none", "heavy")),
        "rhealstone": ("rheal", {}, ()),
    }


@pytest.mark.parametrize(
    ("bench", "name", "params", "called"),
    [
        ("dk.periodic", "dk.periodic", None, True),
        ("dk.periodic", "cyclictest", {"period": 1}, True),
        ("cyclictest", "cyclictest", None, True),  # of a run that was imported
        ("dk.periodic", "dk", None, False),  # a family, which is_named knows
        ("dk.periodic", "audio", None, True),
        ("dk.periodic", "audio", {"period": AUDIO_NS}, True),
        ("dk.periodic", "audio", {"period": 1_000_000}, False),
        ("dk.periodic", "audio", {}, True),  # unsupported, for a reason of another parameter
        ("rheal.il", "rhealstone", {}, True),
        ("rhealer", "rhealstone", {}, False),
        ("dk.periodic", "wake", None, False),
    ],
)
def test_what_a_name_calls(
    bench: str, name: str, params: dict[str, int] | None, called: bool
) -> None:
    assert is_called(bench, name, params) == called


def test_suites_and_requests_have_the_bench_itself(benches: Benches, tmp_path: Path) -> None:
    (wakeup,) = select(["wakeup"], benches)
    assert (wakeup.bench, wakeup.params, wakeup.loads) == ("dk.periodic", {}, ())
    file = tmp_path / "mine.toml"
    file.write_text(
        '[[case]]\nbench = "audio"\nparams = { time = "1s" }\n'
        '[[case]]\nbench = "rhealstone"\nparams = { prio = 20 }\n'
    )
    audio, *rheal = select([str(file)], benches)
    assert audio.bench == "dk.periodic"
    assert audio.params == {"period": "1333333ns", "samples": "0", "time": "1s"}
    assert audio.loads == ("none", "heavy")
    assert {case.params["prio"] for case in rheal} == {20}
    assert [case.bench for case in rheal] == [
        case.bench for case in select(["rhealstone"], benches)
    ]


def test_a_run_says_what_was_measured(measured: Path) -> None:
    wakeup, audio, both = (load(path) for path in sorted((measured / "runs").iterdir()))
    assert [r.bench for r in wakeup.results] == ["dk.periodic"]
    assert wakeup.suite is None
    assert "-wakeup-" in wakeup.run_id
    assert {(r.load, r.params["period"]) for r in audio.results} == {
        ("none", AUDIO_NS), ("heavy", AUDIO_NS),
    }  # fmt: skip
    assert [r.params["clock"] for r in both.results] == ["counter", "library"]


def test_filters_take_a_name_for_its_cases(measured: Path, cli: Cli) -> None:
    wakeup, audio, both = sorted((measured / "runs").iterdir())

    def listed(name: str) -> list[str]:
        document = cli("list", "runs", "--bench", name, "--json").document
        return [run["run_id"] for run in document["runs"]]

    assert listed("cyclictest") == [wakeup.name, audio.name]
    assert listed("oslat") == [both.name]
    assert listed("timerlat") == []
    series = cli("trend", "audio", "--json").document["series"]
    assert {s["params"]["period"] for s in series} == {AUDIO_NS}
    periods = [s["params"]["period"] for s in cli("trend", "wakeup", "--json").document["series"]]
    assert set(periods) == {AUDIO_NS, 1_000_000}
    assert "no result has such a number, of timerlat" in cli("trend", "timerlat").says
    assert "unknown bench 'wakup', of the stored runs" in cli("trend", "wakup").says


def test_a_budget_takes_a_name_for_its_cases(measured: Path, cli: Cli, tmp_path: Path) -> None:
    _, _, both = sorted((measured / "runs").iterdir())
    budget = tmp_path / "budget.toml"

    def checked(run: Path, name: str, extra: str = "") -> list[str]:
        budget.write_text(f'[[case]]\nbench = "{name}"\np50 = "1s"\n{extra}')
        document = cli("check", run, "--budget", budget, "--json").document
        return [check["params"].get("clock", check["bench"]) for check in document["checks"]]

    assert checked(both, "oslat") == ["counter"]
    assert checked(both, "det.bintime") == ["counter", "library"]
    wakeup = sorted((measured / "runs").iterdir())[0]
    assert checked(wakeup, "cyclictest", 'params = { period = "1ms" }') == ["dk.periodic"]
    budget.write_text('[[case]]\nbench = "audio"\np50 = "1s"\n')
    assert "no result of audio" in cli("check", wakeup, "--budget", budget).says


def test_programs_and_judgements_take_a_name(measured: Path) -> None:
    wakeup, audio, both = (rtstone.load(path) for path in sorted((measured / "runs").iterdir()))
    assert both.case("oslat").result.params["clock"] == "counter"
    assert wakeup.case("wakeup", period=1_000_000).n == wakeup.n
    assert isinstance(audio.case("audio", load="heavy"), Measured)
    with pytest.raises(rtstone.UsageError, match="unknown bench 'oslat'"):
        wakeup.case("oslat")
    assert {case.bench for case in guarantee([wakeup.run], "cyclictest").cases} == {"dk.periodic"}
    drawn = drawing.choose([both.run], "oslat", []).curves
    assert [curve.result.params["clock"] for curve in drawn] == ["counter"]
    assert len(drawing.choose([both.run], "det.bintime", []).curves) == 2
    with pytest.raises(rtstone.UsageError, match="unknown bench 'audio', of run"):
        drawing.choose([wakeup.run], "audio", [])
    with pytest.raises(rtstone.UsageError, match="cannot be explained"):  # it was simulated
        choose(wakeup.run, "wakeup")


def test_the_server_looks_for_benches_of_any_name() -> None:
    assert named_benches(["cyclictest", "sem"]) == {"cyclictest", "dk.periodic", "sem"}


def test_names_are_listed(cli: Cli) -> None:
    assert cli("list", "benches", "--json").document["names"][0] == {
        "name": "wakeup", "title": "How late does a periodic task wake up?", "bench": "dk.periodic",
    }  # fmt: skip
    first, second, *_ = cli("list", "audio").out.splitlines()
    assert first.startswith("audio is dk.periodic period=1333333ns time=20s load none load heavy: ")
    assert second.startswith("dk.periodic: ")
    assert cli("list", "wakeup", "--json").document["id"] == "dk.periodic"
    families = cli("list", "rhealstone", "--json").document["benches"]
    assert {bench["id"].partition(".")[0] for bench in families} == {"rheal"}
    assert "did you mean 'cyclictest'?" in cli("run", "cyclitest").says


def test_a_campaign_measures_by_any_name(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    file.write_text('targets = ["sim"]\nmeasure = ["wakeup oslat"]\ntime = "20ms"\n')
    assert cli("campaign", "run", file).status == 0
    (run,) = cli("list", "runs", "--json").document["runs"]
    assert (run["benches"], run["suite"]) == (["det.bintime", "dk.periodic"], None)
