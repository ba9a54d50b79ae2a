"""A page as Markdown, with tables as GitHub and GitLab read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from rtstone.report.parts import model
from rtstone.report.parts.markdown import escaping, items, table
from rtstone.report.parts.model import Findings, Grid, Notes, Page

_safe = escaping("_")


def write(page: Page) -> str:
    """Return a page that has a lead as text; charts are left out."""
    lines = [f"# {_safe(page.title)}"]
    lines += [f"\n**{_safe(page.verdict)}**"] if page.verdict else []
    lines.append(f"\n{_safe(page.lead)}\n")
    for system in page.systems:
        first, *rest = system.texts
        lines.append(f"- **{_safe(system.head.label)}** ({system.head.kind}): {_safe(first)}")
        lines += [f"  - {_safe(text)}" for text in rest]
    lines += _bullets(page.notes)
    for section in page.sections:
        lines.append(f"\n## {_safe(section.title)}\n")
        lines += [f"{_safe(section.text)}\n"] if section.text else []
        for block in section.blocks:
            match block:
                case Notes(kind="quote"):
                    lines += [f"> {_safe(text)}\n" for text in block.texts]
                case Grid():
                    heads = [block.stub, *map(str, block.heads)]
                    rows = [[str(head), *map(str, cells)] for head, cells in block.rows]
                    lines += table(heads, rows, _safe, numbers=True)
                case Notes(kind="footnotes"):
                    lines += _bullets(f"[{n}] {text}" for n, text in enumerate(block.texts, 1))
                case Notes():
                    lines += _bullets(block.texts)
                case Findings():
                    texts = (f"{finding.label}: {finding.text}" for finding in block.findings)
                    lines += items(map(_safe, texts), "-")
                case model.Chart() | model.Charts() | model.Bars() | model.Boxes():
                    pass
                case (
                    model.Table() | model.Text() | model.Special()
                    | model.Folded() | model.Section()
                ):  # fmt: skip
                    raise TypeError(f"no page in Markdown has a {type(block).__name__}")
                case _:
                    assert_never(block)
    lines += _bullets(f"{name}: {cause}" for name, cause in page.flags.items())
    return "\n".join(lines) + "\n"


def _bullets(texts: Iterable[str]) -> list[str]:
    """Return the lines of a list, after an empty one; none of no texts."""
    lines = items(map(_safe, texts), "-")
    return ["", *lines] if lines else []
