"""What can go wrong, and the exit code it ends the program with.

    RtstoneError
    ├── UsageError     2    unknown name, value out of range, bad file, unwritable place
    ├── Inconclusive   3    cases failed or were lost, though the target lived
    │   └── Unfit      3    the target cannot do it, or did it in a way that shows nothing
    ├── TargetError    4    the target did not start, died, or fell silent
    ├── StoreError     4    results could not be kept while the run was going on
    └── Interrupted  130    SIGINT, SIGTERM or SIGHUP

All else is a defect of rtstone and ends with 70: its traceback is in a file that one line names.

The text of an error is one line: what, where; what to do.
"""

from __future__ import annotations

from collections.abc import Iterable

from rtstone.printable import line


class RtstoneError(Exception):
    """Base of all errors that a user is meant to read; never raised itself."""

    exit_code: int

    def __str__(self) -> str:
        return line(super().__str__())


class UsageError(RtstoneError):
    """The request cannot be carried out as it stands; nothing was measured."""

    exit_code = 2


class Inconclusive(RtstoneError):  # noqa: N818  the word of the exit code
    """The run ended, but not every case has a valid result."""

    exit_code = 3


class Unfit(Inconclusive):
    """What was asked for is not to be had on this target, or not as it should be measured."""


class TargetError(RtstoneError):
    """The target or the agent on it failed."""

    exit_code = 4


class StoreError(RtstoneError):
    """The run directory could not be written in the course of a run."""

    exit_code = 4


class Interrupted(RtstoneError):  # noqa: N818  not a fault of anyone
    """The user ended the run early."""

    exit_code = 130


LISTED = 40  # names that a line can hold


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> UsageError:
    """Return the error for a name that is not known, with the nearest one that is."""
    place = f", {where}" if where else ""
    return UsageError(f"unknown {kind} '{name}'{place}; {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Advice for a name that is not known."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    if near:
        return f"did you mean '{near[0]}'?"
    if len(names) > LISTED:  # benches and suites alone are so many
        return f"none of the {len(names)} known ones is like it; see `rtstone list`"
    return f"known: {', '.join(names) or 'none'}"
