"""Decode JSON and MessagePack into structures, also by several threads.

msgspec completes a structure when it is decoded for the first time.  A thread that decodes into it
meanwhile ends the process (segmentation fault, msgspec 0.22).  So structures are completed here, by
one thread at a time, and no other module decodes into them by itself.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_completing = Lock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decode(data: bytes | str, kind: type[_T]) -> _T:
    """Return the structure of a JSON text.  Raises as msgspec does."""
    structure: _T = decoder(kind).decode(data)
    return structure


def convert(value: Any, kind: type[_T], *, strict: bool = True) -> _T:
    """Return the structure of a JSON value; ``strict``: as of msgspec.  Raises as msgspec does."""
    decoder(kind)
    return msgspec.convert(value, kind, strict=strict)


def unpack(data: bytes, kind: type[_T]) -> _T:
    """Return the structure of what MessagePack holds.  Raises as msgspec does."""
    decoder(kind)
    return msgspec.msgpack.decode(data, type=kind)


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return the decoder of JSON into a type, or a union of types, that are complete."""
    with _completing:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]
