"""Extensions by other packages: here one in a directory, as pip would have installed it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone import plugins
from rtstone.errors import UsageError
from rtstone.formats.registry import Reader, Writer, reader, writer
from rtstone.formats.source import Source
from rtstone.measure.suite import select
from rtstone.targets import find
from rtstone.wire.records import Bench
from tests.conftest import Cli

CODE = """
from pathlib import Path
from rtstone.formats.registry import Reader, Written, Writer
from rtstone.targets.sim import Sim
import re

class Slow(Sim):
    def detail(self):
        return super().detail() | {"slow": 1}

SUITE = Path(__file__).with_name("drive.toml")
OUT = Writer("ids", "ours_of_test.all")
IN = Reader("ids", re.compile(b"^$"), "ours_of_test.all")

def write(run):
    return Written(run.run_id.encode(), [])
"""
POINTS = """
[rtstone.targets]
slow = ours_of_test.all:Slow
broken = ours_of_test.all:nothing
wrong = ours_of_test.all:OUT
[rtstone.formats]
ids = ours_of_test.all:OUT
ids-in = ours_of_test.all:IN
[rtstone.suites]
drive = ours_of_test.all:SUITE
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "ours_of_test").mkdir()
    (tmp_path / "ours_of_test" / "__init__.py").write_text("")
    (tmp_path / "ours_of_test" / "all.py").write_text(CODE)
    (tmp_path / "ours_of_test" / "drive.toml").write_text(
        '[[case]]\nbench = "sem.wait.free"\nparams = { samples = 20 }\n'
    )
    info = tmp_path / "ours_of_test-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours-of-test\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield
    for name in ("ours_of_test", "ours_of_test.all"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("package")
def test_a_target_a_suite_and_a_format_of_another_package(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "drive", "--target", "slow", "--json")
    assert done.document["target"]["detail"]["slow"] == 1
    assert [result["n"] for result in done.document["results"]] == [20]
    cli("export", "last", "--format", "ids", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text() == done.document["run_id"]


@pytest.mark.usefixtures("package")
def test_what_does_not_fit_is_said() -> None:
    says = {"broken": "cannot load", "wrong": "is not a type", "zzz": "known: .*local"}
    for name, words in says.items():
        with pytest.raises(UsageError, match=words):
            find(name)
    with pytest.raises(UsageError, match="is not a Writer"):
        writer("ids-in")
    assert isinstance(writer("ids"), Writer)
    assert isinstance(reader("ids-in", Source("", b""))[1], Reader)


def test_they_are_looked_for_only_where_a_name_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[str] = []
    monkeypatch.setattr(plugins, "find", lambda group, name, kind: commands.append(name))
    assert find("local").name == "local"
    assert select(["quick"], {})
    assert writer("csv")
    assert commands == []
    with pytest.raises(UsageError, match="unknown suite or bench"):
        select(["quack"], dict[str, Bench]())
    assert commands == ["quack"]
