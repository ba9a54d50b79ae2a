from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from rtstone.documents.comparison import SCHEMA, Cell, Comparison, Difference, Row
from rtstone.documents.run import Figure, Result, Run, Value
from rtstone.errors import UsageError
from rtstone.stats.comparison.compare import compare
from rtstone.wire.records import Bench, Param
from tests.stats.lab import agent, lab, loaded, result, study

THREE = [1.0, 2.0, 30.0]


def one(system: str, *results: Result, **more: Any) -> Run:
    return lab(system, results or [result("null", THREE)], **more)


def row(comparison: Comparison, bench: str, **params: Value) -> Row:
    (found,) = [
        row for row in comparison.rows
        if row.bench == bench and params.items() <= row.params.items()
    ]  # fmt: skip
    return found


def cells(found: Row) -> list[Cell]:
    assert None not in found.cells
    return [cell for cell in found.cells if cell]


def refused(*runs: Run) -> str:
    with pytest.raises(UsageError) as error:
        compare(runs)
    text = str(error.value)
    assert "\n" not in text
    return text


# ---- columns ------------------------------------------------------------------------------------


def test_runs_that_differ_in_the_seed_alone_are_one_column() -> None:
    values = {1: [10.0] * 30, 2: [20.0] * 50, 3: [5.0, 4000.0]}
    runs = [one("a", result("null", values[seed]), seed=seed) for seed in (3, 1, 2)]
    found = compare([runs[0], one("b"), *runs[1:]])
    first, second = found.columns
    assert (first.label, first.seeds) == ("a", [3, 1, 2])
    assert first.runs == [run.run_id for run in runs]
    assert (second.label, second.seeds) == ("b", [1])
    cell = cells(row(found, "null"))[0]
    assert (cell.n, cell.runs, cell.min, cell.p50, cell.max) == (82, 3, 5.0, 20.0, 4000.0)


def test_a_system_without_a_seed_is_no_other_sample() -> None:
    found = compare([one("a", seed=1), one("a", seed=2), one("rtos", seed=None)])
    assert "seeds" not in {difference.aspect for difference in found.differences}
    found = compare([one("a", seed=1), one("b", seed=2), one("rtos", seed=None)])
    (seeds,) = [d for d in found.differences if d.aspect == "seeds"]
    assert [(held.value, held.columns) for held in seeds.values] == [("1", ["a"]), ("2", ["b"])]


def test_columns_stand_in_the_order_in_which_they_are_named() -> None:
    for order in (["b", "a", "c"], ["c", "b", "a"]):
        found = compare([one(name, result("null", [float(ord(name))])) for name in order])
        assert [column.label for column in found.columns] == order
        assert [chr(int(cell.min or 0)) for cell in cells(found.rows[0])] == order


@pytest.mark.parametrize(
    "changes",
    [{"shift": 7}, {"board": "q35"}, {"qemu": "8"}, {"kernel_sha256": "x"}, {"preempt": "full"}],
)
def test_what_differs_in_anything_else_is_a_column_of_its_own(changes: dict[str, Value]) -> None:
    runs = [one("a", seed=1), one("a", run_id="other", seed=2, **changes)]
    labels = [column.label for column in compare(runs).columns]
    assert len(set(labels)) == 2


def test_another_agent_is_another_column() -> None:
    runs = [one("a", seed=1), one("a", seed=2, agent=agent(source="f" * 16))]
    assert len(compare(runs).columns) == 2


def test_the_same_seed_again_is_not_counted_twice() -> None:
    runs = [one("a", run_id="x-1", seed=1), one("a", run_id="x-2", seed=1)]
    found = compare(runs)
    assert [column.label for column in found.columns] == ["a (1)", "a (2)"]
    assert [cell.n for cell in cells(found.rows[0])] == [3, 3]


def test_a_preemption_model_is_part_of_the_name() -> None:
    models = ("none", "full", None)
    found = compare([one("linux", run_id=str(m), preempt=m) for m in models])
    assert [column.label for column in found.columns] == ["linux none", "linux full", "linux"]


def test_without_a_system_the_target_is_the_name() -> None:
    runs = [
        msgspec.structs.replace(one("a"), run_id=f"r-{name}", target=msgspec.structs.replace(
            one("a").target, name=name, detail={}))
        for name in ("sim:x", "sim:y")
    ]  # fmt: skip
    assert [column.label for column in compare(runs).columns] == ["sim:x", "sim:y"]


# ---- rows ---------------------------------------------------------------------------------------


def test_parameters_and_loads_make_rows() -> None:
    def timed(value: float, load: str, waiters: int) -> Result:
        return result("sem.wait.busy", [value], load=load, params={"waiters": waiters})

    a = one("a", timed(1, "none", 0), timed(2, "none", 33), timed(3, "exit", 0))
    b = one("b", timed(6, "exit", 0), timed(5, "none", 33), timed(4, "none", 0))
    found = compare([a, b])
    table = [(r.params["waiters"], r.load, [c.min for c in cells(r)]) for r in found.rows]
    assert table == [(0, "none", [1, 4]), (0, "exit", [3, 6]), (33, "none", [2, 5])]


def test_a_parameter_that_one_system_lacks_has_its_default() -> None:
    a = one("a", result("sem.wait.busy", [1.0], params={"waiters": 0}))
    b = one("b", result("sem.wait.busy", [2.0], params={}))
    (found,) = compare([a, b]).rows
    assert [cell.min for cell in cells(found)] == [1, 2]


@pytest.mark.parametrize("order", [1, -1])
def test_it_has_its_default_in_whatever_order_they_are_named(order: int) -> None:
    def system(name: str, value: float, **params: Value) -> Run:
        table = Bench("sem.wait.busy", "", params=[Param(p, "int", None, 0) for p in params])
        return one(
            name, result("sem.wait.busy", [value], params=params), changes={"benches": [table]}
        )

    runs = system("linux", 1, waiters=0, clock=0), system("rtos", 2, waiters=0)
    (found,) = compare(runs[::order]).rows
    assert [cell.min for cell in cells(found)] == [1, 2][::order]


def test_circumstances_make_no_row_but_where_a_run_varies_them() -> None:
    def timed(samples: int, value: float) -> Result:
        return result("sem.wait.busy", [value], params={"samples": samples, "prio": samples})

    (only,) = compare([one("a", timed(10, 1)), one("b", timed(20, 2))]).rows
    assert [cell.min for cell in cells(only)] == [1, 2]
    grid = [one(name, timed(10, 1), timed(20, 2)) for name in ("a", "b")]
    assert [r.params["samples"] for r in compare(grid).rows] == [10, 20]


def test_what_a_system_does_not_offer_is_shown_with_the_reason() -> None:
    no = result("proc.create", status="unsupported", reason="no processes", params={})
    a = one("a", result("null", THREE), no)
    b = one("b", result("null", THREE), *(
        result("proc.create", [5.0], params={"variant": v}) for v in ("fork", "vfork")
    ))  # fmt: skip
    found = compare([a, b])
    for variant in ("fork", "vfork"):
        lacking, there = cells(row(found, "proc.create", variant=variant))
        assert (lacking.status, lacking.reason, lacking.n) == ("unsupported", "no processes", 0)
        assert there.min == 5.0


def test_what_is_to_blame_concerns_only_the_cases_that_have_it() -> None:
    no = result("proc.create", status="unsupported", reason="no", params={"variant": "fork"})
    a = one("a", result("proc.create", [4.0], params={"variant": "thread"}), no)
    b = one("b", *(result("proc.create", [5.0], params={"variant": v}) for v in ("fork", "thread")))
    found = compare([a, b])
    assert [c.status for c in cells(row(found, "proc.create", variant="thread"))] == ["ok", "ok"]
    assert cells(row(found, "proc.create", variant="fork"))[0].status == "unsupported"
    assert len(found.rows) == 2


def test_a_case_that_was_not_run_is_not_one_with_other_parameters() -> None:
    lost = result("sem.wait.busy", status="incomplete", reason="not run: died", params={})
    b = one("b", *(result("sem.wait.busy", [5.0], params={"waiters": n}) for n in (0, 33)))
    found = compare([one("a", lost), b])
    assert cells(row(found, "sem.wait.busy", waiters=0))[0].reason == "not run: died"
    assert row(found, "sem.wait.busy", waiters=33).cells[0] is None


def test_what_no_system_offers_is_one_row() -> None:
    runs = []
    blamed: dict[str, dict[str, Value]] = {"a": {}, "b": {"variant": "fork"}}
    for name, known in blamed.items():
        no = result("proc.create", status="unsupported", reason=f"not {name}", params=known)
        runs.append(one(name, result("null", THREE), no))
    found = row(compare(runs), "proc.create")
    assert [cell.reason for cell in cells(found)] == ["not a", "not b"]


def test_a_seed_that_failed_is_told_and_the_others_are_kept() -> None:
    bad = result("null", status="failed", reason="panic")
    cut = result("null", [7.0], status="incomplete", reason="load exit: ended")
    runs = [one("a", seed=1), one("a", bad, seed=2), one("a", cut, seed=3), one("b")]
    cell = cells(compare(runs).rows[0])[0]
    assert (cell.status, cell.n, cell.runs, cell.max) == ("failed", 4, 2, 30.0)
    assert cell.reason == "seed 2: panic; seed 3: load exit: ended"


def test_a_seed_without_the_case_is_told() -> None:
    runs = [one("a", seed=1), one("a", result("dk.nanosleep", THREE), seed=2), one("b")]
    cell = cells(row(compare(runs), "null"))[0]
    assert (cell.status, cell.reason) == ("incomplete", "not part of 1 of 2 runs")


def test_series_are_rows_and_what_is_unsupported_stands_in_all() -> None:
    a = one("a", *(result("null", [1.0], series=f"cpu {n}") for n in (0, 1)))
    b = one("b", result("null", status="unsupported", reason="one CPU"))
    found = compare([a, b])
    assert [(r.series, cells(r)[1].reason) for r in found.rows] == [
        ("cpu 0", "one CPU"), ("cpu 1", "one CPU"),
    ]  # fmt: skip


def test_figures_of_a_case_without_samples_are_rows() -> None:
    def rate(value: float | None) -> Result:
        return result("rheal.rate", figures={"rate": Figure(value=value, unit="per s")})

    runs = [one("a", rate(7.0), seed=1), one("a", rate(9.0), seed=2), one("b", rate(None))]
    (found,) = compare(runs).rows
    assert (found.figure, found.unit) == ("rate", "per s")
    first, second = cells(found)
    assert (first.min, first.max, first.runs) == (7.0, 9.0, 2)
    assert (second.min, second.runs) == (None, 0)


def test_instructions_have_no_time() -> None:
    evidence = {"section_ns": 2_000_000_000}
    runs = [one(name, result("null", THREE, evidence=evidence)) for name in "ab"]
    assert {cell.section_s for cell in cells(compare(runs).rows[0])} == {None}
    timed = [
        one(name, result("null", THREE, unit="ns", evidence=evidence), unit="ns") for name in "ab"
    ]
    assert {cell.section_s for cell in cells(compare(timed).rows[0])} == {2.0}


# ---- equal conditions ---------------------------------------------------------------------------


def differences(a: Run, b: Run) -> dict[str, Difference]:
    return {found.aspect: found for found in compare([a, b]).differences}


def test_equal_conditions_have_no_difference() -> None:
    found = compare([one("a"), one("b")])
    assert found.differences == []
    assert found.equal == {
        "board": "virt-a53", "shift": "4", "QEMU": "7.2.13",
        "numbers come from": "an emulated machine", "architecture": "aarch64",
        "agent source": "0123456789abcdef", "compiler": "GNU 12.2.0", "optimisation": "-O2",
        "other compiler flags": "-g -static", "rights": "real-time",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("aspect", "grade", "there", "changes"),
    [
        ("board", "care", "q35", {"board": "q35"}),
        ("shift", "care", "7", {"shift": 7}),
        ("QEMU", "care", "10.0", {"qemu": "QEMU emulator version 10.0"}),
        ("QEMU", "care", "unknown", {"qemu": None}),
        ("seeds", "care", "8", {"seed": 8}),
        ("architecture", "care", "armv7m", {"agent": agent(arch="armv7m")}),
        ("agent source", "care", "ff", {"agent": agent(source="ff")}),
        ("compiler", "care", "GNU 13", {"agent": agent(compiler="GNU 13")}),
        ("optimisation", "care", "-Os", {"agent": agent(flags="-Os -g -static")}),
        ("optimisation", "care", "-O2 -flto", {"agent": agent(flags="-O2 -flto -g -static")}),
        ("other compiler flags", "note", "none", {"agent": agent(flags="-O2")}),
    ],
)
def test_each_difference_is_named(
    aspect: str, grade: str, there: str, changes: dict[str, Any]
) -> None:
    difference = differences(one("a"), one("b", **changes))[aspect]
    assert difference.grade == grade
    held = {column: held.value for held in difference.values for column in held.columns}
    assert held["b"] == there
    assert held["a"] != there


LINUX: dict[str, Value] = {
    "kernel.release": "6.12.1", "sched.rt_runtime_us": "950000", "sched.rt_period_us": "1000000",
    "sched.rt_group_sched": "no", "sched.fair_server": ["0-3: 50000000/1000000000"],
    "sched.ext_server": ["0-3: 50000000/1000000000"], "sched_ext.state": "disabled",
    "sched_ext.ops": None, "rseq.slice_extension": False, "rseq.slice_extension_ns": None,
    "sched.proxy_exec": False,
}  # fmt: skip
LEFT = "CPU left to others by busy real-time tasks"


def on_linux(name: str, more: dict[str, Value] | None = None, cpus: Sequence[int] = ()) -> Run:
    """Return a run of Linux that differs in some conditions, measured on these CPUs."""
    case = result("null", THREE, evidence={"cpus": list(cpus)})
    return msgspec.structs.replace(one(name, case), conditions=LINUX | (more or {}))


@pytest.mark.parametrize(
    ("more", "expected"),
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
    more: dict[str, Value], expected: dict[str, tuple[str, str]]
) -> None:
    aspects = differences(on_linux("a"), on_linux("b", more))
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
    assert differences(one("a"), on_linux("b")) == {}
    earlier = msgspec.structs.replace(one("a"), conditions={"kernel.release": "6.12.1"})
    aspects = differences(earlier, on_linux("b"))
    assert {aspect.grade for aspect in aspects.values()} == {"note"}
    assert LEFT in aspects


def test_ports_differ_by_nature_but_what_they_share_may_not() -> None:
    a = one("a", agent=agent(common="c" * 16, source="1"))
    b = one("b", agent=agent(common="c" * 16, source="2", port="freertos"))
    assert differences(a, b) == {}
    other = one("b", agent=agent(common="d" * 16, source="2", port="freertos"))
    assert set(differences(a, other)) == {"agent source"}
    patched = one("b", agent=agent(common="c" * 16, source="2"))
    assert set(differences(a, patched)) == {"port posix"}


def test_an_agent_that_never_answered_is_unknown() -> None:
    found = differences(one("a"), one("b", agent=None))
    assert found["agent source"].values[1].value == "unknown"


def test_missing_rights_are_named() -> None:
    def run(name: str, **evidence: Value) -> Run:
        return one(name, result("null", THREE, unit="ns", evidence=evidence), unit="ns")

    found = differences(run("a", sched="fifo", locked=True), run("b", sched="other", locked=False))[
        "rights"
    ]
    assert [held.value for held in found.values] == [
        "real-time", "without real-time scheduling and locked memory",
    ]  # fmt: skip


def test_the_machine_counts_where_time_is_measured() -> None:
    def run(name: str, cpu: str, source: str = "tsc") -> Run:
        made = one(name, result("null", THREE, unit="ns"), unit="ns")
        assert made.clock
        return msgspec.structs.replace(
            made,
            target=msgspec.structs.replace(made.target, name=name, detail={}),
            conditions={"cpu.model": cpu, "machine.product": "M"},
            clock=msgspec.structs.replace(made.clock, source=source),
        )

    found = differences(run("a", "Ryzen"), run("b", "Celeron", "vdso"))
    assert set(found) == {"CPU", "clock"}


def test_parameters_that_make_no_row_are_named_with_their_benches() -> None:
    def timed(bench: str, samples: int, prio: int) -> Result:
        return result(bench, [1.0], params={"samples": samples, "prio": prio})

    a = one("a", timed("sem.wait.busy", 1000, 98), timed("null", 1000, 98))
    b = one("b", timed("sem.wait.busy", 500, 30), timed("null", 500, 98))
    found = differences(a, b)
    assert (found["samples"].grade, found["prio"].grade) == ("care", "note")
    assert found["samples"].benches == ["sem.wait.busy", "null"]
    assert found["prio"].benches == ["sem.wait.busy"]
    assert [held.value for held in found["samples"].values] == ["1000", "500"]


def test_loads_of_one_name_that_are_not_the_same_are_named() -> None:
    a = one("a", loads=[loaded("heavy", "cpu", "disk", size=65536), loaded("exit", "exit")])
    b = one("b", loads=[loaded("heavy", "cpu", size=4096), loaded("exit", "exit")])
    found = differences(a, b)
    assert set(found) == {"load heavy, parts", "load heavy, size"}
    assert [held.value for held in found["load heavy, parts"].values] == ["cpu, disk", "cpu"]


# ---- what is refused ----------------------------------------------------------------------------


def test_one_run_is_no_comparison() -> None:
    assert "name two" in refused(one("a"))


def test_a_run_is_not_compared_with_itself() -> None:
    assert "named twice, 20261121-a-1" in refused(one("a"), one("a"))


def test_seeds_of_one_system_are_no_comparison() -> None:
    assert "only one system, a," in refused(one("a", seed=1), one("a", seed=2))


def test_runs_without_a_common_bench_are_refused() -> None:
    other = one("b", result("dk.nanosleep", THREE))
    assert refused(one("a"), other).startswith("no bench in common, in a, b;")
    other = one("b", result("null", THREE, load="heavy"))
    assert refused(one("a"), other) == (
        "no case in common, in a, b: parameters, series or loads of null differ; "
        "measure the same on each"
    )


def test_instructions_are_not_compared_with_time() -> None:
    time = one("b", result("null", THREE, unit="ns"), unit="ns")
    text = refused(one("a"), time, one("c"))
    assert "a and c counted instructions, b measured time" in text


def test_an_emulator_that_ran_freely_stands_beside_nothing_else() -> None:
    def run(name: str, icount: bool) -> Run:
        return one(name, result("null", THREE, unit="ns"), unit="ns", icount=icount)

    assert "b ran freely (icount off)" in refused(run("a", True), run("b", False))
    found = compare([run("a", False), run("b", False)])
    (remark,) = found.remarks
    assert remark.startswith("a, b: the emulator ran freely")
    assert "not comparable" in remark


def test_an_incomplete_run_is_remarked() -> None:
    cut = one("b", changes={"status": "incomplete", "reason": "kernel panic"})
    (remark,) = compare([one("a"), cut]).remarks
    assert "b is incomplete: 20261121-b-1: kernel panic" in remark


# ---- the document -------------------------------------------------------------------------------


def test_the_document_is_of_its_schema_and_reads_back() -> None:
    found = compare(study())
    data = msgspec.json.encode(found)
    assert msgspec.json.decode(data, type=Comparison) == found
    assert found.schema == SCHEMA == "rtstone.comparison/1"
    assert found.units == ["instructions"]
    assert all(len(row.cells) == len(found.columns) == 3 for row in found.rows)
    assert {bench.id for bench in found.benches} <= {row.bench for row in found.rows}


def test_the_same_runs_give_the_same_document() -> None:
    assert msgspec.json.encode(compare(study())) == msgspec.json.encode(compare(study()))
