"""The commands that the documentation shows, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
SHELVES = ("start", "guides", "reference", "studies")
PAGES = [
    ROOT / "README.md",
    *sorted(page for shelf in SHELVES for page in (ROOT / "docs" / shelf).glob("*.md")),
]
_COMMAND = re.compile(r"(?:\.venv/bin/)?rtstone(?: |$)")
_LOOP = re.compile(r"for \w+ in ([^;]+); do (.+); done(?: +#.*)?")


class Command(NamedTuple):
    """A command of a page; ``words`` follow `rtstone`."""

    line: int
    words: list[str]

    @property
    def text(self) -> str:
        """As one would say it."""
        return shlex.join(["rtstone", *self.words])


def commands(text: str) -> Iterator[Command]:
    """The lines of a page's indented or ```sh blocks that begin with rtstone, without comments.

    A line that ends in a backslash goes on in the next.  A loop is what it does, as
    often.
    """
    fenced, started, rest = False, 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = line == "```sh"  # others show output, or files
            continue
        if not (fenced or line.startswith("    ")):
            continue
        started, whole = (started, rest + line.strip()) if rest else (number, line.strip())
        rest = whole[:-1] if whole.endswith("\\") and _COMMAND.match(whole) else ""
        loop = _LOOP.fullmatch(whole)
        times, whole = (len(loop[1].split()), loop[2]) if loop else (1, whole)
        if not rest and _COMMAND.match(whole):
            for _ in range(times):
                yield Command(started, shlex.split(whole, comments=True)[1:])
