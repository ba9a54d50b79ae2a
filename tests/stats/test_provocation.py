"""The rule for "beyond the controls": exact chances, false alarms, power, and its constants."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random
from statistics import median
from zlib import crc32

import pytest
from msgspec import structs

from rtstone.documents.provocation import Action, Provoked, Shift, System
from rtstone.documents.run import Result, Run, Target
from rtstone.errors import UsageError
from rtstone.measure.provocation import BLOCKS, CONTROLS
from rtstone.report.provocation.text import against, answer, ranking, sentence
from rtstone.stats import provocation
from rtstone.stats.provocation import chance, judged, stored
from rtstone.wire.records import Rate
from tests.chance import followed

CONTROL = "provoke:action=spin"
MANY = 55  # actions, as many as there are


def action(number: int) -> Action:
    return Action(
        name=f"a{number}", load=f"load{number}", consent="own", meanwhile=f"{number} happens"
    )


def system(actions: int, *, exact: bool = False, blocks: int = BLOCKS) -> System:
    return System(
        target="planted", unit="", exact=exact, single_cpu=False, blocks=blocks,
        controls=CONTROLS, seed=1, control=None, runs=[],
        actions=[Provoked(action=action(n), outcome="failed") for n in range(actions)],
    )  # fmt: skip


def result(case: int, load: str, p99: float, *, p50: float | None = None,
           worst: float | None = None, unit: str = "ns", done: float = 1.0,
           status: str = "ok") -> Result:  # fmt: skip
    return Result(
        case=case, bench="dk.periodic", params={}, load=load, status=status,  # type: ignore[arg-type]
        unit=unit, n=2000, p50=p99 / 2 if p50 is None else p50, p99=p99, max=worst or p99 * 3,
        missed=0, load_rates=[Rate("provoke", "rounds", done, 1.0)],
    )  # fmt: skip


def run(results: Sequence[Result], run_id: str = "run-1") -> Run:
    return Run(
        run_id=run_id, created="2026-01-01T00:00:00+00:00", status="complete", command=[],
        target=Target(name="planted"), results=list(results),
    )  # fmt: skip


def machine(random: Random, effects: Sequence[float]) -> Run:
    """Return a run of actions that make p99 so many times as large, on a machine that drifts.

    Values have heavy tails, and each block a level of its own.
    """
    results: list[Result] = []
    for _ in range(BLOCKS):
        level = random.lognormvariate(0, 1)
        block = [(f"load{n}", effect) for n, effect in enumerate(effects)]
        block += [(CONTROL, 1.0)] * CONTROLS
        for load, effect in random.sample(block, len(block)):
            noise = random.paretovariate(2)
            results.append(result(len(results), load, 40_000 * level * noise * effect))
    return run(results)


def beyond(judgement: System) -> set[str]:
    return {row.action.name for row in judgement.actions if row.outcome == "beyond"}


def test_the_chance_of_ranks_is_that_of_all_orders() -> None:
    """Brute force: every place of the action among its controls is as likely as another."""
    for controls in ([1], [2, 3], [4, 4, 2]):
        places = list(itertools.product(*(range(c + 1) for c in controls)))
        for below in places:
            at_least = sum(sum(other) >= sum(below) for other in places) / len(places)
            assert chance(list(zip(below, controls, strict=True))) == pytest.approx(at_least)


def test_the_design_can_show_a_delay_among_all_actions() -> None:
    """Also if one of the controls is above it."""
    tests = MANY * len(provocation.QUANTILES)
    ranks = [(CONTROLS, CONTROLS)] * (BLOCKS - 1)
    assert chance([*ranks, (CONTROLS - 1, CONTROLS)]) * tests < provocation.LEVEL
    assert chance([*ranks, (CONTROLS - 2, CONTROLS)]) * tests > provocation.LEVEL


def test_a_planted_delay_is_named_and_no_other() -> None:
    effects = [1.0] * MANY
    effects[7] = 40.0
    judgement = judged(system(MANY), CONTROL, [machine(Random(3), effects)])
    assert beyond(judgement) == {"a7"}
    assert judgement.actions[0].action.name == "a7"
    assert answer(judgement) == (
        "on planted avoid this one: a7; 1 of 55 actions delays the wake-up beyond the controls"
    )


@pytest.mark.simulation
def test_false_alarms_over_all_actions_are_rare() -> None:
    """Without any effect one of all actions is named in at most 5% of the measurements."""
    random = Random(1)

    def alarms() -> Sequence[bool]:
        return [
            bool(beyond(judged(system(MANY), CONTROL, [machine(random, [1.0] * MANY)])))
            for _ in range(20)
        ]

    trials = itertools.chain.from_iterable(alarms() for _ in itertools.count())
    (test,) = followed(trials, 0.05, 0.12)
    assert test.verdict == "fine", test


@pytest.mark.simulation
def test_a_delay_of_ten_times_is_seen() -> None:
    random = Random(2)
    effects = [10.0] + [1.0] * (MANY - 1)
    trials = (
        "a0" not in beyond(judged(system(MANY), CONTROL, [machine(random, effects)]))
        for _ in itertools.count()
    )
    (test,) = followed(trials, 0.25, 0.5)
    assert test.verdict == "fine", test


@pytest.mark.parametrize(("level", "named"), [(0.05, True), (0.0005, False)])
def test_the_level_decides(monkeypatch: pytest.MonkeyPatch, level: float, named: bool) -> None:
    """All controls are below in all blocks: 0.7% after Holm's method, among 55 actions."""
    monkeypatch.setattr(provocation, "LEVEL", level)
    results = [result(n, CONTROL, 100 + n) for n in range(BLOCKS * CONTROLS)]
    results += [result(100 + n, "load0", 1000.0) for n in range(BLOCKS)]
    rest = [result(200 + BLOCKS * a + n, f"load{a}", 1.0)
            for a in range(1, MANY) for n in range(BLOCKS)]  # fmt: skip
    judgement = judged(system(MANY), CONTROL, [run(results + rest)])
    row = next(row for row in judgement.actions if row.action.name == "a0")
    expected = [2 * MANY / (CONTROLS + 1) ** BLOCKS] * 2
    assert [shift.p for shift in row.shifts] == pytest.approx(expected)
    assert (row.outcome == "beyond") == named


def test_the_level_and_the_factor_are_as_documented() -> None:
    assert (provocation.LEVEL, provocation.FACTOR) == (0.05, 2.0)


def test_chances_are_adjusted_by_holm() -> None:
    """Over both quantiles of all actions; one of an action is enough."""
    chances = [[0.04, 0.01], [0.03], []]
    rows = [Provoked(action=action(n), outcome="within",
                     shifts=[Shift(quantile=quantile, ratio=2, p=p)
                             for quantile, p in zip(provocation.QUANTILES, ps, strict=False)])
            for n, ps in enumerate(chances)]  # fmt: skip
    adjusted = provocation._adjusted(rows)
    assert [[shift.p for shift in row.shifts] for row in adjusted] == [
        [pytest.approx(0.06), pytest.approx(0.03)], [pytest.approx(0.06)], [],
    ]  # fmt: skip
    assert [[shift.beyond for shift in row.shifts] for row in adjusted] == [
        [False, True],
        [False],
        [],
    ]
    assert [row.outcome for row in adjusted] == ["beyond", "within", "within"]


def test_a_stall_that_decides_p99_does_not_hide_what_p50_shows() -> None:
    """Of the controls of each block one was stalled: its p99 is above that of the action."""
    stalled = [result(n, CONTROL, 20e6 if n % CONTROLS == 1 else 50e3, p50=15e3)
               for n in range(BLOCKS * CONTROLS)]  # fmt: skip
    beside = [result(100 + n, "load0", 4e6, p50=45e3) for n in range(BLOCKS)]
    judgement = judged(system(1), CONTROL, [run([*stalled, *beside])])
    (row,) = judgement.actions
    assert [(shift.quantile, shift.beyond) for shift in row.shifts] == [
        ("p50", True),
        ("p99", False),
    ]
    assert sentence(row, judgement) == (
        "a0: while 0 happens, the p50 of wake-ups is 45.0 µs, 3 times that of the controls"
    )
    assert ranking(judgement).rows[0][-1] == "beyond in p50"


def test_a_drift_between_blocks_decides_nothing() -> None:
    """Each block is ten times as slow as the one before; the action is as its controls."""
    results: list[Result] = []
    for block in range(BLOCKS):
        levels = [10.0**block * (1 + n / 10) for n in range(CONTROLS)]
        results += [result(len(results) + n, CONTROL, level) for n, level in enumerate(levels)]
        results.append(result(len(results), "load0", median(levels)))
    (row,) = judged(system(1), CONTROL, [run(results)]).actions
    assert (row.outcome, row.ratio) == ("within", 1)
    assert all(shift.p > 0.3 for shift in row.shifts)


CATALOGUE = [action(n) for n in range(MANY)]
COMPUTES = Action(name="spin", load=CONTROL, consent="own", meanwhile="a process computes")


def boots(worst: Sequence[float], target: str = "qemu:linux-6.1") -> list[Run]:
    """Return the runs of a session of the lab: controls, and actions with these worst wake-ups."""
    loads = [CONTROL] * CONTROLS + [f"load{n}" for n in range(len(worst))]
    values = [8000.0 - n for n in range(CONTROLS)] + list(worst)
    return [
        structs.replace(
            run([result(1, load, 5000, worst=value, unit="instructions")], f"session-{n + 1:02}"),
            session="session",
            target=Target(name=f"{target}+seed={n + 1}" if 0 < n < CONTROLS else target),
        )
        for n, (load, value) in enumerate(zip(loads, values, strict=True))
    ]  # fmt: skip


def test_a_stored_run_of_a_machine_shows_what_it_showed() -> None:
    """The design follows from the results: blocks, controls, seed and actions."""
    effects = [1.0, 40.0, 1.0]
    measured = machine(Random(4), effects)
    design = structs.replace(system(3), seed=crc32(b"run-1"))
    assert stored([measured], COMPUTES, CATALOGUE) == judged(design, CONTROL, [measured])
    assert beyond(stored([measured], COMPUTES, CATALOGUE)) == {"a1"}
    alone = structs.replace(measured, conditions={"cpu.online": "0"})
    assert stored([alone], COMPUTES, CATALOGUE).single_cpu


def test_stored_boots_of_the_lab_show_what_they_showed() -> None:
    runs = boots([100_000.0, 9000.0])
    design = structs.replace(
        system(2, exact=True, blocks=1), target="qemu:linux-6.1", seed=crc32(b"session"),
        single_cpu=True,
    )  # fmt: skip
    judgement = stored(runs, COMPUTES, CATALOGUE)
    assert judgement == judged(design, CONTROL, runs[CONTROLS:], runs[:CONTROLS])
    assert beyond(judgement) == {"a0"}


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ([CONTROL, "heavy"], "run run-1 is none of `rtstone provoke`: its load heavy is none of"),
        (["load0"], "run run-1 is none of `rtstone provoke`: it has no controls"),
    ],
)
def test_a_run_of_something_else_is_refused(loads: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}"):
        stored([run([result(n, load, 1.0) for n, load in enumerate(loads)])], COMPUTES, CATALOGUE)


def test_what_a_system_buys_against_another_is_in_one_sentence() -> None:
    first = stored(boots([100_000.0, 90_000.0, 80_000.0, 9000.0, 9000.0]), COMPUTES, CATALOGUE)
    second = boots([9000.0, 90_000.0, 9000.0, 70_000.0], "qemu:linux-6.1-rt")
    assert against(first, stored(second, COMPUTES, CATALOGUE)) == (
        "qemu:linux-6.1-rt against qemu:linux-6.1: of 4 actions 3 delayed it beyond the controls: "
        "2 gone (a0, a2), 1 left (a1), 1 new (a3)"
    )
    calm = stored(boots([9000.0]), COMPUTES, CATALOGUE)
    assert against(calm, calm).endswith(
        ": of 1 action none delays the wake-up beyond the controls on either"
    )


def test_what_did_nothing_is_not_called_harmless() -> None:
    results = [result(n, CONTROL, 100.0) for n in range(BLOCKS * CONTROLS)]
    results += [result(100 + n, "load0", 1.0, done=0.0, status="incomplete") for n in range(BLOCKS)]
    judgement = judged(system(1), CONTROL, [run(results)])
    assert [row.outcome for row in judgement.actions] == ["nothing"]
    assert answer(judgement) == "undetermined on planted: no action ran"


def refused(load: str, reason: str, status: str = "unsupported") -> Result:
    return Result(
        case=50, bench="dk.periodic", params={}, load=load, status=status, reason=reason,  # type: ignore[arg-type]
    )  # fmt: skip


def test_what_a_system_does_not_support_is_so_with_its_reason() -> None:
    results = [result(n, CONTROL, 100.0) for n in range(BLOCKS * CONTROLS)]
    results += [refused("load0", "no right"), refused("load1", "no right")]
    results += [refused("load1", "it died", "failed")]
    judgement = judged(system(2), CONTROL, [run(results)])
    rows = {row.action.name: (row.outcome, row.reason) for row in judgement.actions}
    assert rows == {"a0": ("unsupported", "no right"), "a1": ("failed", "it died")}
    assert answer(judgement) == "undetermined on planted: no action ran"
    judgement = judged(system(1), CONTROL, [run(results)])
    assert answer(judgement) == "undetermined on planted: it supports none of 1 action"


def test_what_an_interrupted_run_did_not_reach_has_not_failed() -> None:
    results = [result(n, CONTROL, 100.0) for n in range(BLOCKS * CONTROLS)]
    results += [result(100 + n, "load0", 100.0) for n in range(BLOCKS)]
    judgement = judged(system(2), CONTROL, [run(results)])
    rows = {row.action.name: row.outcome for row in judgement.actions}
    assert rows == {"a0": "within", "a1": "unmeasured"}
    assert answer(judgement).endswith("(1 not measured)")


@pytest.mark.parametrize(("worst", "outcome"), [(16_001, "beyond"), (16_000, "within")])
def test_in_the_lab_the_worst_decides(worst: int, outcome: str) -> None:
    def boot(number: int, load: str, largest: float) -> Run:
        only = result(1, load, 5_000, worst=largest, unit="instructions")
        return run([only], f"boot-{number}")

    controls = [boot(n, CONTROL, 8_000 - n) for n in range(CONTROLS)]
    lab = system(2, exact=True, blocks=1)
    boots = [boot(8, "load0", 100), boot(9, "load1", worst)]
    judgement = judged(lab, CONTROL, boots, controls)
    first = judgement.actions[0]
    assert (first.action.name, first.outcome, first.run) == ("a1", outcome, "boot-9")
    assert judgement.unit == "instructions"
    assert judgement.control is not None
    assert judgement.control.max == 8_000
    said = "was shown to delay" if outcome == "within" else "avoid this one: a1;"
    assert said in answer(judgement)


def test_on_one_cpu_what_needs_several_says_nothing() -> None:
    lab = structs.replace(system(1, exact=True, blocks=1), single_cpu=True)
    several = structs.replace(lab.actions[0].action, several_cpus=True)
    lab = structs.replace(lab, actions=[Provoked(action=several, outcome="failed")])
    boot = run([result(1, "load0", 5_000, unit="instructions")])
    (row,) = judged(lab, CONTROL, [boot], [run([result(1, CONTROL, 5_000)])]).actions
    assert row.silent == "a single CPU"
