"""Functions of ELF files, against what binutils say of the same files."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from rtstone.explain import elf
from rtstone.resources import BUILT


def run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed(path: Path) -> list[tuple[int, int, str]]:
    """Return start, size and name of the functions that readelf lists, which have a section."""
    words = (line.split() for line in run("readelf", "-sW", path).splitlines())
    rows = [[w for w in row if not w.startswith("[")] for row in words]  # as [VARIANT_PCS]
    thumb = 1 if "ARM\n" in run("readelf", "-hW", path) else 0
    return [
        (int(row[1], 16) & ~thumb, int(row[2], 0), row[7])
        for row in rows
        if len(row) >= 8 and row[3] in ("FUNC", "IFUNC") and row[6].isdigit()
    ]


@pytest.mark.parametrize(
    "file",
    ["rtstone-agent", "rtstone-agent-aarch64.symbols", "freertos-a64.elf", "freertos-m3.elf"],
)
def test_functions_of_what_the_lab_runs(file: str) -> None:
    path = BUILT / file
    if not path.exists() or not shutil.which("readelf"):
        pytest.skip(f"needs {file} and readelf")
    if not elf.Elf(path.read_bytes()).symbols():
        pytest.skip(f"{file} is stripped")
    functions = elf.functions(path.read_bytes())
    assert functions.starts == sorted(set(functions.starts))
    assert all(s < e for s, e in zip(functions.starts, functions.ends, strict=True))
    assert all(e <= s for e, s in zip(functions.ends, functions.starts[1:], strict=False))
    assert not [name for name in functions.names if name.startswith("$")]
    sizes: dict[int, dict[str, int]] = {}  # of all names at an address
    for start, size, name in listed(path):
        sizes.setdefault(start, {})[name] = size
    assert len(sizes) > 100
    ends = dict(zip(functions.starts, functions.ends, strict=True))
    following = dict(pairwise([*sorted(sizes), functions.ends[-1]]))
    for start, names in sizes.items():
        where = functions.find(start)
        assert where and where[1] == start and where[0] in names, names
        if size := max(names.values()):  # another may begin within, as in assembly
            assert ends[start] == min(start + size, following[start]), names


def test_a_file_with_nothing_but_symbols_is_read(tmp_path: Path) -> None:
    """Beside a stripped program there may be one with its symbols only."""
    program = BUILT / "rtstone-agent"
    if not program.exists() or not shutil.which("objcopy"):
        pytest.skip("needs rtstone-agent and objcopy")
    run("objcopy", "--only-keep-debug", program, tmp_path / "symbols")
    assert elf.functions((tmp_path / "symbols").read_bytes()) == elf.functions(program.read_bytes())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no little-endian ELF file"),
        (b"#!/bin/sh\n", "no little-endian ELF file"),
        (b"\x7fELF\2\1" + bytes(20), "damaged ELF file"),
        (b"\x7fELF\2\1" + bytes(58), "without symbols of functions"),
    ],
)
def test_another_file_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        elf.functions(data)


def test_a_truncated_file_is_refused() -> None:
    data = Path(shutil.which("true") or "").read_bytes()
    for length in range(64, len(data) - 1, len(data) // 50):
        with pytest.raises(ValueError, match="ELF"):
            elf.functions(data[:length])
