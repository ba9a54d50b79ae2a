"""Writes records as an agent does."""

from __future__ import annotations

from itertools import count
from zlib import crc32

import msgspec


class Writer:
    """Numbers its records."""

    def __init__(self) -> None:
        self._seq = count()

    def line(self, body: dict[str, object]) -> bytes:
        """The next record as a line."""
        return frame(next(self._seq), msgspec.json.encode(body))


def frame(seq: int, json: bytes) -> bytes:
    """One record as it stands on the wire, line end included."""
    covered = b"%d %s" % (seq, json)
    return b"#rts %s %08x\n" % (covered, crc32(covered))
