"""Explain what exceeded the limits of a gate, for `rtstone check --explain`."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import structs

from rtstone.cli.progress import working
from rtstone.documents.check import Cause, Gate
from rtstone.documents.run import Run
from rtstone.errors import Interrupted, RtstoneError
from rtstone.interrupt import Interrupt
from rtstone.stats.exceeded import Exceeded

MOST = 5  # cases, each of which may take two replays of the run


def with_causes(path: Path, run: Run, gate: Gate) -> Gate:
    """Return a gate with the causes of what failed it; ``path``: of the run.

    Raises Interrupted.
    """
    from rtstone.stats.exceeded import exceeded

    found = exceeded(run, gate)
    with working("explaining") as line, Interrupt() as interrupt:
        causes = []
        for number, one in enumerate(found[:MOST]):
            line.steps(number, min(len(found), MOST))
            causes.append(_cause(path, run, one, interrupt))
    return structs.replace(gate, causes=causes, causes_left=len(found) - len(causes))


def _cause(path: Path, run: Run, one: Exceeded, interrupt: Interrupt) -> Cause:
    """Return why the worst sample of a case took so long, or why that is not known."""
    from rtstone.explain.explain import answer
    from rtstone.stats.explainable import explainable

    check, result = one
    cause = Cause(
        bench=check.bench, params=check.params, label=check.label, series=check.series,
        load=check.load, case=result.case,
    )  # fmt: skip
    try:
        explainable(run, result)
        made = answer(path, run, result, "worst", "median", interrupt=interrupt)
    except Interrupted:
        raise
    except RtstoneError as error:  # which does not change what the gate says
        return structs.replace(cause, reason=str(error))
    if made.unkept:
        click.echo(f"not kept: {made.unkept}", err=True)
    explained = made.explanation
    return structs.replace(cause, sample=explained.way.sample.index, sentence=explained.sentence)
