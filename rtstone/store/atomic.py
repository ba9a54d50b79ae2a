"""Write files in a directory that another user may change."""

from __future__ import annotations

import os
from contextlib import suppress

from rtstone.store.layout import NEW


def replace(place: int, name: str, data: bytes) -> None:
    """Write a file in a directory atomically, in place of any of its name.  Raises OSError."""
    temporary = name + NEW
    try:
        with suppress(FileNotFoundError):  # left by a killed host, or planted
            os.unlink(temporary, dir_fd=place)
        write(place, temporary, data)
        os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place)
        raise


def write(place: int, name: str, data: bytes) -> None:
    """Write a new file in a directory, never through a link, synced to disk.  Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=place), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
