"""`rtstone run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from rtstone import structures
from rtstone.cli.measuring import (
    Options,
    announce,
    assignments,
    await_others,
    listener_for,
    nothing,
    status_of,
)
from rtstone.cli.output import print_document
from rtstone.cli.parameters import FILE, LOAD, RUN, SUITE_OR_BENCH, TARGET
from rtstone.cli.progress import working
from rtstone.cli.pushing import PUSH, destination, push_after
from rtstone.cli.show import print_verdict
from rtstone.cli.streams import maybe_unread, say
from rtstone.documents.plan import Plan
from rtstone.documents.run import BY_LIMIT, LOCAL, QEMU
from rtstone.documents.sections import SectionsOfRun, defects
from rtstone.errors import Inconclusive, Interrupted, StoreError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.start import Finished, resume, start
from rtstone.store.index import find as find_run
from rtstone.store.index import latest
from rtstone.store.layout import holds_run, run_name
from rtstone.store.rundir import RunDirectory
from rtstone.targets import find as find_target
from rtstone.targets.base import Target

if TYPE_CHECKING:
    from rich.console import RenderableType


def _directory(context: click.Context, parameter: click.Parameter, text: str | None) -> Path | None:
    if text == "":
        raise UsageError("empty directory name, in --out; write --out DIR")
    return Path(text) if text else None


@click.command("run")
@click.argument("names", type=SUITE_OR_BENCH, nargs=-1)
@click.option(
    "--target", "targets", multiple=True, type=TARGET,
    help="Where to measure; see `rtstone list targets`.  Default: local.  Repeat the option to "
    "measure on several machines at once.",
)  # fmt: skip
@click.option(
    "--load", "loads", multiple=True, type=LOAD,
    help="Load to run beside the cases, with its parameters: heavy:disk=off, 'command:make -j4'; "
    "see `rtstone list loads`.  Repeat the option to run all cases under each load in turn.  "
    "Default: none, or the suite's loads.",
)  # fmt: skip
@click.option(
    "--apart", is_flag=True,
    help="Take the load apart: measure with each of its parts alone, with each left out, with all "
    "and without load, in blocks of random order, and say which part causes each worst case.",
)  # fmt: skip
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="Set a parameter of every case that has it, with units: period=1ms, size=16KiB; "
    "several values (a=1,2) form a grid.",
)  # fmt: skip
@click.option(
    "--time",
    metavar="S",
    help="Measure each case for this long, with any number of samples (sets samples=0); in "
    "seconds without a unit; 0: one case, until it is stopped.  In a publication's suite: time "
    "limit of every case; 0: none.",
)
@click.option(
    "--until", metavar="ci=2%",
    help="Measure each case in rounds until the 95% confidence interval of its p50 (ci=2%,p99: its "
    "p99) is within this share of it, for at most 60 s (ci=2%,time=5min).",
)  # fmt: skip
@click.option(
    "--trace", metavar="above=50us",
    help="Trace what Linux does on the measured CPUs, as root, and keep the traces of samples "
    "above this limit, or of the worst one (worst), for `rtstone explain`.  With ,stacks also "
    "which functions were interrupted.  Tracing disturbs the results.",
)  # fmt: skip
@click.option(
    "--limit", metavar="LATENCY",
    help="The latency that you require, such as 100us: what wakes up later, or never, is counted, "
    "the first line says whether it was met, and the exit code is 1 if not.  Without periodic "
    "benches it is that of each sample.",
)  # fmt: skip
@click.option(
    "--stop-above", metavar="LATENCY",
    help="End the run with the first sample above this, as `cyclictest -b` does; what led to it is "
    "kept with --trace worst, and explained at once.  Without --limit it is also what you require.",
)  # fmt: skip
@click.option(
    "--sections", is_flag=True,
    help="Of a run on an emulated board, record every section in which nothing could preempt, with "
    "the bound that follows from them, as `rtstone sections` does; the run stays the same.",
)  # fmt: skip
@click.option("--cpus", metavar="LIST", help="CPUs to measure on, such as 0-2,4, or all.")
@click.option(
    "--name", metavar="NAME",
    help="Name of the run, shown everywhere and accepted wherever RUN is: `rtstone show NAME`.",
)  # fmt: skip
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until no other measurement on this machine disturbs this one.  It keeps off only "
    "what waits, too, of the same user: whatever else begins meanwhile measures, and is flagged.",
)
@PUSH
@click.option(
    "--yes",
    is_flag=True,
    help="Measure even if it takes longer than an hour, and allow loads to switch the machine's "
    "console, to set its disk's settings, and to read a removable device.",
)
@click.option("--out", callback=_directory, metavar="DIR", type=FILE, help="Directory of the run.")
@click.option("--json", is_flag=True, help="Print only the run document, as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--keep-idle", is_flag=True, help="Do not disable the CPUs' deep idle states.")
@click.option(
    "--resume", type=RUN,
    help="Continue an interrupted run with the cases that have no valid result yet.",
)  # fmt: skip
@click.option(
    "--icount", type=click.Choice(["on", "off"]),
    help="Count instructions on an emulated board (default).  off: let it run freely; its numbers "
    "are then not comparable with anything.",
)  # fmt: skip
def command(targets: tuple[str, ...], **options: object) -> int:
    """Measure a target with suites and benches; default: suite quick."""
    each = []
    for target in targets or (LOCAL,):
        request = structures.convert(options | {"target": target}, Options)
        if request.icount:  # in the target's name, where documents and --resume look
            if not find_target(target).name.startswith(QEMU):
                raise UsageError(f"--icount applies to qemu:... targets only, not to '{target}'")
            name = f"{target}+icount={request.icount}"
            request = msgspec.structs.replace(request, target=name)
        each.append(request)
    server = destination(each[0].push)
    with Interrupt() as interrupt:
        status, directories = _measure(each, interrupt)
    push_after(server, [directory.path for directory in directories if directory.finished])
    return status


def _measure(each: list[Options], interrupt: Interrupt) -> tuple[int, list[RunDirectory]]:
    """Measure on each target, print the runs, and return the exit code and their directories."""
    if len(each) > 1:
        from rtstone.cli.together import measure_all

        return measure_all(each, interrupt)
    (options,) = each
    sections: list[SectionsOfRun] = []
    if options.resume is not None:
        finished = _resume(options, interrupt)
    elif options.sections:
        finished, sections = _watched(options, interrupt)
    else:
        finished = carry_out(options, interrupt)
    with maybe_unread():
        if options.json:
            print_document(finished.run)
        elif options.quiet:
            print_verdict(finished.run)
        else:
            from rich.text import Text

            from rtstone.report.parts.console import console, lines_of, sentences
            from rtstone.report.run.brief import brief
            from rtstone.report.run.terminal import followed, summary
            from rtstone.stats.evaluate import evaluate_run

            run, directory, _ = finished
            out = console(sys.stdout)
            after: list[RenderableType] = []
            for line in _causes(finished):
                after += sentences(Text(line), out.width, "  ")
            for seen in sections:
                after += sentences(Text(seen.sentence), out.width, "  ")
                if seen.bound is not None:
                    after += sentences(Text(seen.bound.sentence), out.width, "  ")
            if directory.finished:
                name = run_name(directory.path, run.name)
                after += followed(name, out.width)
            evaluated = evaluate_run(run)
            # On a terminal all results if they fit, as none had a line so far; the answer must fit.
            room = out.height - 1 if out.is_terminal else None  # the prompt takes a line
            parts = [*brief(evaluated, out.width, out.encoding, room and room - len(after)), *after]
            if room and 1 < len(run.results) < room:
                every = [*summary(evaluated, out.width, out.encoding), *after]
                parts = every if lines_of(out, every) <= room else parts
            out.print(*parts, sep="\n")
    status = status_of(interrupt, finished, answered=not options.json)
    if wrong := [clause for seen in sections for clause in defects(seen)]:
        say(f"{'; '.join(wrong)}: a defect of rtstone, please report it")
        status = status or Inconclusive.exit_code
    return status, [finished.directory]


def _watched(options: Options, interrupt: Interrupt) -> tuple[Finished, list[SectionsOfRun]]:
    """Measure the request while the emulator's plugin watches, and keep the sections of the run.

    Raises UsageError for a target without one.
    """
    from rtstone.explain.watch import Watch
    from rtstone.store.sections import keep

    with Watch() as watch:
        finished = carry_out(options, interrupt, watch.attach)
        with working("summing up the sections"):
            sections, lacking = watch.sections(finished.directory.path, finished.run)
    for why in lacking:
        say(why)
    try:
        for each in sections:
            keep(finished.directory.path, each)
    except StoreError as error:  # no reason not to show them
        say(f"warning: {error}")
    return finished, sections


def _causes(finished: Finished) -> list[str]:
    """Return why the sample that ended a traced run was so late, or why that is not known."""
    run, directory, _ = finished
    over = [result for result in run.results if result.ended == BY_LIMIT]
    if not over or not directory.finished or not any("traced" in result.flags for result in over):
        return []
    from rtstone.cli.causes import with_causes
    from rtstone.report.check.text import causes, check_names
    from rtstone.stats.gate import check_requirement

    gate = check_requirement(run)
    if gate is None:
        return []
    gate = with_causes(directory.path, run, gate)
    return causes(gate, check_names(gate, run.benches))


def carry_out(
    options: Options,
    interrupt: Interrupt,
    watch: Callable[[Plan, Target], None] = lambda plan, target: None,
) -> Finished:
    """Measure the request.  With --json a document is printed even if the agent never starts.

    ``watch``: called before it does.
    """

    def approve(plan: Plan, target: Target) -> None:
        watch(plan, target)
        asking.close()
        announce(options, plan)
        await_others(options, [plan], interrupt, held)

    try:
        with ExitStack() as held, ExitStack() as asking:
            asking.enter_context(working(f"asking {options.target} what it can measure"))
            return start(
                options,
                interrupt=interrupt,
                listener=listener_for(options.json or options.quiet),
                out=options.out,
                approve=approve,
            )
    except (TargetError, Interrupted) as early:
        if options.json:
            print_document(nothing(options.target, str(early)))
        raise


def _resume(options: Options, interrupt: Interrupt) -> Finished:
    """Continue a run.  Its plan is fixed, so no other option is accepted."""
    refused = {
        "a suite or bench": options.names, "--load": options.loads, "-p": options.params,
        "--time": options.time, "--cpus": options.cpus, "--out": options.out,
        "--until": options.until, "--name": options.name, "--yes": options.yes,
        "--trace": options.trace, "--apart": options.apart, "--sections": options.sections,
        "--limit": options.limit, "--stop-above": options.stop_above,
        "--keep-idle": options.keep_idle,
        "--target": options.target != LOCAL,
    }  # fmt: skip
    if option := next((name for name, value in refused.items() if value), None):
        raise UsageError(f"--resume continues the run as it was requested; leave out {option}")
    name = str(options.resume)
    # `last` is the last run even if it has no result yet.
    newest = latest() if name == "last" and not holds_run(Path(name)) else None
    listener = listener_for(options.json or options.quiet)
    with ExitStack() as held:
        return resume(
            newest or find_run(name), interrupt=interrupt, listener=listener,
            approve=lambda plan: await_others(options, [plan], interrupt, held),
        )  # fmt: skip
