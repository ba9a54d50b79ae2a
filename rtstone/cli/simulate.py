"""`rtstone simulate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import JSON, RUN
from rtstone.cli.progress import working
from rtstone.errors import UsageError

if TYPE_CHECKING:
    from rtstone.documents.run import Run
    from rtstone.simulate.study import Share


def _stored_run(context: click.Context, parameter: click.Parameter, name: str | None) -> Run | None:
    if name is None:
        return None
    from rtstone.store.index import find
    from rtstone.store.rundir import load

    return load(find(name))


_COSTS = (
    click.option("--switch-cost", metavar="T", help="Cost of a context switch; default 0."),
    click.option("--tick", metavar="T", help="Period of the clock interrupt; default none."),
    click.option("--tick-cost", metavar="T", help="Cost of each clock interrupt; default 0."),
    click.option(
        "--costs-from", type=RUN, callback=_stored_run,
        help="Take the costs from a run: of a switch from ctx.ballast, sched.yield.pair or "
        "rheal.ts, of a tick from CONFIG_HZ and det.bintime.  Explicit options take precedence.",
    ),
)  # fmt: skip
_PAGE = click.option(
    "-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write the curves as a page."
)


def _with_costs(command: Any) -> Any:
    for option in reversed(_COSTS):
        command = option(command)
    return command


@click.group("simulate", invoke_without_command=True)
@click.option(
    "--policy", "policies", multiple=True, metavar="P",
    help="fifo, rr, rm, dm, edf, llf or value (value density); repeat the option or use commas; "
    "default: all.",
)  # fmt: skip
@click.option(
    "--tasks", default="5,10,20", metavar="N,...", help="Numbers of tasks per set; default 5,10,20."
)
@click.option(
    "--utilisation", default="0.1:1.5:0.05", metavar="U",
    help="Utilisation of the periodic tasks, first:last:step or a list; default 0.1:1.5:0.05.",
)  # fmt: skip
@click.option("--sets", default=1000, type=click.IntRange(1, 10**7),
              help="Task sets per point; default 1000.")  # fmt: skip
@click.option("--seed", default=123, type=click.IntRange(0, 2**63 - 1),
              help="Seed of the random numbers; default 123.")  # fmt: skip
@click.option("--time", default="5s", metavar="T", help="Simulated time per set; default 5s.")
@click.option("--exact", is_flag=True, help="Every job takes its nominal execution time; "
              "default: that times uniform(0.5, 1).")  # fmt: skip
@click.option("--deadlines", type=click.Choice(["period", "constrained"]), default="period",
              help="Deadlines at the end of the period (default), or uniform between execution "
              "time and period.")  # fmt: skip
@click.option(
    "--server", default="background", metavar="S",
    help="Server of the aperiodic requests (10% of the processor): background (default), polling, "
    "deferrable or sporadic, the last three with =BUDGET/PERIOD; default =2ms/10ms.",
)  # fmt: skip
@click.option(
    "--protocol", type=click.Choice(["none", "inherit", "ceiling"]),
    help="Give every task a critical section under this protocol; default: no critical sections.",
)  # fmt: skip
@click.option("--quantum", default="1ms", metavar="T", help="Quantum of rr and llf; default 1ms.")
@_with_costs
@click.option(
    "--workers", type=click.IntRange(1, 1024), help="Worker processes; default: one per CPU."
)
@click.option(
    "--engine", default="local", metavar="E",
    help="What simulates: local (default), worker processes of this machine, or dask:ADDRESS, the "
    "workers of a dask cluster.",
)  # fmt: skip
@JSON
@_PAGE
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Simulate the scheduling of thousands of random task sets under each policy.

    Reports how many sets meet all deadlines, how many jobs are late and by how much, as utilisation
    grows.  The result does not depend on the number of workers.  `simulate hartstone` simulates
    Hartstone.
    """
    if context.invoked_subcommand is not None:
        from click.core import ParameterSource

        for name in context.params:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError(
                    f"an option before '{context.invoked_subcommand}' has no effect, in simulate; "
                    f"write it after, see `rtstone simulate {context.invoked_subcommand} --help`"
                )
        return
    if options["output"]:
        from rtstone.report.parts import frame

        frame.bundle()
    from rtstone.simulate.engine import require
    from rtstone.simulate.parsing import workers
    from rtstone.simulate.report import requested
    from rtstone.simulate.study import run

    require()
    study, simulation = requested(options)
    with _share(options["engine"]) as share, working("simulating") as line:
        points, breakdown = run(study, workers(options["workers"]), line.steps, share)
    from msgspec.structs import replace

    simulation = replace(simulation, points=points, breakdown=breakdown)
    if options["json"]:
        print_document(simulation)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.simulation.page import simulation_lines

        console(sys.stdout).print(*simulation_lines(simulation), sep="\n")
    if options["output"]:
        from rtstone.report.simulation.page import compose

        save("the page", options["output"], compose(simulation), quiet=options["json"])


@contextmanager
def _share(engine: str) -> Iterator[Share | None]:
    """Yield the function that distributes the work over a cluster, None for this machine."""
    from rtstone.campaign import dask_cluster

    place = dask_cluster.address(engine)
    if place is None:
        yield None
        return
    client = dask_cluster.connect(place)
    try:
        yield partial(dask_cluster.shared_out, client)
    finally:
        client.close()


@command.command("hartstone")
@click.argument("experiments", nargs=-1, metavar="[PH.1 ...]")
@click.option(
    "--set", "tasks", type=click.Choice(["auto", "sei", "golatowski", "golatowski-auto"]),
    help="Baseline task set; auto and golatowski-auto: the sei and the golatowski set, scaled to "
    "20% of raw speed.  Default: as measured, else auto.",
)  # fmt: skip
@click.option(
    "--policy", "policies", multiple=True, metavar="P",
    help="rm or edf; default: as measured, else rm; without a run, both.",
)  # fmt: skip
@click.option(
    "--form", type=click.Choice(["monitor", "server"]),
    help="Form of the server in SH and SA: a mutex with priority inheritance, or a task above all "
    "others.  Default: as measured, else monitor.",
)  # fmt: skip
@click.option(
    "--raw", type=click.IntRange(1, 10**9), metavar="KWIPS",
    help="Raw speed; default: as the run measured it, else 5 times the baseline.",
)  # fmt: skip
@_with_costs
@JSON
def hartstone_command(experiments: tuple[str, ...], json: bool, **options: Any) -> None:
    """Simulate the Hartstone experiments (PH, PN, AH, SH, SA, 1 to 4).

    With --costs-from RUN, each experiment is simulated as the run measured it, and the measured
    breakdown utilisation stands beside the simulated one.  What the simulation with the run's costs
    does not explain is due to the operating system.
    """
    from rtstone.simulate.engine import require
    from rtstone.simulate.report import hartstone

    require()
    with working("simulating"):
        document = hartstone(experiments, **options)
    if json:
        print_document(document)
        return
    from rtstone.report.parts.console import console
    from rtstone.report.simulation.page import hartstone_lines

    console(sys.stdout).print(*hartstone_lines(document), sep="\n")
