"""The pages for users of other tools name benches, parameters and options that there are."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from rtstone.cli.group import group
from rtstone.documents.other_names import OTHER_NAMES
from rtstone.errors import UsageError
from rtstone.formats.registry import READERS
from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.targets import find
from rtstone.wire.parameters import Catalogue, values
from rtstone.wire.records import Table
from tests.docs.commands import ROOT, commands

PAGES = sorted((ROOT / "docs" / "start").glob("from-*.md"))
TOOLS = ("cyclictest", "rtla", "rteval", "jitterdebugger", "latmus", "osadl", "zephyr")


@pytest.fixture(scope="module")
def offered() -> Catalogue:
    with Interrupt() as interrupt:
        return catalogue(find("local"), interrupt)


def takes(table: Table, name: str, value: str) -> bool:
    try:
        return bool(values(table, name, value))
    except UsageError:
        return False


def test_there_is_a_page_for_each_tool() -> None:
    assert {page.stem for page in PAGES} == {f"from-{tool}" for tool in TOOLS}
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for name in OTHER_NAMES:
        assert name in text or name in {"audio", "rhealstone"}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"docs/start/{page.name}" in readme for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path, offered: Catalogue) -> None:
    text = page.read_text("utf-8")
    tables = [*offered.benches.values(), *offered.loads.values()]
    for name, value in re.findall(r"-p (\w+)=([\w.]*)", text):
        having = [table for table in tables if table.param(name)]
        assert having, name
        assert value in {"", "N", "tasks"} or any(takes(t, name, value) for t in having)
    for bench in re.findall(r"`((?:dk|sem|posix|sched|mem|int|hw|det|sync)\.[\w.]+)`", text):
        assert bench in offered.benches, bench
    for name in re.findall(r"`run ([\w.]+)`", text):
        assert name in offered.benches or name in OTHER_NAMES, name
    for load in re.findall(r"--load '?([\w-]+)", text):
        assert load in offered.loads or load in {"none", "LOAD"}, load


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_commands_and_their_options(page: Path) -> None:
    context = click.Context(group)
    shown = list(commands(page.read_text("utf-8")))
    assert len(shown) > 2
    for command in shown:
        parameters = group.get_command(context, command.words[0]).params
        own = {option for parameter in parameters for option in parameter.opts}
        assert {word for word in command.words if re.match(r"-\D", word)} <= own, command.text


def test_the_formats_of_zephyr_are_those_that_are_read() -> None:
    text = (ROOT / "docs/start/from-zephyr.md").read_text("utf-8")
    rows = text.partition("| Zephyr | format | bench |")[2].partition("\n\n")[0]
    cells = [row.split("|")[2] for row in rows.splitlines() if row.startswith("| ")]
    formats = re.findall(r"`([\w-]+)`", " ".join(cells))
    assert len(formats) == 4
    assert {*formats} <= READERS.keys()
