"""The group of commands, which loads a command when it is needed."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword

import click

from rtstone import __version__
from rtstone.errors import unknown

# name: what it does; the command is `command` in the module rtstone.cli.NAME, or NAME_ where Python
# has that word for itself.
COMMANDS = {
    "run": "Measure a target.",
    "list": "What there is: benches, suites, loads, targets, runs.",
    "show": "One run.",
    "report": "One offline page of one or more runs.",
    "compare": "How systems differ, case by case, and how certain that is.",
    "check": "Does a run keep a budget?  A gate for CI.",
    "guarantee": "The statement of a guaranteed latency, or why there is none.",
    "reproduce": "A publication's tables, with this system's numbers beside them.",
    "import": "Other tools' data as runs.",
    "export": "A run for other tools.",
    "simulate": "Scheduling simulated: policies compared, Hartstone without an OS.",
    "schema": "The JSON schema of a document.",
    "doctor": "Is this system fit to be measured?",
    "lab": "Emulated targets: which are ready, and what brings the others.",
    "tune": "Make it so for as long as you measure, and put it back.",
}


class Lazy(click.Group):
    """A group that imports a command only to carry it out."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command of that name.  Raises UsageError naming the nearest one."""
        if cmd_name not in COMMANDS:
            raise unknown("command", cmd_name, COMMANDS)
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"rtstone.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help without the modules of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def group(context: click.Context) -> None:
    """Measures how real-time an operating system is."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
