"""Devices that the board of a Linux guest has on request: `+device=NAME` behind a target.

A board without one is as it was, to the instruction.  A device may be one of the emulator's, words
of the kernel's command line, nodes of the device tree by which the kernel finds it, or all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rtstone.lab.device_tree import Node


class Addition(NamedTuple):
    """What a device adds to a board."""

    arguments: tuple[str, ...] = ()  # of the emulator
    kernel_words: tuple[str, ...] = ()  # of the kernel's command line
    nodes: Callable[[int], Node] | None = None  # of the device tree; argument: the memory in MiB


class Device(NamedTuple):
    """A device, and what it is on the boards that can have it, by their names."""

    name: str
    title: str
    boards: Mapping[str, Addition]


WIDTH, HEIGHT, DEPTH = 1024, 768, 4  # pixels, pixels, bytes in a pixel


def _frame_buffer(memory: int) -> Node:
    """Return a frame buffer at the end of the memory of the board `virt`, of which it is a part."""
    size = WIDTH * HEIGHT * DEPTH
    at = 0x40000000 + (memory << 20) - size
    cells: Node = {"#address-cells": [2], "#size-cells": [2], "ranges": None}
    where = [at >> 32, at & 0xFFFFFFFF, 0, size]
    name = f"framebuffer@{at:x}"
    screen: Node = {
        "compatible": "simple-framebuffer",
        "reg": where,
        "width": [WIDTH],
        "height": [HEIGHT],
        "stride": [WIDTH * DEPTH],
        "format": "a8r8g8b8",
    }
    return {
        "reserved-memory": {**cells, name: {"reg": where, "no-map": None}},
        "chosen": {**cells, name: screen},
    }


DEVICES = {
    device.name: device
    for device in (
        Device(
            "screen",
            f"a frame buffer of {WIDTH}x{HEIGHT} pixels, on which virtual consoles are drawn",
            {
                "virt-a53": Addition(nodes=_frame_buffer),
                "q35": Addition(("-device", "VGA"), ("vga=0x344",)),  # 1024x768, 32 bits
            },
        ),
    )
}
