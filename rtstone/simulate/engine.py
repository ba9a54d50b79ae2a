"""Python interface of the simulator in C (engine.c)."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import NamedTuple

import numpy as np

from rtstone import resources
from rtstone.errors import UsageError
from rtstone.simulate.taskset import (
    PROTOCOLS,
    SERVERS,
    Ints,
    Rules,
    TaskSet,
    actions,
    levels,
    priorities,
)

LIBRARY = resources.path("_engine", "engine.so")
ENGINE_VARIABLE = "RTSTONE_ENGINE"  # another build of the engine, for tests

# As in engine.h; rm, dm and value density are fixed priorities with different ranks.
_POLICIES = {"rm": 0, "dm": 0, "value": 0, "fifo": 1, "rr": 2, "edf": 3, "llf": 4}
_ARRAY = ctypes.c_void_p


class _Set(ctypes.Structure):
    _fields_ = [
        ("tasks", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("period", _ARRAY),
        ("deadline", _ARRAY),
        ("offset", _ARRAY),
        ("nominal", _ARRAY),
        ("work", _ARRAY),
        ("first", _ARRAY),
        ("prio", _ARRAY),
        ("level", _ARRAY),
        ("resources", ctypes.c_int64),
        ("action_first", _ARRAY),
        ("action_at", _ARRAY),
        ("action_what", _ARRAY),
        ("requests", ctypes.c_int64),
        ("arrival", _ARRAY),
        ("request_work", _ARRAY),
    ]


RULES = (
    "policy", "protocol", "server", "server_period", "server_budget", "quantum", "switch_cost",
    "tick", "tick_cost", "stop_after_misses",
)  # fmt: skip
COUNTS = (
    "released", "completed", "due", "met", "missed", "late", "lateness", "worst",
    "preemptions",
)  # fmt: skip
TOTALS = (
    "events", "switches", "ticks", "idle", "overhead", "executed", "served", "response",
    "worst_response",
)  # fmt: skip
_COUNTS = np.dtype([(name, np.int64) for name in COUNTS])


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

    counts: np.ndarray[tuple[int], np.dtype[np.void]]
    totals: Totals
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
    """A task set, prepared for simulation under several sets of rules."""

    def __init__(self, tasks: TaskSet) -> None:
        self._run = library().sim_run
        self._tasks = tasks
        n = len(tasks.period)
        offset = np.zeros(n, np.int64) if tasks.offset is None else tasks.offset
        taken = actions(tasks) if any(tasks.sections) else [[] for _ in range(n)]
        flat = [action for of_task in taken for action in of_task]
        self._jobs = int(tasks.first[-1])
        arrays = {
            "period": tasks.period,
            "deadline": tasks.deadline,
            "offset": offset,
            "nominal": tasks.nominal,
            "work": tasks.work,
            "first": tasks.first,
            "action_first": np.cumsum([0, *(len(of_task) for of_task in taken)]),
            "action_at": np.array([at for at, _ in flat], np.int64),
            "action_what": np.array([what for _, what in flat], np.int64),
            "arrival": tasks.arrival,
            "request_work": tasks.request_work,
        }
        # Referenced for as long as the C side has their addresses.
        self._arrays = {name: _contiguous(array) for name, array in arrays.items()}
        self._check(n)
        self._set = _Set(tasks=n, end=tasks.end, requests=len(tasks.arrival))
        self._set.resources = max((what for _, what in flat), default=0)
        for name, array in self._arrays.items():
            setattr(self._set, name, None if array is None else array.ctypes.data)

    def _check(self, n: int) -> None:
        """Check what the C side relies on (engine.h).  Raises ValueError."""
        kept = self._arrays
        for name in ("period", "deadline", "offset", "nominal"):
            array = kept[name]
            assert array is not None
            if array.shape != (n,) or array.min(initial=1) < (name != "offset"):
                raise ValueError(f"{name} of a task set: one positive number per task")
        work, arrival, request = kept["work"], kept["arrival"], kept["request_work"]
        assert arrival is not None
        assert request is not None
        if work is not None and (work.shape != (self._jobs,) or work.min(initial=1) < 1):
            raise ValueError("work of a task set: one positive number per job")
        if arrival.shape != request.shape or request.min(initial=1) < 1:
            raise ValueError("requests of a task set: an arrival and positive work each")
        if (np.diff(arrival, prepend=0) < 0).any():
            raise ValueError("arrivals of a task set: in order")

    def run(self, rules: Rules, *, completions: bool = False) -> Outcome:
        """Simulate from 0 to the end of the task set."""
        prio = priorities(self._tasks, rules)
        level = levels(self._tasks, rules, prio)
        self._set.prio, self._set.level = prio.ctypes.data, level.ctypes.data
        counts = np.empty(len(self._tasks.period), _COUNTS)
        totals = (ctypes.c_int64 * len(TOTALS))()
        completed = np.empty(self._jobs, np.int64) if completions else None
        requests = np.empty(len(self._tasks.arrival), np.int64) if completions else None
        failed = self._run(
            ctypes.byref(self._set),
            _rules(rules),
            ctypes.c_void_p(counts.ctypes.data),
            totals,
            None if completed is None else ctypes.c_void_p(completed.ctypes.data),
            None if requests is None else ctypes.c_void_p(requests.ctypes.data),
        )
        if failed:
            raise MemoryError
        return Outcome(counts, Totals(*totals), completed, requests)


def simulate(tasks: TaskSet, rules: Rules, *, completions: bool = False) -> Outcome:
    """Simulate a task set once."""
    return Simulator(tasks).run(rules, completions=completions)


def _contiguous(array: Ints | None) -> Ints | None:
    return None if array is None else np.ascontiguousarray(array, np.int64)


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
