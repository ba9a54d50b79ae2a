"""`rtstone tasks from-trace`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.cli.output import OutputFile, write_file
from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.errors import UsageError
from rtstone.printable import shown

LONGEST_S = 3600


@click.command("from-trace")
@click.argument("seconds", type=float)
@click.option(
    "--pid", type=click.IntRange(min=1), help="Only the threads of this process.  Default: all."
)
@click.option(
    "--costs-from", "run", type=RUN,
    help="Say what each component of Rhealstone costs, by what a run has measured.",
)  # fmt: skip
@click.option(
    "-o", "output", type=OutputFile(".toml"), metavar="FILE.toml",
    help="Write the task set to a file.  Default: on stdout.",
)  # fmt: skip
def command(seconds: float, pid: int | None, run: str | None, output: Path | None) -> None:
    """Make a task set of what runs on this Linux for SECONDS, and say how sure each of it is.

    As root.  Its comments have how often what Rhealstone measures happens.
    """
    if not 0 < seconds <= LONGEST_S:
        raise UsageError(f"bad time '{seconds:g}' for SECONDS; write 0.1 to {LONGEST_S}")
    from rtstone.interrupt import Interrupt
    from rtstone.results.rhealstone import components
    from rtstone.store.index import find
    from rtstone.store.rundir import load
    from rtstone.tasks.estimates import observe
    from rtstone.tasks.observed import Source, observed
    from rtstone.tasks.tracing import record

    costs = None
    if run is not None:
        document = load(find(run))
        costs = components(document.results)
        if costs is None:
            raise UsageError(
                f"nothing of Rhealstone in run {document.run_id}, in --costs-from; measure "
                "rtstone run --suite rhealstone"
            )
    with Interrupt() as interrupt, working("recording"):
        recording = record(seconds, pid, lambda: interrupt.requested)
    with working("reading the trace"):
        observation = observe(recording.trace)
    whose = "this machine"
    if pid is not None:
        main = recording.trace.before.get(pid)
        whose = f"{shown(main.name)}, process {pid}" if main else f"process {pid}"
    source = Source(whose, recording.lacks, recording.ended)
    result = observed(observation, source, costs)
    if output is None:
        click.echo(result.text, nl=False)
        return
    write_file("the task set", output, result.text)
    click.echo(result.answer)
    path = shown(str(output))
    click.echo(f"{path}: how sure each is; rtstone tasks check {path}")
