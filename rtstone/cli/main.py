"""The command `rtstone` as a process: its signals, streams and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from rtstone.cli import streams
from rtstone.errors import RtstoneError, UsageError
from rtstone.printable import line

if TYPE_CHECKING:
    import click

UNWRITTEN = 4  # exit code when the output itself finds no room
DEFECT = 70  # exit code of a fault of rtstone itself, that of sysexits.h; 1 says a gate has failed


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; see rtstone.errors for the codes."""
    # Python tells of Ctrl-C by an exception, which cannot be caught in the middle of an import.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    streams.settle()
    try:
        import rtstone.cli.group  # noqa: F401  here is where the time goes
    except Exception as error:
        sys.exit(_defect(error))
    signal.signal(signal.SIGINT, before)
    sys.exit(_status(arguments))


def _status(arguments: Sequence[str] | None) -> int:
    signal.signal(signal.SIGTERM, _as_interrupt)
    streams.take_any_letter()
    try:
        return _carried_out(arguments)
    except (KeyboardInterrupt, BrokenPipeError, SystemExit) as end:
        return _ended(end)
    except OSError as error:
        if error.strerror is None:  # nothing that the system has said
            return _defect(error)
        where = error.filename or "the output"
        return _told(f"cannot write {where}: {error.strerror}", UNWRITTEN)
    except Exception as error:
        return _defect(error)
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
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0


def _ended(end: BaseException) -> int:
    """The exit code where the user has had enough; click and rich exit when nobody reads on."""
    return _told("interrupted", 130) if isinstance(end, KeyboardInterrupt) else 0


def _usage(error: click.ClickException) -> str:
    import click

    if isinstance(error, click.NoSuchOption):
        near = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else "see --help"
        return f"unknown option '{error.option_name}'; {near}"
    return f"{error.format_message().rstrip('.')}; see --help"


def _defect(error: Exception) -> int:
    """Keeps the traceback of what nobody has foreseen, and names the file."""
    try:
        what = f"{type(error).__name__}: {error}"[:200].rstrip(": ")
    except Exception:  # an exception may have no words
        what = type(error).__name__
    try:
        kept = f"the traceback is in {_kept(error)}, please report it"
    except Exception:
        kept = "and its traceback could not be kept"
    return _told(f"a defect of rtstone, {what}; {kept}", DEFECT)


def _kept(error: Exception) -> str:
    """Writes a traceback to a new file, which only the user can read, and returns its name."""
    import tempfile
    import traceback

    from rtstone import __version__

    told = [
        f"rtstone {__version__}, Python {sys.version}\n",
        f"arguments: {sys.argv[1:]!a}\n",
        *traceback.format_exception(error),
    ]
    try:
        from rtstone.store.places import home

        place = home().absolute()
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".txt", "defect-", place)
    except Exception:  # it may be what is at fault
        handle, name = tempfile.mkstemp(".txt", "rtstone-defect-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(told)
    return name


def _told(message: str, status: int) -> int:
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {line(message)}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
