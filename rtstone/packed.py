"""Unpack what is compressed, by what its data begin with."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from typing import Any

# The window of a long-distance match; a kernel's modules are compressed with up to 128 MiB.
_ZSTD = ("zstd", "--decompress", "--stdout", "--quiet", "--memory=2048MB")
_INSTALL = "zstd is not installed (`apt-get install zstd`)"


def _opened(method: Callable[..., Any]) -> Callable[[bytes, int], bytes]:
    def unpack(data: bytes, limit: int) -> bytes:
        whole: bytes = method(io.BytesIO(data), "rb").read(limit)
        return whole

    return unpack


def _zstd(data: bytes, limit: int) -> bytes:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        try:
            process = subprocess.Popen(
                _ZSTD, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except FileNotFoundError:
            raise ValueError(_INSTALL) from None
        with process:
            assert process.stdout and process.stderr
            whole = process.stdout.read(limit)
            if len(whole) == limit:
                process.kill()
                return whole
            said = process.stderr.read(1000).decode("utf-8", "replace").strip()
    if process.returncode:
        raise OSError(said)
    return whole


# What compressed data begin with, the method's name, and what unpacks them up to a limit.
_METHODS: dict[bytes, tuple[str, Callable[[bytes, int], bytes] | None]] = {
    b"\x1f\x8b": ("gzip", _opened(gzip.open)),
    b"\xfd7zXZ\0": ("xz", _opened(lzma.open)),
    b"\x5d\0\0": ("lzma", _opened(lzma.open)),
    b"BZh": ("bzip2", _opened(bz2.open)),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    b"\x02\x21\x4c\x18": ("lz4", None),
    b"\x89LZO": ("lzo", None),
}


def unpacked(data: bytes, limit: int) -> bytes:
    """Return what compressed data hold, at most ``limit`` bytes of it; any other data as they are.

    Raises ValueError if they are damaged, or a program is needed that is not installed.
    """
    for magic, (name, unpack) in _METHODS.items():
        if data.startswith(magic):
            if not unpack:
                raise ValueError(f"compression by {name} is not supported")
            try:
                return unpack(data, limit)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                reason = str(error).partition("\n")[0]
                raise ValueError(f"damaged {name} data: {reason}") from error
    return data
