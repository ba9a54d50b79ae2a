"""`rtstone run --resume`: the results of an interrupted run are kept, and the rest is measured."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run, Target
from rtstone.errors import TargetError
from rtstone.store.index import entries, find, latest
from rtstone.store.rundir import RunDirectory, load
from rtstone.system import tune
from rtstone.targets import find as find_target
from rtstone.targets import local
from tests.conftest import Cli, Fake
from tests.wire.writer import Writer

GRID = ("run", "ctx.ballast", "-p", "ballast=0,1,33")
HELLO: dict[str, object] = {
    "t": "hello", "wire": 2, "agent": "0", "source": "00ff00ff00ff00ff", "port": "fake",
    "os": "Fake 1.0", "arch": "none", "compiler": "none", "flags": "-O2", "caps": ["heap"],
}  # fmt: skip
CLOCK: dict[str, object] = {
    "t": "clock",
    "source": "fake",
    "hz": 10**9,
    "granule": 1,
    "overhead": 20,
}
CONDITIONS: dict[str, object] = {
    "t": "conditions",
    "values": {"cpu.model": "Imaginary", "kernel.release": "1.0"},
}


def statuses(run: Run) -> list[str]:
    return [result.status for result in run.results]


def cases_in(log: Path) -> list[int]:
    return [k for k in range(1, 9) if b'"t": "case", "id": %d' % k in log.read_bytes()]


@pytest.mark.parametrize("fate", ["kill", "fail", "exit"])
@pytest.mark.parametrize("case", [1, 2, 3])
def test_the_cases_that_are_missing_are_run(fake: Fake, cli: Cli, fate: str, case: int) -> None:
    fake(at=case, fate=fate)
    assert cli(*GRID).status == 4
    path = latest()
    assert path
    before = load(path)
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
    """Make a directory as a killed host leaves it: these cases ended, the next one was cut off."""
    here = find_target("local")
    place = Target(name="local", detail=dict(here.detail()))
    plan = msgspec.structs.replace(plan, target=place, surroundings=here.host_conditions())
    directory, writer = RunDirectory(plan), Writer()
    for record in (HELLO, CLOCK, CONDITIONS):
        directory.append(writer.line(record))
    for case in cases:
        head = {"t": "case", "id": case, "bench": "ctx.ballast", "params": {"ballast": case}}
        directory.append(writer.line(head))
        empty = {"t": "result", "id": case, "series": "", "hz": 10**9, "n": 0, "sum": 0, "bits": 7}
        directory.append(writer.line(empty))
        directory.append(writer.line({"t": "end", "id": case, "status": "ok", "reason": None}))
    directory.append(b'#rts 9 {"t":"case","id":%d,"ben' % (len(cases) + 1))
    directory._log.close()
    return directory.path


@pytest.mark.parametrize("ended", [[], [1], [1, 2], [1, 2, 3], [2]])
def test_a_directory_without_document(fake: Fake, cli: Cli, plan: Plan, ended: list[int]) -> None:
    trace = fake()
    path = planted(plan, *ended)
    measured = len(ended) < 3
    assert cli("run", "--resume", path).status == (0 if measured else 3)
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


def interrupted(path: Path, cases: int = 1) -> Path:
    """Change the directory of a run as if it had been interrupted after so many cases."""
    lines = (path / "wire.log").read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines, 1) if b'"end"' in line]
    (path / "wire.log").write_bytes(b"".join(lines[: ends[cases - 1]]))
    (path / "run.json").unlink()
    (path / "run.json").write_bytes(msgspec.json.encode(load(path)))
    return path


def refused(cli: Cli, path: Path) -> str:
    """Return the message of a refusal to resume; the directory must not change."""
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    done = cli("run", "--resume", path)
    assert done.status == 2
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    return done.says


def resumed(cli: Cli, path: Path) -> None:
    assert cli("run", "--resume", path).status == 0
    assert set(statuses(load(path))) == {"ok"}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"source": "another"}, "agent.source was 00ff00ff00ff, is another"),
        ({"conditions": {"cpu.model": "Real"}}, "cpu.model was Imaginary, is Real"),
        ({"conditions": {"kernel.release": "2.0"}}, "kernel.release was 1.0, is 2.0"),
        (
            {"conditions": {"cpu.governor": "powersave"}},
            "cpu.governor was performance, is powersave",
        ),
        (
            {"conditions": {"kernel.cmdline": "quiet " * 20 + "isolcpus=2"}},
            "kernel.cmdline was without, is isolcpus=2",
        ),
        ({"conditions": {"cpu.smt": None}}, "cpu.smt was off, is not known"),
    ],
    ids=["agent", "machine", "kernel", "tuning", "command line", "hyperthreading"],
)
def test_what_the_agent_tells_must_be_what_it_was(
    fake: Fake, cli: Cli, other: dict[str, object], message: str
) -> None:
    began = {"cpu.governor": "performance", "kernel.cmdline": "quiet " * 20, "cpu.smt": "off"}
    fake(conditions=began)
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    conditions = other.pop("conditions", {})
    fake(conditions={**began, **conditions}, **other)  # type: ignore[dict-item]
    for _ in range(2):  # nor did the run begin on the refused one
        assert message in refused(cli, path)
    fake(conditions=began)
    resumed(cli, path)


def test_another_program_of_the_agent(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = fake()
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    program = tmp_path / "fake-agent"
    (tmp_path / "other").write_text(program.read_text() + "# of another build\n")
    (tmp_path / "other").chmod(0o755)
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "other"))
    starts = trace.read_text()
    assert "the agent's program was" in refused(cli, path)
    assert trace.read_text() == starts  # this is detected without starting it
    monkeypatch.setenv("RTSTONE_AGENT", str(program))
    resumed(cli, path)


def test_another_machine(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MACHINE_ID", tmp_path / "machine-id")
    (tmp_path / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    assert b"0123456789abcdef" not in (path / "plan.json").read_bytes()
    (tmp_path / "machine-id").write_text("fedcba9876543210fedcba9876543210\n")
    assert "the machine was" in refused(cli, path)
    (tmp_path / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    resumed(cli, path)


def test_another_state_of_tuning(fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[dict[str, str | None]] = [
        {"tune": "governor", "tune.cpus": "1", "tune.since": "yesterday"},
        {"tune": "none"},
        {"tune": "governor", "tune.cpus": "1", "tune.since": "today"},
    ]
    monkeypatch.setattr(tune, "state", lambda _: states[0])
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    monkeypatch.setattr(tune, "state", lambda _: states[1])
    assert "tuning was governor, is none; tune.cpus was 1, is not known" in refused(cli, path)
    monkeypatch.setattr(tune, "state", lambda _: states[2])
    resumed(cli, path)


def test_another_model(cli: Cli, tmp_path: Path) -> None:
    model = tmp_path / "mine.toml"
    text = 'title = "Mine"\nlabel = "a test\'s own"\n[cost]\nread = "9ns"\nsem_give = "1us"\n'
    model.write_text(text)
    words = ("run", "null", "sem.post.nowait", "-p", "samples=100", "--target", f"sim:{model}")
    whole = cli(*words, "--json").document["results"]
    path = interrupted(find("last"))
    model.write_text(text.replace("1us", "2us"))
    assert "the model's file was" in refused(cli, path)
    model.write_text(text)
    resumed(cli, path)
    assert msgspec.json.decode(msgspec.json.encode(load(path).results)) == whole


def test_what_changes_by_itself_is_no_other_system(fake: Fake, cli: Cli) -> None:
    fake(conditions={"machine.load": "0.1", "cpu.mhz": "800", "memory.available": "1"})
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    fake(conditions={"machine.load": "9.1", "cpu.mhz": "3800", "memory.available": "2"})
    resumed(cli, path)


@pytest.mark.parametrize("lost", ["hello", "clock", "conditions"])
def test_what_cannot_be_told_to_be_the_same(fake: Fake, cli: Cli, lost: str) -> None:
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    fake(wire={lost: "damage"}, forgets=True)
    done = cli("run", "--resume", path)
    assert done.status == 4
    assert "cannot determine whether the target is still the same" in done.says
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    fake()
    resumed(cli, path)


def test_what_the_run_began_on_is_not_known(fake: Fake, cli: Cli) -> None:
    assert cli(*GRID).status == 0
    path = interrupted(find("last"), cases=2)
    log = (path / "wire.log").read_bytes()
    (path / "wire.log").write_bytes(log.replace(b"Imaginary", b"imaginary"))  # the checksum fails
    assert "the run's original target is not known, as records" in refused(cli, path)


def test_an_agent_that_does_not_start_costs_nothing(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    fake(fate="fail", at=1)
    monkeypatch.setattr(local._Agent, "__init__", _cannot_start)
    done = cli("run", "--resume", path)
    assert (done.status, "cannot start the agent" in done.says) == (4, True)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def _cannot_start(*_: object) -> None:
    raise TargetError("cannot start the agent")


@pytest.mark.parametrize("name", ["run.json.new", "wire-2.log"])
@pytest.mark.parametrize("exists", [True, False])
def test_links_in_a_directory_of_somebody_else_lead_nowhere(
    fake: Fake, cli: Cli, tmp_path: Path, name: str, exists: bool
) -> None:
    assert cli(*GRID).status == 0
    path = interrupted(find("last"))
    precious = tmp_path / "precious"
    if exists:
        precious.write_text("precious")
    (path / name).symlink_to(precious)
    done = cli("run", "--resume", path)
    assert done.status in {0, 2, 4}, done.err
    assert "Traceback" not in done.err
    assert precious.exists() == exists
    assert not exists or precious.read_text() == "precious"
    if done.status:
        (path / name).unlink()
        resumed(cli, path)


@pytest.mark.parametrize("options", [["null"], ["-p", "a=1"], ["--time", "1"], ["--load", "heavy"]])
def test_nothing_else_can_be_asked_for(fake: Fake, cli: Cli, options: list[str]) -> None:
    done = cli("run", "--resume", "last", *options)
    assert done.status == 2
    assert "continues the run as it was requested" in done.says


@pytest.mark.machine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_real_run_that_is_ended_from_outside(
    cli: Cli, home: Path, number: signal.Signals
) -> None:
    begin = "from rtstone.cli.main import main; main()"
    command = [sys.executable, "-c", begin, "run", "null", "clk.overhead", "sem.try.free"]
    with subprocess.Popen([*command, "--time", "0.5"], stdout=-3, stderr=-3) as process:
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
