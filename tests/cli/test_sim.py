"""The simulated system from the command line to the report."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rtstone.interrupt import Interrupt
from rtstone.measure.capabilities import merge_catalogues
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.measure.suite import expand, select, shipped
from rtstone.resources import BUILT
from rtstone.store.index import find as find_run
from rtstone.targets import find, sim
from tests.conftest import Cli, disturbed

STALLED = """
title = "Stalled"
label = "a test's own"
seed = 7
tick = "1ms"
stalls = [{ first = "50ms", length = "8ms", period = "100ms" }]
[cost]
read = "10ns"
time = "10ns"
time_syscall = "50ns"
sem_give = { fixed = "100ns", waiters = [[0, 0], [1, "0.5ns"]] }
sem_take = { fixed = "100ns", random = [[0, 0], [0.5, "20ns"], [1, "2us"]] }
switch = { fixed = "0.4us", ready = [[0, 0], [34, "0.5us"]] }
interrupt = "500ns"
kwi = "1us"
"""
BENCHES = [
    "sem.post.nowait", "sem.post.lower", "sem.post.higher", "sem.wait.free", "sem.wait.busy",
    "sem.try.free", "sem.try.busy", "sem.create", "sem.delete", "ctx.ballast", "dk.periodic",
]  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "stalled.toml"
    file.write_text(STALLED)
    return f"sim:{file}"


def test_the_same_results_whatever_the_host_does(cli: Cli, model: str) -> None:
    words = [
        "run", *BENCHES, "--target", model, "-p", "ballast=0,33", "-p", "samples=100",
        "--load", "none", "--load", "rt200", "--json",
    ]  # fmt: skip
    first = cli(*words).document
    with disturbed():
        second = cli(*words).document
    assert first["results"] == second["results"]
    assert {key for key in first if first[key] != second[key]} <= {
        "run_id",
        "created",
        "duration_s",
    }
    assert {r["status"] for r in first["results"]} == {"ok"}
    assert all(r["load_rates"] for r in first["results"] if r["load"] == "rt200")
    (quiet,) = [r for r in first["results"] if r["bench"] == "dk.periodic" and r["load"] == "none"]
    assert quiet["max"] >= 7e6  # of the stall of 8 ms
    assert quiet["missed"]


def test_gaps_are_found_and_gated(cli: Cli, model: str, tmp_path: Path) -> None:
    """The stalls of the model, where it looks for them; finding none is a result like any other."""
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "hw.latency"\nfigures = { "gaps" = "<= 0" }\n')
    words = ["run", "hw.latency", "--target", model, "--time", "60ms", "-p", "window=20ms"]
    for width, gaps, verdict in (("20ms", 1, 1), ("4ms", 0, 0)):
        (result,) = cli(*words, "-p", f"width={width}", "--json").document["results"]
        assert (result["status"], result["n"]) == ("ok", gaps)
        assert result["figures"]["gaps"]["value"] == gaps
        assert result["max"] == (8e6 if gaps else None)
        listed = [row for table in result["tables"] for row in table["rows"]]
        assert [length for _, length in listed] == ["8000.000"] * gaps
        assert cli("check", "last", "--budget", budget).status == verdict


def test_nothing_of_the_host_is_told(cli: Cli, model: str) -> None:
    document = cli("run", "null", "--target", model, "--json").document
    assert document["conditions"] == {
        "model": "Stalled",
        "model.label": "a test's own",
        "model.seed": 7,
        "model.tick_ns": 10**6,
        "model.slice_ns": 10**7,
    }
    assert document["agent"]["os"] == "Stalled"
    assert document["agent"]["arch"] == "simulated"
    assert document["target"]["name"] == model
    assert document["target"]["detail"]["model"] == "stalled"


LACKING = ", which this system does not have"


def test_what_it_lacks_is_unsupported(cli: Cli) -> None:
    words = ["run", "posix.options", "proc.create", "--target", "sim", "-p", "kind=thread,clone"]
    done = cli(*words, "--load", "none", "--load", "hackbench", "--json")
    assert done.status == 0
    outcomes = [(r["bench"], r["load"], r["status"], r["reason"]) for r in done.document["results"]]
    assert outcomes == [
        ("proc.create", "none", "ok", None),
        *(
            ("posix.options", load, "unsupported", f"needs calls of POSIX{LACKING}")
            for load in ("none", "hackbench")
        ),
        (
            "proc.create", "none", "unsupported",
            "kind=clone is not supported here, it has thread, process",
        ),
        ("proc.create", "hackbench", "unsupported", f"load hackbench needs a file system{LACKING}"),
    ]  # fmt: skip
    assert cli("show", "last").status == 0


def test_a_system_without_inheritance_has_the_reduced_heavy_load(cli: Cli) -> None:
    """The case keeps the only CPU busy, so the load may miss its rate; but it runs."""
    done = cli("run", "rheal.ts", "--target", "sim:lynx-486", "--load", "heavy/reduced", "--json")
    (result,) = done.document["results"]
    assert result["status"] in {"ok", "incomplete"}, result["reason"]
    rates = {rate["component"]: rate for rate in result["load_rates"]}
    assert set(rates) == {"cpu", "interrupt", "syscall", "memory"}
    assert all(rate["alive"] and rate["achieved"] > 0 for rate in rates.values())


def test_heavy_load_is_what_the_model_says_of_it(cli: Cli, tmp_path: Path) -> None:
    """Costs that it does not override, and other loads, are unchanged."""
    model = tmp_path / "mine.toml"
    model.write_text(
        'title = "M"\nlabel = "mine"\n[cost]\nread = "10ns"\ntime = "10ns"\nsem_give = "1us"\n'
        'sem_take = "2us"\ninterrupt = "3us"\nadd = { amount = "4ns" }\n'
        '[load.heavy]\nsem_give = "7us"\ntimer = "9us"\nadd = { amount = "5ns" }\n'
    )
    words = ["run", "sem.post.nowait", "sem.wait.free", "det.timer_jitter", "det.response",
             "--target", f"sim:{model}", "-p", "samples=20"]  # fmt: skip
    done = cli(*words, "--load", "none", "--load", "heavy", "--json")
    assert done.status == 0, done.err
    results = {(r["bench"], r["load"]): r for r in done.document["results"]}
    means = {place: round(result["mean"]) for place, result in results.items()}
    assert means == {
        ("sem.post.nowait", "none"): 1000, ("sem.post.nowait", "heavy"): 7000,
        ("sem.wait.free", "none"): 2000, ("sem.wait.free", "heavy"): 2000,
        ("det.timer_jitter", "none"): 3000, ("det.timer_jitter", "heavy"): 9000,
        # calibrated without load
        ("det.response", "none"): 10_000_000, ("det.response", "heavy"): 12_500_000,
    }  # fmt: skip
    (rate,) = results["sem.post.nowait", "heavy"]["load_rates"]
    assert (rate["component"], rate["alive"]) == ("modelled", True)
    assert rate["achieved"] > 0


def test_a_model_that_says_nothing_of_heavy_load_does_not_have_it(cli: Cli) -> None:
    done = cli("run", "null", "--target", "sim", "--load", "heavy", "--json")
    (result,) = done.document["results"]
    assert (result["status"], result["reason"]) == (
        "unsupported", "load heavy: the model says nothing of this load",
    )  # fmt: skip


def test_a_number_is_made_of_what_ran(cli: Cli) -> None:
    """Components that the target lacks are left out."""
    words = ["run", "rheal.sum_time", "rheal.il", "--target", "sim", "-p", "irq=interrupt,eventfd"]
    done = cli(*words, "-p", "samples=10", "-p", "loops=20", "--json")
    assert done.status == 0
    assert {r["status"] for r in done.document["results"] if r["bench"] == "rheal.sum_time"} == {
        "ok"
    }


def test_a_run_that_has_nothing_to_run(cli: Cli) -> None:
    done = cli("run", "posix.options", "--target", "sim")
    assert done.status == 3
    assert "unsupported posix.options: needs calls of POSIX" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["null", "--target", "sim:defalt"], "unknown model 'defalt'; did you mean 'default'?"),
        (["posix.optoins", "--target", "sim"], "did you mean 'posix.options'?"),
        (["null", "--target", "sim", "--load", "heavi"], "did you mean 'heavy'?"),
        (["null", "--target", "sim", "--cpus", "1"], "CPU 1 is not available, on target 'sim'"),
        (["null", "--target", "sim:bad.toml"], "cost 'raed', in model bad.toml; did you mean"),
    ],
)
def test_mistakes(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text('title = "T"\nlabel = "L"\n[cost]\nraed = "1ns"\n')
    done = cli("run", *arguments)
    assert done.status == 2
    assert says in done.says


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_suite_can_be_expanded(name: str) -> None:
    """Of the benches that it names, all available ones run if one of their loads is available."""
    with Interrupt() as interrupt:
        offered = catalogue(find("sim"), interrupt)
        merged = merge_catalogues(offered, catalogue(find("local"), interrupt))
    wanted = select([name], merged.benches)
    expanded = expand(wanted, Request(), offered, merged)
    named = {case.bench for case in [*expanded.cases, *expanded.derived]}
    offered_benches = {want.bench for want in wanted} & set(offered.benches)
    offered_benches -= {c.bench for c in expanded.absent if c.reason.startswith("no load")} - named
    assert offered_benches
    assert offered_benches - named == set()
    assert named <= set(offered.benches)


def test_models_are_listed(cli: Cli) -> None:
    rows: list[dict[str, Any]] = cli("list", "targets", "--json").document["targets"]
    titles = {row["name"]: (row["title"], row["label"]) for row in rows}
    assert titles["sim:default"] == ("Small RTOS", "rtstone's own: no real system")
    assert titles["local"][1] is None
    assert "rtstone's own: no real system" in cli("list", "targets", "sim").out


def test_a_broken_run_is_made_again_from_its_log(cli: Cli) -> None:
    document = cli("run", "null", "posix.options", "--target", "sim", "--json").document
    path = find_run("last")
    (path / "run.json").unlink()
    assert cli("show", path, "--json").document["results"] == document["results"]


def test_wherever_it_shows_it_is_labelled(cli: Cli, model: str, tmp_path: Path) -> None:
    label = "Stalled, simulated (a test's own)"
    second = cli("run", "null", "--target", model).out.splitlines()[1]
    assert second.startswith(f"{model}: {label}; ")
    assert cli("show", "last", "--conditions").out.count(label) == 2
    page = tmp_path / "page.html"
    assert cli("report", "last", "-o", page).status == 0
    text = unescape(page.read_text())
    assert f">{label}</h1>" in text
    assert "Stalled was not measured: every number follows from a model (a test's own)." in text


def test_it_is_labelled_even_if_it_never_answers(
    cli: Cli, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agent = tmp_path / "rtstone-agent-sim"
    agent.write_text(f'#!/bin/sh\ncase "$1" in --*) exec "{BUILT}/rtstone-agent-sim" "$@"; esac\n')
    agent.chmod(0o755)
    monkeypatch.setattr(sim, "BUILT", tmp_path)
    done = cli("run", "null", "--target", model)
    assert done.status == 4
    assert f"{model}: Stalled, simulated (a test's own)" in done.out
