"""`rtstone trend`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import BENCH, TARGET
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import is_url
from rtstone.cli.run_filter import RunFilter, pick
from rtstone.documents.trend import BYS, METRICS, By, Metric, Trend
from rtstone.errors import UsageError
from rtstone.store.index import entries
from rtstone.units import counted


@click.command("trend")
@click.argument("benches", type=BENCH, nargs=-1, required=True)
@click.option(
    "--metric", "metrics", type=click.Choice(METRICS), multiple=True,
    help="What to follow; repeat the option for several.  Default: p50 and p99, and missed where "
    "activations are counted; figure where there are no samples: a breakdown of Hartstone, a "
    "number of Rhealstone.",
)  # fmt: skip
@click.option(
    "--by", type=click.Choice(BYS), default="time",
    help="A point for each run (default), or for all runs of a kernel or of a commit.",
)  # fmt: skip
@click.option("--target", type=TARGET, help="Only runs of T: a target, or a kind such as qemu.")
@click.option(
    "--store", "where", metavar="DIR or URL",
    help="Where the runs are: a directory, or a project of a results server.  Default: where "
    "`rtstone run` stores them.",
)  # fmt: skip
@click.option("-o", "output", type=OutputFile(), metavar="FILE.html", help="Also write a page.")
@click.option("--json", is_flag=True, help="Print only the trend document, as JSON.")
def command(
    *,
    benches: tuple[str, ...],
    metrics: tuple[Metric, ...],
    by: By,
    target: str | None,
    where: str | None,
    output: Path | None,
    json: bool,
) -> None:
    """Show the trend of benches through all stored runs, and where it changes.

    A change is reported only if two methods find it, with the conditions that differ between the
    runs before and after it.  BENCH may be a family, such as sem.  `rtstone check --trend` is the
    gate.
    """
    from rtstone.report.parts import frame
    from rtstone.store.decoding import uncollected

    if output is not None:
        frame.bundle()
    with uncollected():  # nothing of what is read is let go before the end
        if where is not None and is_url(where):
            trend = _trend_of_server(where, benches, metrics, by, target)
        else:
            if where is not None:
                os.environ["RTSTONE_HOME"] = where
            trend = _trend_of_store(benches, metrics, by, target)
    if json:
        print_document(trend)
    else:
        from rtstone.cli.pager import paged
        from rtstone.report.trend.page import trend_lines

        with paged(sys.stdout) as out:
            out.print(*trend_lines(trend, out.width, out.encoding), sep="\n", soft_wrap=True)
    if output is not None:
        from rtstone.report.trend.page import compose

        save("the page", output, compose(trend), quiet=json)


def _trend_of_store(
    benches: tuple[str, ...], metrics: tuple[Metric, ...], by: By, target: str | None
) -> Trend:
    """Return the trend of the stored runs.  Raises UsageError if none has samples."""
    from rtstone.documents.case_key import is_named
    from rtstone.stats.trend.trend import TrendRequest, trend
    from rtstone.store.history import Wanted, history

    stored = entries()
    if not stored:
        raise UsageError("no runs are stored; measure some with `rtstone run`")
    run_ids = {
        entry.run_id
        for bench in benches
        for entry in pick(stored, RunFilter(bench=bench, target=target))
    }
    wanted = Wanted(run_ids, lambda bench: is_named(bench, benches))
    with working("following the runs") as line, history(wanted, line.steps) as past:
        for why in past.damaged:
            click.echo(f"left out: {why}", err=True)
        full = past.whole if "bound" in metrics else past.with_histogram
        observations = [
            o for o in past.observations if is_named(o.result.bench, benches, o.result.params)
        ]
        document = trend(observations, TrendRequest(metrics, by), full)
    if not document.series:
        names = ", ".join(benches)
        raise UsageError(f"no result has such a number, of {names}; see `rtstone list runs`")
    return document


def _trend_of_server(
    url: str, benches: tuple[str, ...], metrics: tuple[Metric, ...], by: By, target: str | None
) -> Trend:
    """Return the trend of the runs of a results server.  Raises UsageError, TargetError."""
    from rtstone.server.client.observations import observations
    from rtstone.stats.trend.trend import TrendRequest, trend

    if "bound" in metrics:
        raise UsageError("a bound needs whole runs, which are not fetched; use --store DIR there")
    with working("fetching the runs"):
        past = observations(url, benches)
    for why in past.damaged:
        click.echo(f"left out: {why}", err=True)
    if past.left:
        click.echo(f"left out: the oldest {counted(past.left, 'run')}", err=True)
    runs = {id(observation.run): observation.run for observation in past.observations}
    run_ids = {
        run.run_id
        for run in runs.values()
        if target in (None, run.target.name, run.target.called, run.target.name.partition(":")[0])
    }
    document = trend(
        [observation for observation in past.observations if observation.run.run_id in run_ids],
        TrendRequest(metrics, by, sharing=past.followed), lambda observation: observation.result,
    )  # fmt: skip
    if not document.series:
        raise UsageError(f"no result has such a number, of {', '.join(benches)}, on {url}")
    return document
