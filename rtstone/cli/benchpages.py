"""The pages of docs/benches, one per bench, from the tables that the agent declares; the glossary.

`make docs` writes them; a test checks that they are up to date.
"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from rtstone.documents.other_names import OTHER_NAMES, settings
from rtstone.documents.run import LOCAL
from rtstone.interrupt import Interrupt
from rtstone.measure.capabilities import WORDS
from rtstone.measure.catalogue import catalogue
from rtstone.measure.suite import Suite, load, shipped
from rtstone.report.parts import glossary
from rtstone.targets import find
from rtstone.wire.parameters import Benches, allowed, quantity
from rtstone.wire.records import Bench

INDEX = "README.md"
WIDTH = 100  # of a line
_GENERATED = "<!-- From the bench's table: `make docs` writes this page. -->"


def pages(benches: Benches, suites: Iterable[Suite]) -> dict[str, str]:
    """Return the text of each page by file name."""
    parts: dict[str, list[str]] = defaultdict(list)
    grids: dict[str, str] = {}
    for suite in suites:
        for bench in dict.fromkeys(case.bench for case in suite.cases):
            parts[bench].append(suite.name)
        for case in suite.cases:
            over = benches[case.bench].slope_over if case.bench in benches else None
            values = case.params.get(over) if over else None
            if isinstance(values, list):
                grids.setdefault(case.bench, f"{over}={','.join(map(str, values))}")
    texts = {
        f"{name}.md": page(table, parts[name], grids.get(name))
        for name, table in sorted(benches.items())
    }
    return {INDEX: index(benches), **texts}


def index(benches: Benches) -> str:
    """Return the index: a line per other name of a bench, and one per bench."""
    rows = [
        f"| [`{name}`]({name}.md) | {_cell(table.title)} | {_cell(table.source)} |"
        for name, table in sorted(benches.items())
    ]
    names = [
        f"| `{name}` | {_cell(other.title)} | {_linked(name, benches)} |"
        for name, other in OTHER_NAMES.items()
    ]
    intro = textwrap.fill(
        "Names that people come with stand for a bench, and may be written wherever the name of "
        "one may: `rtstone run wakeup`, `rtstone trend cyclictest`.", WIDTH,
    )  # fmt: skip
    return "\n".join([
        "# Benches", "", _GENERATED, "", intro, "",
        "| name | answers | is |", "|---|---|---|", *names, "",
        "| bench | measures | source |", "|---|---|---|", *rows, "",
    ])  # fmt: skip


def _linked(name: str, benches: Benches) -> str:
    """Return what another name of a bench stands for, with links."""
    other = OTHER_NAMES[name]
    if other.family:
        return f"suite `{name}`, benches `{other.bench}.*`"
    table = benches.get(other.bench)
    link = f"[`{other.bench}`]({other.bench}.md)"
    return " ".join([link, *(f"`{word}`" for word in settings(other, table))])


# What is typed for a bench that no plain `rtstone run` measures.
_COMMANDS = {
    "boot": "rtstone run boot --target qemu:linux-6.1",
    "dk.guarantee": "rtstone guarantee last~1 last",
}

# Pages that say more of a bench, or of a family, below docs.
_MORE = {
    "boot": ("the lab", "guides/lab.md"),
    "dk.compare": ("comparing systems", "guides/comparing.md"),
    "dk.guarantee": ("worst cases and guarantees", "guides/worst-case.md"),
    "env": ("preparing a system", "guides/environment.md"),
    "grow": ("how costs grow", "guides/growth.md"),
    "iso": ("isolation on three kernels and an RTOS", "studies/isolation.md"),
    "hart": ("experiments of Hartstone", "reference/measuring.md#hartstone"),
}


def page(bench: Bench, suites: Iterable[str], grid: str | None = None) -> str:
    """Return the page of a bench; ``grid``: values of its parameter over which there is a slope."""
    named = ", ".join(f"`{suite}`" for suite in suites)
    facts = {
        "Source": bench.source,
        "Needs": ", ".join(WORDS[name] for name in bench.needs),
        "POSIX.1 metric group": bench.metric or "",
        "Slope over": _slope(bench),
        "In suites": named,
    }
    bullets = [
        textwrap.fill(f"* {name}: {text}", WIDTH, subsequent_indent="  ")
        for name, text in facts.items()
        if text
    ]
    params = []
    for param in bench.params:
        default = quantity(param, param.default)
        cells = (f"`{param.name}`", f"`{default}`" if default else "", allowed(param), param.help)
        params.append(f"| {' | '.join(map(_cell, cells))} |")
    table = ["| parameter | default | values | description |", "|---|---|---|---|", *params]
    commands = [_COMMANDS.get(bench.id, f"rtstone run {bench.id}")]
    if grid:
        commands.append(f"rtstone run {bench.id} -p {grid}  # with the slope")
    family = bench.id.partition(".")[0]
    title, place = _MORE.get(bench.id) or _MORE.get(family) or ("", "")
    links = [
        "[How rtstone measures](../reference/measuring.md)",
        *([f"[{title}](../{place})"] if place else []),
        "[all benches](README.md)",
    ]
    return "\n".join(
        [
            f"# {bench.id}: {bench.title}",
            "",
            _GENERATED,
            "",
            *([textwrap.fill(bench.help, WIDTH), ""] if bench.help else []),
            *([*bullets, ""] if bullets else []),
            *(f"    {command}" for command in commands),
            "",
            *(["## Parameters", "", *table, ""] if params else []),
            f"{', '.join(links)}.",
            "",
        ]
    )


def _slope(bench: Bench) -> str:
    if bench.slope_over is None:
        return ""
    return f"`{bench.slope_over}`{f', of its {bench.slope_of}' if bench.slope_of else ''}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def write(texts: Mapping[str, str], folder: Path) -> None:
    """Write the pages to a folder, and remove all others from it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def declared() -> tuple[Benches, list[Suite]]:
    """Return the benches of the agent for Linux, which has all, and rtstone's own suites."""
    with Interrupt() as interrupt:
        offered = catalogue(find(LOCAL), interrupt)
    return offered.benches, [load(path) for path in shipped().values()]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write(pages(*declared()), folder)
    (folder.parent.parent / glossary.PAGE).write_text(glossary.page(), encoding="utf-8")
