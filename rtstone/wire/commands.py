"""The lines that the host sends to the agent (docs/wire.md)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

BYE = "bye"

_AS_THEY_ARE = "".join(chr(code) for code in range(33, 127) if chr(code) != "%")


def case(number: int, bench: str, params: Mapping[str, object]) -> str:
    """Return the command that runs one case.  Values are in base units, booleans 1 or 0."""
    return " ".join(["case", str(number), bench, *_words(params)])


def load(name: str, params: Mapping[str, object]) -> str:
    """Return the command that replaces the load for the following cases; "none" only stops it."""
    return " ".join(["load", name, *_words(params)])


def progress(milliseconds: int) -> str:
    """Return the command that requests progress records every so many ms; 0 for none."""
    return f"progress {milliseconds}"


def _words(params: Mapping[str, object]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in params.items()]


def _word(value: object) -> str:
    """Return the value as one ASCII word, percent-encoded where necessary."""
    return quote(str(int(value)) if isinstance(value, bool) else str(value), safe=_AS_THEY_ARE)
