"""`rtstone import`."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import click
from msgspec import structs

from rtstone.cli.parameters import FILE, READER
from rtstone.cli.progress import working
from rtstone.documents.imported import tool
from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.errors import StoreError, UsageError
from rtstone.formats.reading import LOAD
from rtstone.formats.registry import READERS, imported, recognized
from rtstone.formats.source import STDIN, UNITS, Meaning, Source, read
from rtstone.printable import arguments, line
from rtstone.store.bundle import is_bundle, take
from rtstone.store.index import entries, free_name
from rtstone.store.layout import runs
from rtstone.store.rundir import RunDirectory
from rtstone.store.rundir import load as load_run
from rtstone.units import count, counted
from rtstone.wire.parameters import duration

MOST = 10_000  # files of a directory
UNKNOWN = "of no known format"


@click.command("import")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=READER,
    help=f"Input format, where the content does not identify it: {', '.join(READERS)}.",
)
@click.option("--name", metavar="NAME", help="Name of the run, as in `rtstone run --name`.")
@click.option(
    "--load", metavar="NAME", help="Name of the load during the measurement, if the file has none."
)
@click.option("--host", metavar="NAME", help="Name of the machine, if the file has none.")
@click.option(
    "--unit", type=click.Choice(list(UNITS)), help="Unit of your own samples and histograms."
)
@click.option(
    "--period",
    metavar="NAME",
    help="Period of the task whose lateness the samples are, such as 1ms; activations that it "
    "missed count.",
)
@click.option("--column", metavar="NAME", help="The column of the samples, by name or number.")
@click.option(
    "--due", metavar="NAME", help="The column with the times at which activations were due."
)
@click.option(
    "--at", metavar="NAME", help="With --due: the column with the times at which they ran."
)
@click.option("--bench", metavar="NAME", help="Name of the measurement of these samples.")
@click.option("--json", is_flag=True, help="Print only the run document, as JSON.")
def command(
    *, files: tuple[str, ...], form: str | None, name: str | None, load: str | None,
    host: str | None, unit: str | None, period: str | None, column: str | None, due: str | None,
    at: str | None, bench: str | None, json: bool,
) -> None:  # fmt: skip
    """Import other tools' data, or your own, as runs, one for each FILE (- is standard input).

    A FILE of `rtstone bundle` has runs with their plans and logs, which are stored as they are.

    If any FILE cannot be read, no run is stored.  A directory is searched, at any depth, for files
    that a format recognizes; a damaged one does not keep the others from being stored.  What is
    already stored is not stored again.
    """
    if bundles := [file for file in files if file != STDIN and is_bundle(Path(file))]:
        _take(bundles, files)
        return
    within = {file: _within(Path(file)) for file in files if file != STDIN and Path(file).is_dir()}
    if (len(files) > 1 or within) and (json or name is not None):
        reason = "--json prints one document" if json else "--name names one run"
        raise UsageError(f"{reason}, not {'a directory' if within else len(files)}; name one file")
    words = {option: line(text) for option, text in (("load", load), ("host", host)) if text}
    if name is not None:
        free_name(name)
    period_ns = duration(period, "in --period") if period is not None else None
    if period_ns == 0:
        raise UsageError("a period of 0, in --period; write it as 1ms")
    meaning = Meaning(
        UNITS[unit] if unit else None, period_ns, column, due, at, bench and line(bench),
    )  # fmt: skip
    paths = [path for file in files for path in within.get(file, [])]
    explicit = [file for file in files if file not in within]
    store = _Store()
    reading = _Reading(form, meaning, name, words)
    with working("importing") as progress:
        documents: list[tuple[Plan, Run]] = []
        for file in explicit:  # all of them, or none is stored
            progress.steps(len(documents), len(explicit) + len(paths))
            documents.append(reading.document(read(file)))
        rows = [
            store.add(file, plan, run, json=json)
            for file, (plan, run) in zip(explicit, documents, strict=True)
        ]
        for number, path in enumerate(paths):  # one after the other, however many there are
            progress.steps(len(explicit) + number, len(explicit) + len(paths))
            try:
                source = read(path)
                if form is None and not recognized(source):
                    rows.append(Row(path, UNKNOWN))
                else:
                    rows.append(store.add(path, *reading.document(source), json=False))
            except UsageError as error:
                rows.append(Row(path, f"refused: {error}"))
    _print(rows, json=json, table=bool(within))
    if any(row.outcome.startswith("refused") for row in rows):
        click.get_current_context().exit(UsageError.exit_code)


def _take(bundles: Sequence[str], files: Sequence[str]) -> None:
    """Store the runs of bundles, and report each.  Raises UsageError."""
    context = click.get_current_context()
    explicit = [
        parameter.opts[0]
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and context.params.get(parameter.name or "")
    ]
    if explicit:
        raise UsageError(f"{explicit[0]} does not apply to a bundle, {bundles[0]}; leave it out")
    if len(bundles) < len(files):
        raise UsageError(f"bundles and other files, {bundles[0]}; import the bundles by themselves")
    for file in bundles:
        with working("importing"):
            runs = take(Path(file))
        for run, fresh in runs:
            called = f" ({run.name})" if run.name else ""
            before = "" if fresh else ", stored before"
            click.echo(line(f"{run.run_id}{called}: on {run.target}{before}"))


class Row(NamedTuple):
    """The outcome of a file: its run, and whether that was stored before."""

    path: str
    outcome: str
    run: Run | None = None


def _within(directory: Path) -> list[str]:
    """Return the regular files below a directory, hidden ones left out, in order of name.

    Raises UsageError if there are none, or more than MOST.
    """
    files: list[str] = []
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(folder, name) for name in sorted(names) if not name.startswith("."))
        files += [str(path) for path in paths if path.is_file() and not path.is_symlink()]
        if len(files) > MOST:
            raise UsageError(f"more than {MOST} files, in {directory}; name a part of it")
    if not files:
        raise UsageError(f"no file in {directory}; name a directory that has files")
    return files


class _Reading(NamedTuple):
    """How files are read, and what the options add to what they contain."""

    form: str | None
    meaning: Meaning
    name: str | None
    words: Mapping[str, str]

    def document(self, source: Source) -> tuple[Plan, Run]:
        """Return the plan and the run of a file.  Raises UsageError."""
        plan, run = imported(source._replace(meaning=self.meaning), self.form, arguments())
        loads = {LOAD: self.words["load"]} if "load" in self.words else {}
        host = {"machine.host": self.words["host"]} if "host" in self.words else {}
        run = structs.replace(
            run, name=self.name, conditions=host | run.conditions,
            results=[structs.replace(r, load=loads.get(r.load, r.load)) for r in run.results],
        )  # fmt: skip
        return structs.replace(plan, name=self.name), run


class _Store:
    """The runs that are stored, and those to come."""

    @cached_property
    def _ids(self) -> dict[str, list[str]]:
        """The ids of imported runs by the digests of their files."""
        ids: dict[str, list[str]] = defaultdict(list)
        for entry in entries():
            if entry.source:
                ids[entry.source].append(entry.run_id)
        return ids

    def add(self, path: str, plan: Plan, run: Run, *, json: bool) -> Row:
        """Store a run, unless one of the same bytes says the same.

        With ``json`` only where there is a place for it: the document is the answer.
        """
        try:
            same = self._ids[str(run.target.detail["sha256"])]
            if (before := _before(run, same)) is not None:
                return Row(path, "stored before", before)
            RunDirectory(plan).finish(run)
            same.append(run.run_id)
        except UsageError as error:
            if not json:
                raise
            click.echo(f"rtstone: not stored: {error}", err=True)
        return Row(path, "imported", run)


def _before(run: Run, same: Sequence[str]) -> Run | None:
    """Return the stored run of the same file with the same results and conditions, if any."""
    for run_id in same:
        with suppress(UsageError, StoreError):
            other = load_run(runs() / run_id)
            if (other.name, other.results, other.conditions) == (
                run.name, run.results, run.conditions,
            ):  # fmt: skip
                return other
    return None


def _print(rows: Sequence[Row], *, json: bool, table: bool) -> None:
    """Print the document, a line for each run, or a table of what was taken with a summary."""
    from rtstone.cli.output import print_document

    if not table:
        for row in rows:
            if row.run and json:
                print_document(row.run)
            elif row.run:
                samples = count(sum(result.n for result in row.run.results))
                results = counted(len(row.run.results), "result")
                before = ", stored before" if row.outcome == "stored before" else ""
                click.echo(f"{row.run.run_id}: {tool(row.run)}, {results}, n {samples}{before}")
        return
    sums = Counter(row.outcome.partition(":")[0] for row in rows)
    kinds = ("imported", "stored before", "refused", UNKNOWN)
    click.echo("; ".join(f"{sums[kind]} {kind}" for kind in kinds if sums[kind]))
    from rich.text import Text

    from rtstone.report.parts.console import console, plain_table

    listing = plain_table()
    for name in ("file", "measured", "tool", "results", "n", "run"):
        listing.add_column(name, overflow="fold")
    for row in rows:
        if row.run:
            moment = row.run.conditions.get("tool.measured")
            members = (
                str(moment)[:16].replace("T", " ") if moment else "unknown",
                tool(row.run), len(row.run.results),
                count(sum(result.n for result in row.run.results)),
                row.run.run_id + (" (before)" if row.outcome == "stored before" else ""),
            )  # fmt: skip
            listing.add_row(line(row.path), *(Text(str(member)) for member in members))
    if listing.rows:
        console(sys.stdout).print(listing)
    for row in rows:
        if not row.run:
            click.echo(f"{line(row.path)}: {line(row.outcome)}")
