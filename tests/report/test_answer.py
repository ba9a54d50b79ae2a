from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.api import Measured
from rtstone.documents import worstcase
from rtstone.documents.run import (
    NOT_BEGUN,
    Figure,
    Misses,
    Requirement,
    Result,
    Run,
    Target,
    Worst,
)
from rtstone.documents.worstcase import WorstCase
from rtstone.errors import Unfit
from rtstone.report.run.answer import Estimated, why_nothing
from rtstone.report.run.findings import findings, subjects_of
from rtstone.report.worstcase.text import worst_case_lines
from rtstone.results.flags import BY_NAME, INVALIDATING
from rtstone.stats.budget import load
from rtstone.stats.evaluate import evaluate_run
from rtstone.stats.gate import check
from rtstone.stats.worstcase import extremes
from rtstone.system.rights import granting
from rtstone.targets.local import Local
from rtstone.wire.records import Bench, Param, TextTable
from tests.formats.long import DATA, run_of
from tests.report.synthetic import answer, instructions, run, unprivileged

MS = 1_000_000


def periodic(missed: int, most: float, **members: Any) -> Result:
    members = {
        "case": 0, "bench": "dk.periodic", "params": {"period": MS}, "load": "none",
        "status": "ok", "n": 5000, "p50": 900.0, "evidence": {"section_ns": 7_000_000_000},
        **members,
    }  # fmt: skip
    return Result(missed=missed, max=most, **members)


def run_with(*results: Result, **changes: Any) -> Run:
    return run(results=list(results), slopes=[], **changes)


# ---- the verdict --------------------------------------------------------------------------------


BUFFER = {"period": 1_333_333}  # of audio
FIVE = {"period": 5 * MS}  # what `rtstone run audio -p period=5ms` measures
OF_AUDIO = "20261121-031500.123-audio-ab12"


@pytest.mark.parametrize(
    ("params", "run_id", "called"),
    [
        (BUFFER, "20261121-031500.123-dk.periodic-ab12", True), (FIVE, OF_AUDIO, True),
        (FIVE, "20261121-031500.123-dk.periodic-ab12", False),
        ({"period": MS}, "20261121-031500.123-wakeup-ab12", False),
    ],
)  # fmt: skip
def test_who_measures_audio_reads_of_dropouts(
    params: dict[str, Any], run_id: str, called: bool
) -> None:
    def verdict(missed: int, **members: Any) -> str:
        result = periodic(missed, 3.2e6, params=params, **members)
        return answer(run_with(result, run_id=run_id)).verdict

    period = f"{params['period'] / MS:.3g} ms"
    many = "3 of 5 003 activations missed"
    assert verdict(3) == (
        f"Not fit for a period of {period}: {f'3 dropouts ({many})' if called else many}, "
        "without load."
    )
    none = "none of 5 000 activations missed"
    assert verdict(0).endswith(f": {f'no dropouts ({none})' if called else none}.")
    assert ("1 dropout (" in verdict(1)) == called
    poor = verdict(0, flags=["no_rt"])
    assert poor.startswith("No dropouts (none of 5 000" if called else "None of 5 000 activations")


def test_who_requires_a_latency_of_audio_reads_of_dropouts() -> None:
    late = Misses(limit=MS, n=81, late=37, squares=37, room=32, windows=[])
    met = Misses(limit=MS, n=0, late=0, squares=0, room=32, windows=[])
    trial = run_with(
        periodic(0, 4e4, params=BUFFER, misses=met),
        periodic(44, 25e6, params=BUFFER, load="heavy", n=3956, misses=late),
        requirement=Requirement(latency=MS), run_id=OF_AUDIO,
    )  # fmt: skip
    assert answer(trial).verdict == (
        "1 ms not met: 81 dropouts (81 of 4 000 activations missed: 37 later, 44 never); 25.0 ms "
        "at worst, under load heavy; no dropouts (none of 5 000 activations later), without load."
    )


def test_of_several_cases_under_one_load_that_which_missed_is_named() -> None:
    def policy(name: str, missed: int, **members: Any) -> Result:
        return periodic(missed, 3.2e6, params={"period": MS, "policy": name}, **members)

    table = Bench(
        "dk.periodic", "",
        params=[Param("period", "duration", "ns", 10**6), Param("policy", "choice", "", "fifo")],
    )  # fmt: skip
    trial = structs.replace(run_with(policy("fifo", 0), policy("other", 3)), benches=[table])
    assert answer(trial).verdict == (
        "Not fit for a period of 1 ms: 3 of 5 003 activations missed, policy=other, without load."
    )
    late = {"misses": misses(3)}
    both = [policy("fifo", 0, misses=misses(0)), policy("other", 0, **late)]
    limited = run_with(*both, requirement=Requirement(latency=MS))
    assert (
        ", policy=other, without load." in answer(structs.replace(limited, benches=[table])).verdict
    )


def test_a_missed_activation_makes_a_system_unfit() -> None:
    reply = answer(run_with(periodic(0, 40e3), periodic(3, 3.2e6, load="heavy")))
    assert reply.grade == "bad"
    assert reply.verdict == (
        "Not fit for a period of 1 ms: 3 of 5 003 activations missed, under load heavy."
    )
    assert reply.basis[0] == (
        "Worst wake-up observed: 3.20 ms; dk.periodic, under load heavy over 7.00 s, "
        "n = 5 000. Longer observation can only raise it."
    )
    assert "Loads: none, heavy." in reply.basis


def test_no_miss_makes_it_fit_for_as_long_as_was_seen() -> None:
    long = {"n": 10_000, "evidence": {"section_ns": 10_000_000_000}}
    reply = answer(
        run_with(periodic(0, 40e3, **long), periodic(0, 41e3, params={"period": MS // 4}, **long))
    )
    assert reply.grade == "good"
    assert reply.verdict == (
        "Fit for a period of 250 µs, seen for 10.0 s and longer: none of 20 000 activations missed."
    )
    assert "observed: 41.0 µs; " in reply.basis[0]
    assert "No load ran beside it: under load the worst case may be far larger." in reply.basis


@pytest.mark.parametrize(
    ("n", "section_ns", "enough"),
    [
        (10_000, 10_000_000_000, True),
        (9_999, 10_000_000_000, False),
        (10_000, 9_999_999_999, False),
        (10**6, None, False),  # for how long is not known
    ],
)
def test_fewer_activations_or_a_shorter_time_are_so_far(
    n: int, section_ns: int | None, enough: bool
) -> None:
    evidence = {} if section_ns is None else {"section_ns": section_ns}
    reply = answer(run_with(periodic(0, 40e3, n=n, evidence=evidence)))
    seen = "seen for 10.0 s" if enough else "so far"
    assert reply.verdict.startswith(f"Fit for a period of 1 ms, {seen}: none of ")
    assert reply.grade == ("good" if enough else "info")
    short = periodic(0, 40e3, n=9_999, load="heavy", evidence={"section_ns": 60_000_000_000})
    both = answer(run_with(periodic(0, 40e3, n=n, evidence=evidence), short))
    assert both.verdict.startswith("Fit for a period of 1 ms, so far: none of ")


LAB = Target(name="qemu:a", detail={"icount": True, "instructions_per_s": 62_500_000})


@pytest.mark.parametrize(
    ("missed", "most", "verdict"),
    [
        (0, 20_900, "None of 10 000 activations missed at a period of 1 ms; 20.9 k instr "
         "at worst, 33% of 62.5 k, under load heavy. "),
        (40, 125_000, "40 of 5 040 activations missed at a period of 1 ms; 125 k instr "
         "at worst, 2.0 periods of 62.5 k, under load heavy. "),
    ],
)  # fmt: skip
def test_counts_of_instructions_have_their_share_of_the_period(
    missed: int, most: float, verdict: str
) -> None:
    lab = {"target": LAB, "conditions": {}}
    idle = periodic(0, 300, unit="instructions")
    trial = run_with(idle, periodic(missed, most, load="heavy", unit="instructions"), **lab)
    rate = "A second is taken for 62 500 000 instructions"
    assert answer(trial).verdict == f"{verdict}{rate}: no verdict about time."


def test_each_load_of_a_run_with_a_limit_counts_its_own_misses() -> None:
    met = Misses(limit=20_000, n=0, late=0, squares=0, room=32, windows=[])
    missed = Misses(limit=20_000, n=5, late=3, squares=5, room=32, windows=[1])
    single = structs.replace(missed, n=1, late=1, squares=1)
    trial = run_with(
        periodic(0, 300, unit="instructions", misses=met),
        periodic(2, 70_000, load="heavy", unit="instructions", misses=missed),
        periodic(0, 21_000, load="rt200", unit="instructions", misses=single),
        requirement=Requirement(latency=20_000, unit="instructions"), target=LAB, conditions={},
    )  # fmt: skip
    assert answer(trial).verdict == (
        "20 k instr not met: 5 of 5 002 activations missed: 3 later, 2 never; 70.0 k instr at "
        "worst, 1.1 periods of 62.5 k, under load heavy; none of 5 000 activations later, "
        "without load; 1 of 5 000 activations later, under load rt200. "
        "A second is taken for 62 500 000 instructions."
    )


def test_without_rights_what_was_seen_comes_before_the_caveat() -> None:
    bare = {"flags": ["no_rt"], "params": {"period": 10 * MS}}
    trial = run_with(periodic(0, 4e4, **bare), periodic(0, 4e4, load="heavy", **bare))
    assert answer(trial).verdict.startswith(
        "None of 10 000 activations missed at a period of 10 ms, without load and under load "
        "heavy; no verdict, as it was measured without real-time privileges. "
    )
    met = Misses(limit=MS, n=0, late=0, squares=0, room=32, windows=[])
    limited = run_with(periodic(0, 4e4, misses=met, **bare), requirement=Requirement(latency=MS))
    assert answer(limited).verdict.startswith(
        "None of 5 000 activations later than 1 ms, without load; no verdict, as it was measured "
        "without real-time privileges. "
    )


def unsupported(*reasons: str) -> list[Result]:
    return [
        Result(case=n, bench=f"x.{n}", params={}, load="none", status="unsupported", reason=reason)
        for n, reason in enumerate(reasons)
    ]


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (run_with(*unsupported("no tracefs", "no tracefs")), "no tracefs."),
        (run_with(*unsupported("no tracefs", "no mq.")), "no tracefs; 1 other reason."),
        (run_with(), None),
        (instructions(), None),
    ],
)
def test_why_nothing_was_measured(trial: Run, why: str | None) -> None:
    assert why_nothing(trial) == why


@pytest.mark.parametrize(
    ("trial", "verdict"),
    [
        (instructions(), "No verdict about time: these numbers are counts"),
        (run_with(), "No verdict: nothing was measured."),
        (run_with(*unsupported("no tracefs")), "No verdict: nothing was measured, no tracefs."),
        (run_with(Result(case=0, bench="x.y", params={}, load="none", status="ok", n=5)),
         "Nothing to judge by a deadline: no task of this run is woken by a timer."),
        (run_with(periodic(0, 1e3), target=Target(name="q", detail={"icount": False})),
         "No verdict: the emulator ran freely"),
    ],
)  # fmt: skip
def test_what_allows_no_verdict_gets_none(trial: Run, verdict: str) -> None:
    reply = answer(trial)
    assert reply.verdict.startswith(verdict)
    assert reply.grade != "good"


@pytest.mark.parametrize(
    ("file", "verdict", "basis"),
    [
        ("rtla-osnoise.txt", "none was measured by rtla", ["Loads: unknown."]),
        ("lmbench.txt", "none was measured by lmbench", None),
    ],
)  # fmt: skip
def test_of_another_tool_it_says_what_that_does_not_count(
    file: str, verdict: str, basis: list[str] | None
) -> None:
    reply = answer(run_of((DATA / file).read_bytes()))
    assert reply.verdict == f"No verdict on deadlines: {verdict}."
    assert reply.grade == "info"
    assert basis is None or reply.basis == basis


@pytest.mark.parametrize(
    ("file", "seen"),
    [
        ("jitterdebugger-0.3.json", "899 µs at worst"),
        ("stress-ng-0.15.txt", "316 µs at worst"),
        ("cyclictest-2.4-h.txt",
         "8.06 ms at worst; 39 of 300 samples at or above 60.0 µs, beyond its histogram"),
        ("cyclictest-2.4-H.txt",
         "50.0 µs at worst; 64 of 200 samples at or above 40.0 µs, beyond its histogram"),
    ],
)  # fmt: skip
def test_of_another_tool_the_first_line_has_its_worst_and_what_its_histogram_lacks(
    file: str, seen: str
) -> None:
    reply = answer(run_of((DATA / file).read_bytes()))
    head, tail = reply.verdict.split(". No verdict on deadlines: ")
    assert head == seen
    assert tail.endswith(" does not count the activations that were missed.")


@pytest.mark.parametrize(
    ("lost", "verdict"),
    [
        ({"status": "failed", "reason": "it died."},
         "No verdict: dk.periodic, without load, failed: it died."),
        ({"status": "incomplete", "reason": NOT_BEGUN},
         "No verdict on deadlines: dk.periodic, without load, was not begun."),
        ({"status": "unsupported", "reason": "no timer."},
         "No verdict on deadlines: dk.periodic, without load, unsupported: no timer."),
    ],
)  # fmt: skip
def test_a_part_of_a_run_says_what_became_of_its_wake_ups(
    lost: dict[str, Any], verdict: str
) -> None:
    """As a job of a campaign that ended early: that there is no task to be woken is not true."""
    other = Result(case=0, bench="x.y", params={}, load="none", status="ok", n=5)
    never = structs.replace(periodic(1, 1e3, n=0, **lost), missed=None, max=None)
    table = Bench("dk.periodic", "", params=[Param("period", "duration", "ns", 10**6)])
    reply = answer(structs.replace(run_with(other, never), benches=[table]))
    assert (reply.grade, reply.verdict) == ("info", verdict)


def test_no_run_is_fit_of_which_a_wake_up_case_was_lost() -> None:
    lost = {"load": "heavy", "n": 0, "status": "incomplete", "reason": "the task never ran"}
    never = structs.replace(periodic(0, 1e3, **lost), missed=None, max=None)
    reply = answer(run_with(periodic(0, 1e3), never))
    assert (reply.grade, reply.verdict) == (
        "info", "No verdict: dk.periodic, under load heavy, incomplete: the task never ran.",
    )  # fmt: skip
    late = answer(run_with(periodic(3, 1e3), never))
    assert late.verdict.startswith("Not fit for ")
    later = structs.replace(never, reason=NOT_BEGUN)
    assert answer(run_with(periodic(0, 1e3), later)).verdict.startswith("Fit for ")


def test_of_another_tool_lateness_within_its_period_is_no_miss() -> None:
    reply = answer(run_of((DATA / "cyclictest-2.4-q.txt").read_bytes()))
    assert reply.verdict == ("Fit for a period of 1 ms, so far: none of 304 activations missed.")
    assert reply.basis == [
        "Worst wake-up observed: 119 µs; cyclictest interval=1ms "
        "thread 0, under load unknown over 300 ms, n = 300. Longer observation can only raise it.",
        "Worst case, estimated: inconclusive: the histogram does not hold every sample.",
        "Loads: unknown.",
    ]


@pytest.mark.parametrize("name", sorted(INVALIDATING))
def test_what_the_gate_and_the_api_refuse_has_no_verdict_either(name: str, tmp_path: Path) -> None:
    """One rule decides what may be judged, and what was missed nevertheless is missed."""
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "dk.periodic"\nmissed = 1000000\n')
    for missed in (0, 3):
        trial = run_with(periodic(missed, 3.2e6, flags=[name]))
        reply = answer(trial)
        flag = BY_NAME[name]
        if missed and "not fit" not in flag.voids:
            how = flag.spoils.removeprefix("measured ")
            assert reply.verdict.startswith(
                f"Not fit as it was run ({how}): 3 of 5 003 activations missed at a period of "
                "1 ms, without load. "
            )
            assert reply.grade == "bad"
        else:
            seen = "None of 5 000 activations missed at a period of 1 ms, without load; "
            bare = f"No verdict: {flag.spoils}. "
            rights = not missed and name in {"no_rt", "page_faults"}
            assert reply.verdict.startswith(
                f"{seen}no verdict, as it was {flag.spoils}. " if rights else bare
            )
            assert reply.grade == "info"
        outcome = check(trial, load(budget))
        assert outcome.verdict == "not measured"
        proof = "as it was run, 3 of 5 003 activations missed"
        proves = bool(missed) and "not fit" not in flag.voids
        assert (proof in str(outcome.checks[0].reason)) == proves
        with pytest.raises(Unfit) as error:
            _ = Measured(trial, tmp_path, trial.results, frozenset()).missed
        assert (proof in str(error.value)) == proves


def test_without_rights_it_says_what_grants_them() -> None:
    reply = answer(run_with(periodic(3, 3.2e6, flags=["no_rt"]), target=Target(name="local")))
    assert "(without real-time privileges): 3 of 5 003 activations missed" in reply.verdict
    assert granting(Path(Local().agent)) in reply.verdict
    elsewhere = answer(run_with(periodic(3, 3.2e6, flags=["no_rt"]), target=Target(name="qemu:x")))
    assert "This grants" not in elsewhere.verdict


def test_the_verdict_rests_on_what_was_measured_as_it_should_be() -> None:
    beside = periodic(0, 3.2e6, load="heavy", flags=["other_run"])
    reply = answer(run_with(periodic(0, 40e3), beside))
    assert reply.verdict.startswith("Fit for a period of 1 ms")
    assert reply.basis[0] == (
        "Left out of the verdict: 1 of 2 cases (dk.periodic, load heavy), measured beside another "
        "run of rtstone."
    )


def test_bad_conditions_void_what_is_good_and_not_what_is_bad() -> None:
    """Of two proofs the one of proper conditions is told; of one, that one."""
    beside = periodic(900, 3.2e6, load="heavy", flags=["other_run"])
    reply = answer(run_with(periodic(0, 40e3), beside))
    assert reply.grade == "bad"
    assert reply.verdict == (
        "Not fit as it was run (beside another run of rtstone): 900 of 5 900 activations missed "
        "at a period of 1 ms, under load heavy. Repeat when no other one is running."
    )
    assert reply.foremost is not None and reply.foremost.result == beside
    assert not any(text.startswith("Left out") for text in [*reply.basis, reply.rests])
    reply = answer(run_with(periodic(2, 40e3), beside))
    assert reply.verdict == (
        "Not fit for a period of 1 ms: 2 of 5 002 activations missed, without load."
    )
    traced = periodic(900, 3.2e6, flags=["traced"])
    assert answer(run_with(periodic(0, 40e3), traced)).verdict.startswith(
        "Fit for a period of 1 ms"
    )


def test_on_a_virtual_machine_the_answer_says_what_came_with_steal() -> None:
    worst = [Worst(value=9.0, index=n, at_s=n, steal_ns=n % 4 * 10**7) for n in range(16)]
    evidence = {"steal_near_ns": 44 * 10**7, "steal_watched_ns": 8 * 10**9}
    reply = (
        ". Steal time, which counts in steps of 10 ms, grew around 12 of its 16 worst samples and "
        "between 5.5% of all readings: more than by chance, so it is a likely cause."
    )
    for missed, verdict in ((0, "Fit"), (3, "Not fit")):
        stolen = periodic(missed, 3.2e6, worst=worst, evidence=evidence)
        trial = answer(run_with(stolen, conditions={"machine.virtual": True}))
        assert trial.verdict.startswith(verdict) and trial.verdict.endswith(reply)
        bare = answer(run_with(stolen, conditions={"machine.virtual": False}))
        assert "Steal" not in bare.verdict
        assert answer(run_with(stolen, conditions={})).verdict.endswith(reply)  # unknown of ARM
    idle = [structs.replace(sample, steal_ns=0) for sample in worst]
    for near, said in ((0, False), (44 * 10**7, True)):  # elsewhere alone: it was not that
        watched = evidence | {"steal_near_ns": near}
        trial = answer(run_with(periodic(0, 1.0, worst=idle, evidence=watched), conditions={}))
        assert ("Steal" in trial.verdict) == said
    none = structs.replace(periodic(0, 1.0, worst=idle), evidence=evidence)
    assert answer(run_with(none, conditions={"machine.virtual": True})).verdict.endswith(
        " grew around none of its 16 worst samples and between 5.5% of all readings: nothing shows "
        "that it delayed them."
    )
    unknown = [*worst[1:], structs.replace(worst[0], steal_ns=None)]
    trial = answer(run_with(periodic(0, 1.0, worst=unknown), conditions={"machine.virtual": True}))
    assert "Steal" not in trial.verdict


@pytest.mark.parametrize(
    ("stolen", "apart_s", "near", "cause", "counts"),
    [
        # Of 16 samples 1.5 would be so by chance.
        (2, 1.0, 95, False, "2 of its 16 worst samples and between 9.5% of"),
        (6, 1.0, 95, True, "6 of its 16 worst samples and between 9.5% of"),
        # One stall, which is near to steal in 9.5% of all places.
        (16, 0.01, 95, False, "1 of 1 separate stall (its 16 worst samples) and between 9.5% of"),
        (16, 0.01, 5, True, "1 of 1 separate stall (its 16 worst samples) and between 0.5% of"),
        (16, 1.0, 900, False, "16 of its 16 worst samples and between 90.0% of"),  # it always grows
    ],
)
def test_steal_is_a_cause_only_where_it_came_more_often_than_by_chance(
    stolen: int, apart_s: float, near: int, cause: bool, counts: str
) -> None:
    """What is printed is what was tested, so that no two sentences contradict each other."""
    worst = [
        Worst(value=9.0, index=n, at_s=n * apart_s, steal_ns=10**7 * (n < stolen))
        for n in range(16)
    ]  # fmt: skip
    evidence = {"steal_near_ns": near, "steal_watched_ns": 1000}
    result = periodic(0, 9.0, worst=worst, evidence=evidence)
    reply = answer(run_with(result, conditions={}))
    assert f" grew around {counts} all readings: " in reply.verdict
    assert reply.verdict.endswith("so it is a likely cause.") == cause
    assert reply.verdict.endswith("so nothing shows that it delayed them.") == (not cause)


def misses(late: int) -> Misses:
    return Misses(limit=MS, n=late, late=late, squares=late, room=16, windows=[])


FELL_SHORT: dict[str, Any] = {
    "load": "heavy", "status": "incomplete",
    "reason": "load heavy: cpu missed its rate by more than 20%: 35 of 100 ms per second",
}  # fmt: skip


def test_a_verdict_that_rests_on_an_incomplete_result_says_so() -> None:
    short = periodic(1086, 3.2e6, **FELL_SHORT)
    reply = answer(run_with(periodic(0, 40e3), short))
    assert reply.verdict == (
        "Not fit for a period of 1 ms: 1 086 of 6 086 activations missed, under load heavy, in a "
        "result that is incomplete."
    )
    whole = answer(run_with(periodic(2, 40e3), short))
    assert whole.verdict.endswith("2 of 5 002 activations missed, without load.")
    limit = Requirement(latency=MS)
    late = {"misses": misses(3)}
    required = answer(run_with(periodic(3, 3.2e6, **FELL_SHORT, **late), requirement=limit))
    assert "under load heavy, in a result that is incomplete." in required.verdict


def test_what_is_incomplete_is_named_as_a_case() -> None:
    run_of_two = run_with(
        *(periodic(0, 1e3, series=f"cpu{n}", **(FELL_SHORT if n else {})) for n in range(3))
    )
    texts = {f.head: f.text for f in findings(evaluate_run(run_of_two))}
    assert texts["2 results incomplete"] == (
        "dk.periodic cpu1, load heavy; dk.periodic cpu2, load heavy"
    )


def test_a_limit_is_not_told_of_what_is_left_out() -> None:
    """Of two cases beside another run that which was late proves something, the other does not."""
    beside = {"flags": ["other_run"]}
    results = (
        periodic(0, 40e3, **beside, misses=misses(0)),
        periodic(3, 3.2e6, load="heavy", **beside, misses=misses(3)),
    )
    reply = answer(run_with(*results, requirement=Requirement(latency=MS)))
    assert "without load" not in reply.verdict
    assert "3 of 5 003 activations later" in reply.verdict
    assert "1 of 2 cases (dk.periodic, load none), measured beside another run" in reply.rests


def test_of_counts_there_is_no_worst_case_and_that_is_said_once() -> None:
    trial = instructions()
    assert answer(trial).estimates == []
    cases = [worstcase.Estimated(bench=r.bench, params={}, series="", load="none",
                       worst_case=extremes.worst_case([r])) for r in trial.results]  # fmt: skip
    (line,) = worst_case_lines(worstcase.WorstCases(run_id="r", cases=cases), trial)
    assert "a bound needs a rate per hour" in line.plain


def test_a_model_is_named_in_the_verdict() -> None:
    model = {"model": "m", "model.label": "measured there", "model.title": "A model"}
    target = Target(name="sim", detail={"title": "A model", "label": "measured there"})
    reply = answer(run_with(periodic(0, 1e3), conditions=model, target=target))
    assert "in the model" in reply.verdict


def test_lengths_of_periods_are_no_wake_ups() -> None:
    reply = answer(run_with(periodic(0, 2.9e6, bench="dk.latencytest"), unsupported("x")[0]))
    assert reply.verdict.startswith("dk.latencytest: median 900 ns, max 2.90 ms, missed 0, n = ")
    assert not any("wake-up" in text for text in reply.basis)


def sampled(worst: float, **members: Any) -> Result:
    members = {
        "case": 0, "bench": "sem.wait.free", "params": {}, "load": "none", "status": "ok",
        "n": 5000, "p50": 900.0, "p99": 1000.0, **members,
    }  # fmt: skip
    return Result(max=worst, **members)


def test_a_run_of_one_bench_without_deadlines_answers_by_its_numbers() -> None:
    heavy = sampled(9e3, load="heavy", p999=7e3)
    assert answer(run_with(sampled(2e3), heavy, sampled(1e3))).verdict == (
        "sem.wait.free: median 900 ns, p99.9 7.00 µs, max 9.00 µs, n = 5 000, under load heavy; "
        "the worst of 3 results."
    )
    batched = sampled(950.0, batch=8, single=sampled(4e3, p99=2e3))
    assert answer(run_with(batched)).verdict == (
        "sem.wait.free: median 900 ns, p99 2.00 µs, max 4.00 µs, n = 5 000, without load."
    )
    no_tail = sampled(950.0, batch=8)  # a mean of several operations has none
    assert answer(run_with(no_tail)).verdict == (
        "sem.wait.free: median 900 ns, n = 5 000, without load."
    )
    ordinary = sampled(2e3, flags=["no_rt"])
    assert ", without load, measured " in answer(run_with(ordinary)).verdict
    two = run_with(sampled(2e3), sampled(2e3, bench="sem.wait.busy"))
    assert answer(two).verdict.startswith("Nothing to judge by a deadline")


@pytest.mark.parametrize(
    ("satisfied", "verdict"),
    [
        (["no", "no"], "POSIX: no profile of 2003; PSE51 lacks THREADS; 1 of 2 options supported."),
        (["yes", "no"],
         "POSIX: profiles PSE51 of 2003; PSE52 lacks THREADS; 1 of 2 options supported."),
        (["yes", "yes"], "POSIX: profiles PSE51, PSE52 of 2003; 1 of 2 options supported."),
    ],
)  # fmt: skip
def test_options_of_posix_answer_by_the_profiles(satisfied: list[str], verdict: str) -> None:
    columns = ["profile", "edition of 1003.13", "satisfied", "missing"]
    profiles = [
        [name, "2003", has, "" if has == "yes" else "THREADS"]
        for name, has in zip(("PSE51", "PSE52"), satisfied, strict=True)
    ]
    profiles.append(["PSE51", "1998: threads, one process", "yes", ""])
    options = TextTable("Options", ["option", "supported"], [["TIMERS", "yes"], ["THREADS", "no"]])
    result = Result(
        case=0, bench="posix.options", params={}, load="none", status="ok",
        figures={"supported": Figure(value=1, unit="options")},
        tables=[options, TextTable("Profiles", columns, profiles)],
    )  # fmt: skip
    assert answer(run_with(result)).verdict == verdict


def test_experiments_of_hartstone_tell_the_least_breakdown() -> None:
    def broke(bench: str, at: float, *flags: str) -> Result:
        figures = {"breakdown utilisation": Figure(value=at, unit="%")}
        return Result(case=0, bench=bench, params={}, load="none", status="ok", figures=figures,
                      flags=list(flags))  # fmt: skip

    reply = answer(run_with(broke("hart.PH.1", 92.5), broke("hart.AH.3", 61.25)))
    assert reply.verdict == (
        "Deadlines held up to 61.2 % of raw speed: the least of 2 breakdowns, hart.AH.3."
    )
    reply = answer(run_with(broke("hart.PH.1", 92.5), broke("hart.AH.3", 0, "other_run")))
    assert reply.verdict == (
        "Deadlines held up to 92.5 % of raw speed: the least of 1 breakdown, hart.PH.1. "
        "1 experiment not counted: measured beside another run of rtstone."
    )


def test_disturbance_from_outside_is_told_with_how_much_of_the_run_it_spoilt() -> None:
    reply = answer(run_with(periodic(0, 1e3, flags=["steal"]), periodic(0, 1e3), periodic(0, 1e3)))
    assert reply.basis[-1] == (
        "Disturbed: the hypervisor took the CPU away, in 1 of 3 results (steal)."
    )


def test_what_is_estimated_of_the_worst_wake_up_follows_it() -> None:
    reply = answer(run_with(periodic(0, 40e3, histogram=[(900.0, 4999), (40e3, 1)])))
    assert reply.estimates[0].outcome.startswith("? inconclusive: ")
    assert reply.estimates[0].case.observed_max == 40e3
    assert reply.basis[1] == f"Worst case, estimated: {reply.estimates[0].outcome[2:]}."


def test_a_bound_is_told_with_its_rate_and_confidence() -> None:
    case = WorstCase(
        verdict="bound", bound=61e3, unit="ns", exceedance_per_hour=1e-3, confidence=0.95,
        method="pot", reason=None, more_s=None, observed_max=40e3, n=9, section_s=60.0, checks=[],
    )  # fmt: skip
    subject = subjects_of(run_with(periodic(0, 40e3)))[0]
    assert Estimated(subject, case).sentence == (
        "Worst case, estimated: at most 61.0 µs, exceeded at most once in 1 000 h (95% confidence, "
        "peaks over threshold)."
    )


def test_estimates_are_of_wake_ups_and_of_what_findings_point_to() -> None:
    reply = answer(run())
    named = {f.evidence for f in [*reply.worst, *reply.other_findings]}
    for estimate in reply.estimates:
        r = estimate.subject.result
        assert r.bench == "dk.periodic" or estimate.subject.place in named
        assert r.max is not None


def test_what_the_verdict_rests_on_is_one_sentence() -> None:
    trial = run_with(
        periodic(0, 1e3, flags=["steal"]), periodic(0, 2e3, load="heavy"),
        target=Target(name="local"), duration_s=61.3,
    )  # fmt: skip
    rests = answer(trial).rests
    assert rests.startswith("local: ")
    assert "; 2 results in 61.3 s without load and under 1 load (heavy); disturbed: " in rests
    assert rests.endswith("(steal).")


def test_the_foremost_result_is_the_wake_up_that_missed_most_or_was_latest() -> None:
    late, missed = periodic(0, 9e6), periodic(3, 2e6, load="heavy")
    assert answer(run_with(late, missed)).foremost.result == missed  # type: ignore[union-attr]
    other = periodic(0, 1e3)
    assert answer(run_with(other, late)).foremost.result == late  # type: ignore[union-attr]
    single = timed("sem.x", 500.0, 600.0)
    assert answer(run_with(single)).foremost.result == single  # type: ignore[union-attr]
    assert answer(run_with(single, timed("sem.y", 500.0, 600.0))).foremost is None


# ---- findings -----------------------------------------------------------------------------------


def timed(bench: str, p50: float, most: float, **members: Any) -> Result:
    members = {"n": 10_000, "evidence": {"section_ns": 10**9}, **members}
    return Result(
        case=0, bench=bench, params={}, load="none", status="ok", p50=p50, max=most, **members
    )


def heads(*results: Result) -> list[str]:
    return [f.head for f in findings(evaluate_run(run_with(*results)))]


ORDINARY = [timed(f"sem.b{k}", 500.0, 50e3 + k) for k in range(6)]


def test_a_maximum_that_any_operation_has_here_is_no_finding() -> None:
    assert heads(*ORDINARY) == []
    (head,) = heads(*ORDINARY, timed("mem.malloc.large", 90e3, 6e6))
    assert head == "mem.malloc.large: 6.00 ms at worst"
    (finding,) = findings(evaluate_run(run_with(*ORDINARY, timed("mem.malloc.large", 9e3, 6e6))))
    assert finding.text.startswith(
        "median 9.00 µs (in the other results the maximum is usually 49.5 µs above the median); n ="
    )
    assert heads(*ORDINARY, timed("mem.malloc.large", 90e3, 300e3)) == []


def test_what_is_usual_is_not_told_of_too_few_results() -> None:
    """As of an import, which often has one: the limit that it is found by was not measured."""
    (finding,) = findings(evaluate_run(run_with(timed("mem.free", 1150.0, 13.2e6))))
    assert finding.text.startswith("median 1.15 µs; n = 10 000")


@pytest.mark.parametrize("bench", ["null", "clk.overhead", "hart.raw", "dk.latencytest"])
def test_what_times_nothing_or_the_instrument_is_no_finding(bench: str) -> None:
    assert heads(*ORDINARY, timed(bench, 2.0, 80e6, p999=70e6)) == []


def test_a_few_instructions_more_than_the_median_are_no_finding() -> None:
    trial = [timed(f"x.b{k}", 1740.0, 1740.0 + 134 * (k == 3), unit="instructions", n=1000)
            for k in range(6)]  # fmt: skip
    assert heads(*trial) == []


def test_what_the_hypervisor_took_is_no_fault_of_the_bench() -> None:
    def reply(steal: int) -> str:
        worst = [Worst(value=6e6, index=1, at_s=1.0, steal_ns=steal)]
        delayed = timed("mem.malloc.large", 90e3, 6e6, worst=worst)
        return answer(run_with(*ORDINARY, delayed)).worst[0].text

    assert "; the hypervisor took 10 ms around it; n = 10 000" in reply(10**7)
    assert "allocate before" not in reply(10**7)
    assert "hypervisor" not in reply(0)
    assert reply(0).endswith("allocate before the real-time part begins")


def stolen(*steal: int, value: float = 2e6) -> list[Worst]:
    return [Worst(value=value, index=n, at_s=1.0, steal_ns=ns) for n, ns in enumerate(steal)]


def test_what_the_hypervisor_caused_is_one_finding() -> None:
    taken = [
        timed("det.bintime", 28.0, 16e6, worst=stolen(10**7)),
        timed("mem.free", 29.0, 1.4e6, p999=1.27e6, worst=stolen(10**7, 10**7, 0)),
        timed("mem.malloc.large", 90e3, 6e6, worst=stolen(0)),
    ]
    reply = answer(run_with(*ORDINARY, *taken))
    merged, own = reply.worst
    assert merged.head == "The hypervisor took the CPU away in 2 results"
    assert merged.text == (
        "1.27 ms at p99.9 in mem.free (n 10 000 in 1.00 s, load none); 16.0 ms at worst in "
        "det.bintime (n 10 000 in 1.00 s, load none); steal time grew around each"
    )
    assert merged.evidence == len(ORDINARY) + 1
    assert own.head == "mem.malloc.large: 6.00 ms at worst"
    alone = answer(run_with(*ORDINARY, taken[0])).worst
    assert [f.head for f in alone] == ["The CPU was taken away for 16.0 ms (det.bintime)"]
    five = [timed(f"x{k}.y", 28.0, 1e6 * (k + 9), worst=stolen(1)) for k in range(5)]
    (all_of_them,) = answer(run_with(*ORDINARY, *five)).worst
    assert "; and 2 more; steal" in all_of_them.text


@pytest.mark.parametrize(
    ("steal", "caused"), [((1, 1, 0, 0), False), ((1, 1, 1, 0), True), ((0, 0, 0, 1), False)]
)
def test_steal_caused_a_percentile_if_it_grew_around_most_samples_beyond(
    steal: tuple[int, ...], caused: bool
) -> None:
    """Around the worst of them alone is not enough."""
    below = stolen(1, 1, 1, 1, value=1e3)
    free = timed("mem.free", 29.0, 2e6, p999=1.27e6, worst=[*stolen(*steal), *below])
    texts = [f.text for f in findings(evaluate_run(run_with(free))) if "times the med" in f.head]
    assert [f"around {sum(steal)} of its 4 worst samples" in text for text in texts] == [caused]
    for near, always in ((49, False), (51, True)):
        evidence = {"steal_near_ns": near, "steal_watched_ns": 100, "section_ns": 10**9}
        watched = structs.replace(free, evidence=evidence)
        texts = [f.text for f in findings(evaluate_run(run_with(watched)))]
        assert any("hypervisor" in text and " worst samples" in text for text in texts) == (
            caused and not always
        )


def test_findings_are_ranked_by_how_far_they_are_beyond_the_usual_one_a_family() -> None:
    reply = answer(run_with(
        *ORDINARY, timed("det.bintime", 28.0, 16e6), timed("mem.malloc.large", 90e3, 6e6),
        timed("mem.free", 29.0, 1.4e6, p999=1.27e6), timed("mem.malloc.small", 29.0, 3e6),
        target=Target(name="local"),
    ))  # fmt: skip
    assert [f.head for f in reply.worst] == [
        "mem.free: p99.9 is 43 800 times the median",
        "The CPU was taken away for 16.0 ms (det.bintime)",
    ]
    free, taken = reply.worst
    assert free.text.endswith("free memory after the real-time part has ended")
    assert "rtstone doctor" in taken.text
    for finding in reply.worst:
        assert "n = 10 000, over 1.00 s, load none" in finding.text


def test_activations_missed_beside_those_of_the_verdict_are_a_finding() -> None:
    assert heads(periodic(3, 3e6)) == []
    (head,) = heads(periodic(5, 3e6), periodic(3, 3e6, bench="dk.schedlat"))
    assert head == "Activations were missed in 1 more result"
    missing = [periodic(n, 3e6, bench=f"dk.b{n}") for n in (5, 3, 2)]
    every = findings(evaluate_run(run_with(*missing)))
    (finding,) = (f for f in every if "missed in" in f.head)
    assert finding.text == "3 in dk.b3, load none; 2 in dk.b2, load none"


def test_a_failed_result_comes_first() -> None:
    failed = Result(case=0, bench="sem.crash", params={}, load="none", status="failed", reason="x")
    assert heads(*ORDINARY, timed("det.bintime", 28.0, 16e6), failed)[0] == "1 result failed"


def test_evidence_is_the_place_of_a_result() -> None:
    trial = unprivileged()
    for finding in findings(evaluate_run(trial)):
        if isinstance(finding.evidence, int):
            assert trial.results[finding.evidence].bench in finding.head + finding.text
        else:
            assert finding.evidence == "growth"
            assert trial.slopes


def predictable(**members: Any) -> list[str]:
    result = Result(
        case=0, bench="x.y", params={}, load="none", status="ok", n=100_000, **members
    )  # fmt: skip
    outcome = findings(evaluate_run(run(results=[result], slopes=[])))
    return [f.head for f in outcome if "times the median" in f.head]


def test_a_large_ratio_is_written_out() -> None:
    head = "x.y: p99.9 is 77 000 times the median"
    assert predictable(p50=20.0, p999=1_540_100.0) == [head]
    assert predictable(p50=20.0, p999=80.0) == ["x.y: p99.9 is 4 times the median"]
    assert predictable(p50=20.0, p999=40.0) == []


def test_no_ratio_to_a_median_of_a_few_steps_of_the_clock() -> None:
    assert predictable(p50=3.0, p999=100.0) == []  # a step is 0.357 ns
    assert predictable(p50=3.0, p999=100.0, batch=2) != []


def test_counts_of_one_bench_are_its_answer() -> None:
    counts = [r for r in instructions().results if r.bench == "sem.wait.busy"]
    reply = answer(structs.replace(instructions(), results=counts))
    assert reply.verdict.startswith("sem.wait.busy: median ")
    assert " instr" in reply.verdict
    assert reply.verdict.endswith("; counts of an emulated machine, no verdict about time.")
    late = periodic(3, 40e3, unit="instructions")
    both = answer(structs.replace(instructions(), results=[periodic(0, 50e3), late]))
    assert ", max 40.0 k instr, missed 3, n = 5 000, " in both.verdict
