"""The explanation of a stored run of a task set, with the costs that another run measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rtstone import __version__
from rtstone.documents.run import Run
from rtstone.documents.tasks_explanation import TasksExplanation
from rtstone.documents.tasks_run import TasksRun
from rtstone.errors import UsageError
from rtstone.store.rundir import load
from rtstone.tasks.explanation import DRAWINGS, Ran, explain
from rtstone.tasks.part_costs import part_costs
from rtstone.tasks.run import jobs, stored
from rtstone.units import NS_PER_S

SEED = 1


def explanation(directory: Path, costs_directory: Path | None) -> TasksExplanation:
    """Return why the tasks of a stored run were slower than their analysis.

    Without another run, the costs are those that the run itself has measured.  Raises UsageError,
    Inconclusive.
    """
    document = stored(directory)
    costs_run = load(directory if costs_directory is None else costs_directory)
    costs, parts = part_costs(costs_run, document.load)
    for task in document.set.tasks:
        if task.work.kwi is not None:
            raise UsageError(
                f"work of task '{task.name}' is in KWI, whose time is not simulated, in run "
                f"{document.run_id}; write it in time, and run the set again"
            )
    ran = {
        name: Ran(each.arrival, each.release, each.work, each.end)
        for name, each in jobs(document, directory).items()
    }
    tasks = explain(document.set, ran, costs, end=2 * document.duration_ns + NS_PER_S, seed=SEED)
    return TasksExplanation(
        version=__version__, run_id=document.run_id, costs_run_id=costs_run.run_id,
        title=document.set.title, target=document.target, load=document.load,
        drawings=DRAWINGS if costs.present else 1, seed=SEED, parts=parts, tasks=tasks,
        notes=list(_notes(document, costs_run)),
    )  # fmt: skip


def _notes(document: TasksRun, costs_run: Run) -> Iterator[str]:
    if costs_run.target.name != document.target:
        yield (
            f"The costs are those of target {costs_run.target.name}, the tasks ran on "
            f"{document.target}."
        )
    if costs_run.run_id == document.run_id:
        yield "Add --costs-from RUN, a run of the costs on that target."
