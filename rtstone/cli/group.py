"""The group of commands.  A command's module is imported when the command is used."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from keyword import iskeyword

import click

from rtstone.documentation import located
from rtstone.errors import UsageError, unknown

# name: summary; the command is `command` in the module rtstone.cli.NAME, or NAME_ where NAME is a
# keyword of Python.
COMMANDS = {
    "run": "Measure a target.",
    "list": "List benches, suites, loads, targets or runs.",
    "show": "Show one run.",
    "report": "Write one or more runs as one self-contained page.",
    "provoke": "Show which actions of other processes or tasks delay a wake-up.",
    "search": "Search for what other processes or tasks do that delays a bench most.",
    "explain": "Explain why a sample took so long.",
    "sections": "Rank what nothing could preempt: interrupts masked, critical sections.",
    "plot": "Draw runs as a figure for a paper.",
    "compare": "Compare systems, with the certainty of each difference.",
    "trend": "Show the trend of benches through stored runs, and where it changes.",
    "campaign": "Measure a matrix of targets, loads and seeds, over days.",
    "push": "Send runs to a results server.",
    "serve": "Serve the runs of a store to a team, as pages and for programs.",
    "token": "Manage the tokens for pushing runs to a server and reading them.",
    "check": "Check a run against a budget: a gate for CI.",
    "guarantee": "State a guaranteed latency, or why there is none.",
    "growth": "Show how costs grow with what is in the system.",
    "reproduce": "Reproduce a publication's tables beside this system's numbers.",
    "import": "Import other tools' data as runs.",
    "export": "Export a run for other tools.",
    "bundle": "Bundle runs with plans and logs, for others to check and repeat.",
    "cite": "Print how to cite rtstone and what runs used, as BibTeX.",
    "rm": "Remove stored runs.",
    "prune": "Remove old runs.",
    "tasks": "Check whether the deadlines of a task set hold.",
    "simulate": "Simulate schedulers, or Hartstone without an OS.",
    "schema": "Print the JSON schema of a document.",
    "doctor": "Check whether a system can be measured.",
    "lab": "List, fetch, build and remove emulated targets.",
    "agent": "Write the agent for another machine to a file.",
    "tune": "Prepare a system for measuring, and restore it.",
    "completion": "Print the completion script of a shell.",
}

# The end of each command's help.
EXAMPLES = {
    "run": (
        "rtstone run",
        "rtstone run dk.periodic -p period=1ms --load none --load heavy --time 60",
        "rtstone run quick --target ssh:root@board",
    ),
    "list": ("rtstone list benches", "rtstone list dk.periodic"),
    "show": ("rtstone show last", "rtstone show last --conditions", "rtstone show last~1 -q"),
    "report": ("rtstone report last", "rtstone report last~1 last -o compared.html"),
    "explain": (
        "rtstone explain last",
        "rtstone explain last dk.periodic --sample p99 -o why.html",
        "rtstone explain last --format chrome -o why.json",
    ),
    "sections": (
        "rtstone sections last",
        "rtstone sections last dk.periodic --json",
        "rtstone sections last --against last~1",
    ),
    "provoke": (
        "rtstone provoke",
        "rtstone provoke --consent shared",
        "rtstone provoke herd oom --target qemu:linux-6.1 --target qemu:linux-6.1-rt",
    ),
    "search": (
        "rtstone search dk.periodic --target qemu:linux-6.1",
        "rtstone search dk.periodic --target qemu:linux-6.1-rt --hours 2 --seed 7",
    ),
    "plot": (
        "rtstone plot last -o figure.pdf",
        "rtstone plot last~1 last --kind percentiles --width 174mm -o tail.svg",
    ),
    "compare": (
        "rtstone compare last~1 last",
        "rtstone compare --run sim:rtai-22.2.4 sim:rtai-24.1.8 dk.periodic",
        "rtstone compare last~3,last~2 last~1,last --all",
    ),
    "trend": (
        "rtstone trend dk.periodic",
        "rtstone trend sem --metric p99 --by kernel --target qemu -o trend.html",
    ),
    "campaign": ("rtstone campaign plan night.toml", "rtstone campaign run night.toml"),
    "push": (
        "rtstone push https://rt.example.org/p/firmware last",
        "rtstone push https://rt.example.org/p/firmware",
    ),
    "serve": (
        "rtstone serve",
        "rtstone serve --listen 0.0.0.0:8420 --read token",
    ),
    "token": ("rtstone token new ci --project firmware", "rtstone token revoke ci"),
    "check": (
        "rtstone check last --write-budget budget.toml",
        "rtstone check last --budget budget.toml --junit gate.xml",
    ),
    "guarantee": ("rtstone guarantee last~1 last", "rtstone guarantee last -o guarantee.md"),
    "growth": (
        "rtstone growth fork --over maps --over pages",
        "rtstone growth --target sim:linux-2.4.7-redhat",
        "rtstone growth --run last~1 --run last -o growth.html",
    ),
    "reproduce": (
        "rtstone reproduce gutsalov --target sim:rtai-24.1.8",
        "rtstone reproduce obenland last -o obenland.html",
    ),
    "import": ("rtstone import cyclictest.json",),
    "export": (
        "rtstone export last --format csv",
        "rtstone export last --format samples -o samples.csv",
    ),
    "bundle": (
        "rtstone bundle last~1 last -o artifact.tar.zst",
        "rtstone bundle --check artifact.tar.zst",
    ),
    "cite": ("rtstone cite", "rtstone cite last -o rtstone.bib"),
    "rm": ("rtstone rm tuned", "rtstone rm last~1 last --yes"),
    "prune": ("rtstone prune --keep 20 --dry-run", "rtstone prune --keep 100 --older-than 30d"),
    "tasks": (
        "rtstone tasks new",
        "rtstone tasks check tasks.toml --costs-from last",
        "rtstone tasks run tasks.toml --target qemu:freertos-a64",
    ),
    "simulate": (
        "rtstone simulate --policy rm,edf --tasks 10 --sets 200",
        "rtstone simulate hartstone PH.1 --costs-from last",
    ),
    "schema": ("rtstone schema run",),
    "doctor": ("rtstone doctor", "rtstone doctor --problems --target ssh:root@board"),
    "lab": ("rtstone lab list", "rtstone lab fetch linux-6.1", "rtstone lab build"),
    "agent": ("rtstone agent", "rtstone agent --arch armv7 -o rtstone-agent"),
    "tune": ("rtstone tune apply --dry-run", "rtstone tune apply", "rtstone tune restore"),
    "completion": ("rtstone completion bash",),
}


class Lazy(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a typical session."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Return the command of that name.  Raises UsageError naming the nearest one."""
        if cmd_name not in COMMANDS:
            raise unknown("command", cmd_name, COMMANDS)
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"rtstone.cli.{module}").command
        if examples := EXAMPLES.get(cmd_name):
            lines = [f"  {example}" for example in examples]
            command.epilog = "\n".join(("\b", "Examples:", *lines))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; its help names pages where they are here."""
        name, command, rest = super().resolve_command(ctx, args)
        if command and (text := command.help):
            command = copy(command)
            command.help = located(text)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("--verbose", is_flag=True, help="With --version: what else is installed.")
@click.pass_context
def group(context: click.Context, *, version: bool, verbose: bool) -> None:
    """Measure the real-time behaviour of operating systems."""
    if version:
        from rtstone.cli import versions

        click.echo(versions.full() if verbose else versions.brief())
        context.exit()
    if verbose:
        raise UsageError("--verbose is for --version; write rtstone --version --verbose")
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
