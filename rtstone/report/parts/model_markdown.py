"""A page as Markdown, with tables as GitHub and GitLab read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rtstone.report.parts.markdown import escaping, items, table
from rtstone.report.parts.model import Findings, Grid, Notes, Page, Section

_safe = escaping("_")


def write(page: Page) -> str:
    """Return a page that has a lead as text; charts are left out."""
    lines = [f"# {_safe(page.title)}", f"\n{_safe(page.lead)}\n"]
    for system in page.systems:
        first, *rest = system.texts
        lines.append(f"- **{_safe(system.head.label)}** ({system.head.kind}): {_safe(first)}")
        lines += [f"  - {_safe(text)}" for text in rest]
    lines += _bullets(page.notes)
    for section in page.sections:
        lines += _section(section)
    lines += _bullets(f"{name}: {cause}" for name, cause in page.flags.items())
    return "\n".join(lines) + "\n"


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    lines = items(map(_safe, texts), "-")
    yield from (["", *lines] if lines else [])


def _section(section: Section) -> Iterator[str]:
    yield f"\n## {_safe(section.title)}\n"
    if section.text:
        yield f"{_safe(section.text)}\n"
    for block in section.blocks:
        match block:
            case Notes(kind="quote"):
                yield from (f"> {_safe(text)}\n" for text in block.texts)
            case Grid():
                rows = [[str(head), *map(str, cells)] for head, cells in block.rows]
                yield from table([block.stub, *map(str, block.heads)], rows, _safe, numbers=True)
            case Notes(kind="footnotes"):
                yield from _bullets(f"[{n}] {text}" for n, text in enumerate(block.texts, 1))
            case Notes():
                yield from _bullets(block.texts)
            case Findings():
                texts = (f"{finding.label}: {finding.text}" for finding in block.findings)
                yield from items(map(_safe, texts), "-")
