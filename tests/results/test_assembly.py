from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtstone.documents.consistency import check_sound
from rtstone.documents.plan import Plan
from rtstone.documents.run import Figure, Result, Run, Value
from rtstone.results.assembly import Assembly, replay
from rtstone.wire.records import Body
from tests.documents.absurd import mutated
from tests.wire.writer import Writer

HELLO = {
    "t": "hello", "wire": 2, "agent": "1", "source": "0", "port": "posix", "os": "Linux",
    "arch": "x", "compiler": "c", "flags": "f", "caps": [],
}  # fmt: skip


def clock(hz: int = 10**9, unit: str = "ns") -> dict[str, Any]:
    return {"t": "clock", "source": "tsc", "hz": hz, "granule": 1, "overhead": 20, "unit": unit}


def result(case: int, **members: Any) -> dict[str, Any]:
    base = {
        "t": "result", "id": case, "series": "", "hz": 10**9, "overhead": 20, "batch": 1, "n": 100,
        "warmup": 2, "sum": 10_000, "min": 10, "max": 190, "negative": 5, "overflow": 0, "bits": 7,
        "hist": [[10, 5], [100, 90], [190, 5]], "worst": [[190, 3, 500]],
        "trace": {"ticks": 10**9, "rows": [[2, 100, 10, 10_000, 190]]},
        "blocks": {"samples": 50, "max": [190, 100]}, "missed": None, "omitted": None,
        "figures": [], "ended": "samples",
    }  # fmt: skip
    return base | members


def case(number: int, *results: dict[str, Any], **end: Any) -> list[dict[str, Any]]:
    params = {"ballast": 10 * number, "policy": "fifo"}
    evidence = {"sched": "fifo", "locked": True, "tasks": 1, "nivcsw": 0}
    ending = {"t": "end", "id": number, "status": "ok", "reason": None, "evidence": evidence}
    start = {"t": "case", "id": number, "bench": "ctx.ballast", "params": params}
    return [start, *(results or [result(number)]), ending | end]


def bytes_of(bodies: list[dict[str, Any]]) -> list[bytes]:
    writer = Writer()
    return [writer.line(body) for body in bodies]


def whole(*cases: list[dict[str, Any]], hz: int = 10**9, unit: str = "ns") -> list[bytes]:
    conditions = {"t": "conditions", "values": {"sched.rt_runtime_us": "950000"}}
    start: list[dict[str, Any]] = [HELLO, clock(hz, unit), conditions]
    bodies = [body for case in cases for body in case]
    return bytes_of([*start, *bodies, {"t": "bye", "cases": len(cases)}])


def run_of(plan: Plan, lines: list[bytes]) -> Run:
    return replay(plan, b"".join(lines))


def only(plan: Plan, **members: Any) -> Result:
    """Return the result of a run whose first case has a series with these members."""
    return run_of(plan, whole(case(1, result(1, **members)), case(2), case(3))).results[0]


def test_a_whole_run(plan: Plan) -> None:
    run = run_of(plan, whole(case(1), case(2), case(3)))
    assert run.status == "complete"
    assert run.reason is None
    assert [r.status for r in run.results] == ["ok"] * 3
    assert run.clock is not None
    assert run.clock.overhead_ns == 20
    first = run.results[0]
    assert (first.n, first.min, first.mean, first.max) == (100, -10, 80, 170)
    assert (first.raw_min, first.raw_max) == (10, 190)
    assert (first.p50, first.p90, first.p99) == (80, 80, None)
    assert first.params == {"ballast": 10, "policy": "fifo"}
    assert first.histogram == [(-10, 5), (80, 90), (170, 5)]
    assert first.worst[0].value == 170
    assert first.trace is not None
    assert first.trace.rows == [(2.0, 100, -10, 80, 170)]
    assert first.blocks is not None
    assert first.blocks.max == [170, 80]
    assert "negative" in first.flags


def test_each_of_the_worst_samples_has_the_steal_around_it(plan: Plan) -> None:
    worst = [[190, 3, 500], [190, 4, 501]]

    def sections_of(**members: Any) -> list[int | None]:
        lines = whole(case(1, result(1, worst=worst, **members)), case(2), case(3))
        return [sample.steal_ns for sample in run_of(plan, lines).results[0].worst]

    assert sections_of(worst_steal=[20_000_000, 0]) == [20_000_000, 0]
    assert sections_of(worst_steal=None) == sections_of() == [None, None]
    assert sections_of(worst_steal=[0]) == []  # a record that contradicts itself is none


def test_the_document_survives_json(plan: Plan) -> None:
    run = run_of(plan, whole(case(1), case(2), case(3)))
    assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run


@given(st.data())
@settings(max_examples=150, derandomize=True, deadline=None, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
def test_whatever_an_agent_says_its_document_can_be_read(plan: Plan, data: st.DataObject) -> None:
    """Records that are well typed but nonsense: impossible ones are malformed and count as lost."""
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(Body)}
    bodies = [HELLO, clock(), {"t": "conditions", "values": {"cpu.online": [0], "x": 1}}]
    bodies += [body for number in (1, 2, 3) for body in case(number)]
    place = data.draw(st.integers(0, len(bodies) - 1))
    odd = data.draw(mutated(bodies[place], kinds[bodies[place]["t"]]))
    if isinstance(odd, dict):
        bodies[place] = odd | {"t": bodies[place]["t"]}
    run = run_of(plan, bytes_of([*bodies, {"t": "bye", "cases": 3}]))
    assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run
    check_sound(run)


@pytest.mark.parametrize("value", [{"a": 1}, [{}], [[[1]]], 1e61, 1 << 63])
@pytest.mark.parametrize("record", ["conditions", "case", "end"])
def test_what_no_document_can_hold_is_malformed(plan: Plan, record: str, value: object) -> None:
    bodies = [HELLO, clock(), {"t": "conditions", "values": {}}, *case(1), *case(2), *case(3)]
    member = {"conditions": "values", "case": "params", "end": "evidence"}[record]
    for body in bodies:
        if body["t"] == record:
            body[member] = {"odd": value}
    run = run_of(plan, bytes_of([*bodies, {"t": "bye", "cases": 3}]))
    assert "odd" not in run.conditions
    assert any("malformed" in note for note in run.notes)


def test_a_text_in_place_of_the_number_that_a_slope_is_over(plan: Plan) -> None:
    document = {"t": "conditions", "values": {}}
    bodies = [HELLO, clock(), document, *case(1), *case(2), *case(3)]
    bodies[3] = bodies[3] | {"params": {"ballast": "many", "policy": "fifo"}}
    run = run_of(plan, bytes_of([*bodies, {"t": "bye", "cases": 3}]))
    assert (run.status, run.slopes) == ("complete", [])


def test_ticks_become_net_nanoseconds(plan: Plan) -> None:
    # 2.5 GHz: (190 - 20) ticks are 68 ns
    run = only(plan, hz=2_500_000_000)
    assert (run.max, run.min, run.raw_max) == (68, -4, 76)


def test_a_sample_is_held_against_the_steps_of_its_own_cpus_clock(plan: Plan) -> None:
    assert "coarse" not in only(plan).flags
    assert "coarse" in only(plan, granule=10**6).flags


def test_instructions_are_not_time(plan: Plan) -> None:
    run = run_of(plan, whole(case(1), case(2), case(3), hz=10**6, unit="instructions"))
    assert run.results[0].unit == "instructions"
    assert run.results[0].max == 170


def on_a_board(plan: Plan, instructions_per_s: int) -> Plan:
    """Return the same plan on a target whose virtual time counts instructions."""
    detail: dict[str, Value] = {"instructions_per_s": instructions_per_s}
    target = msgspec.structs.replace(plan.target, detail=detail)
    return msgspec.structs.replace(plan, target=target)


def test_a_board_turns_ticks_into_the_instructions_that_they_stand_for(plan: Plan) -> None:
    """The Cortex-M3 of the lab: 25 MHz and 128 ns per instruction are 3.2 ticks per instruction."""
    series = result(
        1, hz=25_000_000, overhead=19, n=4, sum=19 + 20 + 192 + 193, min=19, max=193,
        hist=[[19, 1], [20, 1], [192, 1], [193, 1]], worst=[[193, 3, 500]], blocks=None, trace=None,
        figures=[["least", 128, "ns"], ["rate", 5, "1/s"]],
    )  # fmt: skip
    lines = whole(case(1, series), case(2), case(3), hz=25_000_000)
    run = run_of(on_a_board(plan, 7_812_500), lines)
    measured = run.results[0]
    assert run.clock is not None and (run.clock.unit, measured.unit) == ("instructions",) * 2
    # 6 instructions take 19 or 20 ticks, 60 take 192; a clock pair is 6 of them.
    assert measured.histogram == [(0, 2), (54, 2)]
    assert (measured.min, measured.max, measured.raw_min, measured.raw_max) == (0, 54, 6, 60)
    assert measured.mean == round(424 / 4 * 0.3125 - 6, 4)
    assert [worst.value for worst in measured.worst] == [54]
    assert measured.figures["least"] == Figure(value=1, unit="instructions")
    assert measured.figures["rate"] == Figure(value=5, unit="1/s")


def test_a_batched_result_has_no_maximum_of_single_operations(plan: Plan) -> None:
    hist = [[10, 1], [100, 10**6 - 2], [190, 1]]
    result = only(plan, batch=10, n=10**6, hist=hist, sum=10**8, trace=None)
    assert (result.p50, result.p99) == (8, 8)
    assert (result.max, result.p999, result.p9999, result.worst, result.blocks) == (
        None, None, None, [], None,
    )  # fmt: skip
    assert result.raw_max == 190
    assert "batched" in result.flags


def rows_of(*rows: list[int]) -> dict[str, Any]:
    return {"lines": [100, 190], "rows": list(rows)}


def test_batches_are_net_and_make_the_intervals(plan: Plan) -> None:
    rows = [[10, 1000 + 10 * (k % 3 - 1), 9 + k % 2, k % 2] for k in range(9)]
    result = only(plan, batches=rows_of(*rows, [10, 1000, 10, 1]))
    assert result.batches is not None
    assert result.batches.mean[:3] == [79, 80, 81]
    assert result.batches.above == {
        "p50": [9, 10, 9, 10, 9, 10, 9, 10, 9, 10], "p90": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
    }  # fmt: skip
    ends = result.ci95["mean"]
    assert ends is not None and 79 < ends[0] < 80 < ends[1] < 81
    assert result.ci95["p99"] is None  # there is no p99 of 100 samples
    without = only(plan).ci95["mean"]
    assert without is not None and without[1] - without[0] > 4 * (ends[1] - ends[0])


def test_samples_that_depend_on_each_other_for_long_are_flagged(plan: Plan) -> None:
    """First the low half, then the high one: ten batches, of which neighbours correlate by 0.8."""
    rising = [[10, 980 + 40 * (k > 4), 9, k % 2] for k in range(10)]
    result = only(plan, batches=rows_of(*rising))
    assert "lasting" in result.flags
    ends = result.ci95["mean"]  # both halves are within it
    assert ends is not None and ends[0] <= 78 and ends[1] >= 82
    turns = [[10, 980 + 40 * (k % 2), 9, k % 2] for k in range(10)]
    assert "lasting" not in only(plan, batches=rows_of(*turns)).flags


@pytest.mark.parametrize(
    "rows",
    [
        [[50, 5000, 45, 2], [49, 5000, 45, 2]],  # a sample is missing
        [[50, 5000, 45, 2], [50, 4999, 45, 2]],
        [[50, 5000, 51, 2], [50, 5000, 45, 2]],  # more above the line than there are samples
        [[50, 5000, 45], [50, 5000, 45]],
        [[0, 0, 0, 0], [100, 10_000, 90, 5]],
    ],
)
def test_batches_that_are_not_all_samples_are_a_defect(plan: Plan, rows: list[list[int]]) -> None:
    assert only(plan, batches=rows_of(*rows)).status == "incomplete"


def test_omitted_activations_are_counted_in_the_corrected_view(plan: Plan) -> None:
    omitted = {"n": 7, "sum": 700, "min": 100, "max": 100, "overflow": 0, "hist": [[100, 7]]}
    result = only(plan, missed=7, omitted=omitted)
    assert result.missed == 7
    assert result.corrected is not None
    assert result.corrected.n == 107
    assert result.corrected.histogram == [(-10, 5), (80, 97), (170, 5)]
    assert result.corrected.mean == pytest.approx(10_700 / 107 - 20)
    assert "missed" in result.flags
    assert result.n == 100


def test_an_empty_series(plan: Plan) -> None:
    result = only(plan, n=0, sum=0, min=None, max=None, hist=[], worst=[], blocks=None, trace=None)
    assert (result.n, result.min, result.mean, result.sd, result.p50, result.max) == (
        0,
        *[None] * 5,
    )


def test_unsupported_and_failed_keep_their_reason(plan: Plan) -> None:
    none = case(1, status="unsupported", reason="no heap")
    run = run_of(plan, whole([none[0], none[-1]], case(2, status="failed", reason="EIO"), case(3)))
    assert [(r.status, r.reason) for r in run.results[:2]] == [
        ("unsupported", "no heap"), ("failed", "EIO"),
    ]  # fmt: skip
    assert run.status == "complete"


def test_an_agent_that_died_leaves_what_was_complete(plan: Plan) -> None:
    lines = whole(case(1), case(2), case(3))
    run = run_of(plan, lines[:7])  # case 2 has only started
    assert [r.status for r in run.results] == ["ok", "incomplete", "incomplete"]
    assert run.results[1].reason == "did not end"
    assert run.results[2].reason is not None
    assert run.results[2].reason.startswith("not run: the host ended")
    assert run.status == "incomplete"


def test_a_case_that_was_done_when_it_was_stopped(plan: Plan) -> None:
    run = run_of(plan, whole(case(1), case(2, status="failed", reason="stopped")))
    assert run.results[1].status == "ok"  # its end came as it was told to


# Sequence numbers: hello 0, clock 1, conditions 2; case k: 3k, result 3k+1, end 3k+2; bye 12.
@pytest.mark.parametrize(
    ("gone", "cost"),
    [
        ({3}, {1}),
        ({4}, {1}),
        ({5}, {1}),
        ({7}, {2}),
        ({6, 7, 8}, {2}),
        ({5, 6}, {1, 2}),
        ({4, 10}, {1, 3}),
        ({4, 5, 6, 7, 8, 9}, {1, 2, 3}),
        ({1}, {1, 2, 3}),
        ({12}, set()),
        ({11}, {3}),
        ({11, 12}, {3}),
    ],
)
def test_a_lost_record_costs_the_cases_it_may_have_been_of(
    plan: Plan, gone: set[int], cost: set[int]
) -> None:
    lines = whole(case(1), case(2), case(3))
    run = run_of(plan, [line for seq, line in enumerate(lines) if seq not in gone])
    assert {r.case for r in run.results if r.status == "incomplete"} == cost
    assert {r.case for r in run.results if r.status == "ok"} == {1, 2, 3} - cost
    assert (run.status == "incomplete") == bool(cost) or gone == {12}
    if gone not in ({12}, {11, 12}):
        assert any(note.startswith("wire: ") for note in run.notes)


def test_damage_names_the_case_it_costs(plan: Plan) -> None:
    lines = whole(case(1), case(2), case(3))
    lines[7] = lines[7].replace(b'"n":100', b'"n":900')
    run = run_of(plan, lines)
    assert run.results[1].reason == "wire: record 7 damaged"
    assert "wire: record 7 damaged; costs case 2" in run.notes


@pytest.mark.parametrize(("gone", "name"), [(0, "hello"), (1, "clock"), (2, "conditions")])
def test_a_run_without_one_of_its_heads_is_incomplete(plan: Plan, gone: int, name: str) -> None:
    lines = whole(case(1), case(2), case(3), unit="instructions")
    run = run_of(plan, lines[:gone] + lines[gone + 1 :])
    assert run.status == "incomplete"
    if name == "clock":  # it is not known what was counted, so the numbers mean nothing
        assert run.results[0].reason == "wire: the clock record was lost, so the unit is not known"
        assert (run.results[0].n, run.results[0].max) == (0, None)
    else:
        assert [result.status for result in run.results] == ["ok"] * 3
        assert run.reason == f"wire: records of the agent were lost: {name}"


def test_a_stopped_case_keeps_what_it_has(plan: Plan) -> None:
    run = run_of(plan, whole(case(1, result(1), status="failed", reason="stopped")))
    first = run.results[0]
    assert (first.status, first.reason, first.n) == ("ok", None, 100)


def test_many_defects_of_a_kind_are_one_note(plan: Plan) -> None:
    lines = whole(case(1), case(2), case(3))
    run = run_of(plan, [line for seq, line in enumerate(lines) if seq not in {4, 7}])
    assert "wire: 2 records lost (first 4); costs case 1, 2" in run.notes
    assert run.results[1].reason == "wire: record 7 lost"


def heard(number: int, command: str) -> dict[str, Any]:
    return {"t": "heard", "n": number, "text": command}


def test_whatever_is_lost_of_a_case_that_is_sent_again_its_numbers_come_once(plan: Plan) -> None:
    """Lose each subset of the records of a case that is sent three times."""
    second = case(2, result(2, series="a"), result(2, series="b", warmup=3))
    bodies = [
        HELLO, clock(), {"t": "conditions", "values": {}}, *case(1),
        heard(5, "case 2 ctx.ballast"), *second, heard(6, "again 2"), *second,
        heard(7, "again 2"), *second, heard(8, "case 3 ctx.ballast"), *case(3),
    ]  # fmt: skip
    lines = bytes_of(bodies)
    clean = run_of(plan, lines).results
    assert [(r.case, r.series, r.status) for r in clean] == [
        (1, "", "ok"), (2, "a", "ok"), (2, "b", "ok"), (3, "", "ok"),
    ]  # fmt: skip
    first, sending = 6, 1 + len(second)
    for mask in range(1 << 2 * sending):  # the third always lacks one record
        gone = {first + i for i in range(2 * sending) if not mask >> i & 1}
        last = first + 2 * sending + 1 + mask % len(second)
        run = run_of(plan, [x for n, x in enumerate(lines) if n not in {*gone, last}])
        starts = (first + 1, first + 1 + sending)  # without the echo of the command
        came = any(gone.isdisjoint(range(at, at + len(second))) for at in starts)
        results = [r for r in run.results if r.case == 2]
        assert [r.status for r in run.results if r.case != 2] == ["ok", "ok"]
        if came or all(r.status == "ok" for r in results):
            assert run.results == clean, gone
        else:
            assert {r.status for r in results} == {"incomplete"}, gone


@pytest.mark.parametrize("number", [0, 4, 10**18])
def test_records_of_no_case_of_the_plan_count_for_nothing(plan: Plan, number: int) -> None:
    lines = whole(case(1), case(number), case(2), case(3))
    run = run_of(plan, [*lines[:7], *lines[8:]])
    assert [result.status for result in run.results][2:] == ["ok"]
    assert {result.case for result in run.results} == {1, 2, 3}


@pytest.mark.parametrize("disorder", ["double", "late", "noise"])
def test_harmless_disorder_costs_nothing(plan: Plan, disorder: str) -> None:
    clean = whole(case(1), case(2), case(3))
    lines = clean.copy()
    match disorder:
        case "double":
            lines.insert(8, lines[7])
        case "late":
            lines[6], lines[7] = lines[7], lines[6]
        case _:
            lines[7] = b"[ 1.5] usb 1-1: new device\n[ 1.6] " + lines[7]
    run = run_of(plan, lines)
    assert run.status == "complete"
    assert run.results == run_of(plan, clean).results
    assert bool(run.notes) == (disorder != "noise")


def test_slopes_need_three_points_of_one_kind(plan: Plan) -> None:
    cases = [
        case(
            k,
            result(
                k, min=low, sum=5 * low + 90 * 170 + 5 * 190, trace=None,
                hist=[[low, 5], [170, 90], [190, 5]],
            ),
        )
        for k, low in ((1, 120), (2, 140), (3, 160))
    ]  # fmt: skip
    (slope,) = run_of(plan, whole(*cases)).slopes
    assert (slope.over, slope.unit, slope.constant) == ("ballast", "ns per task", False)
    assert slope.slope == pytest.approx(2)
    assert slope.points == [(10, 100), (20, 120), (30, 140)]
    assert run_of(plan, whole(*cases[:2])).slopes == []


def test_live_and_replayed_are_the_same(plan: Plan) -> None:
    lines = whole(case(1), case(2), case(3))
    live = Assembly(plan)
    for line in lines:
        live.received.feed(line)
    assert live.complete == live.received.ended == 3
    assert live.run() == run_of(plan, lines)
    assert live.case_results(plan.cases[1]) == [live.run().results[1]]


# ---- loads --------------------------------------------------------------------------------------


def rate(**members: Any) -> dict[str, Any]:
    base = {"component": "disk", "unit": "ms", "wanted": 100.0, "achieved": 100.0, "window_s": 2.0}
    return base | members


def under(plan: Plan, *rates: dict[str, Any], **end: Any) -> Result:
    """Return the result of a case under load whose end reports these rates."""
    loaded = msgspec.structs.replace(plan.cases[0], load="heavy:irq=emulated")
    plan = msgspec.structs.replace(plan, cases=[loaded, *plan.cases[1:]])
    lines = whole(case(1, load=list(rates) or None, **end), case(2), case(3))
    return run_of(plan, lines).results[0]


@pytest.mark.parametrize("achieved", [81, 100, 119])
def test_a_load_at_its_rate_leaves_the_result_as_it_is(plan: Plan, achieved: float) -> None:
    result = under(plan, rate(achieved=achieved), rate(component="search", wanted=None, achieved=3))
    assert (result.status, result.reason) == ("ok", None)
    assert result.load == "heavy:irq=emulated"
    assert [r.achieved for r in result.load_rates] == [achieved, 3]


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([], "it did not run"),
        ([rate(achieved=79)], "disk missed its rate by more than 20%: 79 of 100 ms per second"),
        ([rate(achieved=121)], "disk missed its rate by more than 20%: 121 of 100 ms per second"),
        ([rate(), rate(component="net", alive=False, why="killed")], "net ended, killed"),
        ([rate(wanted=None, achieved=0)], "disk did nothing"),
    ],
)
def test_a_load_that_failed_makes_the_result_incomplete(
    plan: Plan, rates: list[dict[str, Any]], message: str
) -> None:
    result = under(plan, *rates)
    assert (result.status, result.reason) == ("incomplete", f"load heavy:irq=emulated: {message}")
    assert result.n == 100  # what was measured is kept


def test_a_case_that_could_not_run_says_why_itself(plan: Plan) -> None:
    result = under(plan, rate(alive=False), status="unsupported", reason="no second CPU")
    assert (result.status, result.reason) == ("unsupported", "no second CPU")
