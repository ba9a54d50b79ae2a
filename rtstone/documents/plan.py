"""The plan of a run, written before it starts."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import structs

from rtstone.cpus import ALL, cpu_set
from rtstone.documents.attribution import Attribution
from rtstone.documents.run import Requirement, Target, Turn, Value
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench, Load, TextTable

SCHEMA = "rtstone.plan/1"
ROUNDS = 1_000_000  # exceeds the number of rounds of any case; docs/reference/wire.md

NONE = "none"

# Default place of a load, by the configuration of the cases under it.
_PLACES = {"1cpu": "measured", "2cpu": "any"}

# What a suite's load is replaced by on a system that does not have it.
STAND_INS = {"heavy": "heavy/reduced"}
# What a stand-in leaves out.
REDUCED = {"heavy/reduced": "reduced: no disk, no network, no file search"}

UntilStatistic = Literal["p50", "p99"]
LIMIT_NS = 60 * NS_PER_S  # default limit of the measured time of each case


def load_name(spec: str) -> str:
    """Return the name without parameters: ``driver`` of ``driver:device=/dev/sdb``."""
    return spec.partition(":")[0]


class LoadSpec(msgspec.Struct, frozen=True):
    """A load with the given parameters; the others have their defaults."""

    name: str = NONE
    params: dict[str, Value] = {}

    def beside(self, config: Value, cpus: Value, table: Load) -> LoadSpec:
        """Return the load with the place that the case's configuration and CPUs require."""
        placed: dict[str, Value] = {}
        if table.param("place") and str(config) in _PLACES:
            placed["place"] = _PLACES[str(config)]
        if table.param("away") and cpus:
            placed["away"] = cpus
        return LoadSpec(self.name, placed | self.params)


# Its samples are the times between wake-ups, not how late one was.
INTERVALS = frozenset({"dk.latencytest"})


def wake_ups(benches: Iterable[Bench]) -> frozenset[str]:
    """Return the ids of the benches that release a task once a period, and time how late it is."""
    periodic = (bench.id for bench in benches if bench.param("period") is not None)
    return frozenset(periodic) - INTERVALS


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """The stop criterion of `--until`: precision of a statistic, and time limit.

    ``share``: the requested width, the distance of the statistic to the farther end of its 95%
    confidence interval, as a share of the statistic.  ``time_ns``: measuring time limit per case.
    """

    share: float
    statistic: UntilStatistic = "p50"
    time_ns: int = LIMIT_NS

    @property
    def time_s(self) -> float:
        """The time limit in s."""
        return self.time_ns / NS_PER_S


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """What is traced: at most ``keep`` samples of each case, the largest above ``above_ns``.

    ``stacks``: the kernel's stack is recorded where a real-time task is woken.
    """

    above_ns: int
    keep: int
    stacks: bool = False


class Case(msgspec.Struct, frozen=True):
    """A bench with the given parameters; the others have their defaults.

    ``load``: as written by the user; ``Plan.calls`` has it parsed.
    """

    id: int
    bench: str
    params: dict[str, Value]
    load: str = NONE


class UnsupportedCase(Case, frozen=True):
    """A case that the target cannot run, and why; it has only the parameters that are the cause."""

    reason: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a run in their order, and the tables of the benches and loads they name.

    ``absent``: requested cases that this target does not support.  ``derived``: cases computed from
    the results of others instead of being run.  ``calls``: loads by ``Case.load``.  ``scale_s``:
    the suite's time limit per case in s, if its publication measured for longer.  ``environment``:
    the findings of `rtstone doctor` at the start of the run, if a case requests them.
    ``surroundings``: conditions that the agent cannot report.  ``turn``: the place of the run in an
    interleaved comparison.  ``until``: each case is run in rounds, which are separate cases on the
    wire.  ``arrival``: sequence number of the run in the store, as clocks may go back; 0 for runs
    older than these numbers.  ``listed_by``: source hash of the agent that listed the benches,
    which need not be the one that runs them.  ``name``: what a person calls the run.
    ``session``: as in the run document.  ``trace``: None if no case is traced.
    ``attribution``: how the parts of a load are taken apart, None if they are not.
    ``requirement``: as in the run document; it concerns the cases of ``required``.
    """

    schema: str = SCHEMA
    run_id: str
    created: str
    command: list[str]
    suite: str | None
    target: Target
    keep_idle: bool
    cases: list[Case]
    absent: list[UnsupportedCase] = []
    derived: list[Case] = []
    benches: dict[str, Bench]
    calls: dict[str, LoadSpec] = {}
    loads: dict[str, Load] = {}
    scale_s: float | None = None
    environment: TextTable | None = None
    surroundings: dict[str, str | None] = {}
    turn: Turn | None = None
    until: Until | None = None
    arrival: int = 0
    listed_by: str | None = None
    name: str | None = None
    session: str | None = None
    trace: Trace | None = None
    attribution: Attribution | None = None
    requirement: Requirement | None = None

    def __post_init__(self) -> None:
        named = {case.bench for case in (*self.cases, *self.absent, *self.derived)}
        if lost := named - self.benches.keys():
            raise ValueError(f"no table of {min(lost)}")
        if lost := {call.name for call in self.calls.values()} - self.loads.keys() - {NONE}:
            raise ValueError(f"no table of load {min(lost)}")

    def round(self, case: Case, number: int, params: dict[str, Value] | None = None) -> Case:
        """Return a round (from 1) as sent over the wire."""
        return structs.replace(
            case, id=case.id * ROUNDS + number, params={**case.params, **(params or {})}
        )

    def first(self, case: Case) -> Case:
        """Return the first round of a case: as requested, but within the time limit."""
        longest = self.limit_s(case)
        if self.until is None or longest is None or longest <= self.until.time_s:
            return self.round(case, 1)
        return self.round(case, 1, {"time": self.until.time_ns})

    def case_of(self, wire_id: int) -> int:
        """Return the id of the case that a wire id belongs to: that of a round, or its own."""
        return wire_id // ROUNDS if wire_id >= ROUNDS else wire_id

    @property
    def endless(self) -> bool:
        """Return whether it measures until it is stopped."""
        return self.until is None and any(
            self.value(case, "samples") == self.value(case, "time") == 0 for case in self.cases
        )

    def value(self, case: Case, name: str) -> Value:
        """Return the value a parameter has in a case, None if the bench has no such parameter."""
        if name in case.params:
            return case.params[name]
        param = self.benches[case.bench].param(name)
        return None if param is None else param.default

    def call(self, case: Case) -> LoadSpec:
        """Return the load to run during a case, with its place."""
        call = self.calls.get(case.load, LoadSpec())
        if call.name == NONE:
            return call
        table = self.loads[call.name]
        return call.beside(self.value(case, "config"), self.value(case, "cpus"), table)

    def cpus(self, chosen: frozenset[int], usable: frozenset[int]) -> frozenset[int]:
        """Return the CPUs that the cases use.

        ``chosen``: the agent's default; ``usable``: all that it may use.
        """
        lists = {self.value(case, "cpus") for case in self.cases}
        named = {None: chosen, "": chosen, ALL: usable}
        return frozenset[int]().union(
            *(named[text] if text in named else cpu_set(str(text)) for text in lists)
        )

    def limit_s(self, case: Case) -> float | None:
        """Return the time limit of a case in s, None if its parameters do not give one."""
        time = self.value(case, "time")
        by_time = time / NS_PER_S if isinstance(time, int) and time > 0 else None
        by_samples = self._by_samples_s(case)
        return min((s for s in (by_time, by_samples) if s is not None), default=None)

    def expected_s(self, case: Case) -> float | None:
        """Return the expected duration in s.

        None if it is unknown: for targets that count instructions, and for cases that end after a
        number of samples that take unknown time.
        """
        return None if self.target.detail.get("instructions_per_s") else self.own_time_s(case)

    def own_time_s(self, case: Case) -> float | None:
        """Return the expected duration in s of the target's own time, None if it is unknown.

        A case that ends after a number of samples rarely lasts until its time limit.
        """
        limited = not self.value(case, "samples") or self._by_samples_s(case) is not None
        return self.limit_s(case) if limited else None

    def required(self, case: Case) -> Requirement | None:
        """Return what is required of a case: of wake-ups alone, if some are measured."""
        concerned = self.requirement and wake_ups(self.benches.values())
        return self.requirement if not concerned or case.bench in concerned else None

    def limits_ns(self, case: Case) -> tuple[int, int]:
        """Return the latencies that are required of a case, as its agent takes them; 0: none.

        Half an instruction more is above none, whatever the steps of the agent's clock.
        """
        required = self.required(case)
        return (0, 0) if required is None else self.in_ns(required)

    def in_ns(self, required: Requirement) -> tuple[int, int]:
        """Return both latencies in ns of the target's time; 0: none."""
        rate = self.target.detail.get("instructions_per_s")
        latencies = (required.latency, required.stop_above or 0)
        if required.unit == "ns" or not isinstance(rate, int):
            return latencies
        miss, stop = ((2 * n + 1) * NS_PER_S // (2 * rate) if n else 0 for n in latencies)
        return miss, stop

    def _by_samples_s(self, case: Case) -> float | None:
        samples, period = self.value(case, "samples"), self.value(case, "period")
        if isinstance(samples, int) and samples > 0 and isinstance(period, int):
            return samples * period / NS_PER_S
        return None


def run_id(created: datetime, name: str) -> str:
    """Return a run id that sorts by time; a random tail distinguishes simultaneous runs."""
    word = "".join(letter if letter.isalnum() or letter in "._" else "_" for letter in name)
    moment = f"{created:%Y%m%d-%H%M%S}.{created.microsecond // 1000:03}"
    return f"{moment}-{word[:40]}-{secrets.token_hex(2)}"
