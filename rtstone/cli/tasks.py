"""`rtstone tasks`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.cli import tasks_trace
from rtstone.cli.output import OutputFile, print_document, save, write_file
from rtstone.cli.parameters import JSON, RUN
from rtstone.cli.progress import working
from rtstone.cli.task_files import RT_APP, SET, converted, read
from rtstone.cli.tasks_break import break_command
from rtstone.cli.tasks_explain import explain_command
from rtstone.cli.tasks_run import run_command
from rtstone.documents.check import FAILED
from rtstone.errors import Inconclusive, UsageError
from rtstone.printable import shown
from rtstone.units import counted

NEW = "tasks.toml"


@click.group("tasks")
def command() -> None:
    """Check and run a task set, a file of tasks, resources and chains: do its deadlines hold?"""


command.add_command(tasks_trace.command)


@command.command("new")
@click.argument("file", type=OutputFile(), default=NEW, metavar="[FILE]")
def new_command(file: Path) -> None:
    """Write a task set to begin with, which has comments; default: tasks.toml."""
    from rtstone import resources

    if file.exists():
        raise UsageError(f"file exists, {file}; name a new one")
    write_file("the task set", file, resources.path("tasks", "new.toml").read_bytes())
    click.echo(f"{shown(str(file))}: edit it, then rtstone tasks check {shown(str(file))}")


@command.command("check")
@click.argument("file", type=SET)
@click.option(
    "--costs-from", "run", type=RUN,
    help="Take what a system costs from a run: switch, tick, timer, the latest release, and the "
    "time of a KWI.  Default: nothing has a cost.",
)  # fmt: skip
@JSON
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
def check_command(file: Path, run: str | None, json: bool, output: Path | None) -> int:
    """Say whether all needs of a task set hold, by analysis, and by what margin.

    FILE is a task set, or a file of rt-app, FILE.json.  Exit code: 0 if it is schedulable, 1 if it
    is not, 3 if that is not known.
    """
    if output is not None:
        from rtstone.report.parts import frame

        frame.bundle()
    from rtstone.documents.tasks import Costs
    from rtstone.store.index import find
    from rtstone.store.rundir import load
    from rtstone.tasks.analysis.check import check
    from rtstone.tasks.costs import taken, timed

    tasks = read(file)
    costs = Costs() if run is None else taken(load(find(run)))
    with working("checking"):
        document = check(timed(tasks, costs.kwips), costs, shown(str(file)))
    if json:
        print_document(document)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.tasks.check import check_lines

        screen = console(sys.stdout)
        screen.print(*check_lines(document, screen.width), sep="\n")
    if output is not None:
        from rtstone.report.tasks.page import compose

        save("the page", output, compose(document), quiet=json)
    codes = {"holds": 0, "fails": FAILED, "unknown": Inconclusive.exit_code}
    return codes[document.verdict]


@command.command("convert")
@click.argument("file", type=SET)
@click.option(
    "-o", "output", type=OutputFile(".toml", RT_APP), required=True, metavar="FILE",
    help="File to write: FILE.toml is a task set, FILE.json one of rt-app.",
)  # fmt: skip
def convert_command(file: Path, output: Path) -> None:
    """Convert between task sets and files of rt-app, and list what the other cannot say."""
    from rtstone.tasks import rtapp
    from rtstone.tasks.writing import toml_text

    if output.suffix.lower() == RT_APP:
        written = rtapp.write(read(file))
        text, left = written.text, written.left
    else:
        tasks, left = converted(file)
        text = toml_text(tasks)
        left = [*left, *(f"task '{task.name}': its histogram, which becomes a range"
                         for task in tasks.tasks if task.work.histogram)]  # fmt: skip
    write_file("the task set", output, text)
    for item in left:
        click.echo(f"not in {shown(output.name)}: {item}", err=True)
    click.echo(
        f"{shown(str(output))}: {counted(len(left), 'thing')} of {shown(str(file))} left out"
    )


command.add_command(explain_command)
command.add_command(run_command)
command.add_command(break_command)
