"""Lines of bytes to records, with every defect of the line told apart.  No input or output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple
from zlib import crc32

import msgspec

from rtstone.wire.records import Body, decode_body

MARK = b"#rts "
_END = re.compile(rb"\} ([0-9a-f]{8})")
_START = re.compile(rb"#rts (\d{1,19}) \{")


class Record(NamedTuple):
    """A record whose checksum fits."""

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
        """True if content is gone."""
        return self.kind not in {"duplicate", "late"}

    def __str__(self) -> str:
        which = f"record {self.first}" if self.first == self.last else (
            f"records {self.first} to {self.last}"
        )  # fmt: skip
        return f"{which} {self.kind}"


class Reader:
    """Feed it lines; it yields records once each, and remembers what is wrong with the line."""

    def __init__(self) -> None:
        self._next = 0
        self._missing: dict[int, str] = {}
        self._harmless: list[Defect] = []
        self.damaged = False  # damage seen since the last good record

    @property
    def defects(self) -> list[Defect]:
        """All defects so far; a gap that a late record has filled is no longer one."""
        found: list[Defect] = []
        for seq, kind in sorted(self._missing.items()):
            if found and found[-1].last == seq - 1 and found[-1].kind == kind:
                found[-1] = found[-1]._replace(last=seq)
            else:
                found.append(Defect(kind, seq, seq))
        return found + self._harmless

    def feed(self, line: bytes) -> Iterator[Record | Noise]:
        """Yields what one line holds, in order.  The line may end in any mix of CR and LF."""
        line = line.rstrip(b"\r\n")
        done = 0  # everything before is dealt with
        for start in _START.finditer(line):
            if start.start() < done:
                continue
            found = _checked(line, start)
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
        late = seq < self._next
        if late and seq not in self._missing:
            self._harmless.append(Defect("duplicate", seq, seq))
            return None
        if late:
            del self._missing[seq]
            self._harmless.append(Defect("late", seq, seq))
        else:
            kind = "damaged" if self.damaged else "lost"
            self._missing.update((gone, kind) for gone in range(self._next, seq))
            self._next = seq + 1
            self.damaged = False
        try:
            return Record(seq, decode_body(json))
        except msgspec.MsgspecError:
            self._missing[seq] = "malformed"
            return None


def _checked(line: bytes, start: re.Match[bytes]) -> tuple[int, bytes, int] | None:
    """(seq, json, end) of the record that starts there, if one of its ends has the right CRC."""
    body = start.start() + len(MARK)
    for end in _END.finditer(line, start.end()):
        if crc32(line[body : end.start() + 1]) == int(end[1], 16):
            return int(start[1]), line[start.end() - 1 : end.start() + 1], end.end()
    return None


class Writer:
    """Writes records as an agent does; for fakes and tests."""

    def __init__(self) -> None:
        self._seq = count()

    def line(self, body: dict[str, object]) -> bytes:
        """The next record as a line."""
        return frame(next(self._seq), msgspec.json.encode(body))


def frame(seq: int, json: bytes) -> bytes:
    """One record as it stands on the wire, line end included."""
    covered = b"%d %s" % (seq, json)
    return b"%s%s %08x\n" % (MARK, covered, crc32(covered))
