from __future__ import annotations

from pathlib import Path

import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.targets import find, sim
from rtstone.targets import model as simulated
from rtstone.targets.base import Options
from rtstone.targets.model import Words, arguments

WORDS = Words(
    costs=["read", "switch", "add", "sem_give"],
    parts=["fixed", "amount", "ready", "random"],
    lacks=["inherit", "heap"],
    loads=["heavy"],
    components=["cpu", "disk"],
    most={"points": 4, "stalls": 2, "title": 9, "label": 20, "additions": 2},
)
HEAD = 'title = "T"\nlabel = "L"\n'


def arguments_of(tmp_path: Path, text: str, head: str = HEAD) -> list[str]:
    """Return the arguments that a model is translated to, without its names and seed."""
    file = tmp_path / "mine.toml"
    file.write_text(head + text)
    return arguments(simulated.find(str(file)), WORDS)[3:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('tick = "1ms"\nslice = "0s"', ["tick=1000000", "slice=0"]),
        ('lacks = ["inherit", "heap"]', ["lacks=inherit", "lacks=heap"]),
        ('stalls = [{ first = "1s", length = "8ms" }]', ["stall=1000000000:8000000:0"]),
        ('cost.read = "0.1ns"', ["cost.read.fixed=100"]),
        ('cost.read = "1.000001µs"', ["cost.read.fixed=1000001"]),
        ('cost.read = "3600s"', ["cost.read.fixed=3600000000000000"]),
        ("cost.read = 0", ["cost.read.fixed=0"]),
        (
            'cost.read = "1ns"\n[load.heavy]\nread = "2ns"',
            ["cost.read.fixed=1000", "heavy.read.fixed=2000"],
        ),
        (
            '[load.heavy.with.disk]\nread = "2ns"\n[load.heavy.with."cpu+disk"]\nread = "1ns"',
            ["heavy.with.disk.read.fixed=2000", "heavy.with.cpu+disk.read.fixed=1000"],
        ),
        ('cost.add.amount = "0.0625ns"', ["cost.add.amount=0:0,1000:62500"]),
        (
            'cost.switch = { fixed = "0.4us", ready = [[1, 0], [34, "0.5us"]] }',
            ["cost.switch.fixed=400000", "cost.switch.ready=1:0,34:500000"],
        ),
        (
            'cost.switch.random = [[0, "-1ns"], [0.1, 0], [1, "2us"]]',
            ["cost.switch.random=0:-1000,100000000:0,1000000000:2000000"],
        ),
    ],
)
def test_what_a_model_becomes(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert arguments_of(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("titel = 1", r"unknown key 'titel', in model .*mine.toml; did you mean 'title'"),
        ('load.havy.read = "1ns"', r"unknown load 'havy', in .*; did you mean 'heavy'"),
        ('load.heavy.raed = "1ns"', r"unknown cost 'raed', in .*; did you mean 'read'"),
        ("load.heavy.with = 1", r"bad load.heavy.with, in .*; it is a table of parts of the load"),
        ("load.heavy.with.disk = 1", r"bad load.heavy.with.disk, in .*; it is a table of costs"),
        (
            'load.heavy.with.dist.read = "1ns"',
            r"unknown part of the load 'dist', in .*; did you mean 'disk'",
        ),
        (
            '[load.heavy.with.disk]\nread = "1ns"\nadd = "1ns"\nswitch = "1ns"',
            "more than 2 costs of parts, in ",
        ),
        ('load.heavy = "1ns"', r"bad load.heavy, in .*; it is a table of costs"),
        ('cost.sem_giv = "1ns"', r"unknown cost 'sem_giv', in .*; did you mean 'sem_give'"),
        ('cost.add.amout = "1ns"', r"'amout', in .*mine.toml, cost.add; did you mean 'amount'"),
        ('lacks = ["inherrit"]', "unknown lack 'inherrit', in .*; did you mean 'inherit'"),
        ("lacks = [1]", "unknown lack '1'"),
        ("tick = 5", "'tick' is not text"),
        ("seed = true", "'seed' is not a whole number"),
        ("seed = -1", "bad seed -1"),
        ('tick = "0.5ns"', "bad tick, in .*; it is whole nanoseconds, not 0.5ns"),
        ('slice = "-1ms"', "bad slice"),
        ("cost.read = 5", r'bad cost.read.fixed, .* a duration such as "0.25us" .* not 5'),
        ("cost.read = false", "bad cost.read.fixed"),
        ('cost.read = "5"', "bad cost.read.fixed"),
        ('cost.read = "1 min"', "bad cost.read.fixed"),
        ('cost.read = "0.0001ns"', "whole picoseconds"),
        ('cost.read = "9999999s"', "up to an hour"),
        ("cost.add.amount = []", "bad cost.add.amount, .* 1 to 4 points"),
        ("cost.add.amount = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]", "1 to 4 points"),
        ('cost.add.amount = [["0", "1ns"]]', "x a whole number from 0"),
        ("cost.add.amount = [[0, 0], [0, 0]]", "in rising order of x"),
        ("cost.add.amount = [0, 0]", r"a list of \[x, duration\]"),
        ("cost.add.random = [[0, 0], [2, 0]]", "x from 0 to 1"),
        ("cost.add.random = [[0.0000000001, 0]]", "9 digits"),
        ('cost.add.random = "1ns"', "x from 0 to 1"),
        ("stalls = [3]", "bad stall 1"),
        ('stalls = [{ length = "1s", frist = "1s" }]', "stall 1; did you mean 'first'"),
        ('stalls = [{ length = "1s", period = "1s" }]', "whose period is 0 or longer"),
        ("stalls = [{}, {}, {}]", "more than 2 stalls"),
        ("cost = [", "not a TOML file"),
    ],
)
def test_what_is_no_model(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        arguments_of(tmp_path, text)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ('label = "L"', "no title, in model"),
        ('title = "T"', "no label, in model"),
        ('title = "T\\n"\nlabel = "L"', "cannot be printed"),
        ('title = "ninebytes!"\nlabel = "L"', "longer than 9 bytes"),
    ],
)
def test_a_model_says_what_it_is(tmp_path: Path, head: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        arguments_of(tmp_path, "", head)


@pytest.mark.parametrize("name", sorted(simulated.shipped()))
def test_every_model_that_is_shipped_is_taken(name: str) -> None:
    with Interrupt() as interrupt:
        offered = catalogue(find(f"sim:{name}"), interrupt)
    assert "ctx.ballast" in offered.benches
    assert "rt200" in offered.loads


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("sim:defalt", "unknown model 'defalt'; did you mean 'default'"),
        ("sim:", "target 'sim' needs an argument"),
        ("sim:none.toml", "cannot read model none.toml"),
    ],
)
def test_models_that_are_not_there(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        find(spec)


def test_its_detail() -> None:
    detail = find("sim").detail()
    assert detail == find("sim:default").detail()
    assert detail["model"] == "default"
    assert detail["label"] == "rtstone's own: no real system"
    assert len(str(detail["model_sha256"])) == len(str(detail["agent_sha256"])) == 64


def test_another_agent_takes_the_place_of_the_local_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RTSTONE_AGENT", "/bin/false")
    with Interrupt() as interrupt:
        assert catalogue(find("sim"), interrupt).benches


def test_an_agent_that_is_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sim, "BUILT", tmp_path)
    with pytest.raises(TargetError, match=r"agent-sim: No such file or directory; `make agent`"):
        find("sim").start(Options())
