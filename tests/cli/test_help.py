from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from rtstone.cli import progress
from rtstone.cli.group import COMMANDS, EXAMPLES, group
from tests.cli.test_compare import store_run
from tests.conftest import Cli, Fake
from tests.report.synthetic import run


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert all(1 <= len(examples) <= 3 for examples in EXAMPLES.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_its_examples(cli: Cli, name: str) -> None:
    lines = cli(name, "--help").out.rstrip().splitlines()
    examples = [f"  {example}" for example in EXAMPLES[name]]
    assert [line[2:] for line in lines[-len(examples) - 1 :]] == ["Examples:", *examples]


@pytest.mark.parametrize("example", [e for examples in EXAMPLES.values() for e in examples])
def test_an_example_is_a_command(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its options and arguments are known; what they name is looked up by the command itself."""
    program, name, *arguments = shlex.split(example)
    assert program == "rtstone"
    command = group.get_command(click.Context(group), name)
    assert command
    if isinstance(command, click.Group) and arguments[0] in command.commands:
        name, *arguments = arguments
        command = command.commands[name]
    for parameter in command.params:  # do not look for stored runs
        monkeypatch.setattr(parameter, "callback", None)
    command.make_context(name, arguments)


# ---- report without -o --------------------------------------------------------------------------


def test_a_report_without_a_name_is_report_html(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_run(run())
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second takes the place of the first
        done = cli("report", "last")
        assert (done.status, done.out.split(":")[0]) == (0, "report.html")
    page = Path("report.html")
    page.write_text("mine")
    done = cli("report", "last")
    assert (done.status, page.read_text()) == (2, "mine")
    assert "report.html exists and is no page of rtstone; write -o FILE.html" in done.says
    assert cli("report", "last", "-o", page).status == 0  # named, so it is meant
    page.unlink()
    page.symlink_to("elsewhere")
    assert cli("report", "last").status == 2
    assert not Path("elsewhere").exists()


# ---- the line of a command at work --------------------------------------------------------------


class Terminal:
    """A terminal that keeps what is written, and the line that is shown at last."""

    def __init__(self, terminal: bool) -> None:
        self.written, self._terminal = "", terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass

    @property
    def shown(self) -> str:
        line: list[str] = []
        at = 0
        for letter in self.written:
            at = 0 if letter == "\r" else at + 1
            if letter != "\r":
                line[at - 1 : at] = [letter]
        return "".join(line).rstrip()


def test_what_takes_long_shows_a_line_that_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "AFTER_S", 0.01)
    terminal = Terminal(terminal=True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.working("comparing 2 runs") as line:
        line.steps(1, 4)
        until = time.monotonic() + 10
        while "25%" not in terminal.written and time.monotonic() < until:
            time.sleep(0.01)
        assert terminal.shown.startswith("comparing 2 runs: 25%, about ")
    assert terminal.shown == ""


def test_a_target_that_is_slow_to_answer_is_named_until_it_does(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    @contextmanager
    def working(task: str) -> Iterator[None]:
        events.append(task)
        yield
        events.append("answered")

    monkeypatch.setattr("rtstone.cli.run.working", working)
    monkeypatch.setattr("rtstone.cli.run.announce", lambda *_: events.append("announced"))
    assert cli("run", "null").status == 0
    assert events == ["asking local what it can measure", "answered", "announced"]
    events.clear()
    assert cli("run", "nothing").status == 2
    assert events == ["asking local what it can measure"]


def test_what_is_quick_or_not_on_a_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, after in ((True, 60.0), (False, 0.0)):
        stream = Terminal(terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "AFTER_S", after)
        with progress.working("reading"):
            time.sleep(0.02)
        assert stream.written == ""
