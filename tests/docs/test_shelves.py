"""Every page of the documentation is two clicks from README."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.commands import PAGES, ROOT, SHELVES

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def linked(page: Path) -> set[Path]:
    """Return the files that a page links to."""
    return {(page.parent / path).resolve() for path in LINK.findall(page.read_text("utf-8"))}


def test_every_page_stands_on_a_shelf() -> None:
    shelves = ROOT / "docs" / "README.md"
    assert shelves in linked(ROOT / "README.md")
    pages = {*PAGES} - {ROOT / "README.md"}
    assert {path.parent.name for path in pages} == {*SHELVES}
    assert pages - linked(shelves) == set()
    assert [*shelves.parent.glob("*.md")] == [shelves]


def test_every_bench_has_a_page_in_their_list() -> None:
    benches = ROOT / "docs" / "benches"
    pages = set(benches.glob("*.md")) - {benches / "README.md"}
    assert len(pages) > 100
    assert pages - linked(benches / "README.md") == set()
