"""`rtstone run`."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rtstone.cli.output import print_document
from rtstone.cli.show import print_verdict
from rtstone.cli.streams import maybe_unread
from rtstone.documents.plan import run_id
from rtstone.documents.run import LOCAL, Run
from rtstone.documents.run import Target as Place
from rtstone.errors import Interrupted, RtstoneError, TargetError, UsageError
from rtstone.inputs import suite
from rtstone.interrupt import Interrupt
from rtstone.printable import arguments
from rtstone.runner.listener import Listener
from rtstone.runner.request import RunRequest
from rtstone.runner.start import Finished, resume, start
from rtstone.store.index import find as find_run
from rtstone.store.places import run_name
from rtstone.store.rundir import RunDirectory


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
    "seconds without a unit.  In a publication's suite: time limit of every case; 0: none.",
)
@click.option(
    "--until", metavar="ci=2%",
    help="Measure each case in rounds until the 95% confidence interval of its p50 (ci=2%,p99: its "
    "p99) is within this share of it, for at most 60 s (ci=2%,time=5min).",
)  # fmt: skip
@click.option("--cpus", metavar="LIST", help="CPUs to measure on, such as 0-2,4, or all.")
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
        status = (_resume if request.resume is not None else _run)(request, interrupt)
        return Interrupted.exit_code if interrupt.requested else status


def _run(request: Request, interrupt: Interrupt) -> int:
    return _show(request, *carry_out(request, interrupt))


def carry_out(request: Request, interrupt: Interrupt) -> Finished:
    """Measure the request.  With --json a document is printed even if the agent never starts."""
    try:
        return start(
            as_asked(request), interrupt=interrupt,
            listener=listener_for(request.json or request.quiet), out=request.out,
        )  # fmt: skip
    except (TargetError, Interrupted) as early:
        if request.json:
            print_document(_nothing(request.target, str(early)))
        raise


def as_asked(request: Request) -> RunRequest:
    """Return the runner's request for these options."""
    asked = suite.Asked(request.params, request.time, request.cpus, request.loads, request.instead)
    names = request.names or ["quick"]
    return RunRequest(names, request.target, asked, arguments(), request.keep_idle, request.until)


def _show(request: Request, run: Run, directory: RunDirectory, error: RtstoneError | None) -> int:
    with maybe_unread():
        if request.json:
            print_document(run)
        elif request.quiet:
            print_verdict(run)
        else:
            _print_summary(run, directory.path if directory.finished else None)
    return told(error)


def _resume(request: Request, interrupt: Interrupt) -> int:
    """Continue a run.  Its own plan decides everything, so no other option is accepted."""
    asked = {
        "a suite or bench": request.names, "--load": request.loads, "-p": request.params,
        "--time": request.time, "--cpus": request.cpus, "--out": request.out,
        "--until": request.until, "--keep-idle": request.keep_idle,
        "--target": request.target != LOCAL,
    }  # fmt: skip
    if given := [name for name, value in asked.items() if value]:
        raise UsageError(f"--resume continues the run as it was requested; leave out {given[0]}")
    path, listener = find_run(str(request.resume)), listener_for(request.json or request.quiet)
    return _show(request, *resume(path, interrupt=interrupt, listener=listener))


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


def told(error: RtstoneError | None) -> int:
    """Print the error, if any, on stderr and return the exit code."""
    if error is None:
        return 0
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {error}", file=sys.stderr)
    return error.exit_code
