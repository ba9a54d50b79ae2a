"""Parse lines of bytes into records and classify every defect of the line.  No input or output."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec

from rtstone.wire.records import Body, decode_body

MARK = b"#rts "
QUOTING = 8  # starts in a line of which each may be that of a record which quotes those after it
_END = re.compile(rb"\} ([0-9a-f]{8})")
_START = re.compile(rb"#rts (\d{1,19}) \{")


class Record(NamedTuple):
    """A record with a valid checksum."""

    seq: int
    body: Body


class Noise(NamedTuple):
    """Console text between records; ``damaged`` if it holds what began as a record."""

    text: bytes
    damaged: bool


class Defect(NamedTuple):
    """What happened to the records ``first`` to ``last``.

    ``kind``: "lost", "damaged" (something with a wrong checksum stood in their place), "malformed"
    (checksum right, content not as agreed); or, harmless, "duplicate" and "late".
    """

    kind: str
    first: int
    last: int

    @property
    def costs(self) -> bool:
        """Whether content was lost."""
        return self.kind not in {"duplicate", "late"}

    @property
    def size(self) -> int:
        """The number of records."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        which = f"record {self.first}" if self.first == self.last else (
            f"records {self.first} to {self.last}"
        )  # fmt: skip
        return f"{which} {self.kind}"


class Reader:
    """A parser of lines: it yields each record once, and collects defects of the line."""

    def __init__(self) -> None:
        self._next = 0
        self._gaps: list[Defect] = []  # in rising order, never overlapping
        self._harmless: list[Defect] = []
        self.damaged = False  # damage seen since the last good record

    @property
    def defects(self) -> list[Defect]:
        """All defects so far; a gap that a late record has filled is no longer one."""
        return self._gaps + self._harmless

    def feed(self, line: bytes) -> Iterator[Record | Noise]:
        """Yields what one line holds, in order.  The line may end in any mix of CR and LF."""
        line = line.rstrip(b"\r\n")
        starts = list(_START.finditer(line))
        done = 0  # everything before is dealt with
        for number, start in enumerate(starts):
            if start.start() < done:
                continue
            # A text may quote a record; but not every start may be tried up to the line's end.
            within = number >= QUOTING and number + 1 < len(starts)
            found = _checked(line, start, starts[number + 1].start() if within else len(line))
            if found is None:
                continue
            seq, json, end = found
            if start.start() > done:
                yield self._noise(line[done : start.start()])
            done = end
            record = self._accept(seq, json)
            if record is not None:
                yield record
        if done < len(line):
            yield self._noise(line[done:])

    def _noise(self, text: bytes) -> Noise:
        damaged = MARK.strip() in text
        self.damaged |= damaged
        return Noise(text, damaged)

    def _accept(self, seq: int, json: bytes) -> Record | None:
        if seq < self._next:
            filled = self._fill(seq)
            self._harmless.append(Defect("late" if filled else "duplicate", seq, seq))
            if not filled:
                return None
        else:
            if seq > self._next:
                kind = "damaged" if self.damaged else "lost"
                self._gaps.append(Defect(kind, self._next, seq - 1))
            self._next = seq + 1
            self.damaged = False
        try:
            return Record(seq, decode_body(json))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            insort(self._gaps, Defect("malformed", seq, seq), key=_first)
            return None

    def _fill(self, seq: int) -> bool:
        """Takes a record out of the gap it was missing in; False if it was not missing."""
        at = bisect_right(self._gaps, seq, key=_first) - 1
        if at < 0 or seq > self._gaps[at].last:
            return False
        gap = self._gaps[at]
        parts = (gap._replace(last=seq - 1), gap._replace(first=seq + 1))
        self._gaps[at : at + 1] = [part for part in parts if part.first <= part.last]
        return True


def _first(defect: Defect) -> int:
    return defect.first


def _checked(line: bytes, start: re.Match[bytes], limit: int) -> tuple[int, bytes, int] | None:
    """(seq, json, end) of the record that starts there, if one of its ends has the right CRC."""
    crc, upto = 0, start.start() + len(MARK)
    for end in _END.finditer(line, start.end(), limit):
        crc, upto = crc32(line[upto : end.start() + 1], crc), end.start() + 1
        if crc == int(end[1], 16):
            return int(start[1]), line[start.end() - 1 : upto], end.end()
    return None
