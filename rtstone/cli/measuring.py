"""What the commands that measure share: request, announcement, progress, exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rtstone.cli.streams import say
from rtstone.documents.plan import Plan, run_id
from rtstone.documents.run import Run
from rtstone.documents.run import Target as Place
from rtstone.errors import Interrupted, RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.measure.exclusive import undisturbed
from rtstone.measure.extent import announcement, assumed_units, refuse_long
from rtstone.measure.listener import Listener
from rtstone.measure.request import RunRequest
from rtstone.measure.start import Finished
from rtstone.printable import arguments
from rtstone.store.layout import run_name
from rtstone.targets import find as find_target


class Request(msgspec.Struct, frozen=True):
    """The options of a run; ``instead`` as in ``suite.Asked``."""

    names: list[str]
    target: str
    loads: tuple[str, ...] = ()
    instead: dict[str, str] = {}
    params: dict[str, str] = {}
    time: str | None = None
    cpus: str | None = None
    out: Path | None = None
    json: bool = False
    quiet: bool = False
    keep_idle: bool = False
    resume: str | None = None
    icount: str | None = None
    until: str | None = None
    name: str | None = None
    yes: bool = False
    wait: bool = False
    trace: str | None = None
    push: str | None = None


def assignments(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Return the values of -p by name.  Raises UsageError."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"bad parameter '{text}', in -p; write -p name=value")
        if name in pairs:
            raise UsageError(f"parameter '{name}' is given twice, in -p; write -p {name}=a,b")
        pairs[name] = value
    return pairs


def announce(request: Request, plan: Plan, of: str = "") -> None:
    """Say how long it will take; ``of``: which of several targets.

    Raises UsageError if nobody may have meant that long.
    """
    if not request.quiet and (not request.json or sys.stderr.isatty()):
        for line in (*assumed_units(plan, request.params), announcement(plan)):
            say(f"{of}: {line}" if of else line)
    if not (request.yes or _is_bounded(request, plan)):
        refuse_long(plan)


def await_others(
    request: Request, plans: Sequence[Plan], interrupt: Interrupt, held: ExitStack
) -> None:
    """With --wait, wait until nobody else measures; ``held`` keeps this user's others off."""
    if request.wait:
        targets = [find_target(plan.target.name) for plan in plans]
        held.enter_context(undisturbed(targets, interrupt, say))


def _is_bounded(request: Request, plan: Plan) -> bool:
    """Return whether the length was asked for: by an option, or by a suite that is as it was."""
    options = request.time is not None or {"samples", "time"} & request.params.keys()
    suites = plan.suite is not None and len(plan.suite.split()) == len(request.names or ["quick"])
    return bool(options) or (suites and not request.params)


def as_asked(request: Request) -> RunRequest:
    """Return the runner's request for these options."""
    asked = suite.Asked(request.params, request.time, request.cpus, request.loads, request.instead)
    names = request.names or ["quick"]
    return RunRequest(
        names, request.target, asked, arguments(), request.keep_idle,
        request.until, request.name, request.trace,
    )  # fmt: skip


def status_of(interrupt: Interrupt, done: Finished, of: str = "") -> int:
    """Say why a run has ended early, if it has, and return the exit code.

    ``of``: which of several targets.
    """
    status = told(done.error, of)
    if isinstance(done.error, Interrupted) and done.directory.finished:
        say(f"rtstone run --resume {run_name(done.directory.path, done.run.name)} goes on with it")
    as_requested = done.error is None and done.run.until_stopped
    return Interrupted.exit_code if interrupt.requested and not as_requested else status


def nothing(target: str, reason: str) -> Run:
    """Return the document of a run that ended before it had cases."""
    created = datetime.now(UTC)
    return Run(
        run_id=run_id(created, "none"),
        created=created.isoformat(timespec="seconds"),
        status="incomplete",
        reason=reason,
        command=arguments(),
        target=Place(name=target),
    )


def listener_for(quiet: bool) -> Listener:
    """Return the listener that shows progress on stderr; ``quiet``: nothing off a terminal."""
    if quiet and not sys.stderr.isatty():
        return Listener()
    from rtstone.cli.run_display import Display, Lines
    from rtstone.report.parts.console import console

    return Display(console(sys.stderr)) if sys.stderr.isatty() else Lines(sys.stderr)


def told(error: RtstoneError | None, of: str = "") -> int:
    """Print the error, if any, on stderr and return the exit code; ``of``: which of several."""
    if error is None:
        return 0
    say(f"rtstone: {of}: {error}" if of else f"rtstone: {error}")  # the exit code says it too
    return error.exit_code
