from __future__ import annotations

import msgspec
import pytest

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Value
from rtstone.wire.records import Param

MS = 10**6


@pytest.mark.parametrize(
    ("params", "expected", "limit"),
    [
        ({"samples": 0, "time": 2000 * MS}, 2, 2),
        ({"samples": 100, "time": 2000 * MS}, None, 2),  # it may well take a millisecond
        ({"samples": 100, "time": 0}, None, None),
        ({"samples": 100, "period": 10 * MS, "time": 0}, 1, 1),
        ({"samples": 100, "period": 10 * MS, "time": 2000 * MS}, 1, 1),
        ({"samples": 100, "period": 10 * MS, "time": 500 * MS}, 0.5, 0.5),
        ({"samples": 0, "period": 10 * MS, "time": 500 * MS}, 0.5, 0.5),
    ],
)
def test_how_long_a_case_takes(
    plan: Plan, params: dict[str, Value], expected: float | None, limit: float | None
) -> None:
    case = Case(1, "ctx.ballast", params)
    assert plan.expected_s(case) == expected
    assert plan.limit_s(case) == limit


def test_the_cpus_that_are_measured_on(plan: Plan) -> None:
    def cpus_of(*lists: str | None) -> set[int]:
        params: list[dict[str, Value]] = [{"cpus": text} if text else {} for text in lists]
        cases = [Case(k, "ctx.ballast", param) for k, param in enumerate(params, 1)]
        return set(
            msgspec.structs.replace(plan, cases=cases).cpus(frozenset({7}), frozenset({5, 6}))
        )

    assert cpus_of("0", "1-2") == {0, 1, 2}
    assert cpus_of(None) == {7}
    assert cpus_of("0", None) == {0, 7}
    assert cpus_of("0", "all") == {0, 5, 6}
    bench = msgspec.structs.replace(
        plan.benches["ctx.ballast"], params=[Param("cpus", "cpus", default="3")]
    )
    assert msgspec.structs.replace(plan, benches={"ctx.ballast": bench}).cpus(
        frozenset(), frozenset()
    ) == {3}
