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
from typing import Any

from rtstone.cli import streams
from rtstone.documentation import located
from rtstone.errors import RtstoneError, RunSkipped, UsageError
from rtstone.printable import line
from rtstone.program import typed

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
    """Run the command line, whatever happens in it, and return the exit code."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    streams.take_any_letter()
    try:
        return _run_command(arguments)
    except KeyboardInterrupt:
        return _report("interrupted", 130)
    except (BrokenPipeError, SystemExit):  # click or rich exited on a closed pipe
        return 0
    except OSError as error:
        if error.strerror is None:  # not an error of the operating system
            return _defect(error)
        if error.filename is None and error.errno in REFUSED:
            return _report(
                f"a system call is refused, by a sandbox as a rule: {error.strerror}; "
                "`rtstone doctor` names it",
                UNWRITTEN,
            )
        where = error.filename or "the output"
        return _report(f"cannot write {where}: {error.strerror}", UNWRITTEN)
    except Exception as error:
        return _defect(error)
    finally:
        streams.drop_unwritten()


def _run_command(arguments: Sequence[str] | None) -> int:
    """Run the command line, and return its exit code; an error that it foresaw is a line."""
    import click

    from rtstone.cli.group import group

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", RunSkipped)
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            status = group.main(arguments, prog_name="rtstone", standalone_mode=False)
        sys.stdout.flush()
    except RtstoneError as error:
        return _report(str(error), error.exit_code)
    except click.NoSuchOption as error:
        near = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else "see --help"
        return _report(f"unknown option '{error.option_name}'; {near}", UsageError.exit_code)
    except click.ClickException as error:
        message = f"{error.format_message().rstrip('.')}; see --help"
        return _report(message, UsageError.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0


def _show_warning(
    fallback: Callable[..., None], message: Warning, *context: Any, **details: Any
) -> None:
    """Print a warning for the user in a line, and any other as Python does."""
    if isinstance(message, RunSkipped):
        _report(f"with care: {message}", 0)
    else:
        fallback(message, *context, **details)


def _defect(error: Exception) -> int:
    """Save the traceback of an unexpected exception, and print the name of the file."""
    try:
        fault = f"{type(error).__name__}: {error}"[:200].rstrip(": ")
    except Exception:  # str() of the exception may fail itself
        fault = type(error).__name__
    try:
        traceback = f"the traceback is in {_save_traceback(error)}, please report it"
    except Exception:
        traceback = "the traceback could not be saved"
    return _report(f"internal error, {fault}; {traceback}", DEFECT)


def _save_traceback(error: Exception) -> str:
    """Write a traceback to a new file that only the user can read, and return its name."""
    import tempfile
    import traceback

    from rtstone import __version__

    lines = [
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
        file.writelines(lines)
    return name


def _report(message: str, status: int) -> int:
    """Print a message on stderr, and return the exit code that goes with it."""
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {typed(located(line(message)))}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
