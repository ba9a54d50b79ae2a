"""What was asked of a run, written before it starts."""

from __future__ import annotations

import msgspec

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

    def expected_s(self, case: Case) -> float | None:
        """How long a case will take, in s, where its parameters tell."""
        time, samples, period = (self.value(case, name) for name in ("time", "samples", "period"))
        if isinstance(time, int) and time > 0:
            return time / 1e9
        if isinstance(samples, int) and isinstance(period, int):
            return samples * period / 1e9
        return None
