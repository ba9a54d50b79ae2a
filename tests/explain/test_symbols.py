"""Names of addresses, and the cache of a kernel's symbols."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from rtstone.errors import Inconclusive, TargetError, Unfit
from rtstone.explain import kernel, symbol_cache
from rtstone.explain.blocks import Block
from rtstone.explain.functions import Functions
from rtstone.explain.symbols import AGENT, AddressSpace, Area, Place, of_image, of_linux
from rtstone.lab.kernels import Kernel
from tests.explain import kernel_images
from tests.explain.kernel_images import BASE

SPLIT = 1 << 63
PROGRAM = "int main(void) { return 0; }"


def test_addresses_have_the_name_of_function_and_program() -> None:
    space = AddressSpace(
        [
            Area("", Functions([0x1000, 0x1100], [0x1100, 0x1180], ["first", "second"]), SPLIT),
            Area("ext4", Functions([0, 0x40], [0x20, 0x80], ["ext4_sync", "last"]), SPLIT + 0x9000),
            Area("agent", Functions([0x400000], [0x400100], ["main"]), 0),
        ],
        SPLIT,
    )
    names = {
        SPLIT + 0x1000: "first",
        SPLIT + 0x10FF: "first",
        SPLIT + 0x1100: "second",
        SPLIT + 0x117F: "second",
        SPLIT + 0x1180: "? [kernel]",
        SPLIT + 0xFFF: "? [kernel]",
        SPLIT + 0x9000: "ext4_sync [ext4]",
        SPLIT + 0x9020: "? [ext4]",
        SPLIT + 0x907F: "last [ext4]",
        SPLIT + 0x9080: "? [kernel]",
        0x4000FF: "main [agent]",
        0x400100: "? [user]",
        0: "? [user]",
        (1 << 64) - 1: "? [kernel]",
    }
    for _ in range(2):  # also from memory
        assert {pc: str(space.name(pc)) for pc in names} == names
    assert space.name(SPLIT + 0x9043) == Place("ext4", "last", SPLIT + 0x9040)


def test_a_single_program_needs_no_name() -> None:
    space = AddressSpace([Area("", Functions([8], [16], ["vTaskSwitchContext"]), 0)])
    assert str(space.name(9)) == "vTaskSwitchContext"
    assert str(space.name(16)) == "?"


# ---- the cache -----------------------------------------------------------------------------------


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Make a kernel with symbols, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = kernel_images.image(kernel_images.symbols())
    (tmp_path / "Image").write_bytes(data)
    digest = sha256(data).hexdigest()
    return Kernel("linux", "aarch64", tmp_path / "Image", (), "6.1", None, digest)


def test_symbols_come_from_the_cache_the_second_time(linux: Kernel) -> None:
    first = kernel.read(linux)
    assert "_text" in first.functions.names
    linux.image.unlink()
    assert kernel.read(linux) == first
    place = symbol_cache.place(linux.sha256)
    assert [path.name for path in place.parent.iterdir()] == [place.name]


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "version", "meaning"])
def test_a_damaged_cache_is_made_anew(linux: Kernel, harm: str) -> None:
    first = kernel.read(linux)
    place = symbol_cache.place(linux.sha256)
    whole = place.read_bytes()
    damaged = {
        "flip": whole[:5000] + bytes((whole[5000] ^ 1,)) + whole[5001:],
        "cut": whole[:-1],
        "empty": b"",
        "version": whole.replace(b"rtstone symbols ", b"rtstone symbols 1"),
        "meaning": symbol_cache.FORMAT + sha256(b"\x93\1\2\3").digest() + b"\x93\1\2\3",
    }[harm]
    place.write_bytes(damaged)
    assert kernel.read(linux) == first
    assert place.read_bytes() == whole


def test_what_others_may_have_written_is_not_used(linux: Kernel, tmp_path: Path) -> None:
    first = kernel.read(linux)
    place = symbol_cache.place(linux.sha256)
    forged = first._replace(functions=Functions([0], [1], ["forged"]))
    symbol_cache.store(linux.sha256, forged)
    assert kernel.read(linux) == forged
    place.chmod(0o666)
    assert kernel.read(linux) == first
    assert place.stat().st_mode & 0o022 == 0
    symbol_cache.store(linux.sha256, forged)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert kernel.read(linux) == first
    assert not place.is_symlink()
    place.unlink()
    os.mkfifo(place)
    assert kernel.read(linux) == first


def test_without_a_cache_symbols_are_read_each_time(
    linux: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kernel.read(linux) == kernel.read(linux)


def test_what_cannot_be_named_is_refused(linux: Kernel, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="No such file"):
        kernel.read(linux._replace(image=tmp_path / "none"))
    (tmp_path / "none").write_bytes(bytes(100_000))
    with pytest.raises(TargetError, match="was changed meanwhile"):
        kernel.read(linux._replace(image=tmp_path / "none"))
    digest = sha256(bytes(100_000)).hexdigest()
    with pytest.raises(Unfit, match=r"no symbol table .* \(CONFIG_KALLSYMS\), .*/none; "):
        kernel.read(linux._replace(image=tmp_path / "none", sha256=digest))


def test_pieces_of_the_real_kernel() -> None:
    """Its trampoline, whose symbols are not in its table, and its vDSO."""
    data = kernel_images.fetched().image.read_bytes()
    trampoline, vdso = kernel.decode(data).pieces
    eret = struct.pack("<I", kernel.ERET)
    code = {
        name: trampoline.code[start:end]
        for start, end, name in zip(*trampoline.functions, strict=True)
    }
    assert list(code) == ["tramp_vectors", "tramp_exit"]
    assert eret in code["tramp_exit"][:256]
    assert eret not in code["tramp_vectors"]
    # Each table of vectors has 16 entries of 128 bytes, the latter half for processes.
    vectors = code["tramp_vectors"][-2048:]
    assert all(vectors[at : at + 128].strip(b"\0") for at in range(1024, 2048, 128))
    assert data.count(trampoline.code) == 1
    assert (vdso.program, trampoline.program) == ("vdso", "")
    assert "__kernel_clock_gettime" in vdso.functions.names
    assert data.count(vdso.code) == 1


# ---- a guest -------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Compile a program at fixed addresses."""
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    path = tmp_path / "agent"
    subprocess.run(
        ["gcc", "-no-pie", "-static", "-x", "c", "-o", path, "-"],
        input=PROGRAM, text=True, check=True,
    )  # fmt: skip
    return path


def test_a_guests_blocks_are_named(linux: Kernel, agent: Path) -> None:
    functions = kernel.read(linux).functions
    chance = random.Random(1)
    offset = 0x2345000
    blocks = []
    for n in range(200):
        at, to = BASE + offset + 64 * n, chance.choice(functions.starts) + offset
        last = struct.pack("<I", 0x94000000 | ((to - at) >> 2) & 0x3FFFFFF)
        blocks.append(Block(at - 4, 2, 8, last))
    space = of_linux(linux, agent, blocks)
    for start, name in zip(functions.starts, functions.names, strict=True):
        assert space.name(start + offset) == Place("", name, start + offset)
    main = next(area for area in (space.area(0x400000 + n * 64) for n in range(99)) if area)
    assert main.program == AGENT
    assert str(space.name(main.functions.starts[main.functions.names.index("main")])) == (
        "main [agent]"
    )
    with pytest.raises(Inconclusive, match=r"the 5 blocks .* kernel linux"):
        of_linux(linux, agent, blocks[:5])


def test_a_file_without_functions_is_refused(linux: Kernel, agent: Path, tmp_path: Path) -> None:
    assert str(of_image(agent).name(0)) == "?"
    subprocess.run(["strip", agent], check=True)
    with pytest.raises(TargetError, match=r"without symbols .*: it was stripped, .*/agent"):
        of_image(agent)
    with pytest.raises(TargetError, match=r"No such file or directory, .*/none"):
        of_image(tmp_path / "none")
