"""Python interface of the simulator in C (engine.c)."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtstone import resources
from rtstone.errors import UsageError
from rtstone.simulate.taskset import (
    PROTOCOLS,
    SERVERS,
    Ints,
    Rules,
    TaskSet,
    TaskSets,
    levels,
    priorities,
    stacked,
)

LIBRARY = resources.path("_engine", "engine.so")
ENGINE_VARIABLE = "RTSTONE_ENGINE"  # another build of the engine, for tests

# As in engine.h; rm, dm and value density are fixed priorities with different ranks, fixed has
# those of the task set.
_POLICIES = {"fixed": 0, "rm": 0, "dm": 0, "value": 0, "fifo": 1, "rr": 2, "edf": 3, "llf": 4}
SET = (
    "tasks", "end", "period", "deadline", "offset", "nominal", "work", "first", "prio", "level",
    "resources", "action_first", "action_at", "action_what", "requests", "arrival", "request_work",
    "settled",
)  # fmt: skip
_NUMBERS = {"tasks", "end", "resources", "requests", "settled"}  # of SET; the others are addresses
RULES = (
    "policy", "protocol", "server", "server_period", "server_budget", "quantum", "switch_cost",
    "tick", "tick_cost", "first_miss",
)  # fmt: skip
COUNTS = (
    "released", "completed", "due", "met", "missed", "late", "lateness", "worst",
    "preemptions",
)  # fmt: skip
TOTALS = (
    "events", "switches", "ticks", "idle", "overhead", "executed", "served", "response",
    "worst_response",
)  # fmt: skip
_SET = np.dtype([(name, np.int64 if name in _NUMBERS else np.uintp) for name in SET], align=True)
_COUNTS = np.dtype([(name, np.int64) for name in COUNTS])
_TOTALS = np.dtype([(name, np.int64) for name in TOTALS])
Records = NDArray[np.void]


class Totals(NamedTuple):
    """Totals of a simulation; ``idle`` + ``overhead`` + ``executed`` is the simulated time."""

    events: int
    switches: int
    ticks: int
    idle: int
    overhead: int
    executed: int
    served: int
    response: int
    worst_response: int


class Outcome(NamedTuple):
    """The outcome of simulating a task set.

    ``counts``: an entry per task with the members of COUNTS.  ``completed``,
    ``request_completed``: completion times of jobs and requests, -1 if not completed; None unless
    requested.
    """

    counts: Records
    totals: Totals
    completed: Ints | None
    request_completed: Ints | None


class Outcomes(NamedTuple):
    """The outcomes of task sets.

    ``counts``: a row per set, an entry per task with the members of COUNTS.  ``totals``: an entry
    per set with those of TOTALS.  ``completed``, ``request_completed``: as in TaskSets.
    """

    counts: Records
    totals: Records
    completed: Ints | None
    request_completed: Ints | None


@cache
def library() -> ctypes.CDLL:
    """Load the library built from the C sources.  Raises UsageError."""
    path = os.environ.get(ENGINE_VARIABLE, LIBRARY)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise UsageError(f"the simulator is not built, {path}: {error}; run: make engine") from None


def require() -> None:
    """Raise UsageError if the simulator has not been built."""
    library()


class Simulator:
    """Task sets, prepared for simulation under several sets of rules."""

    def __init__(self, tasks: TaskSets) -> None:
        self._run = library().sim_run
        self._arrays: dict[str, Ints] = {}
        self._sets = np.zeros(len(tasks.period), _SET)
        self._sets["tasks"], self._sets["end"] = tasks.period.shape[1], tasks.end
        self._sets["resources"] = tasks.action_what.max(initial=0)
        self._sets["requests"] = tasks.requests
        self._tasks = tasks
        for name in ("period", "deadline", "offset", "first", "action_first"):
            self._give_rows(name, getattr(tasks, name))
        self._give("action_what", tasks.action_what)
        earlier = np.cumsum(tasks.requests) - tasks.requests
        for name in ("arrival", "request_work"):
            self._give(name, getattr(tasks, name), earlier)
        # What the C side relies on (engine.h).
        for member in ("period", "deadline", "offset"):
            _check_tasks(tasks, member)
        arrival, request = tasks.arrival, tasks.request_work
        if arrival.shape != request.shape or request.min(initial=1) < 1:
            raise ValueError("requests of a task set: an arrival and positive work each")
        backwards = np.flatnonzero(arrival[1:] < arrival[:-1]) + 1  # where the next set begins
        if arrival.min(initial=0) < 0 or not set(backwards) <= set(np.cumsum(tasks.requests)):
            raise ValueError("arrivals of a task set: in order")
        self.renew(tasks)

    def renew(self, tasks: TaskSets) -> None:
        """Take the same sets with other execution times."""
        _check_tasks(tasks, "nominal")
        work = tasks.work
        if work is not None and (work.shape != (tasks.first[-1, -1],) or work.min(initial=1) < 1):
            raise ValueError("work of a task set: one positive number per job")
        self._tasks = tasks
        self._give_rows("nominal", tasks.nominal)
        self._give("work", tasks.work)
        self._give("action_at", tasks.action_at)

    def _give(self, name: str, array: Ints | None, begin: Ints | int = 0) -> None:
        """Let each set have an array on the C side, from an index on."""
        if array is None:
            self._sets[name] = 0
            return
        # Referenced for as long as the C side has its address.
        shared = self._arrays[name] = np.ascontiguousarray(array, np.int64)
        self._sets[name] = shared.ctypes.data + shared.itemsize * begin

    def _give_rows(self, name: str, array: Ints) -> None:
        self._give(name, array, array.shape[1] * np.arange(len(array)))

    def run(
        self,
        rules: Rules,
        *,
        which: Ints | None = None,
        settled: Ints | int = 0,
        completions: bool = False,
    ) -> Outcomes:
        """Simulate from 0 to the end of the task sets, all of them or those with these numbers.

        ``settled``: of each set, as in engine.h.  Completions are those of all sets.
        """
        if _POLICIES[rules.policy] == 0:
            self._give_rows("prio", priorities(self._tasks, rules))
        if rules.protocol == "ceiling":
            self._give_rows("level", levels(self._tasks, rules))
        self._sets["settled"] = settled
        sets = self._sets if which is None else self._sets[which]
        counts = np.empty((len(sets), self._tasks.period.shape[1]), _COUNTS)
        totals = np.empty(len(sets), _TOTALS)
        completed = np.empty(self._tasks.first[-1, -1], np.int64) if completions else None
        requests = np.empty(len(self._tasks.arrival), np.int64) if completions else None
        failed = self._run(
            _address(sets),
            ctypes.c_int64(len(sets)),
            _rules(rules),
            _address(counts),
            _address(totals),
            _address(completed),
            _address(requests),
        )
        if failed:
            raise MemoryError
        return Outcomes(counts, totals, completed, requests)


def simulate(tasks: TaskSet, rules: Rules, *, completions: bool = False) -> Outcome:
    """Simulate a task set once."""
    outcomes = Simulator(stacked([tasks])).run(rules, completions=completions)
    return Outcome(outcomes.counts[0], Totals(*outcomes.totals[0].item()), *outcomes[2:])


def _check_tasks(tasks: TaskSets, name: str) -> None:
    array = getattr(tasks, name)
    if array.shape != tasks.period.shape or array.min(initial=1) < (name != "offset"):
        raise ValueError(f"{name} of a task set: one positive number per task")


def _address(array: NDArray[Any] | None) -> ctypes.c_void_p | None:
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _rules(rules: Rules) -> ctypes.Array[ctypes.c_int64]:
    served = rules.server != "background"
    if rules.quantum < 1 or (served and not 0 < rules.server_budget <= rules.server_period):
        raise ValueError("a quantum, and of a server budget and period, are positive")
    numbers = {
        "policy": _POLICIES[rules.policy],
        "protocol": PROTOCOLS.index(rules.protocol),
        "server": SERVERS.index(rules.server),
    }
    values = [numbers.get(name, getattr(rules, name)) for name in RULES]
    return (ctypes.c_int64 * len(RULES))(*(int(value) for value in values))
