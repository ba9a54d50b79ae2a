"""Read pages of the kernel's trace ring, by the kernel's own descriptions of its events.

Layout: kernel/trace/ring_buffer.c, Documentation/trace/ftrace.rst.  A page has the time of its
first event, its length, and events; each of these has its distance in time from the one before,
its length, and the fields that the event's file ``format`` lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

_FIELD = re.compile(r"field:([^;]+);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d);")
_ID = re.compile(r"\bID: (\d+)\b")
_ORDER: Literal["little"] = "little"  # of every processor that there is an agent for

# Kinds of entries that are not events; of events it is the length in words, 0: that follows.
_PADDING, _EXTENDED, _ABSOLUTE = 29, 30, 31
_DELTA_BITS = 27
_EPOCH = ~((1 << 59) - 1)  # bits of a time that an absolute one leaves out
_MISSED, _COUNTED = 1 << 31, 1 << 30  # in a page's length: events are missing before it; how many

_STACK = "kernel_stack"  # an event without a fixed number of fields

HARD_INTERRUPT, SOFT_INTERRUPT = 0x08, 0x10  # in an event's flags


class Field(NamedTuple):
    """A field of an event: where it lies, and whether it is a text."""

    offset: int
    size: int
    signed: bool
    text: bool
    elsewhere: bool  # the field has the place of the text in the event, and its length


class Format(NamedTuple):
    """The fields of a kind of event."""

    name: str
    fields: Mapping[str, Field]


class Event(NamedTuple):
    """An event: when, in ns of the trace's clock, and which task had the CPU.

    ``preempt``: for how many reasons preemption was off, on a kernel that counts them.  ``stack``:
    of one that is a stack, the addresses in it, the innermost first.
    """

    time: int
    name: str
    pid: int
    flags: int
    preempt: int
    values: Mapping[str, int | str]
    stack: tuple[int, ...] = ()

    def number(self, name: str) -> int:
        """Return a field, 0 if the event has no such number."""
        value = self.values.get(name)
        return value if isinstance(value, int) else 0

    def text(self, name: str) -> str:
        """Return a field, "" if the event has no such text."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


class Read(NamedTuple):
    """The events of a ring, in order.

    ``gaps``: the time of each event before which others are missing, and how many at least.
    """

    events: list[Event]
    gaps: list[tuple[int, int]]


class Formats:
    """The kernel's descriptions of its events: texts of files ``format`` by name of the event."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._by_id: dict[int, Format] = {}
        self._commit = 8  # bytes of a page's length
        for name, text in texts:
            fields: dict[str, Field] = {}
            for declared, offset, size, signed in _FIELD.findall(text):
                words = declared.split()
                field, bracket, _ = words[-1].partition("[")
                elsewhere = words[0] == "__data_loc"
                is_text = elsewhere or (bool(bracket) and "char" in words)
                fields[field] = Field(int(offset), int(size), signed == "1", is_text, elsewhere)
            if name == "header_page":
                self._commit = fields["commit"].size if "commit" in fields else self._commit
            elif number := _ID.search(text):
                self._by_id[int(number[1])] = Format(name.rpartition("/")[2], fields)

    def read(self, pages: bytes, size: int) -> Read:
        """Return the events of pages of that size; what cannot be understood ends a page."""
        ring = Read([], [])
        for at in range(0, len(pages), size):
            page = pages[at : at + size].ljust(size, b"\0")
            header = int.from_bytes(page[8 : 8 + self._commit], _ORDER)
            start, length = 8 + self._commit, header & (_COUNTED - 1)
            data = page[start : start + length]
            before = len(ring.events)
            for time, body in _entries(data, int.from_bytes(page[:8], _ORDER)):
                if event := self._event(time, body):
                    ring.events.append(event)
            if header & _MISSED and len(ring.events) > before:
                counted = page[start + length : start + length + self._commit]
                missing = int.from_bytes(counted, _ORDER) if header & _COUNTED else 1
                ring.gaps.append((ring.events[before].time, missing))
        return ring

    def _event(self, time: int, body: bytes) -> Event | None:
        if len(body) < 8:
            return None
        form = self._by_id.get(int.from_bytes(body[:2], _ORDER))
        if form is None:
            return None
        values = {name: _value(field, body) for name, field in form.fields.items()}
        pid = int.from_bytes(body[4:8], _ORDER, signed=True)
        stack: tuple[int, ...] = ()
        size, caller = form.fields.get("size"), form.fields.get("caller")
        if form.name == _STACK and size is not None and caller is not None:
            word, count = self._commit, _value(size, body)
            ends = range(caller.offset + word, len(body) + 1, word)[: int(count)]
            stack = tuple(int.from_bytes(body[end - word : end], _ORDER) for end in ends)
        return Event(time, form.name, pid, body[2], body[3] & 15, values, stack)


def _value(field: Field, body: bytes) -> int | str:
    offset, size = field.offset, field.size
    if field.elsewhere:
        where = int.from_bytes(body[offset : offset + 4], _ORDER)
        offset, size = where & 0xFFFF, where >> 16
    if not field.text:
        return int.from_bytes(body[offset : offset + min(size, 8)], _ORDER, signed=field.signed)
    end = offset + size if size else len(body)
    return body[offset:end].split(b"\0")[0].decode("utf-8", "replace")


def _entries(data: bytes, time: int) -> Iterator[tuple[int, bytes]]:
    """Yield time and content of each event in the data of a page."""

    def word(at: int) -> int:
        return int.from_bytes(data[at : at + 4], _ORDER)

    at = 0
    while at + 4 <= len(data):
        kind, delta = word(at) & 31, word(at) >> 5
        following = word(at + 4)
        if kind == _ABSOLUTE:
            time = (time & _EPOCH) | following << _DELTA_BITS | delta
            at += 8
            continue
        time += delta + (following << _DELTA_BITS if kind == _EXTENDED else 0)
        if kind == _EXTENDED:
            at += 8
        elif kind == _PADDING:
            if not delta:  # up to the end of the page
                return
            at += 4 + following
        elif kind:
            yield time, data[at + 4 : at + 4 + 4 * kind]
            at += 4 + 4 * kind
        elif following > 4:
            yield time, data[at + 8 : at + 4 + following]
            at += 4 + following
        else:
            return
