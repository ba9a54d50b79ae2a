"""The task sets of the Hartstone Uniprocessor Benchmark, and what a scheduler makes of them.

Weiderman, CMU/SEI-89-TR-23; Donohoe, Shapiro, Weiderman, CMU/SEI-90-UG-1; Golatowski, table 2.
benchmarks 6.2 says which numbers are confirmed; those of series PN are reconstructed.  Loads are in
kilo-Whetstone instructions per period (KWIPP); a processor of raw speed K KWIPS does K of them a
second, and a set that needs K of them a second has a utilisation of 100%.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from rtstone.errors import UsageError, unknown
from rtstone.model.documents import Result, Run
from rtstone.simulate.documents import Cost, Experiment, Test
from rtstone.simulate.engine import simulate
from rtstone.simulate.taskset import Rules, TaskSet

DURATION_NS = 10_000_000_000  # of a test
STOP_MISSES = 50  # missed or skipped in a test: the experiment ends
MOST_TESTS = 200
MOST_UTILISATION = Fraction(3, 2)
BASELINE, BIGGEST_STEP = Fraction(1, 5), Fraction(1, 20)  # of raw speed, for the set auto
FIGURE = "breakdown utilisation"  # in the results of a measured run, in percent
RAW_SPEED = "raw speed"  # the same, in KWIPS
FACTOR = "factor of all loads"  # the same, of the set auto

POLICIES = ("rm", "edf")


@dataclass(frozen=True)
class Task:
    """Frequency in Hz and load in KWIPP."""

    hz: Fraction
    load: int

    @property
    def speed(self) -> Fraction:
        """KWIPS."""
        return self.hz * self.load


Tasks = tuple[Task, ...]


def _tasks(*pairs: tuple[int, int]) -> Tasks:
    return tuple(Task(Fraction(hz), load) for hz, load in pairs)


# Baselines by series and set; task 1 first, which is the least frequent.
BASELINES: dict[str, dict[str, Tasks]] = {
    "PH": {
        "sei": _tasks((2, 32), (4, 16), (8, 8), (16, 4), (32, 2)),
        "golatowski": _tasks((1, 512), (2, 256), (4, 128), (8, 64), (16, 32)),
    },
    "PN": {
        "sei": _tasks((2, 32), (5, 13), (9, 7), (17, 4), (31, 2)),
    },
}
SETS = ("auto", "sei", "golatowski")
EXPERIMENTS = tuple(f"{series}.{number}" for series in BASELINES for number in (1, 2, 3, 4))


def total(tasks: Tasks) -> Fraction:
    """KWIPS of a set."""
    return sum((task.speed for task in tasks), Fraction(0))


def tests(series: str, number: int, baseline: Tasks, factor: int = 1) -> Iterator[Tasks]:
    """The sets of an experiment, the baseline first, without end.

    1: the frequency of the last task grows by that of the one before.  2: all frequencies are the
    baseline's times 1.1, 1.2, …  3: every load grows by 1 (times ``factor``).  4: one more task
    like the third.  In PN.1 a frequency that is a multiple of another is raised by 1 Hz,
    once, whatever that makes it.
    """
    tasks = baseline
    for test in range(1, MOST_TESTS + 1):
        yield tasks
        if number == 1:
            hz = tasks[-1].hz + tasks[-2].hz
            if series == "PN" and any((hz / task.hz).denominator == 1 for task in tasks[:-1]):
                hz += 1
            tasks = (*tasks[:-1], replace(tasks[-1], hz=hz))
        elif number == 2:
            scale = 1 + Fraction(test, 10)
            tasks = tuple(replace(task, hz=task.hz * scale) for task in baseline)
        elif number == 3:
            tasks = tuple(replace(task, load=task.load + factor) for task in tasks)
        else:
            tasks = (*tasks, baseline[2])


def auto(series: str, raw: int, m: int | None = None) -> tuple[Tasks, int]:
    """The sei set with its loads times m, and m: about 20% of raw speed, no step above 5%."""
    sei = BASELINES[series]["sei"]
    if m:
        return tuple(replace(task, load=task.load * m) for task in sei), m
    steps = []
    for number in (1, 2, 3, 4):
        found = tests(series, number, sei)
        before = next(found)
        steps.append(total(next(found)) - total(before))
    most = min(BASELINE * raw / total(sei), BIGGEST_STEP * raw / max(steps))
    m = max(1, int(most))
    return tuple(replace(task, load=task.load * m) for task in sei), m


class Ask(NamedTuple):
    """One experiment under one policy; raw speed in KWIPS; factor of auto, None: as it chooses."""

    experiment: str
    set: str
    policy: str
    raw: int
    factor: int | None = None


def experiment(ask: Ask, cost: Cost, measured: float | None = None) -> Experiment:
    """Simulates an experiment to its end; ``measured`` is the breakdown of a real system."""
    series, number = ask.experiment.split(".")
    if ask.set == "auto":
        baseline, factor = auto(series, ask.raw, ask.factor)
    else:
        baseline, factor = BASELINES[series][ask.set], 1
    found: list[Test] = []
    ended = "tests"
    for tasks in tests(series, int(number), baseline, factor):
        utilisation = total(tasks) / ask.raw
        if utilisation > MOST_UTILISATION:
            ended = "utilisation"
            break
        found.append(_test(tasks, ask, cost))
        if found[-1].missed + found[-1].skipped >= STOP_MISSES:
            ended = "misses"
            break
    clean, first = breakdown(found)
    return Experiment(
        experiment=ask.experiment,
        set=ask.set,
        policy=ask.policy,
        raw_kwips=ask.raw,
        factor=factor,
        breakdown=clean,
        first_miss=first,
        ended=ended,
        measured=measured,
        gap=None if measured is None or clean is None else clean - measured,
        tests=found,
    )


def breakdown(found: list[Test]) -> tuple[float | None, float | None]:
    """Utilisation of the last test without a miss or a skip, and of the first with one."""
    clean = [test.utilisation for test in found if not (test.missed or test.skipped)]
    missed = [test.utilisation for test in found if test.missed or test.skipped]
    return clean[-1] if clean else None, missed[0] if missed else None


def task_set(tasks: Tasks, raw: int, duration_ns: int = DURATION_NS) -> tuple[TaskSet, int]:
    """The set in ticks in which every period and every load is a whole number; ticks per second.

    Rounded to nanoseconds, harmonic periods would not be harmonic, and 100% not 100%.
    """
    second = lcm(raw, *(task.hz.numerator for task in tasks))
    second *= max(1, -(-(10**9) // second))  # no coarser than a nanosecond, for the costs
    if second * duration_ns // 10**9 >= 1 << 61:
        raise UsageError(f"raw speed {raw} KWIPS is too fine, in --raw; round it to 3 digits")
    period = np.array([int(second / task.hz) for task in tasks], np.int64)
    nominal = np.array([second * task.load // raw for task in tasks], np.int64)
    end = second * duration_ns // 10**9
    return TaskSet(end=end, period=period, deadline=period, nominal=np.maximum(nominal, 1)), second


def _test(tasks: Tasks, ask: Ask, cost: Cost) -> Test:
    what, second = task_set(tasks, ask.raw)

    def ticks(ns: int) -> int:
        return round(Fraction(ns * second, 10**9))

    rules = Rules(
        ask.policy,
        shed=True,
        switch_cost=ticks(cost.switch_ns),
        tick=ticks(cost.tick_ns),
        tick_cost=ticks(cost.tick_cost_ns),
    )
    counts = simulate(what, rules).counts
    met, missed, skipped, late = (
        int(counts[name].sum()) for name in ("met", "missed", "skipped", "late")
    )
    return Test(
        utilisation=float(100 * total(tasks) / ask.raw),
        activations=met + missed + skipped,
        met=met,
        missed=missed,
        skipped=skipped,
        late_mean_ns=late * 1e9 / second / missed if missed else None,
    )


# ---- what was measured --------------------------------------------------------------------------


def measured(run: Run) -> dict[tuple[str, str, str], Result]:
    """Results of hart.* with a breakdown, by experiment, set and policy."""
    found = {}
    for result in run.results:
        family, _, name = result.bench.partition(".")
        if family != "hart" or FIGURE not in result.figures or result.load != "none":
            continue
        policy = str(result.params.get("policy", "rm")).lower()
        policy = policy if policy in POLICIES else "rm"  # fixed priorities are rate monotonic
        found[name, str(result.params.get("set", "auto")), policy] = result
    return found


def percent(result: Result) -> float | None:
    """The measured breakdown utilisation in percent."""
    value = result.figures[FIGURE].value
    return None if value is None else float(value)


def whole(result: Result, name: str) -> int | None:
    """A figure as a whole number, RAW_SPEED or FACTOR; None if the run does not tell it."""
    figure = result.figures.get(name)
    return round(figure.value) if figure and figure.value else None


def asks(
    names: tuple[str, ...], task_sets: str, policies: tuple[str, ...], raw: int | None
) -> Iterator[Ask]:
    """The experiments asked for; PN has the sei numbers alone.  Raises UsageError."""
    for name in names or EXPERIMENTS:
        if name not in EXPERIMENTS:
            raise unknown("experiment", name, EXPERIMENTS)
        series = name.split(".")[0]
        if task_sets != "auto" and task_sets not in BASELINES[series]:
            if names:
                raise UsageError(
                    f"experiment '{name}' has no set '{task_sets}', in --set; "
                    f"known: auto, {', '.join(BASELINES[series])}"
                )
            continue
        base = BASELINES[series]["sei" if task_sets == "auto" else task_sets]
        for policy in policies:
            yield Ask(name, task_sets, policy, raw or default_raw(base, task_sets))


def default_raw(base: Tasks, task_sets: str) -> int:
    """A raw speed of which the baseline is 20%; for auto one of today, since its loads follow."""
    return 1_000_000 if task_sets == "auto" else int(total(base) / BASELINE)
