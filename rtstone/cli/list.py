"""`rtstone list`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from rtstone.errors import unknown
from rtstone.model.benches import Catalogue
from rtstone.wire.records import Table


def _offered() -> Catalogue:
    from rtstone.interrupt import Interrupt
    from rtstone.measure import catalogue
    from rtstone.targets import find

    with Interrupt() as interrupt:
        return catalogue(find("local"), interrupt)


def _bench_rows() -> list[dict[str, Any]]:
    import msgspec

    return [msgspec.to_builtins(bench) for _, bench in sorted(_offered().benches.items())]


def _suite_rows() -> list[dict[str, Any]]:
    from rtstone.model.suite import load, shipped

    suites = [load(path) for path in shipped().values()]
    return [{"name": s.name, "title": s.title, "description": s.description} for s in suites]


def _load_rows() -> list[dict[str, Any]]:
    import msgspec

    from rtstone.model.loads import NO_OTHER_WORK, NONE

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


def _run_rows() -> list[dict[str, Any]]:
    from rtstone.store.index import entries

    return [entry._asdict() for entry in entries()]


# what: its rows for --json, and those of their members that the terminal shows
KINDS: dict[str, tuple[Callable[[], list[dict[str, Any]]], tuple[str, ...]]] = {
    "benches": (_bench_rows, ("id", "title", "source")),
    "suites": (_suite_rows, ("name", "title", "description")),
    "loads": (_load_rows, ("id", "title", "source")),
    "targets": (_target_rows, ("name", "title", "label")),
    "runs": (_run_rows, ("run_id", "created", "target", "suite", "status", "ok", "results")),
}


@click.command("list")
@click.argument("what", default="benches", metavar="[benches|suites|loads|targets|runs|NAME]")
@click.option("--json", is_flag=True, help="Print one document.")
def command(what: str, json: bool) -> None:
    """What there is; with the name of a bench or load, its parameters."""
    if what in KINDS:
        rows, columns = KINDS[what][0](), KINDS[what][1]
        _print_json({what: rows}) if json else _print_table(columns, rows)
        return
    offered = _offered()
    tables: dict[str, Table] = {**offered.loads, **offered.benches}
    if what not in tables:
        raise unknown("kind, bench or load", what, [*KINDS, *tables])
    _print_json(tables[what]) if json else _print_named(tables[what])


def _print_json(document: object) -> None:
    from rtstone.cli.output import print_document

    print_document(document)


def _print_table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from rtstone.report.terminal import console

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for number, name in enumerate(columns):
        style = "bold cyan" if number == 0 else None
        table.add_column(name.replace("_", " "), no_wrap=number == 0, style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in columns))
    console(sys.stdout).print(table)


def _print_named(table: Table) -> None:
    from rtstone.model.benches import allowed, quantity

    head = [
        f"{table.id}: {table.title}",
        table.help,
        f"after {table.source}" if table.source else "",
    ]
    click.echo("\n".join(line for line in head if line))
    if table.needs:
        click.echo(f"needs: {', '.join(table.needs)}")
    rows = [
        {
            "parameter": param.name,
            "default": quantity(param, param.default),
            "may be": allowed(param),
            "meaning": param.help,
        }
        for param in table.params
    ]
    _print_table(("parameter", "default", "may be", "meaning"), rows)
