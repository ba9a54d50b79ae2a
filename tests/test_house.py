"""The rooms of the host: no circle of imports, and no room imports what is above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "rtstone"

# Modules without a room.  Anybody may import them.
COMMON = {"cpus", "errors", "interrupt", "plugins", "printable", "resources", "statistics", "units"}

# What each room may import besides itself and COMMON; "": the version, in rtstone/__init__.py.
ROOMS = {
    "wire": "",
    "documents": "wire",  # a document repeats parts of records: tables of benches, figures
    "assemble": "documents wire",
    # Suites name derived benches, budgets name flags: their tables are in assemble.
    "inputs": "assemble documents wire",
    "published": "documents inputs",  # the layout of a publication's tables is TOML
    "store": "assemble documents",  # a run whose host died is assembled from its log
    "system": "documents wire",  # what a run told of its system; doctor's checklist is a table
    "lab": "",
    "targets": "documents inputs lab system wire",  # inputs: the model of a simulated system
    "runner": "assemble documents inputs store targets wire",
    "stats": "assemble documents inputs published system wire",  # system: what grants rights
    "formats": "assemble documents wire",
    "simulate": "documents inputs",
    "report": "assemble documents inputs stats wire",
    "api": "assemble documents inputs report runner stats store",
    "pytest_plugin": "api documents inputs report stats store",
    # assemble: the display of a run makes net times of the agent's ticks.
    "cli": "assemble documents formats inputs lab published report runner simulate stats store "
    "system targets wire",
}

VERSION = {"cli", "formats", "pytest_plugin", "simulate"}  # may import rtstone itself


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _imported(path: Path) -> Iterator[str]:
    """Yield the modules of rtstone that a file imports, also in functions and for types."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"a relative import, in {path}"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, _, inner = name.partition(".")
            if top == PACKAGE.name:
                yield inner if inner in MODULES else inner.rpartition(".")[0]


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    return {name: set(_imported(path)) - {name} for name, path in MODULES.items()}


def _room(module: str) -> str:
    return module.partition(".")[0]


def test_every_import_is_of_a_module_that_is_there() -> None:
    assert len(MODULES) > 100
    assert {name for names in imports().values() for name in names} <= MODULES.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_every_module_has_a_room_and_every_room_has_modules() -> None:
    assert {_room(name) for name in MODULES} == {"", *COMMON, *ROOMS}


def test_what_all_rooms_share_imports_nothing_of_theirs() -> None:
    for name in COMMON:
        assert {_room(one) for one in imports()[name]} <= COMMON, name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_its_entry_says_and_the_entry_says_no_more(room: str) -> None:
    found = {
        (name, other)
        for name, others in imports().items()
        for other in others
        if _room(name) == room and _room(other) not in {room, *COMMON}
    }
    allowed = {*ROOMS[room].split(), *([""] if room in VERSION else [])}
    assert {pair for pair in found if _room(pair[1]) not in allowed} == set()
    assert allowed - {_room(other) for _, other in found} == set(), "not needed: take it out"


def test_rooms_lie_above_each_other() -> None:
    assert tuple(TopologicalSorter({k: v.split() for k, v in ROOMS.items()}).static_order())
