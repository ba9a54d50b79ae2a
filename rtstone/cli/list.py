"""`rtstone list`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from rtstone.errors import UsageError, unknown
from rtstone.inputs.parameters import Catalogue
from rtstone.wire.records import Table


def _offered() -> Catalogue:
    from rtstone.documents.run import LOCAL
    from rtstone.interrupt import Interrupt
    from rtstone.runner.catalogue import catalogue
    from rtstone.targets import find

    with Interrupt() as interrupt:
        return catalogue(find(LOCAL), interrupt)


def _bench_rows() -> list[dict[str, Any]]:
    import msgspec

    return [msgspec.to_builtins(bench) for _, bench in sorted(_offered().benches.items())]


def _suite_rows() -> list[dict[str, Any]]:
    from rtstone.inputs.suite import load, shipped

    suites = [load(path) for path in shipped().values()]
    return [{"name": s.name, "title": s.title, "description": s.description} for s in suites]


def _load_rows() -> list[dict[str, Any]]:
    import msgspec

    from rtstone.documents.plan import NONE
    from rtstone.inputs.loads import NO_OTHER_WORK

    loads = [msgspec.to_builtins(load) for _, load in sorted(_offered().loads.items())]
    return [{"id": NONE, "title": NO_OTHER_WORK, "source": "Obenland"}, *loads]


def _target_rows() -> list[dict[str, Any]]:
    from rtstone.targets import TARGETS

    rows: list[dict[str, Any]] = []
    for name, kind in TARGETS.items():
        rows.append({"name": name, "title": kind.title, "label": None})
        rows += [
            {"name": f"{name}:{found.argument}", "title": found.title, "label": found.label}
            for found in kind.load().listed()
        ]
    return rows


def _run_rows(wish: dict[str, Any]) -> list[dict[str, Any]]:
    from rtstone.cli.run_filter import RunFilter, pick
    from rtstone.store.index import entries

    found = pick(entries(), RunFilter(**wish))
    return [entry._asdict() | {"benches": entry.benches.split()} for entry in found]


RUNS = "runs"
_RUN_COLUMNS = ("run_id", "name", "created", "target", "suite", "status", "ok", "results")

# what to list: its rows for --json, and the members that the terminal shows
KINDS: dict[str, tuple[Callable[[], list[dict[str, Any]]], tuple[str, ...]]] = {
    "benches": (_bench_rows, ("id", "title", "source")),
    "suites": (_suite_rows, ("name", "title", "description")),
    "loads": (_load_rows, ("id", "title", "source")),
    "targets": (_target_rows, ("name", "title", "label")),
}


@click.command("list")
@click.argument("what", default="benches", metavar="[benches|suites|loads|targets|runs|NAME]")
@click.option("--suite", metavar="NAME", help="Only runs of this suite.")
@click.option("--target", metavar="T", help="Only runs on this target or kind of target.")
@click.option("--bench", metavar="NAME", help="Only runs with this bench or family of benches.")
@click.option("--status", metavar="S", help="Only complete, incomplete or unfinished runs.")
@click.option(
    "--since", metavar="WHEN", help="Only runs begun since then: 2h, 7d, 2026-11-20T14:00."
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N of these runs.")
@click.option("--json", is_flag=True, help="Print only one document, as JSON.")
def command(what: str, json: bool, **wish: str | int | None) -> None:
    """List what there is or, for the name of a bench or load, its parameters."""
    if what == RUNS:
        rows = _run_rows(wish)
        _print_json({RUNS: rows}) if json else _print_lines(_RUN_COLUMNS, rows)
        return
    if given := [name for name, value in wish.items() if value is not None]:
        raise UsageError(f"--{given[0]} selects runs; write `rtstone list runs`")
    if what in KINDS:
        rows, columns = KINDS[what][0](), KINDS[what][1]
        _print_json({what: rows}) if json else _print_table(columns, rows)
        return
    offered = _offered()
    tables: dict[str, Table] = {**offered.loads, **offered.benches}
    if what not in tables:
        raise unknown("kind, bench or load", what, [*KINDS, RUNS, *tables])
    _print_json(tables[what]) if json else _print_named(tables[what])


def _print_json(document: object) -> None:
    from rtstone.cli.output import print_document

    print_document(document)


def _print_lines(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Print a line per row, without rich, which takes a millisecond for each."""
    texts = [["" if row[name] is None else str(row[name]) for name in columns] for row in rows]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]

    def line(cells: list[str]) -> str:
        return "  ".join(map(str.ljust, cells, widths)).rstrip()

    click.echo(click.style(line(heads), bold=True))
    for text in texts:
        click.echo(line(text))


def _print_table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from rtstone.report.parts.console import console, plain_table

    table = plain_table()
    for number, name in enumerate(columns):
        style = "bold cyan" if number == 0 else None
        table.add_column(name.replace("_", " "), no_wrap=number == 0, style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in columns))
    console(sys.stdout).print(table)


def _print_named(table: Table) -> None:
    from rtstone.inputs.parameters import allowed, quantity

    head = [
        f"{table.id}: {table.title}",
        table.help,
        f"source: {table.source}" if table.source else "",
    ]
    click.echo("\n".join(line for line in head if line))
    if table.needs:
        click.echo(f"needs: {', '.join(table.needs)}")
    rows = [
        {
            "parameter": param.name,
            "default": quantity(param, param.default),
            "values": allowed(param),
            "description": param.help,
        }
        for param in table.params
    ]
    _print_table(("parameter", "default", "values", "description"), rows)
