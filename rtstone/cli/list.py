"""`rtstone list`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from rtstone.cli.parameters import BENCH, JSON, KIND_OR_NAME, SUITE, TARGET
from rtstone.cli.rows import BENCHES, KINDS, RUNS, catalogue
from rtstone.documents.other_names import OTHER_NAMES, settings
from rtstone.errors import UsageError, unknown
from rtstone.wire.records import Bench, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_RUN_MEMBERS = (
    "run_id", "created", "suite", "target", "status", "ok", "results", "benches", "arrival", "name",
    "measured", "called", "source",
)  # fmt: skip
_RUN_COLUMNS = ("run_id", "name", "created", "target", "suite", "status", "ok", "results")
_DROPPED = ("created", "suite", "results", "ok", "status")  # where there is no room, in this order


@click.command("list")
@click.argument("kind", default="benches", type=KIND_OR_NAME)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option(
    "--all", "everything", is_flag=True, help="List all, also where a line stands for a group."
)
@click.option("--suite", type=SUITE, help="Only runs of this suite.")
@click.option("--target", type=TARGET, help="Only runs on this target or kind of target.")
@click.option(
    "--bench", metavar="NAME", type=BENCH, help="Only runs with this bench or family of benches."
)
@click.option(
    "--status", metavar="S", help="Only complete, incomplete, unfinished or damaged runs."
)
@click.option(
    "--since", metavar="WHEN", help="Only runs begun since then: 2h, 7d, 2026-11-20T14:00."
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N of these runs.")
@click.option(
    "--probe", is_flag=True,
    help="Show whether each target that has a name answers, and what it is.",
)  # fmt: skip
@JSON
def command(
    kind: str,
    words: tuple[str, ...],
    *,
    everything: bool,
    probe: bool,
    json: bool,
    **conditions: Any,
) -> None:
    """List benches, suites, loads, targets or runs, or the parameters of one bench or load.

    NAME may also be a word that rtstone prints, such as a flag: it is explained.

    With WORDs, only what has them all in its name, title or source; a family of benches or a kind
    of targets is a word, too: `rtstone list benches sem`, `rtstone list targets qemu rt`.
    """
    if words and kind not in KINDS:
        raise UsageError(f"nothing to look for '{words[0]}' in; words are for {', '.join(KINDS)}")
    if probe:
        if kind != "targets":
            raise UsageError("--probe asks targets; write `rtstone list targets --probe`")
        _refuse(conditions)
        _print_probes(json)
        return
    if kind == RUNS:
        from rtstone.cli.run_filter import RunFilter, pick
        from rtstone.store.index import entries

        stored = entries()
        runs = pick(stored, RunFilter(**conditions))
        rows = [
            {name: getattr(run, name) for name in _RUN_MEMBERS} | {"benches": run.benches.split()}
            for run in runs
        ]
        if json:
            _print_json({RUNS: rows})
            return
        sessions: dict[str | None, list[str]] = {}
        for run in stored:
            sessions.setdefault(run.session, []).append(run.run_id)
        for row, run in zip(rows, runs, strict=True):
            members = sessions[run.session] if run.session else []
            number = members.index(run.run_id) + 1 if members else 0
            row["session"] = f"{number} of {len(members)}" if members else None
            if run.called:
                row["target"] = f"{run.called} ({run.target})"
        of_session = ("session",) if any(run.session for run in runs) else ()
        _print_lines((*_RUN_COLUMNS, *of_session), rows)
        return
    _refuse(conditions)
    if kind in KINDS:
        from rtstone.cli.kind_list import list_kind

        list_kind(kind, words, everything=everything, json=json)
        return
    other = OTHER_NAMES.get(kind)
    if other and other.family:
        from rtstone.cli.kind_list import list_kind

        list_kind(BENCHES, (kind,), everything=True, json=json)
        return
    from rtstone.documentation import located
    from rtstone.report.parts import glossary

    if entry := glossary.term(kind):
        heading, term = entry
        if json:
            raise UsageError(f"'{kind}' is a word of the glossary, which is text; leave out --json")
        click.echo(f"{heading}: {term.text}")
        if place := located(f"{glossary.PAGE}#{glossary.anchor(heading)}"):
            click.echo(place)
        return
    offered = catalogue()
    tables: dict[str, Table] = {**offered.loads, **offered.benches}
    name = other.bench if other else kind
    if name not in tables:
        raise unknown("kind, bench or load", kind, [*KINDS, RUNS, *tables, *OTHER_NAMES])
    declared = tables[name]
    if json:
        _print_json(declared)
        return
    _print_bench(declared, kind)


def _print_bench(declared: Table, kind: str) -> None:
    """Print what a bench or load does, and its parameters; ``kind``: the name that was typed."""
    from rich.text import Text

    from rtstone.cli.pager import paged
    from rtstone.measure.capabilities import WORDS
    from rtstone.report.parts.console import folded
    from rtstone.wire.parameters import allowed, quantity

    lines = [f"{declared.id}: {declared.title}", declared.help]
    if (other := OTHER_NAMES.get(kind)) and isinstance(declared, Bench):
        own = " ".join([declared.id, *settings(other, declared)])
        lines.insert(0, f"{kind} is {own}: {other.title}")
    lines.append(f"source: {declared.source}" if declared.source else "")
    needs = ", ".join(WORDS[name] for name in declared.needs)
    lines.append(f"needs: {needs}" if needs else "")
    parameters = [
        {
            "parameter": param.name,
            "default": quantity(param, param.default),
            "values": allowed(param),
            "description": param.help,
        }
        for param in declared.params
    ]
    width = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    with paged(sys.stdout) as out:
        for line in lines:
            for row in folded(line, width):
                out.print(Text(row), soft_wrap=True)
        columns = ("parameter", "default", "values", "description")
        out.print(_table(columns, parameters))


def _refuse(conditions: dict[str, Any]) -> None:
    """Raise UsageError for an option that selects runs."""
    if options := [name for name, value in conditions.items() if value is not None]:
        raise UsageError(f"--{options[0]} selects runs; write `rtstone list runs`")


def _print_probes(json: bool) -> None:
    """Ask all targets that have names, and print a line for each.  Raises UsageError."""
    import msgspec

    from rtstone.cli.progress import working
    from rtstone.interrupt import Interrupt
    from rtstone.measure.probe import probe
    from rtstone.targets import fleet
    from rtstone.targets.fleet_file import files

    names = fleet()
    if not names:
        places = " or ".join(map(str, files()))
        raise UsageError(f"no target has a name; write one into {places}")
    with Interrupt() as interrupt, working(f"asking {', '.join(names)}"):
        rows = [msgspec.to_builtins(answer) for answer in probe(list(names.values()), interrupt)]
    if json:
        _print_json({"targets": rows})
        return
    from rtstone.report.parts.console import console

    console(sys.stdout).print(_table(_PROBED, map(_probed_cells, rows)))


_PROBED = ("name", "target", "answers", "system", "rights", "clock")


def _probed_cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return the texts of the row of a target that was probed."""
    rate = f" {row['hz'] / 1e6:.6g} MHz" if row["unit"] == "ns" else ""
    kernel = row["kernel"] or ""
    system = row["os"] or ""
    if kernel.partition(" ")[0] not in system:
        system = f"{system} {kernel}"
    elif " " in kernel:
        system = f"{system} {kernel.partition(' ')[2]}"
    errors = [row["error"]] if row["error"] else []
    return {
        "name": row["name"],
        "target": row["address"],
        "answers": ", ".join(["yes" if row["answers"] else "no", *errors]),
        "system": f"{system}, {row['arch']}" if row["os"] else None,
        "rights": row["rights"],
        "clock": f"{row['clock']}{rate}" if row["clock"] else None,
    }


def _print_json(document: object) -> None:
    from rtstone.cli.output import print_document

    print_document(document)


def _print_lines(
    columns: tuple[str, ...], rows: list[dict[str, Any]], left_out: tuple[str, ...] = ()
) -> None:
    """Print a line per row, without rich, which takes a millisecond for each.

    On a terminal that is too narrow columns are ``left_out``, as many of these as it takes.
    """
    texts = [["" if row[name] is None else str(row[name]) for name in columns] for row in rows]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    room = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    further = next((name for name in _DROPPED if name in columns), None)
    if further and sum(widths) + 2 * (len(widths) - 1) > room:
        narrower = tuple(name for name in columns if name != further)
        _print_lines(narrower, rows, (*left_out, further))
        return

    def line(cells: list[str]) -> str:
        return "  ".join(map(str.ljust, cells, widths)).rstrip()

    click.echo(click.style(line(heads), bold=True))
    for text in texts:
        click.echo(line(text))
    if left_out:
        click.echo(click.style(f"no room for {', '.join(left_out)}; in --json", dim=True))


def _table(columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> RichTable:
    from rich.text import Text

    from rtstone.report.parts.console import plain_table

    table = plain_table()
    for number, name in enumerate(columns):
        style = "bold cyan" if number == 0 else None
        table.add_column(name.replace("_", " "), no_wrap=number == 0, style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in columns))
    return table
