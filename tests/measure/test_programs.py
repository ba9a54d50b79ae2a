"""Programs of actions: what a search proposes, on planted landscapes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from statistics import median

import pytest

from rtstone.measure.actions import CONTROL, PROCESSES, TASKS
from rtstone.measure.programs import (
    CYCLE_US,
    SIZES,
    STEPS,
    Breeder,
    Program,
    Proposal,
    Step,
    load_of,
    names,
    sizes,
    smaller,
)
from rtstone.wire.records import Load, Param

SEEDS = 40
RARE = 50_000.0  # longest
MOST = 3000  # programs, after which a search has not found it
# As the agents of Linux and FreeRTOS list them: with more than programs are made of, and with one
# that this agent lacks.
LINUX, FREERTOS = (
    {
        "provoke": Load(
            "provoke",
            params=[Param("action", "choice", choices=choices), Param("n", "int", max=most)],
        )
    }
    for most, choices in (
        (
            20_000,
            [action.name for action in (CONTROL, *PROCESSES) if action.load.startswith("provoke:")],
        ),
        (64, [action.name for action in (CONTROL, *TASKS) if action.name != "softtimers"]),
    )
)
NAMES = names(LINUX)
WITHIN_US = 800  # 50,000 instructions of a board with 62.5 million a second


def planted(program: Program) -> float:
    """Return what a program does where `locks`, and soon after it `epolls`, take a rare path.

    Each of the two alone delays a little, as most actions do.
    """
    longest = 1000.0
    for step in program:
        longest += {"locks": 40, "epolls": 60, "herd": 50}.get(step.action, 5)
        longest += min(step.n or 0, 64) / 16
    for first in program:
        for second in program:
            soon = 0 < second.at_us - first.at_us < WITHIN_US
            rare = (first.action, second.action) == ("locks", "epolls") and (first.n or 0) >= 64
            if soon and rare:
                return RARE
    return longest


def sections(program: Program) -> dict[str, int]:
    """Return the sections of the same system: of each action, and what `locks` leaves to `epolls`.

    What it leaves is done in time, so that less is left for one that comes later.
    """
    longest = {step.action: 300 + 4 * min(step.n or 16, 64) for step in program}
    for first in program:
        for second in program:
            left = 50 * min(first.n or 16, 64) - (second.at_us - first.at_us)
            after = (first.action, second.action) == ("locks", "epolls")
            if after and second.at_us > first.at_us and left > longest.get("flush", 0):
                longest["flush"] = left
    return longest


def anything(program: Program) -> dict[str, int]:
    """Return sections that say nothing."""
    random = Random(load_of(program))
    return {f"section {random.randrange(300)}": random.randrange(5000) for _ in range(30)}


def silent(program: Program) -> float:
    """Return what a program does where nothing but the rare path delays a wake-up."""
    longest = planted(program)
    return longest if longest == RARE else 1000.0 + 5 * len(program)


def proposed(breeder: Breeder) -> Proposal:
    proposal = breeder.propose()
    assert proposal is not None
    return proposal


def taken(
    seed: int,
    *,
    bred: bool,
    wake_up: Callable[[Program], float] = planted,
    seen: Callable[[Program], dict[str, int]] = lambda program: {},
) -> int:
    """Return how many programs a search takes until one has the rare path."""
    breeder = Breeder(seed, NAMES, bred=bred)
    for number in range(1, MOST):
        program = proposed(breeder).program
        longest = wake_up(program)
        if longest == RARE:
            return number
        breeder.learn(program, longest, breeder.compare(seen(program)).gained)
    return MOST


def test_a_rare_path_is_reached_in_far_fewer_programs_than_at_random() -> None:
    bred = median(taken(seed, bred=True) for seed in range(SEEDS))
    drawn = median(taken(seed, bred=False) for seed in range(SEEDS))
    assert bred <= 400
    assert drawn >= 2 * bred


@pytest.mark.parametrize("seen", [sections, anything])
def test_sections_make_no_search_longer(seen: Callable[[Program], dict[str, int]]) -> None:
    seeds = range(4 * SEEDS)  # at a quarter of these the medians differ by as much from chance
    guided = median(taken(seed, bred=True, seen=seen) for seed in seeds)
    assert guided <= 1.25 * median(taken(seed, bred=True) for seed in seeds)


def test_sections_lead_to_a_path_of_which_wake_ups_say_nothing() -> None:
    guided = median(taken(s, bred=True, wake_up=silent, seen=sections) for s in range(SEEDS))
    assert guided <= 0.7 * median(taken(s, bred=True, wake_up=silent) for s in range(SEEDS))


def test_news_are_sections_that_were_not_there_or_shorter() -> None:
    breeder = Breeder(1, NAMES)
    assert breeder.compare({"a": 300, "b": 500}) == (2, 0, 800)
    assert breeder.compare({"a": 310, "b": 400, "c": 50}) == (1, 1, 60)
    assert breeder.compare({"a": 305, "b": 500, "c": 50}) == (0, 0, 0)


def test_a_seed_and_measurements_give_the_same_programs() -> None:
    runs = []
    for _ in range(2):
        breeder = Breeder(7, NAMES)
        programs = []
        for _ in range(200):
            programs.append(proposed(breeder))
            breeder.learn(programs[-1].program, planted(programs[-1].program))
        runs.append(programs)
    assert runs[0] == runs[1]
    other = Breeder(8, NAMES)
    assert [proposed(other) for _ in range(8)] != runs[0][:8]


def test_a_system_that_lacks_all_actions_has_no_programs() -> None:
    breeder = Breeder(1, ["gpu", "netns"])
    while (proposal := breeder.propose()) is not None:
        for step in proposal.program:
            breeder.fail(proposal.program, step.action)
    assert [breeder.propose() for _ in range(2)] == [None, None]


def test_programs_are_such_as_the_load_takes_and_none_comes_twice() -> None:
    breeder = Breeder(3, NAMES)
    seen = set()
    for _ in range(1000):
        program = proposed(breeder).program
        assert program not in seen
        seen.add(program)
        assert 1 <= len(program) <= STEPS
        assert list(program) == sorted(program, key=lambda step: step.at_us)
        for step in program:
            assert 0 <= step.at_us < CYCLE_US
            assert step.action in NAMES
            assert step.n is None or step.n in SIZES
        assert len(load_of(program).partition("steps=")[2]) < 480
        breeder.learn(program, planted(program))


@pytest.mark.parametrize("action", ["kprobe", "settime", "hdparm", "membarrier", "spin"])
def test_no_program_changes_settings_or_needs_several_cpus(action: str) -> None:
    assert action not in NAMES


def test_programs_are_made_of_what_the_system_has() -> None:
    assert {"forks", "locks", "memcg"} <= set(NAMES)
    assert names(FREERTOS) == [action.name for action in TASKS if action.name != "softtimers"]
    assert not set(NAMES) & set(names(FREERTOS))
    assert tuple(sizes(LINUX)) == SIZES
    breeder = Breeder(1, names(FREERTOS), sizes(FREERTOS))
    steps = [step for _ in range(200) for step in proposed(breeder).program]
    assert {step.n for step in steps} == {None, 1, 4, 16, 64}


def test_a_smaller_program_lacks_one_step() -> None:
    program = (Step(1, "forks"), Step(2, "locks", 4), Step(3, "poll"))
    assert list(smaller(program)) == [program[1:], (program[0], program[2]), program[:2]]
    assert list(smaller(program[:1])) == []
    assert load_of(program) == "actions:steps=forks@1us,locks*4@2us,poll@3us"
