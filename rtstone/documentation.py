"""Name the pages of the documentation where this installation has them.

Messages name a page as the sources have it, ``docs/guides/gate.md``.  A checkout has it there, the
Debian package below ``PACKAGED``, a wheel nowhere.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rtstone import resources

PACKAGED = Path("/usr/share/doc/rtstone")
_PAGE = r"docs/([\w/-]+\.md)((?:#[\w-]+)?)"
# A mention: a page alone, in parentheses with what to look for there, or after "see".
_MENTION = re.compile(rf" \({_PAGE}((?:, [^()]*)?)\)|((?:[,;] |\b)see ){_PAGE}|\b{_PAGE}")


def located(text: str) -> str:
    """Return a text in which each page has its path here; a page that is not here is left out."""
    return _MENTION.sub(_mention, text) if "docs/" in text else text


def packaged(text: str) -> str:
    """Return a text in which each page has its path in the Debian package."""
    return re.sub(_PAGE, rf"{PACKAGED}/\1\2", text)


def _mention(match: re.Match[str]) -> str:
    enclosed, place, rest, see, after, its_place, alone, own_place = match.groups()
    path = _path(enclosed or after or alone)
    if path is None:
        return ""
    if enclosed:
        return f" ({path}{place}{rest})"
    return f"{see or ''}{path}{its_place or own_place or ''}"


def _path(page: str) -> str | None:
    """Return where a page is, None: nowhere.  In a checkout that is the current folder: docs/…"""
    sources = resources.path().parent
    if (sources / "docs" / page).is_file():
        below = Path.cwd() == sources
        return str(Path("docs", page) if below else sources / "docs" / page)
    path = PACKAGED / page
    return os.fspath(path) if path.is_file() else None
