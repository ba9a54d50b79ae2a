"""Markdown for GitHub and GitLab, in which text from outside is never markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

MARKS = "\\`*[]|"  # special everywhere
ANGLES = {"<": "\\<", ">": "\\>"}  # if there is no HTML around it
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # if there is

Escape = Callable[[str], str]


def escaping(special: str = "", angles: dict[str, str] = ANGLES) -> Escape:
    """Return a function that escapes text for Markdown, in one line.

    ``more``: further characters that are special where the text is used.
    """
    table = str.maketrans({mark: f"\\{mark}" for mark in MARKS + special} | angles)
    return lambda text: " ".join(text.split()).translate(table)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], escape: Escape, *, numbers: bool = False
) -> list[str]:
    """Return the lines of a table; ``numbers``: all columns but the first are right-aligned."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    lines = [list(map(escape, head)), rule, *(list(map(escape, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def items(texts: Iterable[str], bullet: str = "*") -> list[str]:
    """Return a list of texts, which are Markdown already."""
    return [f"{bullet} {text}" for text in texts]
