"""The process of the command `rtstone`: signals, streams and exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from rtstone.cli import streams
from rtstone.errors import RtstoneError, RunSkipped, UsageError
from rtstone.printable import line
from rtstone.program import typed

if TYPE_CHECKING:
    import click

REFUSED = {errno.EPERM, errno.ENOSYS}  # which no writing to an open stream meets
UNWRITTEN = 4  # exit code when the output cannot be written
DEFECT = 70  # exit code of an internal error, EX_SOFTWARE of sysexits.h; 1 means a failed gate


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; see rtstone.errors for the exit codes."""
    # Python raises an exception on Ctrl-C, which cannot be caught reliably during an import.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    streams.settle()
    if "_RTSTONE_COMPLETE" in os.environ:  # a shell asks
        from rtstone.cli.completion import respond

        respond()
    try:
        import rtstone.cli.group  # noqa: F401  most of the start-up time goes here
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
        if error.strerror is None:  # not an error of the operating system
            return _defect(error)
        if error.filename is None and error.errno in REFUSED:
            return _told(
                f"a system call is refused, by a sandbox as a rule: {error.strerror}; "
                "`rtstone doctor` names it",
                UNWRITTEN,
            )
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
        with warnings.catch_warnings():
            warnings.simplefilter("always", RunSkipped)
            warnings.showwarning = partial(_warned, warnings.showwarning)
            status = group.main(arguments, prog_name="rtstone", standalone_mode=False)
        sys.stdout.flush()
    except RtstoneError as error:
        return _told(str(error), error.exit_code)
    except click.ClickException as error:
        return _told(_usage(error), UsageError.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0


def _warned(otherwise: Callable[..., None], message: Warning, *context: Any, **more: Any) -> None:
    """Print a warning for the user in a line, and any other as Python does."""
    if isinstance(message, RunSkipped):
        _told(f"with care: {message}", 0)
    else:
        otherwise(message, *context, **more)


def _ended(end: BaseException) -> int:
    """Return the exit code after Ctrl-C, or after click or rich exited on a closed pipe."""
    return _told("interrupted", 130) if isinstance(end, KeyboardInterrupt) else 0


def _usage(error: click.ClickException) -> str:
    import click

    if isinstance(error, click.NoSuchOption):
        near = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else "see --help"
        return f"unknown option '{error.option_name}'; {near}"
    return f"{error.format_message().rstrip('.')}; see --help"


def _defect(error: Exception) -> int:
    """Save the traceback of an unexpected exception, and print the name of the file."""
    try:
        what = f"{type(error).__name__}: {error}"[:200].rstrip(": ")
    except Exception:  # str() of the exception may fail itself
        what = type(error).__name__
    try:
        kept = f"the traceback is in {_kept(error)}, please report it"
    except Exception:
        kept = "the traceback could not be saved"
    return _told(f"internal error, {what}; {kept}", DEFECT)


def _kept(error: Exception) -> str:
    """Write a traceback to a new file that only the user can read, and return its name."""
    import tempfile
    import traceback

    from rtstone import __version__

    told = [
        f"rtstone {__version__}, Python {sys.version}\n",
        f"arguments: {sys.argv[1:]!a}\n",
        *traceback.format_exception(error),
    ]
    try:
        from rtstone.folders import results

        place = results().absolute()
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".txt", "defect-", place)
    except Exception:  # the store itself may be at fault
        handle, name = tempfile.mkstemp(".txt", "rtstone-defect-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(told)
    return name


def _told(message: str, status: int) -> int:
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {typed(line(message))}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
