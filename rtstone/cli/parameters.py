"""Parameters that commands share: types of values that have names (bench, run, target), --json.

A type has the metavar that help shows, and the words that a shell may complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import click

from rtstone.cli.rows import KINDS, RUNS, kind_rows, named_rows
from rtstone.errors import UsageError, unknown

LATEST = 50  # runs to choose from
NAME = re.compile(r"[A-Za-z0-9][\w.:/+~-]*", re.ASCII)  # what no shell takes for more than a word


class Word(NamedTuple):
    """A word to choose, and what it is."""

    word: str
    title: str = ""


Words = Iterator[Word]


class Names(click.ParamType[str]):
    """The type of a parameter whose value is a name.

    ``sources`` yield the names to choose from.  ``file``: a file is a value, too.  ``listed``:
    commas separate several.
    """

    name = "text"

    def __init__(
        self,
        metavar: str,
        *sources: Callable[[], Words],
        file: bool = False,
        listed: bool = False,
    ) -> None:
        self.metavar, self.sources, self.file, self.listed = metavar, sources, file, listed

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what help shows in place of a value."""
        return self.metavar

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the words that begin with the last one of ``incomplete``."""
        from click.shell_completion import CompletionItem

        before, comma, begin = incomplete.rpartition(",") if self.listed else ("", "", incomplete)
        titles = {
            word: title
            for source in self.sources
            for word, title in source()
            if word.startswith(begin) and NAME.fullmatch(word)
        }
        items = [CompletionItem(before + comma + word, help=titles[word]) for word in titles]
        return items or ([CompletionItem(incomplete, type="file")] if self.file else [])


def choice(
    noun: str, names: Collection[str], option: str
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return the callback of an option whose value is one of these names, or none.

    It raises UsageError for any other one.
    """

    def checked(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
        if name is not None and name not in names:
            raise unknown(noun, name, names, f"in {option}")
        return name

    return checked


def _rows(kind: str) -> Words:
    for row in KINDS[kind].rows():
        yield Word(row[KINDS[kind].name], row["title"])


_benches, _loads, _suites = (partial(_rows, kind) for kind in ("benches", "loads", "suites"))


def _other_names() -> Words:
    from rtstone.documents.other_names import OTHER_NAMES

    yield from (Word(name, other.title) for name, other in OTHER_NAMES.items())


def _targets() -> Words:
    with suppress(UsageError):  # a targets file has a mistake
        yield from [Word(row["name"], row["title"]) for row in named_rows()]
    yield from [Word(row["name"], row["title"]) for row in kind_rows()]


def _runs() -> Words:
    from rtstone.store.index import entries
    from rtstone.store.layout import runs

    if not runs().is_dir():
        return
    newest = entries()[::-1][:LATEST]
    if newest:
        yield Word("last", "the last run with results")
    for entry in newest:
        title = f"{entry.suite or entry.benches} on {entry.target}, {entry.status}"
        yield Word(entry.run_id, title)
        if entry.name:
            yield Word(entry.name, title)


# Their modules are imported only when the words are needed.


def _publications() -> Words:
    from rtstone.stats.published.layout import names

    yield from map(Word, names())


def _documents() -> Words:
    from rtstone.documents.schemas import DOCUMENTS

    yield from map(Word, DOCUMENTS)


def _readers() -> Words:
    from rtstone.formats.registry import READERS

    yield from map(Word, READERS)


def _writers() -> Words:
    from rtstone.formats.registry import WRITERS

    yield from map(Word, (*WRITERS, LATEX))


def _figures() -> Words:
    from rtstone.plot.draw import KINDS

    yield from map(Word, KINDS)


def _systems() -> Words:
    from rtstone.lab.systems import SYSTEMS

    yield from map(Word, SYSTEMS)


def _stored() -> Words:
    from rtstone.lab.removal import names

    yield from map(Word, names())


def _samples() -> Words:
    from rtstone.stats.explainable import MEDIAN, WORST
    from rtstone.summary import PERCENTILES

    yield from map(Word, [WORST, MEDIAN, *PERCENTILES])


def _boards() -> Words:
    from rtstone.lab.build import RECIPES
    from rtstone.lab.systems import BOARDS

    yield from (Word(name, BOARDS[name].title) for name in RECIPES)


def _architectures() -> Words:
    from rtstone.resources import architectures

    for architecture in architectures():
        machines = " or ".join(architecture.machines)
        yield Word(architecture.name, f"`uname -m` says {machines}")


def _settings() -> Words:
    from rtstone.system.settings import SETTINGS

    yield from map(Word, (setting.name for setting in SETTINGS))


LATEX = "latex"  # what `export` writes without a writer of formats: a page's table
RUN = Names("RUN", _runs, file=True, listed=True)
RUN_LIST = Names("RUN[,RUN]", _runs, file=True, listed=True)
BENCH = Names("BENCH", _other_names, _benches)
SUITE = Names("NAME", _suites)
SUITE_OR_BENCH = Names("SUITE or BENCH", _suites, _other_names, _benches, file=True)
RUN_SUITE_OR_BENCH = Names(
    "RUN[,RUN]... or SUITE or BENCH", _runs, _suites, _other_names, _benches,
    file=True, listed=True,
)  # fmt: skip
KIND_OR_NAME = Names(
    "benches|suites|loads|targets|runs|NAME",
    lambda: map(Word, [*KINDS, RUNS]), _other_names, _benches, _loads,
)  # fmt: skip
LOAD = Names("L", _loads)
TARGET = Names("T", _targets)
ARCHITECTURE = Names("A", _architectures)
PUBLICATION = Names("SOURCE", _publications)
DOCUMENT = Names("NAME", _documents)
READER = Names("F", _readers)
WRITER = Names("F", _writers)
SAMPLE = Names("S", _samples)
FIGURE = Names("K", _figures)
SYSTEM = Names("NAME or FILE.deb", _systems, file=True)
STORED = Names("NAME", _stored)
BOARD = Names("NAME", _boards)
SETTINGS = Names("NAME,...", _settings, listed=True)
FILE = Names("FILE", file=True)
JSON = click.option("--json", is_flag=True, help="Print only one document, as JSON.")
