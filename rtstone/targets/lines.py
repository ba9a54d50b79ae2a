"""Bytes that arrive in pieces, as lines."""

from __future__ import annotations

from rtstone.wire import records
from rtstone.wire.reader import Reader, Record

LINE = 16 << 20  # longest line in bytes; a longer one is split


class Lines:
    """Bytes that have arrived and were not taken yet."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._scanned = 0  # bytes at its beginning that hold no newline

    def add(self, data: bytes) -> None:
        """Append what has arrived."""
        self._bytes += data

    def take(self) -> bytes | None:
        """Return the next line with its end, None if it has not come yet."""
        end = self._bytes.find(b"\n", self._scanned) + 1
        if not end and len(self._bytes) < LINE:
            self._scanned = len(self._bytes)
            return None
        line = bytes(self._bytes[: min(end or LINE, LINE)])
        del self._bytes[: len(line)]
        self._scanned = 0
        return line

    def rest(self) -> bytes:
        """Return what is left without an end."""
        return bytes(self._bytes)

    def clear(self) -> None:
        """Forget what is left."""
        self._bytes.clear()
        self._scanned = 0


def says_bye(line: bytes | None) -> bool:
    """Return whether a line is the agent's `bye`, the last record for its host."""
    if line is None or b'"bye"' not in line:
        return False
    events = Reader().feed(line)
    return any(
        isinstance(event, Record) and isinstance(event.body, records.Bye) for event in events
    )
