"""What was asked of a run, written before it starts."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import structs

from rtstone.cpus import cpu_set
from rtstone.documents.run import Target, Turn, Value
from rtstone.wire.records import Bench, Load, TextTable

SCHEMA = "rtstone.plan/1"
ROUNDS = 1_000_000  # more than a case can have; docs/wire.md

NONE = "none"

# Where a load runs if its caller does not say, by the configuration of the cases under it.
_PLACES = {"1cpu": "measured", "2cpu": "any"}

UntilStatistic = Literal["p50", "p99"]
LIMIT_NS = 60 * 10**9  # of measuring, for each case, where nothing else is asked


class LoadSpec(msgspec.Struct, frozen=True):
    """A load with the parameters that were given; the others have their defaults."""

    name: str = NONE
    params: dict[str, Value] = {}

    def beside(self, config: Value, cpus: Value, table: Load) -> LoadSpec:
        """Return the same, placed as cases of that configuration and with those CPUs want it."""
        placed: dict[str, Value] = {}
        if table.param("place") and str(config) in _PLACES:
            placed["place"] = _PLACES[str(config)]
        if table.param("away") and cpus:
            placed["away"] = cpus
        return LoadSpec(self.name, placed | self.params)


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """How well a figure has to be known, and how long it may take.

    ``share``: the width that is asked for, which is the distance of the figure to the farther end
    of its 95% interval, as a share of the figure.  ``time_ns``: of measuring, for each case.
    """

    share: float
    statistic: UntilStatistic = "p50"
    time_ns: int = LIMIT_NS

    @property
    def time_s(self) -> float:
        """The limit in s."""
        return self.time_ns / 1e9


class Case(msgspec.Struct, frozen=True):
    """A bench with the parameters that were given; the others have their defaults.

    ``load`` is what a person wrote for it, see ``Plan.calls``.
    """

    id: int
    bench: str
    params: dict[str, Value]
    load: str = NONE


class UnsupportedCase(Case, frozen=True):
    """A case that the target cannot run, and why.  Its parameters are those to blame, or none."""

    reason: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a run in their order, and the tables of the benches and loads they name.

    ``absent`` are what was asked for and is not to be had on this target, though it is elsewhere.
    ``derived`` are made from the results of the others, and so not run.  ``scale_s``: what a suite
    limited its cases to, in s, where its publication measured for longer.  ``environment``: what
    `rtstone doctor` found when the run began, where a case asks for it.  ``surroundings``:
    conditions that the agent cannot tell.  ``turn``: its place in a comparison that measures.
    ``until``: each case is run in rounds, which are cases of their own on the wire.  ``arrival``:
    its number in the order in which the store took up its runs, as clocks may go back; 0: it is
    older than these numbers.  ``listed_by``: the hash of the source of the agent that told what
    can be run, which need not be the one that runs it.
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
    calls: dict[str, LoadSpec] = {}  # by Case.load
    loads: dict[str, Load] = {}
    scale_s: float | None = None
    environment: TextTable | None = None
    surroundings: dict[str, str | None] = {}
    turn: Turn | None = None
    until: Until | None = None
    arrival: int = 0
    listed_by: str | None = None

    def __post_init__(self) -> None:
        named = {case.bench for case in (*self.cases, *self.absent, *self.derived)}
        if lost := named - self.benches.keys():
            raise ValueError(f"no table of {min(lost)}")
        if lost := {call.name for call in self.calls.values()} - self.loads.keys() - {NONE}:
            raise ValueError(f"no table of load {min(lost)}")

    def round(self, case: Case, number: int, params: dict[str, Value] | None = None) -> Case:
        """A round of a case, from 1, as it goes over the wire; the case itself if it has none."""
        if self.until is None:
            return case
        return structs.replace(
            case, id=case.id * ROUNDS + number, params={**case.params, **(params or {})}
        )

    def first(self, case: Case) -> Case:
        """Return the first round of a case: as it was asked for, but within the time there is."""
        longest = self.limit_s(case)
        if self.until is None or longest is None or longest <= self.until.time_s:
            return self.round(case, 1)
        return self.round(case, 1, {"time": self.until.time_ns})

    def case_of(self, wire_id: int) -> int:
        """Return the number of the case that a number on the wire belongs to."""
        return wire_id if self.until is None else wire_id // ROUNDS

    def value(self, case: Case, name: str) -> Value:
        """Return the value a parameter has in a case, None if the bench has no such parameter."""
        if name in case.params:
            return case.params[name]
        param = self.benches[case.bench].param(name)
        return None if param is None else param.default

    def call(self, case: Case) -> LoadSpec:
        """Return the load to run beside a case, with its place."""
        call = self.calls.get(case.load, LoadSpec())
        if call.name == NONE:
            return call
        table = self.loads[call.name]
        return call.beside(self.value(case, "config"), self.value(case, "cpus"), table)

    def cpus(self, chosen: frozenset[int]) -> frozenset[int]:
        """Return the CPUs that are measured on; ``chosen``: the agent's own choice."""
        lists = {self.value(case, "cpus") for case in self.cases}
        return frozenset[int]().union(*(cpu_set(str(text)) if text else chosen for text in lists))

    def limit_s(self, case: Case) -> float | None:
        """Return the longest that a case will take, in s, where its parameters tell."""
        time = self.value(case, "time")
        by_time = time / 1e9 if isinstance(time, int) and time > 0 else None
        by_samples = self._by_samples_s(case)
        return min((s for s in (by_time, by_samples) if s is not None), default=None)

    def expected_s(self, case: Case) -> float | None:
        """Return how long it will take, in s, where they tell: `time` is only a limit to `samples`.

        What counts instructions has a time of its own.
        """
        if self.target.detail.get("instructions_per_s"):
            return None
        limited = not self.value(case, "samples") or self._by_samples_s(case) is not None
        return self.limit_s(case) if limited else None

    def _by_samples_s(self, case: Case) -> float | None:
        samples, period = self.value(case, "samples"), self.value(case, "period")
        if isinstance(samples, int) and samples > 0 and isinstance(period, int):
            return samples * period / 1e9
        return None


def run_id(created: datetime, name: str) -> str:
    """Return the id of a run: it sorts by time, and its tail tells apart runs of one moment."""
    word = "".join(letter if letter.isalnum() or letter in "._" else "_" for letter in name)
    moment = f"{created:%Y%m%d-%H%M%S}.{created.microsecond // 1000:03}"
    return f"{moment}-{word[:40]}-{secrets.token_hex(2)}"
