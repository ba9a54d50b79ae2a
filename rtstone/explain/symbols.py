"""Name the function that an executed instruction is of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import Inconclusive, TargetError
from rtstone.explain import elf, image, kernel, modules, offsets
from rtstone.explain.blocks import Block
from rtstone.explain.functions import Functions
from rtstone.files import content
from rtstone.lab.kernels import Kernel

AGENT = "agent"
UNKNOWN = "?"


class Place(NamedTuple):
    """A function of a program; ``start``: where it begins in memory, 0 if it is not known.

    ``program``: empty for the kernel, and where there is only one program.
    """

    program: str
    function: str
    start: int

    def __str__(self) -> str:
        return f"{self.function} [{self.program}]" if self.program else self.function


class Area(NamedTuple):
    """A program in memory: at ``offset`` from where its functions were linked for."""

    program: str
    functions: Functions
    offset: int

    @property
    def start(self) -> int:
        """The address of its first function."""
        return self.functions.starts[0] + self.offset

    @property
    def end(self) -> int:
        """The address behind its last function."""
        return self.functions.ends[-1] + self.offset


class AddressSpace:
    """All programs in memory.

    ``split``: the first address of the kernel, None if there is only one program.
    """

    def __init__(self, areas: Iterable[Area], split: int | None = None) -> None:
        self._areas = sorted(
            (area for area in areas if area.functions.starts), key=lambda area: area.start
        )
        self._starts = [area.start for area in self._areas]
        self._split = split
        self._places: dict[int, Place] = {}

    def name(self, pc: int) -> Place:
        """Return the function at an address: "?" of "kernel" or "user" if it is not known."""
        place = self._places.get(pc)
        if place is not None:
            return place
        area = self.area(pc)
        function = area.functions.find(pc - area.offset) if area else None
        if area is None:
            half = "" if self._split is None else "kernel" if pc >= self._split else "user"
            place = Place(half, UNKNOWN, 0)
        elif function is None:
            place = Place(area.program, UNKNOWN, 0)
        else:
            place = Place(area.program, function[0], function[1] + area.offset)
        self._places[pc] = place
        return place

    def functions(self, program: str) -> Iterator[tuple[str, int, int]]:
        """Yield name, begin and end of the functions of a program."""
        for area in self._areas:
            if area.program == program:
                for name, start, end in zip(
                    area.functions.names, area.functions.starts, area.functions.ends, strict=True
                ):
                    yield name, start + area.offset, end + area.offset

    def area(self, pc: int) -> Area | None:
        """Return the program at an address, None if none is known."""
        index = bisect_right(self._starts, pc) - 1
        return self._areas[index] if index >= 0 and pc < self._areas[index].end else None


def of_image(path: Path) -> AddressSpace:
    """Return the address space of a system that is one ELF file.  Raises TargetError."""
    return AddressSpace([Area("", _program(path), 0)])


def as_linked(functions: Functions) -> AddressSpace:
    """Return the address space of a kernel where it was linked for."""
    return AddressSpace([Area("", functions, 0)], offsets.KERNEL)


def of_linux(system: Kernel, agent: Path, blocks: Collection[Block]) -> AddressSpace:
    """Return the address space of a guest: kernel, modules, vDSO and the agent.

    ``blocks``: all that were executed, at least since the agent's start; they show where each is.
    Raises Inconclusive if that is unknown of the kernel; of a module it may be.  Raises Unfit,
    TargetError for files without symbols, or that cannot be read.
    """
    symbols = kernel.read(system)
    offset = offsets.kernel_offset(symbols.functions, blocks, system.arch)
    if offset is None:
        raise Inconclusive(
            f"the {len(blocks)} blocks of instructions that were executed do not show where kernel "
            f"{system.name} was in memory"
        )
    areas = [Area("", symbols.functions, offset), Area(AGENT, _program(agent), 0)]
    space = AddressSpace(areas, offsets.KERNEL)
    strange = [block for block in blocks if space.area(block.at) is None]
    pieces = [*symbols.pieces]
    for path in system.modules:
        program = path.name.partition(".")[0].replace("-", "_")  # as the kernel calls it
        try:
            pieces.append(modules.module(program, image.unpacked(content(path))))
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
    for number, begin in offsets.piece_offsets(pieces, strange).items():
        areas.append(Area(pieces[number].program, pieces[number].functions, begin))
    return AddressSpace(areas, offsets.KERNEL)


def _program(path: Path) -> Functions:
    try:
        return elf.functions(content(path))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError | ValueError) -> TargetError:
    reason = error.strerror if isinstance(error, OSError) else error
    return TargetError(f"{reason}, {path}; without it no function can be named")
