"""`rtstone run`."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rtstone.cli.output import print_document
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
    """The command line of a run; ``instead`` as in ``suite.Asked``."""

    names: list[str]
    target: str
    loads: tuple[str, ...] = ()
    instead: dict[str, str] = {}
    params: dict[str, str] = {}
    time: str | None = None
    cpus: str | None = None
    out: Path | None = None
    json: bool = False
    keep_idle: bool = False
    resume: str | None = None
    icount: str | None = None
    until: str | None = None


def assignments(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """The values of -p by name.  Raises UsageError."""
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
        raise UsageError("no name of a directory, in --out")
    return Path(text) if text else None


@click.command("run")
@click.argument("names", metavar="[SUITE or BENCH]...", nargs=-1)
@click.option(
    "--target",
    default=LOCAL,
    metavar="T",
    help="Where to measure, one of `rtstone list targets`; default local.",
)
@click.option(
    "--load", "loads", multiple=True, metavar="L",
    help="What disturbs it, of `rtstone list loads`, with its parameters: heavy:disk=off, "
    "'command:make -j4'. Given several times, all cases run under each in turn; default none, or "
    "what the suite says.",
)  # fmt: skip
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="A parameter of every case that has it, with units: period=1ms, size=16KiB; "
    "several values (a=1,2) make a grid.",
)  # fmt: skip
@click.option(
    "--time",
    metavar="S",
    help="Measure each case for so long, whatever its number of samples (sets samples=0); "
    "bare: seconds. In the suite of a publication: the limit of every case, 0: none.",
)
@click.option(
    "--until", metavar="ci=2%",
    help="Measure each case in rounds until the 95% interval of its p50 is within so much of it "
    "(ci=2%,p99: of its p99), for 60 s at most (ci=2%,time=5min).",
)  # fmt: skip
@click.option("--cpus", metavar="LIST", help="CPUs to measure on, such as 0-2,4.")
@click.option("--out", callback=_directory, metavar="DIR", help="The run's directory.")
@click.option("--json", is_flag=True, help="Print the run document, and nothing else.")
@click.option("--keep-idle", is_flag=True, help="Leave the CPUs' idle states as they are.")
@click.option(
    "--resume", metavar="RUN",
    help="Go on with a run that was interrupted, with the cases that have no valid result yet.",
)  # fmt: skip
@click.option(
    "--icount", type=click.Choice(["on", "off"]),
    help="An emulated board counts instructions; off: it runs freely, and its numbers compare with "
    "nothing.",
)  # fmt: skip
def command(**options: object) -> int:
    """Measure a target with suites and benches; default: the suite quick."""
    request = msgspec.convert(options, Request)
    if request.icount:  # a word of the target: the run's document and --resume know it from there
        if not request.target.startswith("qemu:"):
            raise UsageError(f"--icount is for targets qemu:..., not for '{request.target}'")
        target = f"{request.target}+icount={request.icount}"
        request = msgspec.structs.replace(request, target=target)
    with Interrupt() as interrupt:
        status = (_resume if request.resume is not None else _run)(request, interrupt)
        return Interrupted.exit_code if interrupt.requested else status


def _run(request: Request, interrupt: Interrupt) -> int:
    return _show(request, *carry_out(request, interrupt))


def carry_out(request: Request, interrupt: Interrupt) -> Finished:
    """Measure what is asked for; with --json there is a document even if the agent never starts."""
    try:
        return start(
            as_asked(request), interrupt=interrupt,
            listener=listener_for(request.json), out=request.out,
        )  # fmt: skip
    except (TargetError, Interrupted) as early:
        if request.json:
            print_document(_nothing(request.target, str(early)))
        raise


def as_asked(request: Request) -> RunRequest:
    """Return what the command line asks of the runner."""
    asked = suite.Asked(request.params, request.time, request.cpus, request.loads, request.instead)
    names = request.names or ["quick"]
    return RunRequest(names, request.target, asked, arguments(), request.keep_idle, request.until)


def _show(request: Request, run: Run, directory: RunDirectory, error: RtstoneError | None) -> int:
    with maybe_unread():
        if request.json:
            print_document(run)
        else:
            _print_summary(run, directory.path if directory.finished else None)
    return told(error)


def _resume(request: Request, interrupt: Interrupt) -> int:
    """Everything is as the run's own plan says: nothing else can be asked for."""
    asked = {
        "a suite or bench": request.names, "--load": request.loads, "-p": request.params,
        "--time": request.time, "--cpus": request.cpus, "--out": request.out,
        "--until": request.until, "--keep-idle": request.keep_idle,
        "--target": request.target != LOCAL,
    }  # fmt: skip
    if given := [name for name, value in asked.items() if value]:
        raise UsageError(f"--resume goes on with what was asked before; leave out {given[0]}")
    path, listener = find_run(str(request.resume)), listener_for(request.json)
    return _show(request, *resume(path, interrupt=interrupt, listener=listener))


def _nothing(target: str, reason: str) -> Run:
    """The document of a run that did not come so far as to have cases."""
    created = datetime.now(UTC)
    return Run(
        run_id=run_id(created, "none"),
        created=created.isoformat(timespec="seconds"),
        status="incomplete",
        reason=reason,
        command=arguments(),
        target=Place(name=target),
    )


def listener_for(json: bool) -> Listener:
    """What tells a person of the course of a run, on stderr."""
    if json and not sys.stderr.isatty():
        return Listener()
    from rtstone.cli.course import Display, Lines
    from rtstone.report.parts.console import console

    return Display(console(sys.stderr)) if sys.stderr.isatty() else Lines(sys.stderr)


def _print_summary(run: Run, path: Path | None) -> None:
    from rtstone.report.parts.console import console
    from rtstone.report.run.terminal import stored, summary
    from rtstone.stats.evaluate import evaluate_run

    out = console(sys.stdout)
    place = stored(path, run_name(path)) if path else ()
    out.print(*summary(evaluate_run(run), out.width), *place, sep="\n")


def told(error: RtstoneError | None) -> int:
    """Says on stderr what went wrong; the exit code."""
    if error is None:
        return 0
    with suppress(OSError):  # the exit code says it too
        print(f"rtstone: {error}", file=sys.stderr)
    return error.exit_code
