"""The command `rtstone`: its subcommands, loaded when needed, and its exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

import click

from rtstone import __version__
from rtstone.errors import RtstoneError, UsageError, unknown

# name: what it does; the command is `command` in the module rtstone.cli.NAME.
COMMANDS = {
    "run": "Measure a target.",
    "list": "What there is: benches, suites, loads, targets, runs.",
    "show": "One run.",
    "report": "One offline page of one or more runs.",
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
        command: click.Command = import_module(f"rtstone.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help without the modules of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def group() -> None:
    """Measures how real-time an operating system is."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; see rtstone.errors for the codes."""
    sys.exit(_status(arguments))


def _status(arguments: Sequence[str] | None) -> int:
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        status = group.main(arguments, prog_name="rtstone", standalone_mode=False)
        sys.stdout.flush()
    except RtstoneError as error:
        return _told(str(error), error.exit_code)
    except click.NoSuchOption as error:
        near = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else "see --help"
        return _told(f"unknown option '{error.option_name}'; {near}", UsageError.exit_code)
    except click.ClickException as error:
        return _told(f"{error.format_message().rstrip('.')}; see --help", UsageError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _told("interrupted", 130)
    except BrokenPipeError:  # nobody reads on, which is not a fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status if isinstance(status, int) else 0


def _told(message: str, status: int) -> int:
    print(f"rtstone: {' '.join(message.split())}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
