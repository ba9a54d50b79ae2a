"""What was asked of a run, written before it starts."""

from __future__ import annotations

import msgspec

from rtstone.model.benches import cpu_set
from rtstone.model.documents import Target, Value
from rtstone.wire.records import Bench

SCHEMA = "rtstone.plan/1"


class Case(msgspec.Struct, frozen=True):
    """A bench with the parameters that were given; the others have their defaults."""

    id: int
    bench: str
    params: dict[str, Value]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a run, and the tables of the benches they name."""

    schema: str = SCHEMA
    run_id: str
    created: str
    command: list[str]
    suite: str | None
    target: Target
    load: str
    keep_idle: bool
    cases: list[Case]
    benches: dict[str, Bench]

    def value(self, case: Case, name: str) -> Value:
        """The value a parameter has in a case, None if the bench has no such parameter."""
        if name in case.params:
            return case.params[name]
        param = self.benches[case.bench].param(name)
        return None if param is None else param.default

    def cpus(self, chosen: frozenset[int]) -> frozenset[int]:
        """The CPUs that are measured on; ``chosen``: the agent's own choice."""
        lists = {self.value(case, "cpus") for case in self.cases}
        return frozenset[int]().union(*(cpu_set(str(text)) if text else chosen for text in lists))

    def limit_s(self, case: Case) -> float | None:
        """The longest that a case will take, in s, where its parameters tell."""
        time = self.value(case, "time")
        by_time = time / 1e9 if isinstance(time, int) and time > 0 else None
        by_samples = self._by_samples_s(case)
        return min((s for s in (by_time, by_samples) if s is not None), default=None)

    def expected_s(self, case: Case) -> float | None:
        """How long it will take, in s, where they tell: `time` is only a limit to `samples`."""
        limited = not self.value(case, "samples") or self._by_samples_s(case) is not None
        return self.limit_s(case) if limited else None

    def _by_samples_s(self, case: Case) -> float | None:
        samples, period = self.value(case, "samples"), self.value(case, "period")
        if isinstance(samples, int) and samples > 0 and isinstance(period, int):
            return samples * period / 1e9
        return None
