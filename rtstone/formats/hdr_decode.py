"""Decode the histograms of HdrHistogram logs in the V2 encoding, which hdr_log describes."""

from __future__ import annotations

import binascii
import re
import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

from rtstone.formats.source import LONGEST, Source

_OUTER = struct.Struct(">II")  # cookie, length
_HEAD = struct.Struct(">Iiiiqqd")  # cookie, length, offset, digits, lowest, highest, ratio
_COOKIE, _COMPRESSED = 0x1C849303, 0x1C849304
_SIZE_OF_WORD = 0xF0  # of a cookie; V2 has numbers of any length
_LARGEST = 4 << 20  # bytes of a histogram
_MOST = 1 << 20  # different buckets of all series
_DIGITS = 5  # the most that the libraries allow
_BITS = 64  # of a value
# LEB128 with at most nine bytes, the last of which has eight bits.
_NUMBER = re.compile(rb"[\x80-\xff]{8}[\x00-\xff]|[\x80-\xff]{0,7}[\x00-\x7f]")


class Histogram(NamedTuple):
    """Buckets as (lowest value, width, count), and the edges of the highest, inclusive."""

    buckets: list[tuple[int, int, int]]
    low: int
    high: int


class Decoder:
    """Decodes the histograms of a file, and bounds what they are all together."""

    def __init__(self, source: Source) -> None:
        """Begin with no histogram."""
        self._source, self._bytes, self._buckets = source, 0, 0

    def histogram(self, text: str, line: int) -> Histogram:
        """Return the histogram of an interval.  Raises UsageError."""
        data = self._unpacked(text, line)
        self._bytes += len(data)
        if self._bytes > LONGEST:
            self._too_large(line)
        buckets = list(self._decoded(data, line))
        low, width, _ = buckets[-1] if buckets else (0, 1, 0)
        return Histogram(buckets, low, low + width - 1)

    def check(self, number: int, line: int) -> None:
        """Refuse too many buckets in all series, of which an interval brought so many more."""
        self._buckets += number
        if self._buckets > _MOST:
            self._too_large(line)

    def _too_large(self, line: int) -> None:
        self._source.refuse("too many buckets", line, "split the log, or use fewer digits")

    def _unpacked(self, text: str, line: int) -> bytes:
        """Return what the text holds, at most _LARGEST bytes."""
        try:
            packed = b64decode(text, validate=True)
        except binascii.Error:
            self._source.cut("a histogram is not complete base64", line)
        if len(packed) < _OUTER.size:
            self._source.cut("a histogram without its header", line)
        cookie, length = _OUTER.unpack_from(packed)
        self._check_cookie(cookie, _COMPRESSED, line)
        if length != len(packed) - _OUTER.size:
            self._source.cut(f"a histogram of {len(packed)} bytes, not {length} and 8", line)
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(packed[_OUTER.size :], _LARGEST)
        except zlib.error:
            self._source.refuse("a histogram that zlib cannot unpack", line)
        if len(data) == _LARGEST:
            self._too_large(line)
        if not unpacker.eof or unpacker.unused_data or len(data) < _HEAD.size:
            self._source.cut("a histogram ends early, or late", line)
        return data

    def _check_cookie(self, cookie: int, expected: int, line: int) -> None:
        if cookie & ~_SIZE_OF_WORD != expected:
            do = "write the log with the V2 encoding, of integers, compressed"
            self._source.refuse(f"a histogram of another encoding ({cookie:#x})", line, do)

    def _decoded(self, data: bytes, line: int) -> Iterator[tuple[int, int, int]]:
        """Yield the buckets that have values: lowest value, width, count."""
        cookie, length, offset, digits, lowest, _, ratio = _HEAD.unpack_from(data)
        self._check_cookie(cookie, _COOKIE, line)
        if length != len(data) - _HEAD.size:
            self._source.cut(f"{len(data) - _HEAD.size} bytes of counts, not {length}", line)
        if offset or ratio != 1 or not 0 <= digits <= _DIGITS or lowest < 1:
            head = f"offset {offset}, ratio {ratio:g}, {digits} digits, lowest value {lowest}"
            self._source.refuse(head, line, "only histograms of plain integers can be imported")
        half_bits, unit_bits = (2 * 10**digits - 1).bit_length() - 1, lowest.bit_length() - 1
        place, end = 0, _HEAD.size
        for match in _NUMBER.finditer(data, end):
            number, end = _number(match[0]), match.end()
            if number > 0:
                octave = max((place >> half_bits) - 1, 0)
                shift = octave + unit_bits
                yield (place - (octave << half_bits)) << shift, 1 << shift, number
            place += 1 if number >= 0 else -number
            if place > _BITS << half_bits:
                self._source.refuse("a histogram of values that need more than 64 bits", line)
        if end != len(data):
            self._source.cut("a count has no end", line)


def _number(encoded: bytes) -> int:
    """Return the number of a ZigZag LEB128; one below zero is a run of empty buckets."""
    value = 0
    for place, byte in enumerate(encoded):
        value |= (byte if place == 8 else byte & 0x7F) << 7 * place
    return value >> 1 ^ -(value & 1)
