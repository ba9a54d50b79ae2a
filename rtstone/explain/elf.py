"""Read the functions of an ELF file: an agent, an image of FreeRTOS, a kernel module, a vDSO.

Only little-endian files are read, which is what the targets run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rtstone.explain.functions import PAGE, Functions, Piece
from rtstone.printable import shown

# For ELF32 and ELF64; members in the order of the structures below.
_HEADER = {1: struct.Struct("<HHIIIIIHHHHHH"), 2: struct.Struct("<HHIQQQIHHHHHH")}
_SECTION = {1: struct.Struct("<10I"), 2: struct.Struct("<IIQQQQIIQQ")}
_SYMBOL = {1: struct.Struct("<IIIBBH"), 2: struct.Struct("<IBBHQQ")}
_RELOCATION = struct.Struct("<QQq")

ARM, X86_64, AARCH64, RISCV = 40, 62, 183, 243  # machines
RELOCATABLE, SHARED = 1, 3  # types of files
SYMBOLS, RELOCATIONS, DYNAMIC_SYMBOLS, NOTHING = 2, 4, 11, 8  # types of sections
ALLOCATED, EXECUTABLE = 2, 4  # flags of sections
LABEL, FUNCTION, RESOLVED = 0, 2, 10  # types of symbols; RESOLVED: an indirect function
LOCAL = 0  # binding of a symbol

LARGEST = 1 << 29  # bytes of a section


class Section(NamedTuple):
    """A section header."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class Symbol(NamedTuple):
    """A symbol; ``section``: number of the section that it is in."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int


class Relocation(NamedTuple):
    """What depends on the address of a symbol: ``offset`` in the section of that number."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class Elf:
    """An ELF file.  Raises ValueError if it is none, or damaged."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF" or data[4:5] not in (b"\1", b"\2") or data[5:6] != b"\1":
            raise ValueError("no little-endian ELF file")
        self.data = data
        self.bits = data[4]  # 1: ELF32, 2: ELF64
        try:
            header = _HEADER[self.bits].unpack_from(data, 16)
            self.kind, self.machine = header[:2]
            at, count, names = header[5], header[11], header[12]
            entry = _SECTION[self.bits]
            raw = [entry.unpack_from(data, at + entry.size * i) for i in range(count)]
            texts = data[raw[names][4] : raw[names][4] + raw[names][5]] if raw else b""
            self.sections = [Section(_text(texts, section[0]), *section[1:9]) for section in raw]
        except (struct.error, IndexError, OverflowError) as error:
            raise ValueError(f"damaged ELF file: {error}") from error

    def content(self, section: Section) -> bytes:
        """Return the bytes of a section.  Raises ValueError if the file ends before."""
        if max(section.size, section.align) > LARGEST:
            raise ValueError(f"damaged ELF file: section {section.name} is too large")
        if section.kind == NOTHING:
            return bytes(section.size)
        content = self.data[section.offset : section.offset + section.size]
        if len(content) != section.size:
            raise ValueError(f"damaged ELF file: it ends in section {section.name}")
        return content

    def symbols(self) -> list[Symbol]:
        """Return all symbols, of a stripped file those for the dynamic linker."""
        tables = [t for kind in (SYMBOLS, DYNAMIC_SYMBOLS) for t in self.sections if t.kind == kind]
        if not tables:
            return []
        table, layout = tables[0], _SYMBOL[self.bits]
        raw = self.content(table)
        if table.link >= len(self.sections):
            raise ValueError("damaged ELF file: symbols without names")
        texts = self.content(self.sections[table.link])
        symbols = []
        for entry in layout.iter_unpack(raw[: len(raw) // layout.size * layout.size]):
            if self.bits == 1:
                name, value, size, info, _, section = entry
            else:
                name, info, _, section, value, size = entry
            text = _text(texts, name)
            symbols.append(Symbol(text, value, size, info & 15, info >> 4, section))
        return symbols

    def relocations(self) -> Iterator[Relocation]:
        """Yield what is changed in the sections when an ELF64 file is loaded."""
        for table in self.sections:
            if table.kind == RELOCATIONS:
                raw = self.content(table)
                whole = len(raw) // _RELOCATION.size * _RELOCATION.size
                for offset, info, addend in _RELOCATION.iter_unpack(raw[:whole]):
                    yield Relocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend)


def _text(texts: bytes, at: int) -> str:
    return texts[at : max(at, texts.find(b"\0", at))].decode("utf-8", "replace")


def functions(data: bytes) -> Functions:
    """Return the functions of a program at the addresses it was linked for.

    Raises ValueError if it is no ELF file, or has no symbols.
    """
    elf = Elf(data)
    code = {i: 0 for i, section in enumerate(elf.sections) if section.flags & EXECUTABLE}
    table = functions_in(elf, code)
    if not table.starts:
        raise ValueError("ELF file without symbols of functions: it was stripped")
    return table


# ---- functions -----------------------------------------------------------------------------------


class _Start(NamedTuple):
    """The begin of a function; the smallest of several at one address is its name."""

    address: int
    label: bool  # of assembly, without a type
    unsized: bool  # ends with its section, or where the next one begins
    local: bool
    underscores: int
    name: str
    end: int


def functions_in(elf: Elf, code: Mapping[int, int]) -> Functions:
    """Return the functions in sections: their numbers, and what is added to addresses in each."""
    starts = []
    for symbol in elf.symbols():
        if symbol.section not in code or symbol.kind not in (LABEL, FUNCTION, RESOLVED):
            continue
        if not symbol.name or symbol.name.startswith(("$", ".L")):
            continue  # says whether data or which instructions follow; a label of the compiler's
        section, base = elf.sections[symbol.section], code[symbol.section]
        value = symbol.value
        if elf.machine == ARM and symbol.kind == FUNCTION:
            value &= ~1  # bit 0 says that it is Thumb code
        end = value + symbol.size if symbol.size else section.address + section.size
        start = _Start(
            address=base + value,
            label=symbol.kind == LABEL,
            unsized=symbol.size == 0,
            local=symbol.binding == LOCAL,
            underscores=len(symbol.name) - len(symbol.name.lstrip("_")),
            name=symbol.name,
            end=base + end,
        )
        starts.append(start)
    chosen: list[_Start] = []
    for start in sorted(starts):
        last = chosen[-1] if chosen else None
        if start.end <= start.address or (last and start.address == last.address):
            continue  # marks an end, or is another name
        if last and start.address < last.end:
            if start.label and not last.unsized:
                continue  # a place in a function
            chosen[-1] = last._replace(end=start.address)
        chosen.append(start)
    return Functions(
        [start.address for start in chosen],
        [start.end for start in chosen],
        [shown(start.name) for start in chosen],
    )


def shared_code(program: str, data: bytes) -> Piece:
    """Return a small shared object of a 64-bit system that is mapped as it is, as a vDSO.

    ``data`` may be longer.  Raises ValueError.
    """
    elf = Elf(data)
    if elf.kind != SHARED or elf.bits != 2:
        raise ValueError("no shared object of a 64-bit system")
    ends = (section.offset + section.size for section in elf.sections if section.kind != NOTHING)
    length = min(len(data), max(ends, default=0))
    code = {i: 0 for i, section in enumerate(elf.sections) if section.flags & EXECUTABLE}
    return Piece(program, functions_in(elf, code), data[:length], b"\1" * length, PAGE)
