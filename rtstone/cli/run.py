"""`rtstone run`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rtstone.cli.output import print_document
from rtstone.cli.show import print_verdict
from rtstone.cli.streams import maybe_unread
from rtstone.documents.plan import Plan, run_id
from rtstone.documents.run import LOCAL, Run
from rtstone.documents.run import Target as Place
from rtstone.errors import Interrupted, RtstoneError, TargetError, UsageError
from rtstone.inputs import suite
from rtstone.interrupt import Interrupt
from rtstone.printable import arguments
from rtstone.runner.exclusive import undisturbed
from rtstone.runner.extent import announcement, assumed_units, refuse_long
from rtstone.runner.listener import Listener
from rtstone.runner.request import RunRequest
from rtstone.runner.start import Finished, resume, start
from rtstone.store.index import find as find_run
from rtstone.store.index import latest
from rtstone.store.places import holds_run, run_name
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


def _directory(context: click.Context, parameter: click.Parameter, text: str | None) -> Path | None:
    if text == "":
        raise UsageError("empty directory name, in --out; write --out DIR")
    return Path(text) if text else None


@click.command("run")
@click.argument("names", metavar="[SUITE or BENCH]...", nargs=-1)
@click.option(
    "--target",
    default=LOCAL,
    metavar="T",
    help="Where to measure; see `rtstone list targets`.  Default: local.",
)
@click.option(
    "--load", "loads", multiple=True, metavar="L",
    help="Load to run beside the cases, with its parameters: heavy:disk=off, 'command:make -j4'; "
    "see `rtstone list loads`.  Repeat the option to run all cases under each load in turn.  "
    "Default: none, or the suite's loads.",
)  # fmt: skip
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="Set a parameter of every case that has it, with units: period=1ms, size=16KiB; "
    "several values (a=1,2) form a grid.",
)  # fmt: skip
@click.option(
    "--time",
    metavar="S",
    help="Measure each case for this long, whatever the number of samples (sets samples=0); in "
    "seconds without a unit; 0: one case, until it is stopped.  In a publication's suite: time "
    "limit of every case; 0: none.",
)
@click.option(
    "--until", metavar="ci=2%",
    help="Measure each case in rounds until the 95% confidence interval of its p50 (ci=2%,p99: its "
    "p99) is within this share of it, for at most 60 s (ci=2%,time=5min).",
)  # fmt: skip
@click.option("--cpus", metavar="LIST", help="CPUs to measure on, such as 0-2,4, or all.")
@click.option(
    "--name", metavar="NAME",
    help="Call the run so, in every table and page; it is then a RUN: `rtstone show NAME`.",
)  # fmt: skip
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until no other measurement on this machine disturbs this one.",
)
@click.option("--yes", is_flag=True, help="Also measure for longer than an hour.")
@click.option("--out", callback=_directory, metavar="DIR", help="Directory of the run.")
@click.option("--json", is_flag=True, help="Print only the run document, as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--keep-idle", is_flag=True, help="Do not disable the CPUs' deep idle states.")
@click.option(
    "--resume", metavar="RUN",
    help="Continue an interrupted run with the cases that have no valid result yet.",
)  # fmt: skip
@click.option(
    "--icount", type=click.Choice(["on", "off"]),
    help="Count instructions on an emulated board (default).  off: let it run freely; its numbers "
    "are then not comparable with anything.",
)  # fmt: skip
def command(**options: object) -> int:
    """Measure a target with suites and benches; default: suite quick."""
    request = msgspec.convert(options, Request)
    if request.icount:  # part of the target's name, from which the document and --resume know it
        if not request.target.startswith("qemu:"):
            raise UsageError(
                f"--icount applies to qemu:... targets only, not to '{request.target}'"
            )
        target = f"{request.target}+icount={request.icount}"
        request = msgspec.structs.replace(request, target=target)
    with Interrupt() as interrupt:
        return (_resume if request.resume is not None else _run)(request, interrupt)


def _run(request: Request, interrupt: Interrupt) -> int:
    return _shown(request, interrupt, carry_out(request, interrupt))


def carry_out(request: Request, interrupt: Interrupt) -> Finished:
    """Measure the request.  With --json a document is printed even if the agent never starts."""

    def approve(plan: Plan) -> None:
        _announce(request, plan)
        _await_others(request, plan, interrupt, held)

    try:
        with ExitStack() as held:
            return start(
                as_asked(request),
                interrupt=interrupt,
                listener=listener_for(request.json or request.quiet),
                out=request.out,
                approve=approve,
            )
    except (TargetError, Interrupted) as early:
        if request.json:
            print_document(_nothing(request.target, str(early)))
        raise


def _announce(request: Request, plan: Plan) -> None:
    """Say how long it will take.  Raises UsageError if nobody may have meant that long."""
    if not request.quiet and (not request.json or sys.stderr.isatty()):
        for line in (*assumed_units(plan, request.params), announcement(plan)):
            _say(line)
    if not (request.yes or _is_bounded(request, plan)):
        refuse_long(plan)


def _await_others(request: Request, plan: Plan, interrupt: Interrupt, held: ExitStack) -> None:
    """With --wait, wait until nobody else measures; ``held`` keeps this user's others off."""
    if request.wait:
        target = find_target(plan.target.name)
        held.enter_context(undisturbed(target, interrupt, _say))


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
        request.until, request.name,
    )  # fmt: skip


def _shown(request: Request, interrupt: Interrupt, done: Finished) -> int:
    """Print the run, and return the exit code."""
    with maybe_unread():
        if request.json:
            print_document(done.run)
        elif request.quiet:
            print_verdict(done.run)
        else:
            _print_summary(done.run, done.directory.path if done.directory.finished else None)
    status = told(done.error)
    if isinstance(done.error, Interrupted) and done.directory.finished:
        _say(f"rtstone run --resume {run_name(done.directory.path)} goes on with it")
    as_requested = done.error is None and done.run.until_stopped
    return Interrupted.exit_code if interrupt.requested and not as_requested else status


def _resume(request: Request, interrupt: Interrupt) -> int:
    """Continue a run.  Its own plan decides everything, so no other option is accepted."""
    asked = {
        "a suite or bench": request.names, "--load": request.loads, "-p": request.params,
        "--time": request.time, "--cpus": request.cpus, "--out": request.out,
        "--until": request.until, "--name": request.name, "--yes": request.yes,
        "--keep-idle": request.keep_idle,
        "--target": request.target != LOCAL,
    }  # fmt: skip
    if given := [name for name, value in asked.items() if value]:
        raise UsageError(f"--resume continues the run as it was requested; leave out {given[0]}")
    path, listener = _to_resume(str(request.resume)), listener_for(request.json or request.quiet)
    with ExitStack() as held:
        done = resume(
            path, interrupt=interrupt, listener=listener,
            approve=lambda plan: _await_others(request, plan, interrupt, held),
        )  # fmt: skip
    return _shown(request, interrupt, done)


def _to_resume(name: str) -> Path:
    """Return the run to continue; `last` is the last one even if it has no result yet."""
    newest = latest() if name == "last" and not holds_run(Path(name)) else None
    return newest or find_run(name)


def _nothing(target: str, reason: str) -> Run:
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
    from rtstone.cli.course import Display, Lines
    from rtstone.report.parts.console import console

    return Display(console(sys.stderr)) if sys.stderr.isatty() else Lines(sys.stderr)


def _print_summary(run: Run, path: Path | None) -> None:
    """Print the answer; on a terminal all results too, if they fit, as each had no line so far."""
    from rtstone.report.parts.console import console
    from rtstone.report.run.brief import brief
    from rtstone.report.run.terminal import followed, summary
    from rtstone.stats.evaluate import evaluate_run

    out = console(sys.stdout)
    few = out.is_terminal and 1 < len(run.results) <= out.height - _REST
    lines = (summary if few else brief)(evaluate_run(run), out.width, out.encoding)
    out.print(*lines, *([followed(run_name(path))] if path else []), sep="\n")


_REST = 24  # lines of a summary beside the results, about


def _say(line: str) -> None:
    with suppress(OSError):  # who reads it may be gone, which is no reason not to measure
        print(line, file=sys.stderr, flush=True)


def told(error: RtstoneError | None) -> int:
    """Print the error, if any, on stderr and return the exit code."""
    if error is None:
        return 0
    _say(f"rtstone: {error}")  # the exit code says it too
    return error.exit_code
