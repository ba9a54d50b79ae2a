"""Which files of the agent may include which: layers, each above those it uses, without cycles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

AGENT = Path(__file__).parents[2] / "agent"
BUILD_INFO = "build_info.h"  # written by the build

# From the lowest up; a file may include its own layer and lower ones.  A name stands for a .c
# file, its header, or both.
LAYERS = {
    "port": ["port", "absent", "sizes", "cpuset"],
    "tools": [
        "caps",
        "clock",
        "host",
        "params",
        "phase",
        "recorder",
        "text",
        "whetstone",
        "wire",
        "work",
    ],
    "ports": [],  # ports/ and boards/
    "case": ["bench", "case", "command", "load", "records", "registry", "series", "tracing"],
    "benches and loads": [],
    "runner": ["agent", "runner"],
}
ORDER = list(LAYERS)
OF_PORT = {"port_types.h", "port_inline.h", "posix_types.h", "posix_inline.h", "freertos.h"}
OF_PORT |= {"timer_type.h"}  # port.h with these
ABOVE_PORTS = re.compile(r"\brts_(case|running|load|bench)\b")
OF_LINUX = re.compile(
    r"[\"</]linux[./]|<sys/(syscall|prctl|eventfd|timerfd|epoll|vfs|statfs|mount|random)\.h>"
    r"|\b(syscall|prctl|unshare|clone)\(|\bSYS_|affinity|\bCPU_SET|\bO_(PATH|TMPFILE)\b"
    r'|"/(proc|sys|dev/shm)\b'
)


def sources() -> list[Path]:
    return [p for p in sorted(AGENT.rglob("*.[ch]")) if "kernel" not in p.parent.name]


def layer(path: Path) -> str:
    room = path.relative_to(AGENT).parts[0]
    if path.name in OF_PORT:
        return "port"
    if room in {"ports", "boards"}:
        return "runner" if path.name == "main.c" else "ports"
    if room in {"benches", "loads"}:
        return "benches and loads"
    assert room == "core", path
    found = [name for name, files in LAYERS.items() if path.stem in files]
    assert found, f"{path.name} is in no layer: put it into the table above"
    return found[0]


def included(path: Path) -> Iterator[Path]:
    """Return the agent's files that a file includes, without the system's headers."""
    for name in re.findall(r'^ *# *include "([^"]+)"', path.read_text(), re.MULTILINE):
        beside = (path.parent / name).resolve()
        if beside.exists():
            yield beside
        elif (AGENT / "core" / name).exists():
            yield AGENT / "core" / name
        else:  # from the port that a bench, a load or the core is compiled for
            yield from (AGENT / "ports").glob(f"*/{name}")


def product() -> list[Path]:
    return [p for p in sources() if p.relative_to(AGENT).parts[0] != "tests"]


def test_nothing_includes_what_is_above_it() -> None:
    wrong = [
        f"{path.relative_to(AGENT)} ({layer(path)}) includes {other.name} ({layer(other)})"
        for path in product()
        for other in included(path)
        if ORDER.index(layer(other)) > ORDER.index(layer(path))
    ]
    assert not wrong


def test_there_is_no_circle() -> None:
    def follow(path: Path, way: list[Path]) -> None:
        assert path not in way, " -> ".join(p.name for p in [*way[way.index(path) :], path])
        if path not in done:
            for other in included(path):
                follow(other, [*way, path])
            done.add(path)

    done: set[Path] = set()
    for path in sources():
        follow(path, [])
    assert len(done) > 100


def test_a_port_knows_of_the_core_what_it_is_given() -> None:
    """It includes neither case.h nor load.h, only port.h and tools."""
    allowed = {f"{name}.h" for name in [*LAYERS["port"], *LAYERS["tools"]]}
    for path in product():
        if layer(path) == "ports":
            of_core = {p.name for p in included(path) if p.parent.name == "core"}
            assert of_core <= allowed, path
            assert not ABOVE_PORTS.search(path.read_text()), path


@pytest.mark.parametrize("room", ["ports", "benches", "loads"])
def test_what_any_posix_system_shares_asks_for_nothing_of_linux(room: str) -> None:
    """It uses nothing beyond POSIX; agent/tests/posix is a system that has nothing else."""
    for path in sorted((AGENT / room / "posix").glob("*.[ch]")):
        wrong = [line for line in path.read_text().splitlines() if OF_LINUX.search(line)]
        assert not wrong, path


@pytest.mark.parametrize("name", [name for names in LAYERS.values() for name in names])
def test_the_table_names_files_that_exist(name: str) -> None:
    assert list((AGENT / "core").glob(f"{name}.[ch]"))
