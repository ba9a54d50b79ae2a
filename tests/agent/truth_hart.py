"""Hartstone: the breakdown on a system without costs, and the effect of costs."""

from __future__ import annotations

import random
from functools import cache
from itertools import count
from typing import NamedTuple

import pytest

from rtstone.simulate import hartsets
from tests.agent.hartstone import Periodic, Told, meets_all, periodic_set, play, utilisation
from tests.agent.speak import Json, figures, pick
from tests.agent.truth import Agent, case_of, truth

S = 1_000_000_000
RAW = 100_000  # KWIPS
DURATION = 2 * S


class Experiment(NamedTuple):
    """The figures of an experiment, and what each test reported about its tasks."""

    figures: dict[str, float]
    tests: list[list[dict[str, str]]]


def run(
    agent: Agent, command: str, kwi: int = S // RAW, model: tuple[str, ...] = (), **costs: int
) -> Experiment:
    """Run an experiment on a system where only work and the named operations cost time."""
    words = ["cost.read.fixed=1000", f"cost.kwi.amount=0:0,1:{1000 * kwi}", *model]
    words += [f"cost.{name}.fixed={1000 * ns}" for name, ns in costs.items()]
    experiment = case_of(agent, command, *words)
    end = pick(experiment, "end")[0]
    assert end["status"] == "ok", end["reason"]
    result: Json = pick(experiment, "result")[0]
    table = result["tables"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    tests: list[list[dict[str, str]]] = []
    for row in rows:
        if int(row["test"]) > len(tests):
            tests.append([])
        tests[-1].append(row)
    return Experiment(figures(result), tests)


def counts_of(row: dict[str, str]) -> tuple[int, int, int, str, str]:
    """Return a row's counts met, missed, skipped, mean lateness and longest response in us."""
    return (int(row["met"]), int(row["missed"]), int(row["skipped"]), row["average late us"],
            row["longest response us"])  # fmt: skip


def as_told(report: Told) -> tuple[int, int, int, str, str]:
    """Return the same of a test that was played."""
    late = report.late / report.missed if report.missed else 0
    return (
        report.met,
        report.missed,
        report.skipped,
        f"{late / 1000:.1f}",
        f"{report.longest / 1000:.1f}",
    )


def breaks_down(experiment: Experiment, clean: int) -> None:
    """Return the last test without a miss, and its figure of merit."""
    assert experiment.figures["last test without a miss"] == clean
    assert experiment.figures["first test with a miss"] == clean + 1
    merit = float(experiment.tests[clean - 1][0]["utilisation %"])
    assert experiment.figures["breakdown utilisation"] == pytest.approx(merit, abs=0.006)


@truth("hart.raw")
def raw_speed(agent: Agent) -> None:
    assert run_raw(agent) == RAW


def run_raw(agent: Agent) -> float:
    words = ["cost.read.fixed=1000", f"cost.kwi.amount=0:0,1:{1000 * S // RAW}"]
    record = pick(case_of(agent, "hart.raw", *words), "result")[0]
    assert 10 <= record["sum"] / record["hz"] < 10.1  # seconds of work, in the unit of the samples
    return figures(record)["raw speed"]


@truth("hart.PH.1", "hart.PH.2", "hart.PH.3", "hart.PH.4")
def harmonic_sets_reach_the_whole(agent: Agent) -> None:
    """Under both policies, the last step at or below 100% is the last one without a miss."""
    for experiment in (1, 2, 3, 4):
        experiment_run = run(agent, f"hart.PH.{experiment} duration={DURATION}")
        m = int(experiment_run.figures["factor of all loads"])
        assert m == RAW // 5 // 320  # a fifth of raw speed
        sets = (periodic_set("PH", experiment, n, m, S // RAW) for n in count(1))
        last = next(n for n, tasks in enumerate(sets) if utilisation(tasks) > 1)
        breaks_down(experiment_run, last)
        command = f"hart.PH.{experiment} duration={DURATION} policy=edf stop=first"
        breaks_down(run(agent, command), last)


@truth("hart.PH.1", "hart.PH.2", "hart.PH.4")
def completions_exactly_at_their_deadlines(agent: Agent) -> None:
    """A set of exactly 100%, of which a task ends just when its next activation begins, is met."""
    for number, last in ((1, 41), (2, 41), (4, 21)):
        for policy in ("rm", "edf"):
            command = f"hart.PH.{number} duration={DURATION} policy={policy} stop=first"
            experiment = run(agent, command, kwi=12_500)
            breaks_down(experiment, last)
            assert {row["utilisation %"] for row in experiment.tests[last - 1]} == {"100.00"}
            assert any(
                float(row["longest response us"]) == 1000 * float(row["period ms"])
                for row in experiment.tests[last - 1]
            )


@truth("hart.PH.1")
def the_test_that_ends_an_experiment(agent: Agent) -> None:
    """It ends with the first test that misses or skips as many as it says, and not one later."""
    command = f"hart.PH.1 duration={DURATION} stop=total"
    first = run(agent, f"{command} stop_misses=1", kwi=12_500)
    bad = sum(int(row["missed"]) + int(row["skipped"]) for row in first.tests[-1])
    assert (len(first.tests), bad) == (42, 4)
    assert len(run(agent, f"{command} stop_misses={bad}", kwi=12_500).tests) == 42
    assert len(run(agent, f"{command} stop_misses={bad + 1}", kwi=12_500).tests) > 42


@truth("hart.AH.1", "hart.AH.4", "hart.SA.4")
def every_task_is_in_the_utilisation(agent: Agent) -> None:
    for number in ("AH.1", "AH.4", "SA.4"):
        experiment = run(agent, f"hart.{number} duration={DURATION} stop=first", kwi=12_500)
        for rows in (experiment.tests[0], experiment.tests[-1]):
            assert "background" in rows[-1]["task"]
            shares = sum(int(row["tasks"]) * float(row["task's %"]) for row in rows)
            rounding = 0.005 * (1 + sum(int(row["tasks"]) for row in rows))
            assert float(rows[0]["utilisation %"]) == pytest.approx(shares, abs=rounding)
            assert float(rows[-1]["task's %"]) > 1


@cache  # for the next agent, too
def exact_breakdown(experiment: int, m: int, kwi: int) -> int:
    """Return the last test of series PN before one that misses, by analysis alone."""
    return next(n for n in count() if not meets_all(periodic_set("PN", experiment, n + 1, m, kwi)))


@truth("hart.PN.1", "hart.PN.2", "hart.PN.3", "hart.PN.4")
def other_sets_break_down_where_analysis_says(agent: Agent) -> None:
    for experiment in (1, 2, 3, 4):
        experiment_run = run(agent, f"hart.PN.{experiment} duration={DURATION} stop=first")
        m = int(experiment_run.figures["factor of all loads"])
        breaks_down(experiment_run, exact_breakdown(experiment, m, S // RAW))
        edf = run(agent, f"hart.PN.{experiment} duration={10 * S} policy=edf stop=first")
        sets = (periodic_set("PN", experiment, n, m, S // RAW) for n in count(1))
        breaks_down(edf, next(n for n, tasks in enumerate(sets) if utilisation(tasks) > 1))


@truth("hart.PN.1", "hart.PN.2", "hart.PN.3", "hart.PN.4")
def so_do_fifty_drawn_at_random(agent: Agent) -> None:
    """Speed and load factors are drawn at random, and with them all execution times."""
    draw = random.Random(37)
    for _ in range(50):
        experiment, kwi = draw.randint(1, 4), draw.randint(5_000, 60_000)
        speed = draw.randint(S // kwi, 2 * S // kwi)  # the factor follows from the reported figures
        m = max(speed // 5 // 322, 1)
        last = exact_breakdown(experiment, m, kwi)
        experiment_run = run(
            agent, f"hart.PN.{experiment} duration={DURATION} stop=first speed={speed}", kwi
        )
        assert experiment_run.figures["factor of all loads"] == m
        assert experiment_run.figures["last test without a miss"] == last
        assert experiment_run.figures["first test with a miss"] == last + 1


@cache
def played(base: str, experiment: int, n: int, m: int, switch: int = 0) -> list[Told]:
    """Play a test of a series."""
    return play(periodic_set(base, experiment, n, m, S // RAW), DURATION, switch)


@truth("hart.PH.1", "hart.PN.1", "hart.PN.2", "hart.PN.3")
def every_activation_is_accounted_for(agent: Agent) -> None:
    """Compare met, missed, skipped, lateness and longest response of every task of every test."""
    for bench, base, experiment in (("PN.1", "PN", 1), ("PN.3", "PN", 3), ("PH.1", "PH", 1)):
        experiment_run = run(agent, f"hart.{bench} duration={DURATION}")
        m = int(experiment_run.figures["factor of all loads"])
        for n, rows in enumerate(experiment_run.tests, 1):
            tasks = periodic_set(base, experiment, n, m, S // RAW)
            expected = [as_told(t) for t in played(base, experiment, n, m)]
            assert [counts_of(row) for row in rows] == expected
            due = [sum(counts_of(row)[:3]) for row in rows]
            assert due == [DURATION * t.rate // (10 * S) for t in tasks]


@truth("hart.PN.1")
def a_switch_costs_its_cost(agent: Agent) -> None:
    """Every response is longer by the switches within it, and by nothing else."""
    switch = 7_919
    experiment = run(agent, f"hart.PN.1 duration={DURATION} stop=first", switch=switch)
    free = run(agent, f"hart.PN.1 duration={DURATION} stop=first")
    m = int(experiment.figures["factor of all loads"])
    assert experiment.figures["breakdown utilisation"] < free.figures["breakdown utilisation"]
    for n, rows in enumerate(experiment.tests[:-1], 1):
        expected = [as_told(t) for t in played("PN", 1, n, m, switch)]
        assert [counts_of(row)[0:3] for row in rows] == [task[0:3] for task in expected]
        assert [counts_of(row)[4] for row in rows] == [task[4] for task in expected]


@truth("hart.PH.1", "hart.PH.3")
def a_limit_of_time_shortens_the_tests(agent: Agent) -> None:
    """All tests up to 110% share the time limit; none is shorter than the longest period."""
    whole = run(agent, f"hart.PH.3 duration={DURATION} speed={RAW}").figures
    fits = run(agent, f"hart.PH.3 time={40 * S} speed={RAW}").figures
    assert fits["breakdown utilisation"] == whole["breakdown utilisation"]
    planned = 24  # 20% and 23 steps of 3.875% are at most 110%
    share = 0.9 * 40 / (planned * 15)  # of 10 s of a test, and 5 s before it
    assert fits["duration of a test"] == pytest.approx(10 * share, abs=6e-4)
    assert fits["time scale"] == pytest.approx(share, abs=6e-4)
    assert fits["tests that the time did not allow"] == 0
    short = run(agent, f"hart.PH.1 time={10 * S} speed={RAW}").figures
    assert short["duration of a test"] == 0.5
    done, planned = 1 + int(10 / 0.55), 46
    assert (short["tests"], short["tests that the time did not allow"]) == (done, planned - done)
    assert short["no breakdown up to"] == pytest.approx(
        100 * 62 * (320 + 32 * (done - 1)) / RAW, abs=6e-4
    )
    assert "breakdown utilisation" not in short


@truth("hart.PH.3")
def one_disturbance_leaves_an_interval(agent: Agent) -> None:
    """A stall in the fourth test misses deadlines there; later tests hold again."""
    command = f"hart.PH.3 duration={DURATION} speed={RAW}"
    quiet = run(agent, command)
    assert "held again at" not in quiet.figures
    clean = int(quiet.figures["last test without a miss"])
    stall = f"stall={3 * (5 * S + DURATION) + 5 * S + DURATION // 2}:{S // 20}:0"
    experiment = run(agent, command, model=(stall,))
    at = [100 * float(rows[0]["utilisation %"]) / 100 for rows in experiment.tests]
    assert experiment.figures["first test with a miss"] == 4
    assert experiment.figures["last test without a miss"] == clean > 4
    assert experiment.figures["breakdown utilisation"] == pytest.approx(at[2], abs=0.006)
    assert experiment.figures["first miss at"] == pytest.approx(at[3], abs=0.006)
    assert experiment.figures["held again at"] == pytest.approx(at[clean - 1], abs=0.006)
    few = run(agent, f"{command} samples=6", model=(stall,)).figures  # the last test is clean
    assert few["breakdown utilisation"] == pytest.approx(at[2], abs=0.006)
    assert few["held again at"] == pytest.approx(at[5], abs=0.006)
    assert "no breakdown up to" not in few


@truth("hart.PH.4")
def evidence_is_of_the_tests_alone(agent: Agent) -> None:
    """From halfway to the release, when all tasks are made, to the last completion of each test."""
    words = ("cost.read.fixed=1000", f"cost.kwi.amount=0:0,1:{1000 * S // RAW}")
    command = f"hart.PH.4 duration={DURATION} start={S} samples=3 speed={RAW}"
    end = pick(case_of(agent, command, *words), "end")[0]
    tests = 3 * (S // 2 + DURATION)
    assert tests <= end["evidence"]["section_ns"] < tests + 3 * S // 10


@truth("hart.AH.1", "hart.SA.1")
def sporadic_experiments_can_break_down(agent: Agent) -> None:
    for bench in ("AH.1", "SA.1"):
        command = f"hart.{bench} duration={DURATION} speed={RAW}"
        whole = run(agent, command).figures
        assert whole["breakdown utilisation"] > whole["baseline"] + 10
        shortest = run(agent, f"{command} gaps=shortest").figures
        assert shortest["tests"] == 200 and "breakdown utilisation" not in shortest
        assert shortest["no breakdown up to"] < 22


@truth("hart.PH.4")
def two_hundred_tests_can_be_told(agent: Agent) -> None:
    """A published set that hardly loads a fast system: all tests, all tasks are reported."""
    experiment = run(agent, f"hart.PH.4 set=sei duration={S // 4} start={S // 100}", 100)
    assert experiment.figures["tests"] == experiment.figures["last test without a miss"] == 200
    assert [int(row["tasks"]) for row in experiment.tests[-1]] == [1, 1, 200, 1, 1]
    assert [counts_of(row)[:3] for row in experiment.tests[-1]] == [
        (0, 0, 0), (1, 0, 0), (400, 0, 0), (4, 0, 0), (8, 0, 0)
    ]  # fmt: skip


@truth("hart.AH.1", "hart.AH.2", "hart.AH.3", "hart.AH.4")
def sporadic_work_counts(agent: Agent) -> None:
    for experiment in (1, 2, 3, 4):
        experiment_run = run(agent, f"hart.AH.{experiment} duration={DURATION}")
        m = int(experiment_run.figures["factor of all loads"])
        first = experiment_run.tests[0]
        assert [row["task"] for row in first[5:7]] == ["6 sporadic", "7 background"]
        assert [int(row["KWIPP"]) for row in first] == [
            16 * m,
            8 * m,
            4 * m,
            2 * m,
            m,
            2 * m,
            8 * m,
        ]
        assert [float(row["Hz"]) for row in first[5:]] == [10.0, 2.0]
        arrivals = sum(counts_of(first[5])[:3])
        assert 10 <= arrivals <= 40  # in 2 s, 50 ms and more apart
        # alone at its priority, except for what has a higher rate than 20 Hz: task 5
        assert float(first[5]["longest response us"]) <= 1e-3 * (3 * m * S / RAW)
        assert counts_of(first[6])[:3] == (0, 0, 0)  # it has no deadlines


@truth("hart.AH.2", "hart.SA.2")
def responses_are_told_where_there_are_no_deadlines(agent: Agent) -> None:
    """Task 5 never waits; the background task does, and completes each of its arrivals."""
    for bench in ("AH.2", "SA.2"):
        first = run(agent, f"hart.{bench} duration={10 * S} samples=1").tests[0]
        urgent, background = ([float(row[name]) for name in (
            "completed", "mean response us", "deviation of the response us",
            "longest response us")] for row in (first[4], first[6]))  # fmt: skip
        alone = int(first[4]["KWIPP"]) * (S // RAW) / 1000
        if bench == "AH.2":  # in SA it waits for the server
            assert urgent == [320, alone, 0, alone]
        task = hartsets.baseline(bench[:2])[6]
        assert background[0] == len(hartsets.arrivals(task, 6, 10 * S))
        work = int(first[6]["KWIPP"]) * (S // RAW) / 1000
        assert work < background[1] < background[3]
        assert 0 < background[2] < background[3]
    harmonic = run(agent, f"hart.PH.2 duration={10 * S} samples=1").tests[0]
    assert "mean response us" not in harmonic[0]  # deadlines say it all


@truth("hart.PH.1", "hart.PH.2", "hart.PH.3", "hart.PH.4")
def the_published_set_scaled_is_the_published_one_on_a_faster_system(agent: Agent) -> None:
    """All loads and steps are multiplied alike, so that tests and their outcomes are the same."""
    wanted = 2560 / 0.2  # KWIPS of which the published set takes a fifth
    for experiment in (1, 2, 4):
        command = f"hart.PH.{experiment} duration={DURATION} stop=first"
        published = run(agent, f"{command} set=golatowski speed={int(wanted)}",
                        kwi=S // int(wanted))  # fmt: skip
        scaled = run(agent, f"{command} set=golatowski-auto")
        m = int(scaled.figures["factor of all loads"])
        assert m == int(0.2 * RAW / 2560)
        assert scaled.figures["baseline"] == pytest.approx(100 * 2560 * m / RAW, abs=0.001)
        pairs = zip(published.tests, scaled.tests, strict=False)
        for published_rows, scaled_rows in pairs:
            assert [row["Hz"] for row in published_rows] == [row["Hz"] for row in scaled_rows]
            assert [m * int(row["KWIPP"]) for row in published_rows] == [
                int(row["KWIPP"]) for row in scaled_rows
            ]
        assert scaled.figures["breakdown utilisation"] > 95 - 100 * 512 * m / RAW
    third = run(agent, f"hart.PH.3 duration={DURATION} stop=first set=golatowski-auto")
    added = [int(b["KWIPP"]) - int(a["KWIPP"]) for a, b in zip(*third.tests[:2], strict=True)]
    assert added == [16 * m] * 5  # its loads are 16 times those of sei
    assert third.figures["breakdown utilisation"] > 95


@truth("hart.SH.1", "hart.SH.2", "hart.SH.3", "hart.SH.4")
def blocking_is_bounded(agent: Agent) -> None:
    """Task 5 is blocked for at most the server's work for one other task; so is task 1, by all."""
    for experiment in (1, 2, 3, 4):
        for form in ("monitor", "server"):
            command = f"hart.SH.{experiment} duration={DURATION} stop=first form={form}"
            experiment_run = run(agent, command)
            m = int(experiment_run.figures["factor of all loads"])
            for n, rows in enumerate(experiment_run.tests, 1):
                work = m * (n if experiment == 3 else 1) * S // RAW
                longest = [float(row["longest blocking us"]) for row in rows[:5]]
                assert longest[4] <= work / 1000 + 0.05, f"{command}, test {n}"
                if form == "monitor":
                    assert longest[0] < DURATION / 2000
            assert [int(row["KWIPP"]) for row in experiment_run.tests[0]] == [
                load * m for load in (32, 16, 8, 4, 2)
            ]


@truth("hart.PH.1", "hart.PN.2", "hart.AH.3", "hart.SH.1")
def a_system_without_inheritance_has_all_but_the_monitor(agent: Agent) -> None:
    """Like Golatowski's systems: only a server executed by its callers needs such a mutex."""
    lacks = ("lacks=inherit", "lacks=protect")
    for bench in ("PH.1", "PN.2", "AH.3", "SH.1 form=server"):
        command = f"hart.{bench} duration={DURATION} stop=first"
        assert run(agent, command, model=lacks) == run(agent, command)
    refused = case_of(agent, "hart.SH.1 form=monitor", "cost.read.fixed=1000", *lacks,
                         f"cost.kwi.amount=0:0,1:{1000 * S // RAW}")  # fmt: skip
    end = pick(refused, "end")[0]
    assert end["status"] == "unsupported"
    assert end["reason"].startswith("cannot create a mutex")


@truth("hart.SA.1", "hart.SA.2", "hart.SA.3", "hart.SA.4")
def all_together(agent: Agent) -> None:
    for experiment in (1, 2, 3, 4):
        for form in ("monitor", "server"):
            experiment_run = run(agent, f"hart.SA.{experiment} duration={DURATION} form={form}")
            m = int(experiment_run.figures["factor of all loads"])
            loads = [16 * m, 8 * m, 4 * m, 2 * m, m, 2 * m, 8 * m]
            assert [int(row["KWIPP"]) for row in experiment_run.tests[0][:7]] == loads
            if experiment == 4:
                added = [int(row["tasks"]) - 1 for row in experiment_run.tests[3]]
                assert added == [0, 0, 2, 0, 0, 1, 0]
            if experiment == 3:
                grown = [int(row["KWIPP"]) for row in experiment_run.tests[1][:7]]
                assert grown == [load + m for load in loads[:6]] + [8 * m]


def test_the_oracle_of_this_file_is_no_tautology() -> None:
    """Two tasks by hand: 2 of 4 and 3 of 6 ms; the second one just does not fit."""
    ms = 1_000_000
    fits = [Periodic(2500, 2 * ms), Periodic(1000, 4 * ms)]
    assert meets_all(fits)
    assert play(fits, 100 * ms)[1] == Told(10, 0, 0, 0, 8 * ms)
    over = [Periodic(2500, 2 * ms), Periodic(1000, 7 * ms)]
    assert not meets_all(over)
    # it completes at 15 = 2 + 2 + 2 + 2 + 7; the release at 10 is skipped, so the next is at 20
    assert play(over, 20 * ms)[1].missed == 1
