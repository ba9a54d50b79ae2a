"""Two systems as domains of one processor under the hypervisor Xen, which starts them by itself.

There is no control domain ("dom0less"): Xen finds kernels and memory of its domains in the device
tree, which is made here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import TargetError
from rtstone.lab import images, kernels, systems
from rtstone.lab.device_tree import Node, Value, flatten
from rtstone.lab.systems import System
from rtstone.resources import BUILT

GIC, CLOCK = 1, 2  # phandles

# With Debian's rate limit of 1 ms a domain that wakes up waits until the other has had so long.
ARGUMENTS = ("console=dtuart", "dtuart=/pl011@9000000", "bootscrub=0", "sched_ratelimit_us=0")

SETTLE_MS = 45_000  # until then Linux has started in the other domain, and its load runs


class Setting(NamedTuple):
    """What domains of a run have in common."""

    seed: int
    icount: bool
    append: Sequence[str] = ()  # words of Linux's command line


class Domain(NamedTuple):
    """A system that Xen starts."""

    memory: int  # MiB
    kernel: bytes
    ramdisk: bytes = b""
    arguments: str = ""


def domain(system: System, script: bytes, setting: Setting, settle_ms: int = 0) -> Domain:
    """Return a system with its agent's script as a domain.  Raises TargetError.

    An RTOS waits for `settle_ms` at its start; Linux takes long enough by itself.
    """
    assert system.memory
    if system.kernel:
        kernel = kernels.find(system.kernel, system.board.arch)
        words = systems.kernel_words(system, setting.seed, None, setting.icount)
        return Domain(
            system.memory,
            kernel.image.read_bytes(),
            images.linux(kernel, script),
            " ".join([*words, *setting.append]),
        )
    assert system.image
    script = systems.SCRIPT_MARK + script + b"\0"
    return Domain(system.memory, image(BUILT / system.image, script, settle_ms))


_FIRST, _APART = 0x50000000, 0x8000000  # where kernels and RAM disks are put


def modules(domains: Sequence[Domain]) -> dict[int, bytes]:
    """Return the files that Xen needs for its domains, by address."""
    files = [file for domain in domains for file in (domain.kernel, domain.ramdisk)]
    assert all(len(file) < _APART for file in files)
    return {_FIRST + n * _APART: file for n, file in enumerate(files) if file}


def device_tree(domains: Sequence[Domain], arguments: Sequence[str], memory: int) -> bytes:
    """Return the device tree of the board `virt` for Xen, with `memory` MiB and these domains.

    Their files are where `modules` has them.
    """
    ram = (0, 0x40000000, 0, memory << 20)
    chosen: dict[str, Value | Node] = {
        "#address-cells": [2],
        "#size-cells": [2],
        "xen,xen-bootargs": " ".join(arguments),
    }
    for number, domain in enumerate(domains):
        kernel = _FIRST + 2 * number * _APART
        ramdisk = kernel + _APART
        kib = domain.memory << 10
        node: dict[str, Value | Node] = {
            "compatible": "xen,domain",
            "#address-cells": [2],
            "#size-cells": [2],
            "cpus": [1],
            "memory": [kib >> 32, kib & 0xFFFFFFFF],
            "vpl011": None,
        }
        node[f"module@{kernel:x}"] = {
            "compatible": ["multiboot,kernel", "multiboot,module"],
            "reg": [0, kernel, 0, len(domain.kernel)],
            "bootargs": domain.arguments,
        }
        if domain.ramdisk:
            node[f"module@{ramdisk:x}"] = {
                "compatible": ["multiboot,ramdisk", "multiboot,module"],
                "reg": [0, ramdisk, 0, len(domain.ramdisk)],
            }
        chosen[f"domU{number + 1}"] = node
    tree: Node = {
        "#address-cells": [2],
        "#size-cells": [2],
        "interrupt-parent": [GIC],
        "model": "linux,dummy-virt",
        "compatible": "linux,dummy-virt",
        "psci": {"compatible": ["arm,psci-1.0", "arm,psci-0.2"], "method": "smc"},
        "memory@40000000": {"device_type": "memory", "reg": ram},
        "intc@8000000": {
            "compatible": "arm,cortex-a15-gic",
            "phandle": [GIC],
            "#interrupt-cells": [3],
            "#address-cells": [2],
            "#size-cells": [2],
            "interrupt-controller": None,
            "interrupts": [1, 9, 4],
            "reg": [
                word
                for start in (0x8000000, 0x8010000, 0x8030000, 0x8040000)
                for word in (0, start, 0, 0x10000)
            ],
        },
        "timer": {
            "compatible": "arm,armv8-timer",
            "always-on": None,
            "interrupts": [1, 13, 0x104, 1, 14, 0x104, 1, 11, 0x104, 1, 10, 0x104],
        },
        "clock": {
            "compatible": "fixed-clock",
            "phandle": [CLOCK],
            "#clock-cells": [0],
            "clock-frequency": [24_000_000],
        },
        "pl011@9000000": {
            "compatible": ["arm,pl011", "arm,primecell"],
            "reg": [0, 0x9000000, 0, 0x1000],
            "interrupts": [0, 1, 4],
            "clocks": [CLOCK, CLOCK],
            "clock-names": ["uartclk", "apb_pclk"],
        },
        "cpus": {
            "#address-cells": [1],
            "#size-cells": [0],
            "cpu@0": {"device_type": "cpu", "compatible": "arm,cortex-a53", "reg": [0]},
        },
        "chosen": chosen,
    }
    return flatten(tree)


# ---- FreeRTOS as a kernel that Xen loads ---------------------------------------------------------

RAM = 0x40000000  # of each domain, as it sees it
SCRIPT = RAM + 0x1000  # as in agent/boards/virt-a53/board.h, with a word before it
ROOM = 0x7F000  # for the script; as in link.ld
_BRANCH = 0x14000000  # instruction b, with the distance in words
_MAGIC_IMAGE = b"ARM\x64"  # Documentation/arm64/booting.rst
_FLAGS = 0b1010  # little-endian, pages of 4 KiB, anywhere in memory
_PT_LOAD = 1


def image(elf: Path, script: bytes, settle_ms: int) -> bytes:
    """Return an arm64 Image of a bare-metal program and its script, for a domain's memory.

    The program waits for `settle_ms` at its start.  Raises TargetError if the script is too long.
    """
    if len(script) > ROOM:
        raise TargetError(
            f"the commands of this run are {len(script)} bytes; a domain of FreeRTOS has room for "
            f"{ROOM}: run fewer cases at a time"
        )
    memory = bytearray()
    program = elf.read_bytes()
    (entry,) = struct.unpack_from("<Q", program, 0x18)
    end = 0
    for address, data, size in _segments(program):
        _put(memory, address - RAM, data)
        end = max(end, address - RAM + size)
    _put(memory, SCRIPT - RAM - 4, struct.pack("<I", settle_ms) + script)
    first = _BRANCH | (entry - RAM) // 4
    _put(memory, 0, struct.pack("<IIQQQ24x4sI", first, 0, 0, end, _FLAGS, _MAGIC_IMAGE, 0))
    return bytes(memory)


def _segments(elf: bytes) -> list[tuple[int, bytes, int]]:
    """Return (address, content, size in memory) of what an AArch64 ELF file loads."""
    table, size, number = struct.unpack_from("<Q14xHH", elf, 0x20)
    segments = []
    for at in range(table, table + size * number, size):
        kind, _, offset, _, address, stored, used = struct.unpack_from("<IIQQQQQ", elf, at)
        if kind == _PT_LOAD:
            segments.append((address, elf[offset : offset + stored], used))
    return segments


def _put(memory: bytearray, at: int, data: bytes) -> None:
    if len(memory) < at + len(data):
        memory += bytes(at + len(data) - len(memory))
    memory[at : at + len(data)] = data
