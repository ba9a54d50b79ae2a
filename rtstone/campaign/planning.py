"""Turn a campaign into jobs, and refuse beforehand what could not be carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import chdir
from typing import NamedTuple

import msgspec

from rtstone.campaign.durations import Past
from rtstone.campaign.jobs import CORE, WHOLE, Job
from rtstone.campaign.matrix import Campaign, Cell
from rtstone.campaign.requests import key_of, request
from rtstone.documents.plan import Plan
from rtstone.documents.run import LOCAL
from rtstone.errors import RtstoneError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.extent import extent
from rtstone.measure.planner import Offer, ask, draft
from rtstone.targets import find

EXEC = "exec:"


class Planned(NamedTuple):
    """The jobs in the order in which they are carried out, and the targets that did not answer.

    ``absent``: why, by target.  ``unkeyed``: how many jobs there are of each of them.
    """

    jobs: list[Job]
    absent: dict[str, str]
    unkeyed: dict[str, int]


class _Answer(NamedTuple):
    """What a target with one of its seeds offers, and its kernel."""

    spec: str
    seed: int | None
    there: Offer
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
        past, here = Past(), _machine()
        found: list[tuple[Cell, list[Job]]] = []
        for cell in cells:
            jobs = [
                one for answer in answers.get(cell.target, ())
                for one in _jobs(campaign, cell, answer._replace(lane=_lane(answer, here)), past)
            ]  # fmt: skip
            found.append((cell, jobs))
    _check_possible(campaign, found)
    seeds = max(1, len(campaign.seeds))
    lost = [cell.target for cell, _ in found if cell.target in absent]
    unkeyed = {name: lost.count(name) * campaign.repeat * seeds for name in absent}
    return Planned(_ordered(campaign, [jobs for _, jobs in found]), absent, unkeyed)


def _ask(
    campaign: Campaign, targets: set[str], interrupt: Interrupt
) -> tuple[dict[str, list[_Answer]], dict[str, str]]:
    """Return the answers of each target, and why others gave none."""
    answers: dict[str, list[_Answer]] = {}
    absent: dict[str, str] = {}
    for name in campaign.targets:
        if name not in targets:
            continue
        try:
            answers[name] = list(_answers(campaign, name, interrupt))
        except TargetError as error:
            absent[name] = str(error)
        except UsageError as error:
            raise UsageError(f"{error}, in {campaign.file}") from error
    seeded = any(one.seed is not None for found in answers.values() for one in found)
    if campaign.seeds and not seeded and not absent:
        raise UsageError(
            f"no target has a seed, in {campaign.file}; leave out 'seeds', or give 'repeat'"
        )
    return answers, absent


def _answers(campaign: Campaign, name: str, interrupt: Interrupt) -> Iterator[_Answer]:
    there = ask(name, interrupt)
    if not campaign.seeds or there.place.detail.get("seed") is None:
        yield _Answer(name, None, there, there.target.running_kernel(), "")
        return
    if "+seed=" in name:
        raise UsageError(f"target '{name}' has a seed, and 'seeds' gives others; leave one out")
    for seed in campaign.seeds:
        spec = f"{name}+seed={seed}"
        target = find(spec)
        place = msgspec.structs.replace(
            there.place,
            name=target.name if target.named else spec,
            detail=dict(target.detail()),
        )
        yield _Answer(
            spec, seed, there._replace(target=target, place=place), target.running_kernel(), ""
        )


def _machine() -> object:
    """Return the id of this machine, None if it has none."""
    try:
        return find(LOCAL).detail().get("machine")
    except RtstoneError:  # it has no agent
        return None


def _lane(answer: _Answer, here: object) -> str:
    """Return what a job shares with others that cannot run beside it.

    What an exec: reaches nobody knows, so it is taken for this machine.
    """
    there = answer.there
    machine = there.place.detail.get("machine")
    name = there.target.name
    if there.target.hosted:
        return CORE
    if name == LOCAL or name.startswith(EXEC) or (machine and machine == here):
        return WHOLE
    return str(machine or name)


def _jobs(campaign: Campaign, cell: Cell, answer: _Answer, past: Past) -> Iterator[Job]:
    wish = request(cell, answer.spec, campaign.time, campaign.until, campaign.cpus)
    try:
        made = draft(wish, answer.there)
    except UsageError as error:
        raise UsageError(
            f"{error} (target '{cell.target}', {cell.what}, in {campaign.file})"
        ) from error
    if made.endless:
        raise UsageError(
            f"never ends: {cell.what} on target '{cell.target}', in {campaign.file}; "
            "give a time above 0"
        )
    first = Job(
        campaign=campaign.name, key="", cell=cell, spec=answer.spec, lane=answer.lane,
        time=campaign.time, until=campaign.until, cpus=campaign.cpus, seed=answer.seed,
        expected_s=_expected_s(made, past), lacks=_lack(made),
    )  # fmt: skip
    for repeat in range(1, campaign.repeat + 1):
        key = key_of(made, answer.kernel, repeat)
        yield msgspec.structs.replace(first, key=key, repeat=repeat)


def _expected_s(made: Plan, past: Past) -> float | None:
    """Return how long a run of the plan takes: as the last one did, else as its limits say."""
    if (took := past.took_s(made)) is not None:
        return took
    found = extent(made)
    return found.seconds if found else None


def _lack(made: Plan) -> str | None:
    """Return why the target can run nothing of the plan, None if it can run something."""
    if made.cases:
        return None
    return made.absent[0].reason if made.absent else "nothing to measure"


def _check_possible(campaign: Campaign, found: Sequence[tuple[Cell, list[Job]]]) -> None:
    """Raise UsageError for a value of an axis with which nothing can be measured anywhere."""
    possible: dict[tuple[str, str], bool] = {}
    why: dict[tuple[str, str], str] = {}
    for cell, jobs in found:
        able = not jobs or any(job.lacks is None for job in jobs)  # not jobs: nobody answered yet
        for value in _values(cell):
            possible[value] = possible.get(value, False) or able
            why.setdefault(value, next((job.lacks for job in jobs if job.lacks), ""))
    for (axis, name), able in possible.items():
        if not able:
            raise UsageError(
                f"nothing can be measured with {axis} '{name}' on any target, in {campaign.file}: "
                f"{why[axis, name]}; take it out"
            )


def _values(cell: Cell) -> Iterator[tuple[str, str]]:
    yield "target", cell.target
    yield "measure", cell.measure
    if cell.load is not None:
        yield "load", cell.load
    yield from ((f"parameter {name}", value) for name, value in cell.params.items())


def _ordered(campaign: Campaign, cells: Sequence[list[Job]]) -> list[Job]:
    """Return all jobs in their order, those with the same key once.

    Interleaved, each round takes a job of every cell, so that what changes with time changes all
    cells alike.
    """
    if campaign.order == "interleaved":
        rounds: dict[int, list[Job]] = {}
        for jobs in cells:
            for job in jobs:
                rounds.setdefault(job.repeat, []).append(job)
        every = [job for number in sorted(rounds) for job in rounds[number]]
    else:
        every = [job for jobs in cells for job in jobs]
    return list({job.key: job for job in every}.values())
