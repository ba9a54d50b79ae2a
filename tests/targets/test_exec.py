"""A command that reaches an agent: found, started, and ended with everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtstone import resources
from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.targets import find, process
from rtstone.targets.base import Options
from tests.agent.speak import BUILD
from tests.conftest import Cli

pytestmark = pytest.mark.machine


@pytest.fixture
def box(tmp_path: Path) -> str:
    """Return a command that passes everything on to an agent, as those of containers do."""
    program = tmp_path / "into"
    program.write_text(f'#!/bin/sh\n[ "$1" = "my box" ] && {resources.local_agent()}\nexit $?\n')
    program.chmod(0o755)
    return f"exec:{program} 'my box'"


def test_a_run_yields_what_a_local_one_does(box: str, cli: Cli) -> None:
    words = ("run", "null", "mem.memset", "-p", "samples=20", "--json", "--target")
    local, document = cli(*words, "local").document, cli(*words, box).document
    seen = [[(r["bench"], r["status"]) for r in run["results"]] for run in (local, document)]
    assert seen[0] == seen[1]
    assert document["target"]["name"] == box
    assert document["target"]["detail"] == {"command": box.removeprefix("exec:")}


def test_the_benches_are_those_of_the_agent_that_is_reached(cli: Cli) -> None:
    """It may be of another port than that of this machine, and serve one host after the other."""
    other = f"exec:{BUILD / 'tests' / 'template-agent'}"
    here, other_benches = (
        set(catalogue(find(name), Interrupt()).benches) for name in ("local", other)
    )
    assert "sys.getpid" in here - other_benches
    done = cli("run", "null", "sys.getpid", "-p", "samples=20", "--json", "--target", other)
    assert [r["status"] for r in done.document["results"]] == ["ok", "unsupported"]
    assert done.document["agent"]["port"] == "template"


def test_no_shell_sees_the_command(tmp_path: Path, cli: Cli) -> None:
    planted = tmp_path / "planted"
    done = cli("run", "null", "--target", f"exec:echo x; touch {planted}")
    assert done.status == 4
    assert "not an rtstone agent" in done.says
    assert not planted.exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [("'x", "no closing quotation, in target"), (" ", "no command, in target 'exec: '")],
)
def test_a_command_that_is_none(command: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find(f"exec:{command}")


def test_a_program_that_does_not_exist(cli: Cli) -> None:
    done = cli("run", "null", "--target", "exec:no-such-program -i box")
    assert done.status == 4
    assert "cannot start the agent, no-such-program: No such file or directory; exec: takes" in (
        done.says
    )


def test_an_option_that_cannot_be_passed_on(box: str, cli: Cli) -> None:
    done = cli("run", "null", "--keep-idle", "--target", box)
    assert done.status == 2
    assert "--keep-idle does not reach the agent; write it into the command" in done.says


def test_how_the_command_ended_is_told(cli: Cli) -> None:
    done = cli("run", "null", "--target", "exec:sh -c 'echo no such box >&2; exit 3'")
    assert done.status == 4
    assert "the command failed with exit status 3; its output ends: no such box" in done.says


def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_S", 0.1)
    with find("exec:sleep 600").start(Options()) as link:
        link.stop()
        with pytest.raises(TargetError, match="the command was killed by SIGKILL"):
            while link.read(0.05) != b"":
                pass
