"""Which files of the agent may use which: layers, each above those it uses, without cycles."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.speak import BUILD

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
        "random",
        "recorder",
        "text",
        "whetstone",
        "wire",
        "work",
    ],
    "ports": [],  # ports/ and boards/
    "case": ["bench", "case", "command", "load", "records", "registry", "series", "tracing"],
    "benches and loads": [],
    "agent": ["agent", "execution", "last_case", "measurement", "tracing_cost", "untraced"],
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
        return "agent" if path.name == "main.c" else "ports"
    if room in {"benches", "loads"}:
        return "benches and loads"
    assert room == "core", path
    layers = [name for name, files in LAYERS.items() if path.stem in files]
    assert layers, f"{path.name} is in no layer: put it into the table above"
    return layers[0]


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


def circle(uses: dict[str, set[str]]) -> list[str]:
    """Return files of which each uses the next and the last one the first; [] without a circle."""
    done: set[str] = set()

    def follow(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        done.add(name)
        for used in sorted(uses.get(name, ())):
            if files := follow(used, [*way, name]):
                return files
        return []

    return next(filter(None, (follow(name, []) for name in sorted(uses))), [])


def test_there_is_no_circle_of_includes() -> None:
    uses = {str(path): {str(header) for header in included(path)} for path in sources()}
    assert len(uses) > 100
    assert not circle(uses)


# The objects of each room, and the least number of its files.
ROOMS = [
    (BUILD, "agent.dir", "core", 15),
    (BUILD, "agent.dir", "ports/posix", 15),
    (BUILD, "agent.dir", "ports/linux", 20),
    (BUILD, "agent-sim.dir", "ports/sim", 4),
    (BUILD / "tests", "template.dir", "ports/template", 4),
    *((BUILD.parent / image, "agent.dir", f"ports/{kind}", least)
      for image in ("freertos-m3", "freertos-a64", "freertos-rv64")
      for kind, least in (("freertos", 8), ("rtos", 3))),
]  # fmt: skip


def calls(objects: Path, files: list[Path]) -> dict[str, set[str]]:
    """Return, by object file, those of whose functions and variables it uses some.

    A function with a weak default is called through its interface, port.h or posix.h, whichever
    file defines it.
    """
    listing = subprocess.run(
        ["nm", "--format=posix", "--print-file-name", *files],
        capture_output=True, text=True, check=True, cwd=objects,
    ).stdout  # fmt: skip
    symbols = [line.split()[:3] for line in listing.splitlines()]
    weak = {name for _, name, kind in symbols if kind in "WVwv"}
    home = {name: file for file, name, kind in symbols if kind in "TDBRGSC" and name not in weak}
    uses: dict[str, set[str]] = {file: set() for file, _, _ in symbols}
    for file, name, kind in symbols:
        if kind == "U" and home.get(name, file) != file:
            uses[file].add(home[name])
    return uses


@pytest.mark.parametrize(("build", "target", "room", "least"), ROOMS)
def test_there_is_no_circle_of_calls(build: Path, target: str, room: str, least: int) -> None:
    """A file of the core, or of one folder of ports, uses none that uses it."""
    objects = build / "CMakeFiles" / target
    if build.name.startswith("freertos") and not objects.exists():
        pytest.skip(f"needs {build.name}, which make freertos builds")
    sources = [path.relative_to(AGENT).with_suffix("") for path in (AGENT / room).glob("*.c")]
    files = [f for f in objects.rglob("*.c.o*") if f.suffix in {".o", ".obj"}]
    built = [f for f in files if str(f).split(".c.")[0].endswith(tuple(f"/{s}" for s in sources))]
    assert len(built) >= least
    assert not circle(calls(objects, built))


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
