"""The pages of the publications: all tables are there, and all that was measured is in them."""

from __future__ import annotations

import re

import pytest

from rtstone.stats.published import layout
from tests.docs.test_reproduce_all import DOCS

PAGES = DOCS / "publications"


@pytest.mark.parametrize("name", ["sjoblom", "gutsalov", "obenland", "golatowski", "dankwardt"])
def test_every_table_and_figure_has_its_place(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text("utf-8").replace("\\", "")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    laid = layout.layout(name)
    assert text.startswith(f"# {laid.title}\n")
    for table in laid.table:
        assert [head for head in heads if table.title in head], table.title


def test_all_that_was_measured_is_shown_and_nothing_is_missing() -> None:
    rows = re.findall(r"^\| ([^|]+) ((?:\| \d+ ){5})\|$", (PAGES / "README.md").read_text(), re.M)
    systems = {system.strip() for system, _ in rows}
    assert {"linux-6.1", "linux-6.1-rt", "freertos-a64", "sim:ose-like"} <= systems
    for system, numbers in rows:
        shown, _, _, missing, left_out = (int(number) for number in numbers.split("|")[1:])
        assert shown, system
        assert (missing, left_out) == (0, 0), system
