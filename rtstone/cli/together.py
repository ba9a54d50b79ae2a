"""`rtstone run` with several targets, which are measured at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from rtstone.cli.measuring import (
    Options,
    announce,
    await_others,
    nothing,
    report_error,
    status_of,
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


def measure_all(each: Sequence[Options], interrupt: Interrupt) -> tuple[int, list[RunDirectory]]:
    """Measure the same on several targets at once, and print all runs.

    Returns the exit code, the highest of all (one that failed does not cost the others), and the
    directories of the runs.  Raises UsageError as long as nothing has been measured, also for an
    option that can only mean one run.
    """
    first = each[0]
    single = {
        "--resume": (first.resume, "continue one run after the other, without --target"),
        "--out": (first.out, "leave it out: `rtstone list runs` knows where they are"),
        "--name": (first.name, "leave it out: the targets distinguish the runs"),
        "--sections": (first.sections or None, "measure one target after the other"),
    }
    for option, (value, advice) in single.items():
        if value is not None:
            raise UsageError(f"{option} is for a single run, not for several targets; {advice}")
    try:
        prepared = prepare(each, interrupt)
        members = [member for member in prepared if isinstance(member, Member)]
        with ExitStack() as held:
            for member in members:
                announce(first, member.plan, member.spec)
            await_others(first, [member.plan for member in members], interrupt, held)
            listeners = _listeners(first, members, held)
            ended = iter(measure_together(members, interrupt=interrupt, listeners=listeners))
    except Interrupted as early:
        if first.json:
            print_document(_document([Lost(options.target, early) for options in each]))
        raise
    all_ended = [
        Ended(member.spec, None, member.error) if isinstance(member, Lost) else next(ended)
        for member in prepared
    ]
    directories = [member.finished.directory for member in all_ended if member.finished]
    return _show(first, all_ended, interrupt), directories


def _listeners(options: Options, members: Sequence[Member], held: ExitStack) -> list[Listener]:
    """Return what shows the progress of each member on stderr until ``held`` ends."""
    if (options.json or options.quiet) and not sys.stderr.isatty():
        return [Listener() for _ in members]
    from rtstone.cli.run_display import Displays, Lines
    from rtstone.report.parts.console import console

    if not sys.stderr.isatty():
        return [Lines(sys.stderr, member.spec) for member in members]
    displays = Displays(console(sys.stderr), [member.spec for member in members])
    held.callback(displays.close)
    return [displays.display(member.spec) for member in members]


def _document(ended: Sequence[Ended | Lost]) -> Session:
    """Return the document of a session: all runs, also those that came to nothing."""
    runs = [_run(member) for member in ended]
    sessions = [run.session for run in runs if run.session]
    return Session(session=sessions[0] if sessions else runs[0].run_id, runs=runs)


def _run(member: Ended | Lost) -> Run:
    if isinstance(member, Ended) and member.finished:
        return member.finished.run
    return nothing(member.spec, str(member.error))


def _show(options: Options, ended: Sequence[Ended], interrupt: Interrupt) -> int:
    """Print all runs, or the answer of each and where they are compared; return the exit code."""
    document = _document(ended)
    with maybe_unread():
        if options.json:
            print_document(document)
        elif options.quiet:
            for member in ended:
                print(f"{member.spec}: ", end="", flush=True)
                print_verdict(_run(member))
        else:
            from rich.text import Text

            from rtstone.report.parts.console import console
            from rtstone.report.run.brief import brief
            from rtstone.stats.evaluate import evaluate_run

            out = console(sys.stdout)
            for member in ended:
                if member.finished:
                    run = evaluate_run(member.finished.run)
                    out.print(Text(member.spec, style="bold cyan"))
                    out.print(*brief(run, out.width, out.encoding), sep="\n")
                    out.print()
            stored = [member.finished.directory for member in ended if member.finished]
            if sum(directory.finished for directory in stored) > 1:
                name = document.session
                print(typed(f"side by side: rtstone compare {name}; a page: rtstone report {name}"))
    return max(
        status_of(interrupt, member.finished, member.spec, answered=not options.json)
        if member.finished
        else report_error(member.error, member.spec)
        for member in ended
    )
