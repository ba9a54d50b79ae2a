"""The lines that the host sends."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

BYE = "bye"

_AS_THEY_ARE = "".join(chr(code) for code in range(33, 127) if chr(code) != "%")


def case(number: int, bench: str, params: Mapping[str, object]) -> str:
    """Run one case.  Values are in base units; True and False travel as 1 and 0."""
    return " ".join(["case", str(number), bench, *_words(params)])


def load(name: str, params: Mapping[str, object]) -> str:
    """Stop the current load and start another for the following cases; "none": none."""
    return " ".join(["load", name, *_words(params)])


def progress(milliseconds: int) -> str:
    """Request progress records at that interval in ms; 0: none."""
    return f"progress {milliseconds}"


def _words(params: Mapping[str, object]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in params.items()]


def _word(value: object) -> str:
    """Return the value as one word of ASCII letters, where need be with %20 and the like."""
    return quote(str(int(value)) if isinstance(value, bool) else str(value), safe=_AS_THEY_ARE)
