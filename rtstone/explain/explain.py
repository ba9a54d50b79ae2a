"""Explain a sample by what its target offers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Result, Run
from rtstone.errors import StoreError, UsageError
from rtstone.explain.lab import by_replay
from rtstone.explain.live import TRACED, from_trace, traced
from rtstone.interrupt import Interrupt
from rtstone.printable import document
from rtstone.store import explanations

LAB = "qemu:"


class Answer(NamedTuple):
    """An explanation.

    ``again``: it was kept with the run before.  ``unkept``: why it could not be kept, "" if it was.
    """

    explanation: Explanation
    again: bool = False
    unkept: str = ""


def answer(
    directory: Path, run: Run, result: Result, sample: str, against: str, *, interrupt: Interrupt
) -> Answer:
    """Return the explanation of a sample, as ``explain`` does, and keep it with its run.

    A replay is not repeated: it gave the same each time.  Raises what ``explain`` does.
    """
    asked = _exactly(result, sample), _exactly(result, against)
    made_by = _made_by(run)
    if replayable(run, result):
        kept = explanations.explanations(directory, run.run_id, result.case).explanations
        for one in kept:
            same = one.series == result.series and one.load == result.load
            if same and (one.asked, one.made_by) == (asked, made_by):
                return Answer(one, again=True)
    made = explain(directory, run, result, sample, against, interrupt=interrupt)
    if made.source == "replay":
        made = structs.replace(made, asked=asked, made_by=made_by)
    # as it is read, so that it is printed alike ever after
    made = msgspec.json.decode(msgspec.json.encode(document(made)), type=Explanation)
    try:
        return Answer(explanations.keep(directory, made))
    except StoreError as error:  # no reason not to show it
        return Answer(made, unkept=str(error))


def _exactly(result: Result, sample: str) -> str:
    """Return one name for a sample that has two."""
    return str(result.worst[0].index) if sample == "worst" and result.worst else sample


def _made_by(run: Run) -> str:
    """Return what an explanation depends on besides what was asked: the run, and this package."""
    digest = hashlib.sha256(msgspec.json.encode(structs.replace(run, name=None)))
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def explain(
    directory: Path, run: Run, result: Result, sample: str, against: str, *, interrupt: Interrupt
) -> Explanation:
    """Return where the time of a sample of a result went, beside that of another one.

    A run of the lab that was not traced is repeated; of any other there has to be a trace (`rtstone
    run --trace`), in which there is no other sample to hold it against.  ``directory``: of the
    run.  ``sample``, ``against``: "worst", "median", a percentile such as "p99", or a number.
    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    if replayable(run, result):
        return by_replay(directory, run, result, sample, against, interrupt=interrupt)
    return _by_trace(directory, run, result, sample)


def replayable(run: Run, result: Result) -> bool:
    """Return whether a run repeats itself to the instruction, and was not traced."""
    counts = run.target.name.startswith(LAB) and run.target.detail.get("instructions_per_s")
    return bool(counts) and TRACED not in result.flags


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
