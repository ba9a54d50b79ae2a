"""Keep the symbols of kernels in the lab's directory, by the hash of the kernel.

A file that is damaged, of another version or not this user's counts as none: the symbols are then
read from the kernel again.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rtstone import structures
from rtstone.files import directory
from rtstone.lab import kernels

FORMAT = b"rtstone symbols 2\n"  # to be changed whenever decoding or what is stored is
DIGEST = 32  # bytes, of what follows
LARGEST = 1 << 28

_T = TypeVar("_T")


def place(kernel: str) -> Path:
    """Return the file for a kernel, given its SHA-256 in hex."""
    return kernels.cache() / f"symbols-{kernel}"


def load(kernel: str, kind: type[_T]) -> _T | None:
    """Return what was stored for a kernel, None if there is nothing that only this user wrote."""
    try:
        handle = os.open(place(kernel), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or writable:
                return None
            data = file.read(LARGEST)
    except OSError:
        return None
    body = data[len(FORMAT) + DIGEST :]
    if data[: -len(body)] != FORMAT + sha256(body).digest():
        return None
    try:
        return structures.unpack(body, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def store(kernel: str, value: Any) -> None:
    """Store something for a kernel, if that is possible."""
    body = msgspec.msgpack.encode(value)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):  # a full or read-only disk only costs the time to decode again
        path = place(kernel)
        new = f".{path.name[:16]}-{secrets.token_hex(8)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with directory(path.parent, links=True) as folder:
            handle = os.open(new, flags, 0o644, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(FORMAT + sha256(body).digest() + body)
                os.rename(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(new, dir_fd=folder)
                raise
