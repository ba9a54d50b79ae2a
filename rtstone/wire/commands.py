"""The lines that the host sends."""

from __future__ import annotations

from collections.abc import Mapping

BYE = "bye"


def case(number: int, bench: str, params: Mapping[str, object]) -> str:
    """Runs one case.  Values are in base units; True and False travel as 1 and 0."""
    words = [f"{name}={_word(value)}" for name, value in params.items()]
    return " ".join(["case", str(number), bench, *words])


def progress(milliseconds: int) -> str:
    """Asks for progress records at that interval; 0: none."""
    return f"progress {milliseconds}"


def _word(value: object) -> str:
    word = str(int(value)) if isinstance(value, bool) else str(value)
    if not word.isascii() or not word.isprintable() or " " in word:
        raise ValueError(f"not a word: {word!r}")
    return word
