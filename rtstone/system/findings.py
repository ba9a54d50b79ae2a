"""Checks of the system: findings, and their verdicts for measuring."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, get_args

from rtstone.documents.doctor import Group, Verdict
from rtstone.system import activity
from rtstone.system.facts import System

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
PROBLEMS: tuple[Verdict, ...] = ("bad", "warn")
UNREADABLE = "cannot be read"  # the end of a sentence about a file
UNDOES = "`rtstone tune restore` undoes it"
TUNE = f"`rtstone tune apply` does it, {UNDOES}"  # an advice
_APPLY = re.compile(r"`rtstone tune apply[^`]*`")
AS_ROOT = " as root"  # after a command, to whom it would be refused
GROUPS: tuple[Group, ...] = get_args(Group)


class Finding(NamedTuple):
    """The finding of a check; ``advice`` takes the place of the check's own."""

    verdict: Verdict
    value: str
    advice: str = ""


class Seen:
    """The input of a check: the system, and its activity between two moments."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def moments(self) -> tuple[activity.Moment, activity.Moment]:
        """Two moments of the system, taken when the first check asks."""
        before = activity.now(self.system)
        self.system.pause()
        return before, activity.now(self.system)


class Check(NamedTuple):
    """One line of the checklist (Dankwardt).

    ``advice`` says what to do, for a finding that is not good.
    """

    id: str
    group: Group
    title: str
    probe: Callable[[Seen], Finding]
    advice: str


class Line(NamedTuple):
    """One check of one system."""

    id: str
    group: Group
    title: str
    verdict: Verdict
    value: str
    advice: str

    @property
    def tunable(self) -> bool:
        """Whether `rtstone tune apply` mends it."""
        return self.verdict in PROBLEMS and UNDOES in self.advice

    @property
    def for_root(self) -> bool:
        """Whether who asked may not use the `rtstone tune apply` that the advice names."""
        return f"`{AS_ROOT}" in self.advice and _APPLY.search(self.advice) is not None


def unreadable(name: str) -> Finding:
    """Return the finding for an unreadable file."""
    return Finding("unknown", f"/{name} {UNREADABLE}")


def carry_out(check: Check, seen: Seen) -> Line:
    """Return the line of a check, with advice where useful."""
    verdict, value, advice = check.probe(seen)
    advice = "" if verdict in {"good", "seen"} else advice or check.advice
    if not seen.system.may_tune:
        advice = _APPLY.sub(lambda command: command[0] + AS_ROOT, advice)
    return Line(check.id, check.group, check.title, verdict, value, advice)
