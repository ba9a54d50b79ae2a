"""Simulate Hartstone experiments, test after test, up to their breakdown.

Task sets are those of hartsets.py; hartstone.c simulates them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rtstone.documents.simulation import Cost, Experiment, Test
from rtstone.simulate import hartsets as sets
from rtstone.simulate.hartengine import HartOutcome, HartRules, run

DURATION_NS = 10_000_000_000  # of a test
STOP_MISSES = 50  # deadlines missed or skipped in a test that end an experiment
MOST_UTILISATION = 1.5
# KWIPS; the baseline of PH is 20%.
RAW = {"auto": 1_000_000, "sei": 1600, "golatowski": 12_800, "golatowski-auto": 1_280_000}


@dataclass(frozen=True)
class Ask:
    """One experiment under one policy.

    ``raw``: raw speed in KWIPS.  ``factor``: of all loads in a scaled set, None: derived from
    ``raw``.  ``form``: of the server.  ``gaps``: what experiment 1 of AH and SA divides.
    ``duration_ns``: of a test.  ``stop_misses``: number of
    deadlines missed or skipped in a test that ends the experiment.
    """

    experiment: str
    set: str = "auto"
    policy: str = "rm"
    raw: int = RAW["auto"]
    factor: int | None = None
    form: str = "monitor"
    gaps: str = sets.GAPS[0]
    duration_ns: int = DURATION_NS
    stop_misses: int = STOP_MISSES

    @property
    def m(self) -> int:
        """The factor of all loads."""
        if self.set not in sets.SCALED:
            return 1
        return self.factor or sets.factor(self.experiment.split(".")[0], self.raw, self.set)


class Measured(NamedTuple):
    """An experiment as measured by a run; utilisations in percent.

    ``first_miss``: None if it did not break down up to ``breakdown``.  ``disturbed``: the flags
    of what disturbed it from outside the system, so that a miss may not be due to that.
    """

    ask: Ask
    breakdown: float
    first_miss: float | None
    disturbed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Played:
    """A test: its set, its utilisation, and its outcome."""

    task_set: sets.HartSet
    utilisation: float
    outcome: HartOutcome


def play(ask: Ask, cost: Cost) -> Iterator[Played]:
    """Simulate an experiment, and yield its tests."""
    base = sets.baseline(ask.experiment.split(".")[0], ask.set, ask.m)
    increment = sets.added(ask.set, ask.m)
    limited = ask.policy == "rm"  # tasks with deadlines are limited by admission, not throttled
    rules = HartRules(
        ask.policy, ask.form, cost.switch_ns, cost.tick_ns, cost.tick_cost_ns,
        *((cost.rt_runtime_ns, cost.rt_period_ns) if limited else (0, 0)),
    )  # fmt: skip
    last = None
    for test in range(1, sets.MOST_TESTS + 1):
        task_set = sets.set_of_test(ask.experiment, base, increment, test, ask.gaps)
        utilisation = task_set.utilisation(ask.raw)
        if test > 1 and utilisation > MOST_UTILISATION:
            return
        order = waiting_order(ask, task_set, test, last)
        outcome = run(task_set, ask.raw, ask.duration_ns, rules, order)
        last = outcome.last
        yield Played(task_set, utilisation, outcome)
        if outcome.bad >= ask.stop_misses:
            return


def waiting_order(ask: Ask, task_set: sets.HartSet, test: int, last: int | None) -> list[int]:
    """Return the order in which the agent's tasks wait for a test, which decides among equals.

    They become ready by number, after the one that completed last (``last``), which did not have to
    wait, and a new one, which has not waited yet.  A task whose priority is lowered goes to the
    head of its new level, as POSIX specifies.
    """
    served = ask.form == "server" and task_set.service > 0
    new = [len(task_set.tasks) - 1] if test > 1 and ask.experiment.endswith("4") else []
    late = [] if last is None or served else [last]
    ready = list(dict.fromkeys([*late, *new, *range(len(task_set.tasks))]))
    if ask.policy == "edf":
        return ready
    level = sets.levels(task_set.tasks, server=served)
    return [i for i in ready if level[i] == 1] + [i for i in reversed(ready) if level[i] > 1]


def experiment(ask: Ask, cost: Cost, beside: Measured | None = None) -> Experiment:
    """Simulate an experiment, with the costs and without any.

    ``beside``: the same on a real system.  There is no gap where something outside that system
    disturbed it.
    """
    played = list(play(ask, cost))
    ended = "tests" if len(played) == sets.MOST_TESTS else "utilisation"
    if played[-1].outcome.bad >= ask.stop_misses:
        ended = "misses"
    clean, first = breakdown(played)
    free = clean
    if cost != Cost():
        free, _ = breakdown(list(play(ask, Cost())))
    gap = None
    if beside and beside.first_miss is not None and not beside.disturbed and clean is not None:
        gap = round(clean - beside.breakdown, 2) + 0.0  # + 0.0: never -0
    return Experiment(
        experiment=ask.experiment,
        set=ask.set,
        policy=ask.policy,
        form=ask.form if sets.is_served(ask.experiment) else None,
        raw_kwips=ask.raw,
        factor=ask.m,
        duration_ns=ask.duration_ns,
        stop_misses=ask.stop_misses,
        breakdown_free=free,
        breakdown=clean,
        first_miss=first,
        ended=ended,
        measured=beside.breakdown if beside else None,
        measured_first_miss=beside.first_miss if beside else None,
        disturbed=list(beside.disturbed) if beside else [],
        gap=gap,
        tests=[_test(p) for p in played],
    )


def breakdown(played: list[Played]) -> tuple[float | None, float | None]:
    """Return the utilisations, in percent, of the last test before a miss and of the first with."""
    at = [100 * p.utilisation for p in played]
    first = next((i for i, p in enumerate(played) if p.outcome.bad), len(played))
    return at[first - 1] if first else None, at[first] if first < len(played) else None


def _test(played: Played) -> Test:
    counts = played.outcome.counts
    met, missed, skipped, late = (
        int(counts[name].sum()) for name in ("met", "missed", "skipped", "late")
    )
    return Test(
        utilisation=100 * played.utilisation,
        activations=met + missed + skipped,
        met=met,
        missed=missed,
        skipped=skipped,
        late_mean_ns=late / played.outcome.ticks_per_ns / missed if missed else None,
    )
