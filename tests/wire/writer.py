"""Write records as an agent does."""

from __future__ import annotations

from itertools import count
from zlib import crc32

import msgspec


class Writer:
    """Number records consecutively."""

    def __init__(self) -> None:
        self._seq = count()

    def line(self, body: dict[str, object]) -> bytes:
        """Return the next record as a line."""
        return frame(next(self._seq), msgspec.json.encode(body))


def frame(seq: int, json: bytes) -> bytes:
    """Return a record in wire format, including the line end."""
    covered = b"%d %s" % (seq, json)
    return b"#rts %s %08x\n" % (covered, crc32(covered))
