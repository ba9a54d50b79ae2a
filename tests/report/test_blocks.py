"""Blocks of a page: no writer leaves one out in silence."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from rich.table import Table as RichTable

from rtstone.report.parts import model_markdown
from rtstone.report.parts.model import Page, Section, Table
from rtstone.report.parts.model_terminal import block_lines, page_lines


class Unknown(NamedTuple):
    """A block that somebody has added to the model alone."""

    text: str = "what a reader would miss"


def page(block: Any) -> Page:
    return Page("title", [Section("key", "heading", [block])], {}, lead="lead")


def test_a_block_that_a_writer_does_not_know_is_an_error() -> None:
    block: Any = Unknown()
    with pytest.raises(AssertionError, match="what a reader would miss"):
        list(block_lines([block]))
    with pytest.raises(AssertionError, match="what a reader would miss"):
        list(page_lines(page(block), 80))
    with pytest.raises(AssertionError, match="what a reader would miss"):
        model_markdown.write(page(block))


def test_a_page_with_a_table_has_it_or_is_refused() -> None:
    table = page(Table(["column"], [["1"]]))
    assert any(isinstance(line, RichTable) for line in page_lines(table, 80))
    with pytest.raises(TypeError, match="no page in Markdown has a Table"):
        model_markdown.write(table)
