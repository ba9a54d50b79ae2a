"""Explain a sample by what its target offers."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.explain.lab import by_replay
from rtstone.explain.live import from_trace, traced
from rtstone.interrupt import Interrupt

LAB = "qemu:"
TRACED = "traced"  # a flag


def explain(
    directory: Path, run: Run, result: Result, sample: str, against: str, *, interrupt: Interrupt
) -> Explanation:
    """Return where the time of a sample of a result went, beside that of another one.

    A run of the lab that was not traced is repeated; of any other there has to be a trace (`rtstone
    run --trace`), in which there is no other sample to hold it against.  ``directory``: of the
    run.  ``sample``, ``against``: "worst", "median", a percentile such as "p99", or a number.
    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    counts = run.target.name.startswith(LAB) and run.target.detail.get("instructions_per_s")
    if counts and TRACED not in result.flags:
        return by_replay(directory, run, result, sample, against, interrupt=interrupt)
    return _by_trace(directory, run, result, sample)


def _by_trace(directory: Path, run: Run, result: Result, sample: str) -> Explanation:
    worst, there = result.worst[0].index, traced(directory, result)
    if sample.isdecimal():
        return from_trace(directory, run, result, int(sample))
    if sample != "worst":
        raise UsageError(
            f"a trace has single samples, not '{sample}', in --sample; of {result.bench} it has "
            f"{', '.join(map(str, there)) or 'none'}"
        )
    if worst in there or not there:
        return from_trace(directory, run, result, worst)
    found = from_trace(directory, run, result, there[0])
    note = f"no snapshot was kept of the worst sample, {worst}; this is the largest that has one"
    return structs.replace(found, notes=[note, *found.notes])
