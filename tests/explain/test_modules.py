"""The code of kernel modules as it lies in memory, against the linker and real modules."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from rtstone.explain import elf, image, modules
from tests.explain import kernel_images
from tests.explain.test_elf import listed, run

SOURCE = """
int outside(int);
int table[100];
static __attribute__((noinline)) int local(int n) { return table[n & 63] * n; }
int first(int n) { int s = 0; while (n-- > 0) if (outside(n) > 3) s += local(n); return s; }
__attribute__((section(".text.unlikely"))) int rare(int n) { return local(n) + outside(n); }
__attribute__((section(".init.text"))) int begin(void) { return first(4); }
int (*pointer)(int) = first;
int second(int n) { return outside(n) ? pointer(n) : first(n + 1); }
"""
OUTSIDE = "int outside(int n) { return n & 7; } int main(void) { return outside(0); }"


@pytest.mark.parametrize("prefix", ["", "aarch64-linux-gnu-", "riscv64-linux-gnu-"])
def test_a_module_is_laid_out_as_the_linker_does(tmp_path: Path, prefix: str) -> None:
    if not shutil.which(f"{prefix}gcc"):
        pytest.skip(f"needs {prefix}gcc")
    (tmp_path / "module.c").write_text(SOURCE)
    (tmp_path / "outside.c").write_text(OUTSIDE)
    built = tmp_path / "module.o"
    options = ["-O2", "-fno-pic", "-fno-asynchronous-unwind-tables", "-fno-stack-protector"]
    if prefix.startswith("riscv"):  # as a kernel is built; it puts notes of calls beside its code
        options += ["-mno-relax", "-fpatchable-function-entry=8,4"]
    run(f"{prefix}gcc", *options, "-c", tmp_path / "module.c", "-o", built)
    piece = modules.module("module", built.read_bytes())
    assert set(piece.functions.names) - {".plt"} == {"first", "second", "local", "rare"}
    # What is fixed is the same wherever it is linked to, and most of it is fixed.
    for address in ("0x1000000", "0x2345000"):
        linked = tmp_path / "linked"
        run(f"{prefix}gcc", *options, "-no-pie", "-nostartfiles", f"-Wl,-Ttext={address}",
            "-Wl,-e,main", built, tmp_path / "outside.c", "-o", linked)  # fmt: skip
        memory = program(linked)
        places = {name: start for start, _, name in listed(linked)}
        functions = zip(*piece.functions, strict=True)
        for start, end, name in functions:
            if name == ".plt":
                continue
            for at in range(start, end):
                if piece.fixed[at]:
                    assert memory[places[name] + at - start] == piece.code[at], (name, at)
    assert 0.4 < sum(piece.fixed) / len(piece.fixed) < 0.95


def program(path: Path) -> dict[int, int]:
    """Return each byte of the code in an ELF file by its address."""
    file = elf.Elf(path.read_bytes())
    return {
        section.address + at: byte
        for section in file.sections
        if section.flags & elf.EXECUTABLE
        for at, byte in enumerate(file.content(section))
    }


def test_a_module_of_the_real_kernel(tmp_path: Path) -> None:
    kernel = kernel_images.fetched()
    path = next(module for module in kernel.modules if module.name.startswith("ext4"))
    if not shutil.which("readelf"):
        pytest.skip("needs readelf")
    piece = modules.module("ext4", image.unpacked(path.read_bytes()))
    sizes = {(end - start, name) for start, end, name in zip(*piece.functions, strict=True)}
    expected = {(size, name) for _, size, name in listed(path)}
    assert len(sizes & expected) > 1000
    assert {name for _, name in sizes - expected} == {".plt"}
    assert len(piece.fixed) * 0.6 < sum(piece.fixed) < len(piece.fixed)


def test_a_damaged_file_is_read_or_refused(tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    (tmp_path / "module.c").write_text(SOURCE)
    run("gcc", "-O2", "-c", tmp_path / "module.c", "-o", tmp_path / "module.o")
    whole = (tmp_path / "module.o").read_bytes()
    file = elf.Elf(whole)
    headers = range(len(whole) - 64 * len(file.sections), len(whole))
    chance = random.Random(1)
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(3):
            data[chance.choice((chance.randrange(len(data)), chance.choice(headers)))] = (
                chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
            )
        for read in (elf.functions, lambda data: modules.module("m", data)):
            try:
                read(bytes(data))
            except ValueError as error:
                refused += 1
                assert "ELF" in str(error) or "no kernel module" in str(error)
    assert 100 < refused < 3900


def test_a_program_is_no_module() -> None:
    with pytest.raises(ValueError, match="no kernel module"):
        modules.module("true", Path(shutil.which("true") or "").read_bytes())


ASSEMBLY = """
.text
.type first, %function
first: .skip {offset}
adrp x0, data
ret
.size first, . - first
.section .text.unlikely, "ax"
.type cold, %function
cold: bl outside
bl outside
bl other
.size cold, . - cold
.section .init.text, "ax"
.skip 100
.section .plt, "ax"
.byte 0
.section .text.ftrace_trampoline, "ax"
.byte 0
.data
data: .quad 0
"""
VENEERS = (".plt", ".text.ftrace_trampoline")
CODE = (".text", ".text.unlikely", ".init.text")


def assembled(place: Path, offset: int, order: Sequence[str] = CODE + VENEERS) -> bytes:
    """Return a module of arm64 with an adrp at an offset, and sections in an order."""
    if not shutil.which("aarch64-linux-gnu-as"):
        pytest.skip("needs aarch64-linux-gnu-as")
    (place / "module.s").write_text(ASSEMBLY.format(offset=offset))
    sections = " ".join(f"{name} 0 : {{ *({name}) }}" for name in order)
    (place / "module.lds").write_text(f"SECTIONS {{ {sections} }}")
    run("aarch64-linux-gnu-as", place / "module.s", "-o", place / "module.o")
    run("aarch64-linux-gnu-ld", "-r", "-T", place / "module.lds", place / "module.o",
        "-o", place / "module.ko")  # fmt: skip
    return (place / "module.ko").read_bytes()


@pytest.mark.parametrize("offset", [0, 0x18, 0x3F8, 0x7F8, 0xFF4, 0xFF8, 0xFFC, 0x1000, 0x1BF8])
def test_no_adrp_is_at_the_end_of_a_page(tmp_path: Path, offset: int) -> None:
    """Alignment is the least with which erratum 843419 of the Cortex-A53 cannot happen, if any."""
    file = elf.Elf(assembled(tmp_path, offset))
    alignment = modules._alignment(
        file, [relocation for relocation in file.relocations() if relocation.kind == 275]
    )

    def happens(align: int) -> bool:
        return any((at + offset) % 4096 in (0xFF8, 0xFFC) for at in range(0, 4096, align))

    if alignment > 1:
        assert not happens(alignment)
        assert happens(alignment // 2)
    else:  # nothing helps; the kernel inserts a veneer
        assert happens(4096)


def test_veneers_may_be_behind_the_code(tmp_path: Path) -> None:
    piece = modules.module("m", assembled(tmp_path, 0x18))
    assert list(zip(*piece.functions, strict=True)) == [
        (0, 0x20, "first"),
        (0x20, 0x2C, "cold"),
        (0x40, 4096, ".plt"),
    ]
    assert piece.align == 4096


def test_veneers_may_be_before_the_code(tmp_path: Path) -> None:
    """Then the code is aligned as its sections are: only the kernel knows how long they are."""
    piece = modules.module("m", assembled(tmp_path, 0x3F8, VENEERS + CODE))
    assert list(zip(*piece.functions, strict=True)) == [
        (-0x800, 0, ".plt"),
        (0, 0x400, "first"),
        (0x400, 0x40C, "cold"),
    ]
    assert piece.align == 0x800
    assert piece.fixed == b"\1" * 0x3F8 + bytes(4) + b"\1" * 4 + bytes(12)
