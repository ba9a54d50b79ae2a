"""Decode the symbol table that a Linux kernel has of itself (CONFIG_KALLSYMS).

The tables are written by scripts/kallsyms.c of the kernel's sources, from release 4.20 on as here:

    offsets         a 32-bit number for each symbol
    relative_base   64 bits
    num_syms        32 bits
    names           of each symbol: the number of its tokens (one byte, or two from 128 on), tokens
    markers         where every 256th symbol lies in names, 32 bits each
    seqs_of_names   only in newer ones
    token_table     256 texts, each ended by a zero byte
    token_index     where each of them begins, 16 bits each

From 6.4 on, offsets and relative_base follow token_index.  In 7.2 there is no relative_base: an
offset counts from where it stands itself.  The first letter of a name is its kind.
Nothing points to the tables: they are found by what they contain, and each has to agree with the
others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtstone.explain import elf
from rtstone.explain.functions import Functions
from rtstone.printable import shown

FUNCTIONS = frozenset("tTwW")  # kinds of symbols: in the text section, or weak
CHUNK = 256  # symbols per marker
LONGEST = 514  # bytes of an entry in names
REACH = 16 << 20  # bytes before token_table in which the others lie
FEWEST = 8  # markers: any kernel has more than 2048 symbols
ALIGNED = 1 << 27  # an arm64 kernel is linked for a multiple of this, and smaller
HIGH = np.uint64(0xFFFF << 48)  # addresses of the kernel, up to
LAST = np.uint64(-ALIGNED % 2**64)  # small negative numbers
RELATIVE = 1027  # R_AARCH64_RELATIVE
DIGITS = b"".join(b"%d\0" % digit for digit in range(10))  # tokens for themselves in any kernel


class Table(NamedTuple):
    """The symbols in order of their addresses, as the kernel was linked.

    Per-CPU variables, which have no address, are left out.
    """

    addresses: list[int]
    kinds: str
    names: list[str]

    def address(self, name: str) -> int | None:
        """Return the address of a symbol, None if there is none of that name."""
        return self.addresses[self.names.index(name)] if name in self.names else None


class _Tokens(NamedTuple):
    texts: list[bytes]
    start: int  # of token_table
    end: int  # of token_index


class _Names(NamedTuple):
    entries: list[bytes]  # the tokens of each symbol
    count_at: int  # offset of num_syms


def decode(image: bytes) -> Table:
    """Return the symbols in an uncompressed kernel.

    Raises ValueError if it has none, or they are in a form that is not known here.
    """
    for tokens in _tokens(image):
        for names in _names(image, tokens.start):
            return _table(image, tokens, names)
    raise ValueError("no symbol table was found in the kernel (CONFIG_KALLSYMS)")


def functions(table: Table) -> Functions:
    """Return the functions among the symbols, up to the next symbol each.

    Of several at one address it is the first, which the kernel prefers, too.
    """
    listed = Functions([], [], [])
    for address, kind, name in zip(table.addresses, table.kinds, table.names, strict=True):
        open_end = len(listed.ends) < len(listed.starts)
        if open_end and address > listed.starts[-1]:
            listed.ends.append(address)
            open_end = False
        if kind in FUNCTIONS and not open_end and not name.startswith("$"):
            listed.starts.append(address)
            listed.names.append(shown(name))
    if len(listed.ends) < len(listed.starts):  # the last symbol marks an end, as _end
        listed.starts.pop()
        listed.names.pop()
    return listed


# ---- token_table and token_index ---------------------------------------------------------------


def _tokens(image: bytes) -> Iterator[_Tokens]:
    """Yield what is both a table of tokens and the index of its texts."""
    digit = -1
    while (digit := image.find(DIGITS, digit + 1)) >= 0:
        end = digit
        for _ in range(ord("0"), 256):
            end = image.find(b"\0", end) + 1
            if not end:
                return
        for index in range(_aligned(end, 4), end + 8, 4):
            if len(image) < index + 512:
                return
            begins = list(struct.unpack_from("<256H", image, index))
            start = digit - begins[ord("0")]
            if start < 0:
                continue
            texts = image[start : end - 1].split(b"\0")
            lengths = np.array([len(text) + 1 for text in texts])
            if begins == [0, *np.cumsum(lengths)[:-1].tolist()]:
                yield _Tokens(texts, start, index + 512)
                break


# ---- markers, names and num_syms -----------------------------------------------------------------


def _names(image: bytes, before: int) -> Iterator[_Names]:
    """Yield what is both a table of markers and the names that it marks."""
    for at, markers in _markers(image, before):
        for last in markers[:-4:-1]:  # the last one or two may be numbers that fit by chance
            nearest = (at - last - 1) & ~3
            for start in range(nearest, max(8, nearest - CHUNK * LONGEST), -4):
                for count_at in (start - 8, start - 4):
                    count = int.from_bytes(image[count_at : count_at + 4], "little")
                    if not FEWEST <= -(-count // CHUNK) <= len(markers):
                        continue
                    if entries := _entries(image, start, at, count, markers):
                        yield _Names(entries, count_at)


def _markers(image: bytes, before: int) -> list[tuple[int, list[int]]]:
    """Return offset and content of what may be markers: numbers that grow from 0, longest first."""
    first = _aligned(max(0, before - REACH), 4)
    words = np.frombuffer(image, "<u4", max(0, before - first) // 4, first).astype(np.int64)
    steps = np.diff(words)
    grows = (steps >= 2 * CHUNK) & (steps < LONGEST * CHUNK)
    stops = np.append(np.flatnonzero(~grows), len(steps))
    starts = np.flatnonzero(grows & (words[:-1] == 0))
    ends = stops[np.searchsorted(stops, starts)] + 1
    runs = [
        (int(end - start), int(start))
        for start, end in zip(starts, ends, strict=True)
        if end - start >= FEWEST
    ]
    return [
        (first + 4 * start, words[start : start + length].tolist())
        for length, start in sorted(runs, reverse=True)
    ]


def _entries(
    image: bytes, start: int, end: int, count: int, markers: list[int]
) -> list[bytes] | None:
    """Return the entries of names, None unless they fit the markers and end where those begin."""
    entries = []
    at = start
    for index in range(count):
        if at >= end or (index % CHUNK == 0 and at - start != markers[index // CHUNK]):
            return None
        length = image[at]
        at += 1
        if length >= 128:
            length = length & 127 | image[at] << 7
            at += 1
        entries.append(image[at : at + length])
        at += length
    return entries if all(entries) and 0 <= end - at < 8 else None


# ---- offsets and relative_base -------------------------------------------------------------------


def _table(image: bytes, tokens: _Tokens, names: _Names) -> Table:
    """Return the symbols with their addresses.  Raises ValueError."""
    texts = [b"".join(map(tokens.texts.__getitem__, entry)) for entry in names.entries]
    decoded = [text.decode("ascii", "replace") for text in texts]
    if not all(decoded):
        raise ValueError("a symbol of the kernel has no name")
    count = len(decoded)
    code = next((i for i, name in enumerate(decoded) if name[0] in FUNCTIONS), 0)
    behind = _aligned(tokens.end + 4 * count, 8)
    for at, base_at in (
        (tokens.end, behind),
        (names.count_at - 8 - 4 * count & ~7, names.count_at - 8),
    ):
        if at < 0 or base_at + 8 > len(image):
            continue
        offsets = np.frombuffer(image, "<i4", count, at).astype(np.int64)
        if offsets[code] < 0:  # CONFIG_KALLSYMS_ABSOLUTE_PERCPU: others are per-CPU variables
            relative, used = -1 - offsets, offsets < 0
        else:
            relative, used = offsets & 0xFFFFFFFF, np.ones(count, dtype=np.bool_)
        if _grow(relative[used]):
            return _named(decoded, _base(image, base_at), relative, used)
    if tokens.end + 4 * count <= len(image):
        offsets = np.frombuffer(image, "<i4", count, tokens.end).astype(np.int64)
        from_first = offsets + 4 * np.arange(count)
        if _grow(from_first):
            every = np.ones(count, dtype=np.bool_)
            return _named(decoded, _address(image, tokens.end), from_first, every)
    raise ValueError("the addresses of the kernel's symbols were not found")


def _grow(addresses: NDArray[np.int64]) -> bool:
    return bool((np.diff(addresses) >= 0).all() and addresses[-1] > addresses[0])


def _named(
    decoded: list[str], base: int, relative: NDArray[np.int64], used: NDArray[np.bool_]
) -> Table:
    """Return the table of those symbols that are used."""
    chosen = [decoded[index] for index in np.flatnonzero(used).tolist()]
    return Table(
        [base + address for address in relative[used].tolist()],
        "".join(name[0] for name in chosen),
        [name[1:] for name in chosen],
    )


def _base(image: bytes, at: int) -> int:
    """Return relative_base, given its offset in the image.  Raises ValueError.

    An Image of arm64 may have 0 there, and the value in a relocation.
    """
    if base := int.from_bytes(image[at : at + 8], "little"):
        return base
    words = np.frombuffer(image, "<u8", len(image) // 8)
    places = (words[:-2] % ALIGNED == at) & (words[1:-1] == RELATIVE)
    values = np.unique(words[2:][places])
    if len(values) != 1:
        raise ValueError("the address of the kernel's symbols was not found")
    return int(values[0])


def _address(image: bytes, at: int) -> int:
    """Return the address that an offset in the image was linked for.  Raises ValueError.

    An ELF file has it.  An Image of arm64 is as it is in memory: it begins at the multiple of
    ALIGNED that nearly all addresses in it are of.
    """
    if image.startswith(b"\x7fELF"):
        for section in elf.Elf(image).sections:
            if section.address and section.offset <= at < section.offset + section.size:
                return section.address + at - section.offset
        raise ValueError("the kernel's symbols are in no section of it")
    words = np.frombuffer(image, "<u8", len(image) // 8)
    begins = words[words >= HIGH] & np.uint64(-ALIGNED % 2**64)
    addresses, counts = np.unique(begins[begins < LAST], return_counts=True)
    if not len(addresses):
        raise ValueError("the address of the kernel's symbols was not found")
    return int(addresses[counts.argmax()]) + at


def _aligned(offset: int, to: int) -> int:
    return -(-offset // to) * to
