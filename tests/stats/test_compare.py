from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from rtstone.documents.comparison import SCHEMA, Cell, Comparison, Difference, Row
from rtstone.documents.run import (
    Figure,
    Requirement,
    Result,
    Run,
    StopCriterion,
    Target,
    Value,
)
from rtstone.errors import UsageError
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.systems import systems
from rtstone.wire.records import Bench, Param
from tests.stats.lab import agent, lab, loaded, result, study

THREE = [1.0, 2.0, 30.0]


def lab_run(system: str, *results: Result, **members: Any) -> Run:
    return lab(system, results or [result("null", THREE)], **members)


def row(comparison: Comparison, bench: str, **params: Value) -> Row:
    (match,) = [
        row for row in comparison.rows
        if row.bench == bench and params.items() <= row.params.items()
    ]  # fmt: skip
    return match


def cells(comparison: Row) -> list[Cell]:
    assert None not in comparison.cells
    return [cell for cell in comparison.cells if cell]


def refused(*runs: Run) -> str:
    with pytest.raises(UsageError) as error:
        compare(runs)
    text = str(error.value)
    assert "\n" not in text
    return text


# ---- columns ------------------------------------------------------------------------------------


def test_runs_that_differ_in_the_seed_alone_are_one_column() -> None:
    values = {1: [10.0] * 30, 2: [20.0] * 50, 3: [5.0, 4000.0]}
    runs = [lab_run("a", result("null", values[seed]), seed=seed) for seed in (3, 1, 2)]
    comparison = compare([runs[0], lab_run("b"), *runs[1:]])
    first, second = comparison.columns
    assert (first.label, first.seeds) == ("a", [3, 1, 2])
    assert first.runs == [run.run_id for run in runs]
    assert (second.label, second.seeds) == ("b", [1])
    cell = cells(row(comparison, "null"))[0]
    assert (cell.n, cell.runs, cell.min, cell.p50, cell.max) == (82, 3, 5.0, 20.0, 4000.0)


def test_a_system_without_a_seed_is_no_other_sample() -> None:
    comparison = compare([lab_run("a", seed=1), lab_run("a", seed=2), lab_run("rtos", seed=None)])
    assert "seeds" not in {difference.aspect for difference in comparison.differences}
    comparison = compare([lab_run("a", seed=1), lab_run("b", seed=2), lab_run("rtos", seed=None)])
    (seeds,) = [d for d in comparison.differences if d.aspect == "seeds"]
    assert [(held.value, held.columns) for held in seeds.values] == [("1", ["a"]), ("2", ["b"])]


def test_columns_stand_in_the_order_in_which_they_are_named() -> None:
    for order in (["b", "a", "c"], ["c", "b", "a"]):
        comparison = compare([lab_run(name, result("null", [float(ord(name))])) for name in order])
        assert [column.label for column in comparison.columns] == order
        assert [chr(int(cell.min or 0)) for cell in cells(comparison.rows[0])] == order


@pytest.mark.parametrize(
    "changes",
    [
        {"shift": 7},
        {"board": "q35"},
        {"qemu": "8"},
        {"kernel_sha256": "x"},
        {"preempt": "full"},
        {"device": "screen"},
    ],
)
def test_what_differs_in_anything_else_is_a_column_of_its_own(changes: dict[str, Value]) -> None:
    runs = [lab_run("a", seed=1), lab_run("a", run_id="other", seed=2, **changes)]
    labels = [column.label for column in compare(runs).columns]
    assert len(set(labels)) == 2


def test_a_device_is_in_the_name_of_a_system_and_missing_means_none() -> None:
    comparison = compare([lab_run("a"), lab_run("a", run_id="b", device="screen", preempt="full")])
    assert [column.label for column in comparison.columns] == ["a", "a full device=screen"]
    assert [held.value for held in comparison.differences[0].values] == ["none", "screen"]


def test_another_agent_is_another_column() -> None:
    runs = [lab_run("a", seed=1), lab_run("a", seed=2, agent=agent(source="f" * 16))]
    assert len(compare(runs).columns) == 2


def test_the_same_seed_again_is_not_counted_twice() -> None:
    runs = [lab_run("a", run_id="x-1", seed=1), lab_run("a", run_id="x-2", seed=1)]
    comparison = compare(runs)
    assert [column.label for column in comparison.columns] == ["a (1)", "a (2)"]
    assert [cell.n for cell in cells(comparison.rows[0])] == [3, 3]


def test_a_preemption_model_is_part_of_the_name() -> None:
    models = ("none", "full", None)
    comparison = compare([lab_run("linux", run_id=str(m), preempt=m) for m in models])
    assert [column.label for column in comparison.columns] == ["linux none", "linux full", "linux"]


def test_without_a_system_the_target_is_the_name() -> None:
    runs = [
        msgspec.structs.replace(lab_run("a"), run_id=f"r-{name}", target=msgspec.structs.replace(
            lab_run("a").target, name=name, detail={}))
        for name in ("sim:x", "sim:y")
    ]  # fmt: skip
    assert [column.label for column in compare(runs).columns] == ["sim:x", "sim:y"]


# ---- rows ---------------------------------------------------------------------------------------


def test_parameters_and_loads_make_rows() -> None:
    def timed(value: float, load: str, waiters: int) -> Result:
        return result("sem.wait.busy", [value], load=load, params={"waiters": waiters})

    a = lab_run("a", timed(1, "none", 0), timed(2, "none", 33), timed(3, "exit", 0))
    b = lab_run("b", timed(6, "exit", 0), timed(5, "none", 33), timed(4, "none", 0))
    comparison = compare([a, b])
    table = [(r.params["waiters"], r.load, [c.min for c in cells(r)]) for r in comparison.rows]
    assert table == [(0, "none", [1, 4]), (0, "exit", [3, 6]), (33, "none", [2, 5])]


def test_a_parameter_that_one_system_lacks_has_its_default() -> None:
    a = lab_run("a", result("sem.wait.busy", [1.0], params={"waiters": 0}))
    b = lab_run("b", result("sem.wait.busy", [2.0], params={}))
    (row,) = compare([a, b]).rows
    assert [cell.min for cell in cells(row)] == [1, 2]


@pytest.mark.parametrize("order", [1, -1])
def test_it_has_its_default_in_whatever_order_they_are_named(order: int) -> None:
    def system(name: str, value: float, **params: Value) -> Run:
        table = Bench("sem.wait.busy", "", params=[Param(p, "int", None, 0) for p in params])
        return lab_run(
            name, result("sem.wait.busy", [value], params=params), changes={"benches": [table]}
        )

    runs = system("linux", 1, waiters=0, clock=0), system("rtos", 2, waiters=0)
    (row,) = compare(runs[::order]).rows
    assert [cell.min for cell in cells(row)] == [1, 2][::order]


def test_circumstances_make_no_row_but_where_a_run_varies_them() -> None:
    def timed(samples: int, value: float) -> Result:
        return result("sem.wait.busy", [value], params={"samples": samples, "prio": samples})

    (only,) = compare([lab_run("a", timed(10, 1)), lab_run("b", timed(20, 2))]).rows
    assert [cell.min for cell in cells(only)] == [1, 2]
    grid = [lab_run(name, timed(10, 1), timed(20, 2)) for name in ("a", "b")]
    assert [r.params["samples"] for r in compare(grid).rows] == [10, 20]


def test_what_a_system_does_not_offer_is_shown_with_the_reason() -> None:
    no = result("proc.create", status="unsupported", reason="no processes", params={})
    a = lab_run("a", result("null", THREE), no)
    b = lab_run("b", result("null", THREE), *(
        result("proc.create", [5.0], params={"variant": v}) for v in ("fork", "vfork")
    ))  # fmt: skip
    comparison = compare([a, b])
    for variant in ("fork", "vfork"):
        lacking, cell = cells(row(comparison, "proc.create", variant=variant))
        assert (lacking.status, lacking.reason, lacking.n) == ("unsupported", "no processes", 0)
        assert cell.min == 5.0


def test_what_is_to_blame_concerns_only_the_cases_that_have_it() -> None:
    no = result("proc.create", status="unsupported", reason="no", params={"variant": "fork"})
    a = lab_run("a", result("proc.create", [4.0], params={"variant": "thread"}), no)
    b = lab_run(
        "b", *(result("proc.create", [5.0], params={"variant": v}) for v in ("fork", "thread"))
    )
    comparison = compare([a, b])
    assert [c.status for c in cells(row(comparison, "proc.create", variant="thread"))] == [
        "ok",
        "ok",
    ]
    assert cells(row(comparison, "proc.create", variant="fork"))[0].status == "unsupported"
    assert len(comparison.rows) == 2


def test_a_case_that_was_not_run_is_not_one_with_other_parameters() -> None:
    lost = result("sem.wait.busy", status="incomplete", reason="not run: died", params={})
    b = lab_run("b", *(result("sem.wait.busy", [5.0], params={"waiters": n}) for n in (0, 33)))
    comparison = compare([lab_run("a", lost), b])
    assert cells(row(comparison, "sem.wait.busy", waiters=0))[0].reason == "not run: died"
    assert row(comparison, "sem.wait.busy", waiters=33).cells[0] is None


def test_what_no_system_offers_is_one_row() -> None:
    runs = []
    blamed: dict[str, dict[str, Value]] = {"a": {}, "b": {"variant": "fork"}}
    for name, blame in blamed.items():
        no = result("proc.create", status="unsupported", reason=f"not {name}", params=blame)
        runs.append(lab_run(name, result("null", THREE), no))
    absent = row(compare(runs), "proc.create")
    assert [cell.reason for cell in cells(absent)] == ["not a", "not b"]


def test_a_seed_that_failed_is_told_and_the_others_are_kept() -> None:
    bad = result("null", status="failed", reason="panic")
    cut = result("null", [7.0], status="incomplete", reason="load exit: ended")
    runs = [
        lab_run("a", seed=1),
        lab_run("a", bad, seed=2),
        lab_run("a", cut, seed=3),
        lab_run("b"),
    ]
    cell = cells(compare(runs).rows[0])[0]
    assert (cell.status, cell.n, cell.runs, cell.max) == ("failed", 4, 2, 30.0)
    assert cell.reason == "seed 2: panic; seed 3: load exit: ended"


def test_a_seed_without_the_case_is_told() -> None:
    runs = [lab_run("a", seed=1), lab_run("a", result("dk.nanosleep", THREE), seed=2), lab_run("b")]
    cell = cells(row(compare(runs), "null"))[0]
    assert (cell.status, cell.reason) == ("incomplete", "not part of 1 of 2 runs")


def test_series_are_rows_and_what_is_unsupported_stands_in_all() -> None:
    a = lab_run("a", *(result("null", [1.0], series=f"cpu {n}") for n in (0, 1)))
    b = lab_run("b", result("null", status="unsupported", reason="one CPU"))
    comparison = compare([a, b])
    assert [(r.series, cells(r)[1].reason) for r in comparison.rows] == [
        ("cpu 0", "one CPU"), ("cpu 1", "one CPU"),
    ]  # fmt: skip


def test_figures_of_a_case_without_samples_are_rows() -> None:
    def rate(value: float | None) -> Result:
        return result("rheal.rate", figures={"rate": Figure(value=value, unit="per s")})

    runs = [
        lab_run("a", rate(7.0), seed=1),
        lab_run("a", rate(9.0), seed=2),
        lab_run("b", rate(None)),
    ]
    (row,) = compare(runs).rows
    assert (row.figure, row.unit) == ("rate", "per s")
    first, second = cells(row)
    assert (first.min, first.max, first.runs) == (7.0, 9.0, 2)
    assert (second.min, second.runs) == (None, 0)


def test_instructions_have_no_time() -> None:
    evidence = {"section_ns": 2_000_000_000}
    runs = [lab_run(name, result("null", THREE, evidence=evidence)) for name in "ab"]
    assert {cell.section_s for cell in cells(compare(runs).rows[0])} == {None}
    timed = [
        lab_run(name, result("null", THREE, unit="ns", evidence=evidence), unit="ns")
        for name in "ab"
    ]
    assert {cell.section_s for cell in cells(compare(timed).rows[0])} == {2.0}


# ---- equal conditions ---------------------------------------------------------------------------


def differences(a: Run, b: Run) -> dict[str, Difference]:
    return {comparison.aspect: comparison for comparison in compare([a, b]).differences}


def test_equal_conditions_have_no_difference() -> None:
    comparison = compare([lab_run("a"), lab_run("b")])
    assert comparison.differences == []
    assert comparison.equal == {
        "board": "virt-a53", "shift": "4", "QEMU": "7.2.13",
        "numbers come from": "an emulated machine", "architecture": "aarch64",
        "agent's common source": "0123456789abcdef", "compiler": "GNU 12.2.0",
        "optimisation": "-O2", "other compiler flags": "-g -static", "rights": "real-time",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("aspect", "grade", "column", "changes"),
    [
        ("board", "care", "q35", {"board": "q35"}),
        ("shift", "care", "7", {"shift": 7}),
        ("QEMU", "care", "10.0", {"qemu": "QEMU emulator version 10.0"}),
        ("QEMU", "care", "unknown", {"qemu": None}),
        ("hypervisor", "care", "xen", {"hypervisor": "xen"}),
        ("seeds", "care", "8", {"seed": 8}),
        ("architecture", "care", "armv7m", {"agent": agent(arch="armv7m")}),
        ("agent's common source", "care", "ff", {"agent": agent(source="ff")}),
        ("compiler", "care", "GNU 13", {"agent": agent(compiler="GNU 13")}),
        ("optimisation", "care", "-Os", {"agent": agent(flags="-Os -g -static")}),
        ("optimisation", "care", "-O2 -flto", {"agent": agent(flags="-O2 -flto -g -static")}),
        ("other compiler flags", "note", "none", {"agent": agent(flags="-O2")}),
    ],
)
def test_each_difference_is_named(
    aspect: str, grade: str, column: str, changes: dict[str, Any]
) -> None:
    difference = differences(lab_run("a"), lab_run("b", **changes))[aspect]
    assert difference.grade == grade
    held = {column: held.value for held in difference.values for column in held.columns}
    assert held["b"] == column
    assert held["a"] != column


def test_how_a_run_ended_and_was_disturbed_is_a_condition() -> None:
    """Of one that was stopped, traced, or let the CPUs sleep, numbers differ for that alone."""
    timed = dict.fromkeys(("kernel.release", "machine.host"), "x")

    def measured(name: str, *, idle: str, **members: Any) -> Run:
        run = lab_run(name, result("null", THREE, **members))
        target = msgspec.structs.replace(run.target, detail={})
        return msgspec.structs.replace(
            run, target=target, conditions={**timed, "cpu_dma_latency": idle}
        )

    plain = measured("a", idle="held at 0 us")
    until = msgspec.convert(
        {"statistic": "p50", "asked": 0.02, "width": None, "time_s": 60.0, "rounds": []},
        StopCriterion,
    )
    other = measured("b", idle="left as it is", flags=["traced"], until=until)
    required = Requirement(latency=100_000, stop_above=200_000)
    other = msgspec.structs.replace(other, requirement=required)
    seen = differences(plain, other)
    assert {
        aspect: [held.value for held in seen[aspect].values]
        for aspect in ("/dev/cpu_dma_latency", "traced", "stop above", "until")
    } == {
        "/dev/cpu_dma_latency": ["held at 0 us", "left as it is"], "traced": ["no", "yes"],
        "stop above": ["nothing", "200 µs"], "until": ["the limits of each case", "p50 to 0.02"],
    }  # fmt: skip


LINUX: dict[str, Value] = {
    "kernel.release": "6.12.1", "sched.rt_runtime_us": "950000", "sched.rt_period_us": "1000000",
    "sched.rt_group_sched": "no", "sched.fair_server": ["0-3: 50000000/1000000000"],
    "sched.ext_server": ["0-3: 50000000/1000000000"], "sched_ext.state": "disabled",
    "sched_ext.ops": None, "rseq.slice_extension": False, "rseq.slice_extension_ns": None,
    "sched.proxy_exec": False,
}  # fmt: skip
LEFT = "CPU left to others by busy real-time tasks"


def on_linux(name: str, members: dict[str, Value] | None = None, cpus: Sequence[int] = ()) -> Run:
    """Return a run of Linux that differs in some conditions, measured on these CPUs."""
    case = result("null", THREE, evidence={"cpus": list(cpus)})
    return msgspec.structs.replace(lab_run(name, case), conditions=LINUX | (members or {}))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {}),
        ({"sched.fair_server": ["0-3: 200000000/1000000000"]}, {LEFT: ("care", "200 ms of 1 s")}),
        ({"sched.fair_server": ["0-3: 0/1000000000"]}, {LEFT: ("care", "nothing")}),
        ({"sched.fair_server": ["0-3: 50000000/500000000"]}, {LEFT: ("care", "50 ms of 500 ms")}),
        ({"sched.fair_server": "none"}, {LEFT: ("care", "nothing")}),
        ({"sched.fair_server": None}, {LEFT: ("note", "unknown")}),
        ({"sched.rt_runtime_us": "-1"}, {}),  # is no limit of theirs in this kernel
        ({"sched.rt_runtime_us": None}, {LEFT: ("note", "unknown")}),
        # the same time, by RT throttling
        ({"kernel.release": "6.1", "sched.fair_server": "none", "sched.ext_server": "none"}, {}),
        ({"kernel.release": "6.1", "sched.fair_server": None, "sched.rt_runtime_us": "-1"},
         {LEFT: ("care", "nothing")}),
        ({"kernel.release": "6.1", "sched.fair_server": None, "sched.rt_group_sched": None},
         {"RT_GROUP_SCHED": ("note", "unknown")}),
        ({"kernel.release": "6.1", "sched.fair_server": None, "sched.rt_group_sched": None,
          "sched.rt_runtime_us": "900000"},
         {"RT_GROUP_SCHED": ("note", "unknown"), LEFT: ("care", "100 ms of 1 s")}),
        ({"sched.rt_group_sched": "on"}, {"RT_GROUP_SCHED": ("care", "on")}),
        ({"sched.rt_group_sched": "off", "sched.rt_runtime_us": "900000"},
         {"RT_GROUP_SCHED": ("care", "off"), LEFT: ("care", "50 ms of 1 s, 100 ms of 1 s")}),
        ({"sched.rt_group_sched": None}, {"RT_GROUP_SCHED": ("note", "unknown")}),
        ({"sched.rt_group_sched": None, "sched.rt_runtime_us": "900000"},
         {"RT_GROUP_SCHED": ("note", "unknown"), LEFT: ("note", "unknown")}),
        ({"sched_ext.state": None}, {}),
        ({"sched_ext.state": "enabled", "sched_ext.ops": "lavd"},
         {"scheduler of other tasks": ("care", "sched_ext lavd, enabled")}),
        ({"sched_ext.state": "enabled", "sched_ext.ops": "lavd", "sched.ext_server": None},
         {"scheduler of other tasks": ("care", "sched_ext lavd, enabled"),
          LEFT: ("note", "unknown")}),
        ({"rseq.slice_extension": True}, {"slice extension": ("care", "yes")}),
        ({"rseq.slice_extension_ns": "5000"},
         {"length of a slice extension": ("note", "5000")}),
        ({"sched.proxy_exec": True}, {"proxy execution": ("care", "yes")}),
        ({"sched.proxy_exec": None}, {"proxy execution": ("note", "unknown")}),
    ],
)  # fmt: skip
def test_what_the_scheduler_does_to_real_time_tasks_is_a_difference(
    members: dict[str, Value], expected: dict[str, tuple[str, str]]
) -> None:
    aspects = differences(on_linux("a"), on_linux("b", members))
    values = {
        name: (aspect.grade, next(v.value for v in aspect.values if v.columns == ["b"]))
        for name, aspect in aspects.items()
    }
    assert values == expected


@pytest.mark.parametrize(
    ("cpus", "expected"), [([1], set()), ([1, 2], set()), ([2], {LEFT}), ([], set())]
)
def test_the_servers_of_the_measured_cpus_count(cpus: list[int], expected: set[str]) -> None:
    servers: Value = ["0-1: 50000000/1000000000", "2: 0/1000000000"]
    other = on_linux("b", {"sched.fair_server": servers}, cpus)
    assert set(differences(on_linux("a", cpus=[1]), other)) == expected


def test_systems_other_than_linux_have_no_such_scheduler() -> None:
    assert differences(lab_run("a"), on_linux("b")) == {}
    earlier = msgspec.structs.replace(lab_run("a"), conditions={"kernel.release": "6.12.1"})
    aspects = differences(earlier, on_linux("b"))
    assert {aspect.grade for aspect in aspects.values()} == {"note"}
    assert LEFT in aspects


def test_ports_differ_by_nature_but_what_they_share_may_not() -> None:
    a = lab_run("a", agent=agent(common="c" * 16, source="1"))
    b = lab_run("b", agent=agent(common="c" * 16, source="2", port="freertos"))
    assert differences(a, b) == {}
    other = lab_run("b", agent=agent(common="d" * 16, source="2", port="freertos"))
    assert set(differences(a, other)) == {"agent's common source"}
    patched = lab_run("b", agent=agent(common="c" * 16, source="2"))
    assert set(differences(a, patched)) == {"port posix"}


def test_an_agent_that_never_answered_is_unknown() -> None:
    conditions = differences(lab_run("a"), lab_run("b", agent=None))
    assert conditions["agent's common source"].values[1].value == "unknown"


def test_missing_rights_are_named() -> None:
    def run(name: str, **evidence: Value) -> Run:
        return lab_run(name, result("null", THREE, unit="ns", evidence=evidence), unit="ns")

    conditions = differences(
        run("a", sched="fifo", locked=True), run("b", sched="other", locked=False)
    )["rights"]
    assert [held.value for held in conditions.values] == [
        "real-time", "without real-time scheduling and locked memory",
    ]  # fmt: skip


def test_rights_are_the_first_condition_and_what_is_lost_with_them_the_next() -> None:
    def run(name: str, cpu: str, idle: str, **evidence: Value) -> Run:
        measured = lab_run(name, result("null", THREE, unit="ns", evidence=evidence), unit="ns")
        target = msgspec.structs.replace(measured.target, detail={})
        conditions = {"cpu.model": cpu, "cpu_dma_latency": idle}
        return msgspec.structs.replace(measured, target=target, conditions=conditions)

    able = run("a", "X", "held at 0 us", sched="fifo", locked=True)
    unable = run("b", "Y", "not held: Permission denied", sched="other", locked=False)
    assert list(differences(able, unable)) == ["rights", "/dev/cpu_dma_latency", "CPU"]
    other = run("b", "Y", "left as it is", sched="fifo", locked=True)
    assert list(differences(able, other)) == ["CPU", "/dev/cpu_dma_latency"]


def test_the_machine_counts_where_time_is_measured() -> None:
    def run(name: str, cpu: str, source: str = "tsc") -> Run:
        run = lab_run(name, result("null", THREE, unit="ns"), unit="ns")
        assert run.clock
        return msgspec.structs.replace(
            run,
            target=msgspec.structs.replace(run.target, name=name, detail={}),
            conditions={"cpu.model": cpu, "machine.product": "M"},
            clock=msgspec.structs.replace(run.clock, source=source),
        )

    conditions = differences(run("a", "Ryzen"), run("b", "Celeron", "vdso"))
    assert set(conditions) == {"CPU", "clock"}


def test_parameters_that_make_no_row_are_named_with_their_benches() -> None:
    def timed(bench: str, samples: int, prio: int) -> Result:
        return result(bench, [1.0], params={"samples": samples, "prio": prio})

    a = lab_run("a", timed("sem.wait.busy", 1000, 98), timed("null", 1000, 98))
    b = lab_run("b", timed("sem.wait.busy", 500, 30), timed("null", 500, 98))
    conditions = differences(a, b)
    assert (conditions["samples"].grade, conditions["prio"].grade) == ("care", "note")
    assert conditions["samples"].benches == ["sem.wait.busy", "null"]
    assert conditions["prio"].benches == ["sem.wait.busy"]
    assert [held.value for held in conditions["samples"].values] == ["1000", "500"]


def test_loads_of_one_name_that_are_not_the_same_are_named() -> None:
    a = lab_run("a", loads=[loaded("heavy", "cpu", "disk", size=65536), loaded("exit", "exit")])
    b = lab_run("b", loads=[loaded("heavy", "cpu", size=4096), loaded("exit", "exit")])
    conditions = differences(a, b)
    assert set(conditions) == {"load heavy, parts", "load heavy, size"}
    assert [held.value for held in conditions["load heavy, parts"].values] == ["cpu, disk", "cpu"]


# ---- what is refused ----------------------------------------------------------------------------


def test_one_run_is_no_comparison() -> None:
    assert "name two" in refused(lab_run("a"))


def test_a_run_is_not_compared_with_itself() -> None:
    assert "named twice, 20261121-a-1" in refused(lab_run("a"), lab_run("a"))


def test_seeds_of_one_system_are_no_comparison() -> None:
    assert "only one system, a," in refused(lab_run("a", seed=1), lab_run("a", seed=2))


def test_runs_without_a_common_bench_are_refused() -> None:
    other = lab_run("b", result("dk.nanosleep", THREE))
    assert refused(lab_run("a"), other).startswith("no bench in common, in a, b;")
    other = lab_run("b", result("null", THREE, load="heavy"), run_id="r2")
    assert refused(lab_run("a", run_id="r1"), other) == (
        "no case in common, in a, b: of null load is none on a, heavy on b; measure the same on "
        "each, or draw both: `rtstone plot r1 r2`"
    )


def test_the_parameter_in_which_no_case_is_the_same_is_named() -> None:
    def waiting(name: str, *waiters: int) -> Run:
        return lab_run(
            name, *(result("sem.wait.busy", THREE, params={"waiters": n}) for n in waiters)
        )

    assert ": of sem.wait.busy waiters is 1 on a, 2 and 3 on b; measure" in refused(
        waiting("a", 1), waiting("b", 2, 3)
    )


def test_a_column_is_called_by_its_names_or_by_what_tells_it_from_a_named_one() -> None:
    def named(run_id: str, name: str | None) -> Run:
        run = lab_run("a", run_id=run_id)
        return msgspec.structs.replace(run, name=name, target=Target(name="local"))

    def labels(*groups: list[Run]) -> list[str]:
        return [column.label for column in systems(groups)]

    before, idle = named("20261121-a-1a", "before"), named("20261121-a-2b", "idle")
    assert labels([named("20261121-a-3c", None)], [before, idle]) == ["local (3c)", "before + idle"]
    assert labels([before], [idle]) == ["before", "idle"]


def test_of_one_run_of_several_cases_it_says_what_shows_them() -> None:
    bare = "one run has nothing to compare with; name two or more"
    assert refused(lab_run("a", result("null", THREE))) == bare
    both = lab_run("a", result("null", THREE), result("null", THREE, load="heavy"), run_id="r")
    assert refused(both) == f"{bare} (`rtstone show r` has its own cases below each other)"


def test_instructions_are_not_compared_with_time() -> None:
    time = lab_run("b", result("null", THREE, unit="ns"), unit="ns")
    text = refused(lab_run("a"), time, lab_run("c"))
    assert "a and c counted instructions, b measured time" in text


def test_an_emulator_that_ran_freely_stands_beside_nothing_else() -> None:
    def run(name: str, icount: bool) -> Run:
        return lab_run(name, result("null", THREE, unit="ns"), unit="ns", icount=icount)

    assert "b ran freely (icount off)" in refused(run("a", True), run("b", False))
    comparison = compare([run("a", False), run("b", False)])
    (remark,) = comparison.remarks
    assert remark.startswith("a, b: the emulator ran freely")
    assert "not comparable" in remark


def test_an_incomplete_run_is_remarked() -> None:
    cut = lab_run("b", changes={"status": "incomplete", "reason": "kernel panic"})
    (remark,) = compare([lab_run("a"), cut]).remarks
    assert remark == "b is incomplete: kernel panic"


# ---- the document -------------------------------------------------------------------------------


def test_the_document_is_of_its_schema_and_reads_back() -> None:
    comparison = compare(study())
    data = msgspec.json.encode(comparison)
    assert msgspec.json.decode(data, type=Comparison) == comparison
    assert comparison.schema == SCHEMA == "rtstone.comparison/1"
    assert comparison.units == ["instructions"]
    assert all(len(row.cells) == len(comparison.columns) == 3 for row in comparison.rows)
    assert {bench.id for bench in comparison.benches} <= {row.bench for row in comparison.rows}


def test_the_same_runs_give_the_same_document() -> None:
    assert msgspec.json.encode(compare(study())) == msgspec.json.encode(compare(study()))
