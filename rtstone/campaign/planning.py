"""Turn a campaign into jobs, and refuse beforehand what could not be carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import chdir
from typing import NamedTuple

import msgspec

from rtstone.campaign.jobs import CORE, WHOLE, Job
from rtstone.campaign.matrix import Campaign, Cell
from rtstone.campaign.requests import key_of, request
from rtstone.documents.run import LOCAL
from rtstone.errors import RtstoneError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.extent import extent
from rtstone.measure.planner import Offer, ask, draft
from rtstone.store.durations import Past
from rtstone.targets import find


class Planned(NamedTuple):
    """The jobs in the order in which they are carried out, and the targets that did not answer.

    ``absent``: why, by target.  ``unkeyed``: how many jobs there are of each of them.
    """

    jobs: list[Job]
    absent: dict[str, str]
    unkeyed: dict[str, int]


class _Answer(NamedTuple):
    """What a target with one of its seeds offers, its kernel, and the lane of its jobs."""

    spec: str
    seed: int | None
    offer: Offer
    kernel: str | None
    lane: str


def plan(campaign: Campaign, interrupt: Interrupt) -> Planned:
    """Return the jobs of a campaign.

    Asks every target what it offers.  Raises UsageError for what cannot be carried out as written,
    Interrupted.
    """
    with chdir(campaign.folder):
        cells = campaign.cells()
        answers, absent = _ask(campaign, {cell.target for cell in cells}, interrupt)
        past = Past()
        planned: list[tuple[Cell, list[Job]]] = []
        for cell in cells:
            jobs = [
                job
                for answer in answers.get(cell.target, ())
                for job in _jobs(campaign, cell, answer, past)
            ]
            planned.append((cell, jobs))
    _check_possible(campaign, planned)
    seeds = max(1, len(campaign.seeds))
    lost = [cell.target for cell, _ in planned if cell.target in absent]
    unkeyed = {name: lost.count(name) * campaign.repeat * seeds for name in absent}
    ordered = [job for _, jobs in planned for job in jobs]
    if campaign.order == "interleaved":
        # Each round takes a job of every cell: what changes with time changes all cells alike.
        ordered.sort(key=lambda job: job.repeat)
    return Planned(list({job.key: job for job in ordered}.values()), absent, unkeyed)


def _ask(
    campaign: Campaign, targets: set[str], interrupt: Interrupt
) -> tuple[dict[str, list[_Answer]], dict[str, str]]:
    """Return the answers of each target, and why others gave none."""
    try:
        here = find(LOCAL).detail().get("machine")
    except RtstoneError:  # this machine has no agent
        here = None
    answers: dict[str, list[_Answer]] = {}
    absent: dict[str, str] = {}
    for name in campaign.targets:
        if name not in targets:
            continue
        try:
            answers[name] = list(_answers(campaign, name, here, interrupt))
        except TargetError as error:
            absent[name] = str(error)
        except UsageError as error:
            raise UsageError(f"{error}, in {campaign.file}") from error
    seeded = any(answer.seed is not None for replies in answers.values() for answer in replies)
    if campaign.seeds and not seeded and not absent:
        raise UsageError(
            f"no target has a seed, in {campaign.file}; leave out 'seeds', or give 'repeat'"
        )
    return answers, absent


def _answers(
    campaign: Campaign, name: str, here: object, interrupt: Interrupt
) -> Iterator[_Answer]:
    """Yield the answer of a target, one for each seed if it has one; ``here``: this machine's id.

    Raises TargetError, UsageError, Interrupted.
    """
    offer = ask(name, interrupt)
    machine = offer.place.detail.get("machine")
    if offer.target.hosted:
        lane = CORE
    elif offer.target.nearby:
        lane = WHOLE
    elif machine:
        lane = WHOLE if machine == here else str(machine)
    else:
        lane = offer.target.name
    if not campaign.seeds or offer.place.detail.get("seed") is None:
        yield _Answer(name, None, offer, offer.target.running_kernel(), lane)
        return
    if "+seed=" in name:
        raise UsageError(f"target '{name}' has a seed, and 'seeds' gives others; leave one out")
    for seed in campaign.seeds:
        spec = f"{name}+seed={seed}"
        target = find(spec)
        place = msgspec.structs.replace(
            offer.place,
            name=target.name if target.named else spec,
            detail=dict(target.detail()),
        )
        yield _Answer(
            spec, seed, offer._replace(target=target, place=place), target.running_kernel(), lane
        )


def _jobs(campaign: Campaign, cell: Cell, answer: _Answer, past: Past) -> Iterator[Job]:
    """Yield the jobs of a cell with one seed.  Raises UsageError if it cannot be measured."""
    run_request = request(cell, answer.spec, campaign)
    try:
        run_plan = draft(run_request, answer.offer)
    except UsageError as error:
        raise UsageError(
            f"{error} (target '{cell.target}', {cell.title}, in {campaign.file})"
        ) from error
    if run_plan.endless:
        raise UsageError(
            f"never ends: {cell.title} on target '{cell.target}', in {campaign.file}; "
            "give a time above 0"
        )
    expected_s = past.took_s(run_plan)  # as the last such run did, else as the limits say
    if expected_s is None and (length := extent(run_plan)):
        expected_s = length.seconds
    lacks = None
    if not run_plan.cases:
        lacks = run_plan.absent[0].reason if run_plan.absent else "nothing to measure"
    first = Job(
        campaign=campaign.name, key="", cell=cell, spec=answer.spec, lane=answer.lane,
        time=campaign.time, until=campaign.until, cpus=campaign.cpus, limit=campaign.limit,
        seed=answer.seed, expected_s=expected_s, lacks=lacks,
    )  # fmt: skip
    for repeat in range(1, campaign.repeat + 1):
        key = key_of(run_plan, answer.kernel, repeat)
        yield msgspec.structs.replace(first, key=key, repeat=repeat)


def _check_possible(campaign: Campaign, planned: Sequence[tuple[Cell, list[Job]]]) -> None:
    """Raise UsageError for a value of an axis with which nothing can be measured anywhere."""
    possible: dict[tuple[str, str], bool] = {}
    why: dict[tuple[str, str], str] = {}
    for cell, jobs in planned:
        able = not jobs or any(job.lacks is None for job in jobs)  # not jobs: nobody answered yet
        values = [("target", cell.target), ("measure", cell.measure)]
        if cell.load is not None:
            values.append(("load", cell.load))
        values += [(f"parameter {name}", text) for name, text in cell.params.items()]
        for value in values:
            possible[value] = possible.get(value, False) or able
            why.setdefault(value, next((job.lacks for job in jobs if job.lacks), ""))
    for (axis, name), able in possible.items():
        if not able:
            raise UsageError(
                f"nothing can be measured with {axis} '{name}' on any target, in {campaign.file}: "
                f"{why[axis, name]}; take it out"
            )
