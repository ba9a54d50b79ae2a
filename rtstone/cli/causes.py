"""Explain the worst samples that a command reports."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import structs

from rtstone.cli.progress import working
from rtstone.documents.check import Cause, Gate
from rtstone.documents.run import Result, Run
from rtstone.errors import Interrupted, RtstoneError
from rtstone.interrupt import Interrupt

MOST = 5  # cases, each of which may take two replays of the run


def with_causes(path: Path, run: Run, gate: Gate) -> Gate:
    """Return a gate with the causes of what failed it, for `check --explain`; ``path``: of the run.

    Raises Interrupted.
    """
    from rtstone.explain.explain import answer
    from rtstone.stats.exceeded import exceeded
    from rtstone.stats.explainable import explainable

    cases = exceeded(run, gate)
    causes = []
    with working("explaining") as line, Interrupt() as interrupt:
        for number, (check, result) in enumerate(cases[:MOST]):
            line.steps(number, min(len(cases), MOST))
            cause = Cause(
                bench=check.bench, params=check.params, label=check.label, series=check.series,
                load=check.load, case=result.case,
            )  # fmt: skip
            try:
                explainable(run, result)
                reply = answer(path, run, result, "worst", "median", interrupt=interrupt)
            except Interrupted:
                raise
            except RtstoneError as error:  # which does not change what the gate says
                causes.append(structs.replace(cause, reason=str(error)))
                continue
            if reply.unkept:
                click.echo(f"not kept: {reply.unkept}", err=True)
            sample, sentence = reply.explanation.way.sample.index, reply.explanation.sentence
            causes.append(structs.replace(cause, sample=sample, sentence=sentence))
    return structs.replace(gate, causes=causes, causes_left=len(cases) - len(causes))


def cause_of_worst(path: Path, run: Run, result: Result, interrupt: Interrupt) -> str:
    """Return the cause of a result's largest sample, or why it has none; ``path``: of the run.

    Raises Interrupted.
    """
    from rtstone.explain.explain import answer
    from rtstone.stats.explainable import explainable

    try:
        explainable(run, result)
        reply = answer(path, run, result, "worst", "median", interrupt=interrupt)
    except Interrupted:
        raise
    except RtstoneError as error:  # which does not change what was measured
        return f"not explained: {error}"
    return reply.explanation.sentence
