"""The uncompressed kernel in a file that a boot loader starts."""

from __future__ import annotations

import bz2
import lzma
import subprocess
import zlib
from collections.abc import Callable

LARGEST = 1 << 29  # bytes of an uncompressed kernel or module
ZSTD = ("zstd", "--decompress", "--stdout", "--quiet", "--memory=2048MB")
SIZE = 4  # bytes: the uncompressed size, behind what is compressed in a bzImage


def _zstd(data: bytes) -> bytes:
    try:
        done = subprocess.run(ZSTD, check=False, input=data, capture_output=True)
    except FileNotFoundError:
        raise ValueError("zstd is not installed (`apt-get install zstd`)") from None
    if done.returncode:
        raise OSError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout


# What a compressed kernel or module begins with, and what decompresses it.
_METHODS: dict[bytes, tuple[str, Callable[[bytes], bytes] | None]] = {
    b"\x1f\x8b": ("gzip", lambda data: zlib.decompressobj(31).decompress(data, LARGEST)),
    b"\xfd7zXZ\0": ("xz", lambda data: lzma.LZMADecompressor().decompress(data, LARGEST)),
    b"\x5d\0\0": ("lzma", lambda data: lzma.LZMADecompressor().decompress(data, LARGEST)),
    b"BZh": ("bzip2", lambda data: bz2.BZ2Decompressor().decompress(data, LARGEST)),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    b"\x02\x21\x4c\x18": ("lz4", None),
    b"\x89LZO": ("lzo", None),
}


def unpacked(data: bytes) -> bytes:
    """Return what a compressed file holds, any other as it is.

    Raises ValueError, also if a program is needed that is not installed.
    """
    for magic, (name, method) in _METHODS.items():
        if data.startswith(magic):
            if not method:
                raise ValueError(f"compression by {name} is not supported")
            try:
                return method(data)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise ValueError(f"damaged {name} data: {error}") from error
    return data


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
