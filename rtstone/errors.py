"""Errors, and the exit codes with which they end the program.

    RtstoneError
    ├── UsageError     2    unknown name, value out of range, bad file, unwritable place
    ├── Inconclusive   3    cases failed or were lost, though the target lived
    │   └── Unfit      3    the target cannot do it, or the result must not be trusted
    ├── TargetError    4    the target did not start, died, or fell silent
    ├── StoreError     4    results could not be stored during the run
    └── Interrupted  130    SIGINT, SIGTERM or SIGHUP

Any other exception is an internal error and ends with 70; the message names the file with its
traceback.

The text of an error is one line: what, where; what to do.
"""

from __future__ import annotations

from collections.abc import Iterable

from rtstone.printable import line


class RtstoneError(Exception):
    """Base of all errors that are meant for the user; never raised itself."""

    exit_code: int

    def __str__(self) -> str:
        return line(super().__str__())


class RunSkipped(UserWarning):
    """A run was left out where it was not named, with the reason."""


class UsageError(RtstoneError):
    """The request cannot be carried out as written; nothing was measured."""

    exit_code = 2


class Inconclusive(RtstoneError):  # noqa: N818  the word of the exit code
    """The run ended, but not every case has a valid result."""

    exit_code = 3


class Unfit(Inconclusive):
    """The target lacks what was requested, or cannot measure it properly."""


class TargetError(RtstoneError):
    """The target or the agent on it failed."""

    exit_code = 4


class StoreError(RtstoneError):
    """The run directory could not be written during a run."""

    exit_code = 4


class Interrupted(RtstoneError):  # noqa: N818  not a fault of anyone
    """The user ended the run early."""

    exit_code = 130


LISTED = 40  # the most names that are listed in one line


def unknown(kind: str, name: str, names: Iterable[str], where: str = "") -> UsageError:
    """Return the error for an unknown name, with the nearest known one."""
    place = f", {where}" if where else ""
    return UsageError(f"unknown {kind} '{name}'{place}; {nearest(name, names)}")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return advice for an unknown name: the nearest known one, or all of them."""
    from difflib import get_close_matches

    ordered = sorted(names)
    near = get_close_matches(name, ordered, n=1, cutoff=0.4)
    if near:
        return f"did you mean '{near[0]}'?"
    if len(ordered) > LISTED:  # as of benches or suites
        return f"none of the {len(ordered)} known names is similar; see `rtstone list`"
    return f"known: {', '.join(ordered) or 'none'}"
