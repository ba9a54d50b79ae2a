"""Explain a sample by what its target offers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from rtstone import structures
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import QEMU, Result, Run
from rtstone.errors import StoreError, UsageError
from rtstone.explain.lab import by_replay
from rtstone.explain.live import from_trace, traced
from rtstone.interrupt import Interrupt
from rtstone.printable import document
from rtstone.results.flags import TRACED
from rtstone.store import explanations


class Answer(NamedTuple):
    """An explanation.

    ``again``: it had been stored with the run.  ``unkept``: why it could not be, "" if it was.
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
    samples = _exactly(result, sample), _exactly(result, against)
    made_by = _made_by(run)
    if replayable(run, result):
        stored = explanations.explanations(directory, run.run_id, result.case).explanations
        for explanation in stored:
            same = explanation.series == result.series and explanation.load == result.load
            if same and (explanation.asked, explanation.made_by) == (samples, made_by):
                return Answer(explanation, again=True)
    explanation = explain(directory, run, result, sample, against, interrupt=interrupt)
    if explanation.source == "replay":
        explanation = structs.replace(explanation, asked=samples, made_by=made_by)
    # As it will be read back, so that it is printed alike each time.
    explanation = structures.decode(msgspec.json.encode(document(explanation)), Explanation)
    try:
        return Answer(explanations.keep(directory, explanation))
    except StoreError as error:  # no reason not to show it
        return Answer(explanation, unkept=str(error))


def _exactly(result: Result, sample: str) -> str:
    """Return the number of a sample named "worst", any other name as it is."""
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
    run --trace`), in which there is no other sample to compare it with.  ``directory``: of the
    run.  ``sample``, ``against``: "worst", "median", a percentile such as "p99", or a number.
    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    if replayable(run, result):
        return by_replay(directory, run, result, sample, against, interrupt=interrupt)
    worst, indexes = result.worst[0].index, traced(directory, result)
    if sample.isdecimal():
        return from_trace(directory, run, result, int(sample))
    if sample != "worst":
        raise UsageError(
            f"a trace has single samples, not '{sample}', in --sample; of {result.bench} it has "
            f"{', '.join(map(str, indexes)) or 'none'}"
        )
    if worst in indexes or not indexes:
        return from_trace(directory, run, result, worst)
    explanation = from_trace(directory, run, result, indexes[0])
    note = f"no snapshot was kept of the worst sample, {worst}; this is the largest that has one"
    return structs.replace(explanation, notes=[note, *explanation.notes])


def replayable(run: Run, result: Result) -> bool:
    """Return whether a run repeats itself to the instruction, and was not traced."""
    counts = run.target.name.startswith(QEMU) and run.target.detail.get("instructions_per_s")
    return bool(counts) and TRACED not in result.flags
