"""`rtstone run --resume`: what an interrupted run has is kept, and the rest is measured."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rtstone.model.documents import Run
from rtstone.model.plan import Plan
from rtstone.store.index import entries, find
from rtstone.store.rundir import RunDirectory, load
from tests.conftest import Cli, Fake
from tests.wire.writer import Writer

GRID = ("run", "ctx.ballast", "-p", "ballast=0,1,33")
HELLO = {
    "t": "hello", "wire": 1, "agent": "0", "source": "00ff00ff00ff00ff", "port": "fake",
    "os": "Fake 1.0", "arch": "none", "compiler": "none", "flags": "-O2", "caps": ["heap"],
}  # fmt: skip
CLOCK = {"t": "clock", "source": "fake", "hz": 10**9, "granule": 1, "overhead": 20}


def statuses(run: Run) -> list[str]:
    return [result.status for result in run.results]


def cases_in(log: Path) -> list[int]:
    return [k for k in range(1, 9) if b'"t": "case", "id": %d' % k in log.read_bytes()]


@pytest.mark.parametrize("fate", ["kill", "fail", "exit"])
@pytest.mark.parametrize("case", [1, 2, 3])
def test_the_cases_that_are_missing_are_run(fake: Fake, cli: Cli, fate: str, case: int) -> None:
    fake(at=case, fate=fate)
    assert cli(*GRID).status == 4
    before = load(find("last"))
    fake()
    done = cli("run", "--resume", "last", "--json")
    assert done.status == 0
    run, path = load(find("last")), find("last")
    assert msgspec.json.decode(done.out, type=Run) == run
    assert run.run_id == before.run_id
    assert (run.status, statuses(run)) == ("complete", ["ok"] * 3)
    assert run.results[: case - 1] == before.results[: case - 1]
    assert run.slopes[0].slope == pytest.approx(2)
    assert f"{case - 1} of 3 cases are from before" in run.notes[-1]
    assert cases_in(path / "wire-2.log") == list(range(case, 4))
    assert entries()[-1].status == "complete"


def test_it_can_be_resumed_again_and_its_logs_are_enough(fake: Fake, cli: Cli) -> None:
    fake(at=1, fate="kill")
    cli(*GRID)
    fake(at=2, fate="kill")
    assert cli("run", "--resume", "last").status == 4
    assert statuses(load(find("last"))) == ["ok", "incomplete", "incomplete"]
    fake()
    assert cli("run", "--resume", "last").status == 0
    path = find("last")
    run = load(path)
    (path / "run.json").unlink()
    assert msgspec.structs.replace(load(path), duration_s=run.duration_s) == run


def planted(plan: Plan, *cases: int) -> Path:
    """A directory as a killed host leaves it: these cases ended, the next one was cut off."""
    directory, writer = RunDirectory(plan), Writer()
    conditions: dict[str, object] = {"t": "conditions", "values": {}}
    for record in (HELLO, CLOCK, conditions):
        directory.append(writer.line(record))
    for case in cases:
        head = {"t": "case", "id": case, "bench": "ctx.ballast", "params": {"ballast": case}}
        directory.append(writer.line(head))
        directory.append(writer.line({"t": "end", "id": case, "status": "ok", "reason": None}))
    directory.append(b'#rts 9 {"t":"case","id":%d,"ben' % (len(cases) + 1))
    directory._log.close()
    return directory.path


@pytest.mark.parametrize("ended", [[], [1], [1, 2], [1, 2, 3], [2]])
def test_a_directory_without_document(fake: Fake, cli: Cli, plan: Plan, ended: list[int]) -> None:
    trace = fake()
    path = planted(plan, *ended)
    assert cli("run", "--resume", path).status == 0
    run = load(path)
    assert (run.status, statuses(run)) == ("complete", ["ok"] * 3)
    assert [bool(result.n) for result in run.results] == [k not in ended for k in (1, 2, 3)]
    assert [result.case for result in run.results] == [1, 2, 3]
    assert trace.read_text()


def test_a_directory_of_which_nothing_but_the_plan_is_left(
    fake: Fake, cli: Cli, plan: Plan
) -> None:
    path = planted(plan)
    (path / "wire.log").unlink()
    assert cli("run", "--resume", path).status == 0
    assert statuses(load(path)) == ["ok"] * 3


def test_what_is_complete_is_left_alone(fake: Fake, cli: Cli) -> None:
    cli(*GRID)
    files = sorted(find("last").iterdir())
    done = cli("run", "--resume", "last")
    assert done.status == 2
    assert "the run is complete" in done.says
    assert sorted(find("last").iterdir()) == files


def test_a_run_that_goes_on_is_left_alone(fake: Fake, cli: Cli, plan: Plan) -> None:
    directory = RunDirectory(plan)
    done = cli("run", "--resume", directory.path)
    assert (done.status, "the run still goes on" in done.says) == (2, True)
    directory._log.close()


def test_another_agent_does_not_go_on_with_it(fake: Fake, cli: Cli) -> None:
    fake(at=2, fate="kill")
    cli(*GRID)
    fake(source="another")
    done = cli("run", "--resume", "last")
    assert done.status == 4
    assert "not the one that began this run" in done.says
    assert statuses(load(find("last"))) == ["ok", "incomplete", "incomplete"]


@pytest.mark.parametrize("more", [["null"], ["-p", "a=1"], ["--time", "1"], ["--load", "heavy"]])
def test_nothing_else_can_be_asked_for(fake: Fake, cli: Cli, more: list[str]) -> None:
    done = cli("run", "--resume", "last", *more)
    assert done.status == 2
    assert "goes on with what was asked before" in done.says


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_real_run_that_is_ended_from_outside(
    cli: Cli, home: Path, number: signal.Signals
) -> None:
    begin = "from rtstone.cli.main import main; main()"
    command = [sys.executable, "-c", begin, "run", "null", "clk.overhead", "sem.try.free"]
    with subprocess.Popen([*command, "--time", "1"], stdout=-3, stderr=-3) as process:
        while not any(b'"t":"end"' in log.read_bytes() for log in home.glob("runs/*/wire.log")):
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(number)
    path = find("last")
    before = load(path)
    assert statuses(before)[0] == "ok"
    assert statuses(before)[-1] == "incomplete"
    assert cli("run", "--resume", "last").status == 0
    after = load(path)
    assert (after.status, statuses(after)) == ("complete", ["ok"] * 3)
    assert after.results[0] == before.results[0]
