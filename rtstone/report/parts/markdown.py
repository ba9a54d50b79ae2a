"""Markdown as GitHub and GitLab read it: what comes from outside is never markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

MARKS = "\\`*[]|"  # everywhere
ANGLES = {"<": "\\<", ">": "\\>"}  # where no HTML stands beside
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # where it does

Escape = Callable[[str], str]


def escaping(more: str = "", angles: dict[str, str] = ANGLES) -> Escape:
    """Return what makes text of it that Markdown takes as it stands, in one line.

    ``more``: further marks that mean something where the text will stand.
    """
    table = str.maketrans({mark: f"\\{mark}" for mark in MARKS + more} | angles)
    return lambda text: " ".join(text.split()).translate(table)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], escape: Escape, *, numbers: bool = False
) -> list[str]:
    """Return the lines of a table; with ``numbers`` all columns but the first are flushed right."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    lines = [list(map(escape, head)), rule, *(list(map(escape, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def items(texts: Iterable[str], bullet: str = "*") -> list[str]:
    """Return a list of texts that are Markdown already."""
    return [f"{bullet} {text}" for text in texts]
