"""The single samples of a result, read back from logs that are written here."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from rtstone.documents.imported import TOOL
from rtstone.documents.plan import Plan, Until
from rtstone.documents.run import Result, Run
from rtstone.errors import Inconclusive, UsageError
from rtstone.results.assembly import replay
from rtstone.results.samples import samples
from rtstone.wire.buckets import index_of
from tests.results.test_assembly import case, result, whole

HZ, OVERHEAD = 2_893_301_000, 31
DRAWN = [int(v) for v in np.random.default_rng(7).lognormal(9, 1, 1500)]
OTHERS = [7_000_000, 31, 12]


def raw_records(number: int, series: str, ticks: list[int], hz: int = HZ) -> list[dict[str, Any]]:
    """The records of a series that keeps its samples."""
    parts = [
        {"t": "raw", "id": number, "series": series, "at": at, "v": ticks[at : at + 512]}
        for at in range(0, len(ticks), 512)
    ]
    counts = {index_of(v, 7): 0 for v in sorted(ticks)}
    for v in ticks:
        counts[index_of(v, 7)] += 1
    whole_result = result(
        number, series=series, hz=hz, overhead=OVERHEAD, n=len(ticks), sum=sum(ticks),
        min=min(ticks), max=max(ticks), hist=[list(pair) for pair in counts.items()],
        negative=sum(v < OVERHEAD for v in ticks), worst=[], trace=None, blocks=None,
    )  # fmt: skip
    return [*parts, whole_result]


def of_case(number: int, *records: dict[str, Any], **end: Any) -> list[dict[str, Any]]:
    bodies = case(number, *records, **end)
    bodies[0]["params"] |= {"raw": True}
    return bodies


def net(ticks: list[int], hz: int = HZ) -> list[float]:
    return [round((v * (1e9 / hz)) - (OVERHEAD * (1e9 / hz)), 4) for v in ticks]


def located(plan: Plan, run: Run, result: Result, *logs: bytes) -> list[float]:
    values: list[float] = samples(run, result, plan, logs).tolist()
    return values


def test_samples_come_back_in_their_order_net_and_by_series(plan: Plan) -> None:
    log = b"".join(
        whole(
            of_case(1, *raw_records(1, "CPU 0", DRAWN), *raw_records(1, "CPU 1", OTHERS)),
            of_case(2, *raw_records(2, "", OTHERS)), case(3), hz=HZ,
        )
    )  # fmt: skip
    run = replay(plan, log)
    first, second, third, plain = run.results
    assert located(plan, run, first, log) == net(DRAWN)
    assert located(plan, run, second, log) == located(plan, run, third, log) == net(OTHERS)
    assert (min(net(DRAWN)), max(net(DRAWN))) == (first.min, first.max)
    with pytest.raises(UsageError, match=r"no single samples of ctx\.ballast.* -p raw=on"):
        samples(run, plain, plan, [log])


def test_samples_that_were_lost_are_not_passed_over(plan: Plan) -> None:
    lines = whole(of_case(1, *raw_records(1, "", DRAWN)), case(2), case(3), hz=HZ)
    run = replay(plan, b"".join(lines))
    result = run.results[0]
    holed = b"".join(line for line in lines if b'"at":512' not in line)
    with pytest.raises(Inconclusive, match=r"988 of 1500 samples of ctx\.ballast.* in its logs"):
        samples(run, result, plan, [holed])
    with pytest.raises(Inconclusive, match="0 of 1500"):
        samples(run, result, plan, [])


def test_of_a_case_that_was_started_anew_the_second_start_counts(plan: Plan) -> None:
    stopped = of_case(1, *raw_records(1, "", OTHERS), status="failed", reason="it broke")
    first = b"".join(whole(stopped, hz=HZ))
    second = b"".join(whole(of_case(1, *raw_records(1, "", DRAWN)), case(2), case(3), hz=HZ))
    run = replay(plan, first, second)
    assert located(plan, run, run.results[0], first, second) == net(DRAWN)


def test_rounds_follow_each_other_and_each_has_its_clock(plan: Plan) -> None:
    until = Until(statistic="p50", share=0.5, time_ns=10**9)
    in_rounds = msgspec.structs.replace(plan, until=until, cases=plan.cases[:1])
    first, *_ = in_rounds.cases
    ids = [in_rounds.round(first, number).id for number in (1, 2)]
    log = b"".join(
        whole(
            of_case(ids[0], *raw_records(ids[0], "", DRAWN)),
            of_case(ids[1], *raw_records(ids[1], "", OTHERS, hz=10**9)), hz=HZ,
        )
    )  # fmt: skip
    run = replay(in_rounds, log)
    (result,) = run.results
    assert result.n == len(DRAWN) + len(OTHERS)
    assert result.grid is None  # two clocks
    result = msgspec.structs.replace(result, params={**result.params, "raw": True})
    assert located(in_rounds, run, result, log) == [*net(DRAWN), *net(OTHERS, 10**9)]


def test_a_round_that_was_stopped_is_part_of_the_result_or_not(plan: Plan) -> None:
    until = Until(statistic="p50", share=0.5, time_ns=10**9)
    in_rounds = msgspec.structs.replace(plan, until=until, cases=plan.cases[:1])
    ids = [in_rounds.round(in_rounds.cases[0], number).id for number in (1, 2)]
    stopped = of_case(ids[1], *raw_records(ids[1], "", OTHERS), status="failed", reason="stopped")
    log = b"".join(whole(of_case(ids[0], *raw_records(ids[0], "", DRAWN)), stopped, hz=HZ))
    run = replay(in_rounds, log)
    result = msgspec.structs.replace(run.results[0], params={"raw": True})
    for n, ticks in ((len(DRAWN), DRAWN), (len(DRAWN) + len(OTHERS), [*DRAWN, *OTHERS])):
        assert located(in_rounds, run, msgspec.structs.replace(result, n=n), log) == net(ticks)


def test_imported_results_have_none(plan: Plan) -> None:
    run = replay(plan, b"".join(whole(case(1), case(2), case(3))))
    detail = {TOOL: "cyclictest 2.5"}
    run = msgspec.structs.replace(
        run, target=msgspec.structs.replace(run.target, name="import:cyclictest", detail=detail)
    )
    with pytest.raises(UsageError, match=r"of what cyclictest 2\.5 recorded the histogram is kept"):
        samples(run, run.results[0], plan, [])
