"""Write pages and exports: files atomically, pipes and devices directly."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def write(content: str | bytes, path: Path) -> int:
    """Write text or bytes, and return the number of bytes.

    Symbolic links are followed, an existing file keeps its mode, pipes and devices are written
    directly.  Raises OSError.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        with path.open("wb") as out:
            out.write(data)
    else:
        _replace(data, _followed(path))
    return len(data)


def _followed(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # pathlib's error for a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _replace(data: bytes, path: Path) -> None:
    part = path.with_name(f".rtstone-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(part, flags, 0o666), "wb") as out:  # minus the umask
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode & 0o7777)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
