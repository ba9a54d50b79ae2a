"""Where code runs, from executed blocks that are made from it: exact, or not known."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from numpy.typing import NDArray

from rtstone.explain import image, kallsyms, modules
from rtstone.explain.blocks import Block
from rtstone.explain.functions import PAGE, Functions, Piece
from rtstone.explain.offsets import kernel_offset, piece_offsets
from tests.explain import kernel_images

KERNEL = 0xFFFF800012340000
MODULES = 0xFFFF800001230000


def functions(count: int, seed: int) -> Functions:
    """Return functions of 16 to 800 bytes, the first at 0."""
    chance = random.Random(seed)
    starts = [0]
    for _ in range(count):
        starts.append(starts[-1] + 16 * chance.randint(1, 50))
    return Functions(starts[:-1], starts[1:], [f"f{n}" for n in range(count)])


def call(arch: str, at: int, to: int) -> Block:
    """Return a block that ends with a call."""
    if arch == "aarch64":
        word = 0x94000000 | ((to - at) >> 2) & 0x3FFFFFF
        return Block(at - 8, 3, 12, struct.pack("<I", word))
    if arch == "riscv64":  # of which it is seen where it leads to, in the block that begins there
        return Block(to, 3, 8, b"\x82\x80")
    return Block(at - 7, 3, 12, b"\xe8" + struct.pack("<i", to - at - 5))


@pytest.mark.parametrize("arch", ["aarch64", "x86_64", "riscv64"])
@pytest.mark.parametrize("seed", range(5))
def test_calls_tell_where_a_kernel_is(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    table = functions(20_000, seed)
    offset = KERNEL + 4096 * chance.randrange(1 << 16)
    size = table.ends[-1]
    blocks = [
        call(arch, offset + 4 * chance.randrange(size // 4), offset + chance.choice(table.starts))
        for _ in range(40)
    ]
    # Calls in a module to its own functions, returns, and a program's calls.
    blocks += [
        call(arch, MODULES + 16 * n, MODULES + 4 * chance.randrange(9999)) for n in range(15)
    ]
    blocks += [Block(offset + 64 * n, 4, 16, b"\xc0\x03\x5f\xd6") for n in range(50)]
    blocks += [call(arch, 0x400000 + 16 * n, 0x500000 + 16 * n) for n in range(50)]
    assert kernel_offset(table, blocks, arch) == offset
    assert kernel_offset(table, blocks[::-1], arch) == offset
    assert kernel_offset(table, blocks[40:], arch) is None


@pytest.mark.parametrize("seed", range(5))
def test_most_blocks_begin_within_functions(seed: int) -> None:
    """Of RISC-V, where it is not seen which of them are called."""
    chance = random.Random(seed)
    table = functions(20_000, seed)
    offset = KERNEL + 4096 * chance.randrange(1 << 16)
    within = [2 * chance.randrange(table.ends[-1] // 2) for _ in range(7000)]
    begins = [*within, *chance.sample(table.starts, 1000)]
    blocks = [Block(offset + at, 3, 8, b"\x82\x80") for at in begins]
    assert kernel_offset(table, blocks, "riscv64") == offset
    assert kernel_offset(table, blocks[: len(within)], "riscv64") is None


def test_another_kernels_calls_tell_nothing() -> None:
    table, other = functions(20_000, 1), functions(20_000, 2)
    chance = random.Random(3)
    for n in (0, 10, 100, 2000):
        blocks = [
            call("x86_64", KERNEL + 64 * i, KERNEL + chance.choice(other.starts)) for i in range(n)
        ]
        assert kernel_offset(table, blocks, "x86_64") is None


def test_two_places_of_a_kernel_are_none() -> None:
    table = functions(20_000, 1)
    chance = random.Random(3)
    blocks = [
        call("aarch64", base + 64 * i, base + chance.choice(table.starts))
        for base in (KERNEL, KERNEL + 0x2000000)
        for i in range(100)
    ]
    assert kernel_offset(table, blocks, "aarch64") is None
    assert kernel_offset(table, blocks[:100], "aarch64") == KERNEL


def test_the_real_kernel_is_found_by_few_of_its_calls() -> None:
    kernel = kernel_images.fetched()
    unpacked = image.kernel(kernel.image.read_bytes())
    table = kallsyms.functions(kallsyms.decode(unpacked))
    link = table.starts[0] & -kallsyms.ALIGNED
    words = np.frombuffer(unpacked, "<u4", 10_000_000 // 4)
    calls = np.flatnonzero(words >> 26 == 0x25)
    chance = random.Random(4)
    for offset in (0, 0x1230000, 0x3A5A10000, -0x40000):
        blocks = [
            Block(link + offset + 4 * i - 16, 5, 20, struct.pack("<I", int(words[i])))
            for i in chance.sample(calls.tolist(), 60)
        ]
        assert kernel_offset(table, blocks, "aarch64") == offset


# ---- modules -------------------------------------------------------------------------------------


def piece(program: str, size: int, seed: int, align: int = PAGE) -> Piece:
    """Return code of random bytes, every eighth instruction with an address inserted."""
    data = random.Random(seed).randbytes(size)
    fixed = (b"\1" * 28 + b"\0" * 4) * (size // 32)
    return Piece(program, Functions([0], [size], ["f"]), data, fixed, align)


def executed(piece: Piece, offset: int, places: list[int], length: int = 4) -> list[Block]:
    """Return blocks that end with what is in a piece."""
    return [
        Block(offset + place - 8, 3, 8 + length, piece.code[place : place + length])
        for place in places
    ]


def test_pieces_are_found_among_others() -> None:
    pieces = [piece("a", 0x8000, 1), piece("b", 0x1000, 2), piece("c", 0x20000, 3),
              piece("idle", 0x3000, 4)]  # fmt: skip
    offsets = [MODULES, MODULES + 0x9000, MODULES + 0x40000]
    chance = random.Random(5)
    blocks = []
    for placed, offset, count in zip(pieces, offsets, (40, 8, 200), strict=False):
        blocks += executed(
            placed, offset, chance.sample(range(32, len(placed.code) - 32, 4), count)
        )
    blocks += [Block(MODULES + 0x80000 + 16 * n, 1, 4, chance.randbytes(4)) for n in range(300)]
    # Where an address is inserted, something else is executed.
    blocks = [
        block._replace(last=b"ABCD") if (block.at - 28) % 32 == 0 else block for block in blocks
    ]
    assert piece_offsets(pieces, blocks) == dict(enumerate(offsets))
    chance.shuffle(blocks)
    assert piece_offsets(pieces, blocks) == dict(enumerate(offsets))


def test_a_piece_that_fits_two_places_or_badly_is_not_known() -> None:
    placed = piece("a", 0x4000, 1)
    places = list(range(32, 0x3000, 0x104 * 4))
    here = executed(placed, MODULES, places)
    blocks = executed(placed, MODULES + 0x10000, places)
    assert piece_offsets([placed], here) == {0: MODULES}
    assert piece_offsets([placed], here + blocks) == {}
    assert piece_offsets([placed], here[:2]) == {}
    other = [Block(MODULES + 16 * n, 1, 4, b"abcd") for n in range(200)]
    assert piece_offsets([placed], here + other) == {}
    # Two programs of the same code cannot both be at one place.
    assert piece_offsets([placed, placed], here) == {}


def test_a_piece_need_not_begin_with_a_page() -> None:
    placed = piece("a", 0x4000, 1, align=32)
    places = list(range(32, 0x3000, 0x104 * 4))
    assert piece_offsets([placed], executed(placed, MODULES + 0x1220, places)) == {
        0: MODULES + 0x1220
    }
    assert piece_offsets([placed], executed(placed, MODULES + 0x1230, places)) == {}


def test_one_byte_instructions_do_not_mislead() -> None:
    """Returns of x86 are one byte, which is nearly everywhere."""
    placed = piece("a", 0x4000, 1)
    returns = [Block(MODULES + 0x100000 + n, 1, 1, b"\xc3") for n in range(2000)]
    assert piece_offsets([placed], returns) == {}
    places = [n for n in range(0x4000) if placed.fixed[n] and placed.code[n] == 0xC3]
    assert len(places) > 20
    here = executed(placed, MODULES, list(range(32, 0x3000, 0x104 * 4)))
    here += executed(placed, MODULES, places, 1)
    assert piece_offsets([placed], returns + here) == {0: MODULES}


def test_real_modules_are_found_by_their_branches() -> None:
    kernel = kernel_images.fetched()
    pieces = [
        modules.module(path.stem, image.unpacked(path.read_bytes())) for path in kernel.modules
    ]
    chance = random.Random(6)
    offsets, blocks, at = [], [], MODULES
    for piece in pieces:
        words = np.frombuffer(piece.code, "<u4", len(piece.code) // 4)
        ends = np.flatnonzero(_ends_block(words)).tolist()
        offsets.append(at)
        for place in chance.sample(ends, max(len(ends) // 4, min(len(ends), 8))):
            last = piece.code[4 * place : 4 * place + 4]
            if not all(piece.fixed[4 * place : 4 * place + 4]):
                last = chance.randbytes(4)  # as if it was linked
            blocks.append(Block(at + 4 * place - 12, 4, 16, last))
        at += (len(piece.code) // 4096 + 2) * 4096
    exact = dict(enumerate(offsets))
    for part, least in ((1, 5), (2, 4), (3, 3), (5, 2), (17, 2)):  # fewer are known, none wrongly
        reconstruction = piece_offsets(pieces, blocks[::part])
        assert reconstruction.items() <= exact.items()
        assert len(reconstruction) >= least


def _ends_block(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which words are instructions of AArch64 that end a block: branches and ret."""
    branches = np.isin(words >> 26, (0x25, 0x05)) | np.isin(words >> 24 & 0x7E, (0x34, 0x36))
    return np.asarray(branches | (words >> 24 == 0x54) | (words == 0xD65F03C0))
