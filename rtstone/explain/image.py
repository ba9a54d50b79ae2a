"""The uncompressed kernel in a file that a boot loader starts."""

from __future__ import annotations

from rtstone import packed

LARGEST = 1 << 29  # bytes of an uncompressed kernel or module
SIZE = 4  # bytes: the uncompressed size, behind what is compressed in a bzImage


def unpacked(data: bytes) -> bytes:
    """Return what a compressed file holds, any other as it is.

    Raises ValueError, also if a program is needed that is not installed.
    """
    whole = packed.unpacked(data, LARGEST + 1)
    if len(whole) > LARGEST:
        raise ValueError(f"more than {LARGEST >> 20} MiB")
    return whole


def kernel(data: bytes) -> bytes:
    """Return the uncompressed kernel: an Image of arm64, or the ELF file in a bzImage of x86.

    Raises ValueError as `unpacked` does.
    """
    if data[0x202:0x206] != b"HdrS":  # Documentation/x86/boot.rst
        return unpacked(data)
    begin = (data[0x1F1] + 1) * 512 + int.from_bytes(data[0x248:0x24C], "little")
    payload = data[begin : begin + int.from_bytes(data[0x24C:0x250], "little")]
    if payload.startswith(b"\x1f\x8b"):  # has its size at its own end
        return unpacked(payload)
    return unpacked(payload[:-SIZE])
