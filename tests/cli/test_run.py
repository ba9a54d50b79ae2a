from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.cli.run_display import Lines
from rtstone.documents.plan import run_id
from rtstone.documents.run import Run
from rtstone.interrupt import Interrupt
from rtstone.measure import agent_session
from rtstone.measure.listener import Listener
from rtstone.results.flags import BY_NAME
from rtstone.results.received import WARNINGS
from rtstone.store import atomic
from rtstone.store.index import find, latest
from rtstone.store.layout import runs
from rtstone.store.rundir import RunDirectory, load
from rtstone.targets import process, qemu
from rtstone.targets.local import Local
from rtstone.wire import commands
from tests.conftest import Cli, Fake

GRID = ("run", "ctx.ballast", "-p", "ballast=0,1,33")


def statuses(document: dict[str, Any]) -> list[str]:
    return [result["status"] for result in document["results"]]


# ---- successful runs ------------------------------------------------------------------------


def test_a_run_is_measured_shown_and_kept(fake: Fake, cli: Cli) -> None:
    done = cli("run", "null", "ctx.ballast", "-p", "ballast=0,33")
    assert done.status == 0
    assert "3 results in " in done.out
    shown = cli("show", "last").out
    assert "80.0 ns" in shown
    assert "1 000" in shown
    assert "ballast=33" in shown
    assert "1/3 null: n 1 000" in done.err
    run = load(find("last"))
    assert run.status == "complete"
    assert [r.params.get("ballast") for r in run.results] == [None, 0, 33]
    assert run.suite is None


def test_json_is_one_document_and_nothing_else(fake: Fake, cli: Cli) -> None:
    done = cli(*GRID, "--json")
    assert (done.status, done.err) == (0, "")
    run = msgspec.json.decode(done.out, type=Run)
    assert run == load(find("last"))
    assert run.schema == "rtstone.run/1"
    assert statuses(done.document) == ["ok"] * 3
    assert run.slopes[0].slope == pytest.approx(2)
    assert run.agent is not None
    assert run.agent.binary


def test_a_suite_file(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[case]]\nbench = "mem.memset"\nparams = { size = ["1KiB", "64B"] }')
    document = cli("run", file, "--json").document
    assert [result["params"]["size"] for result in document["results"]] == [1024, 64]


def test_time_takes_the_place_of_samples(fake: Fake, cli: Cli) -> None:
    def params(*options: str) -> dict[str, Any]:
        result = cli("run", "null", "--json", *options).document["results"][0]
        values: dict[str, Any] = result["params"]
        return values

    assert (params("--time", "2")["time"], params("--time", "2")["samples"]) == (2 * 10**9, 0)
    assert params("--time", "5ms", "-p", "samples=7")["samples"] == 7
    assert params("--cpus", "0-1")["cpus"] == "0-1"
    assert params("--cpus", "all")["cpus"] == "all"


def test_out_and_keep_idle(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    trace = fake()
    assert cli("run", "null", "--out", tmp_path / "out", "--keep-idle").status == 0
    assert trace.read_text().splitlines() == ["--list", "--keep-idle"]
    assert load(tmp_path / "out").status == "complete"


def test_without_rights_the_run_goes_on_and_says_so(fake: Fake, cli: Cli) -> None:
    fake(sched="other", locked=False)
    done = cli("run", "null", "ctx.ballast")
    assert done.status == 0
    assert "WITHOUT real-time scheduling and locked memory" in done.out.splitlines()[0]
    assert all({"no_rt", "no_mlock"} <= set(result.flags) for result in load(find("last")).results)
    assert "This grants them: " in done.out.splitlines()[0]
    assert "rtprio limit" in cli("show", "last").out


def test_missed_activations_are_in_the_table(fake: Fake, cli: Cli) -> None:
    fake(missed=7)
    assert "missed 7" in cli("run", "dk.periodic").out
    assert "use the corrected percentiles" in cli("show", "last").out


def test_a_run_beside_another_is_flagged(fake: Fake, cli: Cli) -> None:
    fake(others=1)
    assert BY_NAME["other_run"].cause.lower() in cli(*GRID).out.lower()
    assert all("other_run" in result.flags for result in load(find("last")).results)
    assert "repeat when no other one is running" in cli("show", "last").out


def test_run_ids_sort_by_time_and_tell_what_ran() -> None:
    moments = [datetime(2026, 1, 2, 3, 4, 5, 1000 * ms, UTC) for ms in range(0, 1000, 7)]
    ids = [run_id(moment, "dk.periodic") for moment in moments]
    assert ids == sorted(ids)
    assert ids[1].startswith("20260102-030405.007-dk.periodic-")


def test_a_run_is_named_after_its_suite_or_bench(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    cli("run", "dk.periodic")
    assert "-dk.periodic-" in find("last").name
    (tmp_path / "my.own.toml").write_text('[[case]]\nbench = "null"')
    cli("run", tmp_path / "my.own.toml")
    assert "-my.own-" in find("last").name


def test_the_host_keeps_off_every_cpu_that_a_case_names(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: set_to.append(cpus))
    monkeypatch.setattr(Local, "default_cpus", lambda _: frozenset({2}))
    named = [(["-p", "cpus=0"], {1, 2}), (["--cpus", "0-1"], {2}), (["--cpus", "all"], {0, 1, 2})]
    for options, left in [*named, ([], {0, 1})]:
        assert cli("run", "null", *options).status == 0
        assert set_to[-2] == left


def test_two_runs_at_once(fake: Fake) -> None:
    command = [
        sys.executable,
        "-c",
        "from rtstone.cli.main import main; main()",
        "run",
        "null",
        "--json",
    ]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    documents = [json.loads(run.communicate()[0]) for run in runs]
    assert [run.returncode for run in runs] == [0] * 2
    names = {document["run_id"] for document in documents}
    assert len(names) == 2
    assert all(load(find(name)).status == "complete" for name in names)


# ---- bad requests ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ctx.balast"], "did you mean 'ctx.ballast'"),
        (["quik"], "did you mean 'quick'"),
        (["null", "-p", "sampels=3"], "did you mean 'samples'"),
        (["null", "-p", "samples"], "write -p name=value"),
        (["null", "-p", "samples=1", "-p", "samples=2"], "'samples' is given twice"),
        (["null", "-p", "cpus=٣"], "bad CPU list"),
        (["null", "--cpus", "1023"], "CPU 1023 is not available, on target 'local'; it has 0"),
        (["null", "--cpus", "1000-1023"], "CPU 1000-1023 are not available"),
        (["null", "-p", "cpus=1023"], "CPU 1023 is not available"),
        (["null", "--cpus", "0-99999"], "the largest CPU number is 1023"),
        (["null", "-p", "samples=0"], "both samples and time are 0"),
        (["null", "--out", ""], "empty directory name"),
        (["ctx.ballast", "-p", "ballast=1025"], "0 to 1024"),
        (["ctx.ballast", "-p", "policy=fiffo"], "one of fifo, rr"),
        (["dk.periodic", "-p", "period=1m"], "ns, us, ms"),
        (["null", "--target", "locla"], "did you mean 'local'"),
        (["null", "--load", "hevy"], "unknown load 'hevy'; did you mean 'heavy'"),
        (["null", "--load", "heavy:disc=off"], "unknown parameter 'disc', in load 'heavy'"),
        (["null", "--cpus", "a-b"], "bad CPU list"),
        (["null", "--time", "soon"], "bad value 'soon' of time"),
        (["null", "--tiem", "3"], "did you mean '--time'"),
        (["none.toml"], "cannot read suite"),
        (["null", "--out", "/proc/rtstone"], "cannot be stored"),
    ],
)
def test_bad_requests_end_with_2_before_anything_is_measured(  # noqa: PLR0917
    fake: Fake,
    cli: Cli,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    trace = fake()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    done = cli("run", *arguments)
    assert done.status == 2
    assert message in done.says
    assert done.out == ""
    starts = trace.read_text().splitlines() if trace.exists() else []
    assert starts in ([], ["--list"])
    assert not (home / "runs").exists()


def test_a_bad_suite_file(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[[case]]\nbench = "null"\nparms = {}')
    done = cli("run", file)
    assert done.status == 2
    assert "unknown key 'parms'" in done.says
    assert str(file) in done.says
    assert "did you mean 'params'" in done.says


def test_a_home_that_cannot_be_written(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path / "file" / "x"))
    done = cli("run", "null")
    assert done.status == 2
    assert str(tmp_path / "file") in done.says


# ---- when the target fails ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fate", "message"),
    [
        ("kill", "was killed by SIGKILL"),
        ("fail", "exit status 3; its output ends: the clock has stopped"),
        ("exit", "ended before all cases had run"),
    ],
)
@pytest.mark.parametrize("case", [1, 2, 3])
def test_an_agent_that_dies_in_mid_run(
    fake: Fake, cli: Cli, fate: str, message: str, case: int
) -> None:
    trace = fake(at=case, fate=fate)
    done = cli(*GRID, "--json")
    assert done.status == 4
    assert message in done.says
    assert message in done.document["reason"]
    assert done.document["status"] == "incomplete"
    assert statuses(done.document) == ["ok"] * (case - 1) + ["incomplete"] * (4 - case)
    assert load(newest()).results[0].case == 1
    if fate != "exit":
        assert trace.read_text().splitlines() == ["--list", "", "--sweep"]


def test_no_agent(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "none"))
    done = cli("run", "null", "--json")
    assert done.status == 4
    assert "see RTSTONE_AGENT" in done.says
    assert done.document["status"] == "incomplete"
    assert "see RTSTONE_AGENT" in done.document["reason"]


def test_a_program_that_is_no_agent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSTONE_AGENT", "/bin/true")
    done = cli("run", "null")
    assert done.status == 4
    assert "not an rtstone agent, /bin/true" in done.says


@pytest.mark.parametrize("text", ["echo y", "printf y"])
def test_a_program_that_never_stops_talking(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\n[ $1 = --sweep ] && exit\nwhile :; do {text}; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("RTSTONE_AGENT", str(program))
    monkeypatch.setattr("rtstone.measure.catalogue.LIST_S", 0.05)
    done = cli("run", "null")
    assert done.status == 4
    assert "did not finish its list of benches" in done.says


def test_noise_is_kept_up_to_a_limit(fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(wire={f"{kind} 1": "noise" for kind in ("case", "progress", "result", "end")})
    monkeypatch.setattr(agent_session, "NOISE", 70)
    document = cli("run", "null", "--json").document
    assert (find("last") / "wire.log").read_bytes().count(b"usb 1-1") == 2
    assert document["notes"] == ["console noise beyond 70 bytes was not stored"]
    assert document["status"] == "complete"


def test_an_agent_that_dies_after_its_last_case(fake: Fake, cli: Cli) -> None:
    fake(fate="late")
    done = cli(*GRID, "--json")
    assert done.status == 4
    assert done.document["status"] == "complete"
    assert done.document["notes"] == ["the agent was killed by SIGKILL"]


def test_an_agent_of_another_wire(fake: Fake, cli: Cli) -> None:
    fake(wire_version=3)
    done = cli("run", "null", "--json")
    assert done.status == 4
    assert "uses wire version 3" in done.says


def test_an_agent_that_is_not_the_one_that_was_asked(fake: Fake, cli: Cli) -> None:
    fake(listed_source="1122334455667788")
    done = cli("run", "null", "--json")
    assert done.status == 4
    assert "has source 00ff00ff00ff00ff, the one that listed the benches 11223344" in done.says
    assert statuses(done.document) == ["incomplete"]


def test_an_agent_that_falls_silent(fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(at=2, fate="hang")
    monkeypatch.setattr(agent_session, "PATIENCE_S", 0.2)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    done = cli(*GRID, "--json")
    assert done.status == 4
    assert "silent" in done.says
    assert statuses(done.document) == ["ok", "incomplete", "incomplete"]


def test_a_case_of_any_length_is_waited_for_while_it_tells_of_its_progress(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a display, the host itself asks for progress, to know that the case is alive."""
    fake(at=1, pause=1.5)
    monkeypatch.setattr(agent_session, "PATIENCE_S", 0.5)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    done = cli("run", "null", "--json")
    assert (done.status, statuses(done.document)) == (0, ["ok"])


def test_a_case_that_tells_of_none_has_a_patience_of_its_own(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(at=1, fate="hang", quiet=True)
    monkeypatch.setattr(agent_session, "PATIENCE_S", 0.2)
    monkeypatch.setattr(agent_session, "SILENT_S", 1.0)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    begin = time.monotonic()
    done = cli("run", "null", "--json")
    assert (done.status, "silent for 1 s" in done.says) == (4, True)
    assert time.monotonic() - begin >= 1.2


def test_an_agent_that_never_says_a_word_is_not_waited_for_that_long(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(
        at=1,
        fate="hang",
        quiet=True,
        wire=dict.fromkeys(("hello", "clock", "conditions", "case 1"), "lose"),
    )
    monkeypatch.setattr(agent_session, "PATIENCE_S", 0.2)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    done = cli("run", "null", "--json")
    assert (done.status, "silent" in done.says) == (4, True)


def test_damage_does_not_give_a_long_case_the_time_of_the_next(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(at=1, pause=2.0, wire={"progress 1": "damage"}, forgets=True)
    monkeypatch.setattr(agent_session, "PATIENCE_S", 1.2)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    monkeypatch.setattr(commands, "progress", lambda ms: "progress 0")
    done = cli("run", "ctx.ballast", "-p", "time=10s,1ms", "--json")
    assert statuses(done.document) == ["incomplete", "ok"]
    assert "damaged" in done.document["results"][0]["reason"]


@pytest.mark.parametrize(
    ("wire", "cost"),
    [
        ({"clock": "damage"}, [1, 2, 3]),
        ({"result 1": "damage"}, [1]),
        ({"result 1": "cut"}, [1]),
        ({"end 1": "damage"}, [1]),
        ({"case 2": "damage"}, [2]),
        ({"result 2": "lose"}, [2]),
        ({"end 3": "damage"}, [3]),
        ({"result 2": "double", "end 2": "double"}, []),
        ({"progress 2": "late"}, []),
        ({"result 1": "noise", "result 2": "noise"}, []),
    ],
)
def test_what_happens_on_the_wire_costs_only_the_cases_hit(
    fake: Fake, cli: Cli, wire: dict[str, str], cost: list[int]
) -> None:
    fake(wire=wire, forgets=True)
    done = cli(*GRID, "--json")
    document = done.document
    hit = [r["case"] for r in document["results"] if r["status"] == "incomplete"]
    assert hit == cost
    assert document["status"] == ("incomplete" if cost else "complete")
    assert done.status == (3 if cost else 0)
    if cost:
        assert "wire" in done.says


HARMED = [
    f"{kind} {number}" for number in (1, 2, 3) for kind in ("case", "progress", "result", "end")
]


@pytest.mark.parametrize("harm", ["damage", "lose", "cut"])
@pytest.mark.parametrize("record", ["hello", "clock", "conditions", "heard", *HARMED])
def test_what_is_damaged_is_asked_for_again(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, record: str, harm: str
) -> None:
    monkeypatch.setattr(agent_session, "NUDGE_S", 0.05)
    monkeypatch.setattr(agent_session, "DAMAGED_S", 0.05)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    monkeypatch.setattr(agent_session, "HEARTBEAT_MS", 50)
    monkeypatch.setattr(commands, "RESEND_S", 0.05)
    fake()
    whole = cli(*GRID, "--json").document["results"]
    fake(wire={record: harm})
    done = cli(*GRID, "--json")
    assert (done.status, done.document["status"]) == (0, "complete")
    assert done.document["results"] == whole
    assert any(note.startswith("wire: ") for note in done.document["notes"])


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (
            {"result 1": "damage"},
            "1 of 3 results is incomplete, ctx.ballast: wire: record 8",
        ),
        (
            {"result 1": "damage", "result 2": "damage"},
            "2 of 3 results are incomplete, the first is ctx.ballast: ",
        ),
        ({"hello": "lose"}, "records of the agent were lost: hello"),
    ],
)
def test_what_an_inconclusive_run_says(
    fake: Fake, cli: Cli, wire: dict[str, str], message: str
) -> None:
    fake(wire=wire, forgets=True)
    done = cli(*GRID)
    assert done.status == 3
    assert message in " ".join(done.out.split())
    assert "rtstone: " not in done.err  # once is enough
    again = cli(*GRID, "--json")
    assert (again.status, message in again.says) == (3, True)


def test_an_end_that_is_lost_without_a_trace_does_not_stop_the_run(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(wire={"end 1": "lose"}, forgets=True)
    monkeypatch.setattr(agent_session, "NUDGE_S", 0.05)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    monkeypatch.setattr(agent_session, "HEARTBEAT_MS", 50)  # cases without a limit, too
    assert statuses(cli(*GRID, "--json").document) == ["incomplete", "ok", "ok"]


# ---- when the display or rtstone itself fails ---------------------------------------------------


@pytest.mark.parametrize("name", ["started", "case_started", "case_ended", "ended"])
def test_a_display_that_nobody_can_see_does_not_stop_the_run(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls = []

    def fail(*_: object) -> None:
        calls.append(name)
        raise BrokenPipeError

    monkeypatch.setattr(Lines, name, fail)
    done = cli(*GRID)
    assert (done.status, done.err.count("/3 ctx")) == (0, 3 if name == "ended" else 0)
    assert calls == [name]
    assert load(find("last")).status == "complete"


def test_a_fault_of_this_program_leaves_what_was_measured(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(Lines, "case_ended", fail)
    done = cli(*GRID)
    assert (done.status, "ZeroDivisionError: of all things" in done.says) == (70, True)
    run = load(find("last"))
    assert (find("last") / "run.json").exists()
    assert [result.status for result in run.results] == ["ok", "incomplete", "incomplete"]
    assert "of all things" in str(run.reason)


# ---- when storing fails ------------------------------------------------------------------------


def test_a_disk_that_fills_up_in_mid_run(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, written = RunDirectory.append, []

    def append(self: RunDirectory, line: bytes) -> None:
        if b'"result"' in line and b'"id": 3' in line:
            raise self._lost(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        written.append(line)
        before(self, line)

    monkeypatch.setattr(RunDirectory, "append", append)
    done = cli(*GRID, "--json")
    assert done.status == 4
    for part in ("No space left on device", "2 of 3 cases are kept", "--out"):
        assert part in done.says
    assert statuses(done.document) == ["ok", "ok", "incomplete"]
    assert b"".join(written) == (find("last") / "wire.log").read_bytes()


def test_a_disk_that_is_full_when_the_document_is_written(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = atomic.write

    def write(place: int, name: str, data: bytes) -> None:
        if name.startswith("run.json"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        before(place, name, data)

    monkeypatch.setattr(atomic, "write", write)
    done = cli(*GRID, "--json")
    assert done.status == 4
    assert "No space left" in done.says
    assert statuses(done.document) == ["ok"] * 3
    assert "stored in" not in cli(*GRID).out
    assert "3 of 3 cases are kept" in done.says  # in the log
    monkeypatch.setattr(atomic, "write", before)
    assert [result.status for result in load(find("last")).results] == ["ok"] * 3


# ---- Ctrl-C ------------------------------------------------------------------------------------


def newest() -> Path:
    """The last run, whatever it has."""
    path = latest()
    assert path
    return path


def strike(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def hook(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: signal.Signals) -> None:
    """Let the signal arrive when that function is called."""
    before = getattr(owner, name)

    def call(*arguments: Any, **named: Any) -> Any:
        strike(number)
        return before(*arguments, **named)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("owner", "name", "complete"),
    [
        ("rtstone.measure.planner", "catalogue", None),
        ("rtstone.measure.start", "RunDirectory", 0),
        ("rtstone.measure.execution.Assembly", "__init__", 0),
        ("rtstone.measure.listener.Listener", "case_started", 0),
        ("rtstone.store.rundir.RunDirectory", "sync", 1),
        ("rtstone.store.rundir.RunDirectory", "finish", 3),
        ("rtstone.cli.run", "print_document", 3),
    ],
)
def test_an_interrupt_at_any_moment(  # noqa: PLR0917
    fake: Fake,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    owner: str,
    name: str,
    complete: int | None,
    number: signal.Signals,
) -> None:
    from pkgutil import resolve_name

    hook(monkeypatch, resolve_name(owner), name, number)
    done = cli(*GRID, "--json")
    assert done.status == 130
    if complete is None:
        assert done.document["results"] == []
        return
    endings = statuses(done.document)
    assert endings[:complete] == ["ok"] * complete
    assert len(endings) == 3
    # The running case may still end well; those after it must not begin.
    assert endings[complete + 1 :] == ["incomplete"] * max(0, 2 - complete)
    assert done.document["status"] == ("complete" if complete == 3 else "incomplete")
    assert statuses(done.document) == [result.status for result in load(newest()).results]


def test_a_case_that_is_stopped_keeps_what_it_has(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_process(at=1, fate="hang")
    hook(monkeypatch, Listener, "case_started", signal.SIGHUP)
    monkeypatch.setattr("rtstone.targets.process.STOP_S", 60.0)  # long enough for a slow machine
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    first = cli(*GRID, "--json").document["results"][0]
    assert (first["status"], first["reason"], first["n"]) == ("ok", None, 1000)
    assert (first["ended"], first["flags"]) == ("stopped", ["interrupted"])


def test_a_hangup_that_is_ignored_stays_ignored(fake: Fake, cli: Cli) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interrupt() as interrupt:
        strike(signal.SIGHUP)
        assert not interrupt.requested
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("fate", ["hang", "deaf"])
def test_an_interrupt_while_the_agent_hangs(
    fake_process: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    trace = fake_process(at=2, fate=fate)
    monkeypatch.setattr("rtstone.targets.process.STOP_S", 0.1 if fate == "deaf" else 60.0)
    monkeypatch.setattr(agent_session, "POLL_S", 0.02)
    before = RunDirectory.append

    def append(self: RunDirectory, line: bytes) -> None:
        before(self, line)
        if b'"progress"' in line and b'"id": 2' in line:
            strike()

    monkeypatch.setattr(RunDirectory, "append", append)
    done = cli(*GRID, "--json")
    assert done.status == 130
    assert statuses(done.document) == ["ok", "ok" if fate == "hang" else "incomplete", "incomplete"]
    assert (
        done.document["reason"] == f"interrupted; {2 if fate == 'hang' else 1} of 3 cases measured"
    )
    assert done.document["results"][2]["reason"] == "not run: interrupted"
    swept = trace.read_text().splitlines()[2:] == ["--sweep"]
    assert swept == (fate == "deaf")


def test_ctrl_c_from_outside(fake_process: Fake, home: Path) -> None:
    fake_process(at=1, fate="hang")
    command = [sys.executable, "-c", "from rtstone.cli.main import main; main()", "run", "null"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not any(b"progress" in log.read_bytes() for log in home.glob("runs/*/wire.log")):
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert b"INCOMPLETE" not in out
    assert b"rtstone: interrupted; 1 of 1 cases measured" in err


def test_loads_come_in_turn_and_their_rates_are_kept(fake: Fake, cli: Cli) -> None:
    done = cli("run", "null", "ctx.ballast", "--json", *["--load", "none", "--load", "heavy"] * 2)
    assert done.status == 0
    results = done.document["results"]
    assert [(r["bench"], r["load"]) for r in results] == [
        (bench, load) for load in ("none", "heavy") * 2 for bench in ("null", "ctx.ballast")
    ]
    assert [len(r["load_rates"]) for r in results] == [0, 0, 1, 1] * 2
    assert [loaded["load"] for loaded in done.document["loads"]] == ["heavy"] * 2


def test_a_slow_load_makes_its_results_incomplete(fake: Fake, cli: Cli) -> None:
    fake(rates={"achieved": 50.0})
    done = cli("run", "null", "--load", "none", "--load", "heavy:disk=on")
    assert done.status == 3
    assert done.out.count("load heavy:disk=on: disk missed its rate") == 1
    run = load(find("last"))
    assert [r.status for r in run.results] == ["ok", "incomplete"]
    assert "load heavy:disk=on: disk 50 of 100 ms/s" in cli("show", "last").out


def test_a_suite_of_a_publication_says_its_time_scale(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    suite = tmp_path / "paper.toml"
    suite.write_text(
        'time = "2s"\n[[case]]\nbench = "dk.periodic"\nparams = { time = "60s", samples = 0 }\n'
    )
    done = cli("run", suite, "--json")
    assert done.document["results"][0]["params"]["time"] == 2 * 10**9
    assert "time scale: each case measures for 2 s at most" in done.document["notes"][0]
    done = cli("run", suite, "--time", "0", "--json")
    assert done.document["results"][0]["params"]["time"] == 60 * 10**9
    assert done.document["notes"] == []


# ---- an agent that floods the wire -------------------------------------------------------------


def test_of_many_warnings_some_are_kept_and_the_others_counted(fake: Fake, cli: Cli) -> None:
    fake(flood=3000)
    done = cli(*GRID, "--json")
    assert (done.status, statuses(done.document)) == (0, ["ok"] * 3)
    notes = done.document["notes"]
    assert notes[0].startswith("0 xxx")
    assert len(notes) == WARNINGS + 1
    assert notes[-1] == "8800 more warnings of the agent are left out; they are in its log"
    log = (find("last") / "wire.log").read_bytes()
    assert log.count(b'"t": "log"') == 9000


def test_one_that_talks_for_ever_can_be_ended(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(flood="endless")
    monkeypatch.setattr(process, "STOP_S", 0.5)
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGTERM)).start()
    done = cli("run", "null", "--json")
    assert (done.status, statuses(done.document)) == (130, ["incomplete"])
    assert len(done.out) < 1_000_000


# ---- raw samples -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--time", "3"], ["-p", "samples=10000001"]])
def test_all_samples_want_a_number_of_them(fake: Fake, cli: Cli, options: list[str]) -> None:
    trace = fake()
    done = cli("run", "null", "-p", "raw=1", *options)
    assert done.status == 2
    assert "raw=1 keeps every sample and needs their number" in done.says
    assert trace.read_text() == "--list\n"  # nothing was started
    assert cli("run", "null", "-p", "raw=1", "-p", "samples=10", "--time", "3").status == 0


def test_a_target_that_is_not_ready_is_refused_before_anything_is_stored(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target, status in (("nowhere", 2), ("qemu:nothing", 2), ("sim:none.toml", 2)):
        assert cli("run", "null", "--target", target).status == status
    monkeypatch.setattr(qemu.Qemu, "version", "9.0")
    monkeypatch.setattr(qemu, "BUILT", tmp_path)
    done = cli("run", "null", "--target", "qemu:freertos-a64")
    assert (done.status, "run `rtstone lab build freertos-a64`" in done.says) == (4, True)
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "none"))
    assert cli("run", "null").status == 4
    assert not home.exists() or not list(home.glob("runs/*"))


def test_a_batch_is_not_cold(fake: Fake, cli: Cli) -> None:
    done = cli("run", "sem.try.free", "-p", "cache=cold", "-p", "batch=8", "--target", "sim")
    assert (done.status, "cache=cold needs batch=1" in done.says) == (2, True)


def test_what_the_agent_says_of_a_case_is_its_reason(fake: Fake, cli: Cli) -> None:
    """It refuses the case, and so reports neither clock nor conditions."""
    fake(refuses="raw=1 needs a number of samples")
    done = cli("run", "null", "--json")
    assert done.status == 3
    (result,) = done.document["results"]
    assert (result["status"], result["reason"]) == ("failed", "raw=1 needs a number of samples")
    assert done.document["reason"] is None
    assert "raw=1 needs a number of samples" in done.says


def test_a_run_of_which_nothing_was_measured_is_no_success(cli: Cli) -> None:
    """Its reason is in the first line, whatever was to be done with it."""
    why = "needs calls of POSIX, which this system does not have"
    for options in ([], ["-q"]):
        done = cli("run", "posix.options", "--target", "sim", *options)
        assert done.status == 3
        assert done.out.startswith(f"No verdict: nothing was measured, {why}.\n")
        assert done.err == ""  # not that it takes 0 cases
    assert cli("run", "null", "--target", "sim", "-p", "samples=50").status == 0
    empty = next(path.name for path in runs().iterdir() if "posix.options" in path.name)
    for command in (["compare", "last", empty], ["reproduce", "dankwardt", empty]):
        done = cli(*command)
        assert done.status == 3
        assert done.says == f"rtstone: nothing was measured in {empty}: {why}."
