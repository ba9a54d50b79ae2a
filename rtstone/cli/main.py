"""The command `rtstone` as a process: its signals, streams and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from rtstone.cli import streams
from rtstone.errors import RtstoneError, UsageError

if TYPE_CHECKING:
    import click

UNWRITTEN = 4  # exit code when the output itself finds no room


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; see rtstone.errors for the codes."""
    # Python tells of Ctrl-C by an exception, which cannot be caught in the middle of an import.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    streams.settle()
    import rtstone.cli.group  # noqa: F401  here is where the time goes

    signal.signal(signal.SIGINT, before)
    sys.exit(_status(arguments))


def _status(arguments: Sequence[str] | None) -> int:
    signal.signal(signal.SIGTERM, _as_interrupt)
    streams.take_any_letter()
    try:
        return _carried_out(arguments)
    finally:
        streams.drop_unwritten()


def _carried_out(arguments: Sequence[str] | None) -> int:
    import click

    from rtstone.cli.group import group

    try:
        status = group.main(arguments, prog_name="rtstone", standalone_mode=False)
        sys.stdout.flush()
    except RtstoneError as error:
        return _told(str(error), error.exit_code)
    except click.ClickException as error:
        return _told(_usage(error), UsageError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _told("interrupted", 130)
    except (BrokenPipeError, SystemExit):  # click and rich exit so when nobody reads on
        return 0
    except OSError as error:
        where = error.filename or "the output"
        return _told(f"cannot write {where}: {error.strerror}", UNWRITTEN)
    return status if isinstance(status, int) else 0


def _usage(error: click.ClickException) -> str:
    import click

    if isinstance(error, click.NoSuchOption):
        near = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else "see --help"
        return f"unknown option '{error.option_name}'; {near}"
    return f"{error.format_message().rstrip('.')}; see --help"


def _told(message: str, status: int) -> int:
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {' '.join(message.split())}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
