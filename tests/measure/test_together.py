"""Several targets measured at once: each run is what it is alone, and no target costs another."""

from __future__ import annotations

import io
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rtstone.cli.run_display import Displays, Lines
from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Result
from rtstone.measure import agent_session
from rtstone.measure.listener import Listener
from rtstone.store.index import entries
from rtstone.targets import find
from rtstone.targets.base import Link, Options
from rtstone.wire import records
from tests.conftest import Cli
from tests.measure.box import HERE, Box

MODELS = ("sim:linux-2.2.15", "sim:rmos3-pc1", "sim:ideal")


def targets(*names: str) -> list[str]:
    return [word for name in names for word in ("--target", name)]


BALLAST = ("run", "ctx.ballast", "-p", "ballast=1,2,3", "-p", "samples=10")


def test_each_run_is_what_it_is_alone(cli: Cli, tmp_path: Path) -> None:
    arguments = ("run", "dk.periodic", "sem.post.nowait", "-p", "samples=3000", "--json")
    together = cli(*arguments, *targets(*MODELS))
    assert (together.status, together.document["schema"]) == (0, "rtstone.session/1")
    runs, started = together.document["runs"], together.document["session"]
    for number, (model, run) in enumerate(zip(MODELS, runs, strict=True), 1):
        alone = cli(*arguments, "--target", model).document
        assert run["target"] == alone["target"]
        assert run["results"] == alone["results"]
        assert (run["run_id"], run["session"]) == (f"{started}-{number:02}", started)
        assert alone["session"] is None
    assert len({run["results"][0]["p50"] for run in runs}) == 3


def test_the_session_is_one_comparison_and_one_page(cli: Cli, tmp_path: Path) -> None:
    arguments = ("run", "sem.post.nowait", *targets(*MODELS), "-p", "samples=100")
    done = cli(*arguments)
    assert done.status == 0
    last_line = done.out.splitlines()[-1]
    started = entries()[0].run_id.rpartition("-")[0]
    assert f"rtstone compare {started}; a page: rtstone report {started}" in last_line
    for model in MODELS:
        assert f"\n{model}\n" in f"\n{done.out}"
        assert f"{model}: 1/1 sem.post.nowait: n 100 " in done.err
    for name in (started, "last", f"{started}-02"):
        columns = cli("compare", name, "--json").document["columns"]
        assert [column["target"] for column in columns] == list(MODELS)
    page = tmp_path / "page.html"
    assert cli("report", "last", "-o", page).status == 0
    assert all(model in page.read_text("utf-8") for model in MODELS)


def test_what_fails_does_not_cost_the_others(boxes: dict[str, dict[str, Any]], cli: Cli) -> None:
    boxes["dying"] = {"at": 2, "fate": "kill"}
    boxes["bad"] = {"refuses": "it has none"}
    boxes["gone"] = {"away": True}
    names = ("box:gone", "box:well", "box:dying", "box:bad")
    done = cli(*BALLAST, "--json", *targets(*names))
    assert done.status == 4  # the highest of 4, 0, 4, 3
    gone, well, dying, bad = done.document["runs"]
    assert (gone["status"], gone["reason"]) == ("incomplete", "box:gone does not answer")
    assert [r["status"] for r in well["results"]] == ["ok"] * 3
    assert [r["status"] for r in dying["results"]] == ["ok", "incomplete", "incomplete"]
    assert [r["status"] for r in bad["results"]] == ["failed"] * 3
    lines = done.err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["rtstone", "box:gone"], ["rtstone", "box:dying"], ["rtstone", "box:bad"],
    ]  # fmt: skip
    assert "the agent was killed by SIGKILL" in lines[1]
    assert len(entries()) == 3
    assert cli("run", "--resume", dying["run_id"]).status == 4  # it dies again, in another case
    assert cli(*BALLAST, *targets("box:well", "box:bad")).status == 3


def test_all_fail(boxes: dict[str, dict[str, Any]], cli: Cli) -> None:
    boxes["a"] = boxes["b"] = {"away": True}
    done = cli(*BALLAST, "--json", *targets("box:a", "box:b"))
    assert done.status == 4
    assert [run["results"] for run in done.document["runs"]] == [[], []]
    assert not entries()
    shown = cli(*BALLAST, *targets("box:a", "box:b"))
    assert (shown.status, shown.out) == (4, "")


MODEL = """
title = "Late"
label = "a test's own"
[cost]
read = "10ns"
time = "10ns"
"""
SAMPLES = 20_000_000  # seconds


def test_an_interrupt_ends_all_with_what_they_have(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when each of them has samples and none has ended: so they are measured at once."""
    names = []
    for name in "abc":
        (tmp_path / f"{name}.toml").write_text(MODEL)
        names.append(f"sim:{tmp_path / name}.toml")
    begun: set[int] = set()

    def progress(self: Listener, case: Case, record: records.Progress, unit: str) -> None:
        if record.n > 1000 and id(self) not in begun:
            begun.add(id(self))
            if len(begun) == len(names):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Listener, "progress", progress)
    monkeypatch.setattr(agent_session, "HEARTBEAT_MS", 10)
    options = ("-p", "period=100us", "-p", f"samples={SAMPLES}", "--json")
    done = cli("run", "dk.periodic", *options, *targets(*names))
    assert done.status == 130
    results = [run["results"][0] for run in done.document["runs"]]
    assert [(r["status"], r["ended"]) for r in results] == [("ok", "stopped")] * 3
    assert all(1000 < r["n"] < SAMPLES for r in results)
    for run in done.document["runs"]:
        assert f"rtstone run --resume {run['run_id']} goes on with it" in done.err


def test_a_fault_of_ours_is_raised_when_the_others_have_ended(
    boxes: dict[str, dict[str, Any]], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Box.start

    def broken(self: Box, options: Options) -> Link:
        if self.name == "box:a" and not options.catalogue:
            raise ZeroDivisionError
        return start(self, options)

    monkeypatch.setattr(Box, "start", broken)
    assert cli(*BALLAST, *targets("box:a", "box:b")).status == 70
    assert {entry.target: entry.ok for entry in entries()} == {"box:a": 0, "box:b": 3}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("sim", "sim"), "target 'sim' is given twice; name each target once"),
        (("local", "local"), "target 'local' is given twice"),
        (("box:a", "sim", "local"), "target 'sim' is computed by this machine, which would disturb "
         "what is measured on it by 'local'; measure one after the other"),
        (("local", "qemu:linux-6.1"), "target 'qemu:linux-6.1' is computed by this machine"),
        (("box:a", "box:b"), "targets 'box:a' and 'box:b' are the same machine"),
        (("local", "box:me"), "targets 'local' and 'box:me' are the same machine"),
        (("sim", "box:me"), "target 'sim' is computed by this machine, which would disturb what is "
         "measured on it by 'box:me'"),
    ],
)  # fmt: skip
def test_targets_that_would_disturb_each_other(
    boxes: dict[str, dict[str, Any]], cli: Cli, names: tuple[str, ...], message: str
) -> None:
    boxes.update(a={"machine": "1"}, b={"machine": "1"}, me={"machine": HERE})
    if not find("local").detail()["machine"] and "box:me" in names:
        pytest.skip("this machine has no id")
    done = cli("run", "null", *targets(*names))
    assert (done.status, done.out) == (2, "")
    assert message in done.says
    assert not entries()


@pytest.mark.parametrize(
    ("option", "value"), [("--out", "dir"), ("--name", "mine"), ("--resume", "last")]
)
def test_options_of_a_single_run(cli: Cli, option: str, value: str) -> None:
    done = cli("run", "null", *targets("sim", "sim:ideal"), option, value)
    assert done.status == 2
    assert f"{option} is for a single run, not for several targets; " in done.says


def test_a_request_that_one_target_cannot_carry_out_is_refused(cli: Cli) -> None:
    done = cli("run", "null", *targets("sim", "sim:ideal"), "-p", "nonsense=1")
    assert (done.status, done.out) == (2, "")
    assert "(on target 'sim')" in done.says
    assert not entries()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_this_program_keeps_off_the_cpus_measured_here(
    boxes: dict[str, dict[str, Any]], cli: Cli
) -> None:
    before = os.sched_getaffinity(0)
    measured = min(before)
    assert cli(*BALLAST, *targets("box:a", "local"), "--cpus", str(measured)).status == 0
    assert Box.affinities == {"box:a": before - {measured}}
    assert os.sched_getaffinity(0) == before


def test_waiting_for_others_takes_one_lock(
    boxes: dict[str, dict[str, Any]], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtstone.system.agents.SHM", tmp_path)  # agents of other tests live on
    assert cli(*BALLAST, *targets("box:a", "local"), "--wait").status == 0


@pytest.fixture
def result(plan: Plan) -> Result:
    return Result(case=1, bench="ctx.ballast", params={}, load="none", status="ok", n=5)


def test_lines_say_whose_they_are(plan: Plan, result: Result) -> None:
    out = io.StringIO()
    lines = Lines(out, "pi4")
    lines.started(plan)
    lines.load_starting("heavy")
    lines.case_ended(plan.cases[0], [result])
    output_lines = out.getvalue().splitlines()
    assert output_lines[0] == "pi4: starting load heavy"
    assert output_lines[1].startswith("pi4: 1/3 ctx.ballast ballast=10: n 5 ")


def test_each_run_has_a_line_of_the_display(plan: Plan, result: Result) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    displays = Displays(console, ["pi4", "nuc"])
    for name in ("pi4", "nuc"):
        displays.display(name).started(plan)
    displays.display("pi4").ended()
    displays.close()
    screen = re.sub(r"\x1b\[[?0-9]*[A-Zhl]", "", out.getvalue())
    rows = [line.split() for line in screen.splitlines()]
    assert ["nuc", "starting", "the", "agent", "…"] in rows
    assert ["pi4", "done"] in rows
    assert "nuc" not in out.getvalue().split("\x1b[2K")[-1]  # nothing stays
