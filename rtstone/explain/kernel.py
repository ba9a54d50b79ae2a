"""The symbols of a Linux kernel: its functions, and pieces of it that run elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from rtstone.errors import TargetError, Unfit
from rtstone.explain import elf, image, kallsyms, symbol_cache
from rtstone.explain.functions import PAGE, Functions, Piece
from rtstone.explain.kallsyms import ALIGNED, Table
from rtstone.lab.kernels import Kernel

ERET = 0xD69F03E0
VECTORS = 2048  # bytes of a table of exception vectors, and what it is aligned to
VECTORS_MOST = 4 * VECTORS  # one for each way to protect from speculation
VDSO = "vdso"
VDSO_LARGEST = 1 << 20  # bytes


class Symbols(NamedTuple):
    """The functions of a kernel, at the addresses it was linked for, and its pieces."""

    functions: Functions
    pieces: list[Piece]


def read(kernel: Kernel) -> Symbols:
    """Return the symbols of a kernel, from the lab's cache if they are there.

    Raises Unfit for a kernel without symbols, TargetError for one that cannot be read.
    """
    cached = symbol_cache.load(kernel.sha256, Symbols)
    if cached:
        return cached
    try:
        data = kernel.image.read_bytes()
    except OSError as error:
        raise TargetError(f"kernel {kernel.name}, {kernel.image}: {error.strerror}") from error
    if sha256(data).hexdigest() != kernel.sha256:
        raise TargetError(f"kernel {kernel.name} was changed meanwhile, {kernel.image}")
    try:
        symbols = decode(data)
    except ValueError as error:
        raise Unfit(f"{error}, {kernel.image}; its functions cannot be named") from error
    symbol_cache.store(kernel.sha256, symbols)
    return symbols


def decode(data: bytes) -> Symbols:
    """Return the symbols of a kernel in a file's bytes.  Raises ValueError."""
    unpacked = image.kernel(data)
    table = kallsyms.decode(unpacked)
    functions = kallsyms.functions(table)
    return Symbols(functions, [*_trampoline(unpacked, table, functions), *_vdso(unpacked)])


def _trampoline(unpacked: bytes, table: Table, functions: Functions) -> Iterator[Piece]:
    """Yield the code that arm64 enters and leaves the kernel with where it hides the rest of it."""
    if unpacked[56:60] != b"ARM\x64":  # an Image, which is as it is in memory
        return
    start, end = (table.address(f"__entry_tramp_text_{which}") for which in ("start", "end"))
    if start is not None and end is not None:
        inner = [i for i, address in enumerate(functions.starts) if start <= address < end]
        names = Functions(
            [functions.starts[i] - start for i in inner],
            [functions.ends[i] - start for i in inner],
            [functions.names[i] for i in inner],
        )
        code = unpacked[start % ALIGNED : end % ALIGNED]
    else:
        # From 5.18 on it is among the data, whose symbols a kernel without CONFIG_KALLSYMS_ALL does
        # not have: it is where returns from exceptions are in no function, all on one page.
        words = np.frombuffer(unpacked, "<u4", len(unpacked) // 4)
        base = functions.starts[0] & -ALIGNED
        returns: list[int] = (4 * np.flatnonzero(words == ERET)).tolist()
        hidden = [at for at in returns if functions.find(base + at) is None]
        if len({at // PAGE for at in hidden}) != 1:
            return
        # As in arch/arm64/kernel/entry.S: the vectors, then the way out.
        begin = max(0, hidden[0] // PAGE * PAGE - VECTORS_MOST)
        code = unpacked[begin : hidden[-1] // PAGE * PAGE + PAGE]
        out = hidden[0] // VECTORS * VECTORS - begin
        names = Functions([0, out], [out, len(code)], ["tramp_vectors", "tramp_exit"])
    yield Piece("", names, code, b"\1" * len(code), PAGE)


def _vdso(unpacked: bytes) -> Iterator[Piece]:
    """Yield the library that the kernel maps into each process: an ELF file in the kernel."""
    at = unpacked.find(b"\x7fELF", 1)
    while at >= 0:
        data = unpacked[at : at + VDSO_LARGEST]
        try:
            piece = elf.shared_code(VDSO, data)
        except ValueError:
            pass  # for another architecture, or something else
        else:
            if any("clock_gettime" in name for name in piece.functions.names):
                yield piece
                return
        at = unpacked.find(b"\x7fELF", at + 1)
