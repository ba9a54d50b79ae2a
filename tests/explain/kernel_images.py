"""Kernels made for tests: symbol tables as scripts/kallsyms.c of Linux writes them."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from rtstone.errors import TargetError
from rtstone.lab import kernels
from rtstone.lab.kernels import Kernel


class Symbol(NamedTuple):
    address: int
    kind: str
    name: str


TABLES = 0x5000  # offset of the first table in an image
BASE = 0xFFFF800008000000  # where it is linked
PAIRS = ("__", "in", "re", "st", "ts", "_s", "te", "ab", "tree_", "lock")


def symbols(count: int = 3000, seed: int = 1) -> list[Symbol]:
    """Return symbols in order: `_text`, functions, data among them, two names at one address."""
    chance = random.Random(seed)
    table = [Symbol(BASE, "T", "_text"), Symbol(BASE, "T", "_stext")]
    address = BASE + 0x10000
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
    while len(table) < count:
        name = "".join(chance.choices(letters, k=chance.randint(3, 40))) + f"_{len(table)}"
        table.append(Symbol(address, chance.choice("tttTTTwWdDrRbB"), name))
        address += chance.choice((0, 4, 16, 64, 400))
    return [*table, Symbol(address + 64, "T", "_end")]


def _tokens(texts: Sequence[str]) -> list[bytes]:
    """Return the 256 tokens: each letter that occurs for itself, others for some pairs."""
    used = set("".join(texts))
    free = iter(PAIRS)
    return [chr(n).encode("latin-1") if chr(n) in used else next(free, "").encode()
            for n in range(256)]  # fmt: skip


def _compressed(text: str, tokens: list[bytes]) -> bytes:
    out, at = bytearray(), 0
    longer = {token.decode("latin-1"): n for n, token in enumerate(tokens) if len(token) > 1}
    while at < len(text):
        for token, number in longer.items():
            if text.startswith(token, at):
                out.append(number)
                at += len(token)
                break
        else:
            out.append(ord(text[at]))
            at += 1
    return bytes(out)


def tables(
    symbols: Sequence[Symbol], *, order: str = "6.1", percpu: bool = False, base: int = BASE
) -> dict[str, bytes]:
    """Return the tables of a kernel of release `order`, as they follow each other.

    ``order``: 6.1, 6.2, 6.4 or 7.2.
    """
    texts = [symbol.kind + symbol.name for symbol in symbols]
    tokens = _tokens(texts)
    names, markers = bytearray(), []
    for number, text in enumerate(texts):
        if number % 256 == 0:
            markers.append(len(names))
        entry = _compressed(text, tokens)
        if len(entry) < 128:
            names.append(len(entry))
        else:
            names += bytes((len(entry) & 127 | 128, len(entry) >> 7))
        names += entry
    index, at = [], 0
    for token in tokens:
        index.append(at)
        at += len(token) + 1
    offsets = [_offset(s, percpu, base) for s in symbols]
    parts = {
        "offsets": struct.pack(f"<{len(symbols)}I", *(offset & 0xFFFFFFFF for offset in offsets)),
        "relative_base": struct.pack("<Q", base),
        "num_syms": struct.pack("<I", len(symbols)),
        "names": bytes(names),
        "markers": struct.pack(f"<{len(markers)}I", *markers),
        "seqs_of_names": random.Random(2).randbytes(3 * len(symbols)),
        "token_table": b"".join(token + b"\0" for token in tokens),
        "token_index": struct.pack("<256H", *index),
    }
    middle = ["num_syms", "names", "markers"]
    last = ["token_table", "token_index"]
    where = ["offsets", "relative_base"]
    sequence = {
        "6.1": [*where, *middle, *last],
        "6.2": [*where, *middle, "seqs_of_names", *last],
        "6.4": [*middle, *last, *where, "seqs_of_names"],
        "7.2": [*middle, *last, "offsets", "seqs_of_names"],
    }[order]
    sections = {name: parts[name] + bytes(-len(parts[name]) % 8) for name in sequence}
    if order == "7.2":
        begin = TABLES + sum(len(sections[name]) for name in sequence[: sequence.index("offsets")])
        own = (offset - begin - 4 * place & 0xFFFFFFFF for place, offset in enumerate(offsets))
        sections["offsets"] = struct.pack(f"<{len(symbols)}I", *own).ljust(
            len(sections["offsets"]), b"\0"
        )
    return sections


def _offset(symbol: Symbol, percpu: bool, base: int) -> int:
    if not percpu:
        return symbol.address - base
    return symbol.address if symbol.kind == "A" else base - 1 - symbol.address


def image(symbols: Sequence[Symbol], *, order: str = "6.1", percpu: bool = False) -> bytes:
    """Return a kernel with symbols, and other data around the tables."""
    chance = random.Random(3)
    before = b"Linux 0\x001\x002\x003\x00" + chance.randbytes(TABLES - 14)
    inner = b"".join(tables(symbols, order=order, percpu=percpu).values())
    pointers = struct.pack("<500Q", *(BASE + 8 * place for place in range(500)))
    return before + inner + pointers + chance.randbytes(0x3000)


def fetched() -> Kernel:
    """Return the lab's AArch64 kernel; skip the test if there is none."""
    try:
        return kernels.find("linux-6.1", "aarch64")
    except TargetError as error:
        pytest.skip(str(error))
