"""Sanitize texts from outside: no character may control the terminal or hide other text.

Files of other tools, documents of other machines, an agent's records and texts of errors all pass
through here.  Characters that Unicode does not class as printable (controls of ASCII and ISO 6429,
which terminals take as escape sequences; marks that reverse the direction of writing; lone
surrogates) become question marks, line ends and tabs become blanks.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Any, TypeVar

_T = TypeVar("_T")

# Escapes in a JSON string other than those of quote, backslash and slash can hide anything.
_ESCAPE = re.compile(rb'\\[^"\\/]')


def line(text: str) -> str:
    """Return a text in one line, with single blanks."""
    return shown(" ".join(text.split()))


def shown(text: str) -> str:
    """Return a printable text of the same length."""
    return text if text.isprintable() else "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return letter
    return " " if letter.isspace() else "?"


def arguments() -> list[str]:
    """Return the command line, as stored in documents."""
    return ["rtstone", *map(shown, sys.argv[1:])]


# ---- documents ----------------------------------------------------------------------------------


def plainly(data: bytes) -> bool:
    """Return whether all strings of a JSON text are printable: a fast check, true for most."""
    if _ESCAPE.search(data):
        return False
    if data.isascii():
        return b"\x7f" not in data
    return data.decode("utf-8", "replace").replace("\n", "").isprintable()


def parsed(data: bytes, kind: type[_T]) -> _T:
    """Return the document of a JSON text, with printable strings.

    Raises as msgspec does.
    """
    import msgspec

    from rtstone import structures

    if plainly(data):
        return structures.decode(data, kind)
    return structures.convert(every(msgspec.json.decode(data)), kind)


def document(content: _T) -> _T:
    """Return a document made by this program, with printable strings."""
    import msgspec

    from rtstone import structures

    try:
        if plainly(msgspec.json.encode(content)):
            return content
    except UnicodeEncodeError:  # a lone surrogate
        pass
    return structures.convert(every(msgspec.to_builtins(content)), type(content))


def every(value: Any) -> Any:
    """Return a JSON value with printable strings.  Raises RecursionError."""
    match value:
        case str():
            return shown(value)
        case list() | tuple():
            return [every(item) for item in value]
        case dict():
            members: dict[Any, Any] = {}
            for key, item in value.items():
                name = every(key)
                while name in members:  # names that became equal are kept
                    name += "?"
                members[name] = every(item)
            return members
    return value
