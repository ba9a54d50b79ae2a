"""The layers of the host: no import cycles, and no package imports one above it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "rtstone"

# Modules outside packages.  Every module may import them.
COMMON = {
    "cpus", "documentation", "errors", "files", "folders", "interrupt", "packed", "plugins",
    "printable", "program", "resources", "structures", "summary", "toml", "units",
}  # fmt: skip

# What each package may import besides itself and COMMON.
MAY_IMPORT = {
    "wire": "",
    "documents": "wire",  # documents contain parts of records: tables of benches, figures
    "results": "documents wire",
    "store": "documents results",  # a run whose host died is assembled from its log
    "system": "documents wire",  # conditions that a run recorded; doctor's checklist is a table
    "lab": "",
    "targets": "documents lab system wire",
    "measure": "documents results store targets wire",
    "stats": "documents results simulate wire",  # a breakdown beside the simulated one
    "formats": "documents results wire",
    "simulate": "documents results wire",  # flags that spoil what was measured
    # costs of a run; schedules of known phase; a set is run as any bench is; events of a trace
    "tasks": "documents explain measure results simulate stats store targets wire",
    "plot": "documents results",
    "explain": "documents lab measure results store targets wire",  # a run is run again
    "report": "documents results stats system wire",  # system: what grants rights
    "campaign": "documents explain measure store targets",  # a search is guided by sections
    # measure: the demonstration measures on the simulated system
    "server": "documents measure report results stats store",
    "api": "documents explain formats measure report results stats store wire",
    "pytest_plugin": "api documents report server stats store",
    # results: the display of a run converts the agent's ticks to times.
    "cli": "campaign documents explain formats lab measure plot report results server simulate "
    "stats store system targets tasks wire",
}

VERSION = {
    "campaign",
    "cli",
    "formats",
    "pytest_plugin",
    "report",
    "server",
    "simulate",
    "tasks",
}  # may import rtstone itself


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


def _package(module: str) -> str:
    return module.partition(".")[0]


def test_every_imported_module_exists() -> None:
    assert len(MODULES) > 100
    assert {name for names in imports().values() for name in names} <= MODULES.keys()


def test_there_are_no_import_cycles() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_the_table_lists_every_package() -> None:
    assert {_package(name) for name in MODULES} == {"", *COMMON, *MAY_IMPORT}


def test_common_modules_import_no_package() -> None:
    for name in COMMON:
        assert {_package(module) for module in imports()[name]} <= COMMON, name


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_exactly_what_its_entry_says(package: str) -> None:
    imported_pairs = {
        (name, other)
        for name, imported in imports().items()
        for other in imported
        if _package(name) == package and _package(other) not in {package, *COMMON}
    }
    allowed = {*MAY_IMPORT[package].split(), *([""] if package in VERSION else [])}
    assert {pair for pair in imported_pairs if _package(pair[1]) not in allowed} == set()
    assert allowed - {_package(other) for _, other in imported_pairs} == set(), (
        "not needed: take it out"
    )


def test_packages_are_layers() -> None:
    assert tuple(TopologicalSorter({k: v.split() for k, v in MAY_IMPORT.items()}).static_order())


def test_structures_are_decoded_in_one_place() -> None:
    """What msgspec completes while another thread decodes into it ends the process."""
    itself = re.compile(r"msgspec\.(convert|\w+\.Decoder|\w+\.decode\([^\n]*type=)")
    places = {name for name, path in MODULES.items() if itself.search(path.read_text())}
    assert places == {"structures"}


def test_who_opens_a_database_closes_it() -> None:
    """A connection as a context manager ends a transaction only.

    Since Python 3.13 that is an error of whatever test runs when it is collected.
    """
    left_open = re.compile(r"(?<!closing\()sqlite3\.connect\(.*\) as ")
    files = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "tests").rglob("*.py")]
    assert len(files) > 500
    assert [file for file in files if left_open.search(file.read_text())] == []
