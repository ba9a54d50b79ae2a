"""Flattened device trees, by which a kernel learns of its board (devicetree.org, chapter 5)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

Value = str | bytes | Sequence[str] | Sequence[int] | None
Node = Mapping[str, "Value | Node"]

_BEGIN, _END, _PROPERTY, _NOTHING, _LAST = 1, 2, 3, 4, 9
_HEADER = struct.Struct(">10I")
_MAGIC, _VERSION, _COMPATIBLE = 0xD00DFEED, 17, 16


def flatten(tree: Node) -> bytes:
    """Return a device tree as the blob that boot loaders pass on."""
    names: dict[str, int] = {}  # of properties: their offsets
    body = b"".join(_flat("", tree, names)) + _word(_LAST)
    strings = b"".join(name.encode() + b"\0" for name in names)
    reserved = _HEADER.size
    start = reserved + 16  # an empty list of reserved memory
    end = start + len(body)
    total = end + len(strings)
    header = _HEADER.pack(
        _MAGIC, total, start, end, reserved, _VERSION, _COMPATIBLE, 0, len(strings), len(body)
    )
    return header + bytes(16) + body + strings


def _flat(name: str, node: Node, names: dict[str, int]) -> list[bytes]:
    """Return the pieces of a node; its properties come before its children."""
    pieces = [_word(_BEGIN), _padded(name.encode() + b"\0")]
    children = []
    for key, value in node.items():
        if isinstance(value, Mapping):
            children += _flat(key, value, names)
            continue
        data = _data(value)
        if key not in names:
            names[key] = sum(len(each) + 1 for each in names)
        pieces += [_word(_PROPERTY), struct.pack(">II", len(data), names[key]), _padded(data)]
    return [*pieces, *children, _word(_END)]


def _data(value: Value) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode() + b"\0"
    return b"".join(
        word.encode() + b"\0" if isinstance(word, str) else _word(word) for word in value
    )


def _word(number: int) -> bytes:
    return struct.pack(">I", number)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def unflatten(blob: bytes) -> Node:
    """Return the tree of a blob, with its properties as bytes.  Raises ValueError."""
    magic, _, start, names, *_ = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise ValueError("no flattened device tree")
    nodes: list[dict[str, Value | Node]] = [{}]
    at = start
    while (token := struct.unpack_from(">I", blob, at)[0]) != _LAST:
        at += 4
        if token == _BEGIN:
            name = _text(blob, at)
            at += len(_padded(name.encode() + b"\0"))
            node: dict[str, Value | Node] = {}
            nodes[-1][name] = node
            nodes.append(node)
        elif token == _END:
            nodes.pop()
        elif token == _PROPERTY:
            size, name_at = struct.unpack_from(">II", blob, at)
            nodes[-1][_text(blob, names + name_at)] = blob[at + 8 : at + 8 + size]
            at += 8 + size + -size % 4
        elif token != _NOTHING:
            raise ValueError(f"a device tree with the unknown token {token}")
    tree = nodes[0][""]
    assert isinstance(tree, Mapping)
    return tree


def _text(blob: bytes, at: int) -> str:
    return blob[at : blob.index(b"\0", at)].decode("ascii")


def merged(tree: Node, addition: Node) -> Node:
    """Return a tree with the properties and nodes of another one added to it."""
    both: dict[str, Value | Node] = dict(tree)
    for name, value in addition.items():
        old = both.get(name)
        both[name] = (
            merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
        )
    return both
