"""`rtstone run` with several targets, which are measured at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from rtstone.cli.measuring import (
    Request,
    announce,
    as_asked,
    await_others,
    nothing,
    status_of,
    told,
)
from rtstone.cli.output import print_document
from rtstone.cli.show import print_verdict
from rtstone.cli.streams import maybe_unread
from rtstone.documents.run import Run
from rtstone.documents.session import Session
from rtstone.errors import Interrupted, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.together import Ended, Lost, Member, measure_together, prepare
from rtstone.program import typed
from rtstone.store.rundir import RunDirectory


def measured(requests: Sequence[Request], interrupt: Interrupt) -> tuple[int, list[RunDirectory]]:
    """Measure the same on several targets at once, and print all runs.

    Returns the exit code, the highest of all (one that failed does not cost the others), and the
    directories of the runs.  Raises UsageError as long
    as nothing has been measured.
    """
    first = requests[0]
    _check(first)
    try:
        prepared = prepare([as_asked(request) for request in requests], interrupt)
        members = [one for one in prepared if isinstance(one, Member)]
        with ExitStack() as held:
            for one in members:
                announce(first, one.plan, one.spec)
            await_others(first, [one.plan for one in members], interrupt, held)
            listeners = _listeners(first, members, held)
            ended = iter(measure_together(members, interrupt=interrupt, listeners=listeners))
    except Interrupted as early:
        if first.json:
            print_document(_document([Lost(one.target, early) for one in requests]))
        raise
    all_ended = [
        Ended(one.spec, None, one.error) if isinstance(one, Lost) else next(ended)
        for one in prepared
    ]
    made = [one.done.directory for one in all_ended if one.done]
    return _shown(first, all_ended, interrupt), made


def _check(request: Request) -> None:
    """Raise UsageError for an option that can only mean one run."""
    asked = {
        "--resume": (request.resume, "continue one run after the other, without --target"),
        "--out": (request.out, "leave it out: `rtstone list runs` knows where they are"),
        "--name": (request.name, "leave it out: the targets tell the runs apart"),
    }
    for option, (value, advice) in asked.items():
        if value is not None:
            raise UsageError(f"{option} is for a single run, not for several targets; {advice}")


def _listeners(request: Request, members: Sequence[Member], held: ExitStack) -> list[Listener]:
    """Return what shows the progress of each member on stderr until ``held`` ends."""
    if (request.json or request.quiet) and not sys.stderr.isatty():
        return [Listener() for _ in members]
    from rtstone.cli.run_display import Displays, Lines
    from rtstone.report.parts.console import console

    if not sys.stderr.isatty():
        return [Lines(sys.stderr, one.spec) for one in members]
    displays = Displays(console(sys.stderr), [one.spec for one in members])
    held.callback(displays.close)
    return [displays.of(one.spec) for one in members]


def _document(ended: Sequence[Ended | Lost]) -> Session:
    runs = [_run_of(one) for one in ended]
    sessions = [run.session for run in runs if run.session]
    return Session(session=sessions[0] if sessions else runs[0].run_id, runs=runs)


def _run_of(one: Ended | Lost) -> Run:
    if isinstance(one, Ended) and one.done:
        return one.done.run
    return nothing(one.spec, str(one.error))


def _shown(request: Request, ended: Sequence[Ended], interrupt: Interrupt) -> int:
    """Print all runs, and return the exit code."""
    document = _document(ended)
    with maybe_unread():
        if request.json:
            print_document(document)
        elif request.quiet:
            for one in ended:
                print(f"{one.spec}: ", end="", flush=True)
                print_verdict(_run_of(one))
        else:
            _print_briefs(ended)
            _print_followed(ended, document.session)
    return max(
        status_of(interrupt, one.done, one.spec) if one.done else told(one.error, one.spec)
        for one in ended
    )


def _print_briefs(ended: Sequence[Ended]) -> None:
    """Print the answer of each run that has a result."""
    from rich.text import Text

    from rtstone.report.parts.console import console
    from rtstone.report.run.brief import brief
    from rtstone.stats.evaluate import evaluate_run

    out = console(sys.stdout)
    for one in ended:
        if one.done:
            out.print(Text(one.spec, style="bold cyan"))
            out.print(*brief(evaluate_run(one.done.run), out.width, out.encoding), sep="\n")
            out.print()


def _print_followed(ended: Sequence[Ended], session: str) -> None:
    """Say where all of them are compared."""
    if sum(one.done is not None and one.done.directory.finished for one in ended) > 1:
        print(typed(f"side by side: rtstone compare {session}; a page: rtstone report {session}"))
