"""The page for users of cyclictest names every option, and only parameters that there are."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.targets import find
from rtstone.wire.parameters import values
from tests.docs.commands import ROOT

PAGE = (ROOT / "docs/start/from-cyclictest.md").read_text()
SHORT = "aAbBcCdDeFhHiIlmMNnoOpPqrRsStTuUvwW"
LONG = "policy smp mainaffinity laptop json histfile latency priospread secaligned smi spike"


def options(heading: str) -> set[str]:
    """The options in the first column of a table."""
    table = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")]
    return {option for cell in cells for option in re.findall(r"--?[a-zA-Z][\w-]*", cell)}


def help_of(tool: str) -> str:
    if not shutil.which(tool):
        pytest.skip(f"needs {tool}")
    done = subprocess.run([tool, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_every_option_of_the_page_is_there() -> None:
    named = options("Option by option")
    assert {f"-{letter}" for letter in SHORT} | {f"--{name}" for name in LONG.split()} <= named


def test_every_option_that_cyclictest_has_is_on_the_page() -> None:
    named = options("Option by option")
    for line in help_of("cyclictest").splitlines():
        own_options = (
            re.findall(r"--?[a-zA-Z][\w-]*", line[:26]) if line.lstrip().startswith("-") else []
        )
        assert not own_options or named & set(own_options), line


def test_every_option_that_hwlatdetect_has_is_on_the_page() -> None:
    has = set(re.findall(r"(?m)^  (--[a-z-]+)", help_of("hwlatdetect")))
    assert has <= options("hwlatdetect")


def test_parameters_are_those_of_a_bench() -> None:
    with Interrupt() as interrupt:
        benches = catalogue(find("local"), interrupt).benches
    tables = {
        "cyclictest": benches["dk.periodic"], "hwlatdetect": benches["hw.latency"],
        "stress-ng": benches["dk.nanosleep"],
    }  # fmt: skip
    for tool, table in tables.items():
        part = PAGE.split(f"| {tool} | rtstone |")[1].split("\n## ")[0]
        for name, value in re.findall(r"-p (\w+)=([\w.]*)", part.split("\n\n")[0]):
            assert table.param(name), name
            assert value in {"", "N"} or values(table, name, value)
