"""What the commands that measure share: request, announcement, progress, exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rtstone.cli.streams import say
from rtstone.documents.plan import Plan, run_id
from rtstone.documents.run import Run
from rtstone.documents.run import Target as Place
from rtstone.errors import Inconclusive, Interrupted, RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.exclusive import undisturbed
from rtstone.measure.extent import announcement, assumed_units, refuse_long
from rtstone.measure.listener import Listener
from rtstone.measure.request import Request
from rtstone.measure.start import Finished
from rtstone.printable import arguments
from rtstone.store.layout import run_name
from rtstone.targets import find as find_target


class Options(Request, frozen=True, kw_only=True):
    """A request as the command line has it, with how to carry it out and to show the run."""

    params: dict[str, str] = msgspec.field(default_factory=dict)
    command: list[str] = msgspec.field(default_factory=arguments)
    out: Path | None = None
    json: bool = False
    quiet: bool = False
    resume: str | None = None
    icount: str | None = None
    wait: bool = False
    sections: bool = False
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


def announce(options: Options, plan: Plan, target: str = "") -> None:
    """Print how long it will take; ``target``: which of several.

    Raises UsageError if nobody may have meant that long.
    """
    if not options.quiet and (not options.json or sys.stderr.isatty()):
        length = [announcement(plan)] if plan.cases else []  # else the answer says why
        for line in (*assumed_units(plan, options.params), *length):
            say(f"{target}: {line}" if target else line)
    # A length was asked for by an option, or by suites that are as they were.
    chosen = options.time is not None or {"samples", "time"} & options.params.keys()
    suites = plan.suite is not None and len(plan.suite.split()) == max(1, len(options.names))
    if not (options.yes or chosen or (suites and not options.params)):
        refuse_long(plan)


def await_others(
    options: Options, plans: Sequence[Plan], interrupt: Interrupt, held: ExitStack
) -> None:
    """With --wait, wait until nobody else measures; ``held`` keeps this user's others off."""
    if options.wait:
        targets = [find_target(plan.target.name) for plan in plans]
        held.enter_context(undisturbed(targets, interrupt, say))


def status_of(
    interrupt: Interrupt, finished: Finished, target: str = "", *, answered: bool = False
) -> int:
    """Print why a run has ended early, if it has, and return the exit code.

    ``target``: which of several.  ``answered``: its answer is on stdout, and so is why it lacks
    results; where only stderr is a terminal it is said there all the same.
    """
    run, directory, error = finished
    seen = answered and (sys.stdout.isatty() or not sys.stderr.isatty())
    if seen and isinstance(error, Inconclusive) and (run.reason or _nothing_in(run)):
        status = error.exit_code
    else:
        status = report_error(error, target)
    if isinstance(error, Interrupted) and directory.finished:
        say(f"rtstone run --resume {run_name(directory.path, run.name)} goes on with it")
    as_requested = error is None and run.until_stopped
    if interrupt.requested and not as_requested:
        return Interrupted.exit_code
    if not status and _nothing_in(run):
        status = Inconclusive.exit_code
    return status if run.requirement is None else _required(run, status)


def _nothing_in(run: Run) -> bool:
    from rtstone.report.parts.words import measured

    return not measured(run)


def without_result(runs: Iterable[Run]) -> Iterator[Inconclusive]:
    """Yield an error, with the reason, for each of these runs in which nothing was measured."""
    for run in filter(_nothing_in, runs):
        from rtstone.report.run.answer import why_nothing

        why = why_nothing(run) or "it has no result."
        yield Inconclusive(f"nothing was measured in {run.name or run.run_id}: {why}")


def refuse_empty(runs: Iterable[Run]) -> None:
    """Raise Inconclusive, with the reason, if nothing was measured in one of these runs."""
    for error in without_result(runs):
        raise error


def _required(run: Run, status: int) -> int:
    """Return the exit code of a run that a latency was required of, as that of `rtstone check`."""
    from rtstone.stats.gate import check_requirement

    gate = check_requirement(run)
    return gate.exit_code if gate and status in {0, Inconclusive.exit_code} else status


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


def report_error(error: RtstoneError | None, target: str = "") -> int:
    """Print the error, if any, on stderr and return its exit code; ``target``: which of several."""
    if error is None:
        return 0
    say(f"rtstone: {target}: {error}" if target else f"rtstone: {error}")
    return error.exit_code
