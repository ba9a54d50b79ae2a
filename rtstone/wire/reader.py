"""Parse lines of bytes into records, and classify every transmission defect.  Does no I/O."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec

from rtstone.printable import shown
from rtstone.wire.records import Body, NegativeSpanError, decode_body

MARK = b"#rts "
FIRST = 64  # records whose checksums are kept, to notice an agent that begins anew
QUOTING = 8  # record starts of a line tried up to its end, as a record's text may quote others
BACKWARDS = "with negative time spans, which ended before they began"
_END = re.compile(rb"\} ([0-9a-f]{8})")
_START = re.compile(rb"#rts (\d{1,19}) \{")


class Record(NamedTuple):
    """A record with a valid checksum."""

    seq: int
    body: Body


class Noise(NamedTuple):
    """Console text between records; ``damaged`` if it contains the start of a record."""

    text: bytes
    damaged: bool


class Defect(NamedTuple):
    """What happened to the records with the numbers ``first`` to ``last``.

    ``kind``: "lost", "damaged" (there was something with a wrong checksum in their place),
    "malformed" (right checksum, invalid content), BACKWARDS (of that the kind that a bench with
    swapped time stamps makes); or, harmless, "duplicate" and "late".
    """

    kind: str
    first: int
    last: int

    @property
    def costs(self) -> bool:
        """True if content was lost."""
        return self.kind not in {"duplicate", "late"}

    @property
    def for_good(self) -> bool:
        """True if the same would come again: the agent meant it."""
        return self.kind in {"malformed", BACKWARDS}

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
    """A parser of lines that yields each record once and collects transmission defects."""

    def __init__(self) -> None:
        self._next = 0
        self._gaps: list[Defect] = []  # ascending, never overlapping
        self._harmless: list[Defect] = []
        self._first: dict[int, int] = {}  # seq: checksum, of the first records
        self.damaged = False  # damage seen since the last good record
        self.malformed: str | None = None  # the first record that no agent would send, and why
        self.restarted = False  # numbers came again with other records: it is another agent

    @property
    def defects(self) -> list[Defect]:
        """All defects so far, without gaps that late records have filled."""
        return self._gaps + self._harmless

    @property
    def newest(self) -> int:
        """The number of the newest record, -1 if none has come."""
        return self._next - 1

    def lacks(self, first: int, last: int) -> bool:
        """Return whether content was lost between two records."""
        return any(gap.first < last and gap.last > first for gap in self._gaps)

    def feed(self, line: bytes) -> Iterator[Record | Noise]:
        """Yield the contents of one line in order.  The line may end in any mix of CR and LF."""
        line = line.rstrip(b"\r\n")
        starts = list(_START.finditer(line))
        done = 0  # everything before it has been handled
        for number, start in enumerate(starts):
            if start.start() < done:
                continue
            # A text may quote records; trying every start up to the line's end would be quadratic.
            within = number >= QUOTING and number + 1 < len(starts)
            checked = _checked(line, start, starts[number + 1].start() if within else len(line))
            if checked is None:
                continue
            seq, json, end, crc = checked
            if start.start() > done:
                yield self._noise(line[done : start.start()])
            done = end
            if seq < FIRST and self._first.setdefault(seq, crc) != crc:
                self.restarted = True
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
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            kind = BACKWARDS if isinstance(error.__cause__, NegativeSpanError) else "malformed"
            insort(self._gaps, Defect(kind, seq, seq), key=_first)
            if kind != BACKWARDS:
                self.malformed = self.malformed or f"record {seq}: {shown(str(error))}"
            return None

    def _fill(self, seq: int) -> bool:
        """Remove a record from the gap it was missing in; return False if it was not missing."""
        at = bisect_right(self._gaps, seq, key=_first) - 1
        if at < 0 or seq > self._gaps[at].last:
            return False
        gap = self._gaps[at]
        parts = (gap._replace(last=seq - 1), gap._replace(first=seq + 1))
        self._gaps[at : at + 1] = [part for part in parts if part.first <= part.last]
        return True


def _first(defect: Defect) -> int:
    return defect.first


def _checked(line: bytes, start: re.Match[bytes], limit: int) -> tuple[int, bytes, int, int] | None:
    """Return (seq, json, end, CRC) of the record that starts there, None if no CRC is right."""
    crc, upto = 0, start.start() + len(MARK)
    for end in _END.finditer(line, start.end(), limit):
        crc, upto = crc32(line[upto : end.start() + 1], crc), end.start() + 1
        if crc == int(end[1], 16):
            return int(start[1]), line[start.end() - 1 : upto], end.end(), crc
    return None
